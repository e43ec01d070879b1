/* Live ranges on the flattened schedule, and why: XLA's rules for HloLiveRange and their corner cases. */
#include "hlo/analysis/hlo_liveness.h"

#include "hlo/analysis/buffer_analysis_testing.h"

/* The names of the first and the last instruction during which a value is there. */
static void expect_range(const BufferAnalysis *analysis, const char *name, int node, const char *from, const char *to) {
  int64_t length = analysis->ordering->length;
  LiveRange range = analysis->liveness->hulls[value_of(analysis, name, node)];
  StringView first = analysis->ordering->schedule[hlo_liveness_first_position(range, length)]->name;
  StringView last = analysis->ordering->schedule[hlo_liveness_last_position(range, length)]->name;
  if (!sv_equal_cstring(first, from) || !sv_equal_cstring(last, to))
    fail_msg("%s:%d lives from '%.*s' to '%.*s'", name, node, SV_ARG(first), SV_ARG(last));
}

static LiveNeed last_need(Fixture *fixture, const BufferAnalysis *analysis, const char *name, int node) {
  LiveNeeds needs =
      hlo_liveness_needs(fixture->arena, analysis->flow, analysis->ordering, value_of(analysis, name, node));
  assert_true(needs.count > 0);
  assert_int_equal(needs.needs[needs.count - 1].time, analysis->liveness->hulls[value_of(analysis, name, node)].to);
  return needs.needs[needs.count - 1];
}

#define LOOP_TEXT                                                                                                  \
  "HloModule m, is_scheduled=true\n"                                                                               \
  "condition {\n  s = (s32[], f32[4], f32[4], s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=3\n"    \
  "  ci = s32[] get-tuple-element(s), index=0\n  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"             \
  "body {\n  given = (s32[], f32[4], f32[4], s32[]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n" \
  "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  w = f32[4] get-tuple-element(given), index=1\n"        \
  "  x = f32[4] get-tuple-element(given), index=2\n  y = f32[4] multiply(x, w)\n  z = f32[4] negate(y)\n"          \
  "  n1 = s32[] get-tuple-element(given), index=3\n"                                                               \
  "  ROOT back = (s32[], f32[4], f32[4], s32[]) tuple(next, w, y, n1)\n}\n"                                        \
  "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[4] parameter(0)\n  limit = s32[] parameter(1)\n"               \
  "  q = f32[4] negate(p)\n  across = f32[4] sine(p)\n"                                                            \
  "  init = (s32[], f32[4], f32[4], s32[]) tuple(zero, p, q, limit)\n"                                             \
  "  loop = (s32[], f32[4], f32[4], s32[]) while(init), condition=condition, body=body\n"                          \
  "  g = f32[4] get-tuple-element(loop), index=2\n  after = f32[4] add(g, across)\n"                               \
  "  ROOT r = f32[4] reverse(after), dimensions={0}\n}\n"

static void values_live_across_a_while_span_its_whole_body(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  expect_range(&analysis, "across", 0, "across", "after");
  assert_true(analysis.ordering->times[find_instruction(analysis.graph->module, "s")->id] >
              analysis.ordering->times[find_instruction(analysis.graph->module, "init")->id]);
  assert_true(analysis.ordering->times[find_instruction(analysis.graph->module, "more")->id] <
              analysis.ordering->times[find_instruction(analysis.graph->module, "given")->id]);
  assert_true(analysis.ordering->times[find_instruction(analysis.graph->module, "back")->id] <
              analysis.ordering->times[find_instruction(analysis.graph->module, "loop")->id]);
}

static void an_initial_value_dies_when_the_loop_begins(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  expect_range(&analysis, "q", 0, "q", "init");
  LiveNeed need = last_need(*state, &analysis, "q", 0);
  assert_int_equal(need.kind, LIVE_NEED_ENTERS);
  assert_ptr_equal(need.user, find_instruction(analysis.graph->module, "loop"));
  assert_int_equal(need.node, 3);
}

static void a_root_extends_what_it_holds_to_the_end_of_its_computation(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  expect_range(&analysis, "y", 0, "y", "back");
  expect_range(&analysis, "next", 0, "next", "back");
  LiveNeed need = last_need(*state, &analysis, "next", 0);
  assert_int_equal(need.kind, LIVE_NEED_RETURNED);
  assert_ptr_equal(need.user, find_instruction(analysis.graph->module, "back"));
}

