#include "runtime/arrays/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/arrays/case_meta.h"

static NpyArray floats(const float *data, const int64_t *dims) {
  return (NpyArray){{'f', 4}, 1, dims, dims[0], data};
}

static CompareReport compare_floats(const float *want, const float *got, int64_t count, double rtol, double atol) {
  int64_t dims[] = {count};
  NpyArray a = floats(want, dims), b = floats(got, dims);
  CompareRule rule = {.rtol = rtol, .atol = atol, .sample_stride = 1};
  CompareReport report;
  compare_arrays(&a, &b, &rule, &report);
  return report;
}

static void compare_arrays_takes_both_tolerances(void **state) {
  (void)state;
  float want[] = {0, 100, -100}, close[] = {0.001f, 100.5f, -100.5f}, far[] = {0.001f, 102, -100};
  assert_true(compare_floats(want, close, 3, 0.01, 0.01).ok);
  CompareReport report = compare_floats(want, far, 3, 0.01, 0.01);
  assert_false(report.ok);
  assert_int_equal(report.mismatches, 1);
  assert_int_equal(report.worst, 1);
  assert_true(report.max_abs_error == 2.0);
}

static void compare_arrays_nan_and_infinity(void **state) {
  (void)state;
  float want[] = {NAN, INFINITY, -INFINITY}, opposite[] = {NAN, -INFINITY, -INFINITY},
        finite[] = {1, INFINITY, -INFINITY};
  assert_true(compare_floats(want, want, 3, 0, 0).ok);
  assert_int_equal(compare_floats(want, opposite, 3, 1, 1e30).worst, 1);
  assert_false(compare_floats(want, opposite, 3, 1, 1e30).ok);
  assert_false(compare_floats(want, finite, 3, 1, 1e30).ok);
}

/* Beside a number that no tolerance helps and an infinity, in either order. */
static void compare_arrays_nan_is_the_worst(void **state) {
  (void)state;
  float want[] = {1, 2, 3, NAN}, got[] = {5, INFINITY, NAN, NAN}, missing[] = {1, 2, 3, 4};
  CompareReport report = compare_floats(want, got, 4, 0, 0);
  assert_int_equal(report.mismatches, 3);
  assert_int_equal(report.worst, 2);
  assert_true(isnan(report.max_abs_error));
  report = compare_floats(want, missing, 4, 1, 1e30);
  assert_int_equal(report.worst, 3);
  assert_true(isnan(report.max_abs_error));
  got[2] = 3;
  report = compare_floats(want, got, 4, 0, 0);
  assert_true(isinf(report.max_abs_error));
  assert_true(compare_floats(want, want, 4, 0, 0).max_abs_error == 0.0);
}

static void compare_arrays_integers_exactly(void **state) {
  (void)state;
  int64_t want[] = {INT64_MAX, 5}, got[] = {INT64_MAX - 1, 5}, dims[] = {2};
  NpyArray a = {{'i', 8}, 1, dims, 2, want}, b = {{'i', 8}, 1, dims, 2, got};
  CompareRule rule = {.rtol = 1, .atol = 1, .sample_stride = 1};
  CompareReport report;
  compare_arrays(&a, &b, &rule, &report);
  assert_false(report.ok);
  assert_int_equal(report.mismatches, 1);
  rule.max_mismatch = 0.5;
  compare_arrays(&a, &b, &rule, &report);
  assert_true(report.ok);
}

static void compare_arrays_complex_by_modulus(void **state) {
  (void)state;
  float want[] = {100, 0}, got[] = {100, 0.5f}; /* the imaginary part alone is far from 0 */
  int64_t dims[] = {1};
  NpyArray a = {{'c', 8}, 1, dims, 1, want}, b = {{'c', 8}, 1, dims, 1, got};
  CompareRule rule = {.rtol = 0.01, .atol = 0, .sample_stride = 1};
  CompareReport report;
  compare_arrays(&a, &b, &rule, &report);
  assert_true(report.ok);
}

