#include "hlo/type/float_types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Types small enough to look at every pattern. */
static const PrimitiveType NARROW[] = {
    TYPE_F16,        TYPE_BF16,       TYPE_F8E5M2,    TYPE_F8E4M3,   TYPE_F8E4M3FN, TYPE_F8E4M3B11FNUZ, TYPE_F8E3M4,
    TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F8E8M0FNU, TYPE_F4E2M1FN, TYPE_F6E2M3FN, TYPE_F6E3M2FN,
};

enum { NARROW_COUNT = sizeof(NARROW) / sizeof(NARROW[0]) };

#define EACH_NARROW(type)            \
  PrimitiveType type = TYPE_INVALID; \
  for (int row = 0; row < NARROW_COUNT && (type = NARROW[row]); row++)

static uint64_t pattern_count(PrimitiveType type) {
  return UINT64_C(1) << type_bits(type);
}

/* The facts of each format, from its definition (IEEE 754; OCP 8-bit floating point and microscaling formats;
 * Graphcore and AMD for fnuz), as patterns: one, smallest positive, largest finite, and what NaN, -NaN and infinity
 * become. */
typedef struct FloatFacts {
  PrimitiveType type;
  uint64_t one;
  double smallest;
  uint64_t largest_bits;
  double largest;
  uint64_t nan, negative_nan, infinity, negative_infinity;
} FloatFacts;

static const FloatFacts FACTS[] = {
    {TYPE_F64, 0x3ff0000000000000, 0x1p-1074, 0x7fefffffffffffff, 0x1.fffffffffffffp1023, 0x7ff8000000000000,
     0xfff8000000000000, 0x7ff0000000000000, 0xfff0000000000000},
    {TYPE_F32, 0x3f800000, 0x1p-149, 0x7f7fffff, 0x1.fffffep127, 0x7fc00000, 0xffc00000, 0x7f800000, 0xff800000},
    {TYPE_F16, 0x3c00, 0x1p-24, 0x7bff, 65504, 0x7e00, 0xfe00, 0x7c00, 0xfc00},
    {TYPE_BF16, 0x3f80, 0x1p-133, 0x7f7f, 0x1.fep127, 0x7fc0, 0xffc0, 0x7f80, 0xff80},
    {TYPE_F8E5M2, 0x3c, 0x1p-16, 0x7b, 57344, 0x7e, 0xfe, 0x7c, 0xfc},
    {TYPE_F8E4M3, 0x38, 0x1p-9, 0x77, 240, 0x7c, 0xfc, 0x78, 0xf8},
    {TYPE_F8E3M4, 0x30, 0x1p-6, 0x6f, 15.5, 0x78, 0xf8, 0x70, 0xf0},
    {TYPE_F8E4M3FN, 0x38, 0x1p-9, 0x7e, 448, 0x7f, 0xff, 0x7f, 0xff},
    {TYPE_F8E4M3B11FNUZ, 0x58, 0x1p-13, 0x7f, 30, 0x80, 0x80, 0x80, 0x80},
    {TYPE_F8E5M2FNUZ, 0x40, 0x1p-17, 0x7f, 57344, 0x80, 0x80, 0x80, 0x80},
    {TYPE_F8E4M3FNUZ, 0x40, 0x1p-10, 0x7f, 240, 0x80, 0x80, 0x80, 0x80},
    {TYPE_F8E8M0FNU, 0x7f, 0x1p-127, 0xfe, 0x1p127, 0xff, 0xff, 0xff, 0xff},
    {TYPE_F4E2M1FN, 0x2, 0.5, 0x7, 6, 0x8, 0x8, 0x7, 0xf},
    {TYPE_F6E2M3FN, 0x8, 0.125, 0x1f, 7.5, 0x20, 0x20, 0x1f, 0x3f},
    {TYPE_F6E3M2FN, 0xc, 0.0625, 0x1f, 28, 0x20, 0x20, 0x1f, 0x3f},
};

static void float_formats_are_as_defined(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(FACTS) / sizeof(FACTS[0]); i++) {
    const FloatFacts *facts = &FACTS[i];
    PrimitiveType type = facts->type;
    uint64_t smallest_bits = type == TYPE_F8E8M0FNU ? 0 : 1;
    assert_true(float_decode(type, facts->one) == 1.0);
    assert_true(float_decode(type, smallest_bits) == facts->smallest);
    assert_true(float_decode(type, facts->largest_bits) == facts->largest);
    assert_true(float_max(type) == facts->largest);
    assert_true(float_lowest(type) == (type == TYPE_F8E8M0FNU ? facts->smallest : -facts->largest));
    assert_int_equal(float_encode(type, 1.0), facts->one);
    assert_int_equal(float_encode(type, (double)NAN), facts->nan);
    assert_int_equal(float_encode(type, -(double)NAN), facts->negative_nan);
    assert_int_equal(float_encode(type, (double)INFINITY), facts->infinity);
    assert_int_equal(float_encode(type, -(double)INFINITY), facts->negative_infinity);
    assert_int_equal(float_has_infinity(type), isinf(float_decode(type, facts->infinity)));
    assert_int_equal(float_has_nan(type), isnan(float_decode(type, facts->nan)));
  }
}

