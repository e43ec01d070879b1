#include "codegen/oncore/tiling/plan_spread.h"

#include "base/checked_math.h"
#include "codegen/oncore/tiling/plan_edges.h"

enum { MOST_QUEUES = 4 }; /* of a kind that take turns */

typedef enum WorkKind { WORK_LOAD, WORK_EXEC, WORK_STORE, WORK_KIND_COUNT } WorkKind;

typedef struct QueueList {
  int32_t count;
  int32_t queues[MOST_QUEUES];
} QueueList;

typedef struct Spreader {
  Arena *arena;
  const Plan *old;
  Plan *plan;
  QueueList queues[WORK_KIND_COUNT];
  int32_t turns;    /* iterations in the body of an unrolled loop */
  IndexExpr *dims;  /* by old loop: its iteration at hand */
  int32_t *values;  /* run-time numbers are what they were */
  int32_t *renamed; /* by old loop: the new one */
  int32_t labels[WORK_KIND_COUNT];
  ARRAY(PlanLoop) loops;
  ARRAY(PlanCommand) commands;
} Spreader;

/* One of the iterations that stand in one body. */
typedef struct Turn {
  int32_t number;
  bool is_later;                     /* not the first iteration of its loop, in any execution of the body */
  int32_t commands[WORK_KIND_COUNT]; /* so far */
} Turn;

typedef ARRAY(PlanNode) NodeArray;

/* --- queues --- */

static bool does(const MachineQueue *queue, WorkKind kind) {
  switch (kind) {
    case WORK_LOAD: return machine_queue_loads(queue);
    case WORK_STORE: return machine_queue_stores(queue);
    case WORK_EXEC: return queue->kind == QUEUE_EXEC;
    case WORK_KIND_COUNT: break;
  }
  XLAC_BUG("unknown kind of work");
}

static QueueList queues_for(const MachineDescription *machine, WorkKind kind) {
  QueueList list = {0};
  for (int32_t q = 0; q < machine->queue_count && list.count < MOST_QUEUES; q++)
    if (does(&machine->queues[q], kind)) list.queues[list.count++] = q;
  return list;
}

bool machine_has_spare_queues(const MachineDescription *machine) {
  for (WorkKind kind = 0; kind < WORK_KIND_COUNT; kind++)
    if (queues_for(machine, kind).count > 1) return true;
  return false;
}

static WorkKind work_of(const PlanCommand *command) {
  if (command->verb == PLAN_LOAD || command->verb == PLAN_GATHERM) return WORK_LOAD;
  return command->verb == PLAN_STORE ? WORK_STORE : WORK_EXEC;
}

/* Folds, and updates of what is there. */
static bool goes_on(const Plan *plan, const PlanCommand *command) {
  if (command->keeps_accumulators || command->slice.extent > 0) return true;
  for (int32_t t = 0; t < command->target_count && work_of(command) == WORK_EXEC; t++)
    if (plan->tensors[command->targets[t].number].kind == PLAN_ACCUMULATOR) return true;
  return false;
}

static int32_t choose_queue(const Spreader *spreader, const PlanCommand *command, const Turn *turn) {
  const QueueList *list = &spreader->queues[work_of(command)];
  if (goes_on(spreader->old, command)) return list->queues[0];
  return list->queues[(turn->commands[work_of(command)] + turn->number) % list->count];
}

/* --- commands --- */

static IndexExpr translate(const Spreader *spreader, IndexExpr expr) {
  return index_substitute(&spreader->plan->space, &spreader->old->space, expr, spreader->dims, spreader->values);
}

/* Ragged only where it still takes two sizes. */
static PlanRange translate_range(const Spreader *spreader, const PlanRange *range) {
  PlanRange made = *range;
  made.begin = translate(spreader, range->begin);
  if (!range->is_ragged) return made;
  made.left = translate(spreader, range->left);
  int64_t lower, upper;
  index_range(&spreader->plan->space, made.left, &lower, &upper);
  made.is_ragged = lower < range->extent && upper > lower;
  if (lower == upper) made.extent = min_i64(range->extent, lower);
  return made;
}

static const PlanRange *translate_ranges(const Spreader *spreader, const PlanRange *ranges, int32_t count) {
  if (ranges == NULL) return NULL;
  PlanRange *made = ARENA_NEW_ARRAY(spreader->arena, PlanRange, count);
  for (int32_t i = 0; i < count; i++) made[i] = translate_range(spreader, &ranges[i]);
  return made;
}

static const PlanRef *translate_refs(const Spreader *spreader, const PlanRef *refs, int32_t count) {
  PlanRef *made = ARENA_COPY_ARRAY(spreader->arena, PlanRef, refs, count);
  for (int32_t i = 0; i < count; i++) made[i].ranges = translate_ranges(spreader, refs[i].ranges, refs[i].range_count);
  return made;
}

static void add_command(Spreader *spreader, int32_t number, int32_t loop, Turn *turn, NodeArray *nodes) {
  static const char *const prefixes[] = {[WORK_LOAD] = "ld", [WORK_EXEC] = "ex", [WORK_STORE] = "st"};
  const Plan *old = spreader->old;
  PlanCommand command = old->commands[number];
  WorkKind kind = work_of(&command);
  command.queue = choose_queue(spreader, &command, turn);
  command.loop = loop;
  command.label = sv_from_cstring(arena_printf(spreader->arena, "%s%d", prefixes[kind], spreader->labels[kind]++));
  command.targets = translate_refs(spreader, command.targets, command.target_count);
  command.sources = translate_refs(spreader, command.sources, command.source_count);
  if (old->kernel != NULL) command.points = translate_ranges(spreader, command.points, old->kernel->dim_count);
  if (command.slice.extent > 0) command.slice = translate_range(spreader, &command.slice);
  if (command.init && command.init_loop >= 0) {
    command.init = !turn->is_later;
    command.init_loop = command.init ? spreader->renamed[command.init_loop] : -1;
  }
  command.edges = NULL;
  command.edge_count = 0;
  turn->commands[kind]++;
  array_push(nodes, spreader->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)spreader->commands.count}));
  array_push(&spreader->commands, spreader->arena, command);
}

