/* Which buffers interfere under which order.  Expectations are those of XLA's BufferLiveness and HloOrdering tests, or
 * follow from what the orders are. */
#include "hlo/analysis/buffer_liveness.h"

#include "base/hash_map.h"
#include "hlo/analysis/analysis_testing.h"
#include "hlo/analysis/hlo_liveness.h"
#include "hlo/analysis/interference.h"

static BufferLiveness liveness_of(Fixture *fixture, const char *text, ExecutionOrderKind kind, int64_t streams) {
  const CallGraph *graph;
  const HloSequence *sequences;
  const ExecutionOrder *order;
  Arena *arena = fixture->arena;
  HloModule *module = read_module(fixture, text);
  assert_int_equal(call_graph_build(arena, module, &fixture->diag, &graph), STATUS_OK);
  assert_int_equal(hlo_sequences(arena, graph, &fixture->diag, &sequences), STATUS_OK);
  const HloDataflow *flow = hlo_dataflow_build(arena, graph, sequences);
  const HloOrdering *ordering = hlo_ordering_build(arena, graph, sequences);
  assert_int_equal(execution_order_build(arena, flow, ordering, kind, streams, &fixture->diag, &order), STATUS_OK);
  return buffer_liveness_build(arena, tuple_points_to_build(arena, flow), order);
}

static const LogicalBuffer *buffer(const BufferLiveness *liveness, const char *name, int node) {
  return tuple_points_to_buffer(liveness->points_to, find_instruction(liveness->points_to->flow->graph->module, name),
                                node);
}

/* Among |names|, all at node 0, exactly |pairs| interfere: "a-b c-d", in the order of |names|. */
static void expect_pairs(Fixture *fixture, const BufferLiveness *liveness, const char *const *names,
                         const char *pairs) {
  StringBuilder found;
  sb_init(&found, fixture->arena);
  for (int i = 0; names[i]; i++) {
    for (int k = i + 1; names[k]; k++) {
      const LogicalBuffer *a = buffer(liveness, names[i], 0), *b = buffer(liveness, names[k], 0);
      bool interfere = buffer_liveness_may_interfere(liveness, a, b);
      assert_int_equal(interfere, buffer_liveness_may_interfere(liveness, b, a));
      if (interfere) sb_printf(&found, "%s%s-%s", found.size ? " " : "", names[i], names[k]);
    }
  }
  sb_append_cstring(&found, "");
  assert_string_equal(found.size ? found.data : "", pairs);
}

static void elementwise_chain_shares_everything(void **state) {
  BufferLiveness liveness = liveness_of(*state,
                                        "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                                        "  x = f32[4] exponential(n)\n  ROOT l = f32[4] log(x)\n}\n",
                                        EXECUTION_DEPENDENCY, 0);
  expect_pairs(*state, &liveness, (const char *const[]){"p", "n", "x", "l", NULL}, "");
  assert_false(liveness.maybe_live_out[buffer(&liveness, "x", 0)->id]);
  assert_true(liveness.maybe_live_out[buffer(&liveness, "l", 0)->id]);
}

/* Reusing an operand's bytes at the instruction that reads it is a matter of the sharing rule alone. */
static void an_operand_read_in_another_order_is_not_overwritten(void **state) {
  BufferLiveness liveness =
      liveness_of(*state,
                  "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                  "  x = f32[4] exponential(n)\n  r = f32[4] reverse(x), dimensions={0}\n  ROOT l = f32[4] log(r)\n}\n",
                  EXECUTION_DEPENDENCY, 0);
  expect_pairs(*state, &liveness, (const char *const[]){"p", "n", "x", "r", "l", NULL}, "x-r");
  LivenessAnswer answer =
      buffer_liveness_strictly_before(&liveness, buffer(&liveness, "x", 0), buffer(&liveness, "r", 0));
  assert_int_equal(answer.rule, LIVENESS_READ_AT_ONCE);
}

