#include "cli/time_limit.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/temporary.h"
#include "cli/exit_code.h"
#include "cli/session_report.h"
#include "cli/watcher.h"

struct TimeLimit {
  Watcher watcher;
  const Options *options;
  double seconds;
  struct timespec end;
};

/* With the mutex, which is never released: no temporary file is made any more. */
static void end_process(const TimeLimit *limit) {
  process_end_running(SIGKILL);
  temporary_delete_all();
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  const char *what = limit->watcher.what, *name = limit->watcher.name;
  bool has_name = name != NULL;
  Status ignored = diag_error(&diag, STATUS_IO, NO_LOC, "timeout",
                              "the run took longer than the %g seconds of '--timeout': it was %s%s%s%s", limit->seconds,
                              what, has_name ? " '" : "", has_name ? name : "", has_name ? "'" : "");
  (void)ignored;
  session_report_diagnostics(limit->options, &diag, NULL);
  _exit(EXIT_SYSTEM);
}

static void *wait_for_end(void *data) {
  TimeLimit *limit = data;
  pthread_mutex_lock(&limit->watcher.mutex);
  if (!watcher_wait(&limit->watcher, &limit->end)) end_process(limit);
  pthread_mutex_unlock(&limit->watcher.mutex);
  return NULL;
}

TimeLimit *time_limit_start(Arena *arena, const Options *options, double seconds, DiagSink *diag) {
  TimeLimit *limit = ARENA_NEW(arena, TimeLimit);
  *limit = (TimeLimit){.options = options, .seconds = seconds, .end = watcher_time_after(seconds)};
  int error = watcher_start(&limit->watcher, wait_for_end, limit);
  if (error == 0) return limit;
  Status ignored = diag_error(diag, STATUS_IO, NO_LOC, "timeout", "unable to start a thread: %s", strerror(error));
  (void)ignored;
  return NULL;
}

void time_limit_end(TimeLimit *limit) {
  if (limit != NULL) watcher_end(&limit->watcher);
}

void time_limit_doing(TimeLimit *limit, const char *what, const char *name) {
  if (limit != NULL) watcher_doing(&limit->watcher, what, name);
}

void time_limit_hold(TimeLimit *limit) {
  if (limit != NULL) pthread_mutex_lock(&limit->watcher.mutex);
}

void time_limit_release(TimeLimit *limit) {
  if (limit != NULL) pthread_mutex_unlock(&limit->watcher.mutex);
}
