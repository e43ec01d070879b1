/* Which command waits for which: from who reads and writes a Tensor. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_EDGES_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_EDGES_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* Sets the edges of |commands|, those of |plan|, to what its Tensors and temporaries need: a reader waits for the
 * latest writer, a writer for the readers of what its slot held before.  Left out is what in-order queues keep, and
 * what an earlier command of the same queue has waited for.  For plans of the tiler: a slot is used in turn by the
 * instances of the command that fills it, and nothing else orders commands.  Edges that others imply in every instance
 * are dropped, as the stream of the plan with short loops shows.  On a machine with unordered queues: what
 * plan_edges_derive_any does. */
MUST_USE Status plan_edges_derive(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag);

/* The same without dropping what others imply, which takes no time in a simulation; false, and nothing, on a machine
 * with unordered queues or one whose flags edges take. */
bool plan_edges_derive_all(Plan *plan, const MachineDescription *machine, PlanCommand *commands);

/* That of plan_edges_derive for plans in which several commands fill the slots of a ring, on any machine: what
 * plan_edges_complete adds to the plan with short loops. */
MUST_USE Status plan_edges_derive_any(Plan *plan, const MachineDescription *machine, PlanCommand *commands,
                                      DiagSink *diag);

/* Whether the flags of |machine| are enough for |plan|, as its first iterations show; always on machines that count. */
MUST_USE Status plan_edges_find_flags(const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                                      bool *out_enough);

/* Sets the edges of |commands|, those of |plan|, to what needs the fewest flags, one for each pair of queues: every
 * command waits for the one before it in program order. */
void plan_edges_serialise(Plan *plan, const MachineDescription *machine, PlanCommand *commands);

/* Adds to the edges of |commands|, those of |plan|, what any plan needs to be without races: the fewest edges between
 * instances (hazards_derive_edges), joined to edges between commands.  Where instances of a command need different
 * distances to a producer on an in-order queue, the least holds for all; where the producer runs several times in the
 * loop around both, the edge is to the last of these runs, or to all of them on a queue without order.  What turns out
 * to be redundant then is left out again, or limited to the run of a loop; edges that were there stay.  Status as that
 * of plan_stream_make and hazards_derive_edges. */
MUST_USE Status plan_edges_complete(Plan *plan, const MachineDescription *machine, PlanCommand *commands,
                                    DiagSink *diag);

/* Edges instead of the barriers of single Tensors in |plan|, which then stand in no block: added to those of
 * |commands|. Status as that of plan_stream_make. */
MUST_USE Status plan_edges_of_barriers(Plan *plan, const MachineDescription *machine, PlanCommand *commands,
                                       DiagSink *diag);

#endif
