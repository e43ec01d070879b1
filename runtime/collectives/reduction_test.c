#include "runtime/collectives/reduction.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "xlac/abi.h"

static void reduce(int32_t type, int32_t reducer, const void *in, void *inout, int64_t count) {
  ReductionFunction *function = reduction_function(type, reducer);
  assert_non_null(function);
  function(in, inout, count);
}

static void reduction_function_keeps_nan_in_extremes(void **state) {
  (void)state;
  static const int32_t reducers[] = {XLAC_REDUCE_MINIMUM, XLAC_REDUCE_MAXIMUM};
  for (int i = 0; i < 2; i++) {
    float a[] = {NAN, 1, 2}, b[] = {1, NAN, 3};
    reduce(XLAC_F32, reducers[i], b, a, 3);
    assert_true(isnan(a[0]));
    assert_true(isnan(a[1]));
    assert_true(a[2] == (i == 0 ? 2 : 3));
    uint16_t c[] = {0x7FC0, 0x3F80}, d[] = {0x3F80, 0x7FC0}; /* bf16: NaN, 1 and 1, NaN */
    reduce(XLAC_BF16, reducers[i], d, c, 2);
    assert_int_equal(c[0] & 0x7FFF, 0x7FC0);
    assert_int_equal(c[1] & 0x7FFF, 0x7FC0);
  }
}

static void reduction_function_orders_zeroes(void **state) {
  (void)state;
  float a[] = {0.0f, -0.0f}, b[] = {-0.0f, 0.0f};
  reduce(XLAC_F32, XLAC_REDUCE_MINIMUM, b, a, 2);
  assert_true(signbit(a[0]) && signbit(a[1]));
  float c[] = {0.0f, -0.0f};
  reduce(XLAC_F32, XLAC_REDUCE_MAXIMUM, b, c, 2);
  assert_false(signbit(c[0]) || signbit(c[1]));
}

/* 256 + 1 lies between two bf16 and is rounded to the even one, 256; 1 + 2^-8 likewise, 1 + 3·2^-8 up to 1 + 2^-6. */
static void reduction_function_rounds_halves_to_even(void **state) {
  (void)state;
  uint16_t a[] = {0x4380, 0x3F80, 0x3F80}, b[] = {0x3F80, 0x3B80, 0x3C40};
  reduce(XLAC_BF16, XLAC_REDUCE_ADD, b, a, 3);
  assert_int_equal(a[0], 0x4380);
  assert_int_equal(a[1], 0x3F80);
  assert_int_equal(a[2], 0x3F82);
  uint16_t c = 0x6800, d = 0x3C00; /* f16: 2048 + 1 */
  reduce(XLAC_F16, XLAC_REDUCE_ADD, &d, &c, 1);
  assert_int_equal(c, 0x6800);
}

static void reduction_function_wraps_integers(void **state) {
  (void)state;
  int8_t a[] = {127, -128}, b[] = {1, -1};
  reduce(XLAC_S8, XLAC_REDUCE_ADD, b, a, 2);
  assert_int_equal(a[0], -128);
  assert_int_equal(a[1], 127);
  uint16_t c = 0xFFFF, d = 0xFFFF;
  reduce(XLAC_U16, XLAC_REDUCE_MULTIPLY, &d, &c, 1);
  assert_int_equal(c, 1);
  int64_t e = INT64_MAX, f = 2;
  reduce(XLAC_S64, XLAC_REDUCE_MULTIPLY, &f, &e, 1);
  assert_int_equal(e, -2);
}

static void reduction_function_multiplies_complex_numbers(void **state) {
  (void)state;
  float a[] = {1, 2, 0, 1}, b[] = {3, -1, 0, 1};
  reduce(XLAC_C64, XLAC_REDUCE_MULTIPLY, b, a, 2);
  assert_true(a[0] == 5 && a[1] == 5);
  assert_true(a[2] == -1 && a[3] == 0);
}

static void reduction_function_knows_no_other_types(void **state) {
  (void)state;
  assert_null(reduction_function(XLAC_C64, XLAC_REDUCE_MINIMUM));
  assert_null(reduction_function(XLAC_F32, XLAC_REDUCE_AND));
  assert_null(reduction_function(XLAC_S4, XLAC_REDUCE_ADD));
  assert_null(reduction_function(XLAC_F8E5M2, XLAC_REDUCE_ADD));
  assert_null(reduction_function(XLAC_F32, 0));
  assert_int_equal(reduction_element_bytes(XLAC_C128), 16);
  assert_int_equal(reduction_element_bytes(XLAC_S4), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reduction_function_keeps_nan_in_extremes),
      cmocka_unit_test(reduction_function_orders_zeroes),
      cmocka_unit_test(reduction_function_rounds_halves_to_even),
      cmocka_unit_test(reduction_function_wraps_integers),
      cmocka_unit_test(reduction_function_multiplies_complex_numbers),
      cmocka_unit_test(reduction_function_knows_no_other_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
