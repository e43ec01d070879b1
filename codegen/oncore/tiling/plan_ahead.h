/* Loads issued ahead: for machines on which one queue, in its order, loads and stores. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_AHEAD_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_AHEAD_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* Whether loads wait for the stores before them although nothing orders the two. */
bool machine_shares_queue(const MachineDescription *machine);

/* |plan|, the tiler's or what plan_keep has made of it, with each load one innermost iteration earlier, before the
 * computation of the tile at hand: a store that waits for that no longer holds it up.  What is loaded for the first
 * iteration of a loop comes in the last one before it, of whatever loop: so the last iterations stand by themselves.
 * Loads stay where they are that have no slot of their own then, or of arrays that the plan writes.  Edges are derived
 * anew.  In |arena|; refers to |plan| (Plan.as_tiled).  Status as that of plan_edges_complete. */
MUST_USE Status plan_ahead(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                           Plan **out_plan);

#endif
