#include "base/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fixture_testing.h"
#include "base/scratch_folder.h"

#define LIMIT (INT64_C(1) << 20)

typedef struct CacheFixture {
  Arena *arena;
  DiagSink diag;
  ScratchFolder folder;
  DiskCache cache;
} CacheFixture;

static int create_cache(void **state) {
  Arena *arena = arena_create();
  CacheFixture *fixture = ARENA_NEW(arena, CacheFixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  assert_int_equal(scratch_folder_create(arena, &fixture->diag, &fixture->folder), STATUS_OK);
  assert_true(disk_cache_open(scratch_folder_path(&fixture->folder, "a/b/cache"), LIMIT, &fixture->cache));
  *state = fixture;
  return 0;
}

static int destroy_cache(void **state) {
  CacheFixture *fixture = *state;
  disk_cache_close(&fixture->cache);
  scratch_folder_remove(&fixture->folder);
  arena_destroy(fixture->arena);
  return 0;
}

static ContentDigest name_of(int number) {
  ContentHash hash;
  content_hash_begin(&hash);
  content_hash_add(&hash, (StringView){(const char *)&number, sizeof number});
  return content_hash_end(&hash);
}

/* |size| bytes that only |number| has. */
static StringView content_of(Arena *arena, int number, size_t size) {
  unsigned char *bytes = arena_alloc(arena, size + 1);
  uint32_t value = (uint32_t)number * 2654435761u + 1;
  for (size_t i = 0; i < size; i++) {
    value = value * 1664525u + 1013904223u;
    bytes[i] = (unsigned char)(value >> 24);
  }
  return (StringView){(const char *)bytes, size};
}

static bool put(CacheFixture *fixture, int number, size_t size) {
  ContentDigest name = name_of(number);
  return disk_cache_put(&fixture->cache, &name, content_of(fixture->arena, number, size));
}

static bool has(CacheFixture *fixture, int number, size_t size) {
  ContentDigest name = name_of(number);
  StringView content;
  if (!disk_cache_get(&fixture->cache, &name, fixture->arena, &content)) return false;
  assert_true(sv_equal(content, content_of(fixture->arena, number, size)));
  return true;
}

static DiskCacheSize size_of(const CacheFixture *fixture) {
  DiskCacheSize size;
  assert_true(disk_cache_size(&fixture->cache, &size));
  return size;
}

static const char *file_of(const CacheFixture *fixture, int number) {
  ContentDigest name = name_of(number);
  char hex[CONTENT_DIGEST_HEX_SIZE + 1];
  content_digest_hex(&name, hex);
  return arena_printf(fixture->arena, "%s.entry", hex);
}

static bool exists(const CacheFixture *fixture, const char *file) {
  return faccessat(fixture->cache.folder, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void write_file(const CacheFixture *fixture, const char *name, const char *text) {
  int file = openat(fixture->cache.folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
}

static void get_gives_what_was_put(void **state) {
  CacheFixture *fixture = *state;
  static const size_t sizes[] = {0, 1, 8, 63, 64, 65, 4032, 4033, 100000};
  for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); i++) {
    assert_false(has(fixture, i, sizes[i]));
    assert_true(put(fixture, i, sizes[i]));
    assert_true(has(fixture, i, sizes[i]));
  }
  DiskCacheSize size = size_of(fixture);
  assert_int_equal(size.entries, 9);
  /* 64 bytes of its own an entry: seven of one block, one of two, one of 25. */
  assert_int_equal(size.bytes, (7 + 2 + 25) * DISK_CACHE_BLOCK);
  ContentDigest name = name_of(3);
  assert_true(disk_cache_put(&fixture->cache, &name, SV("another")));
  StringView content;
  assert_true(disk_cache_get(&fixture->cache, &name, fixture->arena, &content));
  assert_true(sv_equal_cstring(content, "another"));
}

/* Every byte of the head, and of the content, the length as well. */
static void damaged_entries_are_none_and_go(void **state) {
  CacheFixture *fixture = *state;
  enum { SIZE = 100, HEAD = 64 };
  for (int at = 0; at <= HEAD + SIZE; at++) {
    assert_true(put(fixture, 1, SIZE));
    int file = openat(fixture->cache.folder, file_of(fixture, 1), O_RDWR);
    char byte = 0;
    bool is_end = pread(file, &byte, 1, at) == 0;
    byte ^= 0x10;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    assert_int_equal(is_end, at == HEAD + SIZE);
    close(file);
    assert_false(has(fixture, 1, SIZE));
    assert_false(exists(fixture, file_of(fixture, 1)));
  }
  for (int size = 0; size < HEAD + SIZE; size += 9) {
    assert_true(put(fixture, 1, SIZE));
    int file = openat(fixture->cache.folder, file_of(fixture, 1), O_RDWR);
    assert_int_equal(ftruncate(file, size), 0);
    close(file);
    assert_false(has(fixture, 1, SIZE));
  }
  /* A good one under another's name. */
  assert_true(put(fixture, 2, SIZE));
  assert_int_equal(renameat(fixture->cache.folder, file_of(fixture, 2), fixture->cache.folder, file_of(fixture, 3)), 0);
  assert_false(has(fixture, 3, SIZE));
}

/* Makes the entry one of |seconds| after the epoch. */
static void set_age(const CacheFixture *fixture, int number, int seconds) {
  struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  assert_int_equal(utimensat(fixture->cache.folder, file_of(fixture, number), times, 0), 0);
}

static void those_used_longest_ago_go_first(void **state) {
  CacheFixture *fixture = *state;
  enum { COUNT = 17, SIZE = 60000 }; /* 15 blocks each, of 256 */
  for (int i = 0; i < COUNT; i++) {
    assert_true(put(fixture, i, SIZE));
    set_age(fixture, i, 1000 + i);
  }
  assert_true(has(fixture, 0, SIZE)); /* used now */
  assert_int_equal(size_of(fixture).entries, COUNT);
  assert_true(put(fixture, COUNT, SIZE));
  set_age(fixture, COUNT, 2000);
  assert_false(has(fixture, 1, SIZE));
  assert_true(has(fixture, COUNT, SIZE));
  assert_true(has(fixture, 0, SIZE));
  assert_true(size_of(fixture).bytes <= LIMIT);
  DiskCacheSize removed;
  assert_true(disk_cache_prune(&fixture->cache, 2 * 15 * DISK_CACHE_BLOCK, &removed));
  assert_int_equal(size_of(fixture).entries, 2);
  assert_true(has(fixture, 0, SIZE) && has(fixture, COUNT, SIZE));
  assert_int_equal(removed.bytes, removed.entries * 15 * DISK_CACHE_BLOCK);
}

static void bytes_stay_below_the_limit(void **state) {
  CacheFixture *fixture = *state;
  for (int i = 0; i < 200; i++) {
    assert_true(put(fixture, i, (size_t)(i * 7919 % 90000)));
    assert_true(size_of(fixture).bytes <= LIMIT);
    assert_true(has(fixture, i, (size_t)(i * 7919 % 90000)));
  }
  assert_false(put(fixture, 1000, LIMIT - 63));
  assert_int_equal(errno, EFBIG);
  assert_true(put(fixture, 1000, LIMIT - 64)); /* alone */
  assert_int_equal(size_of(fixture).entries, 1);
}

static void only_own_files_are_removed(void **state) {
  CacheFixture *fixture = *state;
  write_file(fixture, "letter.txt", "keep");
  write_file(fixture, "0123.entry", "keep");
  assert_true(put(fixture, 1, 10));
  write_file(fixture, "unfinished", "left by a process that is no more");
  DiskCacheSize removed;
  assert_true(disk_cache_prune(&fixture->cache, 0, &removed));
  assert_int_equal(removed.entries, 1);
  assert_false(has(fixture, 1, 10));
  assert_true(exists(fixture, "letter.txt") && exists(fixture, "0123.entry"));
  assert_false(exists(fixture, "unfinished"));
}

/* What is counted anew where the count is damaged or gone. */
static void count_is_made_anew(void **state) {
  CacheFixture *fixture = *state;
  for (int i = 0; i < 16; i++) assert_true(put(fixture, i, 60000));
  write_file(fixture, "lock", "no count, and longer than one");
  assert_true(put(fixture, 16, 60000));
  assert_true(size_of(fixture).bytes <= LIMIT);
  assert_int_equal(unlinkat(fixture->cache.folder, "lock", 0), 0);
  for (int i = 20; i < 40; i++) assert_true(put(fixture, i, 60000));
  assert_true(size_of(fixture).bytes <= LIMIT);
}

static void open_fails_where_no_folder_can_be(void **state) {
  CacheFixture *fixture = *state;
  write_file(fixture, "file", "");
  DiskCache cache;
  assert_false(disk_cache_open(scratch_folder_path(&fixture->folder, "a/b/cache/file/below"), LIMIT, &cache));
  assert_int_equal(errno, ENOTDIR);
  assert_false(disk_cache_open("/proc/no/such", LIMIT, &cache));
}

/* --- processes that are killed --- */

/* Writes the entry |number| in a process that is killed at its stop |stop|: each system call has one before and one
 * after it.  Whether it got that far; |out_traced|: whether the system lets one process trace another. */
static bool put_killed_at(CacheFixture *fixture, int number, size_t size, int stop, bool *out_traced) {
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(3);
    raise(SIGSTOP);
    _exit(put(fixture, number, size) ? 0 : 1);
  }
  int status;
  for (int at = 0;; at++) {
    assert_int_equal(waitpid(child, &status, 0), child);
    *out_traced = !(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    if (!WIFSTOPPED(status)) break;
    assert_int_equal(ptrace(at == stop ? PTRACE_KILL : PTRACE_SYSCALL, child, NULL, NULL), 0);
  }
  if (*out_traced && WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
  return WIFSIGNALED(status);
}

/* Killed at every system call, again and again, so that what each of them loses would add up. */
static void put_may_end_at_any_system_call(void **state) {
  CacheFixture *fixture = *state;
  enum { SIZE = 60000, COUNT = 600 };
  int stop = 1, rounds = 0;
  bool is_traced;
  for (int i = 0; i < COUNT; i++) {
    bool is_killed = put_killed_at(fixture, i, SIZE, stop, &is_traced);
    if (!is_traced) skip();
    assert_true(size_of(fixture).bytes <= LIMIT);
    if (!is_killed) assert_true(has(fixture, i, SIZE));
    rounds += !is_killed;
    stop = is_killed ? stop + 1 : 1;
  }
  assert_true(rounds > 3);
  assert_true(put(fixture, COUNT, SIZE) && has(fixture, COUNT, SIZE));
}

enum { PROCESSES = 8, NAMES = 60, KILLS = 150 };

static uint32_t next_random(uint32_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  return *seed ^= *seed << 5;
}

static size_t size_of_name(int number) {
  return (size_t)number * 977 % 50000; /* of all names more than the limit */
}

/* Reads and writes for ever; ends with 1 when it finds what nobody wrote. */
_Noreturn static void use_until_killed(const CacheFixture *fixture, uint32_t seed) {
  Arena *arena = arena_create();
  for (;;) {
    int number = (int)(next_random(&seed) % NAMES);
    ContentDigest name = name_of(number);
    StringView content, expected = content_of(arena, number, size_of_name(number));
    bool is_there = disk_cache_get(&fixture->cache, &name, arena, &content);
    if (is_there && !sv_equal(content, expected)) _exit(1);
    if (!is_there && !disk_cache_put(&fixture->cache, &name, expected)) _exit(2);
    arena_reset(arena);
  }
}

static pid_t start(const CacheFixture *fixture, uint32_t seed) {
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else ends it, should this process be killed */
    use_until_killed(fixture, seed);
  }
  assert_true(child > 0);
  return child;
}

static void kill_one(pid_t child) {
  int status;
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status)); /* else it found something wrong */
}

