/* QueueTimeline: what the queues of a vector processor did when, in simulated cycles, launch after launch. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_TIMELINE_H
#define XLAC_RUNTIME_ENGINES_QUEUE_TIMELINE_H

#include "hlo/machine/stream/buffer_stretches.h"
#include "runtime/engines/queue_trace.h"

typedef struct TimelineCommand {
  const char *label;
  int32_t queue;
  double begin, end;
} TimelineCommand;

/* Bytes [low, high) of the Buffer hold what a command has made. */
typedef struct TimelineStretch {
  const char *label; /* of that command */
  int64_t low, high;
  double begin, end;
} TimelineStretch;

typedef struct TimelineLaunch {
  const char *kernel;
  double begin, end;
} TimelineLaunch;

/* Begins with an arena and nothing else; texts are the compiled object's. */
typedef struct QueueTimeline {
  Arena *arena;
  ARRAY(TimelineLaunch) launches;
  ARRAY(TimelineCommand) commands; /* of all launches */
  ARRAY(TimelineStretch) stretches;
  double cycles; /* where the next launch begins, or the run of launches that it is of */
} QueueTimeline;

/* A launch whose commands |trace| has, with the times of |simulation|, which has those of |stream| and counts from
 * timeline->cycles, as do |begin| and |end|: the cycles that are the launch's among those of its run. */
void queue_timeline_add(QueueTimeline *timeline, const QueueTrace *trace, const CommandStream *stream,
                        const QueueSimulation *simulation, double begin, double end);

#endif
