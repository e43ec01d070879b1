/* Which items lie outside region 0, and where there. */
#ifndef XLAC_BASE_PACKING_PACKING_REGIONS_H
#define XLAC_BASE_PACKING_PACKING_REGIONS_H

#include "base/packing/part.h"

/* Where everything is: |regions| and |offsets| by item. */
typedef struct Layout {
  int32_t *regions;
  int64_t *offsets;
  int64_t height; /* of region 0 */
  int64_t bound;  /* no layout is lower */
} Layout;

typedef struct Solver {
  Arena *arena;
  const PackingProblem *problem;
  const Instance *instance;
  DiagSink *diag;
  PartAim aim;
  int64_t standing; /* the height of a solution that is there already; INT64_MAX: none */
  Work work;
} Solver;

/* Items that lie in one region. */
typedef struct RegionGuests {
  int32_t *items, count;
  const int64_t *offsets; /* by item */
} RegionGuests;

/* The lowest place for item |i| in |region| beside |guests|; -1: there is none, or |work| is used up. */
int64_t lowest_room(const Solver *solver, Work *work, int32_t i, int32_t region, const RegionGuests *guests);

/* Moves items from region 0 to others as long as its fullest sections have more than |goal| bytes: those alive there,
 * in place of guests of sections that are less full.  |regions| and |offsets| are a placement before and after, but for
 * the offsets in region 0. */
void relieve_fullest(Solver *solver, int64_t goal, int32_t *regions, int64_t *offsets);

/* Chooses regions and places everything.  STATUS_EXHAUSTED with a diagnostic when items that may not be in region 0
 * found no place. */
MUST_USE Status solve_layout(Solver *solver, Layout *out_layout);

#endif
