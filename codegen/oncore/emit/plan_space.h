/* PlanSpace: the memory that the code of a plan works in, beside the Kernel's arrays: the Buffer, temporaries, and what
 * tile Kernels need while they run.  A function of plan, machine and processors alone, so that memory can be planned
 * before there is code. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_PLAN_SPACE_H
#define XLAC_CODEGEN_ONCORE_EMIT_PLAN_SPACE_H

#include "codegen/emit/kernel_strategy.h"
#include "codegen/oncore/plan/command_variants.h"
#include "codegen/target/vec_target.h"

typedef struct PlanSpace {
  const CommandVariants *variants; /* by command: the tile Kernels that code is made of */
  const int64_t *temporaries;      /* by temporary of the plan: its offset; the Buffer is at 0 */
  int64_t scratch;                 /* offset of the tile Kernels' scratch, a part for each queue */
  /* of plan_space_choose_code */
  int target_count;
  const KernelStrategy *const *strategies; /* by command: how that is made, [variant × target_count + target] */
  int64_t scratch_bytes_per_queue;
  int64_t bytes; /* of all of it, a multiple of 64; 0: no code has been chosen */
} PlanSpace;

/* In |arena|, without code.  STATUS_UNSUPPORTED, located, for what has none (as command_variants_build fails). */
MUST_USE Status plan_space_make(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                                PlanSpace *out_space);

/* Enough for code for each of |target_count| |targets|. */
void plan_space_choose_code(Arena *arena, const Plan *plan, const MachineDescription *machine, const VecTarget *targets,
                            int target_count, PlanSpace *space);

#endif
