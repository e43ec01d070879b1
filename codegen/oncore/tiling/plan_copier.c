#include "codegen/oncore/tiling/plan_copier.h"

#include "base/checked_math.h"
#include "codegen/oncore/tiling/plan_edges.h"

WorkKind plan_command_work(const PlanCommand *command) {
  if (command->verb == PLAN_LOAD || command->verb == PLAN_GATHERM) return WORK_LOAD;
  return command->verb == PLAN_STORE ? WORK_STORE : WORK_EXEC;
}

void plan_copier_init(PlanCopier *copier, Arena *arena, const Plan *plan) {
  *copier = (PlanCopier){.arena = arena, .old = plan, .plan = ARENA_NEW(arena, Plan)};
  *copier->plan = *plan;
  copier->plan->arena = arena;
  copier->plan->as_tiled = NULL;
  index_space_init(&copier->plan->space, arena);
  copier->dims = ARENA_NEW_ARRAY(arena, IndexExpr, plan->loop_count);
  copier->iterations = ARENA_NEW_ARRAY(arena, CopiedIteration, plan->loop_count);
  copier->renamed = ARENA_NEW_ARRAY(arena, int32_t, plan->loop_count);
  copier->values = ARENA_NEW_ARRAY(arena, int32_t, plan->scalar_count);
  for (int32_t v = 0; v < plan->scalar_count; v++) copier->values[v] = v;
}

int32_t plan_copier_add_loop(PlanCopier *copier, int32_t old, int64_t trip_count, int32_t parent) {
  PlanLoop loop = {.name = copier->old->loops[old].name, .trip_count = trip_count, .parent = parent};
  array_push(&copier->loops, copier->arena, loop);
  return copier->renamed[old] = (int32_t)copier->loops.count - 1;
}

/* --- ranges --- */

static IndexExpr translate(const PlanCopier *copier, IndexExpr expr) {
  return index_substitute(&copier->plan->space, &copier->old->space, expr, copier->dims, copier->values);
}

/* Ragged only where it still takes two sizes. */
static PlanRange translate_range(const PlanCopier *copier, const PlanRange *range) {
  PlanRange made = *range;
  made.begin = translate(copier, range->begin);
  if (!range->is_ragged) return made;
  made.left = translate(copier, range->left);
  int64_t lower, upper;
  index_range(&copier->plan->space, made.left, &lower, &upper);
  made.is_ragged = lower < range->extent && upper > lower;
  if (lower == upper) made.extent = min_i64(range->extent, lower);
  return made;
}

static const PlanRange *translate_ranges(const PlanCopier *copier, const PlanRange *ranges, int32_t count) {
  if (ranges == NULL) return NULL;
  PlanRange *made = ARENA_NEW_ARRAY(copier->arena, PlanRange, count);
  for (int32_t i = 0; i < count; i++) made[i] = translate_range(copier, &ranges[i]);
  return made;
}

static const PlanRef *translate_refs(const PlanCopier *copier, const PlanRef *refs, int32_t count) {
  PlanRef *made = ARENA_COPY_ARRAY(copier->arena, PlanRef, refs, count);
  for (int32_t i = 0; i < count; i++) made[i].ranges = translate_ranges(copier, refs[i].ranges, refs[i].range_count);
  return made;
}

/* --- commands --- */

/* Folds start in the first iteration of a loop and of those inside it: of what is left of these. */
static void translate_init(const PlanCopier *copier, PlanCommand *command) {
  if (!command->init || command->init_loop < 0) return;
  int32_t outermost = -1;
  for (int32_t l = command->loop;; l = copier->old->loops[l].parent) {
    if (copier->iterations[l] == COPIED_LATER) command->init = false;
    if (copier->iterations[l] == COPIED_LOOP) outermost = copier->renamed[l];
    if (l == command->init_loop) break;
  }
  command->init_loop = command->init ? outermost : -1;
}

void plan_copier_add_command(PlanCopier *copier, int32_t number, int32_t queue, int32_t loop, PlanNodes *nodes) {
  static const char *const prefixes[] = {[WORK_LOAD] = "ld", [WORK_EXEC] = "ex", [WORK_STORE] = "st"};
  const Plan *old = copier->old;
  PlanCommand command = old->commands[number];
  WorkKind kind = plan_command_work(&command);
  translate_init(copier, &command);
  command.queue = queue;
  command.loop = loop;
  command.label = sv_from_cstring(arena_printf(copier->arena, "%s%d", prefixes[kind], copier->labels[kind]++));
  command.targets = translate_refs(copier, command.targets, command.target_count);
  command.sources = translate_refs(copier, command.sources, command.source_count);
  if (old->kernel != NULL) command.points = translate_ranges(copier, command.points, old->kernel->dim_count);
  if (command.slice.extent > 0) command.slice = translate_range(copier, &command.slice);
  command.edges = NULL;
  command.edge_count = 0;
  array_push(nodes, copier->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)copier->commands.count}));
  array_push(&copier->commands, copier->arena, command);
}

static const PlanMemory *translate_memories(const PlanCopier *copier) {
  const Plan *old = copier->old;
  PlanMemory *memories = ARENA_COPY_ARRAY(copier->arena, PlanMemory, old->memories, old->memory_count);
  for (int32_t m = 0; m < old->memory_count; m++) memories[m].offset = translate(copier, old->memories[m].offset);
  return memories;
}

Plan *plan_copier_close(PlanCopier *copier, PlanNodes block) {
  Plan *made = copier->plan;
  made->block = (PlanBlock){(int32_t)block.count, block.data};
  made->memories = translate_memories(copier);
  made->loops = copier->loops.data;
  made->loop_count = (int32_t)copier->loops.count;
  made->commands = copier->commands.data;
  made->command_count = (int32_t)copier->commands.count;
  return made;
}

Status plan_copier_finish(PlanCopier *copier, PlanNodes block, const MachineDescription *machine, DiagSink *diag,
                          Plan **out_plan) {
  Plan *made = *out_plan = plan_copier_close(copier, block);
  return plan_edges_derive_any(made, machine, copier->commands.data, diag);
}
