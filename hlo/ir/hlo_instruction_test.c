#include "hlo/ir/hlo_instruction.h"

#include "hlo/ir/hlo_testing.h"

static void instruction_users_are_distinct(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *operands[] = {p, p, p};
  HloInstruction *clamp = hlo_computation_add(f->main, HLO_CLAMP, f->f32, operands, 3, (StringView){0});
  assert_int_equal(p->user_count, 1);
  assert_ptr_equal(p->users[0], clamp);
  HloInstruction *q = hlo_computation_add_parameter(f->main, 1, f->f32, SV("q"));
  hlo_instruction_replace_operand(clamp, 0, q);
  assert_int_equal(p->user_count, 1);
  hlo_instruction_replace_operand(clamp, 1, q);
  hlo_instruction_replace_operand(clamp, 2, q);
  assert_int_equal(p->user_count, 0);
  assert_int_equal(q->user_count, 1);
  assert_true(hlo_instruction_uses(clamp, q));
  assert_false(hlo_instruction_uses(clamp, p));
  check_consistent(f->main);
}

static void instruction_replace_all_uses_moves_root_and_users(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *a = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *b = add_binary(f->main, HLO_ADD, a, p);
  HloInstruction *c = add_binary(f->main, HLO_ADD, a, a);
  f->main->root = a;
  hlo_instruction_replace_all_uses(a, p);
  assert_ptr_equal(f->main->root, p);
  assert_int_equal(a->user_count, 0);
  assert_int_equal(p->user_count, 3);
  assert_ptr_equal(b->operands[0], p);
  assert_ptr_equal(c->operands[1], p);
  check_consistent(f->main);
}

static void instruction_replace_all_uses_keeps_use_by_replacement(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *user = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *copy = add_binary(f->main, HLO_MAXIMUM, p, p);
  hlo_instruction_replace_all_uses(p, copy);
  assert_ptr_equal(user->operands[0], copy);
  assert_ptr_equal(copy->operands[0], p);
  assert_ptr_equal(copy->operands[1], p);
  assert_int_equal(p->user_count, 1);
  check_consistent(f->main);
}

static void instruction_without_sharding_keeps_what_else_frontends_say(void **state) {
  Fixture *f = *state;
  static const HloSharding replicated = {.kind = SHARDING_REPLICATED};
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  hlo_instruction_set_attr(p, &(HloAttr){.id = HLO_ATTR_SHARDING, .value.sharding = &replicated});
  hlo_instruction_set_frontend(p, SV("xla.sdy.sharding"), SV("#sdy.sharding<@mesh, []>"));
  hlo_instruction_set_frontend(p, SV("a"), SV("1"));
  hlo_instruction_set_frontend(p, SV("z"), SV("2"));
  hlo_instruction_remove_sharding(p);
  assert_null(hlo_instruction_attr(p, HLO_ATTR_SHARDING));
  assert_null(hlo_instruction_frontend(p, "xla.sdy.sharding"));
  assert_true(sv_equal(hlo_instruction_frontend(p, "a")->value, SV("1")));
  assert_true(sv_equal(hlo_instruction_frontend(p, "z")->value, SV("2")));
  HloInstruction *q = add_unary(f->main, HLO_NEGATE, p);
  hlo_instruction_set_frontend(q, SV("xla.sdy.sharding"), SV("#sdy.sharding<@mesh, []>"));
  hlo_instruction_remove_sharding(q);
  assert_null(hlo_instruction_attr(q, HLO_ATTR_FRONTEND_ATTRIBUTES));
}

static void instruction_control_predecessors_follow_replacement(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *first = add_unary(f->main, HLO_NEGATE, p);
  HloInstruction *other = add_unary(f->main, HLO_ABS, p);
  HloInstruction *waiter = add_unary(f->main, HLO_SIGN, p);
  set_control(waiter, first);
  assert_int_equal(first->successor_count, 1);
  hlo_instruction_replace_all_uses(first, other);
  const HloAttr *control = hlo_instruction_attr(waiter, HLO_ATTR_CONTROL_PREDECESSORS);
  assert_int_equal(control->value.instructions.count, 1);
  assert_ptr_equal(control->value.instructions.data[0], other);
  assert_int_equal(first->successor_count, 0);
  check_consistent(f->main);
}

