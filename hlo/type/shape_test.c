#include "hlo/type/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/type/type_testing.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__}), (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static ShapeTable *table_of(void **state) {
  return ((Fixture *)*state)->table;
}

static Layout layout_of(const int64_t *minor_to_major, int rank) {
  return (Layout){.rank = rank, .minor_to_major = minor_to_major, .tail_padding_alignment = 1};
}

static void shape_intern_equal_shapes_are_one(void **state) {
  ShapeTable *table = table_of(state);
  int64_t dims[] = {2, 3};
  const Shape *shape = shape_array(table, TYPE_F32, dims, 2);
  dims[0] = 7; /* the shape has copied them */
  assert_int_equal(shape->dims[0], 2);
  Layout layout = layout_of((const int64_t[]){1, 0}, 2);
  assert_ptr_equal(shape_array(table, TYPE_F32, DIMS(2, 3)), shape);
  assert_ptr_equal(shape_array_with(table, TYPE_F32, (const int64_t[]){2, 3}, NULL, 2, &layout), shape);
  assert_ptr_equal(shape_intern(table, shape), shape);
  assert_ptr_equal(shape_scalar(table, TYPE_S32), shape_array(table, TYPE_S32, NULL, 0));
  assert_ptr_equal(shape_token(table), shape_token(table));
}

/* Each field of a shape and its layout by itself makes another shape. */
static void shape_intern_every_field_counts(void **state) {
  ShapeTable *table = table_of(state);
  const int64_t dims[] = {4, 4}, swapped[] = {0, 1}, tile_dims[] = {2, TILE_COMBINE}, indices[] = {1, 3};
  const bool first_dynamic[] = {true, false}, second_dynamic[] = {false, true};
  const Tile tiles[] = {{2, tile_dims}, {1, tile_dims}};
  const SplitConfig splits[] = {{0, 2, indices}, {1, 2, indices}, {0, 1, indices}};
  const Shape base = {.type = TYPE_F32, .rank = 2, .dims = dims};
  Shape keys[20];
  int count = 0;
#define KEY(field, value) (keys[count] = base, keys[count++].field = (value))
  KEY(rank, 2);
  KEY(type, TYPE_S32);
  KEY(rank, 1);
  KEY(dims, indices);
  KEY(dynamic, first_dynamic);
  KEY(dynamic, second_dynamic);
  KEY(layout, layout_of(swapped, 2));
  KEY(layout.tail_padding_alignment, 8);
  KEY(layout.index_type, TYPE_U32);
  KEY(layout.pointer_type, TYPE_U32);
  KEY(layout.element_size_in_bits, 4);
  KEY(layout.memory_space, 1);
  KEY(layout.metadata_prefix_bytes, 8);
  for (int i = 0; i < 2; i++) {
    KEY(layout.tiles, &tiles[i]);
    keys[count - 1].layout.tile_count = 1;
  }
  KEY(layout.tiles, tiles);
  keys[count - 1].layout.tile_count = 2;
  for (int i = 0; i < 3; i++) {
    KEY(layout.splits, &splits[i]);
    keys[count - 1].layout.split_count = 1;
  }
#undef KEY
  for (int i = 0; i < count; i++) {
    const Shape *shape = shape_intern(table, &keys[i]);
    assert_ptr_equal(shape_intern(table, &keys[i]), shape);
    assert_ptr_equal(shape_intern(table, shape), shape);
    for (int j = 0; j < i; j++) assert_ptr_not_equal(shape_intern(table, &keys[j]), shape);
  }
}

static void shape_intern_normalizes(void **state) {
  ShapeTable *table = table_of(state);
  const bool none[] = {false, false};
  const Shape *shape = shape_array_with(table, TYPE_F32, (const int64_t[]){2, 3}, none, 2, NULL);
  assert_null(shape->dynamic);
  assert_ptr_equal(shape, shape_array(table, TYPE_F32, DIMS(2, 3)));
  assert_int_equal(shape->layout.tail_padding_alignment, 1);
  assert_int_equal(shape->layout.minor_to_major[0], 1);
  const Shape *unbounded = shape_array(table, TYPE_F32, DIMS(2, SHAPE_UNBOUNDED));
  assert_false(unbounded->dynamic[0]);
  assert_true(unbounded->dynamic[1]);
  Shape token = {.type = TYPE_TOKEN, .layout = {.tail_padding_alignment = 3}};
  assert_ptr_equal(shape_intern(table, &token), shape_token(table));
}

