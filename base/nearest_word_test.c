#include "base/nearest_word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nearest_word_is_the_first_with_fewest_edits(void **state) {
  (void)state;
  NearestWord nearest = nearest_word_begin(SV("chekc"), 3);
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
  NearestWord nearest = nearest_word_begin(SV("ab"), 3);
  nearest_word_offer(&nearest, SV(""));
  nearest_word_offer(&nearest, SV("vwxyz"));
  assert_int_equal(nearest.word.size, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearest_word_is_the_first_with_fewest_edits),
      cmocka_unit_test(nearest_word_is_never_empty_or_too_far),
  };
  return cmocka_run_group_tests_name("nearest_word", tests, NULL, NULL);
}
