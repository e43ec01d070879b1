/* What a stream loads more than once: halos of windows, and operands that do not stay in the Buffer. */
#ifndef XLAC_HLO_MACHINE_STREAM_RELOADS_H
#define XLAC_HLO_MACHINE_STREAM_RELOADS_H

#include "hlo/machine/stream/command_stream.h"

typedef struct ObjectLoads {
  int32_t object;
  int64_t bytes;    /* that transfers read of it, each time counted */
  int64_t distinct; /* once each: |bytes| less this is loaded again */
  bool is_hidden;   /* which bytes only run-time values tell: |bytes| is what the tiles get, |distinct| the same */
} ObjectLoads;

typedef struct StreamLoads {
  ObjectLoads *objects; /* those of memory that transfers read, in the stream's order */
  int64_t count;
  bool is_known; /* false: too many runs of bytes to look at */
} StreamLoads;

StreamLoads stream_loads_find(Arena *arena, const CommandStream *stream);
int64_t stream_loads_again(const StreamLoads *loads); /* bytes, over all objects */

#endif
