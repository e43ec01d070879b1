/* Packing: placement of buffers with known lifetimes in one address space (dynamic storage allocation).
 *
 * Knows nothing of HLO.  Times are positions in any total order, half-open: a buffer occupies [lower, upper).  Sizes
 * and offsets are bytes.  Buffers of one colocation group (same non-negative |group|) get one offset; their lifetimes
 * must not meet. A buffer of size 0 belongs to no group and has offset 0. */
#ifndef XLAC_BASE_PACKING_PACKING_H
#define XLAC_BASE_PACKING_PACKING_H

#include "base/diagnostic.h"

typedef struct PackingBuffer {
  int64_t id;           /* the caller's name for it, used in messages */
  int64_t lower, upper; /* lower < upper, unless size is 0 */
  int64_t size;         /* >= 0; size 0 gets offset 0 and conflicts with nothing */
  int64_t alignment;    /* >= 1 */
  int64_t group;        /* -1: none */
} PackingBuffer;

typedef struct PackingPlan {
  int64_t *offsets;    /* one per buffer, in input order */
  int64_t height;      /* the largest offset + size */
  int64_t lower_bound; /* the largest sum of live sizes: no plan is lower */
} PackingPlan;

/* Best fit over buffers in decreasing size (ties: longer lifetime, then input order): each goes to the smallest gap
 * that holds it among the buffers it meets in time, the lowest on ties, on top if none (XLA's
 * GlobalDecreasingSizeBestFitHeap, spatial order).  Deterministic.  |out_plan| lives in |arena|. STATUS_INVALID with a
 * diagnostic for a negative size, empty lifetime, bad alignment, overflow, or a group whose buffers are alive together.
 */
MUST_USE Status packing_best_fit(Arena *arena, const PackingBuffer *buffers, int64_t count, DiagSink *diag,
                                 PackingPlan *out_plan);

/* Proves a plan independently of how it was made: alignment, bounds, no two buffers that meet in time overlap in space,
 * groups share their offset, height and lower bound are right.  STATUS_INVALID with the first few violations. */
MUST_USE Status packing_verify(Arena *scratch, const PackingBuffer *buffers, int64_t count, const PackingPlan *plan,
                               DiagSink *diag);

#endif
