#include "hlo/analysis/in_place.h"

#include "hlo/analysis/analysis_testing.h"

static const HloInstruction *root_of(Fixture *fixture, const char *text) {
  return read_module(fixture, text)->entry->root;
}

static const HloInstruction *one_op(Fixture *fixture, const char *parameters, const char *root) {
  return root_of(fixture,
                 arena_printf(fixture->arena, "HloModule m\nENTRY e {\n%s  ROOT r = %s\n}\n", parameters, root));
}

static const HloInstruction *fusion(Fixture *fixture, const char *fused, const char *parameters, const char *root) {
  return root_of(fixture,
                 arena_printf(fixture->arena,
                              "HloModule m\nfused {\n%s}\nENTRY e {\n%s  ROOT r = %s, kind=kLoop, calls=fused\n}\n",
                              fused, parameters, root));
}

#define SHARES(instruction, operand, node, result) \
  hlo_may_share_operand(instruction, operand, node, result, fixture->arena)

static void reshape_is_bitcast_when_no_byte_moves(void **state) {
  Fixture *fixture = *state;
  static const struct {
    const char *from, *to;
    bool expected;
  } cases[] = {
      {"f32[2,6]", "f32[3,4]", true},
      {"f32[2,6]{0,1}", "f32[3,4]", false},
      {"f32[2,6]{0,1}", "f32[2,1,6]{0,1,2}", true},
      {"f32[2,6]{0,1}", "f32[6,2]{0,1}", false},
      {"f32[1,6]{0,1}", "f32[6]", true},
      {"f32[<=4,2]", "f32[<=8]", false},
      {"f32[0,6]", "f32[3,0]", true},
      {"f32[2,6]", "f32[12]{0:S(1)}", false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const HloInstruction *reshape =
        one_op(fixture, arena_printf(fixture->arena, "  p = %s parameter(0)\n", cases[i].from),
               arena_printf(fixture->arena, "%s reshape(p)", cases[i].to));
    if (hlo_reshape_is_bitcast(reshape) != cases[i].expected) fail_msg("%s to %s", cases[i].from, cases[i].to);
    assert_int_equal(hlo_is_view(reshape), cases[i].expected);
  }
}

static void updates_pair_their_first_operand(void **state) {
  Fixture *fixture = *state;
  const HloInstruction *update =
      one_op(fixture, "  x = f32[8] parameter(0)\n  u = f32[2] parameter(1)\n  i = s32[] parameter(2)\n",
             "f32[8] dynamic-update-slice(x, u, i)");
  InPlacePairs pairs = hlo_in_place_pairs(update, fixture->arena);
  assert_int_equal(pairs.count, 1);
  assert_int_equal(pairs.pairs[0].operand, 0);
  assert_true(SHARES(update, 0, 0, 0));
  assert_false(SHARES(update, 1, 0, 0));
}

static void fused_update_of_a_parameter_is_in_place(void **state) {
  Fixture *fixture = *state;
  const HloInstruction *root = fusion(
      fixture,
      "  x = f32[8] parameter(0)\n  u = f32[2] parameter(1)\n  i = s32[] parameter(2)\n"
      "  n = f32[2] negate(u)\n  ROOT d = f32[8] dynamic-update-slice(x, n, i)\n",
      "  p = f32[8] parameter(0)\n  q = f32[2] parameter(1)\n  j = s32[] parameter(2)\n", "f32[8] fusion(p, q, j)");
  InPlacePairs pairs = hlo_in_place_pairs(root, fixture->arena);
  assert_int_equal(pairs.count, 1);
  assert_int_equal(pairs.pairs[0].operand, 0);
}

static void fused_update_of_a_computed_value_is_not(void **state) {
  Fixture *fixture = *state;
  const HloInstruction *root = fusion(
      fixture,
      "  x = f32[8] parameter(0)\n  u = f32[2] parameter(1)\n  i = s32[] parameter(2)\n"
      "  n = f32[8] negate(x)\n  ROOT d = f32[8] dynamic-update-slice(n, u, i)\n",
      "  p = f32[8] parameter(0)\n  q = f32[2] parameter(1)\n  j = s32[] parameter(2)\n", "f32[8] fusion(p, q, j)");
  assert_int_equal(hlo_in_place_pairs(root, fixture->arena).count, 0);
}

static void fused_update_whose_operand_is_read_elsewhere_is_not(void **state) {
  Fixture *fixture = *state;
  const HloInstruction *root =
      fusion(fixture,
             "  x = f32[8] parameter(0)\n  i = s32[] parameter(1)\n"
             "  s = f32[2] slice(x), slice={[0:2]}\n  ROOT d = f32[8] dynamic-update-slice(x, s, i)\n",
             "  p = f32[8] parameter(0)\n  j = s32[] parameter(1)\n", "f32[8] fusion(p, j)");
  assert_int_equal(hlo_in_place_pairs(root, fixture->arena).count, 0);
}

static void fused_update_may_read_its_own_window(void **state) {
  Fixture *fixture = *state;
  const char *parameters = "  p = f32[8] parameter(0)\n  j = s32[] parameter(1)\n  k = s32[] parameter(2)\n";
  const char *text =
      "  x = f32[8] parameter(0)\n  i = s32[] parameter(1)\n  o = s32[] parameter(2)\n"
      "  s = f32[2] dynamic-slice(x, %s), dynamic_slice_sizes={2}\n  n = f32[2] %s\n"
      "  ROOT d = f32[8] dynamic-update-slice(x, n, i)\n";
  static const struct {
    const char *start, *how;
    int expected;
  } cases[] = {{"i", "negate(s)", 1}, {"o", "negate(s)", 0}, {"i", "reverse(s), dimensions={0}", 0}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const HloInstruction *root = fusion(fixture, arena_printf(fixture->arena, text, cases[i].start, cases[i].how),
                                        parameters, "f32[8] fusion(p, j, k)");
    assert_int_equal(hlo_in_place_pairs(root, fixture->arena).count, cases[i].expected);
  }
}

static void fused_update_may_read_what_it_does_not_write(void **state) {
  Fixture *fixture = *state;
  const char *parameters = "  p = f32[8,4] parameter(0)\n  j = s32[] parameter(1)\n";
  const char *text =
      "  x = f32[8,4] parameter(0)\n  i = s32[] parameter(1)\n  two = s32[] constant(2)\n  far = s32[] constant(9)\n"
      "  s = f32[2,4] slice(x), slice={[%s], [0:4]}\n  n = f32[2,4] %s\n"
      "  ROOT d = f32[8,4] dynamic-update-slice(x, n, %s)\n";
  static const struct {
    const char *rows, *how, *start;
    int expected;
  } cases[] = {
      {"2:4", "negate(s)", "two, i", 1},                  /* the window: all of the second dimension */
      {"2:4", "reverse(s), dimensions={0}", "two, i", 0}, /* at other places */
      {"4:6", "reverse(s), dimensions={0}", "two, i", 1}, /* after it */
      {"0:2", "negate(s)", "two, i", 1},                  /* before it */
      {"3:5", "negate(s)", "two, i", 0},                  /* some of it */
      {"6:8", "negate(s)", "far, i", 1},                  /* begins at 6: the last place where it fits */
      {"4:6", "negate(s)", "i, i", 0},                    /* anywhere */
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *body = arena_printf(fixture->arena, text, cases[i].rows, cases[i].how, cases[i].start);
    const HloInstruction *root = fusion(fixture, body, parameters, "f32[8,4] fusion(p, j)");
    if (hlo_in_place_pairs(root, fixture->arena).count != cases[i].expected) fail_msg("%s", body);
  }
}

/* An instruction whose first operand is p, f32[4,4], and whether its result may overwrite that. */
typedef struct SharingCase {
  const char *root;
  bool expected;
} SharingCase;

static void expect_sharing(Fixture *fixture, const SharingCase *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const HloInstruction *root = one_op(fixture, "  p = f32[4,4] parameter(0)\n", cases[i].root);
    if (SHARES(root, 0, 0, 0) != cases[i].expected) fail_msg("%s", cases[i].root);
  }
}