#define TWO_ARGUMENTS                                                                         \
  "ENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n  q = f32[4] parameter(1)\n" \
  "  x = f32[4] exponential(q)\n  ROOT s = f32[4] add(n, x)\n}\n"

/* Arguments are there from the beginning, all of them. */
static void arguments_are_made_at_once(void **state) {
  static const char *const names[] = {"p", "q", "n", "x", "s", NULL};
  BufferLiveness liveness =
      liveness_of(*state, "HloModule m, is_scheduled=true\n" TWO_ARGUMENTS, EXECUTION_SEQUENTIAL, 0);
  expect_pairs(*state, &liveness, names, "p-q q-n n-x");
}

static void parallel_branches_of_the_graph_interfere_under_dependencies(void **state) {
  static const char *const names[] = {"p", "q", "n", "x", "s", NULL};
  BufferLiveness liveness = liveness_of(*state, "HloModule m\n" TWO_ARGUMENTS, EXECUTION_DEPENDENCY, 0);
  expect_pairs(*state, &liveness, names, "p-q p-x q-n n-x");
}

static void overlapped_buffers_interfere(void **state) {
  BufferLiveness liveness = liveness_of(*state,
                                        "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                                        "  x = f32[4] exponential(n)\n  ROOT s = f32[4] add(n, x)\n}\n",
                                        EXECUTION_DEPENDENCY, 0);
  expect_pairs(*state, &liveness, (const char *const[]){"p", "n", "x", "s", NULL}, "n-x");
}

static void a_root_that_is_not_last_interferes_with_what_follows(void **state) {
  BufferLiveness liveness =
      liveness_of(*state,
                  "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT s = f32[4] add(p, p)\n"
                  "  t = f32[4] negate(p)\n  u = f32[4] sine(t)\n}\n",
                  EXECUTION_SEQUENTIAL, 0);
  expect_pairs(*state, &liveness, (const char *const[]){"p", "s", "t", "u", NULL}, "p-s p-t p-u s-t s-u");
  LivenessAnswer answer =
      buffer_liveness_strictly_before(&liveness, buffer(&liveness, "s", 0), buffer(&liveness, "t", 0));
  assert_int_equal(answer.rule, LIVENESS_MADE_LATER);
}

static void elements_of_tuples_interfere_one_by_one(void **state) {
  static const char *const text =
      "HloModule m\nENTRY e {\n  t = (f32[8], f32[8]) parameter(0)\n  a = f32[8] get-tuple-element(t), index=0\n"
      "  k = f32[8] constant({1,1,1,1,1,1,1,1})\n  sum0 = f32[8] add(a, k)\n"
      "  b = f32[8] get-tuple-element(t), index=1\n  sum1 = f32[8] add(%s, b)\n"
      "  ROOT r = (f32[8], f32[8]) tuple(sum0, sum1)\n}\n";
  Fixture *fixture = *state;
  BufferLiveness apart = liveness_of(fixture, arena_printf(fixture->arena, text, "k"), EXECUTION_DEPENDENCY, 0);
  assert_false(buffer_liveness_may_interfere(&apart, buffer(&apart, "t", 1), buffer(&apart, "r", 1)));
  assert_false(buffer_liveness_may_interfere(&apart, buffer(&apart, "t", 2), buffer(&apart, "r", 2)));
  BufferLiveness joined = liveness_of(fixture, arena_printf(fixture->arena, text, "a"), EXECUTION_DEPENDENCY, 0);
  assert_true(buffer_liveness_may_interfere(&joined, buffer(&joined, "t", 1), buffer(&joined, "r", 1)));
  assert_false(buffer_liveness_may_interfere(&joined, buffer(&joined, "t", 2), buffer(&joined, "r", 2)));
}

