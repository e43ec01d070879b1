/* PhaseTimes: how long each phase of a compilation took, and of what its caller does around it. */
#ifndef XLAC_COMPILER_PHASE_TIMES_H
#define XLAC_COMPILER_PHASE_TIMES_H

#include "base/array.h"

typedef struct PhaseTime {
  const char *name; /* lives as long as the program */
  double begin;     /* of monotonic_seconds */
  double seconds;
} PhaseTime;

/* In the order in which they ended. */
typedef struct PhaseTimes {
  Arena *arena;
  ARRAY(PhaseTime) list;
} PhaseTimes;

/* The phase |name| went from |start| to now, which is returned. */
double phase_times_end(PhaseTimes *times, const char *name, double start);

#endif
