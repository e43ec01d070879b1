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
#include <stdlib.h>

#define SPIN_ROUNDS 1000 /* pauses of 40 to 140 cycles each */

/* One call of parallel_for, on its caller's stack. */
typedef struct Job {
  void (*body)(void *context, int64_t index, int64_t worker);
  void *context;
  int64_t count;
  _Atomic int64_t next;     /* the first chunk that no worker claimed; grows beyond |count| */
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

/* Runs chunks until all are claimed; how many. */
static int64_t run_chunks(Job *job, int64_t worker) {
  int64_t done = 0;
  for (;; done++) {
    int64_t index = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
    if (index >= job->count) return done;
    job->body(job->context, index, worker);
  }
}

static void add_finished(Job *job, int64_t done) {
  atomic_fetch_add_explicit(&job->finished, done, memory_order_relaxed);
}

static bool is_finished(const Job *job) {
  return atomic_load_explicit(&job->finished, memory_order_relaxed) == job->count;
}

/* --- the pool's threads --- */

static void help(XlacThreadPool *pool, Job *job, int64_t worker) {
  job->helpers++;
  pthread_mutex_unlock(&pool->mutex);
  int64_t done = run_chunks(job, worker);
  pthread_mutex_lock(&pool->mutex);
  remove_job(pool, job);
  add_finished(job, done);
  job->helpers--;
  if (job->helpers == 0) pthread_cond_broadcast(&pool->helper_left);
}

static void spin_for_job(XlacThreadPool *pool) {
  for (int i = 0; i < SPIN_ROUNDS; i++) {
    if (atomic_load_explicit(&pool->job_count, memory_order_relaxed) > 0) return;
    pause_briefly();
  }
}

/* False when there will be none. */
static bool wait_for_job(XlacThreadPool *pool) {
  if (pool->jobs == NULL && !pool->is_stopping) {
    pthread_mutex_unlock(&pool->mutex);
    spin_for_job(pool);
    pthread_mutex_lock(&pool->mutex);
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
  pthread_mutex_lock(&pool->mutex);
  while (wait_for_job(pool)) help(pool, pool->jobs, worker->number);
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

static void spin_until_finished(const Job *job) {
  for (int i = 0; i < SPIN_ROUNDS && !is_finished(job); i++) pause_briefly();
}

void xlac_thread_pool_parallel_for(void *user_data, void (*body)(void *context, int64_t index, int64_t worker),
                                   void *context, int64_t n) {
  XlacThreadPool *pool = user_data;
  if (n <= 1 || pool->worker_count == 1) {
    for (int64_t i = 0; i < n; i++) body(context, i, 0);
    return;
  }
  Job job = {.body = body, .context = context, .count = n};
  pthread_mutex_lock(&pool->mutex);
  if (!pool->is_started) start_threads(pool);
  add_job(pool, &job);
  wake_helpers(pool, n - 1);
  pthread_mutex_unlock(&pool->mutex);
  int64_t done = run_chunks(&job, 0);
  pthread_mutex_lock(&pool->mutex);
  remove_job(pool, &job);
  add_finished(&job, done);
  if (!is_finished(&job)) {
    pthread_mutex_unlock(&pool->mutex);
    spin_until_finished(&job);
    pthread_mutex_lock(&pool->mutex);
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
  pthread_mutex_lock(&pool->mutex);
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

int64_t xlac_thread_pool_processor_count(void) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return 1;
  return CPU_COUNT(&processors);
}
