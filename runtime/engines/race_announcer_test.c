/* Compiled modules on threads: ThreadSanitizer finds nothing in plans as they are made, and finds each edge that is
 * left out.  Without it nothing finds one. */
#include "runtime/engines/race_announcer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "codegen/oncore/emit/module_plans.h"
#include "codegen/oncore/emit/oncore_testing.h"
#include "passes/pipeline/hlo_pass_pipeline.h"
#include "runtime/engines/runner.h"

enum { RACE_STATUS = 66 }; /* of a program in which ThreadSanitizer found something */

/* Schedules |module| and plans its memory. */
static BufferAssignment *plan_memory(Fixture *fixture, HloModule *module, CodeDraft *draft) {
  HloPassPipeline *pipeline;
  HloScratchModel scratch = code_draft_scratch_model(draft);
  HloPipelineOptions options = {.pass_options = {.scratch = &scratch}, .verify = true};
  bool changed;
  StringView passes = SV("copy-insertion,scheduler,buffer-assignment");
  assert_int_equal(hlo_pipeline_from_names(fixture->arena, passes, &fixture->diag, &pipeline), STATUS_OK);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, module, &options, &fixture->diag, &changed), STATUS_OK);
  return hlo_pass_pipeline_assignment(pipeline);
}

/* Compiles |module| with |plan| as it is, proved or not. */
static CodegenJit *compile(Fixture *fixture, HloModule *module, const MachineDescription *machine, const Plan *plan) {
  WrittenPlan written = {.plan = plan, .kernel_text = kernel_text(fixture->arena, plan->kernel)};
  CodeDraft draft = {
      .arena = fixture->arena, .target = {.mcpu = SV("native"), .machine = machine}, .written = {1, &written}};
  CodegenOptions options = {.assignment = plan_memory(fixture, module, &draft), .draft = &draft};
  CompiledObject object;
  CodegenJit *jit;
  assert_int_equal(codegen_compile(fixture->arena, module, &options, &fixture->diag, &object), STATUS_OK);
  assert_int_equal(codegen_jit_load(&object, NULL, &fixture->diag, &jit), STATUS_OK);
  return jit;
}

static Status run_on_threads(Fixture *fixture, const CodegenJit *jit) {
  const QueueWatcher *watcher = race_announcer_create(fixture->arena);
  QueueThreads *threads = queue_threads_create(fixture->arena, watcher);
  XlacRunOptions options = {.struct_size = sizeof options,
                            .abi_version = XLAC_ABI_VERSION,
                            .oncore_launch = queue_threads_launch,
                            .oncore_data = threads};
  ModuleRun *run = runner_create(fixture->arena, codegen_jit_function(jit), codegen_jit_descriptor(jit), &options);
  Status status = runner_execute(run, &fixture->diag, NULL);
  queue_threads_destroy(threads);
  race_announcer_destroy(watcher);
  return status;
}

/* The exit status of a process of its own that executes |plan|; what it says is kept from the terminal. */
static int status_of_run(Fixture *fixture, HloModule *module, const MachineDescription *machine, const Plan *plan) {
  CodegenJit *jit = compile(fixture, module, machine, plan);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    bool ran = run_on_threads(fixture, jit) == STATUS_OK;
    codegen_jit_destroy(jit); /* a leak that a sanitizer finds would be taken for a race */
    exit(ran ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  codegen_jit_destroy(jit);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *const modules[] = {
    EXP("5000"), ROW_SUM("70", "900"), MATMUL("65", "130", "70"), TRANSPOSE("90", "110"), SOFTMAX("33", "70"), SCATTER};
enum { MODULES = sizeof modules / sizeof *modules };

static const ModulePlans *plans_of(Fixture *fixture, HloModule *module, const MachineDescription *machine) {
  CodeDraft *draft = ARENA_NEW(fixture->arena, CodeDraft);
  *draft = (CodeDraft){
      .arena = fixture->arena, .target = {.mcpu = SV("native"), .machine = machine}, .plans_detail = PLANS_PROVED};
  plan_memory(fixture, module, draft);
  return draft->plans;
}

static void detector_finds_nothing_in_plans(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vp-tiny");
  for (int m = 0; m < MODULES; m++) {
    HloModule *module = make_module(fixture, modules[m]);
    const ModulePlans *plans = plans_of(fixture, module, machine);
    assert_int_equal(status_of_run(fixture, module, machine, plans->plans[0].plan), 0);
  }
}

/* Returns how many there were. */
static int expect_races_without_edges(Fixture *fixture, HloModule *module, const MachineDescription *machine,
                                      const Plan *plan) {
  int removed = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    for (int32_t e = 0; e < plan->commands[c].edge_count; e++, removed++) {
      Plan broken = without_edge(fixture, plan, c, e);
      assert_int_equal(status_of_run(fixture, module, machine, &broken), RACE_STATUS);
    }
  }
  return removed;
}

static void detector_finds_each_edge_left_out(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vp-tiny");
  int removed = 0;
  for (int m = 0; m < MODULES; m++) {
    HloModule *module = make_module(fixture, modules[m]);
    const ModulePlans *plans = plans_of(fixture, module, machine);
    for (int32_t p = 0; p < plans->count; p++)
      removed += expect_races_without_edges(fixture, module, machine, plans->plans[p].plan);
  }
  assert_true(removed > 20);
}

static bool is_detector_there(void) {
  Arena *arena = arena_create();
  bool is_there = race_announcer_create(arena) != NULL;
  arena_destroy(arena);
  return is_there;
}

int main(void) {
  const struct CMUnitTest of_plans[] = {
      cmocka_unit_test_setup_teardown(detector_finds_nothing_in_plans, create, destroy),
  };
  const struct CMUnitTest of_broken_plans[] = {
      cmocka_unit_test_setup_teardown(detector_finds_each_edge_left_out, create, destroy),
  };
  int failed = cmocka_run_group_tests(of_plans, NULL, NULL);
  if (is_detector_there()) failed += cmocka_run_group_tests(of_broken_plans, NULL, NULL);
  return failed;
}
