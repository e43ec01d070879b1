#include "codegen/oncore/emit/plan_space.h"

#include "base/checked_math.h"
#include "codegen/emit/kernel_strategy.h"

#define PART_ALIGNMENT 64

static Status make_variants(Arena *arena, const Plan *plan, int32_t number, const MachineDescription *machine,
                            DiagSink *diag, CommandVariants *out_variants) {
  const PlanCommand *command = &plan->commands[number];
  if (command->verb == PLAN_BARRIER)
    return diag_error(diag, STATUS_UNSUPPORTED, command->loc, "unsupported-barrier",
                      "barriers inside a plan have no code yet");
  return command_variants_build(arena, plan, command, machine, diag, out_variants);
}

static int64_t scratch_of(const CommandVariants *variants, const VecTarget *targets, int target_count) {
  int64_t bytes = 0;
  for (int32_t v = 0; v < variants->count; v++) {
    KernelScratch scratch = kernel_scratch(variants->variants[v].tile.kernel, targets, target_count, false);
    bytes = max_i64(bytes, scratch.bytes);
  }
  return bytes;
}

Status plan_space_make(Arena *arena, const Plan *plan, const MachineDescription *machine, const VecTarget *targets,
                       int target_count, DiagSink *diag, PlanSpace *out_space) {
  CommandVariants *variants = ARENA_NEW_ARRAY(arena, CommandVariants, plan->command_count);
  int64_t *temporaries = ARENA_NEW_ARRAY(arena, int64_t, plan->temporary_count);
  PlanSpace space = {.variants = variants, .temporaries = temporaries};
  for (int32_t c = 0; c < plan->command_count; c++) {
    RETURN_IF_ERROR(make_variants(arena, plan, c, machine, diag, &variants[c]));
    space.scratch_bytes_per_queue =
        max_i64(space.scratch_bytes_per_queue, scratch_of(&variants[c], targets, target_count));
  }
  space.bytes = align_up(plan->buffer_bytes, PART_ALIGNMENT);
  for (int64_t t = 0; t < plan->temporary_count; t++) {
    temporaries[t] = space.bytes;
    space.bytes += align_up(plan->temporary_bytes[t], PART_ALIGNMENT);
  }
  space.scratch = space.bytes;
  space.bytes += space.scratch_bytes_per_queue * machine->queue_count;
  *out_space = space;
  return STATUS_OK;
}
