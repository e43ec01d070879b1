#include "hlo/ir/int64_list.h"

#include "hlo/ir/hlo_testing.h"

static const int64_t some[] = {4, 1, 4}, other[] = {0};
static const Int64List none = {0}, three = {3, some}, one = {1, other};

static void int64_list_find_tells_the_first_place(void **state) {
  (void)state;
  assert_int_equal(int64_list_find(three, 4), 0);
  assert_int_equal(int64_list_find(three, 1), 1);
  assert_int_equal(int64_list_find(three, 2), -1);
  assert_int_equal(int64_list_find(none, 0), -1);
  assert_true(int64_list_has(three, 1));
  assert_false(int64_list_has(three, 0));
}

/* 2, 3, 5, 6, … are in neither list. */
static void int64_lists_omitted_counts_what_neither_has(void **state) {
  (void)state;
  static const int64_t expected[] = {2, 3, 5, 6};
  for (int64_t n = 0; n < 4; n++) {
    assert_int_equal(int64_lists_omitted(three, one, n), expected[n]);
    assert_int_equal(int64_lists_omitted_below(three, one, expected[n]), n);
  }
  assert_int_equal(int64_lists_omitted(none, none, 3), 3);
  assert_int_equal(int64_lists_omitted_below(one, none, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(int64_list_find_tells_the_first_place),
      cmocka_unit_test(int64_lists_omitted_counts_what_neither_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
