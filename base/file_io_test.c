#include "base/file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/folder_testing.h"

static void write_plain(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void assert_content(Fixture *fixture, const char *name, const char *expected) {
  StringView content;
  assert_int_equal(file_read(fixture->arena, path_of(fixture, name), &fixture->diag, &content), STATUS_OK);
  assert_string_equal(content.data, expected);
  assert_int_equal(content.size, strlen(expected));
}

static bool exists(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0;
}

/* Files in the folder, whatever their names. */
static int count_files(const Fixture *fixture) {
  DIR *directory = opendir(fixture->folder.path);
  assert_non_null(directory);
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
  }
  closedir(directory);
  return count;
}

static void read_sizes_around_the_buffer(void **state) {
  Fixture *fixture = *state;
  static const size_t SIZES[] = {0, 1, 65535, 65536, 65537, 1000000};
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    char *data = arena_alloc(fixture->arena, SIZES[i] + 1);
    for (size_t j = 0; j < SIZES[i]; j++) data[j] = (char)('a' + j % 23);
    write_plain(path_of(fixture, "f"), data);
    assert_content(fixture, "f", data);
  }
}

static void read_pipe_of_unknown_length(void **state) {
  Fixture *fixture = *state;
  const char *path = path_of(fixture, "fifo");
  assert_int_equal(mkfifo(path, 0600), 0);
  pid_t child = fork();
  if (child == 0) {
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 300000; i++) fputc('p', file);
    fclose(file);
    _exit(0);
  }
  StringView content;
  assert_int_equal(file_read(fixture->arena, path, &fixture->diag, &content), STATUS_OK);
  assert_int_equal(content.size, 300000);
  assert_int_equal(strspn(content.data, "p"), 300000);
  waitpid(child, NULL, 0);
}

static void view_of_any_size_is_the_content(void **state) {
  Fixture *fixture = *state;
  static const size_t sizes[] = {0, 5, 1 << 20, (1 << 20) + 3};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char *data = arena_alloc(fixture->arena, sizes[i] + 1);
    for (size_t k = 0; k < sizes[i]; k++) data[k] = (char)('a' + k % 23);
    data[sizes[i]] = '\0';
    write_plain(path_of(fixture, "f"), data);
    FileView view;
    assert_int_equal(file_view_open(fixture->arena, path_of(fixture, "f"), &fixture->diag, &view), STATUS_OK);
    assert_int_equal(view.mapping != NULL, sizes[i] >= 1 << 20);
    assert_int_equal(view.content.size, sizes[i]);
    assert_memory_equal(view.content.data, data, sizes[i]);
    file_view_close(&view);
  }
  FileView none;
  assert_int_equal(file_view_open(fixture->arena, path_of(fixture, "no"), &fixture->diag, &none), STATUS_IO);
  file_view_close(&none);
}

static void read_absent_or_folder_is_located_error(void **state) {
  Fixture *fixture = *state;
  StringView content;
  assert_int_equal(file_read(fixture->arena, path_of(fixture, "no"), &fixture->diag, &content), STATUS_IO);
  assert_string_equal(fixture->diag.last->code, "io-read");
  assert_true(sv_ends_with(fixture->diag.last->message, SV("/no': No such file or directory")));
  assert_int_equal(file_read(fixture->arena, fixture->folder.path, &fixture->diag, &content), STATUS_IO);
  assert_true(sv_ends_with(fixture->diag.last->message, SV("': Is a directory")));
}

static void commit_shows_all_outputs_at_once(void **state) {
  Fixture *fixture = *state;
  write_plain(path_of(fixture, "a"), "old");
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "a"), SV("new a"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_add(files, path_of(fixture, "b"), SV("new b"), &fixture->diag), STATUS_OK);
  assert_content(fixture, "a", "old");
  assert_int_equal(count_files(fixture), 1); /* no temporary either */
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  assert_content(fixture, "a", "new a");
  assert_content(fixture, "b", "new b");
  assert_int_equal(count_files(fixture), 2);
}

static void abort_leaves_no_trace(void **state) {
  Fixture *fixture = *state;
  write_plain(path_of(fixture, "a"), "old");
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "a"), SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_add(files, path_of(fixture, "b"), SV("new"), &fixture->diag), STATUS_OK);
  output_files_abort(files);
  assert_content(fixture, "a", "old");
  assert_int_equal(count_files(fixture), 1);
}

