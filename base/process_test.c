#include "base/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The message of running |words|, empty when all is well. */
static const char *message_of(Arena *arena, const char *const *words, Status *out_status) {
  DiagSink diag;
  diag_sink_init(&diag, arena);
  *out_status = process_run(words, &diag);
  return diag.first ? arena_copy_string(arena, diag.first->message.data, diag.first->message.size) : "";
}

static void process_run_waits_for_success(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Status status;
  assert_string_equal(message_of(arena, (const char *const[]){"true", NULL}, &status), "");
  assert_int_equal(status, STATUS_OK);
  arena_destroy(arena);
}

static void process_run_says_how_it_failed(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Status status;
  const char *const seven[] = {"sh", "-c", "exit 7", NULL};
  assert_string_equal(message_of(arena, seven, &status), "'sh' ended with status 7");
  assert_int_equal(status, STATUS_IO);
  const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
  assert_string_equal(message_of(arena, killed, &status), "'sh' was ended by signal 9 (Killed)");
  const char *const missing[] = {"no-such-program", NULL};
  assert_string_equal(message_of(arena, missing, &status),
                      "unable to run 'no-such-program': No such file or directory");
  assert_int_equal(status, STATUS_IO);
  arena_destroy(arena);
}

static void process_ask_tells_an_answer_from_an_error(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  StringView failure;
  assert_int_equal(process_ask(arena, (const char *const[]){"true", NULL}, &diag, &failure), STATUS_OK);
  assert_int_equal(failure.size, 0);
  assert_int_equal(process_ask(arena, (const char *const[]){"false", NULL}, &diag, &failure), STATUS_OK);
  assert_true(sv_equal_cstring(failure, "'false' ended with status 1"));
  assert_int_equal(diag.error_count, 0);
  assert_int_equal(process_ask(arena, (const char *const[]){"no-such-program", NULL}, &diag, &failure), STATUS_IO);
  assert_int_equal(diag.error_count, 1);
  arena_destroy(arena);
}

static void process_run_gives_no_input(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Status status;
  const char *const reads[] = {"sh", "-c", "! read line", NULL};
  assert_string_equal(message_of(arena, reads, &status), "");
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(process_run_waits_for_success),
      cmocka_unit_test(process_run_says_how_it_failed),
      cmocka_unit_test(process_ask_tells_an_answer_from_an_error),
      cmocka_unit_test(process_run_gives_no_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
