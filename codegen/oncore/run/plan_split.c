#include "codegen/oncore/run/plan_split.h"

#include "base/checked_math.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/tiling/plan_copier.h"

/* --- where loads are --- */

/* The first element of the array that load |command| brings. */
static IndexExpr first_element(IndexSpace *space, const Plan *plan, const PlanCommand *command) {
  const PlanRef *part = &command->sources[0];
  const PlanMemory *view = &plan->memories[part->number];
  IndexExpr first = view->offset;
  for (int32_t i = 0; i < part->range_count; i++)
    first = index_add(space, first, index_scale(space, part->ranges[i].begin, view->strides[i]));
  return first;
}

/* From its first element to its last. */
static int64_t span_of(const Plan *plan, const PlanCommand *command) {
  const PlanRef *part = &command->sources[0];
  int64_t span = 0;
  for (int32_t i = 0; i < part->range_count; i++)
    span += (part->ranges[i].extent - 1) * plan->memories[part->number].strides[i];
  return span;
}

static bool is_load_of(const Plan *plan, const PlanCommand *command, int32_t buffer) {
  if (!plan_loads_memory(command)) return false;
  const PlanMemory *view = &plan->memories[command->sources[0].number];
  return view->kind != PLAN_TEMPORARY && view->number == buffer;
}

/* The loop of which each iteration loads by |command| what lies within |*out_step| elements, after those of the one
 * before; -1: there is none. */
static int32_t walking_loop(const Plan *plan, const PlanCommand *command, int64_t *out_step) {
  Arena *scratch = arena_create();
  IndexSpace space = plan->space;
  space.arena = scratch;
  int32_t found = -1;
  IndexExpr first = first_element(&space, plan, command);
  for (int32_t loop = command->loop; loop >= 0 && found < 0; loop = plan->loops[loop].parent) {
    int64_t step = index_dim_coefficient(&space, first, loop), lower, upper;
    if (step <= 0 || index_depends_nonlinearly(&space, first, loop)) continue;
    index_range(&space, index_without_dim(&space, first, loop), &lower, &upper);
    if (lower < 0 || upper + span_of(plan, command) >= step) continue;
    found = loop;
    *out_step = step;
  }
  arena_destroy(scratch);
  return found;
}

int64_t plan_split_step(const Plan *plan, int32_t buffer) {
  int64_t all = 0, whole = plan->kernel->buffers[buffer].element_count;
  if (plan->kernel->buffers[buffer].role != KERNEL_OPERAND) return 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    int64_t step;
    if (!is_load_of(plan, &plan->commands[c], buffer)) continue;
    if (!plan_is_copy(plan, c) || walking_loop(plan, &plan->commands[c], &step) < 0) return 0;
    all = all == 0 ? step : all / greatest_common_divisor(all, step) * step;
    if (all >= whole) return 0;
  }
  return all;
}

/* --- the split plan --- */

typedef struct Splitter {
  PlanCopier copier;
  const Plan *old;
  int64_t *trips;     /* by old loop: iterations before the split; 0: it is none */
  bool *is_moved;     /* by old Tensor: transfers of residents fill or take it */
  int32_t *tensor_of; /* by old Tensor: what copies of commands have at present */
  ARRAY(PlanTensor) tensors;
} Splitter;

static int32_t resident_of(const PlanInterface *interface, int32_t buffer) {
  for (int32_t r = 0; r < interface->count; r++)
    if (interface->residents[r].buffer == buffer) return r;
  return -1;
}

/* Where loops are split, and which Tensors are of residents; false: there is a load that no loop splits there. */
static bool find_splits(Splitter *splitter, const PlanInterface *interface) {
  const Plan *old = splitter->old;
  for (int32_t c = 0; c < old->command_count; c++) {
    const PlanCommand *command = &old->commands[c];
    bool loads = plan_loads_memory(command);
    if (!loads && command->verb != PLAN_STORE) continue;
    const PlanRef *side = loads ? &command->sources[0] : &command->targets[0];
    const PlanMemory *view = &old->memories[side->number];
    int32_t r = view->kind == PLAN_TEMPORARY ? -1 : resident_of(interface, view->number);
    if (r < 0) continue;
    splitter->is_moved[loads ? command->targets[0].number : command->sources[0].number] = true;
    if (interface->residents[r].elements == 0) continue;
    int64_t step, elements = interface->residents[r].elements;
    int32_t loop = loads ? walking_loop(old, command, &step) : -1;
    if (loop < 0 || elements % step != 0) return false;
    int64_t trips = min_i64(elements / step, old->loops[loop].trip_count);
    if (splitter->trips[loop] != 0 && splitter->trips[loop] != trips) return false;
    splitter->trips[loop] = trips;
  }
  return true;
}

/* Whether only commands in |loop| work on |tensor|. */
static bool is_local(const Plan *plan, int32_t tensor, int32_t loop) {
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool is_user = plan_count_refs(command->sources, command->source_count, tensor) > 0 ||
                   plan_count_refs(command->targets, command->target_count, tensor) > 0;
    if (is_user && !plan_loop_is_inside(plan, command->loop, loop)) return false;
  }
  return true;
}