static void float_zeros_keep_their_sign_where_there_is_one(void **state) {
  (void)state;
  EACH_NARROW(type) {
    if (type == TYPE_F8E8M0FNU) continue;
    bool is_fnuz = type == TYPE_F8E4M3B11FNUZ || type == TYPE_F8E5M2FNUZ || type == TYPE_F8E4M3FNUZ;
    uint64_t negative_zero = is_fnuz ? 0 : pattern_count(type) / 2;
    assert_int_equal(float_encode(type, 0.0), 0);
    assert_int_equal(float_encode(type, -0.0), negative_zero);
    assert_int_equal(float_encode(type, -0x1p-1074), negative_zero);
    assert_int_equal(signbit(float_decode(type, negative_zero)) != 0, !is_fnuz);
  }
}

static void float_encode_inverts_decode_for_every_pattern(void **state) {
  (void)state;
  EACH_NARROW(type) {
    for (uint64_t bits = 0; bits < pattern_count(type); bits++) {
      uint64_t got = float_encode(type, float_decode(type, bits));
      if (got != bits)
        fail_msg("%s 0x%llx became 0x%llx", type_text(type), (unsigned long long)bits, (unsigned long long)got);
    }
  }
}

static void float_encode_inverts_decode_of_wide_types(void **state) {
  (void)state;
  const uint64_t singles[] = {0,          1,          0x007fffff, 0x00800000, 0x7f7fffff,
                              0x7f800000, 0x7f800001, 0x7fc00001, 0xffffffff, 0x80000000};
  for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
    assert_int_equal(float_encode(TYPE_F32, float_decode(TYPE_F32, singles[i])), singles[i]);
    assert_int_equal(float_encode(TYPE_F64, float_decode(TYPE_F64, singles[i] << 32)), singles[i] << 32);
  }
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 65521) {
    assert_int_equal(float_encode(TYPE_F32, float_decode(TYPE_F32, bits)), bits);
  }
}

static void expect_encoded(PrimitiveType type, double value, uint64_t expected) {
  uint64_t got = float_encode(type, value);
  if (got != expected) {
    fail_msg("%s %a became 0x%llx, not 0x%llx", type_text(type), value, (unsigned long long)got,
             (unsigned long long)expected);
  }
}

/* Positive patterns count upwards through the values, so the neighbour of a pattern is the neighbour of the value, and
 * the even one of two has its last bit clear.  All midpoints and what lies right beside them are exact doubles. */
static void float_encode_rounds_to_nearest_even(void **state) {
  (void)state;
  EACH_NARROW(type) {
    if (type == TYPE_F8E8M0FNU) continue;
    uint64_t sign = pattern_count(type) / 2, largest = float_encode(type, float_max(type));
    for (uint64_t low = 0; low < largest; low++) {
      double a = float_decode(type, low), b = float_decode(type, low + 1), middle = (a + b) / 2;
      uint64_t even = low % 2 == 0 ? low : low + 1;
      assert_true(a < b);
      expect_encoded(type, middle, even);
      expect_encoded(type, nextafter(middle, b), low + 1);
      expect_encoded(type, nextafter(middle, a), low);
      bool has_negative = low > 0 || float_encode(type, -0.0) != 0;
      if (has_negative) expect_encoded(type, nextafter(-middle, -a), sign | low);
      expect_encoded(type, nextafter(-middle, -b), sign | (low + 1));
    }
  }
}

/* Beyond the largest the next value, had it a pattern, decides. */
static void float_encode_overflows_from_half_a_unit(void **state) {
  (void)state;
  EACH_NARROW(type) {
    uint64_t largest = float_encode(type, float_max(type));
    double step = float_max(type) - float_decode(type, largest - 1);
    if (type == TYPE_F8E8M0FNU) step = float_max(type);
    double edge = float_max(type) + step / 2;
    uint64_t overflow = float_encode(type, (double)INFINITY);
    /* The tie goes to the even one, which f8e4m3fn alone has below: its NaN is odd. */
    uint64_t at_edge = type == TYPE_F8E4M3FN ? largest : overflow;
    expect_encoded(type, type == TYPE_F8E8M0FNU ? (double)nextafterf((float)edge, 0) : nextafter(edge, 0), largest);
    expect_encoded(type, edge, at_edge);
    expect_encoded(type, nextafter(edge, (double)INFINITY), overflow);
    expect_encoded(type, 0x1.fffffffffffffp1023, overflow);
    if (type != TYPE_F8E8M0FNU) expect_encoded(type, -0x1.fffffffffffffp1023, float_encode(type, -(double)INFINITY));
  }
}

