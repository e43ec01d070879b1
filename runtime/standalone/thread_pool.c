/* The code of xlac/thread_pool.h: this file and that header are all it takes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "xlac/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOCK_ROUNDS 100 /* pauses of 40 to 140 cycles each, for a mutex that is held for some hundred cycles */

/* Nanoseconds. */
#define LEAST_SPINNING 100000
#define LONGEST_SPINNING 250000
#define LONGEST_YIELDING 1000000

/* One call of parallel_for, on its caller's stack. */
typedef struct Job {
  void (*body)(void *context, int64_t index, int64_t worker);
  void *context;
  int64_t count;
  _Atomic int64_t claimed;  /* how many chunks workers have taken; grows beyond |count| */
  _Atomic int64_t from_end; /* … of them those that threads of the pool took, from the last one down */
  _Atomic int64_t finished; /* written under the mutex; read without it by the spinning caller only */
  int64_t helpers;          /* threads of the pool that may look at the job */
  struct Job *older;
} Job;

typedef struct Worker {
  XlacThreadPool *pool;
  int64_t number;
  pthread_t thread;
} Worker;

struct XlacThreadPool {
  pthread_mutex_t mutex; /* for all but |job_count| */
  pthread_cond_t job_came, helper_left;
  Job *jobs; /* with chunks that may be unclaimed, the newest first */
  bool is_stopping, is_started;
  int64_t sleeping;
  int64_t worker_count, thread_count;
  Worker *workers;           /* the pool's own, by number - 1 */
  _Atomic int64_t job_count; /* of the list, for those who spin; written under the mutex */
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Threads that have shared a job out well end it, and want the mutex, at the same time: one that went to sleep over
 * that would be woken long after the other has let go of it. */
static void lock(XlacThreadPool *pool) {
  for (int i = 0; i < LOCK_ROUNDS; i++) {
    if (pthread_mutex_trylock(&pool->mutex) == 0) return;
    pause_briefly();
  }
  pthread_mutex_lock(&pool->mutex);
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t bounded(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value < most ? value : most;
}

/* Until |is_over|, or |end|; whether it is. */
static bool spin(bool (*is_over)(const void *), const void *what, int64_t end) {
  enum { ROUNDS = 16 }; /* for each look at the clock */
  do {
    for (int i = 0; i < ROUNDS; i++) {
      if (is_over(what)) return true;
      pause_briefly();
    }
  } while (nanoseconds() < end);
  return false;
}

/* Waits for |is_over|, but not for long: a quarter of the time that a chunk took, |chunk| nanoseconds, in which nothing
 * else is let to the processor, and then about as long as the chunk took, in which whatever wants the processor gets
 * it.  Who waits for another's last chunk so is there when it ends.  Asleep it would be late by the time that the
 * system takes to wake a thread, a good part of a millisecond on some, by when the other sleeps in turn: and so job
 * after job. A processor that was let go comes back later still, once another thread's time is over: some milliseconds.
 * So it is kept as long as chunks of equal work may end apart. */
static void spin_until(bool (*is_over)(const void *), const void *what, int64_t chunk) {
  if (spin(is_over, what, nanoseconds() + bounded(chunk / 4, LEAST_SPINNING, LONGEST_SPINNING))) return;
  int64_t end = nanoseconds() + bounded(chunk, 0, LONGEST_YIELDING);
  while (nanoseconds() < end) {
    if (is_over(what)) return;
    sched_yield();
  }
}

/* --- the list of jobs; the mutex is held --- */

static void add_job(XlacThreadPool *pool, Job *job) {
  job->older = pool->jobs;
  pool->jobs = job;
  atomic_fetch_add_explicit(&pool->job_count, 1, memory_order_relaxed);
}

/* Nothing when another worker has removed it already. */
static void remove_job(XlacThreadPool *pool, const Job *job) {
  for (Job **link = &pool->jobs; *link != NULL; link = &(*link)->older) {
    if (*link != job) continue;
    *link = job->older;
    atomic_fetch_sub_explicit(&pool->job_count, 1, memory_order_relaxed);
    return;
  }
}

/* --- chunks --- */

typedef struct ChunksDone {
  int64_t count;
  int64_t each; /* nanoseconds of one */
} ChunksDone;

/* Runs chunks until all are claimed.  The caller takes them from the first one up, the others from the last one down:
 * in a job like the one before, each finds in its own caches what it left there. */
static ChunksDone run_chunks(Job *job, int64_t worker) {
  int64_t start = nanoseconds(), done = 0;
  while (atomic_fetch_add_explicit(&job->claimed, 1, memory_order_relaxed) < job->count) {
    int64_t index = done++;
    if (worker > 0) index = job->count - 1 - atomic_fetch_add_explicit(&job->from_end, 1, memory_order_relaxed);
    job->body(job->context, index, worker);
  }
  return (ChunksDone){done, done > 0 ? (nanoseconds() - start) / done : 0};
}

static void add_finished(Job *job, int64_t done) {
  atomic_fetch_add_explicit(&job->finished, done, memory_order_relaxed);
}

static bool is_finished(const void *of) {
  const Job *job = of;
  return atomic_load_explicit(&job->finished, memory_order_relaxed) == job->count;
}

/* --- the pool's threads --- */

/* Nanoseconds that a chunk took. */
static int64_t help(XlacThreadPool *pool, Job *job, int64_t worker) {
  job->helpers++;
  pthread_mutex_unlock(&pool->mutex);
  ChunksDone done = run_chunks(job, worker);
  lock(pool);
  remove_job(pool, job);
  add_finished(job, done.count);
  job->helpers--;
  if (job->helpers == 0) pthread_cond_broadcast(&pool->helper_left);
  return done.each;
}

static bool has_jobs(const void *of) {
  const XlacThreadPool *pool = of;
  return atomic_load_explicit(&pool->job_count, memory_order_relaxed) > 0;
}

/* After a chunk of |chunk| nanoseconds; false when there will be none. */
static bool wait_for_job(XlacThreadPool *pool, int64_t chunk) {
  if (pool->jobs == NULL && !pool->is_stopping) {
    pthread_mutex_unlock(&pool->mutex);
    spin_until(has_jobs, pool, chunk);
    lock(pool);
  }
  while (pool->jobs == NULL && !pool->is_stopping) {
    pool->sleeping++;
    pthread_cond_wait(&pool->job_came, &pool->mutex);
    pool->sleeping--;
  }
  return pool->jobs != NULL;
}

static void *worker_main(void *argument) {
  const Worker *worker = argument;
  XlacThreadPool *pool = worker->pool;
  int64_t chunk = 0;
  lock(pool);
  while (wait_for_job(pool, chunk)) chunk = help(pool, pool->jobs, worker->number);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* As many as the system gives. */
static void start_threads(XlacThreadPool *pool) {
  pool->is_started = true;
  for (int64_t i = 0; i < pool->worker_count - 1; i++) {
    Worker *worker = &pool->workers[i];
    *worker = (Worker){.pool = pool, .number = i + 1};
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) return;
    pool->thread_count++;
  }
}

/* --- callers --- */

static void wake_helpers(XlacThreadPool *pool, int64_t wanted) {
  for (int64_t i = 0; i < wanted && i < pool->sleeping; i++) pthread_cond_signal(&pool->job_came);
}

void xlac_thread_pool_parallel_for(void *user_data, void (*body)(void *context, int64_t index, int64_t worker),
                                   void *context, int64_t n) {
  XlacThreadPool *pool = user_data;
  if (n <= 1 || pool->worker_count == 1) {
    for (int64_t i = 0; i < n; i++) body(context, i, 0);
    return;
  }
  Job job = {.body = body, .context = context, .count = n};
  lock(pool);
  if (!pool->is_started) start_threads(pool);
  add_job(pool, &job);
  wake_helpers(pool, n - 1);
  pthread_mutex_unlock(&pool->mutex);
  ChunksDone done = run_chunks(&job, 0);
  lock(pool);
  remove_job(pool, &job);
  add_finished(&job, done.count);
  if (!is_finished(&job)) {
    pthread_mutex_unlock(&pool->mutex);
    spin_until(is_finished, &job, done.each);
    lock(pool);
  }
  while (job.helpers > 0 || !is_finished(&job)) pthread_cond_wait(&pool->helper_left, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}

/* --- the pool --- */

XlacThreadPool *xlac_thread_pool_create(int64_t worker_count) {
  XlacThreadPool *pool = worker_count >= 1 ? calloc(1, sizeof *pool) : NULL;
  if (pool == NULL) return NULL;
  pool->worker_count = worker_count;
  pool->workers = calloc((size_t)worker_count, sizeof *pool->workers); /* one more than there are: never none */
  if (pool->workers == NULL) {
    free(pool);
    return NULL;
  }
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->job_came, NULL);
  pthread_cond_init(&pool->helper_left, NULL);
  return pool;
}

void xlac_thread_pool_destroy(XlacThreadPool *pool) {
  if (pool == NULL) return;
  lock(pool);
  pool->is_stopping = true;
  pthread_cond_broadcast(&pool->job_came);
  pthread_mutex_unlock(&pool->mutex);
  for (int64_t i = 0; i < pool->thread_count; i++) pthread_join(pool->workers[i].thread, NULL);
  pthread_mutex_destroy(&pool->mutex);
  pthread_cond_destroy(&pool->job_came);
  pthread_cond_destroy(&pool->helper_left);
  free(pool->workers);
  free(pool);
}

int64_t xlac_thread_pool_worker_count(const XlacThreadPool *pool) {
  return pool->worker_count;
}

/* --- processors --- */

#define PATH_BYTES 4096

/* What |file| of |group| below |mount| says, at most |size| bytes with the final zero; false where there is none. */
static bool read_group_file(const char *mount, const char *group, const char *file, char *out, size_t size) {
  char path[3 * PATH_BYTES];
  if (snprintf(path, sizeof path, "%s%s/%s", mount, group, file) >= (int)sizeof path) return false;
  FILE *stream = fopen(path, "re");
  if (stream == NULL) return false;
  bool is_read = fgets(out, (int)size, stream) != NULL;
  fclose(stream);
  return is_read;
}

/* Microseconds of every |period|, rounded up; 0 for no limit. */
static int64_t processors_of(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  return (int64_t)(quota / period + (quota % period != 0));
}

/* Of one group. */
static int64_t group_quota(const char *mount, const char *group, bool is_unified) {
  char text[128], period_text[128];
  long long quota, period;
  if (is_unified) {
    if (!read_group_file(mount, group, "cpu.max", text, sizeof text)) return 0;
    return sscanf(text, "%lld %lld", &quota, &period) == 2 ? processors_of(quota, period) : 0; /* "max": no number */
  }
  if (!read_group_file(mount, group, "cpu.cfs_quota_us", text, sizeof text) ||
      !read_group_file(mount, group, "cpu.cfs_period_us", period_text, sizeof period_text))
    return 0;
  bool are_numbers = sscanf(text, "%lld", &quota) == 1 && sscanf(period_text, "%lld", &period) == 1;
  return are_numbers ? processors_of(quota, period) : 0;
}

/* The least of |group| and those above it; |group| is cut. */
static int64_t least_quota(const char *mount, char *group, bool is_unified) {
  int64_t least = 0;
  for (;;) {
    char *last = strrchr(group, '/');
    if (last != NULL && last[1] == '\0') *last = '\0'; /* the root is nothing */
    int64_t own = group_quota(mount, group, is_unified);
    if (own > 0 && (least == 0 || own < least)) least = own;
    last = strrchr(group, '/');
    if (last == NULL) return least;
    *last = '\0';
  }
}

static bool names_cpu(const char *controllers) {
  for (const char *name = controllers; *name != '\0'; name += strspn(name, ",")) {
    size_t length = strcspn(name, ",");
    if (length == 3 && memcmp(name, "cpu", 3) == 0) return true;
    name += length;
  }
  return false;
}

int64_t xlac_thread_pool_quota(const char *groups, const char *mount) {
  FILE *stream = fopen(groups, "re");
  if (stream == NULL) return 0;
  char line[PATH_BYTES], folder[2 * PATH_BYTES];
  int64_t least = 0;
  while (fgets(line, sizeof line, stream) != NULL) { /* number:controllers:group */
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) continue;
    *controllers++ = *group++ = '\0';
    bool is_unified = *controllers == '\0';
    if (!is_unified && !names_cpu(controllers)) continue;
    int written = snprintf(folder, sizeof folder, "%s%s%s", mount, is_unified ? "" : "/", controllers);
    if (written >= (int)sizeof folder) continue;
    int64_t own = least_quota(folder, group, is_unified);
    if (own > 0 && (least == 0 || own < least)) least = own;
  }
  fclose(stream);
  return least;
}

int64_t xlac_thread_pool_processor_count(void) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return 1;
  int64_t count = CPU_COUNT(&processors), quota = xlac_thread_pool_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota > 0 && quota < count ? quota : count;
}
