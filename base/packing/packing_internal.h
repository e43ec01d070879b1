/* What placement and verification share: what a buffer must be like. */
#ifndef XLAC_BASE_PACKING_PACKING_INTERNAL_H
#define XLAC_BASE_PACKING_PACKING_INTERNAL_H

#include "base/packing/packing.h"

/* Where messages about |buffer| point to. */
static inline SourceLoc packing_loc(const PackingBuffer *buffer) {
  return buffer->loc == NULL ? NO_LOC : *buffer->loc;
}

/* Size, alignment, lifetime and group of one buffer on its own. */
MUST_USE Status packing_check_buffer(const PackingBuffer *buffer, DiagSink *diag);

MUST_USE Status packing_overflow_error(DiagSink *diag, const PackingBuffer *buffer);

/* packing_best_fit, longest first when |by_duration| (XLA's temporal order: ties larger first, then input order). */
MUST_USE Status packing_best_fit_by(Arena *arena, const PackingBuffer *buffers, int64_t count, bool by_duration,
                                    DiagSink *diag, PackingSolution *out_solution);

static inline int compare_i64(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

#endif
