#include "codegen/oncore/emit/module_plans.h"

#include "codegen/oncore/emit/oncore_testing.h"

#define TWICE                                                                             \
  "HloModule m\nENTRY e { x = f32[5000] parameter(0) u = f32[5000] parameter(1)\n"        \
  "  y = f32[5000] exponential(x) z = f32[5000] exponential(u) w = f32[5000] negate(x)\n" \
  "  ROOT r = (f32[5000], f32[5000], f32[5000]) tuple(y, z, w) }\n"

static Status make(Fixture *fixture, const char *text, const MachineDescription *machine, PlansDetail detail,
                   ModulePlans *out_plans) {
  TilerOptions options = {0};
  const HloModule *module = make_module(fixture, text);
  const PlannedModule planned = {module, make_kernels(fixture, module), machine, &options};
  return module_plans_make(fixture->arena, &planned, NULL, detail, &fixture->diag, out_plans);
}

/* One plan for both exponentials, another for the negation. */
static void module_plans_are_shared_by_equal_kernels(void **state) {
  Fixture *fixture = *state;
  ModulePlans plans;
  assert_int_equal(make(fixture, TWICE, make_machine(fixture, "vp-tiny"), PLANS_PROVED, &plans), STATUS_OK);
  assert_int_equal(plans.count, 2);
  assert_int_equal(plans.plans[0].use_count, 2);
  assert_true(sv_equal_cstring(plans.plans[0].uses[0], "y"));
  assert_true(sv_equal_cstring(plans.plans[0].uses[1], "z"));
  assert_int_equal(plans.plans[1].use_count, 1);
  assert_false(plans.plans[0].alternatives.known);
  /* x is one argument for two Kernels */
  assert_int_equal(plans.bound.argument_bytes, 2 * 20000);
  assert_int_equal(plans.bound.result_bytes, 3 * 20000);
}

/* Of other Buffers and depths: more never hurts, less never helps. */
static void module_plans_compare_when_asked(void **state) {
  Fixture *fixture = *state;
  ModulePlans plans;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  assert_int_equal(make(fixture, EXP("4194304"), machine, PLANS_COMPARED, &plans), STATUS_OK);
  const PlanAlternatives *alternatives = &plans.plans[0].alternatives;
  double estimate = plans.plans[0].plan->estimate;
  assert_true(alternatives->known);
  assert_int_equal(alternatives->of[0].buffer_bytes, 2 * machine->buffer.size);
  assert_true(alternatives->of[0].cycles <= estimate);
  assert_int_equal(alternatives->of[1].buffer_bytes, machine->buffer.size / 2);
  assert_true(alternatives->of[1].cycles >= estimate);
  /* with one slot loads and stores take turns with the computation: 2^18 vectors of six cycles, then 32 MiB at 48 bytes
   * a cycle */
  assert_int_equal(alternatives->of[2].depth, 1);
  assert_true(alternatives->of[2].cycles >= 6 * 262144.0 + 33554432.0 / 48);
}

/* The scalar unit computes with integers and predicates only: a comparison of floats is no work of its. */
static void module_plans_have_all_arithmetic_on_floats(void **state) {
  Fixture *fixture = *state;
  ModulePlans plans;
  const char *text =
      "HloModule m\nENTRY e { a = f32[] parameter(0) i = s32[] parameter(1) j = s32[] add(i, i)\n"
      "  less = pred[] compare(a, a), direction=LT same = pred[] compare(i, j), direction=EQ\n"
      "  ROOT r = pred[] or(less, same) }\n";
  assert_int_equal(make(fixture, text, make_machine(fixture, "vp-tiny"), PLANS_ALONE, &plans), STATUS_OK);
  assert_int_equal(plans.count, 1);
  assert_true(sv_equal_cstring(plans.plans[0].uses[0], "less"));
  KernelUse use = {.identity = 0};
  assert_ptr_equal(module_plans_of(&plans, &use), plans.plans[0].plan);
  use.identity = 1;
  assert_null(module_plans_of(&plans, &use));
}

static void module_plans_fail_where_nothing_fits(void **state) {
  Fixture *fixture = *state;
  ModulePlans plans;
  MachineDescription *machine = make_machine(fixture, "vp-tiny");
  machine->buffer.size = 64; /* one tile, where a product has three that are alive together */
  const char *text =
      "HloModule m\nENTRY e { x = f32[8,8] parameter(0) y = f32[8,8] parameter(1)\n"
      "  ROOT r = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n";
  assert_int_equal(make(fixture, text, machine, PLANS_ALONE, &plans), STATUS_EXHAUSTED);
  assert_string_equal(fixture->diag.last->code, "oncore-too-small");
}

/* A choice of what stays has many plans of the one before it, some under other names. */
static void module_plans_know_what_was_laid_out(void **state) {
  Fixture *fixture = *state;
  ModulePlans plans;
  const VecTarget target = {.vector_bits = 256};
  assert_int_equal(make(fixture, TWICE, make_machine(fixture, "vp-tiny"), PLANS_ALONE, &plans), STATUS_OK);
  ModulePlans tiled = plans;
  assert_int_equal(module_plans_find_tiles(fixture->arena, &tiled, &fixture->diag), STATUS_OK);
  assert_int_equal(tiled.spaces[0].bytes, 0);
  assert_null(tiled.spaces[0].strategies);
  assert_int_equal(module_plans_lay_out(fixture->arena, &plans, &target, 1, &fixture->diag), STATUS_OK);
  assert_true(plans.spaces[0].bytes >= plans.plans[0].plan->buffer_bytes);
  assert_ptr_equal(plans.spaces[0].variants, tiled.spaces[0].variants);
  assert_non_null(plans.spaces[0].strategies);
  Plan renamed = *plans.plans[1].plan;
  ModulePlan others[] = {plans.plans[1], plans.plans[0]};
  renamed.name = SV("other");
  others[0].plan = &renamed;
  ModulePlans copy = plans;
  copy.plans = others;
  assert_int_equal(module_plans_lay_out(fixture->arena, &copy, &target, 1, &fixture->diag), STATUS_OK);
  assert_ptr_equal(copy.spaces[0].variants, plans.spaces[1].variants);
  assert_ptr_equal(copy.spaces[1].variants, plans.spaces[0].variants);
  assert_ptr_not_equal(copy.spaces[0].variants, copy.spaces[1].variants);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(module_plans_are_shared_by_equal_kernels, create, destroy),
      cmocka_unit_test_setup_teardown(module_plans_compare_when_asked, create, destroy),
      cmocka_unit_test_setup_teardown(module_plans_have_all_arithmetic_on_floats, create, destroy),
      cmocka_unit_test_setup_teardown(module_plans_fail_where_nothing_fits, create, destroy),
      cmocka_unit_test_setup_teardown(module_plans_know_what_was_laid_out, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
