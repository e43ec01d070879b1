/* Which instructions of a computation take part in control dependencies.  Passes leave those where they are: merging or
 * moving one would lose the order it stands for. */
#ifndef XLAC_PASSES_CLEANUP_CONTROL_EDGES_H
#define XLAC_PASSES_CLEANUP_CONTROL_EDGES_H

#include "hlo/ir/hlo_module.h"

typedef struct ControlEdges {
  IntMap ends; /* ids of instructions that have or are control predecessors */
} ControlEdges;

/* Of |computation| as it is now, in |scratch|. */
void control_edges_init(ControlEdges *edges, const HloComputation *computation, Arena *scratch);
bool control_edges_touch(const ControlEdges *edges, const HloInstruction *instruction);

/* The instructions of |computation| that take part in none, operands before users: what a pass may replace. */
HloInstruction **control_edges_free_order(const HloComputation *computation, Arena *scratch, int64_t *out_count);

#endif