static void shape_intern_high_rank(void **state) {
  ShapeTable *table = table_of(state);
  int64_t dims[100];
  for (int i = 0; i < 100; i++) dims[i] = 1 + i % 2;
  const Shape *shape = shape_array(table, TYPE_PRED, dims, 100);
  assert_ptr_equal(shape_array(table, TYPE_PRED, dims, 100), shape);
  assert_int_equal(shape->layout.minor_to_major[0], 99);
  assert_int_equal(shape_element_count(shape), INT64_C(1) << 50);
}

static void shape_tuple_interns_by_elements(void **state) {
  ShapeTable *table = table_of(state);
  const Shape *f32 = shape_scalar(table, TYPE_F32), *s32 = shape_scalar(table, TYPE_S32);
  const Shape *pair = shape_tuple(table, (const Shape *const[]){f32, s32}, 2);
  assert_ptr_equal(shape_tuple(table, (const Shape *const[]){f32, s32}, 2), pair);
  assert_ptr_not_equal(shape_tuple(table, (const Shape *const[]){s32, f32}, 2), pair);
  const Shape *one = shape_tuple(table, &f32, 1);
  assert_ptr_not_equal(one, f32);
  assert_ptr_not_equal(one, shape_buffer(table, f32));
  assert_ptr_equal(shape_tuple(table, NULL, 0), shape_tuple(table, NULL, 0));
  assert_true(shape_is_tuple(pair));
  assert_false(shape_is_array(pair));
  assert_false(shape_is_scalar(pair));
  assert_true(shape_is_scalar(f32));
}

static void shape_changes_reach_every_leaf(void **state) {
  ShapeTable *table = table_of(state);
  Layout layout = layout_of((const int64_t[]){0, 1}, 2);
  layout.memory_space = 5;
  layout.element_size_in_bits = 4;
  const Shape *array = shape_array_with(table, TYPE_S4, (const int64_t[]){2, 3}, NULL, 2, &layout);
  const Shape *inner = shape_tuple(table, (const Shape *const[]){array, shape_token(table)}, 2);
  const Shape *outer = shape_tuple(table, (const Shape *const[]){inner, shape_tuple(table, NULL, 0)}, 2);
  const Shape *plain = shape_array(table, TYPE_S4, DIMS(2, 3));
  assert_ptr_equal(shape_with_default_layout(table, array), plain);
  assert_ptr_equal(shape_with_default_layout(table, outer)->tuple[0]->tuple[0], plain);
  assert_ptr_equal(shape_with_default_layout(table, outer)->tuple[0]->tuple[1], shape_token(table));
  assert_false(shape_has_default_layout(outer));
  assert_true(shape_has_default_layout(shape_with_default_layout(table, outer)));
  assert_ptr_equal(shape_with_layout(table, plain, &layout), array);
  const Shape *changed = shape_with_type(table, outer, TYPE_F32)->tuple[0]->tuple[0];
  assert_int_equal(changed->type, TYPE_F32);
  assert_int_equal(changed->layout.minor_to_major[0], 0);
  assert_int_equal(changed->layout.memory_space, 5);
  assert_int_equal(changed->layout.element_size_in_bits, 0);
  assert_ptr_equal(shape_with_type(table, outer, TYPE_S4), outer);
}

static void layout_permutations(void **state) {
  (void)state;
  Layout good = layout_of((const int64_t[]){1, 2, 0}, 3), twice = layout_of((const int64_t[]){1, 1, 0}, 3);
  Layout beyond = layout_of((const int64_t[]){3, 1, 0}, 3), negative = layout_of((const int64_t[]){-1, 1, 0}, 3);
  Layout descending = layout_of((const int64_t[]){2, 1, 0}, 3), none = layout_of(NULL, 0);
  assert_true(layout_is_permutation(&good));
  assert_false(layout_is_permutation(&twice));
  assert_false(layout_is_permutation(&beyond));
  assert_false(layout_is_permutation(&negative));
  assert_true(layout_is_permutation(&none));
  assert_false(layout_is_descending(&good));
  assert_true(layout_is_descending(&descending));
  assert_true(layout_equal(&good, &good));
  assert_false(layout_equal(&good, &descending));
}

