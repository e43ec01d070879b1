/* Every mutant of a good plan that breaks it must be refused. */
#include <string.h>

#include "hlo/analysis/analysis_testing.h"
#include "hlo/analysis/buffer_assignment.h"
#include "hlo/analysis/plan_mutants_testing.h"
#include "passes/pipeline/hlo_pass_pipeline.h"

static void plan_by(Fixture *fixture, const char *text, StringView passes, const HloPassOptions *pass_options) {
  bool changed;
  HloPassPipeline *pipeline;
  HloPipelineOptions options = {.verify = true, .pass_options = *pass_options};
  read_module(fixture, text);
  assert_int_equal(hlo_pipeline_from_names(fixture->arena, passes, &fixture->diag, &pipeline), STATUS_OK);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, fixture->module, &options, &fixture->diag, &changed), STATUS_OK);
  fixture->assignment = hlo_pass_pipeline_assignment(pipeline);
  assert_int_equal(buffer_assignment_verify(fixture->assignment, fixture->module, &fixture->diag), STATUS_OK);
}

static void plan(Fixture *fixture, const char *text) {
  plan_by(fixture, text, SV("copy-insertion,scheduler,buffer-assignment"), &(HloPassOptions){0});
}

static void expect_refused(Fixture *fixture, const char *code) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  assert_int_equal(buffer_assignment_verify(fixture->assignment, fixture->module, &diag), STATUS_INVALID);
  bool found = false;
  for (const Diagnostic *at = diag.first; at; at = at->next) found |= strcmp(at->code, code) == 0;
  if (!found) fail_msg("refused by '%s' instead of '%s'", diag.first->code, code);
}

static HloBuffer *buffer_of(Fixture *fixture, const char *name, int node) {
  for (int32_t i = 0; i < fixture->assignment->value_count; i++) {
    const HloValue *value = &fixture->assignment->values[i];
    if (sv_equal_cstring(value->definition.instruction->name, name) && value->definition.node == node)
      return &fixture->assignment->buffers[value->buffer];
  }
  fail_msg("no value '%s'", name);
  return NULL;
}

#define CHAIN_TEXT                                                                   \
  "HloModule m\nENTRY e {\n  p = f32[16,16] parameter(0)\n"                          \
  "  a = f32[16,16] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" \
  "  b = f32[16,16] dot(a, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" \
  "  ROOT c = f32[16,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"

static void verify_refuses_overlapping_temporaries(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  HloBuffer *a = buffer_of(fixture, "a", 0), *b = buffer_of(fixture, "b", 0);
  b->offset = a->offset;
  b->allocation = a->allocation;
  expect_refused(fixture, "plan-overlap");
}

static void verify_refuses_a_shifted_offset(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  HloBuffer *a = buffer_of(fixture, "a", 0), *b = buffer_of(fixture, "b", 0);
  (a->offset < b->offset ? a : b)->offset += 64;
  expect_refused(fixture, "plan-overlap");
}

static void verify_refuses_leaving_the_allocation(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  buffer_of(fixture, "b", 0)->offset = fixture->assignment->workspace_bytes;
  expect_refused(fixture, "plan-bounds");
}

static void verify_refuses_misalignment(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  fixture->assignment->allocations[buffer_of(fixture, "b", 0)->allocation].size += 64;
  buffer_of(fixture, "b", 0)->offset += 2;
  expect_refused(fixture, "plan-alignment");
}

static void verify_refuses_writing_an_argument(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  HloBuffer *a = buffer_of(fixture, "a", 0);
  a->allocation = buffer_of(fixture, "p", 0)->allocation;
  a->offset = 0;
  a->alignment = 4;
  expect_refused(fixture, "plan-read-only");
}

static void verify_refuses_a_result_elsewhere(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  HloBuffer *c = buffer_of(fixture, "c", 0), *b = buffer_of(fixture, "b", 0);
  c->allocation = b->allocation;
  c->offset = b->offset;
  expect_refused(fixture, "plan-result");
}

