#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

static int create(void **state) {
  *state = arena_create();
  return 0;
}

static int destroy(void **state) {
  arena_destroy(*state);
  return 0;
}

static bool is_zero(const unsigned char *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (data[i] != 0) return false;
  }
  return true;
}

static void alloc_any_size_is_zeroed_and_aligned(void **state) {
  Arena *arena = *state;
  for (int round = 0; round < 3; round++) {
    for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
      unsigned char *data = arena_alloc(arena, size);
      assert_int_equal((uintptr_t)data % 16, 0);
      assert_true(is_zero(data, size));
      memset(data, 0xee, size);
    }
    arena_reset(arena); /* the next round sees memory that was written to */
  }
}

static void alloc_many_do_not_overlap(void **state) {
  enum { COUNT = 5000 };
  unsigned char *places[COUNT];
  for (int i = 0; i < COUNT; i++) {
    size_t size = (size_t)(i % 97) + 1;
    places[i] = arena_alloc(*state, size);
    memset(places[i], i & 0xff, size);
  }
  for (int i = 0; i < COUNT; i++) {
    for (int j = 0; j < i % 97 + 1; j++) assert_int_equal(places[i][j], i & 0xff);
  }
}

static void alloc_empty_gives_distinct_places(void **state) {
  void *first = arena_alloc(*state, 0), *second = arena_alloc(*state, 0);
  assert_non_null(first);
  assert_ptr_not_equal(first, second);
}

static void alloc_aligned_meets_alignment(void **state) {
  for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    arena_alloc(*state, 3);
    unsigned char *data = arena_alloc_aligned(*state, 40, alignment);
    assert_int_equal((uintptr_t)data % alignment, 0);
    memset(data, 1, 40);
  }
}

static void alloc_huge_untouched_costs_no_memory(void **state) {
  /* Zeroing 64 GiB would not end; fresh pages need none.  Address sanitizer has its own, smaller limit. */
#if defined(__SANITIZE_ADDRESS__)
  size_t size = (size_t)64 << 20;
#elif defined(__has_feature)
  size_t size = (size_t)64 << 20;
#else
  size_t size = (size_t)1 << 30;
#endif
  unsigned char *data = arena_alloc(*state, size);
  data[size - 1] = 1;
  assert_int_equal(data[0], 0);
  assert_int_equal(arena_used(*state), size);
}

static void used_counts_requested_bytes_until_reset(void **state) {
  Arena *arena = *state;
  assert_int_equal(arena_used(arena), 0);
  arena_alloc(arena, 100);
  arena_alloc(arena, 3000000);
  assert_int_equal(arena_used(arena), 3000100);
  arena_reset(arena);
  assert_int_equal(arena_used(arena), 0);
}

static void reset_reuses_the_block(void **state) {
  Arena *arena = *state;
  arena_alloc(arena, 1000);
  arena_reset(arena);
  void *first = arena_alloc(arena, 10);
  arena_reset(arena);
  assert_ptr_equal(arena_alloc(arena, 10), first);
}

static void destroy_null_is_nothing(void **state) {
  (void)state;
  arena_destroy(NULL);
}

static void copy_string_ends_with_zero(void **state) {
  char *copy = arena_copy_string(*state, "abcdef", 3);
  assert_string_equal(copy, "abc");
  assert_string_equal(arena_copy_string(*state, NULL, 0), "");
}

static void printf_long_text_is_whole(void **state) {
  char *text = arena_printf(*state, "%s|%5000d|%s", "first", 7, "last");
  assert_int_equal(strlen(text), 5 + 1 + 5000 + 1 + 4);
  assert_string_equal(text + 5006, "|last");
}

static void extend_latest_grows_in_place(void **state) {
  unsigned char *data = arena_alloc(*state, 100);
  memset(data, 7, 100);
  assert_true(arena_extend(*state, data, 100, 300));
  assert_int_equal(data[99], 7);
  assert_true(is_zero(data + 100, 200));
  assert_int_equal(arena_used(*state), 300);
  unsigned char *next = arena_alloc(*state, 1);
  assert_true(next >= data + 300);
}

