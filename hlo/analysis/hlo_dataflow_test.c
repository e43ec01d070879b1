#include "hlo/analysis/hlo_dataflow.h"

#include "hlo/analysis/analysis_testing.h"

static const HloDataflow *flow_of(Fixture *fixture, const char *text) {
  const CallGraph *graph;
  const HloSequence *sequences;
  HloModule *module = read_module(fixture, text);
  assert_int_equal(call_graph_build(fixture->arena, module, &fixture->diag, &graph), STATUS_OK);
  assert_int_equal(hlo_sequences(fixture->arena, graph, &fixture->diag, &sequences), STATUS_OK);
  return hlo_dataflow_build(fixture->arena, graph, sequences);
}

static const HloInstruction *find(const HloDataflow *flow, const char *name) {
  return find_instruction(flow->graph->module, name);
}

static int32_t value(const HloDataflow *flow, const char *name, int node) {
  return hlo_dataflow_value(flow, find(flow, name), node);
}

/* The instruction that makes what is seen at a position. */
static const char *maker(const HloDataflow *flow, const char *name, int node) {
  int32_t number = value(flow, name, node);
  if (number < 0) return "";
  StringView text = flow->values[number].definition.instruction->name;
  return arena_copy_string(flow->arena, text.data, text.size);
}

static void tuples_forward(void **state) {
  const HloDataflow *flow = flow_of(*state,
                                    "HloModule m\nENTRY e {\n"
                                    "  p = f32[4,2] parameter(0)\n  q = f32[8] parameter(1)\n"
                                    "  u = (f32[8]) tuple(q)\n  t = (f32[4,2], (f32[8])) tuple(p, u)\n"
                                    "  barrier = (f32[4,2], (f32[8])) opt-barrier(t)\n"
                                    "  inner = (f32[8]) get-tuple-element(barrier), index=1\n"
                                    "  g = f32[8] get-tuple-element(inner), index=0\n"
                                    "  a = f32[4,2] get-tuple-element(barrier), index=0\n"
                                    "  flat = f32[8] reshape(a)\n  cast = f32[2,4] bitcast(flat)\n"
                                    "  turned = f32[4,2] transpose(cast), dimensions={1,0}\n"
                                    "  c = f32[8] copy(flat)\n"
                                    "  ROOT r = (f32[8], f32[8], f32[4,2]) tuple(g, c, turned)\n}\n");
  assert_string_equal(maker(flow, "t", 1), "p");
  assert_string_equal(maker(flow, "t", 3), "q");
  assert_int_equal(value(flow, "t", 0), -1);
  assert_int_equal(value(flow, "t", 2), -1);
  assert_string_equal(maker(flow, "g", 0), "q");
  assert_string_equal(maker(flow, "flat", 0), "p");
  assert_string_equal(maker(flow, "cast", 0), "p");
  assert_string_equal(maker(flow, "turned", 0), "turned");
  assert_string_equal(maker(flow, "c", 0), "c");
  assert_int_equal(flow->value_count, 4);
  const HloValue *p = &flow->values[value(flow, "p", 0)];
  assert_int_equal(p->use_count, 2); /* transpose and copy; forwarding is no use */
  assert_int_equal(p->position_count, 6);
  assert_false(p->live_out);
  assert_true(flow->values[value(flow, "q", 0)].live_out);
}

#define LOOP_TEXT                                                                                           \
  "HloModule m\n"                                                                                           \
  "condition {\n  s = (s32[], f32[4], f32[4]) parameter(0)\n  ci = s32[] get-tuple-element(s), index=0\n"   \
  "  n = s32[] constant(3)\n  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"                         \
  "body {\n  given = (s32[], f32[4], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n" \
  "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  w = f32[4] get-tuple-element(given), index=1\n" \
  "  x = f32[4] get-tuple-element(given), index=2\n  y = f32[4] multiply(x, w)\n"                           \
  "  ROOT back = (s32[], f32[4], f32[4]) tuple(next, w, y)\n}\n"                                            \
  "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[4] parameter(0)\n  q = f32[4] negate(p)\n"              \
  "  init = (s32[], f32[4], f32[4]) tuple(zero, p, q)\n"                                                    \
  "  loop = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body\n"                          \
  "  ROOT r = f32[4] get-tuple-element(loop), index=2\n}\n"

