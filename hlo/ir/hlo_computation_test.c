#include "hlo/ir/hlo_computation.h"

#include "hlo/ir/hlo_testing.h"

/* Every operand and control predecessor comes before its user. */
static void check_order(HloInstruction *const *order, int64_t count, Arena *arena) {
  IntMap position;
  int_map_init(&position, arena);
  for (int64_t i = 0; i < count; i++) {
    int64_t known;
    assert_false(int_map_find(&position, (uint64_t)order[i]->id, &known));
    for (int32_t j = 0; j < order[i]->operand_count; j++) {
      assert_true(int_map_find(&position, (uint64_t)order[i]->operands[j]->id, &known));
    }
    const HloAttr *control = hlo_instruction_attr(order[i], HLO_ATTR_CONTROL_PREDECESSORS);
    for (int64_t j = 0; control && j < control->value.instructions.count; j++) {
      assert_true(int_map_find(&position, (uint64_t)control->value.instructions.data[j]->id, &known));
    }
    int_map_set(&position, (uint64_t)order[i]->id, i);
  }
}

static void post_order_is_xlas(void **state) {
  Fixture *f = *state;
  HloInstruction *p0 = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p0"));
  HloInstruction *p1 = hlo_computation_add_parameter(f->main, 1, f->f32, SV("p1"));
  HloInstruction *unused = hlo_computation_add_parameter(f->main, 2, f->f32, SV("unused"));
  HloInstruction *a = add_unary(f->main, HLO_NEGATE, p1);
  HloInstruction *b = add_unary(f->main, HLO_ABS, p0);
  HloInstruction *sum = add_binary(f->main, HLO_ADD, b, a);
  HloInstruction *waiter = add_unary(f->main, HLO_SIGN, p0);
  set_control(waiter, sum);
  f->main->root = waiter;
  /* Ends in list order: |unused|, |waiter|; |sum| has no users but is reached from the list before |waiter|. */
  HloInstruction *expected[] = {unused, p0, b, p1, a, sum, waiter};
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(f->main, f->arena, &count);
  assert_int_equal(count, 7);
  for (int i = 0; i < 7; i++) assert_ptr_equal(order[i], expected[i]);
}

static void post_order_after_edits_is_topological(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *first = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *root = f->main->root = add_unary(f->main, HLO_ABS, first);
  HloInstruction *late = add_unary(f->main, HLO_SIGN, p); /* stands after its future user */
  hlo_instruction_replace_operand(root, 0, late);
  set_control(late, first);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(f->main, f->arena, &count);
  assert_int_equal(count, 4);
  check_order(order, count, f->arena);
}

static void post_order_of_long_chain_needs_no_stack(void **state) {
  Fixture *f = *state;
  enum { LENGTH = 200000 };
  HloInstruction *last = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  for (int i = 0; i < LENGTH; i++) last = add_unary(f->main, HLO_NEGATE, last);
  f->main->root = last;
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(f->main, f->arena, &count);
  assert_int_equal(count, LENGTH + 1);
  assert_ptr_equal(order[LENGTH], last);
  assert_int_equal(hlo_computation_hash(f->main), hlo_computation_hash(f->main));
  HloComputation *copy = hlo_computation_clone(f->main, f->module, SV(""));
  assert_true(hlo_computation_equal(f->main, copy));
}

static void computation_remove_keeps_order(void **state) {
  Fixture *f = *state;
  enum { COUNT = 300 };
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *all[COUNT];
  for (int i = 0; i < COUNT; i++) all[i] = add_unary(f->main, HLO_NEGATE, p);
  f->main->root = p;
  for (int i = 0; i < COUNT; i++) { /* 7 and 300 have no common factor */
    if ((i * 7) % COUNT % 10 != 0) hlo_computation_remove(f->main, all[(i * 7) % COUNT], false);
  }
  assert_int_equal(f->main->instructions.count, 1 + COUNT / 10);
  for (int i = 0; i < COUNT / 10; i++) assert_ptr_equal(f->main->instructions.data[i + 1], all[10 * i]);
  assert_null(all[1]->parent);
  assert_ptr_equal(all[1]->operands[0], p); /* still readable */
  check_consistent(f->main);
  add_unary(f->main, HLO_NEGATE, p);
  check_consistent(f->main);
}

static void computation_remove_hands_control_on(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *first = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *middle = add_unary(f->main, HLO_ABS, p);
  HloInstruction *last = f->main->root = add_unary(f->main, HLO_SIGN, p);
  set_control(middle, first);
  set_control(last, middle);
  hlo_computation_remove(f->main, middle, false);
  const HloAttr *control = hlo_instruction_attr(last, HLO_ATTR_CONTROL_PREDECESSORS);
  assert_int_equal(control->value.instructions.count, 1);
  assert_ptr_equal(control->value.instructions.data[0], first);
  check_consistent(f->main);
  hlo_computation_remove(f->main, first, false);
  assert_null(hlo_instruction_attr(last, HLO_ATTR_CONTROL_PREDECESSORS));
}

