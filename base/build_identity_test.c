#include "base/build_identity.h"

#include <dlfcn.h>

#include "base/fixture_testing.h"

/* Of this program and of the C library, which another linker run made. */
static void build_identity_tells_programs_and_libraries_apart(void **state) {
  (void)state;
  StringView ours = build_identity_of((const void *)(uintptr_t)build_identity_tells_programs_and_libraries_apart);
  StringView again = build_identity_of("a constant of the same program");
  /* A function that no sanitizer puts its own in front of. */
  StringView library = build_identity_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  assert_true(ours.size >= 8 && library.size >= 8);
  assert_true(sv_equal(ours, again));
  assert_false(sv_equal(ours, library));
}

static void build_identity_of_no_program_is_empty(void **state) {
  (void)state;
  int on_the_stack = 0;
  assert_int_equal(build_identity_of(&on_the_stack).size, 0);
  assert_int_equal(build_identity_of(NULL).size, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(build_identity_tells_programs_and_libraries_apart),
      cmocka_unit_test(build_identity_of_no_program_is_empty),
  };
  return cmocka_run_group_tests_name("build_identity", tests, NULL, NULL);
}