static void add_to_absent_folder_or_over_folder_fails(void **state) {
  Fixture *fixture = *state;
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "no/a"), SV("x"), &fixture->diag), STATUS_IO);
  assert_string_equal(fixture->diag.last->code, "io-write");
  assert_int_equal(output_files_add(files, fixture->folder.path, SV("x"), &fixture->diag), STATUS_IO);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  assert_int_equal(count_files(fixture), 0);
}

/* A folder that takes the place of the second target after it was added makes its rename fail. */
static void commit_failing_midway_restores_everything(void **state) {
  Fixture *fixture = *state;
  write_plain(path_of(fixture, "a"), "old");
  OutputFiles *files = output_files_create(fixture->arena);
  static const char *const NAMES[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(output_files_add(files, path_of(fixture, NAMES[i]), SV("new"), &fixture->diag), STATUS_OK);
  }
  assert_int_equal(mkdir(path_of(fixture, "c"), 0700), 0);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_IO);
  assert_content(fixture, "a", "old");
  assert_false(exists(path_of(fixture, "b")));
  assert_false(exists(path_of(fixture, "d")));
  assert_int_equal(count_files(fixture), 2);
}

static void commit_failing_stream_leaves_files_alone(void **state) {
  Fixture *fixture = *state;
  if (!exists("/dev/full")) skip();
  write_plain(path_of(fixture, "a"), "old");
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "a"), SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_add(files, "/dev/full", SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_IO);
  assert_true(sv_ends_with(fixture->diag.last->message, SV("'/dev/full': No space left on device")));
  assert_content(fixture, "a", "old");
  assert_int_equal(count_files(fixture), 1);
}