static void killed_processes_leave_a_good_cache(void **state) {
  CacheFixture *fixture = *state;
  uint32_t seed = 20260731;
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) children[i] = start(fixture, next_random(&seed));
  for (int i = 0; i < KILLS; i++) {
    nanosleep(&(struct timespec){.tv_nsec = next_random(&seed) % 8000000}, NULL);
    int victim = (int)(next_random(&seed) % PROCESSES);
    kill_one(children[victim]);
    assert_true(size_of(fixture).bytes <= LIMIT);
    children[victim] = start(fixture, next_random(&seed));
  }
  for (int i = 0; i < PROCESSES; i++) kill_one(children[i]);
  assert_true(put(fixture, NAMES, 100)); /* nobody holds the lock */
  for (int i = 0; i < NAMES; i++) (void)has(fixture, i, size_of_name(i));
  DiskCacheSize removed;
  assert_true(disk_cache_prune(&fixture->cache, 0, &removed));
  assert_true(removed.entries > 1);
  assert_false(exists(fixture, "unfinished"));
  assert_int_equal(size_of(fixture).entries, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create_cache, destroy_cache)
  const struct CMUnitTest tests[] = {
      TEST(get_gives_what_was_put),
      TEST(damaged_entries_are_none_and_go),
      TEST(those_used_longest_ago_go_first),
      TEST(bytes_stay_below_the_limit),
      TEST(only_own_files_are_removed),
      TEST(count_is_made_anew),
      TEST(open_fails_where_no_folder_can_be),
      TEST(put_may_end_at_any_system_call),
      TEST(killed_processes_leave_a_good_cache),
  };
  return cmocka_run_group_tests_name("disk_cache", tests, NULL, NULL);
}