/* Values next to a tie of the narrow type that a detour through f32 would put onto the tie. */
static void float_encode_rounds_once(void **state) {
  (void)state;
  assert_int_equal(float_encode(TYPE_BF16, 1.00390625001), 0x3f81);
  assert_int_equal(float_encode_literal(TYPE_BF16, 1.00390625001), 0x3f80); /* XLA's parser prints 1 */
  assert_int_equal(float_encode(TYPE_F16, 1.00048828125001), 0x3c01);
  assert_int_equal(float_encode_literal(TYPE_F16, 1.00048828125001), 0x3c00);
  assert_int_equal(float_encode(TYPE_F8E5M2, 1.12500000000001), 0x3d);
  assert_int_equal(float_encode_literal(TYPE_F8E5M2, 1.12500000000001), 0x3d);
}

/* Every power's neighbours, by ml_dtypes' rule: rounded to f32, then halfway and above goes up, but what is above the
 * smallest and below the middle. */
static void float_encode_powers_of_two(void **state) {
  (void)state;
  const PrimitiveType type = TYPE_F8E8M0FNU;
  for (uint64_t bits = 1; bits < 0xfe; bits++) {
    double power = ldexp(1.0, (int)bits - 127);
    assert_true(float_decode(type, bits) == power);
    expect_encoded(type, (double)nextafterf((float)(1.5 * power), 0), bits);
    expect_encoded(type, nextafter(1.5 * power, 0), bits + 1);
    expect_encoded(type, 1.5 * power, bits + 1);
  }
  expect_encoded(type, nextafter(0x1p-127, 1), 0);
  expect_encoded(type, (double)nextafterf(0x1p-127F, 1), 1);
  expect_encoded(type, 0x1p-149, 0);
  expect_encoded(type, 0x1p-150, 0xff); /* 0 in f32 */
  expect_encoded(type, 0x1p-1074, 0xff);
  expect_encoded(type, 0.0, 0xff);
  expect_encoded(type, -1.0, 0xff);
}

static void float_encode_single_like_the_machine(void **state) {
  (void)state;
  const double values[] = {
      0.1, 1e300, -1e300, 1e-45, 7e-46, -0.0, 16777217.0, 16777219.0, 0x1.fffffefffffffp127, 0x1.ffffffp127};
  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
    float single = (float)values[i];
    uint32_t bits = 0;
    memcpy(&bits, &single, sizeof(bits));
    assert_int_equal(float_encode(TYPE_F32, values[i]), bits);
  }
}

static void float_encode_int_rounds_once(void **state) {
  (void)state;
  /* 2^54 + 2^30 + 1 lies above the tie between two singles; as a double it lies on it. */
  const int64_t above_tie = (INT64_C(1) << 54) + (INT64_C(1) << 30) + 1;
  assert_true(float_decode(TYPE_F32, float_encode_int(TYPE_F32, above_tie)) == 0x1p54 + 0x1p31);
  assert_true(float_decode(TYPE_F32, float_encode_int(TYPE_F32, -above_tie)) == -0x1p54 - 0x1p31);
  assert_true(float_decode(TYPE_F32, float_encode_int(TYPE_F32, above_tie - 1)) == 0x1p54);
  assert_true(float_decode(TYPE_F32, float_encode_int(TYPE_F32, above_tie - 2)) == 0x1p54);
  /* The same with 2^62 and bf16: half a unit is 2^54. */
  const int64_t bf16_tie = (INT64_C(1) << 62) + (INT64_C(1) << 54);
  assert_true(float_decode(TYPE_BF16, float_encode_int(TYPE_BF16, bf16_tie)) == 0x1p62);
  assert_true(float_decode(TYPE_BF16, float_encode_int(TYPE_BF16, bf16_tie + 1)) == 0x1p62 + 0x1p55);
  assert_true(float_decode(TYPE_F64, float_encode_int(TYPE_F64, INT64_MIN)) == -0x1p63);
  assert_true(float_decode(TYPE_F32, float_encode_int(TYPE_F32, INT64_MIN)) == -0x1p63);
  assert_int_equal(float_encode_int(TYPE_F16, INT64_MAX), 0x7c00);
}

