/* Sets that must be one place, conflicts, and the ways through them: XLA's rules for HloAliasAnalysis and their corner
 * cases. */
#include "hlo/analysis/hlo_alias.h"

#include <string.h>

#include "hlo/analysis/buffer_analysis_testing.h"
#include "hlo/analysis/sharing.h"

static bool in_one_set(const BufferAnalysis *analysis, const char *a, int node_a, const char *b, int node_b) {
  return hlo_alias_set(analysis->alias, value_of(analysis, a, node_a)) ==
         hlo_alias_set(analysis->alias, value_of(analysis, b, node_b));
}

/* The only conflict. */
static AliasConflict conflict_of(const BufferAnalysis *analysis) {
  assert_int_equal(analysis->alias->conflicts.count, 1);
  return analysis->alias->conflicts.data[0];
}

/* The rules between two values, "loop state; donation", in words up to the colon. */
static const char *rules(Fixture *fixture, const BufferAnalysis *analysis, int32_t a, int32_t b) {
  SharingPath path = sharing_path(analysis->alias, a, b, NULL, fixture->arena);
  StringBuilder text;
  sb_init(&text, fixture->arena);
  sb_append_cstring(&text, "");
  for (int32_t i = 0; i < path.count; i++) {
    const char *step = sharing_step_text(analysis->alias, &path.steps[i], fixture->arena);
    sb_printf(&text, "%s%.*s", i ? "; " : "", (int)(strchr(step, ':') - step), step);
  }
  return path.count ? text.data : "";
}

#define LOOP(init, back)                                                                                           \
  "HloModule m\n"                                                                                                  \
  "c {\n  cs = (pred[], f32[4], f32[4]) parameter(0)\n  ROOT cm = pred[] get-tuple-element(cs), index=0\n}\n"      \
  "b {\n  bs = (pred[], f32[4], f32[4]) parameter(0)\n  bm = pred[] get-tuple-element(bs), index=0\n"              \
  "  bx = f32[4] get-tuple-element(bs), index=1\n  by = f32[4] get-tuple-element(bs), index=2\n"                   \
  "  nm = pred[] not(bm)\n  nx = f32[4] negate(bx)\n  ny = f32[4] sine(by)\n"                                      \
  "  ROOT br = (pred[], f32[4], f32[4]) tuple(nm, " back                                                           \
  ")\n}\n"                                                                                                         \
  "ENTRY e {\n  k = pred[] parameter(0)\n  p = f32[4] parameter(1)\n  m = pred[] not(k)\n  x = f32[4] negate(p)\n" \
  "  y = f32[4] sine(p)\n  one = f32[4] constant({1,1,1,1})\n"                                                     \
  "  init = (pred[], f32[4], f32[4]) tuple(m, " init                                                               \
  ")\n"                                                                                                            \
  "  ROOT loop = (pred[], f32[4], f32[4]) while(init), condition=c, body=b\n}\n"

static void all_five_positions_of_loop_state_are_one_place(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP("x, y", "nx, ny"));
  assert_int_equal(analysis.alias->conflicts.count, 0);
  static const struct {
    const char *name;
    int node;
  } others[] = {{"cs", 2}, {"bs", 2}, {"nx", 0}, {"loop", 2}};
  for (size_t i = 0; i < 4; i++) assert_true(in_one_set(&analysis, "x", 0, others[i].name, others[i].node));
  assert_false(in_one_set(&analysis, "x", 0, "y", 0));
  assert_string_equal(rules(*state, &analysis, value_of(&analysis, "x", 0), value_of(&analysis, "bs", 2)),
                      "loop state");
  /* united with one another through the body's parameter: transitive */
  assert_string_equal(rules(*state, &analysis, value_of(&analysis, "x", 0), value_of(&analysis, "nx", 0)),
                      "loop state; loop state");
}

static void a_swap_in_a_loop_is_a_conflict(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP("x, y", "by, bx"));
  assert_true(analysis.alias->conflicts.count > 0);
  assert_int_equal(analysis.alias->conflicts.data[0].edge, ALIAS_LOOP_RESULT);
}

static void one_initial_value_at_two_indices_is_a_conflict(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP("x, x", "nx, ny"));
  AliasConflict conflict = conflict_of(&analysis);
  assert_int_equal(conflict.edge, ALIAS_LOOP_INIT);
  assert_int_equal(conflict.node, 3);
  assert_true(conflict.is_move);
}

static void a_constant_is_no_initial_value(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP("x, one", "nx, ny"));
  AliasConflict conflict = conflict_of(&analysis);
  assert_int_equal(conflict.edge, ALIAS_LOOP_INIT);
  assert_int_equal(conflict.refusal.kind, ALIAS_READ_ONLY);
}

