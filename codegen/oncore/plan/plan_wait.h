/* Edges as counts: "queue q has completed n commands", n in closed form from the loops around the consumer.
 *
 * Queues complete their commands in program order, or at least can be made to, so that an instance of a producer is
 * complete when its queue has completed as many commands as there are on it up to this instance. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_PLAN_WAIT_H
#define XLAC_CODEGEN_ONCORE_PLAN_PLAN_WAIT_H

#include "codegen/oncore/plan/plan.h"

/* The iteration of one loop around the producer: instance / stride % trip_count; in each, |commands| of its queue. */
typedef struct PlanWaitTerm {
  int64_t stride, trip_count, commands;
} PlanWaitTerm;

typedef struct PlanWait {
  int32_t queue;
  /* The producer's instance: constant + Σ factors[l] × iteration of loop l (by loop of the plan); a negative one: there
   * is nothing to wait for. */
  int64_t constant;
  const int64_t *factors;
  PlanEdgeReach reach; /* … and where plan_reach_iteration is below reach.back, if there is a same_loop */
  /* The count: commands + Σ terms. */
  int64_t commands;
  int32_t term_count;
  const PlanWaitTerm *terms;
} PlanWait;

/* What |edge| of |command| means.  In |arena|. */
PlanWait plan_wait_of_edge(Arena *arena, const Plan *plan, const PlanCommand *command, const PlanEdge *edge);

/* Commands of |queue| before |barrier|.  In |arena|. */
PlanWait plan_wait_of_barrier(Arena *arena, const Plan *plan, const PlanCommand *barrier, int32_t queue);

/* The count for |iterations|, one per loop of the plan (those of loops that are not around the consumer do not matter);
 * 0: nothing to wait for. */
int64_t plan_wait_count(const Plan *plan, const PlanWait *wait, const int64_t *iterations);

#endif