/* The leaf is elsewhere, but get-tuple-element looks it up in the tuple's own node. */
static void get_tuple_element_keeps_the_tuple_node_alive(void **state) {
  BufferLiveness liveness =
      liveness_of(*state,
                  "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
                  "  t = (f32[4]) tuple(n)\n  x = f32[4] sine(p)\n  g = f32[4] get-tuple-element(t), index=0\n"
                  "  y = f32[4] cosine(x)\n  ROOT s = f32[4] add(g, y)\n}\n",
                  EXECUTION_SEQUENTIAL, 0);
  assert_true(buffer_liveness_may_interfere(&liveness, buffer(&liveness, "t", 0), buffer(&liveness, "x", 0)));
  assert_false(buffer_liveness_may_interfere(&liveness, buffer(&liveness, "t", 0), buffer(&liveness, "y", 0)));
}

static void a_value_without_uses_ends_where_it_is_made(void **state) {
  BufferLiveness liveness =
      liveness_of(*state,
                  "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n  dead = f32[4] sine(p)\n"
                  "  x = f32[4] negate(p)\n  ROOT y = f32[4] reverse(x), dimensions={0}\n}\n",
                  EXECUTION_SEQUENTIAL, 0);
  /* while it is made, what is read for it, and later, must not be overwritten */
  expect_pairs(*state, &liveness, (const char *const[]){"p", "dead", "x", "y", NULL}, "p-dead x-y");
}

static void everything_made_asynchronously_lasts_to_the_end(void **state) {
  BufferLiveness liveness = liveness_of(
      *state,
      "HloModule m, is_scheduled=true\n"
      "w {\n  a = f32[4] parameter(0)\n  b = f32[4] negate(a)\n  ROOT c = f32[4] reverse(b), dimensions={0}\n}\n"
      "ENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] sine(p)\n"
      "  begin = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n  y = f32[4] cosine(p)\n"
      "  end = f32[4] async-done(begin)\n  ROOT s = f32[4] add(end, y)\n}\n",
      EXECUTION_SEQUENTIAL, 0);
  LivenessAnswer answer =
      buffer_liveness_strictly_before(&liveness, buffer(&liveness, "b", 0), buffer(&liveness, "y", 0));
  assert_int_equal(answer.rule, LIVENESS_ASYNC);
  assert_true(buffer_liveness_may_interfere(&liveness, buffer(&liveness, "x", 0), buffer(&liveness, "y", 0)));
  assert_false(buffer_liveness_may_interfere(&liveness, buffer(&liveness, "b", 0), buffer(&liveness, "s", 0)));
}

/* --- orders --- */

#define LOOP_AND_BRANCHES                                                                                   \
  "HloModule m, is_scheduled=true\n"                                                                        \
  "c {\n  cs = (pred[], f32[4]) parameter(0)\n  cv = f32[4] get-tuple-element(cs), index=1\n"               \
  "  cl = f32[4] sine(cv)\n  ROOT cm = pred[] get-tuple-element(cs), index=0\n}\n"                          \
  "b {\n  bs = (pred[], f32[4]) parameter(0)\n  bm = pred[] get-tuple-element(bs), index=0\n"               \
  "  bv = f32[4] get-tuple-element(bs), index=1\n  bn = f32[4] negate(bv)\n  bx = f32[4] exponential(bn)\n" \
  "  ROOT br = (pred[], f32[4]) tuple(bm, bx)\n}\n"                                                         \
  "b0 {\n  x0 = f32[4] parameter(0)\n  y0 = f32[4] negate(x0)\n  ROOT z0 = f32[4] sine(y0)\n}\n"            \
  "b1 {\n  x1 = f32[4] parameter(0)\n  y1 = f32[4] cosine(x1)\n  ROOT z1 = f32[4] sine(y1)\n}\n"            \
  "ENTRY e {\n  k = pred[] parameter(0)\n  p = f32[4] parameter(1)\n  q = f32[4] negate(p)\n"               \
  "  init = (pred[], f32[4]) tuple(k, q)\n  loop = (pred[], f32[4]) while(init), condition=c, body=b\n"     \
  "  v = f32[4] get-tuple-element(loop), index=1\n"                                                         \
  "  d = f32[4] conditional(k, v, v), true_computation=b0, false_computation=b1\n  ROOT r = f32[4] negate(d)\n}\n"

