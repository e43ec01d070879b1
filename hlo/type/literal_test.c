#include "hlo/type/literal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/type/type_testing.h"

static Literal *vector_of(Fixture *fixture, PrimitiveType type, int64_t count) {
  return literal_create(fixture->arena, shape_array(fixture->table, type, &count, 1));
}

static Literal *vector_of_ints(Fixture *fixture, PrimitiveType type, int64_t first, int64_t second) {
  Literal *literal = vector_of(fixture, type, 2);
  literal_set_int(literal, 0, first);
  literal_set_int(literal, 1, second);
  return literal;
}

static void literal_create_zeroed_and_aligned(void **state) {
  Fixture *fixture = *state;
  const Shape *array = shape_array(fixture->table, TYPE_F64, (const int64_t[]){3, 5}, 2);
  const Shape *inner = shape_tuple(fixture->table, (const Shape *const[]){array, shape_token(fixture->table)}, 2);
  const Shape *outer = shape_tuple(fixture->table, (const Shape *const[]){inner, array}, 2);
  const Literal *literal = literal_create(fixture->arena, outer);
  assert_null(literal->data);
  assert_ptr_equal(literal->tuple[0].tuple[0].shape, array);
  assert_null(literal->tuple[0].tuple[1].data);
  const Literal *const leaves[] = {&literal->tuple[0].tuple[0], &literal->tuple[1]};
  for (int i = 0; i < 2; i++) {
    assert_int_equal((uintptr_t)leaves[i]->data % 64, 0);
    for (int j = 0; j < 15; j++) assert_true(literal_get_double(leaves[i], j) == 0);
  }
  assert_ptr_not_equal(leaves[0]->data, leaves[1]->data);
}

static void literal_set_int_wraps_to_the_type(void **state) {
  Fixture *fixture = *state;
  const struct {
    PrimitiveType type;
    int64_t value, expected;
  } rows[] = {
      {TYPE_S1, 1, -1},
      {TYPE_S1, -1, -1},
      {TYPE_S2, 2, -2},
      {TYPE_S4, 7, 7},
      {TYPE_S4, 8, -8},
      {TYPE_S4, -9, 7},
      {TYPE_U4, -1, 15},
      {TYPE_U1, 3, 1},
      {TYPE_S8, 128, -128},
      {TYPE_U8, 256, 0},
      {TYPE_S16, 40000, 40000 - 65536},
      {TYPE_U16, -1, 65535},
      {TYPE_S32, INT64_C(1) << 31, INT32_MIN},
      {TYPE_U32, -1, UINT32_MAX},
      {TYPE_S64, INT64_MIN, INT64_MIN},
      {TYPE_U64, -1, -1},
      {TYPE_PRED, 256, 1},
      {TYPE_PRED, 0, 0},
      {TYPE_F32, -3, -3},
      {TYPE_BF16, 257, 256},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    Literal *literal = vector_of(fixture, rows[i].type, 3);
    literal_set_int(literal, 1, rows[i].value);
    assert_true(literal_get_int(literal, 1) == rows[i].expected);
    assert_true(literal_get_int(literal, 0) == 0);
    assert_true(literal_get_int(literal, 2) == 0);
  }
}

static void literal_storage_is_sign_extended(void **state) {
  Fixture *fixture = *state;
  Literal *s4 = vector_of_ints(fixture, TYPE_S4, -8, 7);
  assert_memory_equal(s4->data, "\xf8\x07", 2);
  Literal *u4 = vector_of_ints(fixture, TYPE_U4, 8, 15);
  assert_memory_equal(u4->data, "\x08\x0f", 2);
}

