#include "compiler/compilation.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fixture_testing.h"
#include "compiler/compilation_facts.h"
#include "compiler/compilation_report.h"
#include "hlo/machine/description/presets.h"

static const char axpy[] =
    "HloModule axpy\n"
    "ENTRY main {\n"
    "  a = f32[] parameter(0)\n"
    "  x = f32[4] parameter(1)\n"
    "  y = f32[4] parameter(2)\n"
    "  all_a = f32[4] broadcast(a), dimensions={}\n"
    "  ax = f32[4] multiply(all_a, x)\n"
    "  ROOT sum = f32[4] add(ax, y)\n"
    "}\n";

/* Kernels with scratch, a reduction, a loop over rows. */
static const char normalise[] =
    "HloModule normalise\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT sum = f32[] add(a, b) }\n"
    "ENTRY main {\n"
    "  x = f32[64,128] parameter(0)\n"
    "  zero = f32[] constant(0)\n"
    "  sums = f32[64] reduce(x, zero), dimensions={1}, to_apply=add\n"
    "  wide = f32[64,128] broadcast(sums), dimensions={0}\n"
    "  scaled = f32[64,128] divide(x, wide)\n"
    "  turned = f32[128,64] transpose(scaled), dimensions={1,0}\n"
    "  ROOT product = f32[64,64] dot(scaled, turned), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n";

/* All steps, in |compilation|, of a text in memory. */
static Status compile(Compilation *compilation, Fixture *fixture, const CompilationOptions *options, const char *text) {
  SourceFile *source = ARENA_NEW(fixture->arena, SourceFile);
  *source = (SourceFile){SV("memory.hlo"), sv_from_cstring(text)};
  compilation_init(compilation, fixture->arena, options, &fixture->diag);
  RETURN_IF_ERROR(compilation_load(compilation, source));
  RETURN_IF_ERROR(compilation_run_passes(compilation));
  return compilation_generate(compilation);
}

static bool contains(StringView text, const char *part) {
  return sv_contains(text, sv_from_cstring(part));
}

static void compilation_generate_gives_code_that_runs(void **state) {
  Fixture *fixture = *state;
  Compilation compilation;
  assert_int_equal(compile(&compilation, fixture, &(CompilationOptions){.opt_level = 2}, axpy), STATUS_OK);
  CodegenJit *jit;
  assert_int_equal(codegen_jit_load(&compilation.object, NULL, &fixture->diag, &jit), STATUS_OK);
  assert_int_equal(codegen_jit_descriptor(jit)->workspace_bytes, 0);
  _Alignas(64) float a[1] = {2}, x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, sum[4];
  const float expected[4] = {12, 24, 36, 48};
  assert_int_equal(codegen_jit_function(jit)((const void *[]){a, x, y}, (void *[]){sum}, NULL, NULL), 0);
  assert_memory_equal(sum, expected, sizeof expected);
  codegen_jit_destroy(jit);
  assert_true(contains(compilation.object.header, "int axpy("));
  StringBuilder map;
  sb_init(&map, fixture->arena);
  compilation_print_map(&compilation, REPORT_TEXT, &map);
  assert_true(contains(sb_view(&map), "result 0"));
}

/* --- many compilations --- */

typedef struct Job {
  Fixture fixture;
  const char *text;
  StringView target; /* empty: the host */
  Status status;
  StringView bytes, header, map;
} Job;

static Job make_job(const char *text, const char *target) {
  Job job = {.fixture.arena = arena_create(), .text = text, .target = sv_from_cstring(target)};
  diag_sink_init(&job.fixture.diag, job.fixture.arena);
  return job;
}

static void *do_job(void *self) {
  Job *job = self;
  Arena *arena = job->fixture.arena;
  CompilationOptions options = {.opt_level = 2, .mcpu = SV("dispatch")};
  MachineDescription machine;
  if (job->target.size > 0) {
    job->status = machine_preset_parse(arena, machine_preset_find(job->target), &job->fixture.diag, &machine);
    if (job->status != STATUS_OK) return NULL;
    options.machine = &machine;
    options.plans_detail = PLANS_PROVED;
  }
  Compilation compilation;
  job->status = compile(&compilation, &job->fixture, &options, job->text);
  if (job->status != STATUS_OK) return NULL;
  job->bytes = compilation.object.bytes;
  job->header = compilation.object.header;
  StringBuilder map;
  sb_init(&map, arena);
  compilation_print_map(&compilation, REPORT_JSON, &map);
  job->map = sb_view(&map);
  return NULL;
}

static void assert_same(StringView a, StringView b) {
  assert_int_equal(a.size, b.size);
  assert_true(a.size > 0);
  assert_memory_equal(a.data, b.data, a.size);
}

