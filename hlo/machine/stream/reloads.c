#include "hlo/machine/stream/reloads.h"

#include <stdlib.h>

#include "base/checked_math.h"

enum { MOST_RUNS = 1 << 21 };

typedef struct Run {
  int64_t begin, end;
} Run;

typedef struct LoadedBoxes {
  const CommandStream *stream;
  int64_t *times;  /* by box */
  int64_t *moved;  /* by object: bytes of transfers from it */
  bool *is_hidden; /* by object: which bytes a load takes only run-time values tell */
} LoadedBoxes;

static int compare_runs(const void *a, const void *b) {
  const Run *left = a, *right = b;
  return (left->begin > right->begin) - (left->begin < right->begin);
}

static int64_t byte_count(const ByteBox *box) {
  return byte_box_run_count(box) * box->bytes;
}

static void count_loads(LoadedBoxes *boxes) {
  const CommandStream *stream = boxes->stream;
  for (int32_t i = 0; i < stream->commands.count; i++) {
    InstanceRange accesses = command_stream_accesses(stream, i);
    for (int64_t k = 0; k < accesses.count; k++) {
      int32_t box = stream_access_box(accesses.data[k]);
      int32_t object = stream->boxes.data[box].object;
      bool is_memory = object != BUFFER_OBJECT && (stream->objects.data[object].flags & OBJECT_IN_BUFFER) == 0;
      if (stream_access_writes(accesses.data[k]) || !is_memory) continue;
      ByteBox bytes = command_stream_box(stream, box);
      boxes->times[box]++;
      boxes->moved[object] += stream->commands.data[i].work.bytes;
      boxes->is_hidden[object] |= byte_count(&bytes) > stream->commands.data[i].work.bytes;
    }
  }
}

static int64_t union_of(Run *runs, int64_t count) {
  int64_t bytes = 0, end = INT64_MIN;
  if (count > 1) qsort(runs, (size_t)count, sizeof *runs, compare_runs);
  for (int64_t i = 0; i < count; i++) {
    if (runs[i].end <= end) continue;
    bytes += runs[i].end - max_i64(runs[i].begin, end);
    end = runs[i].end;
  }
  return bytes;
}

/* False where there are too many runs. */
static bool find_object(const LoadedBoxes *boxes, int32_t object, Arena *scratch, ObjectLoads *out_loads) {
  ARRAY(Run) runs = {0};
  *out_loads = (ObjectLoads){.object = object};
  for (int32_t b = 0; b < boxes->stream->boxes.count; b++) {
    if (boxes->times[b] == 0 || boxes->stream->boxes.data[b].object != object) continue;
    ByteBox box = command_stream_box(boxes->stream, b);
    int64_t count = byte_box_run_count(&box);
    if (count > MOST_RUNS - runs.count) return false;
    out_loads->bytes += boxes->times[b] * byte_count(&box);
    for (int64_t i = 0; i < count; i++) {
      int64_t begin = byte_box_run(&box, i);
      array_push(&runs, scratch, ((Run){begin, begin + box.bytes}));
    }
  }
  out_loads->distinct = union_of(runs.data, runs.count);
  return true;
}

StreamLoads stream_loads_find(Arena *arena, const CommandStream *stream) {
  Arena *scratch = arena_create();
  int64_t objects = stream->objects.count;
  StreamLoads loads = {.objects = ARENA_NEW_ARRAY(arena, ObjectLoads, objects), .is_known = true};
  LoadedBoxes boxes = {stream, ARENA_NEW_ARRAY(scratch, int64_t, stream->boxes.count + 1),
                       ARENA_NEW_ARRAY(scratch, int64_t, objects), ARENA_NEW_ARRAY(scratch, bool, objects)};
  count_loads(&boxes);
  for (int32_t object = 0; object < objects && loads.is_known; object++) {
    if (boxes.is_hidden[object]) {
      loads.objects[loads.count++] = (ObjectLoads){object, boxes.moved[object], boxes.moved[object], true};
      continue;
    }
    Arena *runs = arena_create();
    loads.is_known = find_object(&boxes, object, runs, &loads.objects[loads.count]);
    if (loads.objects[loads.count].bytes > 0) loads.count++;
    arena_destroy(runs);
  }
  arena_destroy(scratch);
  return loads;
}

int64_t stream_loads_again(const StreamLoads *loads) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < loads->count; i++) bytes += loads->objects[i].bytes - loads->objects[i].distinct;
  return bytes;
}
