#include "base/nearest_word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nearest_word_is_the_first_with_fewest_edits(void **state) {
  (void)state;
  NearestWord nearest = nearest_word_begin(SV("chekc"));
  nearest_word_offer(&nearest, SV("opt"));
  assert_int_equal(nearest.word.size, 0);
  nearest_word_offer(&nearest, SV("chock"));
  nearest_word_offer(&nearest, SV("check"));
  nearest_word_offer(&nearest, SV("chek"));
  assert_true(sv_equal_cstring(nearest.word, "check"));
  assert_int_equal(nearest.distance, 1);
}

static void nearest_word_is_never_empty_or_too_far(void **state) {
  (void)state;
  NearestWord nearest = nearest_word_begin(SV("ab"));
  nearest_word_offer(&nearest, SV(""));
  nearest_word_offer(&nearest, SV("vwxyz"));
  assert_int_equal(nearest.word.size, 0);
}

static StringView nearest_of(const char *wanted, const char *candidate) {
  NearestWord nearest = nearest_word_begin(sv_from_cstring(wanted));
  nearest_word_offer(&nearest, sv_from_cstring(candidate));
  return nearest.word;
}

static void nearest_word_keeps_something_of_the_word(void **state) {
  (void)state;
  assert_int_equal(nearest_of("foo", "dce").size, 0);
  assert_int_equal(nearest_of("foo", "hlo").size, 0);
  assert_int_equal(nearest_of("0", "1").size, 0);
  assert_int_equal(nearest_of("", "1").size, 0);
  assert_int_equal(nearest_of("10", "1").size, 0);
  assert_int_equal(nearest_of("host", "moor").size, 0);
  assert_int_not_equal(nearest_of("dec", "dce").size, 0);
}

static void nearest_word_allows_more_edits_in_longer_words(void **state) {
  (void)state;
  assert_int_not_equal(nearest_of("tarnspoes", "transpose").size, 0);
  assert_int_equal(nearest_of("tarnspo", "traspose").size, 0);
}

static void nearest_word_is_what_was_shortened(void **state) {
  (void)state;
  NearestWord nearest = nearest_word_begin(SV("limit"));
  nearest_word_offer(&nearest, SV("memory-limit"));
  nearest_word_offer(&nearest, SV("pass-limit"));
  assert_true(sv_equal_cstring(nearest.word, "memory-limit"));
  assert_true(sv_equal_cstring(nearest_of("inter", "interpret"), "interpret"));
  assert_int_equal(nearest_of("in", "interpret").size, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearest_word_is_the_first_with_fewest_edits),
      cmocka_unit_test(nearest_word_is_never_empty_or_too_far),
      cmocka_unit_test(nearest_word_keeps_something_of_the_word),
      cmocka_unit_test(nearest_word_allows_more_edits_in_longer_words),
      cmocka_unit_test(nearest_word_is_what_was_shortened),
  };
  return cmocka_run_group_tests_name("nearest_word", tests, NULL, NULL);
}
