#include "passes/pipeline/hlo_pass_pipeline.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* --- a module: f32[4] parameter, root of GROWN negations --- */

typedef struct Fixture {
  Arena *arena;
  HloModule *module;
  DiagSink diag;
  HloPipelineOptions options;
} Fixture;

static int set_up(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  ShapeTable *shapes = shape_table_create(arena);
  fixture->arena = arena;
  fixture->module = hlo_module_create(arena, shapes, SV("m"));
  fixture->module->entry = hlo_module_add_computation(fixture->module, SV("main"));
  const Shape *shape = shape_array(shapes, TYPE_F32, (int64_t[]){4}, 1);
  HloInstruction *parameter = hlo_computation_add_parameter(fixture->module->entry, 0, shape, SV("x"));
  hlo_computation_set_root(fixture->module->entry, parameter);
  diag_sink_init(&fixture->diag, arena);
  fixture->options = (HloPipelineOptions){.pass_options = {.opt_level = 2}, .verify = true};
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static void append_negate(HloModule *module) {
  HloInstruction *root = module->entry->root;
  hlo_computation_set_root(module->entry,
                           hlo_computation_add(module->entry, HLO_NEGATE, root->shape, &root, 1, (StringView){0}));
}

static int64_t size_of(const Fixture *fixture) {
  return fixture->module->entry->instructions.count;
}

/* --- passes --- */

/* Changes something until there are four instructions. */
static Status run_grow(HloPassContext *context, HloModule *module, bool *out_changed) {
  (void)context;
  if (module->entry->instructions.count >= 4) return STATUS_OK;
  append_negate(module);
  *out_changed = true;
  return STATUS_OK;
}

static Status run_idle(HloPassContext *context, HloModule *module, bool *out_changed) {
  (void)module;
  (void)out_changed;
  arena_alloc(context->scratch, 100);
  return STATUS_OK;
}

static Status run_liar(HloPassContext *context, HloModule *module, bool *out_changed) {
  (void)context;
  (void)out_changed;
  append_negate(module);
  return STATUS_OK;
}

static Status run_breaker(HloPassContext *context, HloModule *module, bool *out_changed) {
  (void)context;
  append_negate(module);
  hlo_instruction_set_shape(module->entry->root, shape_scalar(module->shapes, TYPE_S32));
  *out_changed = true;
  return STATUS_OK;
}

static Status run_refuser(HloPassContext *context, HloModule *module, bool *out_changed) {
  (void)module;
  (void)out_changed;
  return diag_error(context->diag, STATUS_UNSUPPORTED, NO_LOC, "test", "refused");
}

static const HloPass grow = {"grow", "", run_grow, false};
static const HloPass keeper = {"keeper", "", run_grow, true};
static const HloPass idle = {"idle", "", run_idle, false};
static const HloPass liar = {"liar", "", run_liar, false};
static const HloPass breaker = {"breaker", "", run_breaker, false};
static const HloPass refuser = {"refuser", "", run_refuser, false};

static Status run_passes(Fixture *fixture, const HloPass *const *passes, int count, bool *out_changed) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(fixture->arena, "test");
  for (int i = 0; i < count; i++) hlo_pass_pipeline_add(pipeline, passes[i]);
  return hlo_pass_pipeline_run(pipeline, fixture->module, &fixture->options, &fixture->diag, out_changed);
}

/* --- tests --- */

static void pipeline_run_reports_change(void **state) {
  bool changed;
  assert_int_equal(run_passes(*state, (const HloPass *[]){&idle, &grow}, 2, &changed), STATUS_OK);
  assert_true(changed);
  assert_int_equal(size_of(*state), 2);
  assert_int_equal(run_passes(*state, (const HloPass *[]){&idle}, 1, &changed), STATUS_OK);
  assert_false(changed);
}

static void pipeline_fixpoint_runs_until_nothing_changes(void **state) {
  Fixture *fixture = *state;
  bool changed;
  int64_t count;
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(fixture->arena, "test");
  HloPassPipeline *group = hlo_pass_pipeline_add_fixpoint(pipeline, "group", 100);
  hlo_pass_pipeline_add(group, &grow);
  hlo_pass_pipeline_add(group, &idle);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, fixture->module, &fixture->options, &fixture->diag, &changed),
                   STATUS_OK);
  assert_int_equal(size_of(fixture), 4);
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(pipeline, &count);
  /* grow idle | grow idle | grow idle | grow: the idle pass has seen this module already */
  assert_int_equal(count, 7);
  assert_ptr_equal(rows[6].pass, &grow);
  assert_int_equal(rows[6].round, 3);
  assert_false(rows[6].changed);
  assert_int_equal(rows[0].instructions_before, 1);
  assert_int_equal(rows[0].instructions_after, 2);
}

static void pipeline_fixpoint_stops_at_limit(void **state) {
  Fixture *fixture = *state;
  bool changed;
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(fixture->arena, "test");
  hlo_pass_pipeline_add(hlo_pass_pipeline_add_fixpoint(pipeline, "group", 2), &grow);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, fixture->module, &fixture->options, &fixture->diag, &changed),
                   STATUS_OK);
  assert_int_equal(size_of(fixture), 3);
}