static void instructions_of_different_computations_compare_as_their_callers_do(void **state) {
  Fixture *fixture = *state;
  BufferLiveness liveness = liveness_of(fixture, LOOP_AND_BRANCHES, EXECUTION_SEQUENTIAL, 0);
  static const struct {
    const char *a, *b;
    ExecutionConstraint expected;
  } rows[] = {{"q", "q", EXECUTION_SAME},
              {"q", "bn", EXECUTION_BEFORE_START},
              {"bn", "r", EXECUTION_BEFORE_START},
              {"r", "bn", EXECUTION_AFTER},
              {"cl", "bn", EXECUTION_BEFORE_END},
              {"bn", "cl", EXECUTION_AFTER},
              {"bn", "loop", EXECUTION_BEFORE_END},
              {"loop", "cl", EXECUTION_AFTER},
              {"y0", "y1", EXECUTION_EXCLUSIVE_BEFORE},
              {"z1", "x0", EXECUTION_EXCLUSIVE_AFTER},
              {"y1", "d", EXECUTION_BEFORE_END},
              {"d", "y0", EXECUTION_AFTER},
              {"bn", "y1", EXECUTION_BEFORE_START}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ExecutionConstraint found = execution_order_constraint(liveness.order, find_instruction(fixture->module, rows[i].a),
                                                           find_instruction(fixture->module, rows[i].b));
    if (found != rows[i].expected) fail_msg("%s to %s: %d", rows[i].a, rows[i].b, (int)found);
  }
}

/* What the condition is given goes on to the body, whatever the condition itself makes meanwhile. */
static void what_a_condition_sees_survives_it(void **state) {
  BufferLiveness liveness = liveness_of(*state, LOOP_AND_BRANCHES, EXECUTION_SEQUENTIAL, 0);
  assert_true(buffer_liveness_may_interfere(&liveness, buffer(&liveness, "cs", 2), buffer(&liveness, "cl", 0)));
  assert_true(buffer_liveness_may_interfere(&liveness, buffer(&liveness, "q", 0), buffer(&liveness, "bn", 0)));
}

/* y0 is before y1 and y1 before y0's successor's in no order that all three share: so pairs decide, not neighbours. */
static void strictly_before_is_not_transitive_across_branches(void **state) {
  BufferLiveness liveness = liveness_of(*state, LOOP_AND_BRANCHES, EXECUTION_SEQUENTIAL, 0);
  const LogicalBuffer *v = buffer(&liveness, "loop", 2), *y0 = buffer(&liveness, "y0", 0),
                      *y1 = buffer(&liveness, "y1", 0);
  assert_int_equal(buffer_liveness_strictly_before(&liveness, y0, y1).rule, LIVENESS_STRICTLY_BEFORE);
  /* the conditional reads v until it ends, so no branch may write over it, although it is made before both */
  assert_int_equal(buffer_liveness_strictly_before(&liveness, v, y0).rule, LIVENESS_READ_LATER);
  assert_int_equal(buffer_liveness_strictly_before(&liveness, v, y1).rule, LIVENESS_READ_LATER);
}

#define TWO_CHAINS                                                                                                  \
  "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[4] reverse(p), dimensions={0}\n" \
  "  b = f32[4] reverse(a), dimensions={0}\n  x = f32[4] sine(p)\n  y = f32[4] reverse(x), dimensions={0}\n"        \
  "  s = f32[4] add(b, y)\n  ROOT r = f32[4] reverse(s), dimensions={0}\n}\n"

