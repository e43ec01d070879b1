#include "base/radix_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash_map.h"

/* Ascending, and where keys are equal the indices, which were ascending before. */
static void check(const int64_t *keys, int64_t count) {
  Arena *arena = arena_create();
  int64_t *order = ARENA_NEW_ARRAY(arena, int64_t, count + 1);
  bool *is_there = ARENA_NEW_ARRAY(arena, bool, count + 1);
  for (int64_t i = 0; i < count; i++) order[i] = i;
  radix_sort(keys, count, order, arena);
  for (int64_t i = 0; i < count; i++) {
    assert_in_range(order[i], 0, count - 1);
    assert_false(is_there[order[i]]);
    is_there[order[i]] = true;
    if (i == 0) continue;
    bool is_right =
        keys[order[i - 1]] < keys[order[i]] || (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]);
    assert_true(is_right);
  }
  arena_destroy(arena);
}

static void keys_ascend_and_equal_ones_stay(void **state) {
  (void)state;
  static const int64_t few[] = {3, INT64_MIN, -1, INT64_MAX, 0, -1, 3, INT64_MIN + 1};
  check(few, sizeof(few) / sizeof(*few));
  check(few, 0);
  enum { MANY = 3000 };
  int64_t keys[MANY];
  for (int bits = 1; bits <= 64; bits += 7) {
    for (int64_t i = 0; i < MANY; i++) keys[i] = (int64_t)hash_u64((uint64_t)(i * 64 + bits)) >> (64 - bits);
    for (int64_t count = 30; count <= MANY; count = count * 3 + 1) check(keys, count);
  }
}

static void several_keys_are_sorted_by_from_the_last_to_the_first(void **state) {
  (void)state;
  enum { COUNT = 500 };
  int64_t first[COUNT], second[COUNT], order[COUNT];
  for (int64_t i = 0; i < COUNT; i++) {
    first[i] = (int64_t)(hash_u64((uint64_t)i) % 5) - 2;
    second[i] = (int64_t)(hash_u64((uint64_t)i + COUNT) % 1000);
    order[i] = i;
  }
  Arena *arena = arena_create();
  radix_sort(second, COUNT, order, arena);
  radix_sort(first, COUNT, order, arena);
  for (int64_t i = 1; i < COUNT; i++) {
    int64_t a = order[i - 1], b = order[i];
    assert_true(first[a] < first[b] || (first[a] == first[b] && second[a] <= second[b]));
  }
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_ascend_and_equal_ones_stay),
      cmocka_unit_test(several_keys_are_sorted_by_from_the_last_to_the_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
