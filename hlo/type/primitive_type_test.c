#include "hlo/type/primitive_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void type_from_text_reads_every_name_back(void **state) {
  (void)state;
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    PrimitiveType expected = i == TYPE_TUPLE || i == TYPE_BUFFER ? TYPE_INVALID : (PrimitiveType)i;
    assert_int_equal(type_from_text(sv_from_cstring(type_text((PrimitiveType)i))), expected);
  }
}

static void type_from_text_refuses_what_is_no_type(void **state) {
  (void)state;
  const char *const texts[] = {"",    "i32", "bool", "f8",      "s3",    "f128",
                               "F32", "f3",  "f322", "invalid", "tuple", "buffer"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    assert_int_equal(type_from_text(sv_from_cstring(texts[i])), TYPE_INVALID);
  }
  assert_int_equal(type_from_text((StringView){"f32[2]", 3}), TYPE_F32);
}

/* The storage form holds the type, and nothing more than a widening to whole bytes. */
static void type_storage_is_width_in_bytes(void **state) {
  (void)state;
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    const TypeInfo *info = type_info((PrimitiveType)i);
    assert_int_equal(info->storage_bytes, (info->bits + 7) / 8);
  }
}

/* sign + exponent + mantissa = width; f8e8m0fnu has no sign. */
static void type_float_fields_fill_the_width(void **state) {
  (void)state;
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    const TypeInfo *info = type_info((PrimitiveType)i);
    int fields = info->exponent_bits + info->mantissa_bits + (i == TYPE_F8E8M0FNU ? 0 : 1);
    if (type_is_float((PrimitiveType)i)) assert_int_equal(fields, info->bits);
    if (type_is_complex((PrimitiveType)i)) assert_int_equal(2 * fields, info->bits);
  }
}

static void type_classes_are_disjoint(void **state) {
  (void)state;
  int arrays = 0;
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    PrimitiveType type = (PrimitiveType)i;
    int classes = type_is_float(type) + type_is_complex(type) + type_is_signed(type) + type_is_unsigned(type);
    assert_int_equal(classes, type_is_array(type) && type != TYPE_PRED);
    assert_int_equal(type_is_integral(type), type_is_signed(type) || type_is_unsigned(type));
    arrays += type_is_array(type);
  }
  assert_int_equal(arrays, PRIMITIVE_TYPE_COUNT - 1 - 4);
  assert_false(type_is_array(TYPE_INVALID));
}

static void type_complex_goes_there_and_back(void **state) {
  (void)state;
  assert_int_equal(type_complex_part(TYPE_C64), TYPE_F32);
  assert_int_equal(type_complex_part(TYPE_C128), TYPE_F64);
  assert_int_equal(type_complex_part(TYPE_S32), TYPE_S32);
  assert_int_equal(type_complex_of(TYPE_F32), TYPE_C64);
  assert_int_equal(type_complex_of(TYPE_F64), TYPE_C128);
  assert_int_equal(type_complex_of(TYPE_BF16), TYPE_INVALID);
}

static void type_wider_has_range_then_digits_then_bits(void **state) {
  (void)state;
  static const PrimitiveType ascending[] = {TYPE_PRED, TYPE_U4,  TYPE_S4,  TYPE_U8,     TYPE_S8,  TYPE_U32,
                                            TYPE_S32,  TYPE_U64, TYPE_S64, TYPE_F8E5M2, TYPE_F16, TYPE_BF16,
                                            TYPE_F32,  TYPE_F64, TYPE_C64, TYPE_C128};
  enum { COUNT = sizeof ascending / sizeof *ascending };
  for (int i = 0; i < COUNT; i++) {
    for (int k = 0; k <= i; k++) {
      assert_int_equal(type_wider(ascending[i], ascending[k]), ascending[i]);
      assert_int_equal(type_wider(ascending[k], ascending[i]), ascending[i]);
    }
  }
}

static void type_of_sums_is_the_widest(void **state) {
  (void)state;
  assert_int_equal(type_of_sums(TYPE_BF16, TYPE_BF16, TYPE_S32), TYPE_BF16);
  assert_int_equal(type_of_sums(TYPE_S8, TYPE_S8, TYPE_S32), TYPE_S32);
  assert_int_equal(type_of_sums(TYPE_S8, TYPE_F32, TYPE_F16), TYPE_F32);
  assert_int_equal(type_of_sums(TYPE_S64, TYPE_S64, TYPE_F16), TYPE_F16);
}

static void type_converts_exactly_what_has_the_digits(void **state) {
  (void)state;
  static const struct {
    PrimitiveType from, to;
    bool exact;
  } cases[] = {
      {TYPE_S8, TYPE_BF16, true},   {TYPE_U8, TYPE_BF16, true},    {TYPE_S16, TYPE_BF16, false},
      {TYPE_U8, TYPE_F16, true},    {TYPE_S16, TYPE_F16, false},   {TYPE_S16, TYPE_F32, true},
      {TYPE_U32, TYPE_F32, false},  {TYPE_S32, TYPE_F64, true},    {TYPE_S64, TYPE_F64, false},
      {TYPE_PRED, TYPE_BF16, true}, {TYPE_BF16, TYPE_F32, true},   {TYPE_F16, TYPE_BF16, false},
      {TYPE_BF16, TYPE_F16, false}, {TYPE_F32, TYPE_BF16, false},  {TYPE_U8, TYPE_S16, true},
      {TYPE_S8, TYPE_U16, false},   {TYPE_S8, TYPE_F8E5M2, false}, {TYPE_F32, TYPE_S64, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(type_converts_exactly(cases[i].from, cases[i].to), cases[i].exact);
}

static void type_int_range_by_width(void **state) {
  (void)state;
  assert_int_equal(type_int_min(TYPE_S1), -1);
  assert_int_equal(type_int_max(TYPE_S1), 0);
  assert_int_equal(type_int_min(TYPE_S4), -8);
  assert_int_equal(type_int_max(TYPE_S4), 7);
  assert_true(type_int_min(TYPE_S64) == INT64_MIN);
  assert_true(type_int_max(TYPE_S64) == INT64_MAX);
  assert_int_equal(type_int_max(TYPE_U1), 1);
  assert_int_equal(type_int_min(TYPE_U4), 0);
  assert_int_equal(type_int_max(TYPE_U4), 15);
  assert_true(type_int_max(TYPE_U64) == UINT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(type_from_text_reads_every_name_back),
      cmocka_unit_test(type_from_text_refuses_what_is_no_type),
      cmocka_unit_test(type_storage_is_width_in_bytes),
      cmocka_unit_test(type_float_fields_fill_the_width),
      cmocka_unit_test(type_classes_are_disjoint),
      cmocka_unit_test(type_complex_goes_there_and_back),
      cmocka_unit_test(type_wider_has_range_then_digits_then_bits),
      cmocka_unit_test(type_of_sums_is_the_widest),
      cmocka_unit_test(type_converts_exactly_what_has_the_digits),
      cmocka_unit_test(type_int_range_by_width),
  };
  return cmocka_run_group_tests_name("primitive_type", tests, NULL, NULL);
}