static void what_may_run_at_once_on_streams_never_shares(void **state) {
  static const char *const names[] = {"a", "b", "x", "y", "s", NULL};
  BufferLiveness one = liveness_of(*state, TWO_CHAINS, EXECUTION_SEQUENTIAL, 0);
  expect_pairs(*state, &one, names, "a-b b-x b-y x-y");
  BufferLiveness two = liveness_of(*state, TWO_CHAINS, EXECUTION_CONCURRENT, 2);
  expect_pairs(*state, &two, names, "a-b a-x a-y b-x b-y x-y");
  const HloModule *module = ((Fixture *)*state)->module;
  assert_int_equal(two.order->streams[find_instruction(module, "b")->id], 0);
  assert_int_equal(two.order->streams[find_instruction(module, "x")->id], 1);
  assert_int_equal(two.order->streams[find_instruction(module, "y")->id], 1);
}

static void one_stream_is_the_schedule(void **state) {
  static const char *const names[] = {"a", "b", "x", "y", "s", NULL};
  BufferLiveness liveness = liveness_of(*state, TWO_CHAINS, EXECUTION_CONCURRENT, 1);
  expect_pairs(*state, &liveness, names, "a-b b-x b-y x-y");
}

static void control_flow_takes_all_streams(void **state) {
  Fixture *fixture = *state;
  BufferLiveness liveness =
      liveness_of(fixture,
                  "HloModule m\nf {\n  fa = f32[4] parameter(0)\n  ROOT fn = f32[4] negate(fa)\n}\n"
                  "ENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] parameter(1)\n  x = f32[4] sine(q)\n"
                  "  c = f32[4] call(p), to_apply=f\n  y = f32[4] cosine(q)\n"
                  "  ROOT r = (f32[4], f32[4], f32[4]) tuple(x, c, y)\n}\n",
                  EXECUTION_CONCURRENT, 3);
  const HloInstruction *call = find_instruction(fixture->module, "c");
  assert_int_not_equal(execution_order_constraint(liveness.order, find_instruction(fixture->module, "x"), call),
                       EXECUTION_UNORDERED);
  assert_int_not_equal(execution_order_constraint(liveness.order, find_instruction(fixture->module, "fn"),
                                                  find_instruction(fixture->module, "y")),
                       EXECUTION_UNORDERED);
  BufferLiveness dependency =
      liveness_of(fixture,
                  "HloModule m\nENTRY e {\n  q = f32[4] parameter(0)\n  x = f32[4] sine(q)\n  y = f32[4] cosine(q), "
                  "control-predecessors={x}\n  ROOT r = (f32[4], f32[4]) tuple(x, y)\n}\n",
                  EXECUTION_DEPENDENCY, 0);
  assert_true(execution_order_is_before(dependency.order, find_instruction(fixture->module, "x"),
                                        find_instruction(fixture->module, "y")));
}

/* --- what memory is planned with stays below --- */

/* Of a module without control flow: pairs that do not interfere have ranges that fit. */
static void ranges_of_a_schedule_are_within_what_interferes(void **state) {
  static const char *const texts[] = {
      TWO_CHAINS, "HloModule m, is_scheduled=true\n" TWO_ARGUMENTS,
      "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[4] parameter(0)\n"
      "  a = f32[4] sine(p)\n  b = f32[4] cosine(p)\n  c = (f32[4], f32[4]) tuple(a, b)\n"
      "  d = f32[4] get-tuple-element(c), index=1\n  ROOT e = f32[4] copy(d)\n}\n"};
  for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
    Fixture *fixture = *state;
    BufferLiveness liveness = liveness_of(fixture, texts[t], EXECUTION_SEQUENTIAL, 0);
    const HloDataflow *flow = liveness.points_to->flow;
    const HloLiveness *ranges = hlo_liveness_build(fixture->arena, flow, liveness.order->ordering);
    for (int32_t i = 0; i < flow->value_count; i++) {
      for (int32_t k = 0; k < flow->value_count; k++) {
        const BufferPosition *a = &flow->values[i].definition, *b = &flow->values[k].definition;
        if (i == k || buffer_liveness_may_interfere(
                          &liveness, tuple_points_to_buffer(liveness.points_to, a->instruction, a->node),
                          tuple_points_to_buffer(liveness.points_to, b->instruction, b->node)))
          continue;
        /* touching at one moment is what the sharing rule allows */
        assert_true(ranges->hulls[i].to <= ranges->hulls[k].from || ranges->hulls[k].to <= ranges->hulls[i].from);
      }
    }
  }
}