static void compilations_of_one_text_are_equal_one_by_one_and_in_threads(void **state) {
  (void)state;
  static const struct {
    const char *text, *target;
  } inputs[] = {{axpy, ""}, {normalise, ""}, {normalise, "vp-ref"}};
  enum { INPUT_COUNT = sizeof inputs / sizeof inputs[0], ROUNDS = 3, THREAD_COUNT = INPUT_COUNT * ROUNDS };
  Job alone[INPUT_COUNT], jobs[THREAD_COUNT];
  pthread_t threads[THREAD_COUNT];
  for (int i = 0; i < THREAD_COUNT; i++)
    jobs[i] = make_job(inputs[i % INPUT_COUNT].text, inputs[i % INPUT_COUNT].target);
  for (int i = 0; i < THREAD_COUNT; i++) assert_int_equal(pthread_create(&threads[i], NULL, do_job, &jobs[i]), 0);
  for (int i = 0; i < THREAD_COUNT; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < INPUT_COUNT; i++) {
    alone[i] = make_job(inputs[i].text, inputs[i].target);
    do_job(&alone[i]);
    assert_int_equal(alone[i].status, STATUS_OK);
  }
  for (int i = 0; i < THREAD_COUNT; i++) {
    const Job *expected = &alone[i % INPUT_COUNT];
    assert_int_equal(jobs[i].status, STATUS_OK);
    assert_same(jobs[i].bytes, expected->bytes);
    assert_same(jobs[i].header, expected->header);
    assert_same(jobs[i].map, expected->map);
    arena_destroy(jobs[i].fixture.arena);
  }
  for (int i = 0; i < INPUT_COUNT; i++) arena_destroy(alone[i].fixture.arena);
}

/* --- failures: a Status, diagnostics as data, no output --- */

static void assert_fails(Fixture *fixture, const CompilationOptions *options, const char *text, Status status,
                         const char *code, uint32_t line) {
  Compilation compilation;
  assert_int_equal(compile(&compilation, fixture, options, text), status);
  assert_int_equal(compilation.object.bytes.size, 0);
  assert_int_equal(compilation.object.header.size, 0);
  assert_int_equal(fixture->diag.error_count, 1);
  assert_string_equal(fixture->diag.first->code, code);
  assert_int_equal(fixture->diag.first->loc.line, line);
  if (line > 0) assert_true(sv_equal_cstring(fixture->diag.first->loc.file->name, "memory.hlo"));
}

static void compilation_of_no_module_says_where(void **state) {
  assert_fails(*state, &(CompilationOptions){0}, "HloModule m\nENTRY main {\n  ROOT a = f33[] parameter(0)\n}\n",
               STATUS_INVALID, "parse-type", 3);
}

static void compilation_of_a_wrong_shape_says_where(void **state) {
  assert_fails(*state, &(CompilationOptions){0},
               "HloModule m\nENTRY main {\n  a = f32[2] parameter(0)\n  ROOT b = f32[3] negate(a)\n}\n", STATUS_INVALID,
               "verify-shape", 4);
}

static void compilation_over_the_memory_limit_keeps_its_assignment(void **state) {
  Fixture *fixture = *state;
  CompilationOptions options = {.opt_level = 2, .memory_limit = 100};
  Compilation compilation;
  assert_int_equal(compile(&compilation, fixture, &options, normalise), STATUS_EXHAUSTED);
  assert_int_equal(compilation.object.bytes.size, 0);
  assert_string_equal(fixture->diag.first->code, "memory-limit");
  assert_non_null(fixture->diag.first->notes);
  assert_non_null(compilation.assignment);
}

static void compilation_without_assignment_makes_no_code(void **state) {
  CompilationOptions options = {.has_pass_names = true, .pass_names = SV("dce")};
  assert_fails(*state, &options, axpy, STATUS_INVALID, "no-assignment", 0);
}

static void compilation_keeps_the_order_of_scheduled_modules_only(void **state) {
  assert_fails(*state, &(CompilationOptions){.keeps_text_order = true}, axpy, STATUS_INVALID, "schedule", 1);
}

static void compilation_options_check_refuses_names_and_processors(void **state) {
  Fixture *fixture = *state;
  CompilationOptions options = {.has_entry_name = true, .entry_name = SV("int")};
  assert_int_equal(compilation_options_check(&options, &fixture->diag), STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, "usage");
  options = (CompilationOptions){.mcpu = SV("no-such-cpu")};
  assert_int_equal(compilation_options_check(&options, &fixture->diag), STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, "unknown-cpu");
  options = (CompilationOptions){.has_entry_name = true, .entry_name = SV("model"), .mcpu = SV("haswell")};
  assert_int_equal(compilation_options_check(&options, &fixture->diag), STATUS_OK);
  assert_int_equal(fixture->diag.error_count, 2);
}

/* --- what sums it up --- */

/* -1: not known. */
static int64_t fact_of(const Compilation *compilation, const char *key) {
  CompilationFacts facts = compilation_facts(compilation, compilation->arena);
  for (int64_t i = 0; i < facts.count; i++) {
    if (strcmp(facts.data[i].key, key) == 0) return facts.data[i].value;
  }
  return -1;
}

