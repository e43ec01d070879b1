#include "codegen/oncore/emit/module_bound.h"

#include "codegen/oncore/emit/oncore_testing.h"

static ModuleBound bound_of(Fixture *fixture, const char *text, const char *machine) {
  return module_bound_find(make_module(fixture, text), make_machine(fixture, machine));
}

/* 2^22 elements: 16 MiB each way, 2^18 vectors of six cycles. */
static void module_bound_counts_elementwise_once(void **state) {
  ModuleBound bound = bound_of(*state, EXP("4194304"), "vp-ref");
  assert_int_equal(bound.argument_bytes, 16777216);
  assert_int_equal(bound.result_bytes, 16777216);
  assert_true(bound.work_cycles == 6 * 262144.0);
  assert_true(bound.limit.cycles == bound.work_cycles);
  assert_true(bound.limit.kind == LIMIT_QUEUE);
}

/* Nothing to compute: 32 MiB at 48 bytes a cycle, more than 16 MiB at 32. */
static void module_bound_of_transpose_is_memory(void **state) {
  ModuleBound bound = bound_of(*state, TRANSPOSE("2048", "2048"), "vp-ref");
  assert_true(bound.work_cycles == 0);
  assert_int_equal(bound.limit.kind, LIMIT_MEMORY);
  assert_true(bound.limit.cycles == 33554432.0 / 48);
}

/* 32 MiB in and 16 MiB out: both at half of 48 bytes a cycle for 2^24 / 24 cycles, then 16 MiB at the queue's 32. */
static void module_bound_of_unequal_streams_shares_memory(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[4194304] parameter(0) y = f32[4194304] parameter(1)\n"
                               "  ROOT s = f32[4194304] add(x, y) }\n",
                               "vp-ref");
  assert_int_equal(bound.limit.kind, LIMIT_MEMORY);
  assert_true(bound.limit.cycles == 16777216.0 / 24 + 16777216.0 / 32);
}

/* 2^30 products at 256 a cycle; 2 * 2^30 / 256 values less what the Buffer of 2^16 values holds twice. */
static void module_bound_of_dot_is_products(void **state) {
  ModuleBound bound = bound_of(*state, MATMUL("1024", "1024", "1024"), "vp-ref");
  assert_true(bound.work_cycles == 4194304.0);
  assert_true(bound.dot_bytes == (8388608.0 - 131072.0) * 4);
  assert_true(bound.limit.cycles == bound.work_cycles);
  /* where everything fits no operand has to come twice */
  assert_true(bound_of(*state, MATMUL("16", "16", "16"), "vp-ref").dot_bytes == 0);
}

static void module_bound_computes_broadcasts_once(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[16] parameter(0)\n"
                               "  wide = f32[1000,16] broadcast(x), dimensions={1}\n"
                               "  ROOT y = f32[1000,16] exponential(wide) }\n",
                               "vp-ref");
  assert_true(bound.work_cycles == 6);
}

/* 3200 steps, not 3200 * 3201 / 2. */
static void module_bound_shares_steps_of_windows(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\n" SUM_REGION
                               "ENTRY e { x = f32[3200] parameter(0) z = f32[] constant(0)\n"
                               "  ROOT y = f32[3200] reduce-window(x, z), window={size=3200 pad=3199_0},\n"
                               "    to_apply=sum }\n",
                               "vp-ref");
  assert_true(bound.work_cycles == 3200 / 16);
}

static void module_bound_reads_what_slices_read(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[1000] parameter(0) unread = f32[77] parameter(1)\n"
                               "  ROOT y = f32[10] slice(x), slice={[10:20]} }\n",
                               "vp-ref");
  assert_int_equal(bound.argument_bytes, 40);
  assert_int_equal(bound.result_bytes, 40);
}

static void module_bound_writes_what_updates_write(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[1000] parameter(0) u = f32[8] parameter(1)\n"
                               "  at = s32[] parameter(2) ROOT y = f32[1000] dynamic-update-slice(x, u, at) }\n",
                               "vp-ref");
  assert_int_equal(bound.result_bytes, 32);
  assert_int_equal(bound.argument_bytes, 32 + 4);
}

/* A vector of additions in each of 25 rounds, and a vector of exponentials after the loop. */
static void module_bound_counts_rounds_of_loops(void **state) {
  ModuleBound bound =
      bound_of(*state,
               "HloModule m\n"
               "condition { s = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  n = s32[] constant(25) ROOT more = pred[] compare(i, n), direction=LT }\n"
               "body { s = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  x = f32[16] get-tuple-element(s), index=1 one = s32[] constant(1) next = s32[] add(i, one)\n"
               "  y = f32[16] add(x, x) ROOT t = (s32[], f32[16]) tuple(next, y) }\n"
               "ENTRY e { x = f32[16] parameter(0) zero = s32[] constant(0) t = (s32[], f32[16]) tuple(zero, x)\n"
               "  w = (s32[], f32[16]) while(t), condition=condition, body=body\n"
               "  z = f32[16] get-tuple-element(w), index=1 ROOT r = f32[16] exponential(z) }\n",
               "vp-ref");
  /* the counter: an addition in each round, a comparison in each and in the last one */
  assert_true(bound.work_cycles == 25 * (1 + 1) + 26 + 6);
}

/* No plan is faster. */
static void module_bound_is_below_all_plans(void **state) {
  Fixture *fixture = *state;
  static const char *const machines[] = {"vp-tiny", "vp-ref", "vtcm4m"};
  for (int i = 0; i < 3; i++) {
    const MachineDescription *machine = make_machine(fixture, machines[i]);
    for (int m = 0; m < TESTING_MODULES; m++) {
      PlanVerdict verdict;
      const Plan *plan = make_plan(fixture, testing_modules[m], machine);
      assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
      ModuleBound bound = module_bound_find(make_module(fixture, testing_modules[m]), machine);
      assert_true(bound.limit.cycles > 0);
      assert_true(bound.limit.cycles <= verdict.simulation.cycles);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(module_bound_counts_elementwise_once, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_transpose_is_memory, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_unequal_streams_shares_memory, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_dot_is_products, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_computes_broadcasts_once, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_shares_steps_of_windows, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_reads_what_slices_read, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_writes_what_updates_write, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_counts_rounds_of_loops, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_is_below_all_plans, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