static void compare_arrays_samples_and_checks_the_norm(void **state) {
  (void)state;
  float got[] = {3, 0, 4, 0, 0}, want[] = {3, 4, 0};
  int64_t got_dims[] = {5}, want_dims[] = {3};
  NpyArray a = floats(want, want_dims), b = floats(got, got_dims);
  CompareRule rule = {.rtol = 1e-6, .sample_stride = 2, .has_stats = true, .mean = 1.4, .l2 = 5};
  CompareReport report;
  compare_arrays(&a, &b, &rule, &report);
  assert_true(report.ok);
  got[1] = 1; /* not in the sample */
  compare_arrays(&a, &b, &rule, &report);
  assert_int_equal(report.mismatches, 0);
  assert_false(report.stats_ok);
  assert_false(report.ok);
}

static void compare_arrays_shapes_must_agree(void **state) {
  (void)state;
  float data[6] = {0};
  int64_t six[] = {6}, matrix[] = {2, 3};
  NpyArray a = floats(data, six), b = {{'f', 4}, 2, matrix, 6, data};
  CompareRule rule = {.sample_stride = 1};
  CompareReport report;
  compare_arrays(&a, &b, &rule, &report);
  assert_false(report.ok);
  assert_false(report.same_shape);
}

static void case_meta_parse_reads_tolerances(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  CaseMeta meta;
  StringView text =
      SV("{\"seed\": 7, \"rtol\": 0.5, \"atol\": 0.25, \"results\": [{\"rtol\": 0.125, \"sample_stride\": 3,"
         "\"stats\": {\"mean\": NaN, \"l2\": 1}}, {\"max_mismatch\": 0.1, \"stats\": {\"mean\": 2, \"l2\": 3}}]}");
  assert_int_equal(case_meta_parse(arena, SV("m"), text, &diag, &meta), STATUS_OK);
  assert_int_equal(meta.seed, 7);
  assert_int_equal(meta.result_count, 2);
  assert_true(meta.results[0].rtol == 0.125 && meta.results[0].atol == 0.25);
  assert_int_equal(meta.results[0].sample_stride, 3);
  assert_false(meta.results[0].has_stats);
  assert_true(meta.results[1].has_stats && meta.results[1].l2 == 3.0);
  text =
      SV("{\"inputs\": \"device-seed\", \"params\": [{\"dims\": [2, 1], \"sharding\": \"{replicated}\", "
         "\"per_device\": [[1, 2], [[3], [true]]]}, {}], \"results\": [{\"dims\": []}]}");
  assert_int_equal(case_meta_parse(arena, SV("m"), text, &diag, &meta), STATUS_OK);
  assert_true(meta.has_device_seeds);
  const CaseLeaf *leaf = &meta.parameter_leaves[0];
  assert_int_equal(leaf->rank, 2);
  assert_int_equal(leaf->dims[0], 2);
  assert_true(sv_equal(leaf->sharding, SV("{replicated}")));
  assert_int_equal(leaf->value_count, 4);
  assert_true(leaf->device_values[1] == 2 && leaf->device_values[3] == 1);
  assert_null(meta.parameter_leaves[1].dims);
  assert_int_equal(meta.parameter_leaves[1].sharding.size, 0);
  assert_non_null(meta.result_leaves[0].dims);
  assert_int_equal(case_meta_parse(arena, SV("m"), SV("[]"), &diag, &meta), STATUS_INVALID);
  assert_int_equal(
      case_meta_parse(arena, SV("m"), SV("{\"params\": [{\"init\": {\"kind\": \"nosuch\"}}]}"), &diag, &meta),
      STATUS_INVALID);
  assert_int_equal(case_meta_parse(arena, SV("m"), SV("{\"a"), &diag, &meta), STATUS_INVALID);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compare_arrays_takes_both_tolerances),
      cmocka_unit_test(compare_arrays_nan_and_infinity),
      cmocka_unit_test(compare_arrays_nan_is_the_worst),
      cmocka_unit_test(compare_arrays_integers_exactly),
      cmocka_unit_test(compare_arrays_complex_by_modulus),
      cmocka_unit_test(compare_arrays_samples_and_checks_the_norm),
      cmocka_unit_test(compare_arrays_shapes_must_agree),
      cmocka_unit_test(case_meta_parse_reads_tolerances),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