static void while_joins_what_changes_and_passes_the_rest(void **state) {
  const HloDataflow *flow = flow_of(*state, LOOP_TEXT);
  const HloInstruction *loop = find(flow, "loop");
  assert_true(hlo_dataflow_is_carried(flow, loop, 1));
  assert_false(hlo_dataflow_is_carried(flow, loop, 2));
  assert_true(hlo_dataflow_is_carried(flow, loop, 3));
  assert_string_equal(maker(flow, "w", 0), "p");
  assert_string_equal(maker(flow, "loop", 2), "p");
  assert_string_equal(maker(flow, "x", 0), "given");
  assert_string_equal(maker(flow, "r", 0), "loop");
  assert_true(flow->values[value(flow, "loop", 3)].is_phi);
  assert_true(flow->values[value(flow, "s", 3)].is_phi);
}

static void nested_pass_through_is_one_value(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\n"
              "ic {\n  a = (pred[], f32[4]) parameter(0)\n  ROOT c = pred[] get-tuple-element(a), index=0\n}\n"
              "ib {\n  b = (pred[], f32[4]) parameter(0)\n  f = pred[] constant(false)\n  v = f32[4] "
              "get-tuple-element(b), index=1\n"
              "  ROOT t = (pred[], f32[4]) tuple(f, v)\n}\n"
              "oc {\n  d = (pred[], f32[4]) parameter(0)\n  ROOT h = pred[] get-tuple-element(d), index=0\n}\n"
              "ob {\n  k = (pred[], f32[4]) parameter(0)\n  in = (pred[], f32[4]) while(k), condition=ic, body=ib\n"
              "  ROOT o = (pred[], f32[4]) opt-barrier(in)\n}\n"
              "ENTRY e {\n  g = pred[] parameter(0)\n  p = f32[4] parameter(1)\n  init = (pred[], f32[4]) tuple(g, p)\n"
              "  out = (pred[], f32[4]) while(init), condition=oc, body=ob\n  ROOT r = f32[4] get-tuple-element(out), "
              "index=1\n}\n");
  assert_string_equal(maker(flow, "r", 0), "p");
  assert_string_equal(maker(flow, "v", 0), "p");
  assert_string_equal(maker(flow, "out", 1), "out");
}

static void conditional_joins_branches_that_differ(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\n"
              "b0 {\n  x0 = (f32[4], f32[4]) parameter(0)\n  first0 = f32[4] get-tuple-element(x0), index=0\n"
              "  v0 = f32[4] get-tuple-element(x0), index=1\n  ROOT t0 = (f32[4], f32[4]) tuple(first0, v0)\n}\n"
              "b1 {\n  x1 = (f32[4], f32[4]) parameter(0)\n  first1 = f32[4] get-tuple-element(x1), index=0\n"
              "  v1 = f32[4] get-tuple-element(x1), index=1\n  n1 = f32[4] negate(v1)\n  ROOT t1 = (f32[4], f32[4]) "
              "tuple(first1, n1)\n}\n"
              "ENTRY e {\n  s = s32[] parameter(0)\n  p = f32[4] parameter(1)\n  q = f32[4] parameter(2)\n  a = "
              "(f32[4], f32[4]) tuple(p, q)\n"
              "  ROOT c = (f32[4], f32[4]) conditional(s, a, a), branch_computations={b0, b1}\n}\n");
  assert_string_equal(maker(flow, "c", 1), "p");
  assert_string_equal(maker(flow, "c", 2), "c");
  assert_string_equal(maker(flow, "n1", 0), "n1");
  assert_string_equal(maker(flow, "v0", 0), "q");
}

static void calls_are_seen_through(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\n"
              "f {\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  n = f32[4] negate(b)\n  ROOT t = (f32[4], "
              "f32[4]) tuple(a, n)\n}\n"
              "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT c = (f32[4], f32[4]) call(p, p), to_apply=f\n}\n");
  assert_string_equal(maker(flow, "c", 1), "p");
  assert_string_equal(maker(flow, "c", 2), "n");
  assert_int_equal(flow->value_count, 2);
}

static void asynchronous_pairs_forward(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] negate(p)\n"
              "  s = (f32[4], f32[4], u32[]) copy-start(x)\n  y = f32[4] sine(p)\n  d = f32[4] copy-done(s)\n"
              "  ROOT r = f32[4] add(d, y)\n}\n");
  assert_string_equal(maker(flow, "s", 1), "s");
  assert_string_equal(maker(flow, "s", 2), "x");
  assert_string_equal(maker(flow, "s", 3), "s");
  assert_string_equal(maker(flow, "d", 0), "s");
  const HloValue *x = &flow->values[value(flow, "x", 0)];
  assert_int_equal(x->use_count, 2); /* the start, and the end until which it is read */
  assert_ptr_equal(x->uses[1].user, find(flow, "d"));
}