static void computation_remove_parameter_renumbers(void **state) {
  Fixture *f = *state;
  HloInstruction *p2 = hlo_computation_add_parameter(f->main, 2, f->f32, SV("p2"));
  HloInstruction *p0 = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p0"));
  HloInstruction *p1 = hlo_computation_add_parameter(f->main, 1, f->f32, SV("p1"));
  f->main->root = p0;
  assert_ptr_equal(f->main->parameters.data[0], p0);
  assert_ptr_equal(f->main->parameters.data[2], p2);
  assert_ptr_equal(hlo_computation_parameter(f->main, 1), p1);
  assert_null(hlo_computation_parameter(f->main, 3));
  hlo_computation_remove(f->main, p1, true);
  assert_int_equal(f->main->parameters.count, 2);
  assert_int_equal(hlo_instruction_parameter_number(p2), 1);
  assert_ptr_equal(hlo_computation_parameter(f->main, 1), p2);
}

static void computation_remove_dead_keeps_effects_and_parameters(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  hlo_computation_add_parameter(f->main, 1, f->f32, SV("unused"));
  HloInstruction *dead = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *dead_user = add_unary(f->main, HLO_ABS, dead);
  HloInstruction *read = add_unary(f->main, HLO_SIGN, p);
  HloInstruction *effect = add_unary(f->main, HLO_CUSTOM_CALL, read);
  hlo_instruction_set_bool(effect, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true);
  HloInstruction *root = f->main->root = add_unary(f->main, HLO_FLOOR, p);
  set_control(root, dead_user);
  assert_int_equal(hlo_computation_remove_dead(f->main), 2);
  assert_null(dead->parent);
  assert_null(dead_user->parent);
  assert_int_equal(f->main->instructions.count, 5);
  assert_null(hlo_instruction_attr(root, HLO_ATTR_CONTROL_PREDECESSORS));
  check_consistent(f->main);
  assert_int_equal(hlo_computation_remove_dead(f->main), 0);
}

static void computation_wide_users_edit_fast(void **state) {
  Fixture *f = *state;
  enum { COUNT = 100000 };
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *q = hlo_computation_add_parameter(f->main, 1, f->f32, SV("q"));
  HloInstruction **all = ARENA_NEW_ARRAY(f->arena, HloInstruction *, COUNT);
  for (int i = 0; i < COUNT; i++) all[i] = add_binary(f->main, HLO_ADD, p, p);
  f->main->root = hlo_computation_add(f->main, HLO_TUPLE, f->f32, all, COUNT, SV(""));
  assert_int_equal(p->user_count, COUNT);
  for (int i = 0; i < COUNT; i += 2) hlo_instruction_replace_operand(all[i], 1, q);
  for (int i = 0; i < COUNT; i += 2) hlo_instruction_replace_operand(all[i], 0, q);
  assert_int_equal(p->user_count, COUNT / 2);
  hlo_instruction_replace_all_uses(q, p);
  assert_int_equal(p->user_count, COUNT);
  HloInstruction *tuple = f->main->root;
  f->main->root = p;
  hlo_computation_remove(f->main, tuple, false);
  for (int i = 0; i < COUNT; i++) hlo_computation_remove(f->main, all[i], false);
  assert_int_equal(p->user_count, 0);
  assert_int_equal(f->main->instructions.count, 2);
}

static void computation_clone_is_equal_and_separate(void **state) {
  Fixture *f = *state;
  HloComputation *reducer = add_reducer(f, HLO_ADD);
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *first = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *call = add_call(f->main, f->f32, (HloInstruction *[]){first, p}, 2, reducer);
  set_control(call, first);
  f->main->root = call;
  HloComputation *copy = hlo_computation_clone(f->main, f->module, SV("copy"));
  check_consistent(copy);
  assert_true(sv_equal(copy->name, SV("copy")));
  assert_int_equal(copy->instructions.count, 3);
  assert_ptr_equal(hlo_instruction_called(copy->root, 0), reducer);
  const HloAttr *control = hlo_instruction_attr(copy->root, HLO_ATTR_CONTROL_PREDECESSORS);
  assert_ptr_equal(control->value.instructions.data[0]->parent, copy);
  assert_true(hlo_computation_equal(f->main, copy));
  assert_int_equal(hlo_computation_hash(f->main), hlo_computation_hash(copy));
  hlo_instruction_set_computation(copy->root, HLO_ATTR_TO_APPLY, add_reducer(f, HLO_MULTIPLY));
  assert_false(hlo_computation_equal(f->main, copy));
  assert_int_not_equal(hlo_computation_hash(f->main), hlo_computation_hash(copy));
  assert_ptr_equal(hlo_instruction_called(call, 0), reducer);
}

