#include "compiler/phase_times.h"

#include "base/monotonic_clock.h"

double phase_times_end(PhaseTimes *times, const char *name, double start) {
  double now = monotonic_seconds();
  array_push(&times->list, times->arena, ((PhaseTime){name, start, now - start}));
  return now;
}
