#include "base/string_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int create(void **state) {
  *state = arena_create();
  return 0;
}

static int destroy(void **state) {
  arena_destroy(*state);
  return 0;
}

static const StringView NOTHING = {NULL, 0};

static void equal_views_of_different_places(void **state) {
  (void)state;
  char other[] = "addx";
  assert_true(sv_equal(SV("add"), (StringView){other, 3}));
  assert_false(sv_equal(SV("add"), (StringView){other, 4}));
  assert_true(sv_equal(NOTHING, SV("")));
  assert_true(sv_equal_cstring(SV("add"), "add"));
  assert_false(sv_equal_cstring(SV("add"), "adds"));
}

static void compare_orders_bytes_as_unsigned(void **state) {
  (void)state;
  assert_int_equal(sv_compare(SV("a"), SV("b")), -1);
  assert_int_equal(sv_compare(SV("b"), SV("a")), 1);
  assert_int_equal(sv_compare(SV("a"), SV("ab")), -1);
  assert_int_equal(sv_compare(SV("ab"), SV("ab")), 0);
  assert_int_equal(sv_compare(SV("\xff"), SV("a")), 1);
  assert_int_equal(sv_compare(NOTHING, SV("a")), -1);
}

static void affixes_longer_than_text_do_not_match(void **state) {
  (void)state;
  assert_true(sv_starts_with(SV("reduce-window"), SV("reduce")));
  assert_false(sv_starts_with(SV("red"), SV("reduce")));
  assert_true(sv_ends_with(SV("reduce-window"), SV("window")));
  assert_false(sv_ends_with(SV("window"), SV("reduce-window")));
  assert_true(sv_starts_with(NOTHING, SV("")));
  assert_true(sv_contains(SV("a-b-c"), SV("-b-")));
  assert_true(sv_contains(SV("a"), SV("")));
  assert_false(sv_contains(SV("abc"), SV("bd")));
  assert_false(sv_contains(NOTHING, SV("b")));
}

static void sub_is_clamped(void **state) {
  (void)state;
  assert_true(sv_equal(sv_sub(SV("hello"), 1, 3), SV("ell")));
  assert_true(sv_equal(sv_sub(SV("hello"), 3, SIZE_MAX), SV("lo")));
  assert_int_equal(sv_sub(SV("hello"), 9, 2).size, 0);
  assert_int_equal(sv_sub(NOTHING, 1, 1).size, 0);
}

static void copy_and_printf_are_zero_terminated(void **state) {
  StringView copy = sv_copy(*state, sv_sub(SV("hello"), 0, 2));
  assert_string_equal(copy.data, "he");
  StringView text = sv_printf(*state, "%d-%s", 12, "x");
  assert_int_equal(text.size, 4);
  assert_string_equal(text.data, "12-x");
}

/* The recursive definition of optimal string alignment, for short texts. */
static int slow_distance(const char *a, int m, const char *b, int n) {
  if (m == 0 || n == 0) return m + n;
  int best = slow_distance(a, m - 1, b, n - 1) + (a[m - 1] != b[n - 1]);
  int deletion = slow_distance(a, m - 1, b, n) + 1, insertion = slow_distance(a, m, b, n - 1) + 1;
  if (deletion < best) best = deletion;
  if (insertion < best) best = insertion;
  if (m > 1 && n > 1 && a[m - 1] == b[n - 2] && a[m - 2] == b[n - 1]) {
    int swap = slow_distance(a, m - 2, b, n - 2) + 1;
    if (swap < best) best = swap;
  }
  return best;
}

static void edit_distance_random_agrees_with_definition(void **state) {
  (void)state;
  uint32_t seed = 1;
  for (int round = 0; round < 3000; round++) {
    char a[6], b[6];
    for (int i = 0; i < 6; i++) {
      seed = seed * 1664525 + 1013904223;
      a[i] = (char)('a' + (seed >> 16) % 3);
      b[i] = (char)('a' + (seed >> 24) % 3);
    }
    int m = (int)(seed >> 8) % 7, n = (int)(seed >> 12) % 7;
    if (m < 0) m = -m;
    if (n < 0) n = -n;
    int expected = slow_distance(a, m, b, n);
    for (int limit = 0; limit < 7; limit++) {
      int got = sv_edit_distance((StringView){a, (size_t)m}, (StringView){b, (size_t)n}, limit);
      assert_int_equal(got, expected > limit ? limit + 1 : expected);
    }
  }
}

static void edit_distance_known_words(void **state) {
  (void)state;
  assert_int_equal(sv_edit_distance(SV("dimensions"), SV("dimesnions"), 3), 1);
  assert_int_equal(sv_edit_distance(SV("kitten"), SV("sitting"), 5), 3);
  assert_int_equal(sv_edit_distance(SV("ca"), SV("abc"), 5), 3);
  assert_int_equal(sv_edit_distance(SV(""), SV(""), 0), 0);
}

