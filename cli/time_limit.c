#include "cli/time_limit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/temporary.h"
#include "cli/exit_code.h"
#include "cli/session_report.h"

struct TimeLimit {
  const Options *options;
  double seconds;
  struct timespec end; /* on the monotonic clock */
  pthread_t thread;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t changed;
  bool is_over;
  const char *what, *name;
};

/* With the mutex, which is never released: no temporary file is made any more. */
static void end_process(const TimeLimit *limit) {
  process_end_running(SIGKILL);
  temporary_delete_all();
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  bool has_name = limit->name != NULL;
  Status ignored = diag_error(&diag, STATUS_IO, NO_LOC, "timeout",
                              "the run took longer than the %g seconds of '--timeout': it was %s%s%s%s", limit->seconds,
                              limit->what, has_name ? " '" : "", has_name ? limit->name : "", has_name ? "'" : "");
  (void)ignored;
  session_report_diagnostics(limit->options, &diag, NULL);
  _exit(EXIT_SYSTEM);
}

static void *wait_for_end(void *data) {
  TimeLimit *limit = data;
  pthread_mutex_lock(&limit->mutex);
  int error = 0;
  while (!limit->is_over && error != ETIMEDOUT)
    error = pthread_cond_timedwait(&limit->changed, &limit->mutex, &limit->end);
  if (!limit->is_over) end_process(limit);
  pthread_mutex_unlock(&limit->mutex);
  return NULL;
}

static struct timespec time_after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time_t whole = (time_t)seconds;
  time.tv_sec += whole;
  time.tv_nsec += (long)((seconds - (double)whole) * 1e9);
  if (time.tv_nsec >= 1000000000) {
    time.tv_sec++;
    time.tv_nsec -= 1000000000;
  }
  return time;
}

TimeLimit *time_limit_start(Arena *arena, const Options *options, double seconds, DiagSink *diag) {
  TimeLimit *limit = ARENA_NEW(arena, TimeLimit);
  *limit = (TimeLimit){.options = options, .seconds = seconds, .end = time_after(seconds), .what = "beginning"};
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&limit->mutex, NULL);
  pthread_cond_init(&limit->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  int error = pthread_create(&limit->thread, NULL, wait_for_end, limit);
  if (error == 0) return limit;
  Status ignored = diag_error(diag, STATUS_IO, NO_LOC, "timeout", "unable to start a thread: %s", strerror(error));
  (void)ignored;
  return NULL;
}

void time_limit_end(TimeLimit *limit) {
  if (limit == NULL) return;
  pthread_mutex_lock(&limit->mutex);
  limit->is_over = true;
  pthread_cond_signal(&limit->changed);
  pthread_mutex_unlock(&limit->mutex);
  pthread_join(limit->thread, NULL);
  pthread_cond_destroy(&limit->changed);
  pthread_mutex_destroy(&limit->mutex);
}

void time_limit_doing(TimeLimit *limit, const char *what, const char *name) {
  if (limit == NULL) return;
  pthread_mutex_lock(&limit->mutex);
  limit->what = what;
  limit->name = name;
  pthread_mutex_unlock(&limit->mutex);
}

void time_limit_hold(TimeLimit *limit) {
  if (limit != NULL) pthread_mutex_lock(&limit->mutex);
}

void time_limit_release(TimeLimit *limit) {
  if (limit != NULL) pthread_mutex_unlock(&limit->mutex);
}