#define EXPECT_SHARING(fixture, ...)                                  \
  do {                                                                \
    static const SharingCase cases[] = {__VA_ARGS__};                 \
    expect_sharing(fixture, cases, sizeof(cases) / sizeof(cases[0])); \
  } while (0)

static void elementwise_results_may_overwrite_operands(void **state) {
  EXPECT_SHARING(*state, {"f32[4,4] negate(p)", true}, {"f32[4,4] add(p, p)", true});
}

static void a_transposing_or_broadcasting_operand_is_not_overwritten(void **state) {
  EXPECT_SHARING(*state, {"f32[4,4]{0,1} negate(p)", false}, {"f32[4,4] transpose(p), dimensions={1,0}", false},
                 {"f32[4,4,1] broadcast(p), dimensions={0,1}", false});
}

/* XLA refuses all three; the first is safe, as every element is read before its bytes are written. */
static void a_result_of_another_width_does_not_overwrite_its_operand(void **state) {
  EXPECT_SHARING(*state, {"s32[4,4] convert(p)", true}, {"f16[4,4] convert(p)", false},
                 {"pred[4,4] is-finite(p)", false});
}

static void an_operation_that_reads_neighbours_is_never_elementwise(void **state) {
  EXPECT_SHARING(*state, {"f32[4,4] reverse(p), dimensions={0}", false},
                 {"f32[4,4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}", false},
                 {"f32[4,4] concatenate(p), dimensions={0}", false});
}

