/* QueueTimeline: what the queues of a vector processor did when, in simulated cycles, launch after launch. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_TIMELINE_H
#define XLAC_RUNTIME_ENGINES_QUEUE_TIMELINE_H

#include "hlo/machine/stream/queue_simulation.h"
#include "runtime/engines/queue_trace.h"

typedef struct TimelineCommand {
  const char *label;
  int32_t queue;
  double begin, end;
} TimelineCommand;

typedef struct TimelineLaunch {
  const char *kernel;
  double begin, end;
} TimelineLaunch;

/* Begins with an arena and nothing else; texts are the compiled object's. */
typedef struct QueueTimeline {
  Arena *arena;
  ARRAY(TimelineLaunch) launches;
  ARRAY(TimelineCommand) commands; /* of all launches */
  double cycles;                   /* the end of the last launch: the next one begins there */
} QueueTimeline;

/* A launch whose commands |trace| has, with the times of |simulation|. */
void queue_timeline_add(QueueTimeline *timeline, const QueueTrace *trace, const QueueSimulation *simulation);

#endif
