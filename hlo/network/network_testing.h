/* What tests of this room share. */
#ifndef XLAC_HLO_NETWORK_NETWORK_TESTING_H
#define XLAC_HLO_NETWORK_NETWORK_TESTING_H

#include "hlo/analysis/analysis_testing.h"
#include "hlo/network/network_description.h"

/* Nodes of 4 devices in racks of 16, with numbers that are easy to reckon with: a message takes 1 s in a node and 10 s
 * between nodes, a byte 1/100 s and 1/10 s, a combined byte 1/1000 s. */
#define TWO_LEVELS                                                                  \
  "[network] name = small  overlap = no\n"                                          \
  "[device] flops = 1e3 memory_bandwidth = 1e2 call = 0.5 reduce_bandwidth = 1e3\n" \
  "[level node] size = 4 latency = 1 bandwidth = 100\n"                             \
  "[level rack] size = 16 latency = 10 bandwidth = 10\n"

static inline Status parse_network(Fixture *fixture, const char *text, NetworkDescription *out_network) {
  SourceFile *source = ARENA_NEW(fixture->arena, SourceFile);
  *source = (SourceFile){SV("test.net"), sv_from_cstring(text)};
  return network_description_parse(fixture->arena, source, &fixture->diag, out_network);
}

static inline NetworkDescription good_network(Fixture *fixture, const char *text) {
  NetworkDescription network;
  assert_int_equal(parse_network(fixture, text, &network), STATUS_OK);
  return network;
}

#endif