static void shape_compatible_ignores_layout_and_marker(void **state) {
  ShapeTable *table = table_of(state);
  Layout layout = layout_of((const int64_t[]){0, 1}, 2);
  const bool dynamic[] = {true, false};
  const Shape *a = shape_array(table, TYPE_F32, DIMS(2, 3));
  const Shape *b = shape_array_with(table, TYPE_F32, (const int64_t[]){2, 3}, dynamic, 2, &layout);
  const Shape *half = shape_with_type(table, b, TYPE_BF16);
  assert_true(shape_compatible(a, b));
  assert_false(shape_compatible(a, half));
  assert_true(shape_compatible_ignoring_precision(a, half));
  assert_false(shape_compatible_ignoring_precision(a, shape_with_type(table, a, TYPE_S32)));
  assert_false(shape_compatible_ignoring_precision(a, shape_with_type(table, a, TYPE_C64)));
  assert_false(shape_compatible(a, shape_array(table, TYPE_F32, DIMS(3, 2))));
  assert_false(shape_compatible(a, shape_array(table, TYPE_F32, DIMS(2))));
  assert_true(shape_compatible(a, shape_array(table, TYPE_F32, DIMS(SHAPE_UNBOUNDED, 3))));
  assert_false(shape_compatible(a, shape_array(table, TYPE_F32, DIMS(SHAPE_UNBOUNDED, 4))));
  assert_true(shape_same_dims(a, half));
  assert_false(shape_same_dims(a, shape_array(table, TYPE_F32, DIMS(2, 4))));
}

static void shape_compatible_compares_tuples_deeply(void **state) {
  ShapeTable *table = table_of(state);
  const Shape *f32 = shape_scalar(table, TYPE_F32), *f64 = shape_scalar(table, TYPE_F64);
  const Shape *a = shape_tuple(table, (const Shape *const[]){f32, shape_tuple(table, &f32, 1)}, 2);
  const Shape *b = shape_tuple(table, (const Shape *const[]){f32, shape_tuple(table, &f64, 1)}, 2);
  assert_false(shape_compatible(a, b));
  assert_true(shape_compatible_ignoring_precision(a, b));
  assert_false(shape_compatible(a, shape_tuple(table, &f32, 1)));
  assert_false(shape_compatible(shape_tuple(table, &f32, 1), f32));
  assert_false(shape_compatible(shape_buffer(table, f32), shape_buffer(table, f64)));
  assert_false(shape_same_dims(a, a));
}

static void shape_dynamic_anywhere(void **state) {
  ShapeTable *table = table_of(state);
  const bool dynamic[] = {false, true};
  const Shape *array = shape_array_with(table, TYPE_F32, (const int64_t[]){2, 3}, dynamic, 2, NULL);
  const Shape *fixed = shape_array(table, TYPE_F32, DIMS(2, 3));
  const Shape *tuple = shape_tuple(table, (const Shape *const[]){fixed, shape_tuple(table, &array, 1)}, 2);
  assert_true(shape_is_dynamic(array));
  assert_false(shape_is_dynamic(fixed));
  assert_true(shape_is_dynamic(tuple));
  assert_false(shape_is_dynamic(shape_tuple(table, &fixed, 1)));
  assert_true(shape_is_dynamic(shape_buffer(table, array)));
  assert_false(shape_is_dynamic(shape_token(table)));
}

static void shape_sizes(void **state) {
  ShapeTable *table = table_of(state);
  const Shape *f32 = shape_array(table, TYPE_F32, DIMS(2, 3)), *s4 = shape_array(table, TYPE_S4, DIMS(5));
  const Shape *pair = shape_tuple(table, (const Shape *const[]){f32, s4}, 2);
  const Shape *nested = shape_tuple(table, (const Shape *const[]){pair, shape_token(table), f32}, 3);
  assert_int_equal(shape_element_count(f32), 6);
  assert_int_equal(shape_element_count(shape_scalar(table, TYPE_F32)), 1);
  assert_int_equal(shape_byte_size(f32), 24);
  assert_int_equal(shape_byte_size(s4), 5);
  assert_int_equal(shape_byte_size(shape_scalar(table, TYPE_C128)), 16);
  assert_int_equal(shape_byte_size(shape_token(table)), 0);
  assert_int_equal(shape_byte_size(pair), 16);
  assert_int_equal(shape_byte_size(shape_buffer(table, f32)), 24);
  assert_int_equal(shape_leaf_byte_size(nested), 24 + 5 + 24);
  assert_int_equal(shape_leaf_byte_size(shape_tuple(table, NULL, 0)), 0);
}

