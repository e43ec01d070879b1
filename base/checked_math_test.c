#include "base/checked_math.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void operations_within_range_give_results(void **state) {
  (void)state;
  int64_t result;
  assert_true(checked_add(INT64_MAX - 1, 1, &result));
  assert_true(result == INT64_MAX);
  assert_true(checked_sub(INT64_MIN + 1, 1, &result));
  assert_true(result == INT64_MIN);
  assert_true(checked_mul(INT64_C(3037000499), INT64_C(3037000499), &result));
  assert_true(result == INT64_C(9223372030926249001));
}

static void operations_out_of_range_are_refused(void **state) {
  (void)state;
  int64_t result;
  assert_false(checked_add(INT64_MAX, 1, &result));
  assert_false(checked_sub(INT64_MIN, 1, &result));
  assert_false(checked_mul(INT64_C(3037000500), INT64_C(3037000500), &result));
  assert_false(checked_mul(INT64_MIN, -1, &result));
}

static void rounding_up_at_the_edges(void **state) {
  (void)state;
  assert_int_equal(ceil_div(0, 7), 0);
  assert_int_equal(ceil_div(7, 7), 1);
  assert_int_equal(ceil_div(8, 7), 2);
  assert_true(ceil_div(INT64_MAX, 2) == INT64_C(4611686018427387904));
  assert_int_equal(align_up(0, 64), 0);
  assert_int_equal(align_up(65, 64), 128);
  assert_int_equal(align_up(9, 3), 9);
}

static void rounding_down_is_towards_minus_infinity(void **state) {
  (void)state;
  assert_int_equal(floor_div(7, 7), 1);
  assert_int_equal(floor_div(6, 7), 0);
  assert_int_equal(floor_div(-1, 7), -1);
  assert_int_equal(floor_div(-7, 7), -1);
  assert_int_equal(floor_div(-8, 7), -2);
  assert_true(floor_div(INT64_MIN, 1) == INT64_MIN);
}

static void saturated_sums_stop_at_the_edges(void **state) {
  (void)state;
  assert_int_equal(saturated_add(2, -5), -3);
  assert_true(saturated_add(INT64_MAX, 1) == INT64_MAX);
  assert_true(saturated_add(INT64_MIN, -1) == INT64_MIN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operations_within_range_give_results),
      cmocka_unit_test(operations_out_of_range_are_refused),
      cmocka_unit_test(rounding_up_at_the_edges),
      cmocka_unit_test(rounding_down_is_towards_minus_infinity),
      cmocka_unit_test(saturated_sums_stop_at_the_edges),
  };
  return cmocka_run_group_tests_name("checked_math", tests, NULL, NULL);
}
