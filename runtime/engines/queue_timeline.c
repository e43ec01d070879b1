#include "runtime/engines/queue_timeline.h"

void queue_timeline_add(QueueTimeline *timeline, const QueueTrace *trace, const QueueSimulation *simulation) {
  double begin = timeline->cycles;
  for (int64_t i = 0; i < trace->commands.count; i++) {
    const XlacOncoreCommand *command = queue_trace_command(trace, i);
    TimelineCommand entry = {command->label, (int32_t)command->queue, begin + simulation->starts[i],
                             begin + simulation->ends[i]};
    array_push(&timeline->commands, timeline->arena, entry);
  }
  timeline->cycles = begin + simulation->cycles;
  TimelineLaunch launch = {trace->kernel->name, begin, timeline->cycles};
  array_push(&timeline->launches, timeline->arena, launch);
}