static void instruction_attrs_set_replace_remove(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->vector, SV("p"));
  HloInstruction *sort = hlo_computation_add(f->main, HLO_SORT, f->vector, &p, 1, SV(""));
  int64_t dims[] = {0, 7};
  assert_null(hlo_instruction_attr(sort, HLO_ATTR_DIMENSIONS));
  hlo_instruction_set_ints(sort, HLO_ATTR_DIMENSIONS, dims, 2);
  hlo_instruction_set_bool(sort, HLO_ATTR_IS_STABLE, true);
  dims[1] = 9; /* a copy was taken */
  assert_int_equal(hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).count, 2);
  assert_int_equal(hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[1], 7);
  hlo_instruction_set_ints(sort, HLO_ATTR_DIMENSIONS, dims, 1);
  assert_int_equal(sort->attr_count, 2);
  assert_int_equal(hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).count, 1);
  hlo_instruction_remove_attr(sort, HLO_ATTR_DIMENSIONS);
  assert_int_equal(sort->attr_count, 1);
  assert_true(hlo_instruction_bool(sort, HLO_ATTR_IS_STABLE, false));
  assert_int_equal(hlo_instruction_int(sort, HLO_ATTR_CHANNEL_ID, -5), -5);
}

static void instruction_called_in_row_order(void **state) {
  Fixture *f = *state;
  HloComputation *body = add_reducer(f, HLO_ADD), *condition = add_reducer(f, HLO_MULTIPLY);
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *loop = add_unary(f->main, HLO_WHILE, p);
  hlo_instruction_set_computation(loop, HLO_ATTR_BODY, body);
  hlo_instruction_set_computation(loop, HLO_ATTR_CONDITION, condition);
  assert_int_equal(hlo_instruction_called_count(loop), 2);
  assert_ptr_equal(hlo_instruction_called(loop, 0), condition);
  assert_ptr_equal(hlo_instruction_called(loop, 1), body);
  hlo_instruction_set_called(loop, 1, condition);
  assert_ptr_equal(hlo_instruction_computation(loop, HLO_ATTR_BODY), condition);
  assert_int_equal(hlo_instruction_called_count(p), 0);
}

static void instruction_set_called_leaves_clones_alone(void **state) {
  Fixture *f = *state;
  HloComputation *one = add_reducer(f, HLO_ADD), *two = add_reducer(f, HLO_MULTIPLY);
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *branch =
      hlo_computation_add(f->main, HLO_CONDITIONAL, f->f32, (HloInstruction *[]){p, p, p}, 3, SV(""));
  HloComputation **list = ARENA_NEW_ARRAY(f->arena, HloComputation *, 2);
  list[0] = list[1] = one;
  hlo_instruction_set_attr(branch, &(HloAttr){.id = HLO_ATTR_BRANCH_COMPUTATIONS, .value.computations = {2, list}});
  HloInstruction *clone = hlo_computation_add_clone(f->main, branch, branch->shape, branch->operands, 3);
  hlo_instruction_set_called(clone, 1, two);
  assert_ptr_equal(hlo_instruction_called(clone, 1), two);
  assert_ptr_equal(hlo_instruction_called(branch, 1), one);
}

static void instruction_side_effects_reach_through_calls(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloComputation *inner = hlo_module_add_computation(f->module, SV("inner"));
  HloInstruction *q = hlo_computation_add_parameter(inner, 0, f->f32, SV("q"));
  inner->root = q;
  HloComputation *outer = hlo_module_add_computation(f->module, SV("outer"));
  HloInstruction *r = hlo_computation_add_parameter(outer, 0, f->f32, SV("r"));
  outer->root = add_call(outer, f->f32, &r, 1, inner);
  HloInstruction *call = add_call(f->main, f->f32, &p, 1, outer);
  assert_false(hlo_instruction_has_side_effect(call));
  HloInstruction *custom = add_unary(inner, HLO_CUSTOM_CALL, q);
  assert_false(hlo_instruction_has_side_effect(custom));
  hlo_instruction_set_bool(custom, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true);
  assert_true(hlo_instruction_has_side_effect(custom));
  assert_true(hlo_instruction_has_side_effect(call));
}

static void instruction_spelt_defaults_are_no_difference(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->vector, SV("p"));
  HloInstruction *a = add_binary(f->main, HLO_DOT, p, p), *b = add_binary(f->main, HLO_DOT, p, p);
  hlo_instruction_set_int(a, HLO_ATTR_DOT_ALGORITHM, DOT_ALGORITHM_UNSET);
  hlo_instruction_set_ints(a, HLO_ATTR_OPERAND_PRECISION, (int64_t[]){0, 0}, 2);
  hlo_instruction_set_ints(a, HLO_ATTR_LHS_BATCH_DIMS, NULL, 0);
  assert_true(hlo_instruction_same_attrs(a, b, NULL));
  assert_true(hlo_instruction_same_attrs(b, a, NULL));
  assert_int_equal(hlo_instruction_attrs_hash(a), hlo_instruction_attrs_hash(b));
  hlo_instruction_set_ints(b, HLO_ATTR_LHS_CONTRACTING_DIMS, (int64_t[]){0}, 1);
  assert_false(hlo_instruction_same_attrs(a, b, NULL));
  assert_false(hlo_instruction_same_attrs(b, a, NULL));
  assert_int_not_equal(hlo_instruction_attrs_hash(a), hlo_instruction_attrs_hash(b));
}

