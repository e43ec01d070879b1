#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD, syscall */
#endif

#include "xlac/thread_pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_CHUNKS = 1000, MOST_WORKERS = 8 };

/* What the bodies of one job saw. */
typedef struct Seen {
  XlacThreadPool *pool;
  int64_t worker_count;
  _Atomic int64_t runs[MOST_CHUNKS];
  _Atomic int64_t busy[MOST_WORKERS]; /* bodies that run now as this worker */
  _Atomic int64_t mistakes;           /* a worker number out of range, or twice at once */
  int64_t plain[MOST_CHUNKS];         /* without atomics: the caller must see them after the job */
} Seen;

static void see(void *context, int64_t index, int64_t worker) {
  Seen *seen = context;
  if (worker < 0 || worker >= seen->worker_count) {
    atomic_fetch_add(&seen->mistakes, 1);
    return;
  }
  if (atomic_fetch_add(&seen->busy[worker], 1) != 0) atomic_fetch_add(&seen->mistakes, 1);
  atomic_fetch_add(&seen->runs[index], 1);
  seen->plain[index] = index + 1;
  atomic_fetch_sub(&seen->busy[worker], 1);
}

static void assert_each_once(const Seen *seen, int64_t count) {
  assert_int_equal(seen->mistakes, 0);
  for (int64_t i = 0; i < MOST_CHUNKS; i++) {
    assert_int_equal(seen->runs[i], i < count ? 1 : 0);
    assert_int_equal(seen->plain[i], i < count ? i + 1 : 0);
  }
}

static void thread_pool_runs_each_chunk_once(void **state) {
  (void)state;
  static const int64_t workers[] = {1, 2, 3, MOST_WORKERS}, counts[] = {0, 1, 2, 7, MOST_CHUNKS};
  for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
    XlacThreadPool *pool = xlac_thread_pool_create(workers[w]);
    assert_int_equal(xlac_thread_pool_worker_count(pool), workers[w]);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      Seen seen = {.worker_count = workers[w]};
      xlac_thread_pool_parallel_for(pool, see, &seen, counts[c]);
      assert_each_once(&seen, counts[c]);
    }
    xlac_thread_pool_destroy(pool);
  }
}

static void add_one(void *context, int64_t index, int64_t worker) {
  (void)worker;
  ((int64_t *)context)[index]++;
}

/* Each job sees what the one before wrote, whichever threads ran it. */
static void thread_pool_runs_many_small_jobs(void **state) {
  (void)state;
  XlacThreadPool *pool = xlac_thread_pool_create(4);
  int64_t sums[5] = {0};
  enum { JOBS = 20000 };
  for (int i = 0; i < JOBS; i++) xlac_thread_pool_parallel_for(pool, add_one, sums, 5);
  for (int i = 0; i < 5; i++) assert_int_equal(sums[i], JOBS);
  xlac_thread_pool_destroy(pool);
}

