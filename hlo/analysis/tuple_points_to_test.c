/* Logical buffers and points-to sets, a row per opcode as XLA's TuplePointsToAnalysis has them. */
#include "hlo/analysis/tuple_points_to.h"

#include "hlo/analysis/analysis_testing.h"

static const TuplePointsTo *points_to_of(Fixture *fixture, const char *text) {
  const CallGraph *graph;
  const HloSequence *sequences;
  HloModule *module = read_module(fixture, text);
  assert_int_equal(call_graph_build(fixture->arena, module, &fixture->diag, &graph), STATUS_OK);
  assert_int_equal(hlo_sequences(fixture->arena, graph, &fixture->diag, &sequences), STATUS_OK);
  return tuple_points_to_build(fixture->arena, hlo_dataflow_build(fixture->arena, graph, sequences));
}

/* What every node of |name| points to, as "maker:node maker:node". */
static const char *sets(Fixture *fixture, const TuplePointsTo *points_to, const char *name) {
  const HloInstruction *instruction = find_instruction(fixture->module, name);
  StringBuilder text;
  sb_init(&text, fixture->arena);
  for (int node = 0; node < shape_node_count(instruction->shape); node++) {
    const BufferPosition *at = &tuple_points_to_buffer(points_to, instruction, node)->definition;
    sb_printf(&text, "%s%.*s:%d", node ? " " : "", SV_ARG(at->instruction->name), at->node);
  }
  return text.data;
}

static void check_sets(Fixture *fixture, const TuplePointsTo *points_to, const char *const (*rows)[2], size_t count) {
  for (size_t i = 0; i < count; i++) assert_string_equal(sets(fixture, points_to, rows[i][0]), rows[i][1]);
}

#define CHECK_SETS(fixture, points_to, rows) check_sets(fixture, points_to, rows, sizeof(rows) / sizeof((rows)[0]))

static void tuples_are_buffers_and_their_elements_are_the_operands(void **state) {
  const TuplePointsTo *points_to =
      points_to_of(*state,
                   "HloModule m\nENTRY e {\n  p = f32[4,2] parameter(0)\n  q = f32[8] parameter(1)\n"
                   "  k = f32[8] constant({1,2,3,4,5,6,7,8})\n  n = f32[8] negate(q)\n"
                   "  u = (f32[8], f32[8]) tuple(n, k)\n  t = (f32[4,2], (f32[8], f32[8])) tuple(p, u)\n"
                   "  shallow = (f32[4,2], (f32[8], f32[8])) copy(t)\n"
                   "  inner = (f32[8], f32[8]) get-tuple-element(shallow), index=1\n"
                   "  g = f32[8] get-tuple-element(inner), index=0\n  cast = f32[2,4] bitcast(g)\n"
                   "  barrier = (f32[8], f32[8]) opt-barrier(inner)\n  tok = token[] after-all()\n"
                   "  late = f32[8] add-dependency(g, tok)\n  deep = f32[8] copy(late)\n"
                   "  pair = (f32[8], f32[8], f32[2,4]) tuple(deep, deep, cast)\n"
                   "  ROOT r = ((f32[8], f32[8]), (f32[8], f32[8], f32[2,4])) tuple(barrier, pair)\n}\n");
  static const char *const rows[][2] = {{"p", "p:0"},
                                        {"k", "k:0"},
                                        {"n", "n:0"},
                                        {"u", "u:0 n:0 k:0"},
                                        {"t", "t:0 p:0 u:0 n:0 k:0"},
                                        {"shallow", "shallow:0 p:0 u:0 n:0 k:0"},
                                        {"inner", "u:0 n:0 k:0"},
                                        {"g", "n:0"},
                                        {"cast", "n:0"},
                                        {"barrier", "u:0 n:0 k:0"},
                                        {"tok", "tok:0"},
                                        {"late", "n:0"},
                                        {"deep", "deep:0"},
                                        {"r", "r:0 u:0 n:0 k:0 pair:0 deep:0 deep:0 n:0"}};
  CHECK_SETS(*state, points_to, rows);
}

static void what_control_flow_makes_is_its_own(void **state) {
  const TuplePointsTo *points_to =
      points_to_of(*state,
                   "HloModule m\n"
                   "f {\n  fa = f32[4] parameter(0)\n  ROOT ft = (f32[4], f32[4]) tuple(fa, fa)\n}\n"
                   "c {\n  ca = (pred[], f32[4]) parameter(0)\n  ROOT cg = pred[] get-tuple-element(ca), index=0\n}\n"
                   "b {\n  ba = (pred[], f32[4]) parameter(0)\n  ROOT br = (pred[], f32[4]) opt-barrier(ba)\n}\n"
                   "b0 {\n  ROOT x0 = f32[4] parameter(0)\n}\nb1 {\n  ROOT x1 = f32[4] parameter(0)\n}\n"
                   "ENTRY e {\n  p = f32[4] parameter(0)\n  s = pred[] parameter(1)\n"
                   "  called = (f32[4], f32[4]) call(p), to_apply=f\n  init = (pred[], f32[4]) tuple(s, p)\n"
                   "  loop = (pred[], f32[4]) while(init), condition=c, body=b\n"
                   "  chosen = f32[4] conditional(s, p, p), true_computation=b0, false_computation=b1\n"
                   "  ROOT r = ((f32[4], f32[4]), (pred[], f32[4]), f32[4]) tuple(called, loop, chosen)\n}\n");
  static const char *const rows[][2] = {{"called", "called:0 called:1 called:2"},
                                        {"loop", "loop:0 loop:1 loop:2"},
                                        {"chosen", "chosen:0"},
                                        {"ft", "ft:0 fa:0 fa:0"},
                                        {"ba", "ba:0 ba:1 ba:2"},
                                        {"br", "ba:0 ba:1 ba:2"},
                                        {"x1", "x1:0"}};
  CHECK_SETS(*state, points_to, rows);
}

