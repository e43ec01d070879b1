/* The walk through a program against clocks kept by hand.  A negation of f32[100] takes 100/1000 s for its operations,
 * 800/100 s for its bytes and 0.5 s by itself, an all-reduce of it in a node 10.8 s (network_time_test.c). */
#include "hlo/network/network_plan.h"

#include <math.h>

#include "hlo/network/network_testing.h"

#define NEGATION 8.6
#define SUM 10.8
#define NODES "channel_id=1, replica_groups=[4,4]<=[16], use_global_device_ids=true, to_apply=add"
#define HEADER                       \
  "HloModule m, num_partitions=16\n" \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"

static NetworkPlan plan_of(Fixture *fixture, const char *text, double scale, bool overlaps) {
  NetworkDescription network = good_network(fixture, TWO_LEVELS);
  network.overlap = overlaps;
  NetworkPlan plan;
  assert_int_equal(
      network_plan_make(fixture->arena, read_module(fixture, text), &network, scale, &fixture->diag, &plan), STATUS_OK);
  return plan;
}

static void assert_near(double value, double expected) {
  if (fabs(value - expected) > 1e-9 * fmax(1, fabs(expected))) fail_msg("%.12g is not %.12g", value, expected);
}

static void one_follows_the_other(void **state) {
  const char *text = HEADER
      "ENTRY e {\n  x = f32[100] parameter(0)\n  y = f32[100] negate(x)\n  ROOT r = f32[100] all-reduce(y), " NODES
      "\n}\n";
  NetworkPlan plan = plan_of(*state, text, 1, false);
  assert_near(plan.seconds, NEGATION + SUM);
  assert_near(plan.flop_seconds, 0.1);
  assert_near(plan.memory_seconds, 8);
  assert_near(plan.call_seconds, 0.5);
  assert_near(plan.transfers.seconds, SUM);
  assert_near(plan.wire_bytes, 600);
  assert_near(plan_of(*state, text, 2, true).seconds, 2 * NEGATION + SUM);
}

/* 8 s for the negation's bytes and 2 · 400/100 for those of the all-reduce; a device twice as fast waits for these. */
static void the_largest_part_bounds(void **state) {
  const char *text = HEADER
      "ENTRY e {\n  x = f32[100] parameter(0)\n  y = f32[100] negate(x)\n  ROOT r = f32[100] all-reduce(y), " NODES
      "\n}\n";
  int level;
  double seconds;
  NetworkPlan plan = plan_of(*state, text, 1.5, false);
  assert_string_equal(network_plan_bound(&plan, &level, &seconds), "memory");
  assert_int_equal(level, -1);
  assert_near(seconds, 12);
  plan = plan_of(*state, text, 0.5, false);
  assert_string_equal(network_plan_bound(&plan, &level, &seconds), "bandwidth");
  assert_int_equal(level, 0);
  assert_near(seconds, 8);
}

static void transfers_overlap_where_the_network_says(void **state) {
  const char *text = HEADER "ENTRY e {\n  x = f32[100] parameter(0)\n  s = f32[100] all-reduce-start(x), " NODES
                            "\n  n = f32[100] negate(x)\n  d = f32[100] all-reduce-done(s)\n"
                            "  ROOT t = (f32[100], f32[100]) tuple(n, d)\n}\n";
  assert_near(plan_of(*state, text, 1, false).seconds, SUM + NEGATION);
  assert_near(plan_of(*state, text, 1, true).seconds, SUM);
  assert_near(plan_of(*state, text, 2, true).seconds, 2 * NEGATION);
}

/* One link: the second begins when the first has ended. */
static void transfers_take_turns(void **state) {
  const char *text =
      HEADER "ENTRY e {\n  x = f32[100] parameter(0)\n  s = f32[100] all-reduce-start(x), " NODES
             "\n  more = f32[100] all-reduce-start(x), " NODES
             "\n  d = f32[100] all-reduce-done(s)\n  n = f32[100] negate(d)\n  d2 = f32[100] all-reduce-done(more)\n"
             "  ROOT t = (f32[100], f32[100]) tuple(n, d2)\n}\n";
  assert_near(plan_of(*state, text, 1, true).seconds, 2 * SUM);
  assert_near(plan_of(*state, text, 2, true).seconds, SUM + 2 * NEGATION);
}

/* Seven rounds: the addition of two scalars takes 0.001 + 0.12 + 0.5, their comparison 0.001 + 0.09 + 0.5. */
static void loops_run_as_often_as_constants_say(void **state) {
  const char *text = HEADER
      "body {\n  p = (s32[], f32[100]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  x = f32[100] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
      "  r = f32[100] all-reduce(x), " NODES
      "\n  ROOT t = (s32[], f32[100]) tuple(j, r)\n}\n"
      "condition {\n  q = (s32[], f32[100]) parameter(0)\n  k = s32[] get-tuple-element(q), index=0\n"
      "  seven = s32[] constant(7)\n  ROOT less = pred[] compare(k, seven), direction=LT\n}\n"
      "ENTRY e {\n  a = f32[100] parameter(0)\n  z = s32[] constant(0)\n  s = (s32[], f32[100]) tuple(z, a)\n"
      "  ROOT w = (s32[], f32[100]) while(s), condition=condition, body=body\n}\n";
  NetworkPlan plan = plan_of(*state, text, 1, true);
  assert_near(plan.seconds, 7 * (0.621 + SUM) + 8 * 0.591);
  assert_near(plan.transfers.seconds, 7 * SUM);
  assert_int_equal(plan.unknown_loops, 0);
}

static void the_longest_branch_counts(void **state) {
  const char *text =
      HEADER "quiet {\n  p = f32[100] parameter(0)\n  ROOT n = f32[100] all-reduce(p), " NODES
             "\n}\n"
             "loud {\n  q = f32[100] parameter(0)\n  r = f32[100] all-reduce(q), " NODES
             "\n  ROOT s = f32[100] all-reduce(r), " NODES
             "\n}\n"
             "ENTRY e {\n  x = f32[100] parameter(0)\n  c = pred[] parameter(1)\n"
             "  ROOT w = f32[100] conditional(c, x, x), true_computation=quiet, false_computation=loud\n}\n";
  assert_near(plan_of(*state, text, 1, false).seconds, 2 * SUM);
}

static void a_network_may_be_too_small(void **state) {
  Fixture *fixture = *state;
  NetworkDescription network = good_network(fixture, TWO_LEVELS);
  NetworkPlan plan;
  HloModule *module =
      read_module(fixture, "HloModule m, num_partitions=32\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n");
  assert_int_equal(network_plan_make(fixture->arena, module, &network, 1, &fixture->diag, &plan), STATUS_INVALID);
  assert_string_equal(fixture->diag.first->code, "network-devices");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(one_follows_the_other, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_largest_part_bounds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(transfers_overlap_where_the_network_says, set_up, tear_down),
      cmocka_unit_test_setup_teardown(transfers_take_turns, set_up, tear_down),
      cmocka_unit_test_setup_teardown(loops_run_as_often_as_constants_say, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_longest_branch_counts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_network_may_be_too_small, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