static void extend_covered_changes_nothing(void **state) {
  unsigned char *data = arena_alloc(*state, 64);
  arena_alloc(*state, 1);
  assert_false(arena_extend(*state, data, 64, 65));
  assert_false(arena_extend(*state, NULL, 0, 10));
  assert_int_equal(arena_used(*state), 65);
}

static void extend_dirty_memory_is_zeroed(void **state) {
  memset(arena_alloc(*state, 2000), 0xff, 2000);
  arena_reset(*state);
  unsigned char *data = arena_alloc(*state, 10);
  assert_true(arena_extend(*state, data, 10, 1500));
  assert_true(is_zero(data, 1500));
}

typedef ARRAY(int64_t) IntArray;

static void array_push_many_keeps_all(void **state) {
  IntArray array = {0};
  for (int64_t i = 0; i < 100000; i++) {
    array_push(&array, *state, i * i);
    if (i % 1000 == 0) arena_alloc(*state, 8); /* forces a move at the next growth */
  }
  assert_int_equal(array.count, 100000);
  for (int64_t i = 0; i < array.count; i++) assert_true(array.data[i] == i * i);
  assert_int_equal(array_last(&array), 99999LL * 99999LL);
  assert_int_equal(array_pop(&array), 99999LL * 99999LL);
  assert_int_equal(array.count, 99999);
}

static void array_reserve_keeps_contents_and_pointer(void **state) {
  IntArray array = {0};
  array_push(&array, *state, 42);
  array_reserve(&array, *state, 1000);
  const int64_t *data = array.data;
  assert_true(array.capacity >= 1000);
  for (int i = 1; i < 1000; i++) array_push(&array, *state, i);
  assert_ptr_equal(array.data, data);
  assert_int_equal(array.data[0], 42);
}

static void array_copies_grow_apart(void **state) {
  IntArray first = {0};
  for (int i = 0; i < 8; i++) array_push(&first, *state, i);
  IntArray second = first; /* full: both have to grow from here on */
  assert_int_equal(first.capacity, 8);
  array_push(&first, *state, 100);
  array_push(&second, *state, 200);
  assert_int_equal(first.data[8], 100);
  assert_int_equal(second.data[8], 200);
}

/* Whoever ends the one ends what the other had: LeakSanitizer would tell, or the address sanitizer. */
static void take_keeps_what_the_other_had(void **state) {
  (void)state;
  Arena *arena = arena_create(), *other = arena_create(), *empty = arena_create();
  char *first = arena_copy_string(arena, "first", 5), *small = arena_copy_string(other, "small", 5);
  char *large = arena_alloc(other, 1 << 20);
  memset(large, 7, 1 << 20);
  size_t used = arena_used(arena) + arena_used(other);
  arena_take(arena, other);
  arena_take(arena, empty);
  assert_int_equal(arena_used(arena), used);
  char *more = arena_copy_string(arena, "more", 4);
  assert_string_equal(first, "first");
  assert_string_equal(small, "small");
  assert_string_equal(more, "more");
  assert_int_equal(large[(1 << 20) - 1], 7);
  arena_reset(arena);
  assert_int_equal(arena_used(arena), 0);
  arena_destroy(arena);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(alloc_any_size_is_zeroed_and_aligned),
      TEST(alloc_many_do_not_overlap),
      TEST(alloc_empty_gives_distinct_places),
      TEST(alloc_aligned_meets_alignment),
      TEST(alloc_huge_untouched_costs_no_memory),
      TEST(used_counts_requested_bytes_until_reset),
      TEST(reset_reuses_the_block),
      TEST(take_keeps_what_the_other_had),
      TEST(destroy_null_is_nothing),
      TEST(copy_string_ends_with_zero),
      TEST(printf_long_text_is_whole),
      TEST(extend_latest_grows_in_place),
      TEST(extend_covered_changes_nothing),
      TEST(extend_dirty_memory_is_zeroed),
      TEST(array_push_many_keeps_all),
      TEST(array_reserve_keeps_contents_and_pointer),
      TEST(array_copies_grow_apart),
  };
  return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