static void pipeline_skips_disabled_passes(void **state) {
  Fixture *fixture = *state;
  bool changed;
  fixture->options.disabled_count = 1;
  fixture->options.disabled = (const StringView[]){SV("grow")};
  assert_int_equal(run_passes(fixture, (const HloPass *[]){&grow, &idle}, 2, &changed), STATUS_OK);
  assert_false(changed);
}

static void pipeline_stops_at_failing_pass(void **state) {
  bool changed;
  assert_int_equal(run_passes(*state, (const HloPass *[]){&refuser, &grow}, 2, &changed), STATUS_UNSUPPORTED);
  assert_int_equal(size_of(*state), 1);
}

static void pipeline_drops_schedule_that_a_change_outdates(void **state) {
  Fixture *fixture = *state;
  bool changed;
  fixture->module->is_scheduled = true;
  assert_int_equal(run_passes(fixture, (const HloPass *[]){&idle, &keeper}, 2, &changed), STATUS_OK);
  assert_true(fixture->module->is_scheduled);
  assert_int_equal(run_passes(fixture, (const HloPass *[]){&grow}, 1, &changed), STATUS_OK);
  assert_false(fixture->module->is_scheduled);
}

typedef struct Trace {
  char text[200];
} Trace;

static Status trace_before(void *context, int number, const HloPass *pass, const HloModule *module) {
  Trace *trace = context;
  (void)module;
  size_t used = strlen(trace->text);
  snprintf(trace->text + used, sizeof(trace->text) - used, "%d<%s ", number, pass->name);
  return STATUS_OK;
}

static Status trace_after(void *context, int number, const HloPass *pass, const HloModule *module, bool changed) {
  Trace *trace = context;
  (void)module;
  size_t used = strlen(trace->text);
  snprintf(trace->text + used, sizeof(trace->text) - used, "%d>%s%s ", number, pass->name, changed ? "*" : "");
  return strcmp(pass->name, "idle") == 0 ? STATUS_IO : STATUS_OK;
}

static void pipeline_observer_sees_passes_and_can_stop(void **state) {
  Fixture *fixture = *state;
  bool changed;
  Trace trace = {""};
  HloPipelineObserver observer = {&trace, trace_before, trace_after};
  fixture->options.observer = &observer;
  assert_int_equal(run_passes(fixture, (const HloPass *[]){&grow, &idle, &grow}, 3, &changed), STATUS_IO);
  assert_string_equal(trace.text, "0<grow 0>grow* 1<idle 1>idle ");
}

static bool aborts(Fixture *fixture, const HloPass *pass) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bool changed;
    signal(SIGABRT, SIG_DFL);
    fclose(stderr);
    (void)!run_passes(fixture, &pass, 1, &changed);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void pipeline_verify_catches_unreported_change(void **state) {
  Fixture *fixture = *state;
  assert_true(aborts(fixture, &liar));
  fixture->options.verify = false;
  assert_false(aborts(fixture, &liar));
}

static void pipeline_verify_catches_invalid_module(void **state) {
  Fixture *fixture = *state;
  assert_true(aborts(fixture, &breaker));
  assert_false(aborts(fixture, &grow));
}

static void pipeline_from_names_finds_passes(void **state) {
  Fixture *fixture = *state;
  HloPassPipeline *pipeline;
  bool changed;
  int64_t count;
  assert_int_equal(hlo_pipeline_from_names(fixture->arena, SV("cse, dce,,"), &fixture->diag, &pipeline), STATUS_OK);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, fixture->module, &fixture->options, &fixture->diag, &changed),
                   STATUS_OK);
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(pipeline, &count);
  assert_int_equal(count, 2);
  assert_string_equal(rows[0].pass->name, "cse");
  assert_string_equal(rows[1].pass->name, "dce");
}

static void pipeline_from_names_suggests_for_unknown(void **state) {
  Fixture *fixture = *state;
  HloPassPipeline *pipeline;
  assert_int_equal(hlo_pipeline_from_names(fixture->arena, SV("fuzion,nothing-like-it"), &fixture->diag, &pipeline),
                   STATUS_INVALID);
  assert_int_equal(fixture->diag.error_count, 2);
  assert_true(sv_equal_cstring(fixture->diag.first->notes->message, "did you mean 'fusion'?"));
  assert_null(fixture->diag.last->notes);
}

static void registry_names_are_unique(void **state) {
  (void)state;
  for (int i = 0; i < hlo_pass_count(); i++) {
    assert_ptr_equal(hlo_pass_find(sv_from_cstring(hlo_pass_at(i)->name)), hlo_pass_at(i));
    assert_true(strlen(hlo_pass_at(i)->summary) > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(pipeline_run_reports_change, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_fixpoint_runs_until_nothing_changes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_fixpoint_stops_at_limit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_skips_disabled_passes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_stops_at_failing_pass, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_drops_schedule_that_a_change_outdates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_observer_sees_passes_and_can_stop, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_verify_catches_unreported_change, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_verify_catches_invalid_module, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_from_names_finds_passes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pipeline_from_names_suggests_for_unknown, set_up, tear_down),
      cmocka_unit_test(registry_names_are_unique),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
