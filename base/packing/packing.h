/* Packing: placement of buffers with known lifetimes in one address space (dynamic storage allocation).
 *
 * Knows nothing of HLO.  Times are positions in any total order, half-open: a buffer occupies [lower, upper) but for
 * its gaps.  Sizes and offsets are bytes.  Two buffers that are alive at one time and lie in one region share no byte.
 * What must hold of a solution is said here once, found by packing_solve and proved by packing_verify, which share no
 * code but the expansion of lifetimes. */
#ifndef XLAC_BASE_PACKING_PACKING_H
#define XLAC_BASE_PACKING_PACKING_H

#include "base/diagnostic.h"

/* A part of a buffer's lifetime in which its bytes are free: the same clock as |lower| and |upper|. */
typedef struct PackingGap {
  int64_t lower, upper; /* lower < upper */
} PackingGap;

typedef struct PackingBuffer {
  int64_t id;           /* the caller's name for it, used in messages */
  int64_t lower, upper; /* lower < upper, unless size is 0 */
  int64_t size;         /* >= 0; size 0 gets offset 0 and conflicts with nothing */
  int64_t alignment;    /* >= 1; of the region's base + offset */
  int64_t group;        /* -1: none.  Buffers of one group get one region and one offset; their lifetimes do not meet */
  /* What follows may stay zero. */
  const PackingGap *gaps; /* within [lower, upper), in order of time, apart from one another */
  int64_t gap_count;
  bool is_pinned;
  int64_t pin;          /* when is_pinned: its offset, in the only region it may have */
  uint64_t regions;     /* bit r: it may lie in region r; 0: in region 0 */
  int64_t depth;        /* 0: a buffer of straight-line code; else of the loop's body, with so many slots */
  const SourceLoc *loc; /* where the caller's input says it, for messages; NULL: nowhere */
} PackingBuffer;

/* A piece of address space.  That of region 0 is what a solution makes as low as it can; the others are there anyway.
 */
typedef struct PackingRegion {
  int64_t
      capacity; /* of region 0: a height that is low enough, INT64_MAX: as low as possible; of others: what there is */
  int64_t base; /* >= 0, the address of offset 0, for alignment */
} PackingRegion;

/* A loop whose iterations overlap (modulo scheduling).  It runs during [lower, upper) of the straight line; one more
 * iteration starts every |period|.  A buffer with depth d > 0 belongs to its body, and its lifetime counts from its
 * iteration's start: iteration i's instance is alive in [lower + i * period, upper + i * period), for every integer i
 * (the steady state).  It has d slots, slot k for the iterations i with i mod d = k, each with a region and an offset
 * of its own; upper - lower <= d * period, so that a slot is free when its next iteration starts.  Instances of two
 * iterations meet as these times say: those of i and i + 1 as soon as upper - lower > period.  A buffer without depth
 * that is alive at some time of the loop's [lower, upper) counts as alive during all of it.  No loop: period 0. */
typedef struct PackingLoop {
  int64_t lower, upper;
  int64_t period;
} PackingLoop;

typedef struct PackingProblem {
  const PackingBuffer *buffers;
  int64_t count;
  const PackingRegion *regions; /* at most PACKING_MOST_REGIONS; none: one without limit and base 0 */
  int64_t region_count;
  PackingLoop loop;
  int64_t most_steps; /* fewer steps than the effort's, some 3 ns each; 0: the effort's */
  int effort;         /* 1 … 9, how many steps a search may take: each allows more than the one before */
} PackingProblem;

enum { PACKING_MOST_REGIONS = 64, PACKING_MOST_DEPTH = 64, PACKING_DEFAULT_EFFORT = 5 };

typedef struct PackingSolution {
  int64_t *offsets;    /* one per buffer, in input order; of a buffer with depth d: d, slot by slot */
  int64_t height;      /* of region 0: the largest offset + size */
  int64_t lower_bound; /* no solution is lower; at least the largest sum of live sizes that can only be in region 0 */
  int32_t *regions;    /* as offsets; NULL: all 0 */
  bool is_optimal;     /* proved: height = lower_bound */
  int64_t work;        /* steps that the search took */
} PackingSolution;

/* Best fit over buffers in decreasing size (ties: longer lifetime, then input order): each goes to the smallest gap
 * that holds it among the buffers it meets in time, the lowest on ties, on top if none (XLA's
 * GlobalDecreasingSizeBestFitHeap, spatial order).  Deterministic.  |out_solution| lives in |arena|. STATUS_INVALID
 * with a diagnostic for a negative size, empty lifetime, bad alignment, overflow, or a group whose buffers are alive
 * together. What a PackingBuffer may have besides lifetime, size, alignment and group is not looked at.
 */
MUST_USE Status packing_best_fit(Arena *arena, const PackingBuffer *buffers, int64_t count, DiagSink *diag,
                                 PackingSolution *out_solution);

/* The entries of a solution's |offsets|: of buffers with depth their slots, of others one. */
int64_t packing_slot_count(const PackingProblem *problem);

/* The lowest solution that |problem->effort| finds, or the first that is within region 0's capacity.  A solution above
 * that capacity is no error: the caller compares, and |lower_bound| tells whether it is proved that there is none. Same
 * problem, same solution; no time is measured.  |out_solution| lives in |arena|.  STATUS_INVALID with a diagnostic for
 * what the types above exclude and for pinned buffers that collide, STATUS_EXHAUSTED when buffers that may not lie in
 * region 0 found no place.  How: base/packing/README.md. */
MUST_USE Status packing_solve(Arena *arena, const PackingProblem *problem, DiagSink *diag,
                              PackingSolution *out_solution);

/* Proves a solution independently of how it was made: alignment, pins, bounds, regions, no two buffers that meet in
 * time overlap in space, groups share their place, the height is right, the lower bound is at least the largest sum of
 * live sizes and at most the height.  STATUS_INVALID with the first few violations. */
MUST_USE Status packing_verify(Arena *scratch, const PackingProblem *problem, const PackingSolution *solution,
                               DiagSink *diag);

#endif