/* XLA's convert: towards zero, saturating, NaN to 0. */
static void literal_set_double_to_integers(void **state) {
  Fixture *fixture = *state;
  const struct {
    PrimitiveType type;
    double value;
    int64_t expected;
  } rows[] = {
      {TYPE_S8, 1.9, 1},
      {TYPE_S8, -1.9, -1},
      {TYPE_S8, 300, 127},
      {TYPE_S8, -300, -128},
      {TYPE_U8, -0.5, 0},
      {TYPE_U8, -5, 0},
      {TYPE_U8, (double)INFINITY, 255},
      {TYPE_S4, 7.5, 7},
      {TYPE_S32, (double)NAN, 0},
      {TYPE_S64, 0x1p63, INT64_MAX},
      {TYPE_S64, -0x1p70, INT64_MIN},
      {TYPE_U64, 0x1p63, INT64_MIN},
      {TYPE_U64, 0x1p64, -1},
      {TYPE_PRED, 0.5, 1},
      {TYPE_PRED, -0.0, 0},
      {TYPE_PRED, (double)NAN, 1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    Literal *literal = vector_of(fixture, rows[i].type, 1);
    literal_set_double(literal, 0, rows[i].value);
    assert_true(literal_get_int(literal, 0) == rows[i].expected);
  }
}

static void literal_get_double_of_every_class(void **state) {
  Fixture *fixture = *state;
  assert_true(literal_get_double(vector_of_ints(fixture, TYPE_U64, -1, 0), 0) == 0x1p64);
  assert_true(literal_get_double(vector_of_ints(fixture, TYPE_S64, -1, 0), 0) == -1);
  assert_true(literal_get_double(vector_of_ints(fixture, TYPE_PRED, 7, 0), 0) == 1);
  Literal *f8 = vector_of(fixture, TYPE_F8E5M2, 1);
  literal_set_double(f8, 0, 0.3);
  assert_true(literal_get_double(f8, 0) == 0.3125);
  assert_int_equal(literal_get_int(f8, 0), 0);
}

static void literal_complex_parts(void **state) {
  Fixture *fixture = *state;
  double real = 0, imaginary = 0;
  Literal *c64 = vector_of(fixture, TYPE_C64, 2);
  literal_set_complex(c64, 1, 1.5, -2);
  assert_memory_equal((const char *)c64->data + 8, ((const float[]){1.5F, -2}), 8);
  literal_get_complex(c64, 1, &real, &imaginary);
  assert_true(real == 1.5 && imaginary == -2);
  Literal *f32 = vector_of(fixture, TYPE_F32, 1);
  literal_set_complex(f32, 0, 3, 4);
  literal_get_complex(f32, 0, &real, &imaginary);
  assert_true(real == 3 && imaginary == 0);
}

static void literal_copy_is_equal_and_apart(void **state) {
  Fixture *fixture = *state;
  const Shape *array = shape_array(fixture->table, TYPE_S16, (const int64_t[]){2}, 1);
  Literal *literal =
      literal_create(fixture->arena, shape_tuple(fixture->table, (const Shape *const[]){array, array}, 2));
  literal_set_int(&literal->tuple[1], 0, 42);
  Literal *copy = literal_copy(fixture->arena, literal);
  assert_true(literal_equal(copy, literal));
  assert_true(literal_hash(copy) == literal_hash(literal));
  literal_set_int(&copy->tuple[1], 1, 1);
  assert_false(literal_equal(copy, literal));
  assert_true(literal_hash(copy) != literal_hash(literal));
  assert_int_equal(literal_get_int(&literal->tuple[1], 1), 0);
}

static void literal_equal_is_bitwise(void **state) {
  Fixture *fixture = *state;
  Literal *plus = vector_of(fixture, TYPE_F32, 1), *minus = vector_of(fixture, TYPE_F32, 1);
  literal_set_double(minus, 0, -0.0);
  assert_false(literal_equal(plus, minus));
  literal_set_double(plus, 0, (double)NAN);
  literal_set_double(minus, 0, (double)NAN);
  assert_true(literal_equal(plus, minus));
  assert_false(literal_equal(vector_of(fixture, TYPE_S32, 1), vector_of(fixture, TYPE_U32, 1)));
  assert_false(literal_equal(vector_of(fixture, TYPE_S32, 1), vector_of(fixture, TYPE_S32, 2)));
  Literal *elided = vector_of(fixture, TYPE_S32, 1);
  elided->elided = true;
  assert_false(literal_equal(elided, vector_of(fixture, TYPE_S32, 1)));
  assert_true(literal_equal(elided, literal_copy(fixture->arena, elided)));
}

static void literal_equal_ignores_layout(void **state) {
  Fixture *fixture = *state;
  const int64_t dims[] = {2, 3}, order[] = {0, 1};
  const Layout layout = {.rank = 2, .minor_to_major = order, .tail_padding_alignment = 1};
  Literal *a = literal_create(fixture->arena, shape_array(fixture->table, TYPE_S8, dims, 2));
  Literal *b = literal_create(fixture->arena, shape_array_with(fixture->table, TYPE_S8, dims, NULL, 2, &layout));
  literal_set_int(a, 1, 5);
  literal_set_int(b, 1, 5);
  assert_true(literal_equal(a, b));
  assert_true(literal_hash(a) == literal_hash(b));
}

static void literal_splat_compares_bits(void **state) {
  Fixture *fixture = *state;
  assert_true(literal_is_splat(vector_of_ints(fixture, TYPE_S32, 3, 3)));
  assert_false(literal_is_splat(vector_of_ints(fixture, TYPE_S32, 3, 4)));
  assert_false(literal_is_splat(vector_of(fixture, TYPE_S32, 0)));
  assert_true(literal_is_splat(vector_of(fixture, TYPE_C128, 1)));
  Literal *complex_values = vector_of(fixture, TYPE_C64, 2);
  literal_set_complex(complex_values, 0, 1, 2);
  literal_set_complex(complex_values, 1, 2, 1);
  assert_false(literal_is_splat(complex_values));
  literal_set_complex(complex_values, 1, 1, 2);
  assert_true(literal_is_splat(complex_values));
  Literal *zeros = vector_of(fixture, TYPE_F32, 2);
  literal_set_double(zeros, 1, -0.0);
  assert_false(literal_is_splat(zeros));
  assert_true(literal_is_all(zeros, 0));
  zeros->elided = true;
  assert_false(literal_is_all(zeros, 0));
  assert_false(literal_is_splat(literal_create(fixture->arena, shape_token(fixture->table))));
}

static void literal_is_all_compares_integers_exactly(void **state) {
  Fixture *fixture = *state;
  const int64_t big = (INT64_C(1) << 53) + 1;
  assert_true(literal_is_all(vector_of_ints(fixture, TYPE_S64, 7, 7), 7));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_S64, 7, 8), 7));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_S64, big, big), 0x1p53));
  assert_true(literal_is_all(vector_of_ints(fixture, TYPE_S64, big - 1, big - 1), 0x1p53));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_S64, INT64_MAX, INT64_MAX), 0x1p63));
  assert_true(literal_is_all(vector_of_ints(fixture, TYPE_S64, INT64_MIN, INT64_MIN), -0x1p63));
  assert_true(literal_is_all(vector_of_ints(fixture, TYPE_U64, INT64_MIN, INT64_MIN), 0x1p63));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_U64, -1, -1), 0x1p64));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_U8, 255, 255), 256));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_S8, 1, 1), 1.5));
  assert_true(literal_is_all(vector_of_ints(fixture, TYPE_PRED, 1, 1), 1));
  assert_false(literal_is_all(vector_of_ints(fixture, TYPE_F32, 0, 0), (double)NAN));
  assert_true(literal_is_all(vector_of(fixture, TYPE_S32, 0), 9));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(literal_create_zeroed_and_aligned),
      TEST(literal_set_int_wraps_to_the_type),
      TEST(literal_storage_is_sign_extended),
      TEST(literal_set_double_to_integers),
      TEST(literal_get_double_of_every_class),
      TEST(literal_complex_parts),
      TEST(literal_copy_is_equal_and_apart),
      TEST(literal_equal_is_bitwise),
      TEST(literal_equal_ignores_layout),
      TEST(literal_splat_compares_bits),
      TEST(literal_is_all_compares_integers_exactly),
  };
  return cmocka_run_group_tests_name("literal", tests, NULL, NULL);
}
