#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/type/float_types.h"
#include "hlo/type/literal.h"
#include "hlo/type/type_testing.h"

static void expect_text(Fixture *fixture, const Literal *literal, int64_t max_elements, const char *expected) {
  StringBuilder out;
  sb_init(&out, fixture->arena);
  literal_print(&out, literal, max_elements);
  assert_string_equal(out.data, expected);
}

/* 1, 2, 3, ... */
static Literal *counting(Fixture *fixture, PrimitiveType type, const int64_t *dims, int rank) {
  Literal *literal = literal_create(fixture->arena, shape_array(fixture->table, type, dims, rank));
  for (int64_t i = 0; i < shape_element_count(literal->shape); i++) literal_set_int(literal, i, i + 1);
  return literal;
}

static const char *element_text(Fixture *fixture, PrimitiveType type, uint64_t bits) {
  char data[8];
  type_store_bits(type, data, bits);
  StringBuilder out;
  sb_init(&out, fixture->arena);
  literal_print_element(&out, type, data);
  return out.data;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__}), (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Texts of XLA. */
static void literal_print_braces_by_rank(void **state) {
  Fixture *fixture = *state;
  expect_text(fixture, counting(fixture, TYPE_F32, NULL, 0), -1, "1");
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(1)), -1, "{1}");
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(3)), -1, "{1, 2, 3}");
  expect_text(fixture, counting(fixture, TYPE_S32, DIMS(2, 2)), -1, "{ { 1, 2 }, { 3, 4 } }");
  expect_text(fixture, counting(fixture, TYPE_S32, DIMS(2, 1)), -1, "{ {1}, {2} }");
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(1, 2, 2)), -1, "{ { { 1, 2 }, { 3, 4 } } }");
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(1, 2, 2, 1)), -1,
              "{ { /*i0=0*/ { /*i1=0*/ {1}, {2} }, { /*i1=1*/ {3}, {4} } } }");
  expect_text(fixture, counting(fixture, TYPE_PRED, DIMS(2, 1, 1, 1, 2)), -1,
              "{ { /*i0=0*/ { /*i1=0*/ { /*i2=0*/ { 1, 1 } } } }, { /*i0=1*/ { /*i1=0*/ { /*i2=0*/ { 1, 1 } } } } }");
}

static void literal_print_empty_arrays(void **state) {
  Fixture *fixture = *state;
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(0)), -1, "{}");
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(0, 2)), -1, "{  }");
  expect_text(fixture, counting(fixture, TYPE_F32, DIMS(2, 0)), -1, "{ {}, {} }");
}

static void literal_print_is_row_major_whatever_the_layout(void **state) {
  Fixture *fixture = *state;
  const int64_t dims[] = {2, 2}, order[] = {0, 1};
  const Layout layout = {.rank = 2, .minor_to_major = order, .tail_padding_alignment = 1};
  Literal *literal = literal_create(fixture->arena, shape_array_with(fixture->table, TYPE_S8, dims, NULL, 2, &layout));
  for (int i = 0; i < 4; i++) literal_set_int(literal, i, i);
  expect_text(fixture, literal, -1, "{ { 0, 1 }, { 2, 3 } }");
}

static void literal_print_preds(void **state) {
  Fixture *fixture = *state;
  Literal *literal = counting(fixture, TYPE_PRED, DIMS(2));
  literal_set_int(literal, 1, 0);
  expect_text(fixture, literal, -1, "{1, 0}");
  expect_text(fixture, counting(fixture, TYPE_PRED, NULL, 0), -1, "true");
  assert_string_equal(element_text(fixture, TYPE_PRED, 0), "false");
}

static void literal_print_tuples(void **state) {
  Fixture *fixture = *state;
  const Shape *empty = shape_tuple(fixture->table, NULL, 0), *pred = shape_scalar(fixture->table, TYPE_PRED);
  const Shape *vector = shape_array(fixture->table, TYPE_S32, (const int64_t[]){2}, 1);
  const Shape *shape = shape_tuple(fixture->table, (const Shape *const[]){empty, pred, vector}, 3);
  expect_text(fixture, literal_create(fixture->arena, shape), -1, "( (  ), false, {0, 0} )");
  expect_text(fixture, literal_create(fixture->arena, shape), 1, "( (  ), false, {...} )");
  expect_text(fixture, literal_create(fixture->arena, empty), 0, "(  )");
}

