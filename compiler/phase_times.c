#include "compiler/phase_times.h"

#include <time.h>

double phase_times_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double phase_times_end(PhaseTimes *times, const char *name, double start) {
  double now = phase_times_now();
  array_push(&times->list, times->arena, ((PhaseTime){name, start, now - start}));
  return now;
}