static void tokens_and_fused_instructions_have_no_values(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\n"
              "fused {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] negate(a)\n}\n"
              "ENTRY e {\n  p = f32[4] parameter(0)\n  k = token[] after-all()\n  d = f32[4] add-dependency(p, k)\n"
              "  ROOT f = f32[4] fusion(d), kind=kLoop, calls=fused\n}\n");
  assert_int_equal(value(flow, "k", 0), -1);
  assert_int_equal(value(flow, "b", 0), -1);
  assert_string_equal(maker(flow, "d", 0), "p");
  assert_int_equal(flow->value_count, 2);
}

/* The sources of a position: makers, in order of their numbers. */
static const char *sources(const HloDataflow *flow, const char *name, int node) {
  HloValueList list = hlo_dataflow_sources(flow, value(flow, name, node), flow->arena);
  StringBuilder text;
  sb_init(&text, flow->arena);
  for (int32_t i = 0; i < list.count; i++)
    sb_printf(&text, "%s%.*s", i ? " " : "", SV_ARG(flow->values[list.values[i]].definition.instruction->name));
  return text.data;
}

/* Corner cases of the analysis, one each. */

static void a_value_may_stand_at_several_indices_of_one_tuple(void **state) {
  const HloDataflow *flow = flow_of(*state,
                                    "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                                    "  ROOT r = (f32[4], f32[4]) tuple(n, n)\n}\n");
  assert_int_equal(flow->value_count, 2);
  assert_int_equal(flow->values[value(flow, "n", 0)].position_count, 3);
}

static void a_position_that_joins_values_is_ambiguous(void **state) {
  const HloDataflow *flow = flow_of(*state, LOOP_TEXT);
  assert_string_equal(sources(flow, "loop", 1), "next zero");
  assert_string_equal(sources(flow, "s", 3), "y q");
  assert_string_equal(sources(flow, "loop", 2), "p"); /* passed through */
  assert_string_equal(sources(flow, "y", 0), "y");
}

static void a_dead_value_is_a_value_without_uses(void **state) {
  const HloDataflow *flow = flow_of(*state,
                                    "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  dead = f32[4] negate(p)\n"
                                    "  ROOT r = f32[4] sine(p)\n}\n");
  const HloValue *dead = &flow->values[value(flow, "dead", 0)];
  assert_int_equal(dead->use_count, 0);
  assert_int_equal(dead->size, 16);
}

static void a_swap_in_a_loop_is_not_invariant(void **state) {
  const HloDataflow *flow = flow_of(
      *state,
      "HloModule m\n"
      "c {\n  s = (pred[], f32[4], f32[4]) parameter(0)\n  ROOT more = pred[] get-tuple-element(s), index=0\n}\n"
      "b {\n  g = (pred[], f32[4], f32[4]) parameter(0)\n  m = pred[] get-tuple-element(g), index=0\n"
      "  x = f32[4] get-tuple-element(g), index=1\n  y = f32[4] get-tuple-element(g), index=2\n"
      "  ROOT back = (pred[], f32[4], f32[4]) tuple(m, y, x)\n}\n"
      "ENTRY e {\n  k = pred[] parameter(0)\n  p = f32[4] parameter(1)\n  q = f32[4] parameter(2)\n"
      "  init = (pred[], f32[4], f32[4]) tuple(k, p, q)\n"
      "  ROOT loop = (pred[], f32[4], f32[4]) while(init), condition=c, body=b\n}\n");
  const HloInstruction *loop = find(flow, "loop");
  assert_false(hlo_dataflow_is_carried(flow, loop, 1));
  assert_true(hlo_dataflow_is_carried(flow, loop, 2));
  assert_true(hlo_dataflow_is_carried(flow, loop, 3));
  assert_string_equal(sources(flow, "x", 0), "p q"); /* either, depending on the round */
  assert_string_equal(sources(flow, "loop", 3), "p q");
}

