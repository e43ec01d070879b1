/* Modules that no text can describe: what a pass might leave behind.  The rules that text can break have files in
 * testdata/verifier. */
#include "hlo/infer/hlo_verifier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  HloModule *module;
  HloComputation *main; /* p, n = negate(p), a = abs(n), the root */
  HloInstruction *parameter, *negate, *abs;
  const Shape *vector;
} Fixture;

static HloInstruction *add_unary(HloComputation *computation, HloOpcode opcode, HloInstruction *operand,
                                 const char *name) {
  return hlo_computation_add(computation, opcode, operand->shape, &operand, 1, sv_from_cstring(name));
}

static int fixture_create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  fixture->module = hlo_module_create(arena, shape_table_create(arena), SV("test"));
  fixture->main = hlo_module_add_computation(fixture->module, SV("main"));
  fixture->module->entry = fixture->main;
  const int64_t four = 4;
  fixture->vector = shape_array(fixture->module->shapes, TYPE_F32, &four, 1);
  fixture->parameter = hlo_computation_add_parameter(fixture->main, 0, fixture->vector, SV("p"));
  fixture->negate = add_unary(fixture->main, HLO_NEGATE, fixture->parameter, "n");
  fixture->abs = add_unary(fixture->main, HLO_ABS, fixture->negate, "a");
  hlo_computation_set_root(fixture->main, fixture->abs);
  *state = fixture;
  return 0;
}

