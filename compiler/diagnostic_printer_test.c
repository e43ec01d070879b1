#include "compiler/diagnostic_printer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Arena *arena;
static DiagSink diag;

static int set_up(void **state) {
  (void)state;
  arena = arena_create();
  diag_sink_init(&diag, arena);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  arena_destroy(arena);
  return 0;
}

static const char *printed(DiagnosticStyle style) {
  StringBuilder text;
  sb_init(&text, arena);
  diagnostics_print(&text, &diag, &style, NULL);
  return text.data ? text.data : "";
}

static void diagnostics_print_caret_follows_tabs_and_letters(void **state) {
  (void)state;
  SourceFile file = {SV("m.hlo"), SV("first\n\tx = \xC3\xA4 here\n")};
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 2, 9}, "a-code", "wrong '%s'", "here"),
                   STATUS_INVALID);
  diag_note(&diag, NO_LOC, "did you mean '%s'?", "there");
  assert_string_equal(
      printed((DiagnosticStyle){0}),
      "m.hlo:2:9: error: wrong 'here'\n\tx = \xC3\xA4 here\n\t      ^\nm.hlo:2:9: note: did you mean 'there'?\n");
}

static void diagnostics_print_cuts_long_lines(void **state) {
  (void)state;
  char *text = arena_alloc(arena, 100001);
  memset(text, 'a', 100000);
  text[50000] = 'X';
  SourceFile file = {SV("m"), {text, 100000}};
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 1, 50001}, "c", "m"), STATUS_INVALID);
  const char *out = printed((DiagnosticStyle){0});
  assert_true(strlen(out) < 300);
  const char *line = strchr(out, '\n') + 1, *caret = strchr(line, '^');
  const char *caret_line = strchr(line, '\n') + 1;
  assert_int_equal(line[caret - caret_line], 'X');
}

static void diagnostics_print_keeps_control_characters_from_the_terminal(void **state) {
  (void)state;
  SourceFile file = {SV("m"), SV("\x1B]0;title\x07\n")};
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 1, 1}, "c", "found '\x1B'"), STATUS_INVALID);
  assert_null(strchr(printed((DiagnosticStyle){0}), '\x1B'));
  assert_non_null(strchr(printed((DiagnosticStyle){.color = true}), '\x1B'));
}

/* Terminals take U+009B for ESC [ as well. */
static void diagnostics_print_keeps_wide_controls_from_the_terminal(void **state) {
  (void)state;
  SourceFile file = {SV("m\r\n"), SV("a\xC2\x9B"
                                     "31m\xFF\n")};
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 1, 1}, "c", "\xE2\x80\xAE\xC3\xA9"),
                   STATUS_INVALID);
  assert_string_equal(printed((DiagnosticStyle){0}), "m\?\?:1:1: error: ?\xC3\xA9\na?31m?\n^\n");
}

static void diagnostics_print_location_beyond_the_text(void **state) {
  (void)state;
  SourceFile file = {SV("m"), SV("ab")};
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 1, 900}, "c", "x"), STATUS_INVALID);
  assert_string_equal(printed((DiagnosticStyle){0}), "m:1:900: error: x\nab\n  ^\n");
  diag_sink_init(&diag, arena);
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 9, 1}, "c", "x"), STATUS_INVALID);
  assert_string_equal(printed((DiagnosticStyle){0}), "m:9:1: error: x\n");
}

static void diagnostics_print_json_is_one_line_each(void **state) {
  (void)state;
  SourceFile file = {SV("m\"n"), SV("f = add(), metadata={source_file=\"a.py\" source_line=12}\n")};
  assert_int_equal(diag_error(&diag, STATUS_INVALID, (SourceLoc){&file, 1, 5}, "a-code", "x"), STATUS_INVALID);
  diag_warning(&diag, NO_LOC, "b-code", "y\nz");
  assert_string_equal(
      printed((DiagnosticStyle){.json = true}),
      "{\"file\":\"m\\\"n\",\"line\":1,\"column\":5,\"severity\":\"error\",\"code\":\"a-code\",\"message\":\"x\","
      "\"notes\":[{\"file\":null,\"line\":0,\"column\":0,\"message\":\"it came from a.py:12\"}]}\n"
      "{\"file\":null,\"line\":0,\"column\":0,\"severity\":\"warning\",\"code\":\"b-code\",\"message\":\"y\\nz\","
      "\"notes\":[]}\n");
}

static void diagnostics_print_warnings_by_style(void **state) {
  (void)state;
  diag_warning(&diag, NO_LOC, "b-code", "y");
  assert_string_equal(printed((DiagnosticStyle){.show_codes = true}), "xlac: warning: y [b-code]\n");
  assert_string_equal(printed((DiagnosticStyle){.hide_warnings = true}), "");
  assert_string_equal(printed((DiagnosticStyle){.warnings_are_errors = true}), "xlac: error: y\n");
}

static void diagnostics_print_remarks_as_notes(void **state) {
  (void)state;
  diag_remark(&diag, NO_LOC, "c-code", "%d", 1);
  diag_note(&diag, NO_LOC, "more");
  assert_int_equal(diag.error_count + diag.warning_count, 0);
  assert_string_equal(printed((DiagnosticStyle){.warnings_are_errors = true}), "xlac: note: 1\nxlac: note: more\n");
  assert_string_equal(printed((DiagnosticStyle){.hide_warnings = true}), "");
}

static void diagnostics_print_says_how_many_are_missing(void **state) {
  (void)state;
  diag.error_limit = 1;
  for (int i = 0; i < 3; i++) assert_int_equal(diag_error(&diag, STATUS_INVALID, NO_LOC, "c", "x"), STATUS_INVALID);
  assert_string_equal(printed((DiagnosticStyle){0}), "xlac: error: x\nxlac: 2 further errors are not shown\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(diagnostics_print_caret_follows_tabs_and_letters, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_cuts_long_lines, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_keeps_control_characters_from_the_terminal, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_keeps_wide_controls_from_the_terminal, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_location_beyond_the_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_json_is_one_line_each, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_warnings_by_style, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_remarks_as_notes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diagnostics_print_says_how_many_are_missing, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