static void float_nan_payloads(void **state) {
  (void)state;
  uint64_t bits = 0;
  assert_true(float_encode_nan(TYPE_F32, false, 1, &bits));
  assert_int_equal(bits, 0x7f800001);
  assert_int_equal(float_nan_payload(TYPE_F32, bits), 1);
  assert_true(float_encode_nan(TYPE_F16, true, 0x3ff, &bits));
  assert_int_equal(bits, 0xffff);
  assert_true(float_encode_nan(TYPE_F8E5M2, false, 3, &bits));
  assert_int_equal(bits, 0x7f);
  assert_true(float_encode_nan(TYPE_F64, false, 0xfffffffffffff, &bits));
  assert_true(bits == UINT64_C(0x7fffffffffffffff));
  /* The quiet bit alone is plain nan. */
  assert_true(float_encode_nan(TYPE_F32, true, 0x400000, &bits));
  assert_int_equal(bits, 0xffc00000);
  assert_int_equal(float_nan_payload(TYPE_F32, bits), 0);
  assert_int_equal(float_nan_payload(TYPE_F32, 0x7f800000), 0);
}

static void float_nan_payloads_too_large_are_refused(void **state) {
  (void)state;
  uint64_t bits = 0;
  EACH_NARROW(type) {
    assert_false(float_encode_nan(type, false, float_nan_payload_max(type) + 1, &bits));
    assert_true(float_encode_nan(type, false, float_nan_payload_max(type), &bits));
    assert_int_equal(float_has_nan_payload(type), float_nan_payload_max(type) > 0);
    assert_true(float_encode_nan(type, true, 0, &bits));
    assert_int_equal(bits, float_encode(type, -(double)NAN));
  }
  assert_false(float_encode_nan(TYPE_F32, false, 0x800000, &bits));
  assert_int_equal(float_nan_payload_max(TYPE_BF16), 0x7f);
  assert_int_equal(float_nan_payload_max(TYPE_F8E4M3FN), 0);
}

/* Verdicts of XLA's parser. */
static void float_in_range_when_the_rounded_value_is(void **state) {
  (void)state;
  const struct {
    PrimitiveType type;
    double value;
    bool is_in_range;
  } rows[] = {
      {TYPE_F16, 65519, true},
      {TYPE_F16, 65520, false},
      {TYPE_F16, 65519.99999, false},
      {TYPE_F16, -65520, false},
      {TYPE_F32, 3.4028235677973362e38, true},
      {TYPE_F32, 3.4028235677973366e38, false},
      {TYPE_F64, 1e308, true},
      {TYPE_F8E4M3FN, 464, true},
      {TYPE_F8E4M3FN, 465, false},
      {TYPE_F8E4M3FNUZ, 247.9, true},
      {TYPE_F8E4M3FNUZ, 248, false},
      {TYPE_F8E4M3B11FNUZ, 31, false},
      {TYPE_F8E4M3FNUZ, (double)INFINITY, true},
      {TYPE_F8E8M0FNU, 2.55e38, true},
      {TYPE_F8E8M0FNU, 2.6e38, false},
      {TYPE_F8E8M0FNU, 1e-300, true},
      {TYPE_F8E8M0FNU, 0, false},
      {TYPE_F8E8M0FNU, -1e-50, false},
      {TYPE_F4E2M1FN, 1e300, true},
      {TYPE_F6E3M2FN, -1e300, true},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (float_in_range(rows[i].type, rows[i].value) != rows[i].is_in_range) {
      fail_msg("%s %g", type_text(rows[i].type), rows[i].value);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(float_formats_are_as_defined),
      cmocka_unit_test(float_zeros_keep_their_sign_where_there_is_one),
      cmocka_unit_test(float_encode_inverts_decode_for_every_pattern),
      cmocka_unit_test(float_encode_inverts_decode_of_wide_types),
      cmocka_unit_test(float_encode_rounds_to_nearest_even),
      cmocka_unit_test(float_encode_overflows_from_half_a_unit),
      cmocka_unit_test(float_encode_rounds_once),
      cmocka_unit_test(float_encode_powers_of_two),
      cmocka_unit_test(float_encode_single_like_the_machine),
      cmocka_unit_test(float_encode_int_rounds_once),
      cmocka_unit_test(float_nan_payloads),
      cmocka_unit_test(float_nan_payloads_too_large_are_refused),
      cmocka_unit_test(float_in_range_when_the_rounded_value_is),
  };
  return cmocka_run_group_tests_name("float_types", tests, NULL, NULL);
}
