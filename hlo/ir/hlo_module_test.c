#include "hlo/ir/hlo_module.h"

#include "hlo/ir/hlo_testing.h"

static void check_name(const HloInstruction *instruction, const char *name) {
  assert_string_equal(instruction->name.data, name);
}

static void module_names_are_unique(void **state) {
  Fixture *f = *state;
  HloComputation *other = hlo_module_add_computation(f->module, SV("main"));
  assert_string_equal(other->name.data, "main.1");
  check_name(hlo_computation_add_parameter(f->main, 0, f->f32, SV("x")), "x");
  check_name(hlo_computation_add_parameter(other, 0, f->f32, SV("x")), "x.1"); /* across the module */
  check_name(hlo_computation_add_parameter(f->main, 1, f->f32, SV("x.1")), "x.2");
  check_name(hlo_computation_add_parameter(f->main, 2, f->f32, SV("x.7")), "x.7"); /* a free name stays */
  check_name(hlo_computation_add_parameter(f->main, 3, f->f32, SV("x.7")), "x.3");
  check_name(hlo_computation_add_parameter(f->main, 4, f->f32, SV("y.5")), "y.5");
  check_name(hlo_computation_add_parameter(f->main, 5, f->f32, SV("y.5")), "y.1");
  check_name(hlo_computation_add_parameter(f->main, 6, f->f32, SV("y")), "y");
  check_name(hlo_computation_add_parameter(f->main, 7, f->f32, SV("z.")), "z.");
  check_name(hlo_computation_add_parameter(f->main, 8, f->f32, SV("z.")), "z..1");
  HloInstruction *p = f->main->parameters.data[0];
  check_name(add_unary(f->main, HLO_NEGATE, p), "negate");
  check_name(add_unary(f->main, HLO_NEGATE, p), "negate.1");
  for (int i = 4; i < 7; i++) hlo_computation_add_parameter(f->main, 5 + i, f->f32, SV("x"));
  check_name(hlo_computation_add_parameter(f->main, 12, f->f32, SV("x")), "x.8"); /* past the one that was taken */
}

static HloComputation *wrap(Fixture *f, HloComputation *callee, const char *name) {
  HloComputation *computation = hlo_module_add_computation(f->module, sv_from_cstring(name));
  HloInstruction *p = hlo_computation_add_parameter(computation, 0, f->f32, SV("p"));
  computation->root = add_call(computation, f->f32, (HloInstruction *[]){p, p}, 2, callee);
  return computation;
}

static void module_post_order_puts_callees_first(void **state) {
  Fixture *f = *state;
  HloComputation *condition = add_reducer(f, HLO_ADD), *body = add_reducer(f, HLO_SUBTRACT);
  HloComputation *uncalled = wrap(f, body, "uncalled");
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *loop = f->main->root = add_unary(f->main, HLO_WHILE, p);
  hlo_instruction_set_computation(loop, HLO_ATTR_CONDITION, condition);
  hlo_instruction_set_computation(loop, HLO_ATTR_BODY, body);
  HloComputation *expected[] = {body, condition, f->main, uncalled};
  int64_t count;
  HloComputation **order = hlo_module_post_order(f->module, f->arena, &count);
  assert_int_equal(count, 4);
  for (int i = 0; i < 4; i++) assert_ptr_equal(order[i], expected[i]);
}

static void module_deep_calls_need_no_stack(void **state) {
  Fixture *f = *state;
  HloComputation *innermost = add_reducer(f, HLO_ADD), *last = innermost;
  for (int i = 0; i < 20000; i++) last = wrap(f, last, "level");
  f->module->entry = last;
  int64_t count;
  HloComputation **order = hlo_module_post_order(f->module, f->arena, &count);
  assert_int_equal(count, 20002);
  assert_ptr_equal(order[1], innermost); /* the fixture's own comes first */
  assert_false(hlo_instruction_has_side_effect(last->root));
  assert_int_equal(hlo_module_remove_unreachable(f->module), 1);
  HloModule *copy = hlo_module_clone(f->module, f->arena);
  assert_true(hlo_module_equal(f->module, copy));
  assert_int_equal(hlo_module_hash(f->module), hlo_module_hash(copy));
  HloComputation *first = copy->computations.data[0];
  hlo_computation_set_root(first, first->parameters.data[0]);
  assert_false(hlo_module_equal(f->module, copy));
  assert_int_not_equal(hlo_module_hash(f->module), hlo_module_hash(copy));
}