/* It would do nothing, and hide that a copy was needed. */
static void a_copy_never_overwrites_its_operand(void **state) {
  EXPECT_SHARING(*state, {"f32[4,4] copy(p)", false});
}

/* Only updates must be in place; these may be, and here are not. */
static void sorts_and_triangular_solves_need_not_be_in_place(void **state) {
  Fixture *fixture = *state;
  const HloInstruction *solve = one_op(fixture, "  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n",
                                       "f32[4,4] triangular-solve(p, q), left_side=true, lower=true, "
                                       "transpose_a=NO_TRANSPOSE");
  assert_int_equal(hlo_in_place_pairs(solve, fixture->arena).count, 0);
  const HloInstruction *sort = root_of(
      fixture,
      "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT l = pred[] compare(a, b), "
      "direction=LT\n}\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] sort(p), dimensions={0}, "
      "to_apply=less\n}\n");
  assert_int_equal(hlo_in_place_pairs(sort, fixture->arena).count, 0);
}

static void two_results_do_not_claim_one_operand(void **state) {
  Fixture *fixture = *state;
  const HloInstruction *root =
      fusion(fixture,
             "  x = f32[8] parameter(0)\n  u = f32[2] parameter(1)\n  i = s32[] parameter(2)\n"
             "  d = f32[8] dynamic-update-slice(x, u, i)\n  n = f32[2] negate(u)\n"
             "  f = f32[8] dynamic-update-slice(x, n, i)\n  ROOT t = (f32[8], f32[8]) tuple(d, f)\n",
             "  p = f32[8] parameter(0)\n  q = f32[2] parameter(1)\n  j = s32[] parameter(2)\n",
             "(f32[8], f32[8]) fusion(p, q, j)");
  InPlacePairs pairs = hlo_in_place_pairs(root, fixture->arena);
  assert_true(pairs.count <= 1);
}

static void fusions_share_what_they_read_element_by_element(void **state) {
  Fixture *fixture = *state;
  const char *parameters = "  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n";
  const HloInstruction *softmax =
      fusion(fixture,
             "  x = f32[4,4] parameter(0)\n  y = f32[4,4] parameter(1)\n"
             "  t = f32[4,4] transpose(y), dimensions={1,0}\n  f = f32[16] reshape(x)\n  n = f32[16] negate(f)\n"
             "  g = f32[4,4] bitcast(n)\n  ROOT s = f32[4,4] add(g, t)\n",
             parameters, "f32[4,4] fusion(p, q)");
  assert_true(SHARES(softmax, 0, 0, 0));
  assert_false(SHARES(softmax, 1, 0, 0));
}

