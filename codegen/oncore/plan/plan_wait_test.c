#include "codegen/oncore/plan/plan_wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { QUEUES = 3, MOST_COMMANDS = 8, MOST_INSTANCES = 512 };

/* The plan executed on paper: which instance of which command comes when. */
typedef struct Enumeration {
  const Plan *plan;
  int64_t iterations[4];
  int64_t completed[QUEUES];                       /* commands of the queue so far */
  int64_t count_at[MOST_COMMANDS][MOST_INSTANCES]; /* by instance: its place on its queue, from 1 */
  int64_t instances[MOST_COMMANDS];
  int64_t checked;
  Arena *arena;
} Enumeration;

/* Whether instance |instance| of |producer| is in the iteration at hand of reach->same_loop and all around it. */
static bool is_same_iteration(const Enumeration *walk, const PlanEdgeReach *reach, int32_t producer, int64_t instance) {
  const Plan *plan = walk->plan;
  for (int32_t loop = plan->commands[producer].loop; loop >= 0; loop = plan->loops[loop].parent) {
    bool has_to_be = plan_common_loop(plan, loop, reach->same_loop) == loop && reach->same_loop >= 0;
    if (has_to_be && instance % plan->loops[loop].trip_count != walk->iterations[loop]) return false;
    instance /= plan->loops[loop].trip_count;
  }
  return true;
}

static void check_waits(Enumeration *walk, int32_t consumer) {
  for (int32_t producer = 0; producer < walk->plan->command_count; producer++) {
    for (int64_t distance = 0; distance < 12; distance++) {
      PlanEdge edge = {.command = producer, .distance = distance / 3, .same = (int32_t)(distance % 3)};
      PlanWait wait = plan_wait_of_edge(walk->arena, walk->plan, &walk->plan->commands[consumer], &edge);
      int64_t instance = walk->instances[producer] - 1 - distance / 3;
      PlanEdgeReach reach = plan_edge_reach(walk->plan, consumer, &edge);
      bool is_other_run = instance >= 0 && !is_same_iteration(walk, &reach, producer, instance);
      int64_t expected = instance < 0 || is_other_run ? 0 : walk->count_at[producer][instance];
      assert_int_equal(wait.queue, walk->plan->commands[producer].queue);
      assert_int_equal(plan_wait_count(walk->plan, &wait, walk->iterations), expected);
      walk->checked++;
    }
  }
}

static void execute(Enumeration *walk, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++) {
    int32_t number = block->nodes[i].number;
    if (block->nodes[i].kind == PLAN_NODE_LOOP) {
      const PlanLoop *loop = &walk->plan->loops[number];
      for (int64_t k = 0; k < loop->trip_count; k++) {
        walk->iterations[number] = k;
        execute(walk, &loop->body);
      }
      walk->iterations[number] = 0;
      continue;
    }
    check_waits(walk, number);
    walk->count_at[number][walk->instances[number]++] = ++walk->completed[walk->plan->commands[number].queue];
  }
}

static int64_t check_plan(const Plan *plan) {
  Arena *arena = arena_create();
  Enumeration walk = {.plan = plan, .arena = arena};
  execute(&walk, &plan->block);
  arena_destroy(arena);
  return walk.checked;
}

/* c0; for i0 { c1; for i1 { c2; c3 }; c4; for i2 { c5 } }; c6 */
static void wait_counts_as_program_order_does(void **state) {
  (void)state;
  static const PlanNode outer[] = {{PLAN_NODE_COMMAND, 0}, {PLAN_NODE_LOOP, 0}, {PLAN_NODE_COMMAND, 6}};
  static const PlanNode body[] = {
      {PLAN_NODE_COMMAND, 1}, {PLAN_NODE_LOOP, 1}, {PLAN_NODE_COMMAND, 4}, {PLAN_NODE_LOOP, 2}};
  static const PlanNode first[] = {{PLAN_NODE_COMMAND, 2}, {PLAN_NODE_COMMAND, 3}};
  static const PlanNode second[] = {{PLAN_NODE_COMMAND, 5}};
  static const PlanLoop loops[] = {{.trip_count = 4, .parent = -1, .body = {4, body}},
                                   {.trip_count = 3, .parent = 0, .body = {2, first}},
                                   {.trip_count = 2, .parent = 0, .body = {1, second}}};
  /* Neighbours on one queue, on different ones, and a queue with commands in several loops. */
  static const PlanCommand commands[] = {{.queue = 0, .loop = -1}, {.queue = 0, .loop = 0}, {.queue = 0, .loop = 1},
                                         {.queue = 1, .loop = 1},  {.queue = 2, .loop = 0}, {.queue = 1, .loop = 2},
                                         {.queue = 2, .loop = -1}};
  Plan plan = {.loops = loops, .loop_count = 3, .commands = commands, .command_count = 7, .block = {3, outer}};
  int64_t instances = 1 + 4 * (1 + 3 * 2 + 1 + 2) + 1;
  assert_int_equal(check_plan(&plan), instances * 7 * 12);
}

/* for i0 { for i1 { for i2 { c0; c1 } } } */
static void wait_counts_in_deep_loops(void **state) {
  (void)state;
  static const PlanNode nodes[] = {{PLAN_NODE_LOOP, 0}, {PLAN_NODE_LOOP, 1}, {PLAN_NODE_LOOP, 2}};
  static const PlanNode inner[] = {{PLAN_NODE_COMMAND, 0}, {PLAN_NODE_COMMAND, 1}};
  static const PlanLoop loops[] = {{.trip_count = 2, .parent = -1, .body = {1, &nodes[1]}},
                                   {.trip_count = 3, .parent = 0, .body = {1, &nodes[2]}},
                                   {.trip_count = 5, .parent = 1, .body = {2, inner}}};
  static const PlanCommand commands[] = {{.queue = 0, .loop = 2}, {.queue = 1, .loop = 2}};
  Plan plan = {.loops = loops, .loop_count = 3, .commands = commands, .command_count = 2, .block = {1, nodes}};
  assert_int_equal(check_plan(&plan), 2 * 30 * 2 * 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wait_counts_as_program_order_does),
      cmocka_unit_test(wait_counts_in_deep_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
