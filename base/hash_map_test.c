#include "base/hash_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static int create(void **state) {
  *state = arena_create();
  return 0;
}

static int destroy(void **state) {
  arena_destroy(*state);
  return 0;
}

static void string_map_empty_has_nothing(void **state) {
  StringMap map;
  string_map_init(&map, *state);
  assert_null(string_map_get(&map, SV("a")));
  assert_null(string_map_get(&map, SV("")));
}

static void string_map_set_returns_previous(void **state) {
  StringMap map;
  int first, second;
  string_map_init(&map, *state);
  assert_null(string_map_set(&map, SV("name"), &first));
  assert_ptr_equal(string_map_set(&map, SV("name"), &second), &first);
  assert_ptr_equal(string_map_get(&map, SV("name")), &second);
  assert_int_equal(map.count, 1);
  assert_ptr_equal(string_map_set(&map, SV("name"), NULL), &second);
  assert_null(string_map_get(&map, SV("name")));
}

static void string_map_keys_with_zeros_and_prefixes_differ(void **state) {
  StringMap map;
  int values[4];
  string_map_init(&map, *state);
  string_map_set(&map, SV(""), &values[0]);
  string_map_set(&map, SV("\0"), &values[1]);
  string_map_set(&map, SV("\0\0"), &values[2]);
  string_map_set(&map, SV("12345678\0"), &values[3]);
  assert_ptr_equal(string_map_get(&map, SV("")), &values[0]);
  assert_ptr_equal(string_map_get(&map, SV("\0")), &values[1]);
  assert_ptr_equal(string_map_get(&map, SV("\0\0")), &values[2]);
  assert_ptr_equal(string_map_get(&map, SV("12345678\0")), &values[3]);
  assert_null(string_map_get(&map, SV("12345678")));
}

static void string_map_many_are_found(void **state) {
  enum { COUNT = 50000 };
  StringMap map;
  string_map_init(&map, *state);
  for (intptr_t i = 1; i <= COUNT; i++) {
    assert_null(string_map_set(&map, sv_printf(*state, "fusion.%ld", (long)i), (void *)i));
  }
  assert_int_equal(map.count, COUNT);
  for (intptr_t i = 1; i <= COUNT; i++) {
    assert_ptr_equal(string_map_get(&map, sv_printf(*state, "fusion.%ld", (long)i)), (void *)i);
  }
  assert_null(string_map_get(&map, SV("fusion.0")));
}

static void int_map_extreme_keys_and_values(void **state) {
  static const uint64_t KEYS[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, 16, 32};
  IntMap map;
  int64_t value = 99;
  int_map_init(&map, *state);
  assert_false(int_map_find(&map, 0, &value));
  for (int i = 0; i < 6; i++) int_map_set(&map, KEYS[i], INT64_MIN + i);
  for (int i = 0; i < 6; i++) {
    assert_true(int_map_find(&map, KEYS[i], &value));
    assert_true(value == INT64_MIN + i);
  }
  int_map_set(&map, 0, 7);
  assert_true(int_map_find(&map, 0, &value));
  assert_int_equal(value, 7);
  assert_int_equal(map.count, 6);
  assert_false(int_map_find(&map, 2, &value));
}

static void int_map_strided_keys_are_found(void **state) {
  IntMap map;
  int64_t value;
  int_map_init(&map, *state);
  for (uint64_t i = 0; i < 100000; i++) int_map_set(&map, i << 40, (int64_t)i);
  for (uint64_t i = 0; i < 100000; i++) {
    assert_true(int_map_find(&map, i << 40, &value));
    assert_int_equal(value, i);
  }
}

static void pointer_map_keeps_pointers(void **state) {
  IntMap map;
  int keys[3], values[3];
  int_map_init(&map, *state);
  for (int i = 0; i < 3; i++) pointer_map_set(&map, &keys[i], &values[i]);
  assert_ptr_equal(pointer_map_get(&map, &keys[1]), &values[1]);
  assert_null(pointer_map_get(&map, &values[0]));
}

/* Numbers fixed here, because output and caches depend on them. */
static void hash_values_are_stable(void **state) {
  (void)state;
  assert_true(hash_u64(0) == 0);
  /* SplitMix64's first output for seed 0. */
  assert_true(hash_u64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
  assert_true(hash_combine(1, 2) != hash_combine(2, 1));
  assert_true(hash_bytes("abcdefgh", 8) != hash_bytes("abcdefgh\0", 9));
  assert_true(hash_bytes("abc", 3) == UINT64_C(0x4293903580acf162));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(string_map_empty_has_nothing),
      TEST(string_map_set_returns_previous),
      TEST(string_map_keys_with_zeros_and_prefixes_differ),
      TEST(string_map_many_are_found),
      TEST(int_map_extreme_keys_and_values),
      TEST(int_map_strided_keys_are_found),
      TEST(pointer_map_keeps_pointers),
      TEST(hash_values_are_stable),
  };
  return cmocka_run_group_tests_name("hash_map", tests, NULL, NULL);
}