static void verify_refuses_overwriting_what_is_read_at_once(void **state) {
  Fixture *fixture = *state;
  plan(fixture, CHAIN_TEXT);
  HloBuffer *b = buffer_of(fixture, "b", 0), *c = buffer_of(fixture, "c", 0);
  b->allocation = c->allocation;
  b->offset = 0;
  b->alignment = 4;
  expect_refused(fixture, "plan-share");
}

/* "t" and "kept" are products of the fixed "w" alone. */
static void plan_prepared(Fixture *fixture) {
  static const StringView fixed[] = {{"w", 1}};
  plan_by(fixture,
          "HloModule m\nENTRY e {\n  p = f32[16,16] parameter(0)\n  w = f32[16,16] parameter(1)\n"
          "  t = f32[16,16] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "  kept = f32[16,16] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "  a = f32[16,16] dot(p, kept), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "  ROOT c = f32[16,16] dot(a, kept), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
          SV("prepare,copy-insertion,scheduler,buffer-assignment"),
          &(HloPassOptions){.fixed_count = 1, .fixed = fixed});
  assert_int_equal(fixture->assignment->allocations[buffer_of(fixture, "kept.1", 0)->allocation].kind,
                   ALLOCATION_PREPARED);
  assert_int_equal(fixture->assignment->prepared_bytes, 1024);
}

static void move_to(Fixture *fixture, const char *name, const char *other) {
  HloBuffer *buffer = buffer_of(fixture, name, 0);
  buffer->allocation = buffer_of(fixture, other, 0)->allocation;
  buffer->offset = 0;
  buffer->alignment = 4;
}

static void verify_refuses_a_run_in_what_is_prepared(void **state) {
  Fixture *fixture = *state;
  plan_prepared(fixture);
  move_to(fixture, "a", "kept.1");
  expect_refused(fixture, "plan-preparation");
}

/* Before any run there are no results. */
static void verify_refuses_what_is_prepared_in_a_result(void **state) {
  Fixture *fixture = *state;
  plan_prepared(fixture);
  move_to(fixture, "t.1", "c");
  expect_refused(fixture, "plan-preparation");
}

#define LOOP_TEXT                                                                                                  \
  "HloModule m\n"                                                                                                  \
  "condition {\n  s = (s32[], f32[64]) parameter(0)\n  ci = s32[] get-tuple-element(s), index=0\n  n = s32[] "     \
  "constant(3)\n"                                                                                                  \
  "  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"                                                         \
  "body {\n  given = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n  one = s32[] " \
  "constant(1)\n"                                                                                                  \
  "  next = s32[] add(i, one)\n  x = f32[64] get-tuple-element(given), index=1\n  t = f32[64] reverse(x), "        \
  "dimensions={0}\n"                                                                                               \
  "  y = f32[64] add(x, t)\n  ROOT back = (s32[], f32[64]) tuple(next, y)\n}\n"                                    \
  "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[64] parameter(0)\n  outside = f32[64] reverse(p), "            \
  "dimensions={0}\n"                                                                                               \
  "  q = f32[64] negate(p)\n  init = (s32[], f32[64]) tuple(zero, q)\n"                                            \
  "  loop = (s32[], f32[64]) while(init), condition=condition, body=body\n  g = f32[64] get-tuple-element(loop), " \
  "index=1\n"                                                                                                      \
  "  ROOT r = f32[64] subtract(g, outside)\n}\n"

/* A value of its own for |name|: taken out of its buffer and put into a new one. */
static HloBuffer *part(Fixture *fixture, const char *name, int node) {
  BufferAssignment *assignment = fixture->assignment;
  HloBuffer *old = buffer_of(fixture, name, node);
  HloBuffer *buffers = ARENA_NEW_ARRAY(fixture->arena, HloBuffer, assignment->buffer_count + 1);
  memcpy(buffers, assignment->buffers, (size_t)assignment->buffer_count * sizeof(HloBuffer));
  buffers[assignment->buffer_count] = *old;
  for (int32_t i = 0; i < assignment->value_count; i++) {
    HloValue *value = &assignment->values[i];
    if (sv_equal_cstring(value->definition.instruction->name, name) && value->definition.node == node)
      value->buffer = assignment->buffer_count;
  }
  assignment->buffers = buffers;
  return &buffers[assignment->buffer_count++];
}

