#include "hlo/machine/stream/queue_waits.h"

#include <math.h>
#include <stdlib.h>

/* Cycles that rounding may leave between two times that are the same. */
#define NO_TIME 1e-6

const int32_t *command_issue_causes(Arena *arena, const CommandStream *stream, const QueueSimulation *simulation) {
  int32_t *causes = ARENA_NEW_ARRAY(arena, int32_t, stream->commands.count);
  int32_t cause = -1;
  double before = 0;
  for (int32_t i = 0; i < stream->commands.count; i++) {
    bool is_barrier = stream->commands.data[i].queue == BARRIER_QUEUE;
    if (is_barrier || simulation->issues[i] > before + NO_TIME) cause = i;
    before = is_barrier ? simulation->ends[i] : simulation->issues[i];
    causes[i] = cause;
  }
  return causes;
}

/* The producer that was complete last; -1: there are no edges. */
static int32_t last_producer(const CommandStream *stream, const QueueSimulation *simulation, int32_t instance) {
  InstanceRange edges = command_stream_edges(stream, instance);
  int32_t last = -1;
  for (int64_t e = 0; e < edges.count; e++) {
    if (last < 0 || simulation->ends[edges.data[e]] > simulation->ends[last]) last = edges.data[e];
  }
  return last;
}

int command_waits_find(const CommandStream *stream, const QueueSimulation *simulation, int32_t instance,
                       const int32_t *issue_causes, CommandWait out_waits[2]) {
  if (stream->commands.data[instance].queue == BARRIER_QUEUE) return 0;
  int count = 0;
  double rest = simulation->rests[instance], issue = simulation->issues[instance];
  double start = simulation->starts[instance];
  int32_t cause = issue_causes[instance];
  if (issue > rest + NO_TIME && cause >= 0) {
    bool is_barrier = stream->commands.data[cause].queue == BARRIER_QUEUE;
    out_waits[count++] = (CommandWait){is_barrier ? WAIT_BARRIER : WAIT_ROOM, cause, rest, issue};
  }
  double from = fmax(rest, issue);
  int32_t producer = last_producer(stream, simulation, instance);
  if (start > from + NO_TIME && producer >= 0) out_waits[count++] = (CommandWait){WAIT_EDGE, producer, from, start};
  return count;
}

/* --- in all --- */

typedef ARRAY(QueueWait) WaitRows;

static QueueWait *find_row(WaitRows *rows, IntMap *numbers, Arena *arena, QueueWait wait) {
  uint64_t key = (uint64_t)(uint32_t)wait.label << 32 | (uint64_t)wait.kind << 30 | (uint32_t)wait.cause;
  int64_t number;
  if (!int_map_find(numbers, key, &number)) {
    number = rows->count;
    int_map_set(numbers, key, number);
    array_push(rows, arena, wait);
  }
  return &rows->data[number];
}

static int compare_waits(const void *a, const void *b) {
  const QueueWait *left = a, *right = b;
  if (left->cycles != right->cycles) return left->cycles < right->cycles ? 1 : -1;
  if (left->label != right->label) return left->label < right->label ? -1 : 1;
  if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
  return (left->cause > right->cause) - (left->cause < right->cause);
}

QueueWaits queue_waits_find(Arena *arena, const CommandStream *stream, const QueueSimulation *simulation) {
  Arena *scratch = arena_create();
  const int32_t *causes = command_issue_causes(scratch, stream, simulation);
  EdgeCounts kinds;
  edge_counts_init(&kinds, scratch, stream);
  WaitRows rows = {0};
  IntMap numbers;
  int_map_init(&numbers, scratch);
  for (int32_t i = 0; i < stream->commands.count; i++) {
    CommandWait waits[2];
    int count = command_waits_find(stream, simulation, i, causes, waits);
    for (int w = 0; w < count; w++) {
      const StreamCommand *command = &stream->commands.data[i], *cause = &stream->commands.data[waits[w].cause];
      QueueWait wait = {.kind = waits[w].kind, .queue = command->queue, .label = command->label, .cause = cause->label};
      if (wait.kind == WAIT_ROOM) wait.cause = cause->queue;
      if (wait.kind == WAIT_EDGE) wait.edge = edge_counts_kind(&kinds, waits[w].cause, i);
      QueueWait *row = find_row(&rows, &numbers, arena, wait);
      row->count++;
      row->cycles += waits[w].to - waits[w].from;
      row->longest = fmax(row->longest, waits[w].to - waits[w].from);
    }
  }
  if (rows.count > 1) qsort(rows.data, (size_t)rows.count, sizeof *rows.data, compare_waits);
  arena_destroy(scratch);
  return (QueueWaits){rows.data, rows.count};
}
