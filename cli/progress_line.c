#include "cli/progress_line.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic_clock.h"

enum { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

#define DELAY_SECONDS 2.0
#define STEP_SECONDS 0.2

struct ProgressLine {
  double begin;
  bool is_terminal;
  pthread_t thread;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t changed;
  bool is_over, is_shown;
  const char *what, *name;
  const char *told_what, *told_name; /* where lines stay */
};

/* With the mutex. */
static void show(ProgressLine *line) {
  double seconds = monotonic_seconds() - line->begin;
  if (seconds < DELAY_SECONDS) return;
  if (!line->is_terminal && line->what == line->told_what && line->name == line->told_name) return;
  bool has_name = line->name != NULL;
  fprintf(stderr, "%sxlac: %s%s%s%s (%.0f s)%s", line->is_terminal ? "\r\033[K" : "", line->what, has_name ? " '" : "",
          has_name ? line->name : "", has_name ? "'" : "", seconds, line->is_terminal ? "" : "\n");
  fflush(stderr);
  line->is_shown = true;
  line->told_what = line->what;
  line->told_name = line->name;
}

static struct timespec next_step(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_nsec += (long)(STEP_SECONDS * 1e9);
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void *keep_showing(void *data) {
  ProgressLine *line = data;
  pthread_mutex_lock(&line->mutex);
  while (!line->is_over) {
    struct timespec step = next_step();
    pthread_cond_timedwait(&line->changed, &line->mutex, &step);
    if (!line->is_over) show(line);
  }
  pthread_mutex_unlock(&line->mutex);
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
  *line = (ProgressLine){.begin = monotonic_seconds(), .is_terminal = isatty(STDERR_FILENO), .what = "beginning"};
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&line->mutex, NULL);
  pthread_cond_init(&line->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  /* Without a thread there is no progress to be seen, and that is all. */
  return pthread_create(&line->thread, NULL, keep_showing, line) == 0 ? line : NULL;
}

void progress_line_end(ProgressLine *line) {
  if (line == NULL) return;
  pthread_mutex_lock(&line->mutex);
  line->is_over = true;
  pthread_cond_signal(&line->changed);
  pthread_mutex_unlock(&line->mutex);
  pthread_join(line->thread, NULL);
  pthread_cond_destroy(&line->changed);
  pthread_mutex_destroy(&line->mutex);
  if (line->is_shown && line->is_terminal) fprintf(stderr, "\r\033[K");
}

void progress_line_doing(ProgressLine *line, const char *what, const char *name) {
  if (line == NULL) return;
  pthread_mutex_lock(&line->mutex);
  line->what = what;
  line->name = name;
  pthread_mutex_unlock(&line->mutex);
}