static void a_body_whose_root_is_its_parameter_does_not_feed_itself(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\n"
              "c {\n  s = (pred[], f32[4]) parameter(0)\n  ROOT more = pred[] get-tuple-element(s), index=0\n}\n"
              "b {\n  ROOT g = (pred[], f32[4]) parameter(0)\n}\n"
              "ENTRY e {\n  k = pred[] parameter(0)\n  p = f32[4] parameter(1)\n  init = (pred[], f32[4]) tuple(k, p)\n"
              "  ROOT loop = (pred[], f32[4]) while(init), condition=c, body=b\n}\n");
  assert_int_equal(flow->value_count, 2);
  assert_string_equal(maker(flow, "g", 2), "p");
  assert_string_equal(maker(flow, "loop", 2), "p");
}

static void a_parameter_of_two_branches_is_one_value_with_two_uses(void **state) {
  const HloDataflow *flow = flow_of(*state,
                                    "HloModule m\n"
                                    "b0 {\n  x0 = f32[4] parameter(0)\n  ROOT n0 = f32[4] negate(x0)\n}\n"
                                    "b1 {\n  x1 = f32[4] parameter(0)\n  ROOT n1 = f32[4] sine(x1)\n}\n"
                                    "ENTRY e {\n  s = s32[] parameter(0)\n  p = f32[4] parameter(1)\n"
                                    "  ROOT c = f32[4] conditional(s, p, p), branch_computations={b0, b1}\n}\n");
  assert_string_equal(maker(flow, "x0", 0), "p");
  assert_string_equal(maker(flow, "x1", 0), "p");
  const HloValue *p = &flow->values[value(flow, "p", 0)];
  assert_int_equal(p->use_count, 2);
  assert_ptr_equal(p->uses[0].user, find(flow, "n0"));
  assert_ptr_equal(p->uses[1].user, find(flow, "n1"));
  assert_string_equal(sources(flow, "c", 0), "n0 n1");
}

static void the_size_of_what_a_bitcast_shows_is_the_values(void **state) {
  const HloDataflow *flow = flow_of(*state,
                                    "HloModule m\nENTRY e {\n  p = f32[6] parameter(0)\n  n = f32[6] negate(p)\n"
                                    "  ROOT b = f32[2,3] bitcast(n)\n}\n");
  const HloValue *seen = &flow->values[value(flow, "b", 0)];
  assert_ptr_equal(seen->definition.instruction, find(flow, "n"));
  assert_int_equal(seen->size, 24);
  assert_true(seen->live_out);
}

static void a_copy_of_a_tuple_is_shallow(void **state) {
  const HloDataflow *flow = flow_of(*state,
                                    "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                                    "  t = (f32[4]) tuple(n)\n  ROOT c = (f32[4]) copy(t)\n}\n");
  assert_string_equal(maker(flow, "c", 1), "n");
}

static void an_async_start_reads_its_operands_until_the_end(void **state) {
  const HloDataflow *flow =
      flow_of(*state,
              "HloModule m\n"
              "w {\n  a = f32[4] parameter(0)\n  ROOT s = f32[4] negate(a)\n}\n"
              "ENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] sine(p)\n"
              "  begin = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n"
              "  y = f32[4] cosine(p)\n  end = f32[4] async-done(begin)\n  ROOT r = f32[4] add(end, y)\n}\n");
  const HloValue *x = &flow->values[value(flow, "x", 0)];
  assert_ptr_equal(x->uses[x->use_count - 1].user, find(flow, "end"));
  assert_string_equal(maker(flow, "end", 0), "s");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tuples_forward, set_up, tear_down),
      cmocka_unit_test_setup_teardown(while_joins_what_changes_and_passes_the_rest, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nested_pass_through_is_one_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(conditional_joins_branches_that_differ, set_up, tear_down),
      cmocka_unit_test_setup_teardown(calls_are_seen_through, set_up, tear_down),
      cmocka_unit_test_setup_teardown(asynchronous_pairs_forward, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tokens_and_fused_instructions_have_no_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_value_may_stand_at_several_indices_of_one_tuple, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_position_that_joins_values_is_ambiguous, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_dead_value_is_a_value_without_uses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_swap_in_a_loop_is_not_invariant, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_body_whose_root_is_its_parameter_does_not_feed_itself, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_parameter_of_two_branches_is_one_value_with_two_uses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_size_of_what_a_bitcast_shows_is_the_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_copy_of_a_tuple_is_shallow, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_async_start_reads_its_operands_until_the_end, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("hlo_dataflow", tests, NULL, NULL);
}
