/* Plans that move arrays between memory and the Buffer around a loop in whose body they are resident. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_LOOP_MOVES_H
#define XLAC_CODEGEN_ONCORE_RUN_LOOP_MOVES_H

#include "codegen/oncore/run/residency.h"

/* The plan that loads residents of |loop| before it, or (|is_after|) stores some after it: NULL for none.  Its Kernel
 * has a buffer for each, in order, and computes nothing; |out_nodes| are the leaves of the loop's state that they are.
 * In |arena|.  Status as that of plan_edges_derive_any. */
MUST_USE Status loop_moves_plan(Arena *arena, const ResidentLoop *loop, bool is_after,
                                const MachineDescription *machine, DiagSink *diag, const Plan **out_plan,
                                int32_t *out_count, const int **out_nodes);

#endif