/* --- all pairs --- */

/* The sweep finds each pair that interferes, once, and no other. */
static void expect_sweep_to_find_all(Fixture *fixture, const BufferLiveness *liveness, const char *text) {
  const TuplePointsTo *points_to = liveness->points_to;
  int32_t buffer, total = points_to->buffer_count;
  bool *found = ARENA_NEW_ARRAY(fixture->arena, bool, (int64_t)total *total + 1);
  InterferenceSweep *sweep = interference_sweep_begin(fixture->arena, liveness);
  const int32_t *others;
  int64_t count;
  while (interference_sweep_next(sweep, &buffer, &others, &count)) {
    for (int64_t i = 0; i < count; i++) {
      assert_true(i == 0 || others[i - 1] < others[i]);
      assert_false(found[buffer * total + others[i]]);
      found[buffer * total + others[i]] = found[others[i] * total + buffer] = true;
    }
  }
  for (int32_t i = 0; i < total; i++) {
    for (int32_t k = 0; k < i; k++) {
      if (found[i * total + k] !=
          buffer_liveness_may_interfere(liveness, &points_to->buffers[i], &points_to->buffers[k]))
        fail_msg("%d and %d, order %d, of\n%s", (int)k, (int)i, (int)liveness->order->kind, text);
    }
  }
}

static void expect_sweeps_to_find_all(Fixture *fixture, const char *text) {
  static const ExecutionOrderKind kinds[] = {EXECUTION_DEPENDENCY, EXECUTION_SEQUENTIAL, EXECUTION_CONCURRENT};
  for (int i = 0; i < 3; i++) {
    BufferLiveness liveness = liveness_of(fixture, text, kinds[i], kinds[i] == EXECUTION_CONCURRENT ? 2 : 0);
    expect_sweep_to_find_all(fixture, &liveness, text);
  }
}

/* Asynchronous code, which may write until the end that another computation's reader waits for. */
static const char read_after_the_end[] =
    "HloModule m, is_scheduled=true\n"
    "w {\n  a = f32[4] parameter(0)\n  b = f32[4] negate(a)\n  ROOT c = f32[4] reverse(b), dimensions={0}\n}\n"
    "ENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] sine(p)\n"
    "  begin = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n  y = f32[4] cosine(p)\n  z = f32[4] sine(y)\n"
    "  end = f32[4] async-done(begin)\n  ROOT s = f32[4] add(end, z)\n}\n";

/* What runs after the start may still write when something after it in the sequence, but not the end, is done. */
static const char made_after_the_start[] =
    "HloModule m, is_scheduled=true\n"
    "w {\n  a = f32[4] parameter(0)\n  b = f32[4] negate(a)\n  ROOT c = f32[4] reverse(b), dimensions={0}\n}\n"
    "ENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[4] sine(p)\n"
    "  begin = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n  end = f32[4] async-done(begin)\n"
    "  y = f32[4] cosine(p), control-predecessors={begin}\n  ROOT s = f32[4] add(end, y)\n}\n";

static const char roots_that_are_not_last[] =
    "HloModule m, is_scheduled=true\n"
    "f {\n  a = f32[4] parameter(0)\n  b = f32[4] negate(a)\n  ROOT c = f32[4] sine(b)\n  d = f32[4] sine(c)\n}\n"
    "ENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] negate(p)\n  ROOT r = f32[4] call(q), to_apply=f\n"
    "  t = f32[4] negate(p)\n  u = f32[4] sine(t)\n}\n";

