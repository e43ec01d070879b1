#include "runtime/engines/runner.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/large_pages.h"
#include "base/monotonic_clock.h"
#include "runtime/engines/queue_threads.h"

#define BUFFER_ALIGNMENT 64
#define GUARD_BYTES 64
#define GUARD_PATTERN 0xA5
#define UNWRITTEN_PATTERN 0xFF /* a NaN in every floating type that has one */

static unsigned char *allocate_guarded(Arena *arena, int64_t bytes, int64_t alignment) {
  alignment = max_i64(max_i64(alignment, BUFFER_ALIGNMENT), (int64_t)large_page_alignment((size_t)bytes));
  unsigned char *data = arena_alloc_aligned(arena, (size_t)bytes + GUARD_BYTES, (size_t)alignment);
  large_pages_ask(data, (size_t)bytes);
  memset(data, UNWRITTEN_PATTERN, (size_t)bytes);
  memset(data + bytes, GUARD_PATTERN, GUARD_BYTES);
  return data;
}

static void check_guard(const void *data, int64_t bytes, const char *what, int64_t index) {
  const unsigned char *guard = (const unsigned char *)data + bytes;
  for (int i = 0; i < GUARD_BYTES; i++)
    if (guard[i] != GUARD_PATTERN)
      XLAC_BUG("compiled code wrote %d bytes after the end of %s %lld", i, what, (long long)index);
}

int64_t descriptor_workspace_bytes(const XlacDescriptor *descriptor, const XlacRunOptions *options) {
  if (options == NULL || options->parallel_for == NULL) return descriptor->workspace_bytes;
  return descriptor->workspace_bytes + (options->worker_count - 1) * descriptor->scratch_bytes_per_worker;
}

ModuleRun *runner_create(Arena *arena, XlacFunction function, const XlacDescriptor *descriptor,
                         const XlacRunOptions *options) {
  ModuleRun *run = ARENA_NEW(arena, ModuleRun);
  *run = (ModuleRun){.function = function, .descriptor = descriptor, .options = options};
  run->arguments = ARENA_NEW_ARRAY(arena, void *, descriptor->parameter_count);
  run->passed_arguments = ARENA_NEW_ARRAY(arena, const void *, descriptor->parameter_count);
  run->results = ARENA_NEW_ARRAY(arena, void *, descriptor->result_count);
  for (int64_t i = 0; i < descriptor->parameter_count; i++) {
    run->arguments[i] = allocate_guarded(arena, descriptor->parameters[i].bytes, descriptor->parameters[i].alignment);
    run->passed_arguments[i] = run->arguments[i];
  }
  for (int64_t i = 0; i < descriptor->result_count; i++) {
    const XlacTensor *result = &descriptor->results[i];
    run->results[i] = allocate_guarded(arena, result->bytes, result->alignment);
    if (result->alias >= 0) run->passed_arguments[result->alias] = run->results[i];
  }
  run->workspace_bytes = descriptor_workspace_bytes(descriptor, options);
  int64_t of_pages = (int64_t)workspace_page_alignment((size_t)run->workspace_bytes);
  run->workspace = allocate_guarded(arena, run->workspace_bytes, max_i64(descriptor->workspace_alignment, of_pages));
  if (descriptor->prepared_bytes > 0) {
    run->prepared = allocate_guarded(arena, descriptor->prepared_bytes, descriptor->prepared_alignment);
    XlacRunOptions *own = ARENA_NEW(arena, XlacRunOptions);
    *own = options != NULL ? *options : (XlacRunOptions){.struct_size = sizeof *own, .abi_version = XLAC_ABI_VERSION};
    own->prepared = run->prepared;
    run->options = own;
  }
  return run;
}

/* Of what the module's functions return. */
static Status status_of(const ModuleRun *run, int code, DiagSink *diag) {
  bool is_told = code == XLAC_CALL_FAILED && run->options != NULL && run->options->on_failure != NULL;
  if (is_told) return STATUS_INVALID;
  if (code == QUEUE_THREADS_TOO_FEW)
    return diag_error(diag, STATUS_IO, NO_LOC, "io-threads", "the system gives too few threads: each queue needs one");
  if (code != 0) return diag_error(diag, STATUS_INVALID, NO_LOC, "run", "the module returned %d", code);
  return STATUS_OK;
}

/* Once, before the first run, when the arguments are there. */
static Status prepare(ModuleRun *run, DiagSink *diag) {
  const XlacDescriptor *descriptor = run->descriptor;
  if (descriptor->prepared_bytes == 0 || run->is_prepared) return STATUS_OK;
  double start = monotonic_seconds();
  int code = descriptor->prepare((const void *const *)run->arguments, run->prepared, run->workspace, run->options);
  run->prepare_seconds = monotonic_seconds() - start;
  run->is_prepared = code == 0;
  return status_of(run, code, diag);
}

Status runner_execute(ModuleRun *run, DiagSink *diag, double *out_seconds) {
  const XlacDescriptor *descriptor = run->descriptor;
  RETURN_IF_ERROR(prepare(run, diag));
  for (int64_t i = 0; i < descriptor->result_count; i++) {
    const XlacTensor *result = &descriptor->results[i];
    if (result->alias >= 0) memcpy(run->results[i], run->arguments[result->alias], (size_t)result->bytes);
  }
  double start = monotonic_seconds();
  int code = run->function(run->passed_arguments, run->results, run->workspace, run->options);
  if (out_seconds) *out_seconds = monotonic_seconds() - start;
  RETURN_IF_ERROR(status_of(run, code, diag));
  for (int64_t i = 0; i < descriptor->parameter_count; i++)
    check_guard(run->arguments[i], descriptor->parameters[i].bytes, "argument", i);
  for (int64_t i = 0; i < descriptor->result_count; i++)
    check_guard(run->results[i], descriptor->results[i].bytes, "result", i);
  check_guard(run->workspace, run->workspace_bytes, "workspace", 0);
  if (run->prepared != NULL) check_guard(run->prepared, descriptor->prepared_bytes, "what is prepared", 0);
  return STATUS_OK;
}

static int compare_seconds(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

RunTimes run_times_of(double *seconds, int64_t count) {
  if (count == 0) return (RunTimes){0};
  qsort(seconds, (size_t)count, sizeof *seconds, compare_seconds);
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += seconds[i];
  double middle = count % 2 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
  return (RunTimes){.min = seconds[0], .median = middle, .mean = sum / (double)count, .count = count};
}

static int64_t leaf_bytes(const XlacTensor *tensors, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; i++) sum += tensors[i].bytes;
  return sum;
}

int64_t descriptor_argument_bytes(const XlacDescriptor *descriptor) {
  return leaf_bytes(descriptor->parameters, descriptor->parameter_count);
}

int64_t descriptor_result_bytes(const XlacDescriptor *descriptor) {
  return leaf_bytes(descriptor->results, descriptor->result_count);
}