static void asynchronous_pairs_keep_what_is_being_read(void **state) {
  const TuplePointsTo *points_to = points_to_of(
      *state,
      "HloModule m\n"
      "w {\n  wa = f32[4] parameter(0)\n  wb = f32[4] parameter(1)\n  ROOT ws = f32[4] add(wa, wb)\n}\n"
      "ENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] parameter(1)\n"
      "  cs = (f32[4], f32[4], u32[]) copy-start(p)\n  cd = f32[4] copy-done(cs)\n"
      "  gs = (f32[4], f32[4]) all-gather-start(p), dimensions={0}, replica_groups={}\n"
      "  gd = f32[4] all-gather-done(gs)\n"
      "  as = ((f32[4], f32[4]), f32[4], s32[]) async-start(p, q), calls=w\n"
      "  au = ((f32[4], f32[4]), f32[4], s32[]) async-update(as)\n  ad = f32[4] async-done(au)\n"
      "  tok = token[] after-all()\n"
      "  rs = (f32[4], u32[], token[]) recv(tok), channel_id=1\n  rd = (f32[4], token[]) recv-done(rs), "
      "channel_id=1\n"
      "  ss = (f32[4], u32[], token[]) send(p, tok), channel_id=2\n  sd = token[] send-done(ss), channel_id=2\n"
      "  ROOT r = (f32[4], f32[4], f32[4]) tuple(cd, gd, ad)\n}\n");
  static const char *const rows[][2] = {{"cs", "cs:0 cs:1 p:0 cs:3"},
                                        {"cd", "cs:1"},
                                        {"gs", "gs:0 p:0 gs:2"},
                                        {"gd", "gs:2"},
                                        {"as", "as:0 as:1 p:0 q:0 as:4 as:5"},
                                        {"au", "as:0 as:1 p:0 q:0 as:4 as:5"},
                                        {"ad", "as:4"},
                                        {"rs", "rs:0 rs:1 rs:2 rs:3"},
                                        {"rd", "rd:0 rs:1 rd:2"},
                                        {"ss", "ss:0 p:0 ss:2 ss:3"}};
  CHECK_SETS(*state, points_to, rows);
}

static void declared_aliases_are_the_operands(void **state) {
  const TuplePointsTo *points_to =
      points_to_of(*state,
                   "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                   "  ROOT c = (f32[4], f32[4]) custom-call(n, p), custom_call_target=\"f\", "
                   "output_to_operand_aliasing={{0}: (0, {})}\n}\n");
  static const char *const rows[][2] = {{"c", "c:0 n:0 c:2"}};
  CHECK_SETS(*state, points_to, rows);
  /* another question, another answer: the value there is the custom-call's */
  const HloInstruction *call = find_instruction(((Fixture *)*state)->module, "c");
  int32_t value = hlo_dataflow_value(points_to->flow, call, 1);
  assert_ptr_equal(points_to->flow->values[value].definition.instruction, call);
}

static void a_buffer_at_two_indices_is_not_distinct(void **state) {
  Fixture *fixture = *state;
  const TuplePointsTo *points_to =
      points_to_of(fixture,
                   "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                   "  twice = (f32[4], f32[4]) tuple(n, n)\n  once = (f32[4], f32[4]) tuple(n, p)\n"
                   "  ROOT r = ((f32[4], f32[4]), (f32[4], f32[4])) tuple(twice, once)\n}\n");
  assert_false(tuple_points_to_is_distinct(points_to, find_instruction(fixture->module, "twice")));
  assert_true(tuple_points_to_is_distinct(points_to, find_instruction(fixture->module, "once")));
  assert_false(tuple_points_to_is_distinct(points_to, find_instruction(fixture->module, "r")));
  const LogicalBuffer *n = tuple_points_to_buffer(points_to, find_instruction(fixture->module, "n"), 0);
  assert_int_equal(n->position_count, 7); /* n, twice twice, once, r three times */
  assert_string_equal(arena_printf(fixture->arena, "%.*s", SV_ARG(n->positions[0].instruction->name)), "n");
}

static void all_that_the_root_holds_may_live_out(void **state) {
  Fixture *fixture = *state;
  const TuplePointsTo *points_to =
      points_to_of(fixture,
                   "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                   "  s = f32[4] sine(n)\n  ROOT r = (f32[4], f32[4]) tuple(p, s)\n}\n");
  const bool *live_out = tuple_points_to_maybe_live_out(points_to, fixture->arena);
  static const char *const names[] = {"p", "n", "s", "r"};
  static const bool expected[] = {true, false, true, true};
  for (int i = 0; i < 4; i++) {
    const LogicalBuffer *buffer = tuple_points_to_buffer(points_to, find_instruction(fixture->module, names[i]), 0);
    assert_int_equal(live_out[buffer->id], expected[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tuples_are_buffers_and_their_elements_are_the_operands, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_control_flow_makes_is_its_own, set_up, tear_down),
      cmocka_unit_test_setup_teardown(asynchronous_pairs_keep_what_is_being_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(declared_aliases_are_the_operands, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_buffer_at_two_indices_is_not_distinct, set_up, tear_down),
      cmocka_unit_test_setup_teardown(all_that_the_root_holds_may_live_out, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("tuple_points_to", tests, NULL, NULL);
}