static int fixture_destroy(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static void assert_code(Fixture *fixture, const char *code) {
  assert_int_equal(hlo_verify(fixture->module, &fixture->diag), STATUS_INVALID);
  assert_non_null(fixture->diag.first);
  assert_string_equal(fixture->diag.first->code, code);
  assert_int_equal(fixture->diag.error_count, 1);
}

static void verify_accepts_good_module(void **state) {
  Fixture *fixture = *state;
  assert_int_equal(hlo_verify(fixture->module, &fixture->diag), STATUS_OK);
  assert_int_equal(fixture->diag.error_count, 0);
}

static void verify_refuses_name_twice(void **state) {
  Fixture *fixture = *state;
  fixture->abs->name = fixture->negate->name;
  assert_code(fixture, "verify-name");
}

static void verify_refuses_computation_name_twice(void **state) {
  Fixture *fixture = *state;
  HloComputation *other = hlo_module_add_computation(fixture->module, SV("other"));
  hlo_computation_set_root(other, hlo_computation_add_parameter(other, 0, fixture->vector, SV("q")));
  other->name = fixture->main->name;
  assert_code(fixture, "verify-name");
}

static void verify_refuses_operand_of_other_computation(void **state) {
  Fixture *fixture = *state;
  HloComputation *other = hlo_module_add_computation(fixture->module, SV("other"));
  HloInstruction *foreign = hlo_computation_add_parameter(other, 0, fixture->vector, SV("q"));
  hlo_computation_set_root(other, foreign);
  fixture->abs->operands[0] = foreign;
  assert_code(fixture, "verify-operand");
}

static void verify_refuses_removed_operand(void **state) {
  Fixture *fixture = *state;
  HloInstruction *dead = add_unary(fixture->main, HLO_NEGATE, fixture->parameter, "d");
  hlo_computation_remove(fixture->main, dead, false);
  fixture->abs->operands[0] = dead;
  assert_code(fixture, "verify-operand");
}

static void verify_refuses_cycle(void **state) {
  Fixture *fixture = *state;
  hlo_instruction_replace_operand(fixture->negate, 0, fixture->abs);
  assert_code(fixture, "verify-cycle");
}

static void verify_refuses_cycle_through_control(void **state) {
  Fixture *fixture = *state;
  HloInstruction *list[] = {fixture->abs};
  hlo_instruction_set_attr(fixture->negate,
                           &(HloAttr){.id = HLO_ATTR_CONTROL_PREDECESSORS, .value.instructions = {1, list}});
  assert_code(fixture, "verify-cycle");
}

static void swap_last_two(Fixture *fixture) {
  fixture->main->instructions.data[1] = fixture->abs;
  fixture->main->instructions.data[2] = fixture->negate;
}

static void verify_refuses_schedule_out_of_order(void **state) {
  Fixture *fixture = *state;
  fixture->module->is_scheduled = true;
  swap_last_two(fixture);
  assert_code(fixture, "verify-order");
}

static void verify_accepts_any_order_unscheduled(void **state) {
  Fixture *fixture = *state;
  swap_last_two(fixture);
  assert_int_equal(hlo_verify(fixture->module, &fixture->diag), STATUS_OK);
}

static void verify_refuses_missing_root(void **state) {
  Fixture *fixture = *state;
  fixture->main->root = NULL;
  assert_code(fixture, "verify-root");
}

static void verify_refuses_missing_entry(void **state) {
  Fixture *fixture = *state;
  fixture->module->entry = NULL;
  assert_code(fixture, "verify-entry");
}

static void verify_refuses_gap_in_parameters(void **state) {
  Fixture *fixture = *state;
  hlo_computation_add_parameter(fixture->main, 2, fixture->vector, SV("q"));
  assert_code(fixture, "verify-parameter");
}

static HloComputation *add_caller(Fixture *fixture, HloComputation *callee, const char *name) {
  HloComputation *caller = hlo_module_add_computation(fixture->module, sv_from_cstring(name));
  HloInstruction *parameter = hlo_computation_add_parameter(caller, 0, fixture->vector, SV("q"));
  HloInstruction *call = add_unary(caller, HLO_CALL, parameter, "call");
  if (callee != NULL) hlo_instruction_set_computation(call, HLO_ATTR_TO_APPLY, callee);
  hlo_computation_set_root(caller, call);
  return caller;
}

static void verify_refuses_recursion(void **state) {
  Fixture *fixture = *state;
  HloComputation *first = add_caller(fixture, NULL, "first"), *second = add_caller(fixture, first, "second");
  hlo_instruction_set_computation(first->root, HLO_ATTR_TO_APPLY, second);
  assert_code(fixture, "verify-recursion");
}

static void verify_refuses_call_outside_module(void **state) {
  Fixture *fixture = *state;
  HloModule *other = hlo_module_create(fixture->arena, fixture->module->shapes, SV("other"));
  HloComputation *callee = hlo_module_add_computation(other, SV("callee"));
  hlo_computation_set_root(callee, hlo_computation_add_parameter(callee, 0, fixture->vector, SV("q")));
  callee->id = 7;
  add_caller(fixture, callee, "caller");
  assert_code(fixture, "verify-call");
}

static void verify_refuses_replication_of_result(void **state) {
  Fixture *fixture = *state;
  const bool yes = true;
  hlo_instruction_set_attr(fixture->negate, &(HloAttr){.id = HLO_ATTR_PARAMETER_REPLICATION, .value.bools = {1, &yes}});
  assert_code(fixture, "verify-replication");
}

static void verify_refuses_replication_of_wrong_length(void **state) {
  Fixture *fixture = *state;
  const bool yes[] = {true, true};
  hlo_instruction_set_attr(fixture->parameter,
                           &(HloAttr){.id = HLO_ATTR_PARAMETER_REPLICATION, .value.bools = {2, yes}});
  assert_code(fixture, "verify-replication");
}

static void verify_refuses_layout_constraints_that_do_not_fit(void **state) {
  Fixture *fixture = *state;
  HloInstruction *call = add_unary(fixture->main, HLO_CUSTOM_CALL, fixture->parameter, "c");
  hlo_instruction_set_attr(call, &(HloAttr){.id = HLO_ATTR_CUSTOM_CALL_TARGET, .value.text = SV("target")});
  const Shape *shapes[] = {shape_scalar(fixture->module->shapes, TYPE_F32)};
  hlo_instruction_set_attr(call, &(HloAttr){.id = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .value.shapes = {1, shapes}});
  assert_code(fixture, "verify-layout-constraint");
}

static void verify_refuses_half_made_instruction(void **state) {
  Fixture *fixture = *state;
  fixture->negate->shape = NULL;
  assert_code(fixture, "verify-structure");
}

/* A chain as long as the largest models' entries: neither deep recursion nor quadratic work. */
static void verify_accepts_long_chain(void **state) {
  Fixture *fixture = *state;
  HloInstruction *last = fixture->abs;
  for (int i = 0; i < 100000; i++) last = add_unary(fixture->main, HLO_NEGATE, last, "");
  hlo_computation_set_root(fixture->main, last);
  assert_int_equal(hlo_verify(fixture->module, &fixture->diag), STATUS_OK);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_create, fixture_destroy)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(verify_accepts_good_module),
      TEST(verify_refuses_name_twice),
      TEST(verify_refuses_computation_name_twice),
      TEST(verify_refuses_operand_of_other_computation),
      TEST(verify_refuses_removed_operand),
      TEST(verify_refuses_cycle),
      TEST(verify_refuses_cycle_through_control),
      TEST(verify_refuses_schedule_out_of_order),
      TEST(verify_accepts_any_order_unscheduled),
      TEST(verify_refuses_missing_root),
      TEST(verify_refuses_missing_entry),
      TEST(verify_refuses_gap_in_parameters),
      TEST(verify_refuses_recursion),
      TEST(verify_refuses_call_outside_module),
      TEST(verify_refuses_replication_of_result),
      TEST(verify_refuses_replication_of_wrong_length),
      TEST(verify_refuses_layout_constraints_that_do_not_fit),
      TEST(verify_refuses_half_made_instruction),
      TEST(verify_accepts_long_chain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