static void compilation_facts_are_known_when_what_they_need_is_made(void **state) {
  Fixture *fixture = *state;
  Compilation compilation;
  SourceFile source = {SV("memory.hlo"), sv_from_cstring(axpy)};
  compilation_init(&compilation, fixture->arena, &(CompilationOptions){.opt_level = 2}, &fixture->diag);
  assert_int_equal(compilation_facts(&compilation, fixture->arena).count, 0);
  assert_int_equal(compilation_load(&compilation, &source), STATUS_OK);
  assert_int_equal(fact_of(&compilation, "computations"), 1);
  assert_int_equal(fact_of(&compilation, "kernels"), -1);
  assert_int_equal(fact_of(&compilation, "total_bytes"), -1);
  assert_int_equal(compilation_run_passes(&compilation), STATUS_OK);
  assert_int_equal(fact_of(&compilation, "kernels"), 1);
  /* a scalar and three arrays of four floats, nothing beside them */
  assert_int_equal(fact_of(&compilation, "total_bytes"), 4 + 3 * 16);
  assert_int_equal(fact_of(&compilation, "object_bytes"), -1);
  assert_int_equal(compilation_generate(&compilation), STATUS_OK);
  assert_int_equal(fact_of(&compilation, "kernels"), 1);
  assert_int_equal(fact_of(&compilation, "object_bytes"), compilation.object.bytes.size);
  assert_int_equal(fact_of(&compilation, "oncore_cycles"), -1); /* of a vector processor only */
}

static void compilation_facts_have_keys_of_their_own_and_say_what_they_need(void **state) {
  (void)state;
  assert_true(compilation_fact_count() > 0);
  for (int i = 0; i < compilation_fact_count(); i++) {
    assert_true(strlen(compilation_fact_needs(i)) > 0);
    for (int j = 0; j < i; j++) assert_string_not_equal(compilation_fact_key(i), compilation_fact_key(j));
  }
}

/* --- what is told --- */

static Status note_step(void *self, const char *what, const char *name) {
  if (name == NULL) sb_printf(self, "%s, ", what);
  return STATUS_OK;
}

static void compilation_tells_steps_phases_and_decisions(void **state) {
  Fixture *fixture = *state;
  StringBuilder steps, phases, report;
  sb_init(&steps, fixture->arena);
  sb_init(&phases, fixture->arena);
  sb_init(&report, fixture->arena);
  CompilationProgress progress = {&steps, note_step};
  CompilationOptions options = {.opt_level = 2, .records_decisions = true, .progress = &progress};
  Compilation compilation;
  assert_int_equal(compile(&compilation, fixture, &options, axpy), STATUS_OK);
  assert_true(sv_equal_cstring(sb_view(&steps), "reading the module, generating code, "));
  for (int64_t i = 0; i < compilation.phases.list.count; i++)
    sb_printf(&phases, "%s ", compilation.phases.list.data[i].name);
  assert_true(sv_equal_cstring(sb_view(&phases), "parse verify kernels passes codegen "));
  assert_true(compilation.decisions.count > 0);
  assert_true(compilation.decisions.data[0].taken);
  compilation_print_report(&compilation, COMPILATION_REPORT_JSON, &report);
  assert_true(contains(sb_view(&report), "\"module\": \"axpy\""));
  assert_true(contains(sb_view(&report), "\"fused\": true"));
}

/* Counts down to the pass before which it cancels. */
static Status cancel_step(void *self, const char *what, const char *name) {
  int *left = self;
  (void)what;
  return name != NULL && --*left == 0 ? STATUS_IO : STATUS_OK;
}

static void compilation_is_cancelled_before_a_pass(void **state) {
  Fixture *fixture = *state;
  int left = 3;
  CompilationProgress progress = {&left, cancel_step};
  Compilation compilation;
  assert_int_equal(compile(&compilation, fixture, &(CompilationOptions){.progress = &progress}, axpy), STATUS_IO);
  assert_int_equal(fixture->diag.error_count, 0);
  assert_null(compilation.assignment);
  int64_t passes_run;
  hlo_pass_pipeline_statistics(compilation.pipeline, &passes_run);
  assert_int_equal(passes_run, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(compilation_generate_gives_code_that_runs, create, destroy),
      cmocka_unit_test_setup_teardown(compilations_of_one_text_are_equal_one_by_one_and_in_threads, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_of_no_module_says_where, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_of_a_wrong_shape_says_where, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_over_the_memory_limit_keeps_its_assignment, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_without_assignment_makes_no_code, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_keeps_the_order_of_scheduled_modules_only, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_options_check_refuses_names_and_processors, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_facts_are_known_when_what_they_need_is_made, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_facts_have_keys_of_their_own_and_say_what_they_need, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_tells_steps_phases_and_decisions, create, destroy),
      cmocka_unit_test_setup_teardown(compilation_is_cancelled_before_a_pass, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
