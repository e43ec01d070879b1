/* PeakBuffers: what is alive where a module needs most memory, for messages and reports. */
#ifndef XLAC_HLO_ANALYSIS_PEAK_BUFFERS_H
#define XLAC_HLO_ANALYSIS_PEAK_BUFFERS_H

#include "hlo/analysis/buffer_assignment.h"

/* Either a value or scratch. */
typedef struct PeakBuffer {
  const HloValue *value;        /* of what a buffer holds at the peak one after the other, the first; NULL: scratch */
  const BufferScratch *scratch; /* NULL: a value */
  const HloInstruction *instruction; /* makes the value, or needs the scratch */
  const BufferAllocation *allocation;
  int64_t bytes;
} PeakBuffer;

typedef struct PeakBuffers {
  int64_t count;
  int64_t in_workspace; /* so many of them come first: the temporaries and the scratch */
  const PeakBuffer *buffers;
} PeakBuffers;

/* At |assignment|'s peak_position, in |arena|.  The workspace first, as it is what another program could need less of;
 * then what the caller's results, arguments and the constants hold.  The largest first in each of the two. */
PeakBuffers peak_buffers_find(Arena *arena, const BufferAssignment *assignment);

/* The shape of the value; bytes for scratch: "u8[64]". */
StringView peak_buffer_shape(Arena *arena, const PeakBuffer *buffer);

#endif