/* Commands in the first part of |loop| have tiles of residents by themselves. */
static void rename_tiles(Splitter *splitter, int32_t loop) {
  for (int32_t t = 0; t < splitter->old->tensor_count; t++) {
    if (!splitter->is_moved[t] || !is_local(splitter->old, t, loop)) continue;
    PlanTensor twin = splitter->old->tensors[t];
    twin.name = sv_from_cstring(
        arena_printf(splitter->copier.arena, "%.*s_%d", SV_ARG(twin.name), (int)splitter->tensors.count));
    splitter->tensor_of[t] = (int32_t)splitter->tensors.count;
    array_push(&splitter->tensors, splitter->copier.arena, twin);
  }
}

static void add_command(Splitter *splitter, int32_t number, int32_t loop, PlanNodes *nodes) {
  PlanCopier *copier = &splitter->copier;
  plan_copier_add_command(copier, number, splitter->old->commands[number].queue, loop, nodes);
  PlanCommand *command = &array_last(&copier->commands);
  PlanRef *refs[] = {(PlanRef *)command->targets, (PlanRef *)command->sources};
  int32_t counts[] = {command->target_count, command->source_count};
  for (int side = 0; side < 2; side++) {
    for (int32_t i = 0; i < counts[side]; i++)
      if (!refs[side][i].is_memory) refs[side][i].number = splitter->tensor_of[refs[side][i].number];
  }
}

static PlanNodes split_block(Splitter *splitter, const PlanBlock *block, int32_t loop);

/* Iterations [first, first + count) of |old|. */
static void add_loop(Splitter *splitter, int32_t old, int64_t first, int64_t count, int32_t parent, PlanNodes *nodes) {
  PlanCopier *copier = &splitter->copier;
  int32_t made = plan_copier_add_loop(copier, old, count, parent);
  IndexExpr iteration = index_dim(&copier->plan->space, made, count);
  copier->dims[old] = index_add_constant(&copier->plan->space, iteration, first);
  copier->iterations[old] = first > 0 ? COPIED_LATER : COPIED_LOOP;
  PlanNodes body = split_block(splitter, &splitter->old->loops[old].body, made);
  copier->loops.data[made].body = (PlanBlock){(int32_t)body.count, body.data};
  array_push(nodes, copier->arena, ((PlanNode){PLAN_NODE_LOOP, made}));
}

static PlanNodes split_block(Splitter *splitter, const PlanBlock *block, int32_t loop) {
  PlanNodes nodes = {0};
  int32_t tensors = splitter->old->tensor_count;
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_COMMAND) {
      add_command(splitter, node->number, loop, &nodes);
      continue;
    }
    int64_t before = splitter->trips[node->number], all = splitter->old->loops[node->number].trip_count;
    if (before > 0) {
      int32_t *kept = ARENA_COPY_ARRAY(splitter->copier.arena, int32_t, splitter->tensor_of, tensors);
      rename_tiles(splitter, node->number);
      add_loop(splitter, node->number, 0, before, loop, &nodes);
      splitter->tensor_of = kept;
    }
    if (before < all) add_loop(splitter, node->number, before, all - before, loop, &nodes);
  }
  return nodes;
}

const Plan *plan_split(Arena *arena, const Plan *plan, const PlanInterface *interface) {
  Splitter splitter = {.old = plan};
  bool is_split = false;
  for (int32_t r = 0; r < interface->count; r++) is_split = is_split || interface->residents[r].elements > 0;
  if (!is_split) return plan;
  splitter.trips = ARENA_NEW_ARRAY(arena, int64_t, plan->loop_count + 1);
  splitter.is_moved = ARENA_NEW_ARRAY(arena, bool, plan->tensor_count + 1);
  splitter.tensor_of = ARENA_NEW_ARRAY(arena, int32_t, plan->tensor_count + 1);
  if (!find_splits(&splitter, interface)) return NULL;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    splitter.tensor_of[t] = t;
    array_push(&splitter.tensors, arena, plan->tensors[t]);
  }
  plan_copier_init(&splitter.copier, arena, plan);
  Plan *made = plan_copier_close(&splitter.copier, split_block(&splitter, &plan->block, -1));
  made->tensors = splitter.tensors.data;
  made->tensor_count = (int32_t)splitter.tensors.count;
  for (int32_t r = 0; r < interface->count; r++)
    if (!plan_may_keep(made, interface->residents[r].buffer, interface->sees)) return NULL;
  return made;
}

bool plan_moves_part(const Plan *plan, const PlanCommand *command, const PlanResident *resident) {
  Arena *scratch = arena_create();
  IndexSpace space = plan->space;
  int64_t lower, upper;
  space.arena = scratch;
  index_range(&space, first_element(&space, plan, command), &lower, &upper);
  arena_destroy(scratch);
  return resident->elements == 0 || lower < resident->elements;
}