static const char parameters_in_the_middle[] =
    "HloModule m, is_scheduled=true\nENTRY e {\n  k = f32[4] constant({1,2,3,4})\n  p = f32[4] parameter(0)\n"
    "  x = f32[4] negate(p)\n  q = f32[4] parameter(1)\n  y = f32[4] add(x, k)\n  ROOT r = f32[4] add(y, q)\n}\n";

static void all_pairs_of_loops_branches_and_asynchronous_code_are_found(void **state) {
  const char *const texts[] = {LOOP_AND_BRANCHES,       TWO_CHAINS,           "HloModule m\n" TWO_ARGUMENTS,
                               read_after_the_end,      made_after_the_start, roots_that_are_not_last,
                               parameters_in_the_middle};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) expect_sweeps_to_find_all(*state, texts[i]);
}

static int draw(uint64_t *random, int below) {
  return (int)(hash_u64((*random)++ * UINT64_C(0x9e3779b97f4a7c15)) % (uint64_t)below);
}

static void all_pairs_of_random_graphs_are_found(void **state) {
  static const char *const forms[] = {"negate(v%d)", "reverse(v%d), dimensions={0}", "add(v%d, v%d)",
                                      "tuple(v%d, v%d)"};
  Fixture *fixture = *state;
  uint64_t random = 1;
  for (int round = 0; round < 60; round++) {
    StringBuilder text;
    sb_init(&text, fixture->arena);
    sb_append_cstring(&text, "HloModule m, is_scheduled=true\nENTRY e {\n  v0 = f32[4] parameter(0)\n");
    int tuple = 0; /* an instruction that is a tuple */
    for (int i = 1; i < 24; i++) {
      int a = draw(&random, i), b = draw(&random, i), form = draw(&random, 4);
      if (tuple > 0 && (a == tuple || b == tuple || i == tuple + 1)) {
        sb_printf(&text, "  v%d = f32[4] get-tuple-element(v%d), index=%d\n", i, tuple, form % 2);
        continue;
      }
      if (form == 3 && tuple == 0)
        tuple = i;
      else if (form == 3)
        form = 2;
      sb_printf(&text, "  %sv%d = %s ", i == 20 ? "ROOT " : "", i, form == 3 ? "(f32[4], f32[4])" : "f32[4]");
      sb_printf(&text, forms[form], a, b);
      sb_append_char(&text, '\n');
    }
    sb_append_cstring(&text, "}\n");
    expect_sweeps_to_find_all(fixture, text.data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(elementwise_chain_shares_everything, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_operand_read_in_another_order_is_not_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(arguments_are_made_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(parallel_branches_of_the_graph_interfere_under_dependencies, set_up, tear_down),
      cmocka_unit_test_setup_teardown(overlapped_buffers_interfere, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_root_that_is_not_last_interferes_with_what_follows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(elements_of_tuples_interfere_one_by_one, set_up, tear_down),
      cmocka_unit_test_setup_teardown(get_tuple_element_keeps_the_tuple_node_alive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_value_without_uses_ends_where_it_is_made, set_up, tear_down),
      cmocka_unit_test_setup_teardown(everything_made_asynchronously_lasts_to_the_end, set_up, tear_down),
      cmocka_unit_test_setup_teardown(instructions_of_different_computations_compare_as_their_callers_do, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(what_a_condition_sees_survives_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(strictly_before_is_not_transitive_across_branches, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_may_run_at_once_on_streams_never_shares, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_stream_is_the_schedule, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control_flow_takes_all_streams, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ranges_of_a_schedule_are_within_what_interferes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(all_pairs_of_loops_branches_and_asynchronous_code_are_found, set_up, tear_down),
      cmocka_unit_test_setup_teardown(all_pairs_of_random_graphs_are_found, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("buffer_liveness", tests, NULL, NULL);
}