/* How often this thread has gone to sleep. */
static long count_sleeps(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/* How often this thread has let its processor go: it calls this instead of the C library's. */
static _Thread_local long yields;

int sched_yield(void) {
  yields++;
  return (int)syscall(SYS_sched_yield);
}

static int64_t microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

typedef struct Ended {
  int64_t worker, at;
} Ended;

/* The caller's chunks take 400 us, those of others half as long again. */
static void work_unevenly(void *context, int64_t index, int64_t worker) {
  int64_t end = microseconds() + (worker == 0 ? 400 : 600);
  while (microseconds() < end) continue;
  ((Ended *)context)[index] = (Ended){worker, microseconds()};
}

static long count_yields(void) {
  return yields;
}

typedef struct WaitingTrial {
  void (*body)(void *context, int64_t index, int64_t worker);
  int64_t least_late, most_late; /* microseconds by which another's chunk ends later, in jobs that count */
  long (*count)(void);           /* what the caller shall not do meanwhile, so far in this thread */
} WaitingTrial;

/* Whether the caller does not do that in most jobs in which it waits for another's chunk.  A busy machine may spoil a
 * round of them, but hardly all; one in which it hardly ever waits tells nothing. */
static bool waits_without(const WaitingTrial *trial) {
  enum { ROUNDS = 10, JOBS = 200, LEAST_WAITED = 20 };
  bool is_good = false, is_bad = false;
  XlacThreadPool *pool = xlac_thread_pool_create(2);
  for (int round = 0; round < ROUNDS && !is_good; round++) {
    int waited = 0, without = 0;
    for (int i = 0; i < JOBS; i++) {
      Ended ended[2];
      long before = trial->count();
      xlac_thread_pool_parallel_for(pool, trial->body, ended, 2);
      int64_t late = ended[1].at - ended[0].at;
      if (ended[1].worker == 0 || late < trial->least_late || late > trial->most_late) continue;
      waited++;
      without += trial->count() == before;
    }
    if (waited < LEAST_WAITED) continue;
    is_good = 2 * without >= waited;
    is_bad = !is_good;
  }
  xlac_thread_pool_destroy(pool);
  return !is_bad;
}

/* A caller whose own chunk is done before another's does not sleep over that: it would be woken late, and the other by
 * then be asleep in its turn. */
static void thread_pool_caller_stays_awake_for_a_chunk(void **state) {
  (void)state;
  assert_true(waits_without(&(WaitingTrial){work_unevenly, 150, 350, count_sleeps}));
}

/* The caller's chunks take 600 us, those of others 60 us more. */
static void work_nearly_evenly(void *context, int64_t index, int64_t worker) {
  int64_t end = microseconds() + (worker == 0 ? 600 : 660);
  while (microseconds() < end) continue;
  ((Ended *)context)[index] = (Ended){worker, microseconds()};
}

/* Nor does it let its processor go for a small part of a chunk: who gets it keeps it for some milliseconds. */
static void thread_pool_caller_keeps_its_processor_for_a_part_of_a_chunk(void **state) {
  (void)state;
  assert_true(waits_without(&(WaitingTrial){work_nearly_evenly, 30, 90, count_yields}));
}

static void thread_pool_of_one_stays_in_the_thread(void **state) {
  (void)state;
  XlacThreadPool *pool = xlac_thread_pool_create(1);
  Seen seen = {.worker_count = 1};
  xlac_thread_pool_parallel_for(pool, see, &seen, 10);
  assert_each_once(&seen, 10);
  xlac_thread_pool_destroy(pool);
}

static void thread_pool_destroy_without_a_job(void **state) {
  (void)state;
  xlac_thread_pool_destroy(NULL);
  xlac_thread_pool_destroy(xlac_thread_pool_create(5));
}

typedef struct Nested {
  XlacThreadPool *pool;
  int64_t worker_count;
  _Atomic int64_t mistakes;
} Nested;

static void run_inner_job(void *context, int64_t index, int64_t worker) {
  (void)index, (void)worker;
  Nested *nested = context;
  Seen seen = {.worker_count = nested->worker_count};
  xlac_thread_pool_parallel_for(nested->pool, see, &seen, 20);
  for (int64_t i = 0; i < 20; i++) {
    if (seen.runs[i] != 1 || seen.plain[i] != i + 1) atomic_fetch_add(&nested->mistakes, 1);
  }
  atomic_fetch_add(&nested->mistakes, seen.mistakes);
}

static void thread_pool_bodies_may_call_again(void **state) {
  (void)state;
  Nested nested = {.pool = xlac_thread_pool_create(3), .worker_count = 3};
  for (int i = 0; i < 50; i++) xlac_thread_pool_parallel_for(nested.pool, run_inner_job, &nested, 6);
  assert_int_equal(nested.mistakes, 0);
  xlac_thread_pool_destroy(nested.pool);
}

static void *call_often(void *context) {
  for (int i = 0; i < 200; i++) run_inner_job(context, 0, 0);
  return NULL;
}

static void thread_pool_serves_several_callers(void **state) {
  (void)state;
  Nested nested = {.pool = xlac_thread_pool_create(3), .worker_count = 3};
  pthread_t callers[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&callers[i], NULL, call_often, &nested), 0);
  for (int i = 0; i < 4; i++) pthread_join(callers[i], NULL);
  assert_int_equal(nested.mistakes, 0);
  xlac_thread_pool_destroy(nested.pool);
}

static void write_file(const char *folder, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
    *slash = '\0';
    mkdir(path, 0700);
  }
  FILE *stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  fclose(stream);
}

static void thread_pool_quota_is_the_least_of_groups(void **state) {
  (void)state;
  char folder[] = "/tmp/thread_pool_test_XXXXXX", groups[64];
  assert_non_null(mkdtemp(folder));
  snprintf(groups, sizeof groups, "%s/groups", folder);
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 0); /* no file */
  write_file(folder, "groups", "3:cpuset:/job\n0::/job/inner\n");
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 0); /* no limits */
  write_file(folder, "job/inner/cpu.max", "max 100000\n");
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 0);
  write_file(folder, "job/cpu.max", "350000 100000\n"); /* three and a half */
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 4);
  write_file(folder, "job/inner/cpu.max", "50000 100000\n");
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 1);
  write_file(folder, "job/inner/cpu.max", "nonsense\n");
  write_file(folder, "cpu.max", "200000 100000\n"); /* of the root, as seen in a container */
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 2);
  write_file(folder, "groups", "4:cpu,cpuacct:/docker/x\n");
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 0);
  write_file(folder, "cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  write_file(folder, "cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 0);
  write_file(folder, "cpu,cpuacct/docker/x/cpu.cfs_quota_us", "300000\n");
  assert_int_equal(xlac_thread_pool_quota(groups, folder), 3);
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void thread_pool_processor_count_is_positive(void **state) {
  (void)state;
  assert_true(xlac_thread_pool_processor_count() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thread_pool_runs_each_chunk_once),
      cmocka_unit_test(thread_pool_runs_many_small_jobs),
      cmocka_unit_test(thread_pool_caller_stays_awake_for_a_chunk),
      cmocka_unit_test(thread_pool_caller_keeps_its_processor_for_a_part_of_a_chunk),
      cmocka_unit_test(thread_pool_of_one_stays_in_the_thread),
      cmocka_unit_test(thread_pool_destroy_without_a_job),
      cmocka_unit_test(thread_pool_bodies_may_call_again),
      cmocka_unit_test(thread_pool_serves_several_callers),
      cmocka_unit_test(thread_pool_processor_count_is_positive),
      cmocka_unit_test(thread_pool_quota_is_the_least_of_groups),
  };
  return cmocka_run_group_tests_name("thread_pool", tests, NULL, NULL);
}
