#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hlo/type/shape.h"
#include "hlo/type/type_testing.h"

static void expect_text(Fixture *fixture, const Shape *shape, bool with_layout, const char *expected) {
  StringView text = shape_text(fixture->arena, shape, with_layout);
  assert_string_equal(arena_copy_string(fixture->arena, text.data, text.size), expected);
}

static void shape_print_arrays(void **state) {
  Fixture *fixture = *state;
  ShapeTable *table = fixture->table;
  const Shape *matrix = shape_array(table, TYPE_F32, (const int64_t[]){2, 3}, 2);
  expect_text(fixture, matrix, true, "f32[2,3]{1,0}");
  expect_text(fixture, matrix, false, "f32[2,3]");
  expect_text(fixture, shape_array(table, TYPE_S32, (const int64_t[]){0}, 1), true, "s32[0]{0}");
  expect_text(fixture, shape_scalar(table, TYPE_F8E4M3B11FNUZ), true, "f8e4m3b11fnuz[]");
  expect_text(fixture, shape_token(table), true, "token[]");
  expect_text(fixture, shape_intern(table, &(Shape){.type = TYPE_OPAQUE}), true, "opaque[]");
  expect_text(fixture, shape_buffer(table, matrix), true, "b(f32[2,3]{1,0})");
}

static void shape_print_dynamic_dimensions(void **state) {
  Fixture *fixture = *state;
  const int64_t dims[] = {4, 5, SHAPE_UNBOUNDED};
  const bool dynamic[] = {true, false, true};
  const Shape *shape = shape_array_with(fixture->table, TYPE_F32, dims, dynamic, 3, NULL);
  expect_text(fixture, shape, true, "f32[<=4,5,?]{2,1,0}");
  expect_text(fixture, shape, false, "f32[<=4,5,?]");
}

static void shape_print_tuples_number_every_fifth(void **state) {
  Fixture *fixture = *state;
  const Shape *elements[11];
  for (int i = 0; i < 11; i++) elements[i] = shape_scalar(fixture->table, TYPE_F32);
  expect_text(fixture, shape_tuple(fixture->table, NULL, 0), true, "()");
  expect_text(fixture, shape_tuple(fixture->table, elements, 1), true, "(f32[])");
  expect_text(fixture, shape_tuple(fixture->table, elements, 5), true, "(f32[], f32[], f32[], f32[], f32[])");
  expect_text(fixture, shape_tuple(fixture->table, elements, 11), true,
              "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[], f32[], f32[], f32[], f32[], /*index=10*/f32[])");
  elements[1] = shape_array(fixture->table, TYPE_PRED, (const int64_t[]){2}, 1);
  elements[1] = shape_tuple(fixture->table, elements, 2);
  expect_text(fixture, shape_tuple(fixture->table, elements, 2), true, "(f32[], (f32[], pred[2]{0}))");
  expect_text(fixture, shape_tuple(fixture->table, elements, 2), false, "(f32[], (f32[], pred[2]))");
}

static void shape_print_every_layout_field(void **state) {
  Fixture *fixture = *state;
  const int64_t tile_8_128[] = {8, 128}, tile_combine[] = {TILE_COMBINE, 1}, indices[] = {1, 2}, order[] = {0, 1};
  const Tile tiles[] = {{2, tile_8_128}, {2, tile_combine}, {0, NULL}};
  const SplitConfig splits[] = {{0, 2, indices}, {1, 1, indices}};
  Layout layout = {
      .rank = 2,
      .minor_to_major = order,
      .tile_count = 3,
      .tiles = tiles,
      .tail_padding_alignment = 8,
      .index_type = TYPE_U32,
      .pointer_type = TYPE_U16,
      .element_size_in_bits = 4,
      .memory_space = 1,
      .split_count = 2,
      .splits = splits,
      .metadata_prefix_bytes = 16,
  };
  const Shape *shape = shape_array_with(fixture->table, TYPE_S4, (const int64_t[]){4, 4}, NULL, 2, &layout);
  expect_text(fixture, shape, true, "s4[4,4]{0,1:T(8,128)(*,1)()L(8)#(u32)*(u16)E(4)S(1)SC(0:1,2)(1:1)M(16)}");
  expect_text(fixture, shape, false, "s4[4,4]");
  Layout colored = {.tail_padding_alignment = 1, .memory_space = 1};
  expect_text(fixture, shape_with_layout(fixture->table, shape_scalar(fixture->table, TYPE_F32), &colored), true,
              "f32[]{:S(1)}");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(shape_print_arrays),
      TEST(shape_print_dynamic_dimensions),
      TEST(shape_print_tuples_number_every_fifth),
      TEST(shape_print_every_layout_field),
  };
  return cmocka_run_group_tests_name("shape_print", tests, NULL, NULL);
}
