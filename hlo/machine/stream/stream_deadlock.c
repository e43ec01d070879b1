/* The machine without time: whatever can be issued is issued, whatever can complete completes.  More cannot hurt, so if
 * this gets stuck everything does. */
#include "hlo/machine/stream/hazards_internal.h"

typedef struct Progress {
  const CommandStream *stream;
  const MachineDescription *machine;
  InstanceArray *outstanding; /* by queue */
  bool *is_complete;          /* by instance */
  int32_t issued;
  Arena *scratch;
} Progress;

/* The first instance that |instance| still waits for, -1: none. */
static int32_t awaited_by(const Progress *progress, int32_t instance) {
  InstanceRange edges = command_stream_edges(progress->stream, instance);
  for (int64_t i = 0; i < edges.count; i++) {
    int32_t producer = edges.data[i];
    if (producer >= progress->stream->commands.count || !progress->is_complete[producer]) return producer;
  }
  return -1;
}

static bool may_pass(const Progress *progress, const StreamCommand *barrier) {
  for (int32_t i = 0; i < progress->machine->queue_count; i++) {
    if (stream_barrier_covers(barrier, i) && progress->outstanding[i].count > 0) return false;
  }
  return true;
}

static bool issue(Progress *progress) {
  int32_t before = progress->issued;
  for (; progress->issued < progress->stream->commands.count; progress->issued++) {
    const StreamCommand *command = &progress->stream->commands.data[progress->issued];
    if (command->queue == BARRIER_QUEUE) {
      if (!may_pass(progress, command)) break;
      progress->is_complete[progress->issued] = true;
      continue;
    }
    if (progress->outstanding[command->queue].count >= progress->machine->queues[command->queue].depth) break;
    array_push(&progress->outstanding[command->queue], progress->scratch, progress->issued);
  }
  return progress->issued > before;
}

static bool complete(Progress *progress, int32_t queue) {
  bool in_order = progress->machine->queues[queue].complete == COMPLETE_IN_ORDER;
  int64_t count = progress->outstanding[queue].count, kept = 0;
  int32_t *instances = progress->outstanding[queue].data;
  for (int64_t i = 0; i < count; i++) {
    bool may_start = !in_order || kept == 0;
    if (may_start && awaited_by(progress, instances[i]) < 0) {
      progress->is_complete[instances[i]] = true;
    } else {
      instances[kept++] = instances[i];
    }
  }
  progress->outstanding[queue].count = kept;
  return kept < count;
}

bool stream_finds_deadlock(Arena *scratch, const CommandStream *stream, const MachineDescription *machine,
                           int32_t *out_awaited, int32_t *out_waiting) {
  Progress progress = {.stream = stream, .machine = machine, .scratch = scratch};
  progress.outstanding = ARENA_NEW_ARRAY(scratch, InstanceArray, machine->queue_count);
  progress.is_complete = ARENA_NEW_ARRAY(scratch, bool, stream->commands.count);
  for (bool moves = true; moves;) {
    moves = issue(&progress);
    for (int32_t i = 0; i < machine->queue_count; i++) moves = complete(&progress, i) || moves;
  }
  for (int32_t i = 0; i < machine->queue_count; i++) {
    if (progress.outstanding[i].count == 0) continue;
    *out_waiting = progress.outstanding[i].data[0];
    *out_awaited = awaited_by(&progress, *out_waiting);
    return true;
  }
  return false;
}
