#include "runtime/engines/queue_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SPIN_ROUNDS 100 /* pauses of 40 to 140 cycles: about what it takes to sleep and be woken */
#define CACHE_LINE 64
#define NOBODY INT64_MAX

/* On a line of its own: others look at it all the time. */
typedef struct QueueCounter {
  _Alignas(CACHE_LINE) _Atomic int64_t completed;
  _Atomic int64_t wanted; /* the smallest count that a sleeping thread waits for, or less; NOBODY: there is none */
  pthread_cond_t moved;
} QueueCounter;

/* What the function of a queue hands back. */
typedef struct QueueRun {
  QueueThreads *threads;
  int64_t queue;
} QueueRun;

typedef struct QueueThread {
  QueueThreads *owner;
  int64_t queue;
  pthread_t thread;
} QueueThread;

struct QueueThreads {
  QueueCounter counters[QUEUE_THREADS_MOST];
  QueueThread threads[QUEUE_THREADS_MOST]; /* of queues from 1 on: the caller does queue 0 */
  int64_t thread_count;
  pthread_mutex_t mutex;
  pthread_cond_t kernel_came, kernel_done;
  int64_t kernel_number; /* counts launches */
  int64_t running;       /* threads at work on the current one */
  bool is_stopping;
  const XlacOncoreKernel *kernel;
  const XlacOncoreContext *context;
  const QueueWatcher *watcher;
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* --- what queues call --- */

static void wait_for_count(QueueThreads *threads, int64_t queue, int64_t count) {
  QueueCounter *counter = &threads->counters[queue];
  for (int i = 0; i < SPIN_ROUNDS; i++) {
    if (atomic_load_explicit(&counter->completed, memory_order_acquire) >= count) return;
    pause_briefly();
  }
  pthread_mutex_lock(&threads->mutex);
  for (;;) {
    /* Either this is seen by the queue, which then takes the mutex, or its count is seen here. */
    if (atomic_load(&counter->wanted) > count) atomic_store(&counter->wanted, count);
    if (atomic_load(&counter->completed) >= count) break;
    pthread_cond_wait(&counter->moved, &threads->mutex);
  }
  pthread_mutex_unlock(&threads->mutex);
}

static void wait_for(void *data, int64_t queue, int64_t count) {
  const QueueRun *run = data;
  const QueueWatcher *watcher = run->threads->watcher;
  wait_for_count(run->threads, queue, count);
  if (watcher != NULL) watcher->waited(watcher->data, run->queue, queue, count);
}

static void publish(void *data, int64_t queue) {
  const QueueRun *run = data;
  QueueThreads *threads = run->threads;
  QueueCounter *counter = &threads->counters[queue];
  if (threads->watcher != NULL) threads->watcher->completed(threads->watcher->data, queue);
  int64_t completed = atomic_fetch_add(&counter->completed, 1) + 1;
  if (completed < atomic_load(&counter->wanted)) return;
  pthread_mutex_lock(&threads->mutex);
  atomic_store(&counter->wanted, NOBODY); /* who wants more says so again */
  pthread_cond_broadcast(&counter->moved);
  pthread_mutex_unlock(&threads->mutex);
}

static void run_queue(QueueThreads *threads, int64_t queue) {
  QueueRun run = {threads, queue};
  XlacOncoreSync sync = {&run, wait_for, publish};
  threads->kernel->queues[queue](threads->context, &sync);
}

/* --- threads --- */

static void *thread_main(void *argument) {
  const QueueThread *self = argument;
  QueueThreads *threads = self->owner;
  pthread_mutex_lock(&threads->mutex);
  /* The one that starts a thread holds the mutex until the launch that it was started for is there. */
  int64_t seen = 0;
  for (;;) {
    while (threads->kernel_number == seen && !threads->is_stopping)
      pthread_cond_wait(&threads->kernel_came, &threads->mutex);
    if (threads->is_stopping) break;
    seen = threads->kernel_number;
    if (threads->kernel == NULL || self->queue >= threads->kernel->queue_count) continue;
    pthread_mutex_unlock(&threads->mutex);
    run_queue(threads, self->queue);
    pthread_mutex_lock(&threads->mutex);
    if (--threads->running == 0) pthread_cond_signal(&threads->kernel_done);
  }
  pthread_mutex_unlock(&threads->mutex);
  return NULL;
}

/* The mutex is held. */
static bool start_threads(QueueThreads *threads, int64_t queue_count) {
  if (queue_count > QUEUE_THREADS_MOST) return false;
  while (threads->thread_count < queue_count - 1) {
    QueueThread *thread = &threads->threads[threads->thread_count];
    *thread = (QueueThread){.owner = threads, .queue = threads->thread_count + 1};
    if (pthread_create(&thread->thread, NULL, thread_main, thread) != 0) return false;
    threads->thread_count++;
  }
  return true;
}

/* False when there are too few threads. */
static bool begin_kernel(QueueThreads *threads, const XlacOncoreKernel *kernel, const XlacOncoreContext *context) {
  pthread_mutex_lock(&threads->mutex);
  bool is_started = start_threads(threads, kernel->queue_count);
  if (is_started) {
    if (threads->watcher != NULL) threads->watcher->begin(threads->watcher->data, kernel, context);
    for (int64_t q = 0; q < kernel->queue_count; q++) {
      atomic_store(&threads->counters[q].completed, 0);
      atomic_store(&threads->counters[q].wanted, NOBODY);
    }
    threads->kernel = kernel;
    threads->context = context;
    threads->running = kernel->queue_count - 1;
    threads->kernel_number++;
    pthread_cond_broadcast(&threads->kernel_came);
  }
  pthread_mutex_unlock(&threads->mutex);
  return is_started;
}

static void end_kernel(QueueThreads *threads) {
  pthread_mutex_lock(&threads->mutex);
  while (threads->running > 0) pthread_cond_wait(&threads->kernel_done, &threads->mutex);
  threads->kernel = NULL;
  pthread_mutex_unlock(&threads->mutex);
  if (threads->watcher != NULL) threads->watcher->end(threads->watcher->data);
}

int queue_threads_launch(void *data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context) {
  QueueThreads *threads = data;
  if (!begin_kernel(threads, kernel, context)) return QUEUE_THREADS_TOO_FEW;
  run_queue(threads, 0);
  end_kernel(threads);
  return 0;
}

/* --- beginning and end --- */

QueueThreads *queue_threads_create(Arena *arena, const QueueWatcher *watcher) {
  QueueThreads *threads = arena_alloc_aligned(arena, sizeof *threads, CACHE_LINE);
  *threads = (QueueThreads){.watcher = watcher};
  pthread_mutex_init(&threads->mutex, NULL);
  pthread_cond_init(&threads->kernel_came, NULL);
  pthread_cond_init(&threads->kernel_done, NULL);
  for (int q = 0; q < QUEUE_THREADS_MOST; q++) pthread_cond_init(&threads->counters[q].moved, NULL);
  return threads;
}

void queue_threads_destroy(QueueThreads *threads) {
  pthread_mutex_lock(&threads->mutex);
  threads->is_stopping = true;
  pthread_cond_broadcast(&threads->kernel_came);
  pthread_mutex_unlock(&threads->mutex);
  for (int64_t i = 0; i < threads->thread_count; i++) pthread_join(threads->threads[i].thread, NULL);
  for (int q = 0; q < QUEUE_THREADS_MOST; q++) pthread_cond_destroy(&threads->counters[q].moved);
  pthread_cond_destroy(&threads->kernel_done);
  pthread_cond_destroy(&threads->kernel_came);
  pthread_mutex_destroy(&threads->mutex);
}
