/* Plans that move arrays between memory and the Buffer around a loop in whose body they are resident. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_LOOP_MOVES_H
#define XLAC_CODEGEN_ONCORE_RUN_LOOP_MOVES_H

#include "codegen/oncore/run/residency.h"

typedef struct LoopMovesPlan {
  const Plan *plan; /* its Kernel has a buffer for each array, in order, and computes nothing; NULL: nothing is moved */
  int32_t count;    /* of arrays */
  const int *leaves; /* of the loop's state, which they are */
} LoopMovesPlan;

/* What loads residents of |loop| before it, or (|is_after|) stores some after it; in |arena|.  Status as that of
 * plan_edges_derive_any. */
MUST_USE Status loop_moves_plan(Arena *arena, const ResidentLoop *loop, bool is_after,
                                const MachineDescription *machine, DiagSink *diag, LoopMovesPlan *out_moves);

#endif
