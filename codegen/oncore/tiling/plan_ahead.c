#include "codegen/oncore/tiling/plan_ahead.h"

#include "codegen/oncore/tiling/plan_copier.h"

bool machine_shares_queue(const MachineDescription *machine) {
  for (int32_t q = 0; q < machine->queue_count; q++) {
    const MachineQueue *queue = &machine->queues[q];
    if (machine_queue_loads(queue)) return machine_queue_stores(queue) && queue->complete == COMPLETE_IN_ORDER;
  }
  return false;
}

/* Nodes |at| on of a block, at the iterations |dims| of the loops around it: what comes next, whose first loads are to
 * be issued now.  |outer|: what comes next when there is nothing more of the block. */
typedef struct Upcoming {
  const PlanBlock *block; /* NULL: the plan's end */
  int32_t at;
  int32_t loop;  /* the old loop that |block| is the body of, -1: none … */
  IndexExpr dim; /* … and its iteration */
  CopiedIteration iteration;
  const struct Upcoming *outer; /* of the block around */
} Upcoming;

/* --- which loads move --- */

static bool is_command(const Plan *plan, const PlanNode *node, WorkKind kind) {
  return node->kind == PLAN_NODE_COMMAND && plan_command_work(&plan->commands[node->number]) == kind;
}

static bool computes_indices(const Plan *plan, const PlanNode *node) {
  return is_command(plan, node, WORK_EXEC) && plan->commands[node->number].index_value >= 0;
}

/* What stands before the work of a block: it makes tiles ready. */
static bool prepares(const Plan *plan, const PlanNode *node) {
  return is_command(plan, node, WORK_LOAD) || computes_indices(plan, node);
}

/* The tile at hand is still needed when the next one comes. */
static bool has_slot(const Plan *plan, const PlanCommand *command) {
  const PlanTensor *tensor = &plan->tensors[command->targets[0].number];
  bool repeats = plan_loop_instances(plan, command->loop) > 1;
  return !repeats || (tensor->kind == PLAN_RING && tensor->extents[0] > 1);
}

static bool moves(const Plan *plan, const PlanNode *node) {
  const PlanCommand *command = &plan->commands[node->number];
  if (!has_slot(plan, command)) return false;
  for (int32_t s = 0; s < command->source_count; s++) {
    const PlanRef *source = &command->sources[s];
    if (source->is_memory && plan->memories[source->number].kind != PLAN_ARGUMENT) return false;
  }
  return true;
}

/* Indices and what is gathered with them stay together. */
static bool all_move(const Plan *plan, const PlanBlock *block, int32_t at) {
  bool all = true, computes = false;
  for (; at < block->node_count && prepares(plan, &block->nodes[at]); at++) {
    all = all && moves(plan, &block->nodes[at]);
    computes = computes || computes_indices(plan, &block->nodes[at]);
  }
  return all || !computes;
}

static bool is_ahead(const Plan *plan, const PlanBlock *block, int32_t first, int32_t at) {
  return moves(plan, &block->nodes[at]) && all_move(plan, block, first);
}

/* --- copies --- */

static void add_command(PlanCopier *copier, int32_t number, int32_t loop, PlanNodes *nodes) {
  plan_copier_add_command(copier, number, copier->old->commands[number].queue, loop, nodes);
}

/* The iterations at hand, of old loops. */
typedef struct Iterations {
  IndexExpr dim;
  CopiedIteration iteration;
} Iterations;

static Iterations set_iteration(PlanCopier *copier, int32_t loop, Iterations to) {
  Iterations before = {0};
  if (loop < 0) return before;
  before = (Iterations){copier->dims[loop], copier->iterations[loop]};
  copier->dims[loop] = to.dim;
  copier->iterations[loop] = to.iteration;
  return before;
}

