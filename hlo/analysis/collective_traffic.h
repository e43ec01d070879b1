/* CollectiveTraffic: what the collectives of one device's program send, in one run of it.
 *
 * payload: bytes that one device hands in or takes out, the larger.  wire: bytes that one device has to send when an
 * algorithm sends the fewest; with g members in a group
 *
 *   all-reduce                                2 (g-1)/g · operands       (a reduce-scatter, then an all-gather)
 *   reduce-scatter, all-to-all, broadcast       (g-1)/g · operands
 *   all-gather                                  (g-1)/g · results
 *   ragged-all-to-all                           (g-1)/g · operands       (a bound: the real sizes are data)
 *   collective-permute, send                    operands · the share of devices that send to another one
 *
 * to the nearest byte, half to even.  Of groups of several sizes the largest counts.  A loop's body and condition count
 * as often as the body runs, where constants or the text ("known_trip_count") say so, and once where nobody does; of
 * branches the one that sends the most counts.  Of an operation in two parts its start counts. Source: E. Chan, M.
 * Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and experience", 2007, table
 * of lower bounds. */
#ifndef XLAC_HLO_ANALYSIS_COLLECTIVE_TRAFFIC_H
#define XLAC_HLO_ANALYSIS_COLLECTIVE_TRAFFIC_H

#include "hlo/ir/device_groups.h"

typedef struct CollectiveTraffic {
  const HloInstruction *collective; /* the operation itself or its start */
  HloOpcode opcode;                 /* of the plain form: HLO_ALL_REDUCE for an all-reduce-start */
  double times;                     /* in one run of the module */
  int64_t group_size;               /* the largest; of a permute or send: devices that send to another */
  int64_t group_count;              /* of a permute or send: 1 */
  int64_t payload_bytes, wire_bytes;
  DeviceGroups groups; /* of a permute or send none */
  DevicePairs pairs;
} CollectiveTraffic;

typedef struct ModuleTraffic {
  DeviceCounts devices;
  int64_t count;
  const CollectiveTraffic *data; /* computations callees first, each in its order; those that never run are left out */
  double payload_bytes, wire_bytes; /* of one run */
  int64_t unknown_loops;            /* loops with collectives that count once because nobody knows how often they run */
} ModuleTraffic;

/* Of a verified module, in |arena|.  A located error ("device-groups") where groups do not fit the header's devices.
 * Linear in the instructions, and in devices for each collective. */
MUST_USE Status hlo_module_traffic(Arena *arena, const HloModule *module, DiagSink *diag, ModuleTraffic *out_traffic);

#endif
