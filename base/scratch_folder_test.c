#include "base/scratch_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_io.h"

static void scratch_folder_goes_with_its_files(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  ScratchFolder folder;
  assert_int_equal(scratch_folder_create(arena, &diag, &folder), STATUS_OK);
  assert_int_equal(scratch_folder_write(&folder, "a/b/deep.txt", SV("deep"), &diag), STATUS_OK);
  assert_int_equal(scratch_folder_write(&folder, "a/near.txt", SV("near"), &diag), STATUS_OK);
  StringView content;
  assert_int_equal(file_read(arena, scratch_folder_path(&folder, "a/b/deep.txt"), &diag, &content), STATUS_OK);
  assert_true(sv_equal_cstring(content, "deep"));
  struct stat status;
  assert_int_equal(stat(folder.path, &status), 0);
  assert_int_equal(status.st_mode & (S_IRWXG | S_IRWXO), 0);
  scratch_folder_remove(&folder);
  assert_int_not_equal(access(folder.path, F_OK), 0);
  arena_destroy(arena);
}

static void scratch_folder_says_where_it_cannot_be(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  setenv("TMPDIR", "/no/such/folder", 1);
  ScratchFolder folder;
  assert_int_equal(scratch_folder_create(arena, &diag, &folder), STATUS_IO);
  assert_true(sv_contains(diag.first->message, SV("'/no/such/folder'")));
  unsetenv("TMPDIR");
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scratch_folder_goes_with_its_files),
      cmocka_unit_test(scratch_folder_says_where_it_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