static void fill_module(Fixture *f) {
  HloComputation *reducer = add_reducer(f, HLO_ADD);
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->vector, SV("p"));
  HloInstruction *zero = add_scalar(f, f->main, 0);
  HloInstruction *sum = hlo_computation_add(f->main, HLO_REDUCE, f->f32, (HloInstruction *[]){p, zero}, 2, SV("sum"));
  hlo_instruction_set_ints(sum, HLO_ATTR_DIMENSIONS, (int64_t[]){0}, 1);
  hlo_instruction_set_computation(sum, HLO_ATTR_TO_APPLY, reducer);
  f->main->root = sum;
  InputOutputAlias alias = {.parameter = 0, .kind = ALIAS_MUST};
  array_push(&f->module->aliases, f->arena, alias);
}

static void module_clone_is_equal_and_independent(void **state) {
  Fixture *f = *state;
  fill_module(f);
  Arena *arena = arena_create();
  HloModule *copy = hlo_module_clone(f->module, arena);
  assert_true(hlo_module_equal(f->module, copy));
  assert_int_equal(hlo_module_hash(f->module), hlo_module_hash(copy));
  assert_int_equal(copy->computations.count, 2);
  assert_true(sv_equal(copy->entry->root->name, SV("sum")));
  assert_ptr_equal(hlo_instruction_called(copy->entry->root, 0)->module, copy);
  check_consistent(copy->entry);
  copy->aliases.data[0].kind = ALIAS_MAY;
  assert_false(hlo_module_equal(f->module, copy));
  arena_destroy(arena);
  assert_int_equal(f->main->instructions.count, 3);
}

static void module_hash_sees_callees(void **state) {
  Fixture *f = *state;
  fill_module(f);
  HloModule *copy = hlo_module_clone(f->module, f->arena);
  HloComputation *reducer = hlo_instruction_called(copy->entry->root, 0);
  HloInstruction *product = add_binary(reducer, HLO_ADD, reducer->parameters.data[1], reducer->parameters.data[0]);
  HloInstruction *old = reducer->root;
  hlo_computation_replace_instruction(reducer, old, product);
  assert_false(hlo_module_equal(f->module, copy));
  assert_int_not_equal(hlo_module_hash(f->module), hlo_module_hash(copy));
}

static void module_schedule_counts(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *a = add_unary(f->main, HLO_ABS, p), *b = add_unary(f->main, HLO_SIGN, p);
  HloInstruction *sum = f->main->root = add_binary(f->main, HLO_ADD, a, b);
  HloModule *copy = hlo_module_clone(f->module, f->arena);
  hlo_computation_set_order(f->main, (HloInstruction *[]){p, b, a, sum}, 4);
  check_consistent(f->main);
  assert_true(hlo_module_equal(f->module, copy));
  f->module->is_scheduled = copy->is_scheduled = true;
  assert_false(hlo_module_equal(f->module, copy));
}

static void module_source_line_prefers_stack_frames(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  assert_int_equal(hlo_module_source_line(f->module, p, f->arena).size, 0);
  HloMetadata metadata = {.source_file = SV("a.py"), .source_line = 3};
  hlo_instruction_set_attr(p, &(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = &metadata});
  assert_true(sv_equal(hlo_module_source_line(f->module, p, f->arena), SV("a.py:3")));
  static const StringView files[] = {{"b.py", 4}}, functions[] = {{"loss", 4}};
  static const FileLocation locations[] = {{1, 1, 7, 7, 1, 2}};
  static const StackFrame frames[] = {{1, 1}, {9, 1}};
  f->module->stack_frames = (StackFrameTables){true, 1, 1, 1, 2, files, functions, locations, frames};
  metadata.stack_frame_id = 1;
  assert_true(sv_equal(hlo_module_source_line(f->module, p, f->arena), SV("b.py:7 (loss)")));
  metadata.stack_frame_id = 2; /* points past the locations */
  assert_true(sv_equal(hlo_module_source_line(f->module, p, f->arena), SV("a.py:3")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(module_names_are_unique),
      TEST(module_post_order_puts_callees_first),
      TEST(module_deep_calls_need_no_stack),
      TEST(module_clone_is_equal_and_independent),
      TEST(module_hash_sees_callees),
      TEST(module_schedule_counts),
      TEST(module_source_line_prefers_stack_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
