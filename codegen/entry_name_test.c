#include "codegen/entry_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void entry_name_is_identifier_of_letters_and_digits(void **state) {
  (void)state;
  static const char *const identifiers[] = {"a", "_", "A_9", "int", "x86"};
  static const char *const others[] = {"", "9a", "a b", "a-b", "a.b", "\xc3\xa9", "a\n", "$a"};
  for (size_t i = 0; i < sizeof identifiers / sizeof *identifiers; i++)
    assert_true(entry_name_is_identifier(sv_from_cstring(identifiers[i])));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_false(entry_name_is_identifier(sv_from_cstring(others[i])));
}

static void entry_name_is_free_unless_c_has_it(void **state) {
  (void)state;
  static const char *const taken[] = {
      "int",    "main",   "class",  "co_yield", "typeof",         "std",          "xor_eq",
      "memcpy", "strcmp", "expf",   "y0",       "sched_yield",    "printf",       "errno",
      "NULL",   "EOF",    "isnan",  "linux",    "size_t",         "DIR",          "FILE",
      "my_t",   "_start", "__f",    "_Bool",    "XlacDescriptor", "XLAC_PRED",    "I",
      "getenv", "remove", "tgamma", "tanhf",    "atexit_t",       "XLA_FFI_Error"};
  static const char *const free_names[] = {"axpy", "jit_f",      "Main", "mem",  "memcpy2",
                                           "cpy",  "hlo_memcpy", "t",    "xla_f"};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) assert_false(entry_name_is_free(sv_from_cstring(taken[i])));
  for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
    assert_true(entry_name_is_free(sv_from_cstring(free_names[i])));
}

/* The name made of |name| beside a target called |target|. */
static const char *name_of(Arena *arena, const char *name, const char *target) {
  const CallTarget one = {sv_from_cstring(target), NO_LOC};
  const CallTargets targets = {1, &one};
  bool is_changed;
  StringView result = entry_name_made_of(arena, sv_from_cstring(name), &targets, &is_changed);
  assert_int_equal(is_changed, sv_starts_with(result, SV(ENTRY_NAME_PREFIX)) || sv_ends_with(result, SV("_t_")));
  return arena_copy_string(arena, result.data, result.size);
}

static void entry_name_made_of_text_is_free_identifier(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_string_equal(name_of(arena, "axpy", "f"), "axpy");
  assert_string_equal(name_of(arena, "jit__lambda.3", "f"), "jit__lambda_3");
  assert_string_equal(name_of(arena, "memcpy", "f"), "hlo_memcpy");
  assert_string_equal(name_of(arena, "size.t", "f"), "size_t_");
  assert_string_equal(name_of(arena, "<lambda>", "f"), "hlo__lambda_");
  assert_string_equal(name_of(arena, "3d", "f"), "hlo_3d");
  assert_string_equal(name_of(arena, "", "f"), "hlo_");
  assert_string_equal(name_of(arena, "f", "f"), "hlo_f");
  assert_string_equal(name_of(arena, "f", "f_descriptor"), "hlo_f");
  assert_string_equal(name_of(arena, "f", "f_describes"), "f");
  assert_string_equal(name_of(arena, "memcpy", "hlo_memcpy"), "hlo_hlo_memcpy");
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entry_name_is_identifier_of_letters_and_digits),
      cmocka_unit_test(entry_name_is_free_unless_c_has_it),
      cmocka_unit_test(entry_name_made_of_text_is_free_identifier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