/* --- loops --- */

static PlanBlock spread_block(Spreader *spreader, const PlanBlock *block, int32_t loop);

static int32_t add_loop(Spreader *spreader, int32_t old, int64_t trip_count, int32_t parent) {
  PlanLoop loop = {.name = spreader->old->loops[old].name, .trip_count = trip_count, .parent = parent};
  array_push(&spreader->loops, spreader->arena, loop);
  return spreader->renamed[old] = (int32_t)spreader->loops.count - 1;
}

static bool is_innermost(const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++)
    if (block->nodes[i].kind == PLAN_NODE_LOOP) return false;
  return true;
}

static void add_turn(Spreader *spreader, const PlanBlock *body, int32_t loop, Turn turn, NodeArray *nodes) {
  for (int32_t i = 0; i < body->node_count; i++) add_command(spreader, body->nodes[i].number, loop, &turn, nodes);
}

static void unroll(Spreader *spreader, int32_t old, int32_t parent, NodeArray *nodes) {
  const PlanLoop *loop = &spreader->old->loops[old];
  IndexSpace *space = &spreader->plan->space;
  int64_t trip_count = loop->trip_count / spreader->turns;
  int32_t made = add_loop(spreader, old, trip_count, parent);
  NodeArray body = {0};
  for (int32_t t = 0; t < spreader->turns; t++) {
    IndexExpr iteration = index_scale(space, index_dim(space, made, trip_count), spreader->turns);
    spreader->dims[old] = index_add_constant(space, iteration, t);
    add_turn(spreader, &loop->body, made, (Turn){.number = t, .is_later = t > 0}, &body);
  }
  spreader->loops.data[made].body = (PlanBlock){(int32_t)body.count, body.data};
  array_push(nodes, spreader->arena, ((PlanNode){PLAN_NODE_LOOP, made}));
  for (int64_t i = trip_count * spreader->turns; i < loop->trip_count; i++) {
    spreader->dims[old] = index_constant(i);
    add_turn(spreader, &loop->body, parent, (Turn){.number = (int32_t)(i % spreader->turns), .is_later = true}, nodes);
  }
}

static void spread_loop(Spreader *spreader, int32_t old, int32_t parent, NodeArray *nodes) {
  const PlanLoop *loop = &spreader->old->loops[old];
  if (is_innermost(&loop->body) && loop->trip_count >= spreader->turns) {
    unroll(spreader, old, parent, nodes);
    return;
  }
  int32_t made = add_loop(spreader, old, loop->trip_count, parent);
  spreader->dims[old] = index_dim(&spreader->plan->space, made, loop->trip_count);
  PlanBlock body = spread_block(spreader, &loop->body, made);
  spreader->loops.data[made].body = body;
  array_push(nodes, spreader->arena, ((PlanNode){PLAN_NODE_LOOP, made}));
}

static PlanBlock spread_block(Spreader *spreader, const PlanBlock *block, int32_t loop) {
  NodeArray nodes = {0};
  Turn turn = {0};
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_LOOP)
      spread_loop(spreader, node->number, loop, &nodes);
    else
      add_command(spreader, node->number, loop, &turn, &nodes);
  }
  return (PlanBlock){(int32_t)nodes.count, nodes.data};
}

static const PlanMemory *translate_memories(const Spreader *spreader) {
  const Plan *old = spreader->old;
  PlanMemory *memories = ARENA_COPY_ARRAY(spreader->arena, PlanMemory, old->memories, old->memory_count);
  for (int32_t m = 0; m < old->memory_count; m++) memories[m].offset = translate(spreader, old->memories[m].offset);
  return memories;
}

Status plan_spread(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag, Plan **out_plan) {
  Plan *made = ARENA_NEW(arena, Plan);
  *made = *plan;
  made->arena = arena;
  index_space_init(&made->space, arena);
  Spreader spreader = {.arena = arena, .old = plan, .plan = made};
  for (WorkKind kind = 0; kind < WORK_KIND_COUNT; kind++) {
    spreader.queues[kind] = queues_for(machine, kind);
    spreader.turns = spreader.turns > spreader.queues[kind].count ? spreader.turns : spreader.queues[kind].count;
  }
  spreader.dims = ARENA_NEW_ARRAY(arena, IndexExpr, plan->loop_count);
  spreader.renamed = ARENA_NEW_ARRAY(arena, int32_t, plan->loop_count);
  spreader.values = ARENA_NEW_ARRAY(arena, int32_t, plan->scalar_count);
  for (int32_t v = 0; v < plan->scalar_count; v++) spreader.values[v] = v;
  made->block = spread_block(&spreader, &plan->block, -1);
  made->memories = translate_memories(&spreader);
  made->loops = spreader.loops.data;
  made->loop_count = (int32_t)spreader.loops.count;
  made->commands = spreader.commands.data;
  made->command_count = (int32_t)spreader.commands.count;
  *out_plan = made;
  return plan_edges_derive_any(made, machine, spreader.commands.data, diag);
}
