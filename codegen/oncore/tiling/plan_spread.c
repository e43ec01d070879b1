#include "codegen/oncore/tiling/plan_spread.h"

#include "codegen/oncore/tiling/plan_copier.h"

enum { MOST_QUEUES = 4 }; /* of a kind that take turns */

typedef struct QueueList {
  int32_t count;
  int32_t queues[MOST_QUEUES];
} QueueList;

typedef struct Spreader {
  PlanCopier copier;
  QueueList queues[WORK_KIND_COUNT];
  int32_t turns; /* iterations in the body of an unrolled loop */
} Spreader;

/* One of the iterations that stand in one body. */
typedef struct Turn {
  int32_t number;
  int32_t commands[WORK_KIND_COUNT]; /* so far */
} Turn;

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

/* Folds, and updates of what is there. */
static bool goes_on(const Plan *plan, const PlanCommand *command) {
  if (command->keeps_accumulators || command->slice.extent > 0) return true;
  for (int32_t t = 0; t < command->target_count && plan_command_work(command) == WORK_EXEC; t++)
    if (plan->tensors[command->targets[t].number].kind == PLAN_ACCUMULATOR) return true;
  return false;
}

static int32_t choose_queue(const Spreader *spreader, const PlanCommand *command, const Turn *turn) {
  WorkKind kind = plan_command_work(command);
  const QueueList *list = &spreader->queues[kind];
  if (goes_on(spreader->copier.old, command)) return list->queues[0];
  return list->queues[(turn->commands[kind] + turn->number) % list->count];
}

static void add_command(Spreader *spreader, int32_t number, int32_t loop, Turn *turn, PlanNodes *nodes) {
  const PlanCommand *command = &spreader->copier.old->commands[number];
  plan_copier_add_command(&spreader->copier, number, choose_queue(spreader, command, turn), loop, nodes);
  turn->commands[plan_command_work(command)]++;
}

/* --- loops --- */

static PlanNodes spread_block(Spreader *spreader, const PlanBlock *block, int32_t loop);

static bool is_innermost(const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++)
    if (block->nodes[i].kind == PLAN_NODE_LOOP) return false;
  return true;
}

static void add_turn(Spreader *spreader, const PlanBlock *body, int32_t loop, int32_t number, PlanNodes *nodes) {
  Turn turn = {.number = number};
  for (int32_t i = 0; i < body->node_count; i++) add_command(spreader, body->nodes[i].number, loop, &turn, nodes);
}

static void unroll(Spreader *spreader, int32_t old, int32_t parent, PlanNodes *nodes) {
  PlanCopier *copier = &spreader->copier;
  const PlanLoop *loop = &copier->old->loops[old];
  IndexSpace *space = &copier->plan->space;
  int64_t trip_count = loop->trip_count / spreader->turns;
  int32_t made = plan_copier_add_loop(copier, old, trip_count, parent);
  PlanNodes body = {0};
  for (int32_t t = 0; t < spreader->turns; t++) {
    IndexExpr iteration = index_scale(space, index_dim(space, made, trip_count), spreader->turns);
    copier->dims[old] = index_add_constant(space, iteration, t);
    copier->iterations[old] = t > 0 ? COPIED_LATER : COPIED_LOOP;
    add_turn(spreader, &loop->body, made, t, &body);
  }
  copier->loops.data[made].body = (PlanBlock){(int32_t)body.count, body.data};
  array_push(nodes, copier->arena, ((PlanNode){PLAN_NODE_LOOP, made}));
  copier->iterations[old] = COPIED_LATER;
  for (int64_t i = trip_count * spreader->turns; i < loop->trip_count; i++) {
    copier->dims[old] = index_constant(i);
    add_turn(spreader, &loop->body, parent, (int32_t)(i % spreader->turns), nodes);
  }
}

static void spread_loop(Spreader *spreader, int32_t old, int32_t parent, PlanNodes *nodes) {
  PlanCopier *copier = &spreader->copier;
  const PlanLoop *loop = &copier->old->loops[old];
  if (is_innermost(&loop->body) && loop->trip_count >= spreader->turns) {
    unroll(spreader, old, parent, nodes);
    return;
  }
  int32_t made = plan_copier_add_loop(copier, old, loop->trip_count, parent);
  copier->dims[old] = index_dim(&copier->plan->space, made, loop->trip_count);
  copier->iterations[old] = COPIED_LOOP;
  PlanNodes body = spread_block(spreader, &loop->body, made);
  copier->loops.data[made].body = (PlanBlock){(int32_t)body.count, body.data};
  array_push(nodes, copier->arena, ((PlanNode){PLAN_NODE_LOOP, made}));
}

static PlanNodes spread_block(Spreader *spreader, const PlanBlock *block, int32_t loop) {
  PlanNodes nodes = {0};
  Turn turn = {0};
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_LOOP)
      spread_loop(spreader, node->number, loop, &nodes);
    else
      add_command(spreader, node->number, loop, &turn, &nodes);
  }
  return nodes;
}

Status plan_spread(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag, Plan **out_plan) {
  Spreader spreader = {0};
  plan_copier_init(&spreader.copier, arena, plan);
  for (WorkKind kind = 0; kind < WORK_KIND_COUNT; kind++) {
    spreader.queues[kind] = queues_for(machine, kind);
    spreader.turns = spreader.turns > spreader.queues[kind].count ? spreader.turns : spreader.queues[kind].count;
  }
  spreader.copier.plan->as_tiled = plan_as_tiled(plan);
  return plan_copier_finish(&spreader.copier, spread_block(&spreader, &plan->block, -1), machine, diag, out_plan);
}
