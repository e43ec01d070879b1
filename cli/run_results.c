#include "cli/run_results.h"

#include "runtime/arrays/array_file.h"
#include "runtime/arrays/array_text.h"
#include "runtime/arrays/compare.h"
#include "runtime/arrays/leaf_sizes.h"
#include "runtime/arrays/tensor_values.h"

/* NumPy's own defaults of allclose. */
#define DEFAULT_RTOL 1e-5
#define DEFAULT_ATOL 1e-8

/* --- from runs --- */

static LeafSizes sizes_of(const XlacDescriptor *descriptor) {
  return (LeafSizes){descriptor->result_sizes, descriptor->result_size_count};
}

const NpyArray *run_results_of_run(Arena *arena, const ModuleRun *run, int64_t *out_count) {
  const XlacDescriptor *descriptor = run->descriptor;
  LeafSizes sizes = sizes_of(descriptor);
  *out_count = descriptor->result_count - sizes.count;
  NpyArray *arrays = ARENA_NEW_ARRAY(arena, NpyArray, *out_count);
  for (int64_t i = 0; i < *out_count; i++) {
    NpyArray whole;
    tensor_to_npy(arena, &descriptor->results[i], run->results[i], &whole);
    arrays[i] = leaf_sizes_crop(arena, sizes, i, run->results, &whole);
  }
  return arrays;
}

static void add_result(Session *session, RunResults *results, StringView name, int64_t leaf, XlacTensor tensor,
                       const NpyArray *array, int64_t differing) {
  tensor.dims = array->dims;
  results->of_members[results->count] = (RunResult){leaf, tensor_text(session->arena, &tensor), differing};
  results->members[results->count++] = (ArrayMember){name, *array};
}

static Status add_joined(Session *session, const RunDevices *devices, const XlacDescriptor *descriptor,
                         const NpyArray *const *by_device, int64_t leaf, RunResults *out) {
  const XlacTensor *tensor = &descriptor->results[leaf];
  const int64_t *dims;
  RETURN_IF_ERROR(run_devices_whole_dims(session, devices, true, leaf, tensor, &dims));
  NpyArray *tiles = ARENA_NEW_ARRAY(session->arena, NpyArray, devices->counts.partitions);
  for (int64_t i = 0; i < devices->counts.partitions; i++) tiles[i] = by_device[i][leaf];
  int64_t differing;
  NpyArray whole = run_devices_join(session->arena, devices, leaf, dims, tiles, &differing);
  if (differing >= 0)
    diag_warning(session->diag, NO_LOC, "result-copies",
                 "'r%lld': the part that device %lld has differs from the copy of a device before it", (long long)leaf,
                 (long long)differing);
  add_result(session, out, sv_printf(session->arena, "r%lld", (long long)leaf), leaf, *tensor, &whole, differing);
  return STATUS_OK;
}

Status run_results_collect(Session *session, const RunDevices *devices, const XlacDescriptor *descriptor,
                           const NpyArray *const *by_device, RunResults *out_results) {
  int64_t leaves = descriptor->result_count - descriptor->result_size_count;
  int64_t total = device_counts_total(devices->counts);
  *out_results = (RunResults){0, ARENA_NEW_ARRAY(session->arena, ArrayMember, leaves * total),
                              ARENA_NEW_ARRAY(session->arena, RunResult, leaves * total)};
  if (devices->are_several && devices->results != NULL) {
    for (int64_t i = 0; i < leaves; i++)
      RETURN_IF_ERROR(add_joined(session, devices, descriptor, by_device, i, out_results));
    return STATUS_OK;
  }
  for (int64_t device = 0; device < total; device++) {
    for (int64_t i = 0; i < leaves; i++) {
      StringView name = devices->are_several ? sv_printf(session->arena, "d%lld_r%lld", (long long)device, (long long)i)
                                             : sv_printf(session->arena, "r%lld", (long long)i);
      add_result(session, out_results, name, i, descriptor->results[i], &by_device[device][i], -1);
    }
  }
  return STATUS_OK;
}

/* --- out --- */

static StringView label_of(Session *session, const RunResults *results, int64_t index) {
  return sv_printf(session->arena, "%.*s %.*s", SV_ARG(results->members[index].name),
                   SV_ARG(results->of_members[index].type));
}

Status run_results_write(Session *session, const RunResults *results, const HostTransfers *transfers) {
  const char *path = session_option_text(session, OPTION_OUTPUT, NULL);
  StringView bytes;
  if (path) {
    RETURN_IF_ERROR(array_file_write(session->arena, path, results->members, results->count, session->diag, &bytes));
    return driver_add_output(session, path, bytes);
  }
  /* Who asked for a comparison or times gets these alone. */
  if (session_option_given(session, OPTION_EXPECT) || session_option_given(session, OPTION_TIME)) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  for (int64_t i = 0; i < results->count; i++) {
    sb_printf(&text, "%.*s\n", SV_ARG(label_of(session, results, i)));
    array_print(&text, &results->members[i].array);
    sb_append_char(&text, '\n');
  }
  host_transfers_print(transfers, &text);
  return driver_add_output(session, "-", sb_view(&text));
}

/* --- compared --- */

static CompareRule rule_of_result(const Session *session, const CaseMeta *meta, int64_t leaf) {
  CompareRule rule = {.rtol = DEFAULT_RTOL, .atol = DEFAULT_ATOL, .sample_stride = 1};
  if (meta) rule = (CompareRule){.rtol = meta->rtol, .atol = meta->atol, .sample_stride = 1};
  if (meta && leaf < meta->result_count) rule = meta->results[leaf];
  const OptionValue *values = session->options->values;
  if (values[OPTION_RTOL].given) rule.rtol = values[OPTION_RTOL].real;
  if (values[OPTION_ATOL].given) rule.atol = values[OPTION_ATOL].real;
  return rule;
}

Status run_results_compare(Session *session, const RunResults *results, const CaseMeta *meta) {
  if (!session_option_given(session, OPTION_EXPECT)) return STATUS_OK;
  ArrayFile expected;
  RETURN_IF_ERROR(
      array_file_read(session->arena, session_option_text(session, OPTION_EXPECT, ""), session->diag, &expected));
  StringBuilder text;
  sb_init(&text, session->arena);
  Status status = STATUS_OK;
  for (int64_t i = 0; i < results->count; i++) {
    const ArrayMember *member = &results->members[i];
    const NpyArray *want = array_file_find(&expected, member->name);
    if (!want)
      return diag_error(session->diag, STATUS_INVALID, NO_LOC, "expect", "'%.*s' has no array '%.*s'",
                        SV_ARG(expected.path), SV_ARG(member->name));
    CompareRule rule = rule_of_result(session, meta, results->of_members[i].leaf);
    CompareReport report;
    compare_arrays(want, &member->array, &rule, &report);
    compare_report_print(&text, label_of(session, results, i), want, &member->array, &rule, &report);
    if (!report.ok || results->of_members[i].differing >= 0) status = STATUS_MISMATCH;
  }
  RETURN_IF_ERROR(driver_add_output(session, "-", sb_view(&text)));
  return status;
}