/* The loads that stand first from |at| on in |block|, and in the loop that follows them. */
static void add_first_loads(PlanCopier *copier, const PlanBlock *block, int32_t at, int32_t loop, PlanNodes *nodes) {
  const Plan *plan = copier->old;
  int32_t first = at;
  for (; at < block->node_count && prepares(plan, &block->nodes[at]); at++) {
    if (is_ahead(plan, block, first, at)) add_command(copier, block->nodes[at].number, loop, nodes);
  }
  if (at == block->node_count || block->nodes[at].kind != PLAN_NODE_LOOP) return;
  int32_t inner = block->nodes[at].number;
  Iterations before = set_iteration(copier, inner, (Iterations){index_constant(0), COPIED_FIRST});
  add_first_loads(copier, &plan->loops[inner].body, 0, loop, nodes);
  set_iteration(copier, inner, before);
}

static void add_upcoming(PlanCopier *copier, const Upcoming *next, int32_t loop, PlanNodes *nodes) {
  while (next != NULL && next->block != NULL && next->at == next->block->node_count) next = next->outer;
  if (next == NULL || next->block == NULL) return;
  Iterations before = set_iteration(copier, next->loop, (Iterations){next->dim, next->iteration});
  add_first_loads(copier, next->block, next->at, loop, nodes);
  set_iteration(copier, next->loop, before);
}

static void add_block(PlanCopier *copier, const PlanBlock *block, int32_t loop, const Upcoming *next, PlanNodes *nodes);

/* All iterations of |old| but the last in a loop, each of which loads for the next; then the last, which loads for
 * |next|. */
static void add_loop(PlanCopier *copier, int32_t old, int32_t parent, const Upcoming *next, PlanNodes *nodes) {
  const PlanLoop *loop = &copier->old->loops[old];
  IndexSpace *space = &copier->plan->space;
  int64_t rounds = loop->trip_count - 1;
  if (rounds > 0) {
    int32_t made = plan_copier_add_loop(copier, old, rounds, parent);
    IndexExpr iteration = index_dim(space, made, rounds);
    Upcoming following = {&loop->body, 0, old, index_add_constant(space, iteration, 1), COPIED_LATER, NULL};
    set_iteration(copier, old, (Iterations){iteration, COPIED_LOOP});
    PlanNodes body = {0};
    add_block(copier, &loop->body, made, &following, &body);
    copier->loops.data[made].body = (PlanBlock){(int32_t)body.count, body.data};
    array_push(nodes, copier->arena, ((PlanNode){PLAN_NODE_LOOP, made}));
  }
  set_iteration(copier, old, (Iterations){index_constant(rounds), rounds > 0 ? COPIED_LATER : COPIED_FIRST});
  add_block(copier, &loop->body, parent, next, nodes);
}

/* |block| without the loads that have been issued before; |next|: what comes after it. */
static void add_block(PlanCopier *copier, const PlanBlock *block, int32_t loop, const Upcoming *next,
                      PlanNodes *nodes) {
  const Plan *plan = copier->old;
  int32_t at = 0;
  while (at < block->node_count) {
    int32_t first = at;
    for (; at < block->node_count && prepares(plan, &block->nodes[at]); at++) {
      if (!is_ahead(plan, block, first, at)) add_command(copier, block->nodes[at].number, loop, nodes);
    }
    if (at == block->node_count) return;
    Upcoming rest = {block, at + 1, -1, {0}, COPIED_FIRST, next};
    if (block->nodes[at].kind == PLAN_NODE_LOOP) {
      add_loop(copier, block->nodes[at++].number, loop, &rest, nodes);
      continue;
    }
    while (rest.at < block->node_count && block->nodes[rest.at].kind == PLAN_NODE_COMMAND &&
           !prepares(plan, &block->nodes[rest.at]))
      rest.at++;
    add_upcoming(copier, &rest, loop, nodes);
    for (; at < rest.at; at++) add_command(copier, block->nodes[at].number, loop, nodes);
  }
}

Status plan_ahead(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag, Plan **out_plan) {
  PlanCopier copier;
  PlanNodes nodes = {0};
  plan_copier_init(&copier, arena, plan);
  add_first_loads(&copier, &plan->block, 0, -1, &nodes);
  add_block(&copier, &plan->block, -1, NULL, &nodes);
  copier.plan->as_tiled = plan_as_tiled(plan);
  return plan_copier_finish(&copier, nodes, machine, diag, out_plan);
}
