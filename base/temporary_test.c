#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
  Arena *arena;
  Temporary *folder;
} Fixture;

static int create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  fixture->folder = temporary_create_folder(arena, "/tmp/xlac-temporary-XXXXXX");
  *state = fixture;
  return fixture->folder != NULL ? 0 : -1;
}

static int destroy(void **state) {
  Fixture *fixture = *state;
  temporary_delete(fixture->folder);
  arena_destroy(fixture->arena);
  return 0;
}

static const char *path_of(const Fixture *fixture, const char *name) {
  return arena_printf(fixture->arena, "%s/%s", fixture->folder->path, name);
}

static bool exists(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0;
}

static Temporary *create_file(const Fixture *fixture, const char *name) {
  int descriptor;
  Temporary *file = temporary_create_file(fixture->arena, path_of(fixture, name), &descriptor);
  if (file != NULL) close(descriptor);
  return file;
}

static void kept_file_is_no_temporary(void **state) {
  const Fixture *fixture = *state;
  Temporary *a = create_file(fixture, "a"), *b = create_file(fixture, "b"), *c = create_file(fixture, "c");
  assert_non_null(a);
  assert_true(temporary_keep(b, path_of(fixture, "kept")));
  temporary_delete(a);
  temporary_delete(NULL);
  assert_false(exists(path_of(fixture, "a")));
  assert_false(exists(path_of(fixture, "b")));
  assert_true(exists(path_of(fixture, "c")));
  temporary_delete(c);
  assert_true(exists(path_of(fixture, "kept")));
}

static void names_that_are_taken_stay(void **state) {
  const Fixture *fixture = *state;
  Temporary *a = create_file(fixture, "a");
  assert_null(create_file(fixture, "a"));
  assert_int_equal(errno, EEXIST);
  assert_null(temporary_create_link(fixture->arena, path_of(fixture, "none"), path_of(fixture, "b")));
  assert_int_equal(errno, ENOENT);
  Temporary *second = temporary_create_link(fixture->arena, path_of(fixture, "a"), path_of(fixture, "b"));
  assert_non_null(second);
  temporary_delete(a);
  assert_true(exists(path_of(fixture, "b")));
  temporary_delete(second);
}

static void folder_goes_with_what_is_in_it(void **state) {
  const Fixture *fixture = *state;
  Temporary *folder = temporary_create_folder(fixture->arena, path_of(fixture, "f-XXXXXX"));
  assert_non_null(folder);
  const char *path = folder->path;
  assert_int_equal(mkdir(arena_printf(fixture->arena, "%s/x", path), 0700), 0);
  assert_int_equal(mkdir(arena_printf(fixture->arena, "%s/x/y", path), 0700), 0);
  assert_int_equal(symlink("/", arena_printf(fixture->arena, "%s/x/root", path)), 0);
  for (int i = 0; i < 500; i++)
    close(creat(arena_printf(fixture->arena, "%s/x/y/a_name_that_is_not_short_%d", path, i), 0600));
  temporary_delete(folder);
  assert_false(exists(path));
  assert_true(exists("/tmp"));
}

static void delete_all(int number) {
  temporary_delete_all();
  _exit(number);
}

/* In a process of its own: a signal's handler deletes what is temporary, and it alone. */
static void handler_deletes_all(void **state) {
  const Fixture *fixture = *state;
  const char *folder_path = path_of(fixture, "inner-XXXXXX");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, delete_all);
    Temporary *a = create_file(fixture, "a"), *b = create_file(fixture, "b");
    Temporary *folder = temporary_create_folder(fixture->arena, folder_path);
    if (a == NULL || b == NULL || folder == NULL || !temporary_keep(a, path_of(fixture, "kept"))) _exit(0);
    sigset_t before;
    temporary_hold_signals(&before);
    raise(SIGTERM);
    if (!exists(path_of(fixture, "b"))) _exit(1); /* held: not yet */
    temporary_release_signals(&before);
    _exit(2);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), SIGTERM);
  /* The child knew of this test's own folder too, with the file that was kept. */
  assert_false(exists(fixture->folder->path));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(kept_file_is_no_temporary),
      TEST(names_that_are_taken_stay),
      TEST(folder_goes_with_what_is_in_it),
      TEST(handler_deletes_all),
  };
  return cmocka_run_group_tests_name("temporary", tests, NULL, NULL);
}
