#include "cli/progress_line.h"

#include <stdio.h>
#include <unistd.h>

#include "base/monotonic_clock.h"
#include "cli/watcher.h"

enum { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

#define DELAY_SECONDS 2.0
#define STEP_SECONDS 0.2

struct ProgressLine {
  Watcher watcher;
  double begin;
  bool is_terminal, is_shown;
  const char *told_what, *told_name; /* where lines stay */
};

/* With the mutex. */
static void show(ProgressLine *line) {
  const char *what = line->watcher.what, *name = line->watcher.name;
  double seconds = monotonic_seconds() - line->begin;
  if (seconds < DELAY_SECONDS) return;
  if (!line->is_terminal && what == line->told_what && name == line->told_name) return;
  bool has_name = name != NULL;
  fprintf(stderr, "%sxlac: %s%s%s%s (%.0f s)%s", line->is_terminal ? "\r\033[K" : "", what, has_name ? " '" : "",
          has_name ? name : "", has_name ? "'" : "", seconds, line->is_terminal ? "" : "\n");
  fflush(stderr);
  line->is_shown = true;
  line->told_what = what;
  line->told_name = name;
}

static void *keep_showing(void *data) {
  ProgressLine *line = data;
  pthread_mutex_lock(&line->watcher.mutex);
  for (;;) {
    struct timespec step = watcher_time_after(STEP_SECONDS);
    if (watcher_wait(&line->watcher, &step)) break;
    show(line);
  }
  pthread_mutex_unlock(&line->watcher.mutex);
  return NULL;
}

static bool is_wanted(const Options *options) {
  const OptionValue *value = &options->values[OPTION_PROGRESS];
  int64_t when = value->given ? value->integer : PROGRESS_AUTO;
  bool is_quiet = options->values[OPTION_QUIET].given;
  return when == PROGRESS_ALWAYS || (when == PROGRESS_AUTO && !is_quiet && isatty(STDERR_FILENO));
}

ProgressLine *progress_line_start(Arena *arena, const Options *options) {
  if (!is_wanted(options)) return NULL;
  ProgressLine *line = ARENA_NEW(arena, ProgressLine);
  *line = (ProgressLine){.begin = monotonic_seconds(), .is_terminal = isatty(STDERR_FILENO)};
  /* Without a thread there is no progress to be seen, and that is all. */
  return watcher_start(&line->watcher, keep_showing, line) == 0 ? line : NULL;
}

void progress_line_end(ProgressLine *line) {
  if (line == NULL) return;
  watcher_end(&line->watcher);
  if (line->is_shown && line->is_terminal) fprintf(stderr, "\r\033[K");
}

void progress_line_doing(ProgressLine *line, const char *what, const char *name) {
  if (line != NULL) watcher_doing(&line->watcher, what, name);
}