static void literal_print_elides_above_the_limit(void **state) {
  Fixture *fixture = *state;
  Literal *literal = counting(fixture, TYPE_S32, DIMS(2, 2));
  expect_text(fixture, literal, 4, "{ { 1, 2 }, { 3, 4 } }");
  expect_text(fixture, literal, 3, "{...}");
  expect_text(fixture, counting(fixture, TYPE_S32, NULL, 0), 0, "1");
  literal->elided = true;
  expect_text(fixture, literal, -1, "{...}");
}

static void literal_print_integers(void **state) {
  Fixture *fixture = *state;
  assert_string_equal(element_text(fixture, TYPE_S4, 0xf8), "-8");
  assert_string_equal(element_text(fixture, TYPE_U4, 15), "15");
  assert_string_equal(element_text(fixture, TYPE_S64, UINT64_C(1) << 63), "-9223372036854775808");
  assert_string_equal(element_text(fixture, TYPE_U64, UINT64_MAX), "18446744073709551615");
}

/* Texts of XLA but for the sign of zero and the smallest f8e8m0fnu: its 5.9e-39 would read back as twice that. */
static void literal_print_floats(void **state) {
  Fixture *fixture = *state;
  const struct {
    PrimitiveType type;
    double value;
    const char *text;
  } rows[] = {
      {TYPE_F32, 0.1, "0.1"},
      {TYPE_F32, 16777217, "16777216"},
      {TYPE_F32, 100000, "100000"},
      {TYPE_F32, 1234567, "1234567"},
      {TYPE_F32, 1e10, "1e+10"},
      {TYPE_F32, -9223372036854775808.0, "-9.22337204e+18"},
      {TYPE_F32, 1.17549435e-38, "1.17549435e-38"},
      {TYPE_F32, 0.0, "0"},
      {TYPE_F32, -0.0, "-0.0"},
      {TYPE_F32, (double)INFINITY, "inf"},
      {TYPE_F32, -(double)INFINITY, "-inf"},
      {TYPE_F64, 0.1, "0.1"},
      {TYPE_F64, 0.30000000000000004, "0.30000000000000004"},
      {TYPE_F64, 123456789012345680.0, "1.2345678901234568e+17"},
      {TYPE_F64, 4.9e-324, "4.94065645841247e-324"},
      {TYPE_F16, 0.1, "0.099976"},
      {TYPE_F16, 6e-8, "5.9605e-08"},
      {TYPE_BF16, 0.1, "0.1001"},
      {TYPE_BF16, 4311744513, "4.329e+09"},
      {TYPE_BF16, 3.3895e38, "3.39e+38"},
      {TYPE_BF16, 1e-40, "9.184e-41"},
      {TYPE_F8E5M2, 0.3125, "0.31"},
      {TYPE_F8E5M2FNUZ, 57344, "5.7e+04"},
      {TYPE_F8E4M3, 0.00195, "0.00195"},
      {TYPE_F8E4M3FN, 1.125, "1.12"},
      {TYPE_F8E4M3B11FNUZ, 0.0001, "0.000122"},
      {TYPE_F8E3M4, 0.1, "0.0938"},
      {TYPE_F8E8M0FNU, 1e10, "8.6e+09"},
      {TYPE_F8E8M0FNU, 1e-42, "5.877e-39"},
      {TYPE_F6E3M2FN, 0.0624, "0.062"},
      {TYPE_F6E2M3FN, 0.13, "0.125"},
      {TYPE_F4E2M1FN, 1e300, "6"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t bits = float_encode(rows[i].type, rows[i].value);
    assert_string_equal(element_text(fixture, rows[i].type, bits), rows[i].text);
  }
}

static void literal_print_nans(void **state) {
  Fixture *fixture = *state;
  assert_string_equal(element_text(fixture, TYPE_F32, 0x7fc00000), "nan");
  assert_string_equal(element_text(fixture, TYPE_F32, 0xffc00000), "-nan");
  assert_string_equal(element_text(fixture, TYPE_F32, 0xff800001), "-nan(0x1)");
  assert_string_equal(element_text(fixture, TYPE_F64, 0x7fffffffffffffff), "nan(0xfffffffffffff)");
  assert_string_equal(element_text(fixture, TYPE_F8E4M3, 0x7b), "nan(0x3)");
  assert_string_equal(element_text(fixture, TYPE_F8E4M3FN, 0xff), "-nan");
  assert_string_equal(element_text(fixture, TYPE_F8E5M2FNUZ, 0x80), "-nan");
  assert_string_equal(element_text(fixture, TYPE_F8E8M0FNU, 0xff), "nan");
}

static void literal_print_complex(void **state) {
  Fixture *fixture = *state;
  Literal *literal = literal_create(fixture->arena, shape_array(fixture->table, TYPE_C64, DIMS(2)));
  literal_set_complex(literal, 0, 1, -(double)INFINITY);
  literal_set_complex(literal, 1, -0.0, 0.1);
  expect_text(fixture, literal, -1, "{(1, -inf), (-0.0, 0.1)}");
  literal_set_complex(literal, 0, 0.1, 0);
  expect_text(fixture, literal_create(fixture->arena, shape_scalar(fixture->table, TYPE_C128)), -1, "(0, 0)");
}

/* The reader's side: integer tokens go through int64_t, everything else through double. */
static uint64_t read_back(PrimitiveType type, const char *text) {
  uint64_t bits = 0;
  bool is_negative = text[0] == '-';
  const char *digits = text + is_negative;
  if (strncmp(digits, "nan", 3) == 0) {
    uint64_t payload = digits[3] == '(' ? strtoull(digits + 4, NULL, 16) : 0;
    assert_true(float_encode_nan(type, is_negative, payload, &bits));
    return bits;
  }
  bool is_integer = strspn(digits, "0123456789") == strlen(digits);
  double value = is_integer ? (double)strtoll(text, NULL, 10) : strtod(text, NULL);
  assert_true(float_in_range(type, value));
  return float_encode_literal(type, value);
}

static void literal_print_reads_back_every_pattern(void **state) {
  Fixture *fixture = *state;
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    PrimitiveType type = (PrimitiveType)i;
    if (!type_is_float(type) || type_bits(type) > 16) continue;
    for (uint64_t bits = 0; bits < UINT64_C(1) << type_bits(type); bits++) {
      const char *text = element_text(fixture, type, bits);
      if (read_back(type, text) != bits) fail_msg("%s 0x%llx: %s", type_text(type), (unsigned long long)bits, text);
    }
  }
}

static void literal_print_reads_back_wide_types(void **state) {
  Fixture *fixture = *state;
  for (uint64_t i = 0; i < 40000; i++) {
    uint64_t bits = i * UINT64_C(0x9e3779b97f4a7c15);
    if (read_back(TYPE_F64, element_text(fixture, TYPE_F64, bits)) != bits)
      fail_msg("f64 0x%llx", (unsigned long long)bits);
    bits >>= 32;
    if (read_back(TYPE_F32, element_text(fixture, TYPE_F32, bits)) != bits)
      fail_msg("f32 0x%llx", (unsigned long long)bits);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(literal_print_braces_by_rank),
      TEST(literal_print_empty_arrays),
      TEST(literal_print_is_row_major_whatever_the_layout),
      TEST(literal_print_preds),
      TEST(literal_print_tuples),
      TEST(literal_print_elides_above_the_limit),
      TEST(literal_print_integers),
      TEST(literal_print_floats),
      TEST(literal_print_nans),
      TEST(literal_print_complex),
      TEST(literal_print_reads_back_every_pattern),
      TEST(literal_print_reads_back_wide_types),
  };
  return cmocka_run_group_tests_name("literal_print", tests, NULL, NULL);
}
