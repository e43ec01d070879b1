/* InterferenceSweep: all pairs of logical buffers that may interfere (buffer_liveness_may_interfere) under one order,
 * without a question for each pair there is.
 *
 * Buffers come in the order in which the flattened sequences make them, and only those are asked about that have not
 * ended by then: in that order, which every other one is part of, or because the new buffer's maker does not wait for
 * one of their readers.  So the cost is that of the pairs that are found, and of looking over the rows of what waits
 * for what, a bit for each pair of instructions, where the order has them. */
#ifndef XLAC_HLO_ANALYSIS_INTERFERENCE_H
#define XLAC_HLO_ANALYSIS_INTERFERENCE_H

#include "hlo/analysis/buffer_liveness.h"

typedef struct InterferenceSweep InterferenceSweep;

/* In |arena|; |liveness| must live as long. */
InterferenceSweep *interference_sweep_begin(Arena *arena, const BufferLiveness *liveness);

/* The next buffer, and those before it with which it may interfere: ids, ascending, valid until the next call.  Each
 * pair comes once, with the buffer that is made later.  False: there are no more buffers. */
bool interference_sweep_next(InterferenceSweep *sweep, int32_t *out_buffer, const int32_t **out_others,
                             int64_t *out_count);

#endif
