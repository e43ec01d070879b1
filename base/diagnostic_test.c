#include "base/diagnostic.h"

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

static void error_returns_status_and_keeps_order(void **state) {
  DiagSink sink;
  diag_sink_init(&sink, *state);
  SourceFile file = {SV("a.hlo"), SV("one\ntwo\n")};
  SourceLoc loc = {&file, 2, 3};
  assert_int_equal(diag_error(&sink, STATUS_UNSUPPORTED, loc, "first", "no '%s'", "reduce"), STATUS_UNSUPPORTED);
  diag_warning(&sink, NO_LOC, "second", "%d", 7);
  assert_int_equal(diag_error(&sink, STATUS_IO, NO_LOC, "third", "c"), STATUS_IO);
  assert_int_equal(sink.error_count, 2);
  assert_int_equal(sink.warning_count, 1);
  const Diagnostic *first = sink.first;
  assert_string_equal(first->message.data, "no 'reduce'");
  assert_string_equal(first->code, "first");
  assert_int_equal(first->severity, SEVERITY_ERROR);
  assert_int_equal(first->loc.column, 3);
  assert_string_equal(first->next->message.data, "7");
  assert_int_equal(first->next->severity, SEVERITY_WARNING);
  assert_ptr_equal(first->next->next, sink.last);
  assert_null(sink.last->next);
}

static void notes_go_to_the_latest_in_order(void **state) {
  DiagSink sink;
  diag_sink_init(&sink, *state);
  diag_warning(&sink, NO_LOC, "w", "first");
  diag_warning(&sink, NO_LOC, "w", "second");
  diag_note(&sink, NO_LOC, "a");
  diag_note(&sink, NO_LOC, "b");
  assert_null(sink.first->notes);
  assert_string_equal(sink.last->notes->message.data, "a");
  assert_string_equal(sink.last->notes->next->message.data, "b");
  assert_null(sink.last->notes->next->next);
}

static void error_limit_counts_but_drops_with_notes(void **state) {
  DiagSink sink;
  diag_sink_init(&sink, *state);
  sink.error_limit = 2;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(diag_error(&sink, STATUS_INVALID, NO_LOC, "e", "%d", i), STATUS_INVALID);
    diag_note(&sink, NO_LOC, "note %d", i);
  }
  assert_int_equal(sink.error_count, 5);
  assert_string_equal(sink.last->message.data, "1");
  assert_null(sink.last->notes->next);
  diag_warning(&sink, NO_LOC, "w", "kept");
  diag_note(&sink, NO_LOC, "kept note");
  assert_string_equal(sink.last->notes->message.data, "kept note");
}

static void assert_line(const SourceFile *file, uint32_t line, const char *expected) {
  StringView got = source_loc_line((SourceLoc){file, line, 1});
  assert_true(sv_equal_cstring(got, expected));
}

static void source_line_finds_every_line(void **state) {
  (void)state;
  SourceFile file = {SV("f"), SV("first\r\n\nthird\nlast")};
  assert_line(&file, 1, "first");
  assert_line(&file, 2, "");
  assert_line(&file, 3, "third");
  assert_line(&file, 4, "last");
  assert_line(&file, 5, "");
  assert_line(&file, UINT32_MAX, "");
}

static void source_line_unknown_is_empty(void **state) {
  (void)state;
  SourceFile empty = {SV("f"), {NULL, 0}};
  assert_line(&empty, 1, "");
  assert_line(&empty, 0, "");
  assert_int_equal(source_loc_line(NO_LOC).size, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(error_returns_status_and_keeps_order),
      TEST(notes_go_to_the_latest_in_order),
      TEST(error_limit_counts_but_drops_with_notes),
      TEST(source_line_finds_every_line),
      TEST(source_line_unknown_is_empty),
  };
  return cmocka_run_group_tests_name("diagnostic", tests, NULL, NULL);
}
