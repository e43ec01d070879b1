/* Work for all queues of a machine: commands that came one after the other on one queue, on several in turn. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_SPREAD_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_SPREAD_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* Whether several queues of |machine| do one kind of work. */
bool machine_has_spare_queues(const MachineDescription *machine);

/* |plan|, the tiler's or what plan_keep has made of it, with the same commands in the same order, but in a loop without
 * further loops those of following iterations stand on following queues of their kind: its body has as many iterations
 * as there are such queues, and what is left stands after it.  Folds stay on one queue, since each goes on from the one
 * before.  Edges are derived anew.  In |arena|; refers to |plan| (Plan.as_tiled).  Status as that of
 * plan_edges_complete. */
MUST_USE Status plan_spread(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                            Plan **out_plan);

#endif
