#include "codegen/oncore/plan/plan_wait.h"

/* Commands of |queue| in one execution of |block|. */
static int64_t block_commands(const Plan *plan, const PlanBlock *block, int32_t queue) {
  int64_t count = 0;
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_COMMAND) {
      count += plan->commands[node->number].queue == queue;
    } else {
      const PlanLoop *loop = &plan->loops[node->number];
      count += loop->trip_count * block_commands(plan, &loop->body, queue);
    }
  }
  return count;
}

static int32_t place_of(const PlanBlock *block, PlanNode node) {
  for (int32_t i = 0; i < block->node_count; i++) {
    if (block->nodes[i].kind == node.kind && block->nodes[i].number == node.number) return i;
  }
  XLAC_BUG("a command that does not stand in its loop");
}

/* Commands of |queue| in |block| before |node|. */
static int64_t commands_before(const Plan *plan, const PlanBlock *block, PlanNode node, int32_t queue) {
  PlanBlock before = {place_of(block, node), block->nodes};
  return block_commands(plan, &before, queue);
}

/* The node of |ancestor|'s body that is, or is around, |command|. */
static PlanNode node_towards(const Plan *plan, int32_t command, int32_t ancestor) {
  int32_t loop = plan->commands[command].loop;
  if (loop == ancestor) return (PlanNode){PLAN_NODE_COMMAND, command};
  while (plan->loops[loop].parent != ancestor) loop = plan->loops[loop].parent;
  return (PlanNode){PLAN_NODE_LOOP, loop};
}

/* The latest instance of the producer before the consumer's, less the distance. */
static void set_instance(Arena *arena, const Plan *plan, int32_t consumer, const PlanEdge *edge, PlanWait *wait) {
  int32_t common = plan_common_loop(plan, plan->commands[edge->command].loop, plan->commands[consumer].loop);
  int64_t inside = plan_loop_instances(plan, plan->commands[edge->command].loop) / plan_loop_instances(plan, common);
  int64_t *factors = ARENA_NEW_ARRAY(arena, int64_t, plan->loop_count);
  int64_t factor = inside;
  for (int32_t loop = common; loop >= 0; loop = plan->loops[loop].parent) {
    factors[loop] = factor;
    factor *= plan->loops[loop].trip_count;
  }
  const PlanBlock *block = plan_body(plan, common);
  bool is_before = edge->command != consumer && place_of(block, node_towards(plan, edge->command, common)) <
                                                    place_of(block, node_towards(plan, consumer, common));
  wait->factors = factors;
  wait->reach = plan_edge_reach(plan, consumer, edge);
  wait->constant = (is_before ? inside : 0) - 1 - edge->distance;
}

/* Commands of wait->queue before an instance of |command|. */
static void set_count(Arena *arena, const Plan *plan, int32_t command, PlanWait *wait) {
  int32_t loop = plan->commands[command].loop;
  PlanWaitTerm *terms = ARENA_NEW_ARRAY(arena, PlanWaitTerm, plan_loop_depth(plan, loop));
  PlanNode node = {PLAN_NODE_COMMAND, command};
  int64_t stride = 1;
  for (;; loop = plan->loops[loop].parent) {
    wait->commands += commands_before(plan, plan_body(plan, loop), node, wait->queue);
    if (loop < 0) break;
    int64_t trip_count = plan->loops[loop].trip_count;
    terms[wait->term_count++] =
        (PlanWaitTerm){stride, trip_count, block_commands(plan, &plan->loops[loop].body, wait->queue)};
    stride *= trip_count;
    node = (PlanNode){PLAN_NODE_LOOP, loop};
  }
  wait->terms = terms;
}

PlanWait plan_wait_of_edge(Arena *arena, const Plan *plan, const PlanCommand *command, const PlanEdge *edge) {
  PlanWait wait = {.queue = plan->commands[edge->command].queue, .commands = 1};
  set_instance(arena, plan, (int32_t)(command - plan->commands), edge, &wait);
  set_count(arena, plan, edge->command, &wait);
  return wait;
}

PlanWait plan_wait_of_barrier(Arena *arena, const Plan *plan, const PlanCommand *barrier, int32_t queue) {
  PlanWait wait = {.queue = queue};
  int32_t number = (int32_t)(barrier - plan->commands);
  set_instance(arena, plan, number, &(PlanEdge){.command = number}, &wait);
  wait.constant = 0; /* its own instance, not the one before */
  set_count(arena, plan, number, &wait);
  return wait;
}

int64_t plan_wait_count(const Plan *plan, const PlanWait *wait, const int64_t *iterations) {
  int64_t instance = wait->constant, count = wait->commands;
  for (int32_t l = 0; l < plan->loop_count; l++) instance += wait->factors[l] * iterations[l];
  bool is_limited = wait->reach.same_loop >= 0;
  if (instance < 0 || (is_limited && plan_reach_iteration(plan, &wait->reach, iterations) < wait->reach.back)) return 0;
  for (int32_t i = 0; i < wait->term_count; i++) {
    count += wait->terms[i].commands * (instance / wait->terms[i].stride % wait->terms[i].trip_count);
  }
  return count;
}
