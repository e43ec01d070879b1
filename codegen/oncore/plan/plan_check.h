/* Proof and price of a plan, from its command stream: knows nothing of how the plan was made. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_PLAN_CHECK_H
#define XLAC_CODEGEN_ONCORE_PLAN_PLAN_CHECK_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/queue_simulation.h"

typedef struct PlanVerdict {
  const MachineDescription *machine;
  CommandStream stream; /* labels: the plan's command numbers */
  HazardReport hazards;
  QueueSimulation simulation; /* cycles 0 when there are faults: no order is sure to mean anything */
  QueueLimit bound;           /* of the plan's own work: no schedule of these commands is shorter */
  int64_t footprint;          /* bytes of the Buffer up to the last Tensor's end */
} PlanVerdict;

/* All that is known of |plan|, in |arena|.  Faults are in the verdict, not in the status: plan_verdict_report makes
 * diagnostics of them.  Status as that of plan_stream_make and hazards_check. */
MUST_USE Status plan_check(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                           PlanVerdict *out_verdict);

/* STATUS_OK, or STATUS_INVALID with one diagnostic per mistake ("plan-race", "plan-bounds", …), each at the command
 * concerned, and a warning for each redundant edge.  What shows in many iterations is one mistake; a race has a note
 * with the edge that is missing, as the plan language writes it. */
MUST_USE Status plan_verdict_report(const Plan *plan, const PlanVerdict *verdict, DiagSink *diag);

/* One line for people: cycles, share of the bound and what limits, edges, faults. */
void plan_verdict_print(StringBuilder *out, const PlanVerdict *verdict, const MachineDescription *machine);

#endif