static void an_argument_that_is_not_donated_is_no_initial_value(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP("p, y", "nx, ny"));
  assert_int_equal(conflict_of(&analysis).refusal.kind, ALIAS_READ_ONLY);
}

static void branches_join_at_their_results_and_not_at_their_parameters(void **state) {
  BufferAnalysis analysis =
      analyse(*state,
              "HloModule m\n"
              "b0 {\n  x0 = f32[4] parameter(0)\n  ROOT n0 = f32[4] reverse(x0), dimensions={0}\n}\n"
              "b1 {\n  x1 = f32[4] parameter(0)\n  ROOT n1 = f32[4] sine(x1)\n}\n"
              "ENTRY e {\n  k = s32[] parameter(0)\n  p = f32[4] parameter(1)\n  v = f32[4] negate(p)\n"
              "  ROOT c = f32[4] conditional(k, v, v), branch_computations={b0, b1}\n}\n");
  assert_int_equal(analysis.alias->conflicts.count, 0);
  assert_true(in_one_set(&analysis, "n0", 0, "c", 0));
  assert_true(in_one_set(&analysis, "n1", 0, "c", 0));
  assert_false(in_one_set(&analysis, "v", 0, "c", 0));
  assert_string_equal(rules(*state, &analysis, value_of(&analysis, "n0", 0), value_of(&analysis, "n1", 0)),
                      "branch result; branch result");
}

static void a_call_needs_no_rule(void **state) {
  BufferAnalysis analysis = analyse(*state,
                                    "HloModule m\nf {\n  a = f32[4] parameter(0)\n  ROOT n = f32[4] negate(a)\n}\n"
                                    "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT c = f32[4] call(p), to_apply=f\n}\n");
  assert_int_equal(value_of(&analysis, "c", 0), value_of(&analysis, "n", 0));
  assert_int_equal(value_of(&analysis, "a", 0), value_of(&analysis, "p", 0));
  assert_int_equal(analysis.alias->joins.count, 0);
}

static void a_donated_argument_joins_its_result(void **state) {
  BufferAnalysis analysis =
      analyse(*state,
              "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY e {\n  p = f32[4] parameter(0)\n"
              "  n = f32[4] negate(p)\n  s = f32[4] sine(n)\n  ROOT r = (f32[4], f32[4]) tuple(n, s)\n}\n");
  assert_true(in_one_set(&analysis, "p", 0, "n", 0));
  assert_false(in_one_set(&analysis, "p", 0, "s", 0));
  assert_string_equal(rules(*state, &analysis, value_of(&analysis, "p", 0), value_of(&analysis, "n", 0)), "donation");
  const HloAliasSet *set = &analysis.alias->sets[hlo_alias_set(analysis.alias, value_of(&analysis, "n", 0))];
  assert_int_equal(set->result, 0);
}

/* The result is there while the argument is still read. */
static void a_donated_argument_that_is_read_later_is_a_conflict(void **state) {
  BufferAnalysis analysis =
      analyse(*state,
              "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\n"
              "ENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n  s = f32[4] reverse(p), dimensions={0}\n"
              "  ROOT r = (f32[4], f32[4]) tuple(n, s)\n}\n");
  AliasConflict conflict = conflict_of(&analysis);
  assert_int_equal(conflict.edge, ALIAS_DONATION);
  assert_int_equal(conflict.refusal.kind, ALIAS_OVERLAP);
}

#define UPDATE(kind, use, root)                                                                      \
  "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n  i = s32[] parameter(1)\n" \
  "  x = f32[4] sine(p)\n  d = f32[4] " kind "\n" use "  ROOT r = f32[4] " root "\n}\n"

static void an_update_whose_operand_is_read_later_is_a_conflict(void **state) {
  BufferAnalysis analysis =
      analyse(*state, UPDATE("dynamic-update-slice(x, p, i)", "  o = f32[4] cosine(x)\n", "add(d, o)"));
  AliasConflict conflict = conflict_of(&analysis);
  assert_int_equal(conflict.edge, ALIAS_IN_PLACE);
  assert_int_equal(conflict.refusal.kind, ALIAS_OVERLAP);
  BufferAnalysis alone = analyse(*state, UPDATE("dynamic-update-slice(x, p, i)", "", "negate(d)"));
  assert_int_equal(alone.alias->conflicts.count, 0);
  assert_string_equal(rules(*state, &alone, value_of(&alone, "x", 0), value_of(&alone, "d", 0)), "update in place");
}

static void an_update_of_itself_is_a_conflict(void **state) {
  BufferAnalysis analysis = analyse(*state, UPDATE("dynamic-update-slice(x, x, i)", "", "negate(d)"));
  assert_int_equal(conflict_of(&analysis).refusal.kind, ALIAS_OVERLAP);
}