/* The first temporary allocation, with |room| bytes more at its end; returns where those begin. */
static int64_t make_room(Fixture *fixture, int32_t *out_allocation, int64_t room) {
  for (int32_t i = 0; i < fixture->assignment->allocation_count; i++) {
    BufferAllocation *allocation = &fixture->assignment->allocations[i];
    if (allocation->kind != ALLOCATION_TEMP) continue;
    int64_t end = (allocation->size + 63) / 64 * 64;
    allocation->size = end + room;
    fixture->assignment->workspace_bytes = allocation->workspace_offset + allocation->size;
    *out_allocation = i;
    return end;
  }
  fail_msg("no temporaries");
  return 0;
}

static void move_out(Fixture *fixture, const char *name, int node) {
  HloBuffer *alone = part(fixture, name, node);
  alone->offset = make_room(fixture, &alone->allocation, 256);
}

static void verify_refuses_loop_state_in_two_places(void **state) {
  Fixture *fixture = *state;
  static const struct {
    const char *name;
    int node;
  } members[] = {{"q", 0}, {"s", 2}, {"given", 2}, {"y", 0}, {"loop", 2}};
  for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
    plan(fixture, LOOP_TEXT);
    move_out(fixture, members[i].name, members[i].node);
    expect_refused(fixture, "plan-alias");
  }
}

static void verify_refuses_overwriting_what_the_next_round_reads(void **state) {
  Fixture *fixture = *state;
  plan(fixture,
       "HloModule m\n"
       "condition {\n  s = (s32[], f32[64], f32[64]) parameter(0)\n  ci = s32[] get-tuple-element(s), index=0\n  n = "
       "s32[] constant(3)\n"
       "  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"
       "body {\n  given = (s32[], f32[64], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n  one "
       "= s32[] constant(1)\n"
       "  next = s32[] add(i, one)\n  x = f32[64] get-tuple-element(given), index=1\n  w = f32[64] "
       "get-tuple-element(given), index=2\n"
       "  u = f32[64] multiply(x, w)\n  t = f32[64] reverse(u), dimensions={0}\n  y = f32[64] add(u, t)\n"
       "  ROOT back = (s32[], f32[64], f32[64]) tuple(next, y, w)\n}\n"
       "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[64] parameter(0)\n  weights = f32[64] reverse(p), "
       "dimensions={0}\n"
       "  q = f32[64] negate(p)\n  init = (s32[], f32[64], f32[64]) tuple(zero, q, weights)\n"
       "  loop = (s32[], f32[64], f32[64]) while(init), condition=condition, body=body\n"
       "  ROOT g = f32[64] get-tuple-element(loop), index=1\n}\n");
  /* 't' is made when this round has read the weights for the last time */
  HloBuffer *weights = buffer_of(fixture, "weights", 0), *t = buffer_of(fixture, "t", 0);
  t->allocation = weights->allocation;
  t->offset = weights->offset;
  t->alignment = weights->alignment;
  expect_refused(fixture, "plan-overlap");
}

static void verify_refuses_an_update_elsewhere(void **state) {
  Fixture *fixture = *state;
  plan(fixture,
       "HloModule m\nENTRY e {\n  p = f32[64] parameter(0)\n  u = f32[4] parameter(1)\n  i = s32[] parameter(2)\n  x = "
       "f32[64] negate(p)\n"
       "  d = f32[64] dynamic-update-slice(x, u, i)\n  r = f32[64] reverse(d), dimensions={0}\n"
       "  s = f32[64] reverse(r), dimensions={0}\n  ROOT o = f32[64] subtract(s, d)\n}\n");
  move_out(fixture, "x", 0);
  expect_refused(fixture, "plan-alias");
}

