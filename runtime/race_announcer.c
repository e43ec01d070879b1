#include "runtime/race_announcer.h"

#include "runtime/queue_trace.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

/* --- ThreadSanitizer --- */

#ifdef HAS_THREAD_SANITIZER

void __tsan_read_range(void *begin, unsigned long bytes);
void __tsan_write_range(void *begin, unsigned long bytes);

static void announce(void *data, int64_t queue, bool is_write, char *begin, int64_t bytes) {
  (void)data;
  (void)queue;
  (is_write ? __tsan_write_range : __tsan_read_range)(begin, (unsigned long)bytes);
}

RaceListener race_listener_of_build(void) {
  return announce;
}

#else

RaceListener race_listener_of_build(void) {
  return NULL;
}

#endif

/* --- the announcer --- */

/* What is left of a queue, in its order. */
typedef struct QueueCommands {
  ARRAY(int64_t) numbers;
  int64_t done; /* its thread's alone */
} QueueCommands;

typedef struct RaceAnnouncer {
  QueueWatcher watcher;
  RaceListener listener;
  void *data;
  Arena *arena; /* of the kernel at hand */
  QueueTrace trace;
  QueueCommands queues[QUEUE_THREADS_MOST];
} RaceAnnouncer;

static void begin(void *data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context) {
  RaceAnnouncer *announcer = data;
  announcer->arena = arena_create();
  queue_trace_record(&announcer->trace, announcer->arena, kernel, context);
  for (int64_t q = 0; q < kernel->queue_count; q++) announcer->queues[q] = (QueueCommands){0};
  for (int64_t i = 0; i < announcer->trace.commands.count; i++) {
    QueueCommands *queue = &announcer->queues[queue_trace_command(&announcer->trace, i)->queue];
    array_push(&queue->numbers, announcer->arena, i);
  }
}

static void announce_runs(const RaceAnnouncer *announcer, int64_t queue, const TracedAccess *access, char *begin_of_run,
                          int64_t level) {
  if (level == access->level_count) {
    announcer->listener(announcer->data, queue, access->is_write, begin_of_run, access->bytes);
    return;
  }
  const XlacOncoreLevel *of = &access->levels[level];
  for (int64_t i = 0; i < of->count; i++)
    announce_runs(announcer, queue, access, begin_of_run + i * of->stride, level + 1);
}

/* Reads first: bytes that are read and written stay known as written. */
static void announce_command(const RaceAnnouncer *announcer, int64_t queue, int64_t number, bool writes) {
  int64_t count = queue_trace_variant(&announcer->trace, number)->access_count;
  for (int64_t a = 0; a < count; a++) {
    TracedAccess access;
    if (!queue_trace_access(&announcer->trace, number, a, &access) || access.is_write != writes) continue;
    announce_runs(announcer, queue, &access, access.begin, 0);
  }
}

static void completed(void *data, int64_t queue) {
  RaceAnnouncer *announcer = data;
  QueueCommands *commands = &announcer->queues[queue];
  int64_t number = commands->numbers.data[commands->done++];
  announce_command(announcer, queue, number, false);
  announce_command(announcer, queue, number, true);
}

static void end(void *data) {
  RaceAnnouncer *announcer = data;
  arena_destroy(announcer->arena);
  announcer->arena = NULL;
}

const QueueWatcher *race_announcer_create(Arena *arena, RaceListener listener, void *data) {
  RaceAnnouncer *announcer = ARENA_NEW(arena, RaceAnnouncer);
  *announcer = (RaceAnnouncer){.listener = listener, .data = data};
  announcer->watcher = (QueueWatcher){announcer, begin, completed, end};
  return &announcer->watcher;
}
