#include "codegen/oncore/emit/plan_space.h"

#include "base/checked_math.h"

#define PART_ALIGNMENT 64

static Status make_variants(Arena *arena, const Plan *plan, int32_t number, const MachineDescription *machine,
                            DiagSink *diag, CommandVariants *out_variants) {
  const PlanCommand *command = &plan->commands[number];
  *out_variants = (CommandVariants){0};
  if (command->verb == PLAN_BARRIER) return STATUS_OK;
  return command_variants_build(arena, plan, command, machine, diag, out_variants);
}

/* |*out_bytes|: what the code of the largest needs. */
static const KernelStrategy *choose_strategies(Arena *arena, const CommandVariants *variants, const VecTarget *targets,
                                               int target_count, int64_t *out_bytes) {
  KernelStrategy *strategies = ARENA_NEW_ARRAY(arena, KernelStrategy, variants->count * target_count);
  *out_bytes = 0;
  for (int32_t v = 0; v < variants->count; v++) {
    for (int t = 0; t < target_count; t++) {
      KernelStrategy *strategy = &strategies[v * target_count + t];
      kernel_strategy_choose(variants->variants[v].tile.kernel, &targets[t], KERNEL_SCRATCH_FREE, arena, strategy);
      *out_bytes = max_i64(*out_bytes, kernel_strategy_scratch(strategy).bytes);
    }
  }
  return strategies;
}

Status plan_space_make(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                       PlanSpace *out_space) {
  CommandVariants *variants = ARENA_NEW_ARRAY(arena, CommandVariants, plan->command_count);
  int64_t *temporaries = ARENA_NEW_ARRAY(arena, int64_t, plan->temporary_count);
  PlanSpace space = {.variants = variants, .temporaries = temporaries};
  for (int32_t c = 0; c < plan->command_count; c++)
    RETURN_IF_ERROR(make_variants(arena, plan, c, machine, diag, &variants[c]));
  space.scratch = align_up(plan->buffer_bytes, PART_ALIGNMENT);
  for (int64_t t = 0; t < plan->temporary_count; t++) {
    temporaries[t] = space.scratch;
    space.scratch += align_up(plan->temporary_bytes[t], PART_ALIGNMENT);
  }
  *out_space = space;
  return STATUS_OK;
}

void plan_space_choose_code(Arena *arena, const Plan *plan, const MachineDescription *machine, const VecTarget *targets,
                            int target_count, PlanSpace *space) {
  const KernelStrategy **strategies = ARENA_NEW_ARRAY(arena, const KernelStrategy *, plan->command_count);
  for (int32_t c = 0; c < plan->command_count; c++) {
    int64_t bytes;
    strategies[c] = choose_strategies(arena, &space->variants[c], targets, target_count, &bytes);
    space->scratch_bytes_per_queue = max_i64(space->scratch_bytes_per_queue, bytes);
  }
  space->target_count = target_count;
  space->strategies = strategies;
  space->bytes = space->scratch + space->scratch_bytes_per_queue * machine->queue_count;
}
