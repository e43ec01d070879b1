#include "hlo/ir/leaf_names.h"

#include "hlo/ir/hlo_testing.h"

static void identifier_of_text_joins_words(void **state) {
  Fixture *f = *state;
  static const char *const pairs[][2] = {
      {"params['layer_1']['w']", "params_layer_1_w"},
      {"params.layer_1.w", "params_layer_1_w"},
      {"ws[1][0]", "ws_1_0"},
      {"s__b__", "s_b"},
      {"0.weight", "p0_weight"},
      {"\xc3\xa9", "p"},
      {"", "p"},
      {"a\"*/b", "a_b"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    assert_string_equal(identifier_of_text(f->arena, sv_from_cstring(pairs[i][0])).data, pairs[i][1]);
}

static HloInstruction *add_parameter(Fixture *f, const Shape *shape, const char *name, const char *path) {
  HloInstruction *parameter =
      hlo_computation_add_parameter(f->main, f->main->parameters.count, shape, sv_from_cstring(name));
  HloMetadata *metadata = ARENA_NEW(f->arena, HloMetadata);
  metadata->op_name = sv_from_cstring(path);
  hlo_instruction_set_attr(parameter, &(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = metadata});
  return parameter;
}

static void check_names(const Fixture *f, const char *const *expected, int64_t expected_count) {
  int64_t count;
  const StringView *names = hlo_parameter_leaf_names(f->module, f->arena, &count);
  assert_int_equal(count, expected_count);
  for (int64_t i = 0; i < count; i++) assert_string_equal(names[i].data, expected[i]);
}

static void leaf_names_are_paths_of_the_program(void **state) {
  Fixture *f = *state;
  const Shape *pair = shape_tuple(f->shapes, (const Shape *[]){f->f32, f->vector}, 2);
  add_parameter(f, f->f32, "Arg_0.1", "params['w']");
  add_parameter(f, pair, "Arg_1.2", "state");
  add_parameter(f, f->f32, "s__b__.1", "");
  static const char *const expected[] = {"params_w", "state_0", "state_1", "s_b"};
  check_names(f, expected, 4);
}

/* PyTorch/XLA says the same of all its parameters. */
static void leaf_names_that_say_nothing_are_left(void **state) {
  Fixture *f = *state;
  add_parameter(f, f->f32, "p0.1", "xla__device_data");
  add_parameter(f, f->f32, "p1.3", "xla__device_data");
  add_parameter(f, f->f32, "x.4", "");
  add_parameter(f, f->f32, "x.5", "");
  static const char *const expected[] = {"p0", "p1", "x_4", "x_5"};
  check_names(f, expected, 4);
}

static void leaf_names_are_all_different(void **state) {
  Fixture *f = *state;
  const Shape *pair = shape_tuple(f->shapes, (const Shape *[]){f->f32, f->vector}, 2);
  add_parameter(f, f->f32, "a_b", "");
  add_parameter(f, f->f32, "a.b", "");
  add_parameter(f, f->f32, "q", "a_b_2");
  add_parameter(f, pair, "r", "t");
  add_parameter(f, f->f32, "u", "t[1]");
  static const char *const expected[] = {"a_b", "a_b_2", "a_b_2_2", "t_0", "t_1", "t_1_2"};
  check_names(f, expected, 6);
}

static void leaf_names_of_sizes_follow_their_leaf(void **state) {
  Fixture *f = *state;
  add_parameter(f, f->vector, "Arg_0.1", "x['tokens']");
  add_parameter(f, shape_scalar(f->shapes, TYPE_S32), "Arg_0.1.size", "");
  array_push(&f->module->parameter_sizes, f->arena, ((LeafSize){.leaf = 0, .dimension = 0, .size_leaf = 1}));
  static const char *const expected[] = {"x_tokens", "x_tokens_size_0"};
  check_names(f, expected, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(identifier_of_text_joins_words, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(leaf_names_are_paths_of_the_program, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(leaf_names_that_say_nothing_are_left, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(leaf_names_are_all_different, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(leaf_names_of_sizes_follow_their_leaf, fixture_create, fixture_destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