static void instruction_default_comparison_type_follows_operand(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *compare = add_binary(f->main, HLO_COMPARE, p, p);
  HloAttr type = {.id = HLO_ATTR_COMPARISON_TYPE, .value.integer = COMPARISON_TYPE_FLOAT};
  assert_true(hlo_instruction_attr_is_default(compare, &type));
  type.value.integer = COMPARISON_TYPE_TOTALORDER;
  assert_false(hlo_instruction_attr_is_default(compare, &type));
  HloInstruction *q = hlo_computation_add_parameter(f->main, 1, f->pred, SV("q"));
  type.value.integer = COMPARISON_TYPE_UNSIGNED;
  assert_true(hlo_instruction_attr_is_default(add_binary(f->main, HLO_COMPARE, q, q), &type));
}

static void instruction_inherit_metadata_keeps_its_own(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *from = add_unary(f->main, HLO_NEGATE, p), *to = add_unary(f->main, HLO_ABS, p);
  HloMetadata theirs = {.op_name = SV("theirs")}, own = {.op_name = SV("own")};
  hlo_instruction_set_attr(from, &(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = &theirs});
  hlo_instruction_inherit_metadata(to, from);
  assert_ptr_equal(hlo_instruction_metadata(to), &theirs);
  hlo_instruction_set_attr(to, &(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = &own});
  hlo_instruction_inherit_metadata(to, from);
  assert_ptr_equal(hlo_instruction_metadata(to), &own);
}

static uint32_t next_random(uint32_t *seed) {
  return *seed = *seed * 1664525u + 1013904223u, *seed >> 8;
}

/* Operands are always taken from earlier in the list, so that no cycle comes about. */
static void random_edit(Fixture *f, uint32_t *seed) {
  HloInstructionArray *list = &f->main->instructions;
  int64_t at = 3 + next_random(seed) % (uint32_t)(list->count - 3);
  HloInstruction *instruction = list->data[at];
  HloInstruction *earlier = list->data[next_random(seed) % (uint32_t)at];
  switch (next_random(seed) % 6) {
    case 0:
    case 1: add_binary(f->main, HLO_ADD, instruction, earlier); break;
    case 2:
      hlo_instruction_replace_operand(instruction, (int)(next_random(seed) % (uint32_t)instruction->operand_count),
                                      earlier);
      break;
    case 3: hlo_instruction_replace_all_uses(instruction, earlier); break;
    case 4:
      if (instruction->user_count > 1)
        hlo_instruction_replace_use(instruction, instruction->users[instruction->user_count / 2], earlier);
      break;
    default:
      if (instruction->user_count == 0 && f->main->root != instruction && list->count > 8) {
        hlo_computation_remove(f->main, instruction, false);
      } else {
        set_control(instruction, earlier);
      }
  }
}

static void instruction_random_edits_stay_consistent(void **state) {
  Fixture *f = *state;
  uint32_t seed = 1;
  for (int i = 0; i < 3; i++) hlo_computation_add_parameter(f->main, i, f->f32, SV("p"));
  for (int i = 0; i < 5; i++)
    add_binary(f->main, HLO_ADD, f->main->instructions.data[i], f->main->instructions.data[0]);
  f->main->root = f->main->instructions.data[3];
  for (int i = 0; i < 4000; i++) {
    random_edit(f, &seed);
    if (i % 16 == 0) check_consistent(f->main);
  }
  check_consistent(f->main);
  int64_t count;
  hlo_computation_post_order(f->main, f->arena, &count);
  assert_int_equal(count, f->main->instructions.count);
  hlo_computation_remove_dead(f->main);
  check_consistent(f->main);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(instruction_users_are_distinct),
      TEST(instruction_replace_all_uses_moves_root_and_users),
      TEST(instruction_replace_all_uses_keeps_use_by_replacement),
      TEST(instruction_without_sharding_keeps_what_else_frontends_say),
      TEST(instruction_control_predecessors_follow_replacement),
      TEST(instruction_attrs_set_replace_remove),
      TEST(instruction_called_in_row_order),
      TEST(instruction_set_called_leaves_clones_alone),
      TEST(instruction_side_effects_reach_through_calls),
      TEST(instruction_spelt_defaults_are_no_difference),
      TEST(instruction_default_comparison_type_follows_operand),
      TEST(instruction_inherit_metadata_keeps_its_own),
      TEST(instruction_random_edits_stay_consistent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