static void a_value_passed_twice_element_by_element_is_overwritten(void **state) {
  BufferAnalysis analysis = analyse(*state, UPDATE("add(x, x)", "", "negate(d)"));
  assert_true(hlo_alias_is_overwritten_by(analysis.alias, value_of(&analysis, "x", 0), value_of(&analysis, "d", 0)));
  BufferAnalysis reversed = analyse(*state, UPDATE("reverse(x), dimensions={0}", "", "negate(d)"));
  assert_false(hlo_alias_is_overwritten_by(reversed.alias, value_of(&reversed, "x", 0), value_of(&reversed, "d", 0)));
}

static void a_constant_is_never_overwritten(void **state) {
  BufferAnalysis analysis = analyse(*state,
                                    "HloModule m, is_scheduled=true\nENTRY e {\n  k = f32[4] constant({1,2,3,4})\n"
                                    "  n = f32[4] negate(k)\n  ROOT r = f32[4] reverse(n), dimensions={0}\n}\n");
  AliasRefusal refusal =
      hlo_alias_refusal_to_unite(analysis.alias, value_of(&analysis, "k", 0), value_of(&analysis, "n", 0));
  assert_int_equal(refusal.kind, ALIAS_READ_ONLY);
  assert_string_equal(sharing_refusal_rule(refusal), "read only");
}

/* The place is as large as the largest and as aligned as the strictest. */
static void a_set_takes_the_size_and_alignment_of_all_its_values(void **state) {
  BufferAnalysis analysis =
      analyse(*state,
              "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[8] parameter(0)\n  a = f32[8] sine(p)\n"
              "  b = f64[2] custom-call(a), custom_call_target=\"f\"\n  c = u8[4] custom-call(b), "
              "custom_call_target=\"g\"\n  d = u8[4] negate(c)\n  ROOT r = u8[2] slice(d), slice={[0:2]}\n}\n");
  int32_t a = value_of(&analysis, "a", 0), c = value_of(&analysis, "c", 0), d = value_of(&analysis, "d", 0);
  assert_int_equal(hlo_alias_unite(analysis.alias, a, c).kind, ALIAS_GRANTED);
  assert_int_equal(hlo_alias_unite(analysis.alias, d, c).kind, ALIAS_GRANTED);
  const HloAliasSet *set = &analysis.alias->sets[hlo_alias_set(analysis.alias, d)];
  assert_int_equal(set->size, 32);
  assert_int_equal(set->alignment, 4);
  assert_int_equal(hlo_alias_refusal_to_unite(analysis.alias, a, value_of(&analysis, "b", 0)).kind, ALIAS_OVERLAP);
}

static void memory_spaces_never_mix(void **state) {
  BufferAnalysis analysis =
      analyse(*state,
              "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[8]{0} parameter(0)\n"
              "  a = f32[8]{0:S(1)} sine(p)\n  b = f32[8]{0} negate(a)\n  c = f32[8]{0:S(1)} sine(b)\n"
              "  ROOT r = f32[8]{0} negate(c)\n}\n");
  int32_t a = value_of(&analysis, "a", 0), b = value_of(&analysis, "b", 0), c = value_of(&analysis, "c", 0);
  assert_int_equal(hlo_alias_refusal_to_unite(analysis.alias, a, b).kind, ALIAS_LAYOUT);
  assert_int_equal(hlo_alias_refusal_to_unite(analysis.alias, a, c).kind, ALIAS_GRANTED);
}

/* A value of two places of the result is in one of them alone. */
static void one_value_in_two_results_is_a_conflict(void **state) {
  BufferAnalysis analysis = analyse(*state,
                                    "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                                    "  ROOT r = (f32[4], f32[4]) tuple(n, n)\n}\n");
  assert_int_equal(conflict_of(&analysis).edge, ALIAS_RESULT);
  assert_int_equal(conflict_of(&analysis).refusal.kind, ALIAS_TWO_HOMES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(all_five_positions_of_loop_state_are_one_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_swap_in_a_loop_is_a_conflict, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_initial_value_at_two_indices_is_a_conflict, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_constant_is_no_initial_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_argument_that_is_not_donated_is_no_initial_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(branches_join_at_their_results_and_not_at_their_parameters, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_call_needs_no_rule, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_donated_argument_joins_its_result, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_donated_argument_that_is_read_later_is_a_conflict, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_update_whose_operand_is_read_later_is_a_conflict, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_update_of_itself_is_a_conflict, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_value_passed_twice_element_by_element_is_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_constant_is_never_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_set_takes_the_size_and_alignment_of_all_its_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(memory_spaces_never_mix, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_value_in_two_results_is_a_conflict, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("hlo_alias", tests, NULL, NULL);
}