static void computation_inline_substitutes_arguments(void **state) {
  Fixture *f = *state;
  HloComputation *reducer = add_reducer(f, HLO_SUBTRACT);
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *q = hlo_computation_add_parameter(f->main, 1, f->f32, SV("q"));
  HloInstruction *call = f->main->root = add_call(f->main, f->f32, (HloInstruction *[]){q, p}, 2, reducer);
  HloInstruction *root = hlo_computation_inline(f->main, reducer, call->operands);
  assert_int_equal(root->opcode, HLO_SUBTRACT);
  assert_ptr_equal(root->operands[0], q);
  assert_ptr_equal(root->operands[1], p);
  hlo_computation_replace_instruction(f->main, call, root);
  assert_ptr_equal(f->main->root, root);
  assert_int_equal(f->main->instructions.count, 3);
  check_consistent(f->main);
  /* A callee that hands a parameter back. */
  HloComputation *identity = hlo_module_add_computation(f->module, SV("identity"));
  identity->root = hlo_computation_add_parameter(identity, 0, f->f32, SV("x"));
  assert_ptr_equal(hlo_computation_inline(f->main, identity, &q), q);
}

static void computation_equal_ignores_names_and_order(void **state) {
  Fixture *f = *state;
  HloComputation *a = hlo_module_add_computation(f->module, SV("a"));
  HloComputation *b = hlo_module_add_computation(f->module, SV("b"));
  HloInstruction *pa = hlo_computation_add_parameter(a, 0, f->f32, SV("pa"));
  HloInstruction *qa = hlo_computation_add_parameter(a, 1, f->f32, SV("qa"));
  HloInstruction *qb = hlo_computation_add_parameter(b, 1, f->f32, SV("qb"));
  HloInstruction *pb = hlo_computation_add_parameter(b, 0, f->f32, SV("pb"));
  a->root = add_binary(a, HLO_SUBTRACT, add_unary(a, HLO_ABS, pa), add_unary(a, HLO_SIGN, qa));
  HloInstruction *sign = add_unary(b, HLO_SIGN, qb);
  b->root = add_binary(b, HLO_SUBTRACT, add_unary(b, HLO_ABS, pb), sign);
  add_unary(a, HLO_FLOOR, pa); /* dead ends, in different order */
  add_unary(a, HLO_CEIL, pa);
  add_unary(b, HLO_CEIL, pb);
  HloInstruction *floor = add_unary(b, HLO_FLOOR, pb);
  assert_true(hlo_computation_equal(a, b));
  assert_true(hlo_computation_equal(b, a));
  assert_int_equal(hlo_computation_hash(a), hlo_computation_hash(b));
  hlo_instruction_replace_operand(floor, 0, qb);
  assert_false(hlo_computation_equal(a, b));
  assert_int_not_equal(hlo_computation_hash(a), hlo_computation_hash(b));
}

static void computation_equal_sees_sharing(void **state) {
  Fixture *f = *state;
  HloComputation *a = hlo_module_add_computation(f->module, SV("a"));
  HloComputation *b = hlo_module_add_computation(f->module, SV("b"));
  HloInstruction *pa = hlo_computation_add_parameter(a, 0, f->f32, SV("p"));
  HloInstruction *pb = hlo_computation_add_parameter(b, 0, f->f32, SV("p"));
  HloInstruction *once = add_unary(a, HLO_ABS, pa);
  a->root = add_binary(a, HLO_ADD, once, once);
  add_unary(a, HLO_ABS, pa); /* the same number of instructions */
  b->root = add_binary(b, HLO_ADD, add_unary(b, HLO_ABS, pb), add_unary(b, HLO_ABS, pb));
  assert_false(hlo_computation_equal(a, b));
}

static void computation_equal_compares_literals_and_callees(void **state) {
  Fixture *f = *state;
  HloComputation *a = hlo_module_add_computation(f->module, SV("a"));
  HloComputation *b = hlo_module_add_computation(f->module, SV("b"));
  HloInstruction *one = add_scalar(f, a, 1), *other = add_scalar(f, b, 1);
  a->root = add_call(a, f->f32, (HloInstruction *[]){one, one}, 2, add_reducer(f, HLO_ADD));
  b->root = add_call(b, f->f32, (HloInstruction *[]){other, other}, 2, add_reducer(f, HLO_ADD));
  assert_true(hlo_computation_equal(a, b));
  assert_int_equal(hlo_computation_hash(a), hlo_computation_hash(b));
  HloInstruction *two = add_scalar(f, b, 2);
  hlo_instruction_replace_all_uses(other, two);
  hlo_computation_remove(b, other, false);
  assert_false(hlo_computation_equal(a, b));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(post_order_is_xlas),
      TEST(post_order_after_edits_is_topological),
      TEST(post_order_of_long_chain_needs_no_stack),
      TEST(computation_remove_keeps_order),
      TEST(computation_remove_hands_control_on),
      TEST(computation_remove_parameter_renumbers),
      TEST(computation_remove_dead_keeps_effects_and_parameters),
      TEST(computation_wide_users_edit_fast),
      TEST(computation_clone_is_equal_and_separate),
      TEST(computation_inline_substitutes_arguments),
      TEST(computation_equal_ignores_names_and_order),
      TEST(computation_equal_sees_sharing),
      TEST(computation_equal_compares_literals_and_callees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
