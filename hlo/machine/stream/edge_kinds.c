#include "hlo/machine/stream/edge_kinds.h"

#include "hlo/machine/stream/byte_classes_internal.h"

static bool accesses_meet(Arena *scratch, const CommandStream *stream, int32_t a, bool a_writes, int32_t b,
                          bool b_writes) {
  int64_t start, end;
  InstanceRange left = command_stream_accesses(stream, a), right = command_stream_accesses(stream, b);
  for (int64_t i = 0; i < left.count; i++) {
    int32_t x = stream_access_box(left.data[i]);
    if (stream_access_writes(left.data[i]) != a_writes) continue;
    ByteBox box = command_stream_box(stream, x);
    for (int64_t k = 0; k < right.count; k++) {
      int32_t y = stream_access_box(right.data[k]);
      if (stream_access_writes(right.data[k]) != b_writes) continue;
      if (stream->boxes.data[x].object != stream->boxes.data[y].object) continue;
      ByteBox other = command_stream_box(stream, y);
      if (byte_boxes_meet(scratch, &box, &other, &start, &end)) return true;
    }
  }
  return false;
}

static EdgeKind kind_of(const CommandStream *stream, int32_t producer, int32_t consumer) {
  EdgeKind kind = EDGE_ORDER;
  Arena *scratch = arena_create();
  if (accesses_meet(scratch, stream, producer, true, consumer, false))
    kind = EDGE_READ_AFTER_WRITE;
  else if (accesses_meet(scratch, stream, producer, false, consumer, true))
    kind = EDGE_WRITE_AFTER_READ;
  else if (accesses_meet(scratch, stream, producer, true, consumer, true))
    kind = EDGE_WRITE_AFTER_WRITE;
  arena_destroy(scratch);
  return kind;
}

void edge_counts_init(EdgeCounts *counts, Arena *arena, const CommandStream *stream) {
  *counts = (EdgeCounts){.arena = arena, .stream = stream};
  int_map_init(&counts->kinds, arena);
}

EdgeKind edge_counts_kind(EdgeCounts *counts, int32_t producer, int32_t consumer) {
  const StreamCommand *from = &counts->stream->commands.data[producer], *to = &counts->stream->commands.data[consumer];
  uint64_t labels = (uint64_t)(uint32_t)from->label << 32 | (uint32_t)to->label;
  int64_t kind;
  if (!int_map_find(&counts->kinds, labels, &kind)) {
    kind = kind_of(counts->stream, producer, consumer);
    int_map_set(&counts->kinds, labels, kind);
  }
  return (EdgeKind)kind;
}

void edge_counts_add(EdgeCounts *counts, int32_t producer, int32_t consumer) {
  const StreamCommand *from = &counts->stream->commands.data[producer], *to = &counts->stream->commands.data[consumer];
  EdgeKind kind = edge_counts_kind(counts, producer, consumer);
  for (int64_t i = 0; i < counts->counts.count; i++) {
    EdgeCount *entry = &counts->counts.data[i];
    if (entry->from != from->queue || entry->to != to->queue || entry->kind != kind) continue;
    entry->count++;
    return;
  }
  EdgeCount entry = {from->queue, to->queue, kind, 1};
  array_push(&counts->counts, counts->arena, entry);
}

const char *edge_kind_text(EdgeKind kind) {
  static const char *const texts[EDGE_KIND_COUNT] = {"read-after-write", "write-after-read", "write-after-write",
                                                     "order"};
  return texts[kind];
}