static void verify_refuses_dropped_donation(void **state) {
  Fixture *fixture = *state;
  plan(fixture,
       "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = "
       "f32[4] negate(p)\n}\n");
  assert_int_equal(fixture->assignment->aliased_bytes, 16);
  fixture->assignment->allocations[buffer_of(fixture, "p", 0)->allocation].result = -1;
  expect_refused(fixture, "plan-donation");
}

static void verify_refuses_another_constant(void **state) {
  Fixture *fixture = *state;
  plan(fixture,
       "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[4] constant({1,2,3,4})\n  b = f32[4] "
       "constant({1,2,3,5})\n"
       "  s = f32[4] add(p, a)\n  ROOT r = f32[4] add(s, b)\n}\n");
  buffer_of(fixture, "b", 0)->allocation = buffer_of(fixture, "a", 0)->allocation;
  expect_refused(fixture, "plan-constant");
}

/* --- every mutant of a kind --- */

static bool is_refused(Fixture *fixture) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  return buffer_assignment_verify(fixture->assignment, fixture->module, &diag) == STATUS_INVALID;
}

/* Drops each interference in turn: two buffers that are alive together get the same bytes.  How many there were. */
static int refuse_every_dropped_interference(Fixture *fixture) {
  BufferAssignment *assignment = fixture->assignment;
  int mutants = 0;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    for (int32_t k = 0; k < assignment->buffer_count; k++) {
      HloBuffer *a = &assignment->buffers[i], *b = &assignment->buffers[k];
      if (i == k || !is_placed_freely(assignment, a) || !is_placed_freely(assignment, b) || b->size > a->size) continue;
      if (!are_alive_together(assignment, a, b)) continue;
      HloBuffer kept = *b;
      place_over(b, a);
      mutants++;
      if (!is_refused(fixture)) {
        const HloInstruction *of_a = assignment->values[a->values[0]].definition.instruction;
        const HloInstruction *of_b = assignment->values[b->values[0]].definition.instruction;
        fail_msg("'%.*s' over '%.*s' is accepted", SV_ARG(of_b->name), SV_ARG(of_a->name));
      }
      *b = kept;
    }
  }
  assert_int_equal(buffer_assignment_verify(assignment, fixture->module, &fixture->diag), STATUS_OK);
  return mutants;
}

/* Moves each buffer in turn so far that its last element lies on the first one of another that is alive with it, or its
 * first on the last. */
static int refuse_every_moved_offset(Fixture *fixture) {
  BufferAssignment *assignment = fixture->assignment;
  int mutants = 0;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    for (int32_t k = 0; k < 2 * assignment->buffer_count; k++) {
      HloBuffer *a = &assignment->buffers[i], *b = &assignment->buffers[k / 2];
      if (a == b || !is_placed_freely(assignment, a) || !is_placed_freely(assignment, b)) continue;
      HloBuffer kept = *b;
      if (!are_alive_together(assignment, a, b) || !place_at_edge(assignment, b, a, k % 2)) continue;
      mutants++;
      if (!is_refused(fixture)) fail_msg("buffer %d is accepted on the edge of buffer %d", k / 2, i);
      *b = kept;
    }
  }
  return mutants;
}

static const HloInstruction *last_reader(const HloValue *value) {
  const HloInstruction *last = NULL;
  for (int32_t i = 0; i < value->use_count; i++) last = value->uses[i].user;
  return last;
}

/* Shortens each range in turn by its last position: what is made there, by the last reader, gets the bytes.  Only where
 * that reads the one in another order than it writes the other. */
static int refuse_every_shortened_range(Fixture *fixture) {
  BufferAssignment *assignment = fixture->assignment;
  int mutants = 0;
  for (int32_t i = 0; i < assignment->value_count; i++) {
    for (int32_t k = 0; k < assignment->value_count; k++) {
      const HloValue *value = &assignment->values[i], *next = &assignment->values[k];
      HloBuffer *a = &assignment->buffers[value->buffer], *b = &assignment->buffers[next->buffer];
      const HloInstruction *reader = last_reader(value);
      if (a == b || !reader || next->definition.instruction != reader || value->live_to != next->live_from) continue;
      if (!is_placed_freely(assignment, a) || !is_placed_freely(assignment, b) || b->size > a->size) continue;
      if (reader->opcode != HLO_REVERSE && reader->opcode != HLO_DOT) continue;
      HloBuffer kept = *b;
      place_over(b, a);
      mutants++;
      if (!is_refused(fixture)) fail_msg("'%.*s' may overwrite what it reads", SV_ARG(reader->name));
      *b = kept;
    }
  }
  return mutants;
}

