#include "codegen/oncore/plan/operand_uses.h"

#include "codegen/oncore/plan/tile_access.h"

typedef struct UsesOfOperands {
  const Plan *plan;
  const PlanCommand *command;
  bool *goes_on, *reads_back, *in_place;
} UsesOfOperands;

static void find_without_kernel(UsesOfOperands *uses) {
  const PlanCommand *command = uses->command;
  bool is_elementwise = command->verb == PLAN_OP;
  for (int32_t t = 0; t < command->target_count; t++) {
    const PlanRef *target = &command->targets[t];
    bool is_kept = !target->is_memory && uses->plan->tensors[target->number].kind == PLAN_ACCUMULATOR;
    uses->goes_on[t] = is_kept || command->keeps_accumulators;
    for (int32_t s = 0; s < command->source_count; s++) uses->in_place[s * command->target_count + t] = is_elementwise;
  }
}

/* Sources and targets stand in the order of the accesses; where their numbers differ the command is no good, and
 * plan_meaning.h says so. */
static void find_with_kernel(UsesOfOperands *uses, Arena *scratch) {
  const PlanCommand *command = uses->command;
  const Kernel *kernel = uses->plan->kernel;
  TileCover cover = {command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                     command->index_value};
  TileAccesses accesses = tile_accesses(scratch, kernel, &cover);
  int32_t target = 0;
  for (int32_t a = 0; a < accesses.count; a++) {
    const TileAccess *written = &accesses.accesses[a];
    if (!written->is_written || target == command->target_count) continue;
    uses->goes_on[target] = written->is_read;
    uses->reads_back[target] = written->is_read_back;
    for (int32_t b = 0, source = 0; b < a && source < command->source_count; b++) {
      const TileAccess *read = &accesses.accesses[b];
      if (read->is_written) continue;
      uses->in_place[source++ * command->target_count + target] = tile_stores_in_place(kernel, &cover, read, written);
    }
    target++;
  }
}

OperandUses operand_uses(Arena *arena, const Plan *plan, const PlanCommand *command) {
  UsesOfOperands uses = {plan, command, ARENA_NEW_ARRAY(arena, bool, command->target_count),
                         ARENA_NEW_ARRAY(arena, bool, command->target_count),
                         ARENA_NEW_ARRAY(arena, bool, (int64_t)command->source_count * command->target_count)};
  bool computes = command->verb != PLAN_LOAD && command->verb != PLAN_STORE && command->verb != PLAN_GATHERM &&
                  command->verb != PLAN_BARRIER;
  Arena *scratch = arena_create();
  if (computes && command->points != NULL)
    find_with_kernel(&uses, scratch);
  else if (computes)
    find_without_kernel(&uses);
  arena_destroy(scratch);
  return (OperandUses){command->target_count, uses.goes_on, uses.reads_back, uses.in_place};
}
