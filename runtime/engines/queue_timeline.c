#include "runtime/engines/queue_timeline.h"

static void add_stretches(QueueTimeline *timeline, const QueueTrace *trace, const CommandStream *stream,
                          const QueueSimulation *simulation) {
  double begin = timeline->cycles;
  Arena *scratch = arena_create();
  BufferStretches found = buffer_stretches_find(scratch, stream, simulation);
  for (int64_t i = 0; i < found.count; i++) {
    const BufferStretch *stretch = &found.stretches[i];
    TimelineStretch entry = {queue_trace_command(trace, stretch->first)->label, stretch->begin, stretch->end,
                             begin + stretch->from, begin + stretch->to};
    array_push(&timeline->stretches, timeline->arena, entry);
  }
  arena_destroy(scratch);
}

void queue_timeline_add(QueueTimeline *timeline, const QueueTrace *trace, const CommandStream *stream,
                        const QueueSimulation *simulation, double begin, double end) {
  add_stretches(timeline, trace, stream, simulation);
  for (int64_t i = 0; i < trace->commands.count; i++) {
    const XlacOncoreCommand *command = queue_trace_command(trace, i);
    TimelineCommand entry = {command->label, (int32_t)command->queue, timeline->cycles + simulation->starts[i],
                             timeline->cycles + simulation->ends[i]};
    array_push(&timeline->commands, timeline->arena, entry);
  }
  TimelineLaunch launch = {trace->kernel->name, timeline->cycles + begin, timeline->cycles + end};
  array_push(&timeline->launches, timeline->arena, launch);
}
