#include "hlo/machine/stream/buffer_stretches.h"

#include <stdlib.h>

#include "base/checked_math.h"

/* Bytes that go together. */
typedef struct BufferPlace {
  int64_t begin, end;
  int64_t latest; /* its latest stretch, -1: none */
} BufferPlace;

typedef ARRAY(BufferPlace) BufferPlaces;

static int compare_places(const void *a, const void *b) {
  const BufferPlace *left = a, *right = b;
  return (left->begin > right->begin) - (left->begin < right->begin);
}

/* From the first to the last byte of each box, joined where they overlap. */
static BufferPlaces find_places(Arena *arena, const CommandStream *stream) {
  BufferPlaces all = {0}, places = {0};
  for (int32_t b = 0; b < stream->boxes.count; b++) {
    if (stream->boxes.data[b].object != BUFFER_OBJECT) continue;
    ByteBox box = command_stream_box(stream, b);
    array_push(&all, arena, ((BufferPlace){box.base, byte_box_end(&box), -1}));
  }
  if (all.count > 1) qsort(all.data, (size_t)all.count, sizeof *all.data, compare_places);
  for (int64_t i = 0; i < all.count; i++) {
    BufferPlace *last = places.count > 0 ? &array_last(&places) : NULL;
    if (last != NULL && all.data[i].begin < last->end)
      last->end = max_i64(last->end, all.data[i].end);
    else
      array_push(&places, arena, all.data[i]);
  }
  return places;
}

static BufferPlace *place_at(const BufferPlaces *places, int64_t at) {
  int64_t low = 0, high = places->count - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (places->data[middle].begin <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return &places->data[low];
}

BufferStretches buffer_stretches_find(Arena *arena, const CommandStream *stream, const QueueSimulation *simulation) {
  Arena *scratch = arena_create();
  BufferPlaces places = find_places(scratch, stream);
  ARRAY(BufferStretch) stretches = {0};
  for (int32_t i = 0; i < stream->commands.count; i++) {
    double from = simulation->starts[i], to = simulation->ends[i];
    InstanceRange accesses = command_stream_accesses(stream, i);
    for (int64_t a = 0; a < accesses.count; a++) {
      const StreamBox *box = &stream->boxes.data[stream_access_box(accesses.data[a])];
      if (box->object != BUFFER_OBJECT) continue;
      BufferPlace *place = place_at(&places, box->base);
      BufferStretch *open = place->latest >= 0 ? &stretches.data[place->latest] : NULL;
      if (open == NULL || (stream_access_writes(accesses.data[a]) && from >= open->to)) {
        place->latest = stretches.count;
        array_push(&stretches, arena, ((BufferStretch){place->begin, place->end, i, i, from, to}));
      } else if (to > open->to) {
        open->to = to;
        open->last = i;
      }
    }
  }
  arena_destroy(scratch);
  return (BufferStretches){stretches.count, stretches.data};
}
