#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_visible(StringView text, bool keeps_line_ends, const char *expected) {
  Arena *arena = arena_create();
  StringBuilder out;
  sb_init(&out, arena);
  sb_append_visible(&out, text, keeps_line_ends);
  assert_string_equal(out.data, expected);
  arena_destroy(arena);
}

static void sb_append_visible_keeps_text(void **state) {
  (void)state;
  static const char TEXT[] = "a\tb \xc3\xa9\xc2\xa0\xe2\x82\xac\xf0\x9f\x98\x80";
  assert_visible(SV("a\tb \xc3\xa9\xc2\xa0\xe2\x82\xac\xf0\x9f\x98\x80"), false, TEXT);
  assert_visible(SV("a\nb"), true, "a\nb");
}

static void sb_append_visible_replaces_controls(void **state) {
  (void)state;
  assert_visible(SV("\x1b[1m\x7f\r\n"), false, "?[1m?\?\?");
  assert_visible(SV("\xc2\x80\xc2\x9b\xc2\x9f"), false, "???"); /* C1 */
  assert_visible(SV("\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa"), false,
                 "\xe2\x80\xa9????\xe2\x81\xaa"); /* U+202A to U+202E, U+2066 to U+2069, and their neighbours */
}

static void sb_append_visible_replaces_each_byte_that_is_no_utf8(void **state) {
  (void)state;
  assert_visible(SV("\x80z\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"), false, "?z???????????");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sb_append_visible_keeps_text),
      cmocka_unit_test(sb_append_visible_replaces_controls),
      cmocka_unit_test(sb_append_visible_replaces_each_byte_that_is_no_utf8),
  };
  return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
