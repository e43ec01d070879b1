#include "runtime/engines/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/large_pages.h"
#include "runtime/arrays/tensor_values.h"

static const int64_t dims[] = {2, 3}, column_major[] = {0, 1}, row_major[] = {1, 0};

/* Adds 1 to its aliased parameter in place, and says through the workspace that it has one. */
static int increment(const void *const *arguments, void *const *results, void *workspace,
                     const XlacRunOptions *options) {
  if (options != NULL || arguments[0] != results[0]) return 9;
  memset(workspace, 1, 16);
  float *values = results[0];
  for (int i = 0; i < 6; i++) values[i] += 1;
  return 0;
}

static const XlacTensor parameter = {"x", XLAC_F32, 2, dims, row_major, 24, 4, 0};
static const XlacTensor result = {"y", XLAC_F32, 2, dims, row_major, 24, 4, 0};
static const XlacDescriptor descriptor = {sizeof descriptor,
                                          XLAC_ABI_VERSION,
                                          0,
                                          "m",
                                          1,
                                          1,
                                          &parameter,
                                          &result,
                                          16,
                                          64,
                                          128,
                                          0,
                                          0,
                                          NULL,
                                          NULL,
                                          NULL,
                                          1,
                                          1,
                                          0,
                                          NULL,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0,
                                          NULL};

static void runner_execute_keeps_aliased_arguments(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  ModuleRun *run = runner_create(arena, increment, &descriptor, NULL);
  assert_int_equal((uintptr_t)run->workspace % 64, 0);
  memset(run->arguments[0], 0, 24);
  for (int i = 0; i < 3; i++) {
    double seconds = -1;
    assert_int_equal(runner_execute(run, &diag, &seconds), STATUS_OK);
    assert_true(seconds >= 0);
    assert_true(((float *)run->results[0])[5] == 1.0f);
  }
  assert_true(((float *)run->arguments[0])[5] == 0.0f);
  arena_destroy(arena);
}

/* Uses the scratch of all workers. */
static int write_all_scratch(const void *const *arguments, void *const *results, void *workspace,
                             const XlacRunOptions *options) {
  (void)arguments, (void)results;
  if (options == NULL || options->worker_count != 3) return 9;
  memset(workspace, 1, 16 + 2 * 128);
  return 0;
}

static void no_parallel_for(void *user_data, void (*body)(void *, int64_t, int64_t), void *context, int64_t n) {
  (void)user_data, (void)body, (void)context, (void)n;
}

static void runner_create_has_scratch_for_each_worker(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  XlacRunOptions options = {.struct_size = sizeof options, .parallel_for = no_parallel_for, .worker_count = 3};
  ModuleRun *run = runner_create(arena, write_all_scratch, &descriptor, &options);
  assert_int_equal(run->workspace_bytes, 16 + 2 * 128);
  assert_int_equal(runner_execute(run, &diag, NULL), STATUS_OK);
  options.parallel_for = NULL; /* one thread, whatever the count */
  assert_int_equal(runner_create(arena, write_all_scratch, &descriptor, &options)->workspace_bytes, 16);
  arena_destroy(arena);
}

/* Arrays with room for a large page of the system begin at one. */
static void runner_create_has_large_arrays_in_large_pages(void **state) {
  (void)state;
  Arena *arena = arena_create();
  XlacTensor large = parameter, large_result = result;
  large.bytes = large_result.bytes = 3 * LARGE_PAGE_BYTES / 2;
  XlacDescriptor of_large = descriptor;
  of_large.parameters = &large;
  of_large.results = &large_result;
  of_large.workspace_bytes = 2 * LARGE_PAGE_BYTES;
  ModuleRun *run = runner_create(arena, increment, &of_large, NULL);
  assert_int_equal((uintptr_t)run->arguments[0] % LARGE_PAGE_BYTES, 0);
  assert_int_equal((uintptr_t)run->results[0] % LARGE_PAGE_BYTES, 0);
  assert_int_equal((uintptr_t)run->workspace % LARGE_PAGE_BYTES, 0);
  arena_destroy(arena);
}

/* A module: the argument's first float, doubled once before any run, plus 1. */
static int double_first(const void *const *arguments, void *prepared, void *workspace, const XlacRunOptions *options) {
  (void)workspace, (void)options;
  *(float *)prepared = 2 * *(const float *)arguments[0];
  return 0;
}

static int plus_one(const void *const *arguments, void *const *results, void *workspace,
                    const XlacRunOptions *options) {
  (void)arguments, (void)workspace;
  if (options == NULL || options->prepared == NULL) return XLAC_CALL_FAILED;
  *(float *)results[0] = *(const float *)options->prepared + 1;
  return 0;
}

