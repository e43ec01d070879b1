#include "runtime/engines/race_announcer.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

#ifdef HAS_THREAD_SANITIZER

#include <sanitizer/tsan_interface.h>

#include "runtime/engines/queue_trace.h"

/* In the interface, but in no header of it. */
void __tsan_read_range(void *begin, unsigned long bytes);
void __tsan_write_range(void *begin, unsigned long bytes);

#define SYNC 0
#define NO_SYNC __tsan_switch_to_fiber_no_sync

typedef struct QueueFiber {
  void *fiber;
  ARRAY(int64_t) commands; /* numbers in the trace, in the queue's order */
  int64_t *marks;          /* by command: its address stands for "complete" */
  int64_t done;            /* its thread's alone */
} QueueFiber;

typedef struct RaceAnnouncer {
  QueueWatcher watcher;
  Arena *arena; /* of the kernel at hand */
  QueueTrace trace;
  QueueFiber queues[QUEUE_THREADS_MOST];
} RaceAnnouncer;

/* --- one command --- */

/* Nothing else may be touched while in another context, not even the thread's own stack. */
static void announce_run(void *fiber, bool is_write, char *begin, int64_t bytes) {
  void *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber, NO_SYNC);
  if (is_write)
    __tsan_write_range(begin, (unsigned long)bytes);
  else
    __tsan_read_range(begin, (unsigned long)bytes);
  __tsan_switch_to_fiber(self, NO_SYNC);
}

static void announce_access(void *fiber, const TracedAccess *access, char *begin, int64_t level) {
  if (level == access->level_count) {
    announce_run(fiber, access->is_write, begin, access->bytes);
    return;
  }
  const XlacOncoreLevel *of = &access->levels[level];
  for (int64_t i = 0; i < of->count; i++) announce_access(fiber, access, begin + i * of->stride, level + 1);
}

/* What it reads, or what it writes. */
static void announce_command(void *fiber, const QueueTrace *trace, int64_t number, bool writes) {
  int64_t count = queue_trace_variant(trace, number)->access_count;
  for (int64_t a = 0; a < count; a++) {
    TracedAccess access;
    if (!queue_trace_access(trace, number, a, &access) || access.is_write != writes) continue;
    announce_access(fiber, &access, access.begin, 0);
  }
}

/* --- what the engine tells --- */

/* What has happened so far comes before all commands. */
static void begin(void *data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context) {
  RaceAnnouncer *announcer = data;
  announcer->arena = arena_create();
  queue_trace_record(&announcer->trace, announcer->arena, kernel, context);
  for (int64_t q = 0; q < kernel->queue_count; q++) {
    QueueFiber *queue = &announcer->queues[q];
    if (queue->fiber == NULL) queue->fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(queue->fiber, kernel->queue_names[q]);
    *queue = (QueueFiber){.fiber = queue->fiber};
  }
  for (int64_t i = 0; i < announcer->trace.commands.count; i++) {
    if (queue_trace_barrier(&announcer->trace, i) != 0) continue;
    QueueFiber *queue = &announcer->queues[queue_trace_command(&announcer->trace, i)->queue];
    array_push(&queue->commands, announcer->arena, i);
  }
  void *self = __tsan_get_current_fiber();
  for (int64_t q = 0; q < kernel->queue_count; q++) {
    QueueFiber *queue = &announcer->queues[q];
    queue->marks = ARENA_NEW_ARRAY(announcer->arena, int64_t, queue->commands.count);
    void *fiber = queue->fiber;
    __tsan_switch_to_fiber(fiber, SYNC);
    __tsan_switch_to_fiber(self, NO_SYNC);
  }
}

static void waited(void *data, int64_t queue, int64_t other, int64_t count) {
  const RaceAnnouncer *announcer = data;
  if (count <= 0) return;
  int64_t *mark = &announcer->queues[other].marks[count - 1];
  void *fiber = announcer->queues[queue].fiber, *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber, NO_SYNC);
  __tsan_acquire(mark);
  __tsan_switch_to_fiber(self, NO_SYNC);
}

/* Reads first: bytes that are read and written stay known as written. */
static void completed(void *data, int64_t queue) {
  RaceAnnouncer *announcer = data;
  QueueFiber *of = &announcer->queues[queue];
  int64_t number = of->commands.data[of->done], *mark = &of->marks[of->done];
  announce_command(of->fiber, &announcer->trace, number, false);
  announce_command(of->fiber, &announcer->trace, number, true);
  of->done++;
  void *fiber = of->fiber, *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber, NO_SYNC);
  __tsan_release(mark);
  __tsan_switch_to_fiber(self, NO_SYNC);
}

/* All commands come before what happens next. */
static void end(void *data) {
  RaceAnnouncer *announcer = data;
  void *self = __tsan_get_current_fiber();
  for (int64_t q = 0; q < announcer->trace.kernel->queue_count; q++) {
    void *fiber = announcer->queues[q].fiber;
    __tsan_switch_to_fiber(fiber, NO_SYNC);
    __tsan_switch_to_fiber(self, SYNC);
  }
  arena_destroy(announcer->arena);
}

const QueueWatcher *race_announcer_create(Arena *arena) {
  RaceAnnouncer *announcer = ARENA_NEW(arena, RaceAnnouncer);
  announcer->watcher = (QueueWatcher){announcer, begin, waited, completed, end};
  return &announcer->watcher;
}

void race_announcer_destroy(const QueueWatcher *watcher) {
  if (watcher == NULL) return;
  RaceAnnouncer *announcer = watcher->data;
  for (int64_t q = 0; q < QUEUE_THREADS_MOST; q++)
    if (announcer->queues[q].fiber != NULL) __tsan_destroy_fiber(announcer->queues[q].fiber);
}

#else

const QueueWatcher *race_announcer_create(Arena *arena) {
  (void)arena;
  return NULL;
}

void race_announcer_destroy(const QueueWatcher *watcher) {
  (void)watcher;
}

#endif
