/* NetworkDescription: devices and how they reach one another, as a value.
 *
 * Devices are alike and numbered; `size` consecutive ones from a multiple of it on are a block of a level: those of a
 * node, say, then those of a rack.  Two devices talk over the innermost level in whose block both are.  The text form
 * is a `.net` file of sections and keys (docs/distributed.md); levels stand from the inside out.  Times are seconds,
 * rates are per second, sizes bytes. */
#ifndef XLAC_HLO_NETWORK_NETWORK_DESCRIPTION_H
#define XLAC_HLO_NETWORK_NETWORK_DESCRIPTION_H

#include "base/diagnostic.h"

#define NETWORK_MAX_LEVELS 8

typedef struct NetworkLevel {
  SourceLoc loc;
  StringView name;
  int64_t size;     /* devices of a block */
  double latency;   /* of a message, with all that sender and receiver do for one */
  double bandwidth; /* what one device sends while all of its block do */
} NetworkLevel;

typedef struct NetworkDevice {
  double flops;            /* operations on numbers */
  double memory_bandwidth; /* bytes */
  double call;             /* that an instruction takes by itself */
  double reduce_bandwidth; /* bytes of operands that collectives combine */
  int64_t memory;          /* bytes; 0: not said */
} NetworkDevice;

typedef struct NetworkDescription {
  SourceLoc loc, device_loc;
  StringView name;
  int overlap; /* 0: a device waits for its transfers; 1: between a collective's start and its end it computes */
  NetworkDevice device;
  int level_count;
  NetworkLevel levels[NETWORK_MAX_LEVELS];
} NetworkDescription;

/* Located errors for all that is unknown, repeated, missing or impossible ("description-…", "network-levels").  Strings
 * are views of |source|, which must outlive the value. */
MUST_USE Status network_description_parse(Arena *arena, const SourceFile *source, DiagSink *diag,
                                          NetworkDescription *out_network);

/* Devices that there can be: a block of the outermost level. */
int64_t network_device_limit(const NetworkDescription *network);

#endif