#define REVERSE(to, from) "  " to " = f32[64] reverse(" from "), dimensions={0}\n"

/* Values of many ages, some across a loop whose body has its own; none fits the result. */
#define MANY_TEXT \
  "HloModule m\n"                                                                                                      \
  "condition {\n  s = (s32[], f32[64]) parameter(0)\n  ci = s32[] get-tuple-element(s), index=0\n  n = s32[] "         \
  "constant(3)\n  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"                                               \
  "body {\n  given = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n  one = s32[] "    \
  "constant(1)\n  next = s32[] add(i, one)\n  x = f32[64] get-tuple-element(given), index=1\n" REVERSE("t", "x")      \
      REVERSE("u", "t") REVERSE("w", "u")                                                                              \
  "  z = f32[64] add(t, w)\n  y = f32[64] add(x, z)\n  ROOT back = (s32[], f32[64]) tuple(next, y)\n}\n"              \
  "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[64] parameter(0)\n" REVERSE("a", "p") REVERSE("b", "a")           \
      REVERSE("c", "b") REVERSE("d", "c")                                                                              \
  "  q = f32[64] negate(a)\n  init = (s32[], f32[64]) tuple(zero, q)\n"                                               \
  "  loop = (s32[], f32[64]) while(init), condition=condition, body=body\n  g = f32[64] get-tuple-element(loop), "     \
  "index=1\n" REVERSE("h", "g") REVERSE("k", "h")                                                                      \
  "  l = f32[64] add(k, d)\n  m = f32[64] add(h, c)\n" REVERSE("o", "l") "  r0 = f32[64] add(o, m)\n"                  \
  REVERSE("v", "r0")                                                                                                   \
  "  s = f32[64] subtract(v, b)\n  ROOT r = f32[8] slice(s), slice={[0:8]}\n}\n"

static const char *const mutated[] = {CHAIN_TEXT, LOOP_TEXT, MANY_TEXT};

static void verify_refuses_every_dropped_interference(void **state) {
  int mutants = 0;
  for (size_t i = 0; i < sizeof(mutated) / sizeof(mutated[0]); i++) {
    plan(*state, mutated[i]);
    mutants += refuse_every_dropped_interference(*state);
  }
  assert_true(mutants >= 20);
}

static void verify_refuses_every_shortened_range(void **state) {
  int mutants = 0;
  for (size_t i = 0; i < sizeof(mutated) / sizeof(mutated[0]); i++) {
    plan(*state, mutated[i]);
    mutants += refuse_every_shortened_range(*state);
  }
  assert_true(mutants >= 3); /* of: u and w, loop and h, c and d, l and o */
}

static void verify_refuses_every_moved_offset(void **state) {
  int mutants = 0;
  for (size_t i = 0; i < sizeof(mutated) / sizeof(mutated[0]); i++) {
    plan(*state, mutated[i]);
    mutants += refuse_every_moved_offset(*state);
  }
  assert_true(mutants >= 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(verify_refuses_overlapping_temporaries, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_a_shifted_offset, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_leaving_the_allocation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_misalignment, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_writing_an_argument, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_a_result_elsewhere, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_overwriting_what_is_read_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_a_run_in_what_is_prepared, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_what_is_prepared_in_a_result, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_loop_state_in_two_places, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_overwriting_what_the_next_round_reads, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_an_update_elsewhere, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_dropped_donation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_another_constant, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_every_dropped_interference, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_every_shortened_range, set_up, tear_down),
      cmocka_unit_test_setup_teardown(verify_refuses_every_moved_offset, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("buffer_assignment_verify", tests, NULL, NULL);
}