static void shape_parts_of_arrays_and_tuples(void **state) {
  ShapeTable *table = table_of(state);
  const Shape *array = shape_array(table, TYPE_F32, DIMS(2, 3, 5)), *scalar = shape_scalar(table, TYPE_S32);
  const Shape *pair = shape_tuple(table, (const Shape *const[]){array, scalar}, 2);
  assert_int_equal(shape_extent(array, 1, 3), 15);
  assert_int_equal(shape_extent(array, 3, 3), 1);
  assert_ptr_equal(shape_result(pair, 1), scalar);
  assert_ptr_equal(shape_result(array, 0), array);
  assert_true(shape_is_static_array(array));
  assert_false(shape_is_static_array(pair));
  assert_false(
      shape_is_static_array(shape_array_with(table, TYPE_F32, (const int64_t[]){4}, (const bool[]){true}, 1, NULL)));
}

static void shape_sizes_that_overflow(void **state) {
  ShapeTable *table = table_of(state);
  const int64_t big = INT64_C(1) << 40;
  const Shape *huge = shape_array(table, TYPE_F32, DIMS(big, big));
  assert_int_equal(shape_element_count(huge), -1);
  assert_int_equal(shape_byte_size(huge), -1);
  assert_int_equal(shape_leaf_byte_size(shape_tuple(table, &huge, 1)), -1);
  assert_int_equal(shape_element_count(shape_array(table, TYPE_F32, DIMS(big, big, 0))), 0);
  assert_int_equal(shape_element_count(shape_array(table, TYPE_F32, DIMS(2, SHAPE_UNBOUNDED))), -1);
  /* The count fits, the bytes do not. */
  const Shape *edge = shape_array(table, TYPE_F32, DIMS(INT64_MAX));
  assert_true(shape_element_count(edge) == INT64_MAX);
  assert_int_equal(shape_byte_size(edge), -1);
  const Shape *half = shape_array(table, TYPE_S8, DIMS(INT64_MAX / 2 + 1));
  assert_int_equal(shape_leaf_byte_size(shape_tuple(table, (const Shape *const[]){half, half}, 2)), -1);
}

static void shape_strides_follow_the_layout(void **state) {
  ShapeTable *table = table_of(state);
  int64_t strides[3];
  shape_strides(shape_array(table, TYPE_F32, DIMS(2, 3, 5)), strides);
  assert_memory_equal(strides, ((const int64_t[]){15, 5, 1}), sizeof(strides));
  Layout layout = layout_of((const int64_t[]){1, 0, 2}, 3);
  shape_strides(shape_array_with(table, TYPE_F32, (const int64_t[]){2, 3, 5}, NULL, 3, &layout), strides);
  assert_memory_equal(strides, ((const int64_t[]){3, 1, 6}), sizeof(strides));
  const int64_t big = INT64_C(1) << 40;
  shape_strides(shape_array(table, TYPE_F32, DIMS(0, big, big)), strides); /* must not trap */
  assert_int_equal(strides[2], 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(shape_intern_equal_shapes_are_one),
      TEST(shape_intern_every_field_counts),
      TEST(shape_intern_normalizes),
      TEST(shape_intern_high_rank),
      TEST(shape_tuple_interns_by_elements),
      TEST(shape_changes_reach_every_leaf),
      TEST(layout_permutations),
      TEST(shape_compatible_ignores_layout_and_marker),
      TEST(shape_compatible_compares_tuples_deeply),
      TEST(shape_dynamic_anywhere),
      TEST(shape_sizes),
      TEST(shape_parts_of_arrays_and_tuples),
      TEST(shape_sizes_that_overflow),
      TEST(shape_strides_follow_the_layout),
  };
  return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
