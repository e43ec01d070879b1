#include "runtime/remote/block_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scratch_folder.h"

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  ScratchFolder folder;
  const char *path;
} Fixture;

static int begin(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  if (scratch_folder_create(arena, &fixture->diag, &fixture->folder) != STATUS_OK) return 1;
  fixture->path = scratch_folder_path(&fixture->folder, "blocks");
  *state = fixture;
  return 0;
}

static int end(void **state) {
  Fixture *fixture = *state;
  scratch_folder_remove(&fixture->folder);
  arena_destroy(fixture->arena);
  return 0;
}

static void block_file_gives_back_what_was_written(void **state) {
  Fixture *fixture = *state;
  char first[] = {1, 2, 3}, last[] = {4};
  FileBlock written[] = {{first, 3}, {NULL, 0}, {last, 1}};
  assert_int_equal(block_file_write(fixture->path, written, 3, &fixture->diag), STATUS_OK);
  char read_first[3] = {0}, read_last[1] = {0};
  FileBlock read[] = {{read_first, 3}, {NULL, 0}, {read_last, 1}};
  assert_int_equal(block_file_read(fixture->path, read, 3, &fixture->diag), STATUS_OK);
  assert_memory_equal(read_first, first, 3);
  assert_memory_equal(read_last, last, 1);
}

static void block_file_refuses_other_sizes(void **state) {
  Fixture *fixture = *state;
  char data[4] = {1, 2, 3, 4};
  FileBlock written[] = {{data, 4}};
  assert_int_equal(block_file_write(fixture->path, written, 1, &fixture->diag), STATUS_OK);
  FileBlock shorter[] = {{data, 3}}, more[] = {{data, 2}, {data + 2, 2}};
  assert_int_equal(block_file_read(fixture->path, shorter, 1, &fixture->diag), STATUS_IO);
  assert_int_equal(block_file_read(fixture->path, more, 2, &fixture->diag), STATUS_IO);
  assert_int_equal(block_file_read(fixture->path, written, 0, &fixture->diag), STATUS_IO);
}

static void block_file_refuses_what_is_none(void **state) {
  Fixture *fixture = *state;
  assert_int_equal(block_file_read(fixture->path, NULL, 0, &fixture->diag), STATUS_IO); /* not there */
  assert_int_equal(scratch_folder_write(&fixture->folder, "blocks", SV("no such thing"), &fixture->diag), STATUS_OK);
  assert_int_equal(block_file_read(fixture->path, NULL, 0, &fixture->diag), STATUS_IO);
  const char *nowhere = scratch_folder_path(&fixture->folder, "missing/blocks");
  assert_int_equal(block_file_write(nowhere, NULL, 0, &fixture->diag), STATUS_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(block_file_gives_back_what_was_written, begin, end),
      cmocka_unit_test_setup_teardown(block_file_refuses_other_sizes, begin, end),
      cmocka_unit_test_setup_teardown(block_file_refuses_what_is_none, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