/* The condition stands before the body and runs after it, too. */
static void what_a_condition_reads_survives_the_body(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  expect_range(&analysis, "limit", 0, "zero", "back");
  LiveNeed need = last_need(*state, &analysis, "limit", 0);
  assert_ptr_equal(need.user, find_instruction(analysis.graph->module, "more"));
  assert_ptr_equal(need.loop, find_instruction(analysis.graph->module, "loop"));
  expect_range(&analysis, "s", 3, "s", "more");
  assert_int_equal(last_need(*state, &analysis, "s", 3).kind, LIVE_NEED_CONDITION);
}

static void what_a_body_reads_from_outside_lasts_through_all_rounds(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  LiveNeed need = last_need(*state, &analysis, "p", 0);
  assert_ptr_equal(need.user, find_instruction(analysis.graph->module, "y"));
  assert_ptr_equal(need.loop, find_instruction(analysis.graph->module, "loop"));
  assert_int_equal(need.operand, 1);
}

static void a_dead_value_is_there_while_it_is_made(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  expect_range(&analysis, "z", 0, "z", "z");
  assert_int_equal(
      hlo_liveness_needs(analysis.flow->arena, analysis.flow, analysis.ordering, value_of(&analysis, "z", 0)).count, 0);
}

/* One place: each value's range ends before the next one's begins, but for loop state that changes hands. */
static void the_ranges_of_a_set_are_a_chain(void **state) {
  BufferAnalysis analysis = analyse(*state, LOOP_TEXT);
  const HloAliasSet *set = &analysis.alias->sets[hlo_alias_set(analysis.alias, value_of(&analysis, "loop", 3))];
  static const char *const order[] = {"q", "s", "given", "y", "loop"};
  assert_int_equal(set->count, 5);
  for (int32_t i = 0; i < set->count; i++) {
    const HloValue *value = &analysis.flow->values[analysis.liveness->values[set->ranges[i]]];
    assert_true(sv_equal_cstring(value->definition.instruction->name, order[i]));
    if (i == 0) continue;
    assert_true(analysis.liveness->ranges[set->ranges[i - 1]].to <= analysis.liveness->ranges[set->ranges[i]].from);
  }
}

/* A use by a call is none; those inside count. */
static void a_call_uses_nothing_itself(void **state) {
  BufferAnalysis analysis = analyse(
      *state,
      "HloModule m, is_scheduled=true\n"
      "f {\n  a = f32[4] parameter(0)\n  b = f32[4] negate(a)\n  c = f32[4] sine(b)\n  ROOT d = f32[4] cosine(c)\n}\n"
      "ENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] reverse(p), dimensions={0}\n"
      "  ROOT y = f32[4] call(x), to_apply=f\n}\n");
  expect_range(&analysis, "x", 0, "x", "b");
  assert_ptr_equal(last_need(*state, &analysis, "x", 0).user, find_instruction(analysis.graph->module, "b"));
}

static void what_runs_asynchronously_lasts_to_its_end(void **state) {
  BufferAnalysis analysis = analyse(
      *state,
      "HloModule m, is_scheduled=true\n"
      "w {\n  a = f32[4] parameter(0)\n  b = f32[4] negate(a)\n  ROOT c = f32[4] reverse(b), dimensions={0}\n}\n"
      "ENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] sine(p)\n"
      "  begin = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n  y = f32[4] cosine(p)\n"
      "  end = f32[4] async-done(begin)\n  ROOT r = f32[4] add(end, y)\n}\n");
  expect_range(&analysis, "b", 0, "b", "end");
  assert_int_equal(last_need(*state, &analysis, "b", 0).kind, LIVE_NEED_ASYNC);
  expect_range(&analysis, "x", 0, "x", "end");
}

/* An asynchronous operation hands on what it makes: that is made anew in every round, and the loop does not come back
 * to the last one's. */
static void what_is_made_asynchronously_in_a_body_ends_in_its_round(void **state) {
  BufferAnalysis analysis = analyse(
      *state,
      "HloModule m, is_scheduled=true\n"
      "condition {\n  s = (s32[], f32[4]) parameter(0)\n  ci = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(9)\n  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"
      "w {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] reverse(a), dimensions={0}\n}\n"
      "body {\n  given = (s32[], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n"
      "  x = f32[4] get-tuple-element(given), index=1\n  begin = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n"
      "  end = f32[4] async-done(begin)\n  y = f32[4] reverse(end), dimensions={0}\n"
      "  z = f32[4] reverse(y), dimensions={0}\n  one = s32[] constant(1)\n  next = s32[] add(i, one)\n"
      "  ROOT back = (s32[], f32[4]) tuple(next, z)\n}\n"
      "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[4] parameter(0)\n  q = f32[4] negate(p)\n"
      "  init = (s32[], f32[4]) tuple(zero, q)\n"
      "  ROOT loop = (s32[], f32[4]) while(init), condition=condition, body=body\n}\n");
  expect_range(&analysis, "b", 0, "b", "y");
  assert_null(last_need(*state, &analysis, "b", 0).loop);
}