/* A residual, or the sums of a loop over parts of the depth: not what the product reads, nor what is read elsewhere. */
static void a_product_is_added_to_in_place(void **state) {
  Fixture *fixture = *state;
  const char *parameters = "  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n";
  static const struct {
    const char *root;
    bool expected;
  } cases[] = {{"  ROOT r = f32[4,4] add(d, x)\n", true},
               {"  n = f32[4,4] negate(x)\n  ROOT r = f32[4,4] add(n, d)\n", true},
               {"  t = f32[4,4] transpose(x), dimensions={1,0}\n  ROOT r = f32[4,4] add(d, t)\n", false},
               {"  e = f32[4,4] dot(d, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                "  ROOT r = f32[4,4] add(e, x)\n",
                false},
               /* with several results where the sums' loops make all of them, each after all is read */
               {"  a = f32[4,4] add(d, x)\n  ROOT r = (f32[4,4], f32[4,4]) tuple(a, d)\n", true},
               {"  a = f32[4,4] add(d, x)\n  b = f32[4,4] multiply(d, x)\n"
                "  ROOT r = (f32[4,4], f32[4,4]) tuple(a, b)\n",
                true},
               {"  a = f32[4,4] add(d, x)\n  n = f32[4,4] negate(x)\n"
                "  ROOT r = (f32[4,4], f32[4,4]) tuple(a, n)\n",
                true},
               {"  a = f32[4,4] add(d, x)\n  t = f32[4,4] transpose(d), dimensions={1,0}\n"
                "  b = f32[4,4] multiply(t, x)\n  ROOT r = (f32[4,4], f32[4,4]) tuple(a, b)\n",
                false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *body = arena_printf(fixture->arena,
                                    "  x = f32[4,4] parameter(0)\n  y = f32[4,4] parameter(1)\n"
                                    "  d = f32[4,4] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n%s",
                                    cases[i].root);
    bool is_tuple = strstr(body, "tuple(") != NULL;
    const HloInstruction *root =
        fusion(fixture, body, parameters, is_tuple ? "(f32[4,4], f32[4,4]) fusion(p, q)" : "f32[4,4] fusion(p, q)");
    if (SHARES(root, 0, 0, is_tuple) != cases[i].expected) fail_msg("%s", body);
    assert_false(SHARES(root, 1, 0, is_tuple));
  }
}

static void several_results_share_if_all_are_alike(void **state) {
  Fixture *fixture = *state;
  const char *parameters = "  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n";
  const HloInstruction *alike =
      fusion(fixture,
             "  x = f32[4,4] parameter(0)\n  y = f32[4,4] parameter(1)\n  a = f32[4,4] add(x, y)\n"
             "  b = f32[4,4] subtract(x, y)\n  ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)\n",
             parameters, "(f32[4,4], f32[4,4]) fusion(p, q)");
  assert_true(SHARES(alike, 0, 0, 1));
  assert_true(SHARES(alike, 1, 0, 2));
  const HloInstruction *unlike =
      fusion(fixture,
             "  x = f32[4,4] parameter(0)\n  y = f32[4,4] parameter(1)\n  a = f32[4,4] add(x, x)\n"
             "  z = f32[16] reshape(x)\n  b = f32[16] negate(z)\n  c = f32[4,4] sine(y)\n"
             "  ROOT t = (f32[4,4], f32[16], f32[4,4]) tuple(a, b, c)\n",
             parameters, "(f32[4,4], f32[16], f32[4,4]) fusion(p, q)");
  assert_false(SHARES(unlike, 0, 0, 1)); /* the second result may be made by another loop */
  assert_true(SHARES(unlike, 1, 0, 3));  /* nothing else reads the operand */
  const HloInstruction *in_stages =
      root_of(fixture,
              "HloModule m\nadd {\n  i = f32[] parameter(0)\n  j = f32[] parameter(1)\n  ROOT s = f32[] add(i, j)\n}\n"
              "fused {\n  x = f32[4,4] parameter(0)\n  y = f32[4,4] parameter(1)\n  o = f32[] constant(0)\n"
              "  r = f32[4] reduce(y, o), dimensions={1}, to_apply=add\n"
              "  w = f32[4,4] broadcast(r), dimensions={0}\n  a = f32[4,4] add(x, w)\n  b = f32[4,4] negate(x)\n"
              "  ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)\n}\n"
              "ENTRY e {\n  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n"
              "  ROOT f = (f32[4,4], f32[4,4]) fusion(p, q), kind=kInput, calls=fused\n}\n");
  assert_false(SHARES(in_stages, 0, 0, 2)); /* it may be stored before the other result reads the operand */
  const HloInstruction *summed =
      root_of(fixture,
              "HloModule m\nadd {\n  i = f32[] parameter(0)\n  j = f32[] parameter(1)\n  ROOT s = f32[] add(i, j)\n}\n"
              "fused {\n  x = f32[4,4] parameter(0)\n  y = f32[4,4] parameter(1)\n  o = f32[] constant(0)\n"
              "  a = f32[4,4] add(x, y)\n  r = f32[4] reduce(a, o), dimensions={0}, to_apply=add\n"
              "  z = f32[4,4] transpose(y), dimensions={1,0}\n  c = f32[4,4] multiply(x, z)\n"
              "  q = f32[4] reduce(c, o), dimensions={0}, to_apply=add\n"
              "  ROOT t = (f32[4,4], f32[4], f32[4]) tuple(a, r, q)\n}\n"
              "ENTRY e {\n  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n"
              "  ROOT f = (f32[4,4], f32[4], f32[4]) fusion(p, q), kind=kInput, calls=fused\n}\n");
  assert_true(SHARES(summed, 0, 0, 1));  /* stored and summed in one loop */
  assert_false(SHARES(summed, 1, 0, 1)); /* read elsewhere as well */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(reshape_is_bitcast_when_no_byte_moves, set_up, tear_down),
      cmocka_unit_test_setup_teardown(updates_pair_their_first_operand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fused_update_of_a_parameter_is_in_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fused_update_of_a_computed_value_is_not, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fused_update_whose_operand_is_read_elsewhere_is_not, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fused_update_may_read_its_own_window, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fused_update_may_read_what_it_does_not_write, set_up, tear_down),
      cmocka_unit_test_setup_teardown(elementwise_results_may_overwrite_operands, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_transposing_or_broadcasting_operand_is_not_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_result_of_another_width_does_not_overwrite_its_operand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_operation_that_reads_neighbours_is_never_elementwise, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_copy_never_overwrites_its_operand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(sorts_and_triangular_solves_need_not_be_in_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(two_results_do_not_claim_one_operand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fusions_share_what_they_read_element_by_element, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_product_is_added_to_in_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(several_results_share_if_all_are_alike, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("in_place", tests, NULL, NULL);
}
