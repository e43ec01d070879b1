#include "base/guarded_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void do_nothing(void *data) {
  *(bool *)data = guarded_call_is_active();
}

static void ask_for_too_much(void *data) {
  Arena *arena = arena_create(); /* destroyed by the guard: LeakSanitizer would tell */
  arena_alloc(arena, 100);
  *(bool *)data = true;
  arena_alloc(arena, SIZE_MAX / 2 + 1);
}

static void meet_bug(void *data) {
  XLAC_BUG("%s is wrong", (const char *)data);
}

static void make_arena(void *data) {
  Arena *gone = arena_create(), *kept = arena_create(), *last = arena_create();
  arena_destroy(gone);
  arena_destroy(last);
  *(Arena **)data = kept;
}

static void guarded_call_returns(void **state) {
  (void)state;
  CallFailure failure;
  bool was_active = false;
  assert_int_equal(guarded_call(do_nothing, &was_active, &failure), CALL_RETURNED);
  assert_true(was_active);
  assert_false(guarded_call_is_active());
}

static void guarded_call_says_that_memory_lacks(void **state) {
  (void)state;
  CallFailure failure;
  bool began = false;
  assert_int_equal(guarded_call(ask_for_too_much, &began, &failure), CALL_OUT_OF_MEMORY);
  assert_true(began);
  assert_true(failure.bytes > SIZE_MAX / 2);
  assert_false(guarded_call_is_active());
}

static void guarded_call_says_what_the_bug_is(void **state) {
  (void)state;
  CallFailure failure;
  assert_int_equal(guarded_call(meet_bug, "the sum", &failure), CALL_MET_BUG);
  assert_non_null(strstr(failure.message, "guarded_call_test.c"));
  assert_non_null(strstr(failure.message, "the sum is wrong"));
}

static void guarded_call_leaves_arenas_of_calls_that_return(void **state) {
  (void)state;
  CallFailure failure;
  Arena *arena = NULL;
  assert_int_equal(guarded_call(make_arena, &arena, &failure), CALL_RETURNED);
  memset(arena_alloc(arena, 10), 1, 10);
  arena_destroy(arena);
}

static void fail_inside(void *data) {
  CallFailure failure;
  bool began;
  *(CallOutcome *)data = guarded_call(ask_for_too_much, &began, &failure);
  meet_bug("the outer call");
}

static void guarded_calls_nest(void **state) {
  (void)state;
  CallFailure failure;
  CallOutcome inner = CALL_RETURNED;
  assert_int_equal(guarded_call(fail_inside, &inner, &failure), CALL_MET_BUG);
  assert_int_equal(inner, CALL_OUT_OF_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(guarded_call_returns),
      cmocka_unit_test(guarded_call_says_that_memory_lacks),
      cmocka_unit_test(guarded_call_says_what_the_bug_is),
      cmocka_unit_test(guarded_call_leaves_arenas_of_calls_that_return),
      cmocka_unit_test(guarded_calls_nest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
