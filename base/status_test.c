#include "base/status.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static Status pass_on(Status status) {
  RETURN_IF_ERROR(status);
  return STATUS_MISMATCH;
}

static void return_if_error_returns_only_errors(void **state) {
  (void)state;
  assert_int_equal(pass_on(STATUS_IO), STATUS_IO);
  assert_int_equal(pass_on(STATUS_OK), STATUS_MISMATCH);
}

static void check_true_goes_on(void **state) {
  (void)state;
  int evaluations = 0;
  XLAC_CHECK(++evaluations == 1);
  assert_int_equal(evaluations, 1);
}

/* Runs |broken| in a child and returns what it wrote to standard error; it has to abort. */
static void run_aborting(void (*broken)(void), char *output, size_t size) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    broken();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(ends[0], output + length, size - 1 - length)) > 0) length += (size_t)got;
  output[length] = '\0';
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void fail_with_numbers(void) {
  XLAC_BUG("%d of %s", 3, "four");
}

static void fail_with_check(void) {
  XLAC_CHECK(1 + 1 == 3);
}

static void bug_aborts_with_location_and_message(void **state) {
  (void)state;
  char output[2048];
  run_aborting(fail_with_numbers, output, sizeof output);
  assert_non_null(strstr(output, "base/status_test.c:"));
  assert_non_null(strstr(output, ": 3 of four\n"));
}

static void check_false_aborts_with_condition(void **state) {
  (void)state;
  char output[2048];
  run_aborting(fail_with_check, output, sizeof output);
  assert_non_null(strstr(output, "check failed: 1 + 1 == 3\n"));
}

static void fail_without_memory(void) {
  out_of_memory(42);
}

static void end_with_size(size_t bytes) {
  fprintf(stderr, "handler: %zu\n", bytes);
  abort();
}

static void out_of_memory_aborts_unless_there_is_a_handler(void **state) {
  (void)state;
  char output[2048];
  run_aborting(fail_without_memory, output, sizeof output);
  assert_non_null(strstr(output, "out of memory: 42 bytes\n"));
  out_of_memory_set_handler(end_with_size);
  run_aborting(fail_without_memory, output, sizeof output);
  out_of_memory_set_handler(NULL);
  assert_string_equal(output, "handler: 42\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(return_if_error_returns_only_errors),
      cmocka_unit_test(check_true_goes_on),
      cmocka_unit_test(bug_aborts_with_location_and_message),
      cmocka_unit_test(check_false_aborts_with_condition),
      cmocka_unit_test(out_of_memory_aborts_unless_there_is_a_handler),
  };
  return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
