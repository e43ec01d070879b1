#include "cli/interpreter.h"

#include "base/checked_math.h"
#include "base/monotonic_clock.h"
#include "cli/literal_leaves.h"
#include "runtime/collectives/evaluator_devices.h"

static const Literal *const *load_arguments(Arena *arena, const HloComputation *entry, const ModuleRun *run) {
  const Literal **arguments = ARENA_NEW_ARRAY(arena, const Literal *, entry->parameters.count);
  const XlacDescriptor *descriptor = run->descriptor;
  int64_t next = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++) {
    Literal *argument = literal_create(arena, entry->parameters.data[i]->shape);
    literal_leaves_load_sizes(arena, argument, next, descriptor->parameter_sizes, descriptor->parameter_size_count,
                              run->arguments);
    literal_leaves_load(argument, descriptor->parameters, run->arguments, &next);
    arguments[i] = argument;
  }
  return arguments;
}

static void store_results(const Literal *result, ModuleRun *run) {
  const XlacDescriptor *descriptor = run->descriptor;
  int64_t next = 0;
  literal_leaves_store(result, descriptor->results, run->results, &next);
  literal_leaves_store_sizes(result, descriptor->result_sizes, descriptor->result_size_count, run->results);
}

Status interpreter_execute(Session *session, ModuleRun *run, const HloHost *host, int64_t memory_limit,
                           double *out_seconds) {
  Arena *arena = arena_create();
  const HloModule *module = session->compilation.module;
  const Literal *const *arguments = load_arguments(arena, module->entry, run);
  Literal *result;
  double start = monotonic_seconds();
  Status status = hlo_evaluate(arena, module, arguments, host, memory_limit, session->diag, &result);
  if (out_seconds) *out_seconds = monotonic_seconds() - start;
  if (status == STATUS_OK) store_results(result, run);
  arena_destroy(arena);
  return status;
}

Status interpreter_execute_devices(Session *session, const RunDevices *devices, ModuleRun *const *runs,
                                   const HloHost *host, int64_t memory_limit, double *out_seconds) {
  Arena *arena = arena_create();
  const HloModule *module = session->compilation.module;
  DeviceEvaluation *evaluations = ARENA_NEW_ARRAY(arena, DeviceEvaluation, devices->count);
  for (int64_t i = 0; i < devices->count; i++) {
    evaluations[i].arena = arena_create();
    evaluations[i].arguments = load_arguments(evaluations[i].arena, module->entry, runs[i]);
  }
  int64_t device_limit = memory_limit == 0 ? 0 : max_i64(memory_limit / devices->count, 1);
  double start = monotonic_seconds();
  Status status = evaluate_on_devices(module, devices->counts, evaluations, host, device_limit, session->diag);
  if (out_seconds) *out_seconds = monotonic_seconds() - start;
  for (int64_t i = 0; i < devices->count; i++) {
    if (status == STATUS_OK) store_results(evaluations[i].result, runs[i]);
    arena_destroy(evaluations[i].arena);
  }
  arena_destroy(arena);
  return status;
}
