#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hlo/type/shape.h"

typedef struct Fixture {
  Arena *arena;
  ShapeTable *table;
  const Shape *f32, *s32, *empty, *pair, *outer;
} Fixture;

/* outer = (f32, (f32, s32), (), ((f32, s32))) */
static int create(void **state) {
  static Fixture fixture;
  fixture.arena = arena_create();
  ShapeTable *table = fixture.table = shape_table_create(fixture.arena);
  fixture.f32 = shape_scalar(table, TYPE_F32);
  fixture.s32 = shape_scalar(table, TYPE_S32);
  fixture.empty = shape_tuple(table, NULL, 0);
  fixture.pair = shape_tuple(table, (const Shape *const[]){fixture.f32, fixture.s32}, 2);
  const Shape *wrapped = shape_tuple(table, &fixture.pair, 1);
  fixture.outer = shape_tuple(table, (const Shape *const[]){fixture.f32, fixture.pair, fixture.empty, wrapped}, 4);
  *state = &fixture;
  return 0;
}

static int destroy(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

#define INDEX(...) \
  ((ShapeIndex){(int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}})

static void shape_at_follows_the_path(void **state) {
  Fixture *fixture = *state;
  assert_ptr_equal(shape_at(fixture->outer, SHAPE_INDEX_ROOT), fixture->outer);
  assert_ptr_equal(shape_at(fixture->outer, INDEX(1)), fixture->pair);
  assert_ptr_equal(shape_at(fixture->outer, INDEX(3, 0, 1)), fixture->s32);
  assert_null(shape_at(fixture->outer, INDEX(4)));
  assert_null(shape_at(fixture->outer, INDEX(-1)));
  assert_null(shape_at(fixture->outer, INDEX(0, 0)));
  assert_null(shape_at(fixture->outer, INDEX(2, 0)));
  assert_null(shape_at(shape_buffer(fixture->table, fixture->f32), INDEX(0)));
}

static void shape_nodes_are_numbered_parents_first(void **state) {
  Fixture *fixture = *state;
  const Shape *wrapped = fixture->outer->tuple[3];
  const Shape *const expected[] = {fixture->outer, fixture->f32, fixture->pair, fixture->f32, fixture->s32,
                                   fixture->empty, wrapped,      fixture->pair, fixture->f32, fixture->s32};
  assert_int_equal(shape_node_count(fixture->outer), 10);
  assert_int_equal(shape_leaf_count(fixture->outer), 5);
  assert_int_equal(shape_depth(fixture->outer), 3);
  for (int i = 0; i < 10; i++) assert_ptr_equal(shape_node(fixture->outer, i), expected[i]);
}

static void shape_node_path_and_index_are_inverse(void **state) {
  Fixture *fixture = *state;
  for (int i = 0; i < shape_node_count(fixture->outer); i++) {
    int64_t path[3];
    int depth = shape_node_path(fixture->outer, i, path);
    assert_in_range(depth, 0, shape_depth(fixture->outer));
    assert_int_equal(shape_node_from_index(fixture->outer, (ShapeIndex){depth, path}), i);
    assert_ptr_equal(shape_at(fixture->outer, (ShapeIndex){depth, path}), shape_node(fixture->outer, i));
  }
  assert_int_equal(shape_node_from_index(fixture->outer, INDEX(3, 0, 2)), -1);
  assert_int_equal(shape_node_from_index(fixture->outer, INDEX(0, 0)), -1);
}

static void shape_node_child_numbers(void **state) {
  Fixture *fixture = *state;
  assert_int_equal(shape_node_child(fixture->outer, 0, 0), 1);
  assert_int_equal(shape_node_child(fixture->outer, 0, 3), 6);
  assert_int_equal(shape_node_child(fixture->outer, 2, 1), 4);
  assert_int_equal(shape_node_child(fixture->outer, 7, 1), 9);
}

static void shape_single_node(void **state) {
  Fixture *fixture = *state;
  const Shape *const singles[] = {fixture->f32, shape_token(fixture->table),
                                  shape_buffer(fixture->table, fixture->f32)};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(shape_node_count(singles[i]), 1);
    assert_int_equal(shape_leaf_count(singles[i]), 1);
    assert_int_equal(shape_depth(singles[i]), 0);
    assert_ptr_equal(shape_node(singles[i], 0), singles[i]);
  }
  assert_int_equal(shape_node_count(fixture->empty), 1);
  assert_int_equal(shape_leaf_count(fixture->empty), 0);
  assert_int_equal(shape_depth(fixture->empty), 0);
}

/* 60 lines of text can name 2^60 leaves: every question is answered at once, counts stop at INT_MAX. */
static void shape_counts_of_doubling_tuples_saturate(void **state) {
  Fixture *fixture = *state;
  const Shape *shape = fixture->f32;
  for (int i = 0; i < 80; i++) shape = shape_tuple(fixture->table, (const Shape *const[]){shape, shape}, 2);
  assert_int_equal(shape_node_count(shape), INT_MAX);
  assert_int_equal(shape_leaf_count(shape), INT_MAX);
  assert_int_equal(shape_depth(shape), 80);
  assert_int_equal(shape_leaf_byte_size(shape), -1);
  assert_true(shape_has_default_layout(shape));
  assert_false(shape_is_dynamic(shape));
}

static void shape_index_equality(void **state) {
  (void)state;
  assert_true(shape_index_equal(SHAPE_INDEX_ROOT, SHAPE_INDEX_ROOT));
  assert_true(shape_index_equal(INDEX(1, 2), INDEX(1, 2)));
  assert_false(shape_index_equal(INDEX(1, 2), INDEX(1)));
  assert_false(shape_index_equal(INDEX(1, 2), INDEX(1, 3)));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(shape_at_follows_the_path),
      TEST(shape_nodes_are_numbered_parents_first),
      TEST(shape_node_path_and_index_are_inverse),
      TEST(shape_node_child_numbers),
      TEST(shape_single_node),
      TEST(shape_counts_of_doubling_tuples_saturate),
      TEST(shape_index_equality),
  };
  return cmocka_run_group_tests_name("shape_index", tests, NULL, NULL);
}
