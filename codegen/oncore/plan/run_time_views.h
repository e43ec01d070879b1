/* Places in arrays that only numbers known at run time tell: which of them move together.
 *
 * Parts of an array that all lie at one sum of run-time numbers, but for what loops and constants say, keep their
 * distances whatever the numbers are: what holds of them for some values holds for all. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_RUN_TIME_VIEWS_H
#define XLAC_CODEGEN_ONCORE_PLAN_RUN_TIME_VIEWS_H

#include "codegen/oncore/plan/plan.h"

/* Whether the place of |ref|, a part of a memory view or of a Tensor, depends on run-time numbers.  Unless NULL,
 * |*out_sum| becomes its sum of them, in |space|, which is of run-time numbers alone. */
bool run_time_sum(const Plan *plan, const PlanRef *ref, IndexSpace *space, IndexExpr *out_sum);

/* By memory view, in |arena|: whether its array is written and is met at places that do not move together, so that
 * those that move may be anywhere as seen from the others. */
const bool *run_time_views(Arena *arena, const Plan *plan);

/* By Tensor, in |arena|: the same of the array that outlives the plan there; of others false. */
const bool *run_time_tensors(Arena *arena, const Plan *plan);

#endif
