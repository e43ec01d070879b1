#include "runtime/remote/block_file.h"

#include <string.h>

#include "base/folder_testing.h"

static void block_file_gives_back_what_was_written(void **state) {
  Fixture *fixture = *state;
  const char *path = path_of(fixture, "blocks");
  char first[] = {1, 2, 3}, last[] = {4};
  FileBlock written[] = {{first, 3}, {NULL, 0}, {last, 1}};
  assert_int_equal(block_file_write(path, written, 3, &fixture->diag), STATUS_OK);
  char read_first[3] = {0}, read_last[1] = {0};
  FileBlock read[] = {{read_first, 3}, {NULL, 0}, {read_last, 1}};
  assert_int_equal(block_file_read(path, read, 3, &fixture->diag), STATUS_OK);
  assert_memory_equal(read_first, first, 3);
  assert_memory_equal(read_last, last, 1);
}

static void block_file_refuses_other_sizes(void **state) {
  Fixture *fixture = *state;
  const char *path = path_of(fixture, "blocks");
  char data[4] = {1, 2, 3, 4};
  FileBlock written[] = {{data, 4}};
  assert_int_equal(block_file_write(path, written, 1, &fixture->diag), STATUS_OK);
  FileBlock shorter[] = {{data, 3}}, more[] = {{data, 2}, {data + 2, 2}};
  assert_int_equal(block_file_read(path, shorter, 1, &fixture->diag), STATUS_IO);
  assert_int_equal(block_file_read(path, more, 2, &fixture->diag), STATUS_IO);
  assert_int_equal(block_file_read(path, written, 0, &fixture->diag), STATUS_IO);
}

static void block_file_refuses_what_is_none(void **state) {
  Fixture *fixture = *state;
  const char *path = path_of(fixture, "blocks");
  assert_int_equal(block_file_read(path, NULL, 0, &fixture->diag), STATUS_IO); /* not there */
  assert_int_equal(scratch_folder_write(&fixture->folder, "blocks", SV("no such thing"), &fixture->diag), STATUS_OK);
  assert_int_equal(block_file_read(path, NULL, 0, &fixture->diag), STATUS_IO);
  const char *nowhere = scratch_folder_path(&fixture->folder, "missing/blocks");
  assert_int_equal(block_file_write(nowhere, NULL, 0, &fixture->diag), STATUS_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(block_file_gives_back_what_was_written, create, destroy),
      cmocka_unit_test_setup_teardown(block_file_refuses_other_sizes, create, destroy),
      cmocka_unit_test_setup_teardown(block_file_refuses_what_is_none, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
