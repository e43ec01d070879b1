#include "codegen/oncore/plan/operand_uses.h"

#include "codegen/oncore/plan/tile_seen.h"

/* By target. */
typedef struct TargetUses {
  bool *goes_on, *reads_back;
} TargetUses;

static bool computes(const PlanCommand *command) {
  return command->verb != PLAN_LOAD && command->verb != PLAN_STORE && command->verb != PLAN_GATHERM &&
         command->verb != PLAN_BARRIER && !plan_brings_held(command);
}

static TileCover cover_of(const PlanCommand *command) {
  return (TileCover){command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                     command->index_value};
}

/* --- targets --- */

static void find_without_kernel(const Plan *plan, const PlanCommand *command, TargetUses *uses) {
  for (int32_t t = 0; t < command->target_count; t++) {
    const PlanRef *target = &command->targets[t];
    bool is_kept = !target->is_memory && plan->tensors[target->number].kind == PLAN_ACCUMULATOR;
    uses->goes_on[t] = is_kept || command->keeps_accumulators;
  }
}

/* Sources and targets stand in the order of the accesses; where their numbers differ the command is no good, and
 * plan_meaning.h says so. */
static void find_with_kernel(Arena *scratch, const Plan *plan, const PlanCommand *command, TargetUses *uses) {
  TileCover cover = cover_of(command);
  TileAccesses accesses = tile_accesses(scratch, plan->kernel, &cover);
  int32_t target = 0;
  for (int32_t a = 0; a < accesses.count && target < command->target_count; a++) {
    const TileAccess *written = &accesses.accesses[a];
    if (!written->is_written) continue;
    uses->goes_on[target] = written->is_read;
    uses->reads_back[target++] = written->is_read_back;
  }
}

static void find_of_operation(const PlanCommand *command, TargetUses *uses) {
  const PlanOperation *operation = command->operation;
  for (int32_t b = 0; b < operation->kernel->buffer_count; b++)
    if (operation->kernel->buffers[b].role == KERNEL_IN_PLACE) uses->reads_back[operation->operands[b]] = true;
}

OperandUses operand_uses(Arena *arena, const Plan *plan, const PlanCommand *command) {
  TargetUses uses = {ARENA_NEW_ARRAY(arena, bool, command->target_count),
                     ARENA_NEW_ARRAY(arena, bool, command->target_count)};
  Arena *scratch = arena_create();
  if (command->operation != NULL)
    find_of_operation(command, &uses);
  else if (computes(command) && command->points != NULL)
    find_with_kernel(scratch, plan, command, &uses);
  else if (computes(command))
    find_without_kernel(plan, command, &uses);
  arena_destroy(scratch);
  return (OperandUses){command->target_count, uses.goes_on, uses.reads_back, arena, plan, command, NULL};
}

/* --- targets in place of sources --- */

/* Whether |ref| holds windows once: an element of it is read at several points. */
static bool is_window(const Plan *plan, const PlanCommand *command, const TileAccess *access, const PlanRef *ref) {
  TileWindows windows;
  if (tile_ref_is_seen(plan, access, ref)) return true;
  return access->kind == TILE_LOAD && tile_load_windows(plan->kernel, access->value, &windows) &&
         tile_ref_is_window(&windows, command->points, ref);
}

static void find_places_with_kernel(Arena *scratch, OperandUses *uses) {
  const PlanCommand *command = uses->command;
  const Kernel *kernel = uses->plan->kernel;
  TileCover cover = cover_of(command);
  TileAccesses accesses = tile_accesses(scratch, kernel, &cover);
  int32_t target = 0;
  for (int32_t a = 0; a < accesses.count && target < command->target_count; a++) {
    const TileAccess *written = &accesses.accesses[a];
    if (!written->is_written) continue;
    for (int32_t b = 0, source = 0; b < a && source < command->source_count; b++) {
      const TileAccess *read = &accesses.accesses[b];
      if (read->is_written) continue;
      bool may_be = !is_window(uses->plan, command, read, &command->sources[source]);
      uses->in_place[source++ * command->target_count + target] =
          may_be && tile_stores_in_place(kernel, &cover, read, written);
    }
    target++;
  }
}

/* The one store to |buffer|, without a guard; NULL: there are others. */
static const KernelStore *only_store(const Kernel *kernel, int32_t buffer, int32_t *out_stage) {
  const KernelStore *only = NULL;
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (store->buffer != buffer) continue;
      if (only != NULL || store->predicate >= 0 || kernel->stages[s].comparator != NULL) return NULL;
      only = store;
      *out_stage = s;
    }
  }
  return only;
}

/* Each element of |source| is read at the point that writes it to |target| alone, and not after that: points of the
 * outer dims run in any order, and all loads are at the address of the one store, in its stage or before. */
static bool is_read_where_written(const Kernel *kernel, int32_t source, int32_t target) {
  int32_t stage = 0;
  const KernelStore *store = only_store(kernel, target, &stage);
  bool is_fine = store != NULL &&
                 type_storage_bytes(kernel->buffers[source].type) == type_storage_bytes(kernel->buffers[target].type);
  for (int32_t d = 0; d < kernel->dim_count && is_fine; d++)
    is_fine = kernel->dims[d].stage != KERNEL_OUTER || kernel_dim_is_parallel(&kernel->dims[d]);
  for (int32_t v = 0; v < kernel->value_count && is_fine; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD && value->buffer == source)
      is_fine = value->stage <= stage && index_equal(value->address, store->address);
  }
  return is_fine;
}

/* All buffers of |source| are. */
static bool is_operand_in_place(const PlanOperation *operation, int32_t source, int32_t target) {
  for (int32_t b = 0; b < operation->kernel->buffer_count; b++) {
    bool is_of_source = operation->kernel->buffers[b].role == KERNEL_OPERAND && operation->operands[b] == source;
    if (is_of_source && !is_read_where_written(operation->kernel, b, target)) return false;
  }
  return true;
}

static void find_places_of_operation(OperandUses *uses) {
  const PlanCommand *command = uses->command;
  const PlanOperation *operation = command->operation;
  for (int32_t b = 0; b < operation->kernel->buffer_count; b++) {
    int32_t target = operation->operands[b];
    for (int32_t s = 0; s < command->source_count && operation->kernel->buffers[b].role == KERNEL_RESULT; s++)
      uses->in_place[s * command->target_count + target] = is_operand_in_place(operation, s, b);
  }
}

static void find_places(OperandUses *uses) {
  const PlanCommand *command = uses->command;
  int64_t count = (int64_t)command->source_count * command->target_count;
  uses->in_place = ARENA_NEW_ARRAY(uses->arena, bool, count);
  Arena *scratch = arena_create();
  if (command->operation != NULL)
    find_places_of_operation(uses);
  else if (computes(command) && command->points != NULL)
    find_places_with_kernel(scratch, uses);
  else if (computes(command) && command->verb == PLAN_OP)
    for (int64_t i = 0; i < count; i++) uses->in_place[i] = true;
  arena_destroy(scratch);
}

bool operand_in_place(OperandUses *uses, int32_t source, int32_t target) {
  if (uses->in_place == NULL) find_places(uses);
  return uses->in_place[source * uses->target_count + target];
}