/* A result may begin where its operand ends if each element is read before it is written; otherwise that is a moment at
 * which both are there. */
static void ranges_that_touch_share_by_the_rule_alone(void **state) {
  BufferAnalysis analysis = analyse(*state,
                                    "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n"
                                    "  a = f32[4] sine(p)\n  b = f32[4] negate(a)\n"
                                    "  c = f32[4] reverse(b), dimensions={0}\n  d = f32[4] copy(c)\n"
                                    "  ROOT r = f32[4] cosine(d)\n}\n");
  int32_t a = value_of(&analysis, "a", 0), b = value_of(&analysis, "b", 0), c = value_of(&analysis, "c", 0),
          d = value_of(&analysis, "d", 0);
  assert_int_equal(analysis.liveness->hulls[a].to, analysis.liveness->hulls[b].from);
  assert_int_equal(analysis.liveness->hulls[b].to, analysis.liveness->hulls[c].from);
  assert_int_equal(hlo_alias_refusal_to_unite(analysis.alias, a, b).kind, ALIAS_GRANTED);
  assert_int_equal(hlo_alias_refusal_to_unite(analysis.alias, b, c).kind, ALIAS_OVERLAP);
  assert_int_equal(hlo_alias_refusal_to_unite(analysis.alias, c, d).kind, ALIAS_OVERLAP); /* never a copy */
}

/* It may be read again by the caller, so it lasts for ever: nothing is written there. */
static void an_argument_that_is_not_donated_is_never_overwritten(void **state) {
  static const char *const text =
      "ENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[4] sine(p)\n"
      "  b = f32[4] reverse(a), dimensions={0}\n  ROOT r = f32[4] reverse(b), dimensions={0}\n}\n";
  Fixture *fixture = *state;
  BufferAnalysis kept = analyse(fixture, arena_printf(fixture->arena, "HloModule m, is_scheduled=true\n%s", text));
  assert_int_equal(hlo_alias_refusal_to_unite(kept.alias, value_of(&kept, "p", 0), value_of(&kept, "b", 0)).kind,
                   ALIAS_READ_ONLY);
  BufferAnalysis donated = analyse(
      fixture, arena_printf(fixture->arena,
                            "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }\n%s", text));
  assert_int_equal(
      hlo_alias_refusal_to_unite(donated.alias, value_of(&donated, "p", 0), value_of(&donated, "a", 0)).kind,
      ALIAS_GRANTED);
}

/* Branches exclude one another: what both read, and nothing after them, is not there in between. */
static void branches_have_ranges_of_their_own(void **state) {
  BufferAnalysis analysis =
      analyse(*state,
              "HloModule m, is_scheduled=true\n"
              "b0 {\n  x0 = f32[4] parameter(0)\n  n0 = f32[4] negate(x0)\n  ROOT s0_ = f32[4] sine(n0)\n}\n"
              "b1 {\n  x1 = f32[4] parameter(0)\n  n1 = f32[4] negate(x1)\n  ROOT s1_ = f32[4] sine(n1)\n}\n"
              "ENTRY e {\n  k = pred[] parameter(0)\n  p = f32[4] parameter(1)\n  v = f32[4] cosine(p)\n"
              "  ROOT c = f32[4] conditional(k, v, v), true_computation=b0, false_computation=b1\n}\n");
  int32_t v = value_of(&analysis, "v", 0);
  assert_int_equal(analysis.liveness->first_ranges[v + 1] - analysis.liveness->first_ranges[v], 2);
  assert_int_equal(hlo_liveness_needs(analysis.flow->arena, analysis.flow, analysis.ordering, v).count, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(values_live_across_a_while_span_its_whole_body, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_initial_value_dies_when_the_loop_begins, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_root_extends_what_it_holds_to_the_end_of_its_computation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_a_condition_reads_survives_the_body, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_a_body_reads_from_outside_lasts_through_all_rounds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_dead_value_is_there_while_it_is_made, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_ranges_of_a_set_are_a_chain, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_call_uses_nothing_itself, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_runs_asynchronously_lasts_to_its_end, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_made_asynchronously_in_a_body_ends_in_its_round, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ranges_that_touch_share_by_the_rule_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_argument_that_is_not_donated_is_never_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(branches_have_ranges_of_their_own, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("hlo_liveness", tests, NULL, NULL);
}
