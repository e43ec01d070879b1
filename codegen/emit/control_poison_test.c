/* Poisoned code computes the same while the plan is right, leaves nothing behind in the workspace, and shows a live
 * range that ends too early. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "parser/hlo_parser.h"
#include "passes/pipeline/hlo_pass_pipeline.h"

enum { COUNT = 8, WORKSPACE = 4096 };

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  SourceFile file;
  HloModule *module;
  BufferAssignment *assignment;
  CodeDraft draft;
  unsigned char *workspace;
  float input[COUNT], result[COUNT];
} Fixture;

static int set_up(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  fixture->workspace = arena_alloc_aligned(arena, WORKSPACE, 64);
  for (int i = 0; i < COUNT; i++) fixture->input[i] = (float)(i * i);
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static void plan(Fixture *fixture, const char *text) {
  bool changed;
  HloPassPipeline *pipeline;
  fixture->draft = (CodeDraft){.arena = fixture->arena, .target = {.mcpu = SV("native"), .opt_level = 2}};
  HloScratchModel scratch = code_draft_scratch_model(&fixture->draft);
  HloPipelineOptions options = {.pass_options = {.scratch = &scratch}, .verify = true};
  fixture->file = (SourceFile){SV("test"), sv_from_cstring(text)};
  ShapeTable *shapes = shape_table_create(fixture->arena);
  assert_int_equal(hlo_parse_module(fixture->arena, shapes, &fixture->file, &fixture->diag, &fixture->module),
                   STATUS_OK);
  assert_int_equal(hlo_pipeline_from_names(fixture->arena, SV("copy-insertion,scheduler,buffer-assignment"),
                                           &fixture->diag, &pipeline),
                   STATUS_OK);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, fixture->module, &options, &fixture->diag, &changed), STATUS_OK);
  fixture->assignment = hlo_pass_pipeline_assignment(pipeline);
}

static void run(Fixture *fixture, bool poison) {
  CompiledObject object;
  CodegenJit *jit;
  CodegenOptions options = {.assignment = fixture->assignment, .draft = &fixture->draft, .poison = poison};
  assert_int_equal(codegen_compile(fixture->arena, fixture->module, &options, &fixture->diag, &object), STATUS_OK);
  assert_int_equal(codegen_jit_load(&object, NULL, &fixture->diag, &jit), STATUS_OK);
  assert_in_range(codegen_jit_descriptor(jit)->workspace_bytes, 1, WORKSPACE);
  memset(fixture->workspace, 0, WORKSPACE);
  const void *arguments[] = {fixture->input};
  void *results[] = {fixture->result};
  assert_int_equal(codegen_jit_function(jit)(arguments, results, fixture->workspace, NULL), 0);
  codegen_jit_destroy(jit);
}

/* Wherever a temporary array was, after its first element: there a loop's predicate may lie, which is handed on. */
static void assert_arrays_are_poison(const Fixture *fixture) {
  const BufferAssignment *assignment = fixture->assignment;
  int seen = 0;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[i];
    const BufferAllocation *allocation = &assignment->allocations[buffer->allocation];
    if (allocation->kind != ALLOCATION_TEMP || buffer->size != COUNT * (int64_t)sizeof(float)) continue;
    int64_t from = allocation->workspace_offset + buffer->offset;
    for (int64_t k = from + (int64_t)sizeof(float); k < from + buffer->size; k++)
      assert_int_equal(fixture->workspace[k], 0xFF);
    seen++;
  }
  assert_true(seen > 0);
}

/* -x[i] - x[7 - i]; 'a' is read twice */
static const char chain_text[] =
    "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  a = f32[8] negate(p)\n"
    "  b = f32[8] reverse(a), dimensions={0}\n  c = f32[8] add(a, b)\n  ROOT d = f32[8] reverse(c), "
    "dimensions={0}\n}\n";

static void assert_chain_result(const Fixture *fixture) {
  for (int i = 0; i < COUNT; i++)
    assert_float_equal(fixture->result[i], -fixture->input[i] - fixture->input[COUNT - 1 - i], 0);
}

static void poison_keeps_results_and_fills_the_dead(void **state) {
  Fixture *fixture = *state;
  plan(fixture, chain_text);
  run(fixture, true);
  assert_chain_result(fixture);
  assert_arrays_are_poison(fixture);
}

static void poison_shows_a_range_that_ends_too_early(void **state) {
  Fixture *fixture = *state;
  plan(fixture, chain_text);
  BufferAssignment *assignment = fixture->assignment;
  for (int32_t i = 0; i < assignment->value_count; i++) {
    HloValue *value = &assignment->values[i];
    if (!sv_equal_cstring(value->definition.instruction->name, "a")) continue;
    BufferLiveRange *range = ARENA_NEW(fixture->arena, BufferLiveRange);
    *range = (BufferLiveRange){value->live_from, value->live_to - 1, value->live_to - 1};
    value->ranges = range;
  }
  run(fixture, false);
  assert_chain_result(fixture); /* luck: nothing else has moved in yet */
  run(fixture, true);
  for (int i = 0; i < COUNT; i++) assert_true(isnan(fixture->result[i]));
}

/* Two steps of x ← reverse(x) + x: the state goes around, values inside die in each turn. */
static const char loop_text[] =
    "HloModule m\n"
    "condition {\n  s = (s32[], f32[8]) parameter(0)\n  ci = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] constant(2)\n  ROOT more = pred[] compare(ci, n), direction=LT\n}\n"
    "body {\n  given = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(given), index=0\n"
    "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  x = f32[8] get-tuple-element(given), index=1\n"
    "  y = f32[8] reverse(x), dimensions={0}\n  z = f32[8] add(x, y)\n"
    "  ROOT back = (s32[], f32[8]) tuple(next, z)\n}\n"
    "ENTRY e {\n  zero = s32[] constant(0)\n  p = f32[8] parameter(0)\n  init = (s32[], f32[8]) tuple(zero, p)\n"
    "  loop = (s32[], f32[8]) while(init), condition=condition, body=body\n"
    "  g = f32[8] get-tuple-element(loop), index=1\n  ROOT r = f32[8] reverse(g), dimensions={0}\n}\n";

static void poison_spares_what_a_loop_carries(void **state) {
  Fixture *fixture = *state;
  plan(fixture, loop_text);
  run(fixture, true);
  for (int i = 0; i < COUNT; i++)
    assert_float_equal(fixture->result[i], 2 * (fixture->input[i] + fixture->input[COUNT - 1 - i]), 0);
  assert_arrays_are_poison(fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(poison_keeps_results_and_fills_the_dead, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_shows_a_range_that_ends_too_early, set_up, tear_down),
      cmocka_unit_test_setup_teardown(poison_spares_what_a_loop_carries, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("control_poison", tests, NULL, NULL);
}
