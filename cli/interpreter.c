#include "cli/interpreter.h"

#include "base/monotonic_clock.h"
#include "cli/literal_leaves.h"

Status interpreter_execute(Session *session, ModuleRun *run, const HloHost *host, int64_t memory_limit,
                           double *out_seconds) {
  Arena *arena = arena_create();
  const HloComputation *entry = session->compilation.module->entry;
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
  Literal *result;
  double start = monotonic_seconds();
  Status status =
      hlo_evaluate(arena, session->compilation.module, arguments, host, memory_limit, session->diag, &result);
  if (out_seconds) *out_seconds = monotonic_seconds() - start;
  next = 0;
  if (status == STATUS_OK) {
    literal_leaves_store(result, descriptor->results, run->results, &next);
    literal_leaves_store_sizes(result, descriptor->result_sizes, descriptor->result_size_count, run->results);
  }
  arena_destroy(arena);
  return status;
}