static void edit_distance_long_names_are_bounded(void **state) {
  StringBuilder builder;
  sb_init(&builder, *state);
  sb_append_repeated(&builder, 'x', 100000);
  assert_int_equal(sv_edit_distance(sb_view(&builder), SV("x"), 2), 3);
  assert_int_equal(sv_edit_distance(sb_view(&builder), sb_view(&builder), 2), 0);
}

static void builder_empty_has_empty_view(void **state) {
  StringBuilder builder;
  sb_init(&builder, *state);
  assert_int_equal(sb_view(&builder).size, 0);
  assert_non_null(sb_view(&builder).data);
}

static void builder_appends_in_order(void **state) {
  StringBuilder builder;
  sb_init(&builder, *state);
  sb_append(&builder, SV("f32"));
  sb_append_char(&builder, '[');
  sb_append_int(&builder, -12);
  sb_append_repeated(&builder, ' ', 2);
  sb_append_repeated(&builder, ' ', -5);
  sb_append_cstring(&builder, "]");
  sb_append(&builder, NOTHING);
  sb_printf(&builder, "%04x", 0xbeef);
  assert_string_equal(builder.data, "f32[-12  ]beef");
  assert_int_equal(builder.size, strlen("f32[-12  ]beef"));
}

static void builder_int_extremes(void **state) {
  StringBuilder builder;
  sb_init(&builder, *state);
  sb_append_int(&builder, INT64_MIN);
  sb_append_char(&builder, ' ');
  sb_append_int(&builder, INT64_MAX);
  sb_append_char(&builder, ' ');
  sb_append_int(&builder, 0);
  assert_string_equal(builder.data, "-9223372036854775808 9223372036854775807 0");
}

static void builders_interleaved_do_not_mix(void **state) {
  StringBuilder first, second;
  sb_init(&first, *state);
  sb_init(&second, *state);
  for (int i = 0; i < 20000; i++) {
    sb_append_char(&first, 'a');
    sb_append_char(&second, 'b');
  }
  assert_int_equal(strspn(first.data, "a"), 20000);
  assert_int_equal(strspn(second.data, "b"), 20000);
  assert_int_equal(strlen(first.data), 20000);
}

static void builder_printf_longer_than_room(void **state) {
  for (int length = 0; length < 300; length++) {
    StringBuilder builder;
    sb_init(&builder, *state);
    sb_append_char(&builder, '<');
    sb_printf(&builder, "%*d", length, 5);
    sb_append_char(&builder, '>');
    assert_int_equal(builder.size, (size_t)(length > 1 ? length : 1) + 2);
    assert_int_equal(strlen(builder.data), builder.size);
    assert_string_equal(builder.data + builder.size - 2, "5>");
  }
}

static void counts_and_sizes_are_digits_within_range(void **state) {
  (void)state;
  int64_t value;
  assert_true(sv_to_count(SV("9223372036854775807"), &value));
  assert_true(value == INT64_MAX);
  static const char *const no_counts[] = {"", "-1", "+1", "1K", " 1", "1.0", "9223372036854775808"};
  for (size_t i = 0; i < sizeof no_counts / sizeof no_counts[0]; i++)
    assert_false(sv_to_count(sv_from_cstring(no_counts[i]), &value));
  assert_true(sv_to_size(SV("4K"), &value));
  assert_int_equal(value, 4096);
  assert_true(sv_to_size(SV("3m"), &value));
  assert_int_equal(value, 3 << 20);
  assert_true(sv_to_size(SV("12"), &value));
  assert_int_equal(value, 12);
  static const char *const no_sizes[] = {"", "K", "4KB", "4T", "-4K", "8589934592G"};
  for (size_t i = 0; i < sizeof no_sizes / sizeof no_sizes[0]; i++)
    assert_false(sv_to_size(sv_from_cstring(no_sizes[i]), &value));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(equal_views_of_different_places),
      TEST(compare_orders_bytes_as_unsigned),
      TEST(affixes_longer_than_text_do_not_match),
      TEST(sub_is_clamped),
      TEST(copy_and_printf_are_zero_terminated),
      TEST(edit_distance_random_agrees_with_definition),
      TEST(edit_distance_known_words),
      TEST(edit_distance_long_names_are_bounded),
      TEST(builder_empty_has_empty_view),
      TEST(builder_appends_in_order),
      TEST(builder_int_extremes),
      TEST(builders_interleaved_do_not_mix),
      TEST(builder_printf_longer_than_room),
      TEST(counts_and_sizes_are_digits_within_range),
  };
  return cmocka_run_group_tests_name("string_view", tests, NULL, NULL);
}