static void devices_are_written_not_replaced(void **state) {
  Fixture *fixture = *state;
  struct stat status;
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, "/dev/null", SV("x"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  assert_int_equal(stat("/dev/null", &status), 0);
  assert_true(S_ISCHR(status.st_mode));
}

static void links_stay_links_and_permissions_stay(void **state) {
  Fixture *fixture = *state;
  struct stat status;
  write_plain(path_of(fixture, "target"), "old");
  assert_int_equal(chmod(path_of(fixture, "target"), 0751), 0);
  assert_int_equal(symlink("target", path_of(fixture, "link")), 0);
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "link"), SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  assert_content(fixture, "target", "new");
  assert_int_equal(lstat(path_of(fixture, "link"), &status), 0);
  assert_true(S_ISLNK(status.st_mode));
  assert_int_equal(stat(path_of(fixture, "target"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0751);
}

static void dangling_link_stays_a_link(void **state) {
  Fixture *fixture = *state;
  assert_int_equal(mkdir(path_of(fixture, "d"), 0700), 0);
  assert_int_equal(symlink("second", path_of(fixture, "d/first")), 0);
  assert_int_equal(symlink("d/first", path_of(fixture, "link")), 0);
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "link"), SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  assert_content(fixture, "d/second", "new");
  assert_content(fixture, "link", "new");
  assert_int_equal(symlink("loop", path_of(fixture, "loop")), 0);
  assert_int_equal(output_files_add(files, path_of(fixture, "loop"), SV("new"), &fixture->diag), STATUS_IO);
}

static void same_file_by_any_name(void **state) {
  Fixture *fixture = *state;
  Arena *arena = fixture->arena;
  write_plain(path_of(fixture, "a"), "x");
  assert_int_equal(mkdir(path_of(fixture, "d"), 0700), 0);
  assert_int_equal(link(path_of(fixture, "a"), path_of(fixture, "hard")), 0);
  assert_int_equal(symlink("../a", path_of(fixture, "d/soft")), 0);
  assert_int_equal(symlink("new", path_of(fixture, "dangling")), 0);
  assert_int_equal(mkfifo(path_of(fixture, "fifo"), 0600), 0);
  const char *a = path_of(fixture, "a"), *new = path_of(fixture, "new");
  assert_true(file_is_same(arena, a, a));
  assert_true(file_is_same(arena, a, path_of(fixture, "d/../a")));
  assert_true(file_is_same(arena, a, path_of(fixture, "hard")));
  assert_true(file_is_same(arena, path_of(fixture, "d/soft"), path_of(fixture, "hard")));
  assert_true(file_is_same(arena, new, path_of(fixture, "./d/../new")));
  assert_true(file_is_same(arena, new, path_of(fixture, "dangling")));
  assert_false(file_is_same(arena, a, new));
  assert_false(file_is_same(arena, new, path_of(fixture, "d/new")));
  assert_false(file_is_same(arena, "/dev/null", "/dev/null"));
  assert_false(file_is_same(arena, path_of(fixture, "fifo"), path_of(fixture, "fifo")));
  assert_false(file_is_same(arena, "-", "-"));
  assert_false(file_is_same(arena, path_of(fixture, "no/a"), path_of(fixture, "no/a")));
}

static void new_files_obey_the_umask(void **state) {
  Fixture *fixture = *state;
  struct stat status;
  mode_t old = umask(027);
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "a"), SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  umask(old);
  assert_int_equal(stat(path_of(fixture, "a"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0640);
}

static void longest_name_is_written(void **state) {
  Fixture *fixture = *state;
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, name), SV("new"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  assert_content(fixture, name, "new");
}

static void two_outputs_to_one_file_are_refused(void **state) {
  Fixture *fixture = *state;
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path_of(fixture, "a"), SV("x"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_add(files, path_of(fixture, "a"), SV("y"), &fixture->diag), STATUS_INVALID);
  assert_int_equal(output_files_add(files, path_of(fixture, "./a"), SV("y"), &fixture->diag), STATUS_INVALID);
  output_files_abort(files);
  assert_int_equal(count_files(fixture), 0);
}

/* "-", and the file that standard output goes to by its own name. */
static void check_standard_output(Fixture *fixture, const char *output) {
  int file = open(path_of(fixture, "stdout"), O_RDWR | O_CREAT, 0600);
  assert_true(file >= 0);
  fflush(stdout);
  int saved = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  OutputFiles *files = output_files_create(fixture->arena);
  Status added = output_files_add(files, output, SV("text"), &fixture->diag);
  off_t before = lseek(file, 0, SEEK_END);
  bool is_same = file_is_same(fixture->arena, output, output);
  Status committed = output_files_commit(files, &fixture->diag);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(file);
  assert_int_equal(added, STATUS_OK);
  assert_int_equal(before, 0);
  assert_false(is_same);
  assert_int_equal(committed, STATUS_OK);
  assert_content(fixture, "stdout", "text");
  assert_int_equal(unlink(path_of(fixture, "stdout")), 0);
}

static void standard_output_is_written_at_commit(void **state) {
  Fixture *fixture = *state;
  check_standard_output(fixture, "-");
  check_standard_output(fixture, "/dev/stdout");
  check_standard_output(fixture, path_of(fixture, "stdout"));
}

static void pipes_are_written_not_replaced(void **state) {
  Fixture *fixture = *state;
  struct stat status;
  const char *path = path_of(fixture, "fifo");
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  OutputFiles *files = output_files_create(fixture->arena);
  assert_int_equal(output_files_add(files, path, SV("text"), &fixture->diag), STATUS_OK);
  assert_int_equal(output_files_commit(files, &fixture->diag), STATUS_OK);
  char text[8] = {0};
  assert_int_equal(read(reader, text, sizeof text), 4);
  assert_string_equal(text, "text");
  close(reader);
  assert_int_equal(lstat(path, &status), 0);
  assert_true(S_ISFIFO(status.st_mode));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(read_sizes_around_the_buffer),
      TEST(read_pipe_of_unknown_length),
      TEST(view_of_any_size_is_the_content),
      TEST(read_absent_or_folder_is_located_error),
      TEST(commit_shows_all_outputs_at_once),
      TEST(abort_leaves_no_trace),
      TEST(add_to_absent_folder_or_over_folder_fails),
      TEST(commit_failing_midway_restores_everything),
      TEST(commit_failing_stream_leaves_files_alone),
      TEST(devices_are_written_not_replaced),
      TEST(links_stay_links_and_permissions_stay),
      TEST(dangling_link_stays_a_link),
      TEST(same_file_by_any_name),
      TEST(new_files_obey_the_umask),
      TEST(longest_name_is_written),
      TEST(two_outputs_to_one_file_are_refused),
      TEST(standard_output_is_written_at_commit),
      TEST(pipes_are_written_not_replaced),
  };
  return cmocka_run_group_tests_name("file_io", tests, NULL, NULL);
}