static int fail_to_prepare(const void *const *arguments, void *prepared, void *workspace,
                           const XlacRunOptions *options) {
  (void)arguments, (void)prepared, (void)workspace, (void)options;
  return XLAC_CALL_FAILED;
}

static XlacDescriptor descriptor_with(XlacPrepareFunction prepare) {
  XlacDescriptor with = descriptor;
  with.prepared_bytes = 4;
  with.prepared_alignment = 64;
  with.prepare = prepare;
  return with;
}

static void runner_runs_nothing_that_is_not_prepared(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  XlacDescriptor with = descriptor_with(fail_to_prepare);
  ModuleRun *run = runner_create(arena, plus_one, &with, NULL);
  assert_int_equal(runner_execute(run, &diag, NULL), STATUS_INVALID);
  assert_int_equal(runner_execute(run, &diag, NULL), STATUS_INVALID);
  arena_destroy(arena);
}

static void runner_prepares_once_before_the_first_run(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  XlacDescriptor with = descriptor_with(double_first);
  ModuleRun *run = runner_create(arena, plus_one, &with, NULL);
  assert_int_equal((uintptr_t)run->prepared % 64, 0);
  *(float *)run->arguments[0] = 3;
  assert_int_equal(runner_execute(run, &diag, NULL), STATUS_OK);
  assert_true(*(float *)run->results[0] == 7);
  *(float *)run->arguments[0] = 100;
  assert_int_equal(runner_execute(run, &diag, NULL), STATUS_OK);
  assert_true(*(float *)run->results[0] == 7);
  arena_destroy(arena);
}

static void run_times_of_an_even_number(void **state) {
  (void)state;
  double seconds[] = {4, 1, 3, 2};
  RunTimes times = run_times_of(seconds, 4);
  assert_true(times.min == 1 && times.median == 2.5 && times.mean == 2.5);
  assert_int_equal(times.count, 4);
}

static void tensor_store_logical_follows_the_layout(void **state) {
  (void)state;
  XlacTensor tensor = {"x", XLAC_S32, 2, dims, column_major, 24, 4, -1};
  int32_t logical[] = {0, 1, 2, 3, 4, 5}, storage[6], back[6];
  tensor_store_logical(&tensor, logical, storage);
  static const int32_t want[] = {0, 3, 1, 4, 2, 5};
  assert_memory_equal(storage, want, sizeof want);
  tensor_load_logical(&tensor, storage, back);
  assert_memory_equal(back, logical, sizeof logical);
}

static void tensor_from_npy_converts_within_kind(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  static const int64_t one[] = {3}, first[] = {0};
  XlacTensor bf16 = {"x", XLAC_BF16, 1, one, first, 6, 2, -1}, u4 = {"x", XLAC_U4, 1, one, first, 3, 1, -1};
  double reals[] = {1.0, -2.5, 1e40};
  int64_t integers[] = {0, 15, 16};
  NpyArray real_array = {{'f', 8}, 1, one, 3, reals}, integer_array = {{'i', 8}, 1, one, 3, integers};
  uint16_t halves[3];
  assert_int_equal(tensor_from_npy(arena, &bf16, &real_array, SV("x"), &diag, halves), STATUS_OK);
  assert_int_equal(halves[0], 0x3F80);
  assert_int_equal(halves[1], 0xC020);
  assert_int_equal(halves[2], 0x7F80);
  uint8_t nibbles[3];
  assert_int_equal(tensor_from_npy(arena, &u4, &integer_array, SV("x"), &diag, nibbles),
                   STATUS_INVALID); /* 16 does not fit */
  assert_int_equal(tensor_from_npy(arena, &u4, &real_array, SV("x"), &diag, nibbles), STATUS_INVALID);
  integers[2] = 7;
  assert_int_equal(tensor_from_npy(arena, &u4, &integer_array, SV("x"), &diag, nibbles), STATUS_OK);
  assert_int_equal(nibbles[1], 15);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runner_execute_keeps_aliased_arguments),
      cmocka_unit_test(runner_create_has_scratch_for_each_worker),
      cmocka_unit_test(runner_create_has_large_arrays_in_large_pages),
      cmocka_unit_test(runner_prepares_once_before_the_first_run),
      cmocka_unit_test(runner_runs_nothing_that_is_not_prepared),
      cmocka_unit_test(run_times_of_an_even_number),
      cmocka_unit_test(tensor_store_logical_follows_the_layout),
      cmocka_unit_test(tensor_from_npy_converts_within_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
