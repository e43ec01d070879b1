#include <string.h>

#include "hlo/machine/stream/last_uses_internal.h"

/* --- reads --- */

/* Whether who waits for |instance| knows that |earlier| is complete.  Barriers have no place in the order. */
static bool is_implied(const CommandOrder *order, int32_t earlier, int32_t instance) {
  return order->chain[earlier] >= 0 && order->chain[instance] >= 0 && command_order_precedes(order, earlier, instance);
}

/* A list has more reads than so many only where no order joins them: what is further back is kept, which does no harm.
 */
enum { MOST_LOOKED_AT = 8 };

/* Whether |instance| takes the place of an earlier read since the last write, which it implies.  Without that, reads of
 * what is never written would be as many as there are commands. */
static bool replace_read(LastUses *uses, int32_t instance, const LastUse *use) {
  int32_t steps = MOST_LOOKED_AT;
  for (int32_t k = use->reads; k >= 0 && steps > 0; k = uses->reads.data[k].earlier, steps--) {
    if (!is_implied(uses->order, uses->reads.data[k].instance, instance)) continue;
    uses->reads.data[k].instance = instance;
    return true;
  }
  return false;
}

static void push_read(LastUses *uses, int32_t instance, LastUse *use) {
  int32_t place = uses->free_reads;
  if (place >= 0) {
    uses->free_reads = uses->reads.data[place].earlier;
  } else {
    place = (int32_t)uses->reads.count;
    array_push(&uses->reads, uses->arena, ((Read){0, 0}));
  }
  uses->reads.data[place] = (Read){instance, use->reads};
  use->reads = place;
}

static void add_read(LastUses *uses, int32_t instance, LastUse *use) {
  if (!replace_read(uses, instance, use)) push_read(uses, instance, use);
}

/* What was read before |use|'s bytes were written is no matter any more. */
static void free_reads(LastUses *uses, const LastUse *use) {
  for (int32_t next, k = use->reads; k >= 0; k = next) {
    next = uses->reads.data[k].earlier;
    uses->reads.data[k].earlier = uses->free_reads;
    uses->free_reads = k;
  }
}

static void add_write(LastUses *uses, int32_t instance, LastUse *use) {
  free_reads(uses, use);
  *use = (LastUse){instance, -1};
}

/* --- segments --- */

/* The one that byte |at| lies in. */
static int64_t segment_of(const UseSegments *segments, int64_t at) {
  int64_t first = 0, end = segments->count;
  while (end - first > 1) {
    int64_t middle = first + (end - first) / 2;
    if (segments->data[middle].begin <= at)
      first = middle;
    else
      end = middle;
  }
  return first;
}

/* The bytes of |use| from |begin| on where those before stay by themselves: its reads are there twice. */
static UseSegment copy_of(LastUses *uses, const LastUse *use, int64_t begin) {
  UseSegment made = {begin, {use->write, -1}};
  for (int32_t k = use->reads; k >= 0; k = uses->reads.data[k].earlier)
    push_read(uses, uses->reads.data[k].instance, &made.use);
  return made;
}

/* Goes through some neighbouring segments, of which it makes others. */
typedef struct SegmentWalk {
  LastUses *uses;
  const UseSegments *segments;
  int64_t place;       /* of the segment at hand */
  UseSegment at;       /* what is left of it */
  UseSegments *pieces; /* of the bytes before that */
} SegmentWalk;

static int64_t end_of(const SegmentWalk *walk) {
  return walk->place + 1 < walk->segments->count ? walk->segments->data[walk->place + 1].begin : INT64_MAX;
}

static void step(SegmentWalk *walk) {
  if (++walk->place < walk->segments->count) walk->at = walk->segments->data[walk->place];
}

static void keep_at(SegmentWalk *walk) {
  array_push(walk->pieces, walk->uses->arena, walk->at);
}

/* Lets what is left begin at byte |begin|; what is before that is a piece. */
static void go_to(SegmentWalk *walk, int64_t begin) {
  for (; end_of(walk) <= begin; step(walk)) keep_at(walk);
  if (walk->at.begin == begin) return;
  UseSegment rest = copy_of(walk->uses, &walk->at.use, begin);
  keep_at(walk);
  walk->at = rest;
}

static void write_run(SegmentWalk *walk, int32_t instance, int64_t begin, int64_t end) {
  go_to(walk, begin);
  array_push(walk->pieces, walk->uses->arena, ((UseSegment){begin, {instance, -1}}));
  for (; end_of(walk) <= end; step(walk)) free_reads(walk->uses, &walk->at.use);
  walk->at.begin = end;
}

static void read_run(SegmentWalk *walk, int32_t instance, int64_t begin, int64_t end) {
  go_to(walk, begin);
  for (; end_of(walk) <= end; step(walk)) {
    add_read(walk->uses, instance, &walk->at.use);
    keep_at(walk);
  }
  if (walk->at.begin == end) return;
  UseSegment rest = copy_of(walk->uses, &walk->at.use, end);
  add_read(walk->uses, instance, &walk->at.use);
  keep_at(walk);
  walk->at = rest;
}

/* Puts |pieces| where segments |first| to |end| are. */
static void replace_segments(LastUses *uses, UseSegments *segments, int64_t first, int64_t end,
                             const UseSegments *pieces) {
  int64_t tail = segments->count - end, count = first + pieces->count + tail;
  array_reserve(segments, uses->arena, count);
  if (pieces->count != end - first)
    memmove(segments->data + first + pieces->count, segments->data + end, sizeof(UseSegment) * (size_t)tail);
  memcpy(segments->data + first, pieces->data, sizeof(UseSegment) * (size_t)pieces->count);
  segments->count = count;
}

/* Runs |first| to |end| of |box|, which ascend. */
static void note_runs(LastUses *uses, int32_t instance, UseSegments *segments, const ByteBox *box, int64_t first,
                      int64_t end, bool writes) {
  int64_t from = segment_of(segments, byte_box_run(box, first));
  SegmentWalk walk = {uses, segments, from, segments->data[from], &uses->pieces};
  uses->pieces.count = 0;
  for (int64_t r = first; r < end; r++) {
    int64_t begin = byte_box_run(box, r);
    if (writes)
      write_run(&walk, instance, begin, begin + box->bytes);
    else
      read_run(&walk, instance, begin, begin + box->bytes);
  }
  bool is_begun = walk.place < segments->count && walk.at.begin > segments->data[walk.place].begin;
  if (is_begun) keep_at(&walk);
  replace_segments(uses, segments, from, walk.place + is_begun, &uses->pieces);
}

static void note_box(LastUses *uses, int32_t instance, int32_t number, bool writes) {
  UseSegments *segments = &uses->segments;
  ByteBox box = command_stream_box(uses->stream, number);
  int64_t runs = byte_box_run_count(&box);
  if (byte_box_ascends(&box)) {
    note_runs(uses, instance, segments, &box, 0, runs, writes);
    return;
  }
  for (int64_t r = 0; r < runs; r++) note_runs(uses, instance, segments, &box, r, r + 1, writes);
}

/* --- both --- */

static void depend(LastUses *uses, int32_t producer, int32_t consumer, InstanceArray *producers) {
  if (producer < 0 || producer == consumer || uses->wanted_by[producer] == consumer) return;
  uses->wanted_by[producer] = consumer;
  array_push(producers, uses->arena, producer);
}

static void depend_on_use(LastUses *uses, const LastUse *use, int32_t consumer, bool writes, InstanceArray *producers) {
  depend(uses, use->write, consumer, producers);
  if (!writes) return;
  for (int32_t k = use->reads; k >= 0; k = uses->reads.data[k].earlier)
    depend(uses, uses->reads.data[k].instance, consumer, producers);
}

static void depend_on_box(LastUses *uses, int32_t number, int32_t consumer, bool writes, InstanceArray *producers) {
  const UseSegments *segments = &uses->segments;
  ByteBox box = command_stream_box(uses->stream, number);
  int64_t runs = byte_box_run_count(&box);
  for (int64_t r = 0; r < runs; r++) {
    int64_t begin = byte_box_run(&box, r), end = begin + box.bytes;
    for (int64_t s = segment_of(segments, begin); s < segments->count && segments->data[s].begin < end; s++)
      depend_on_use(uses, &segments->data[s].use, consumer, writes, producers);
  }
}

static bool is_in_segments(const LastUses *uses, int32_t number) {
  return uses->has_segments && uses->stream->boxes.data[number].object == BUFFER_OBJECT;
}

/* Where box |number| leaves the Buffer it has no hazards, as one without classes. */
static bool is_inside(const LastUses *uses, int32_t number) {
  ByteBox box = command_stream_box(uses->stream, number);
  return byte_box_is_inside(&box, uses->stream->objects.data[BUFFER_OBJECT].bytes);
}

void last_uses_find(LastUses *uses, int32_t instance, InstanceArray *producers) {
  InstanceRange accesses = command_stream_accesses(uses->stream, instance);
  for (int64_t a = 0; a < accesses.count; a++) {
    int32_t number = stream_access_box(accesses.data[a]);
    bool writes = stream_access_writes(accesses.data[a]);
    if (is_in_segments(uses, number)) {
      if (is_inside(uses, number)) depend_on_box(uses, number, instance, writes, producers);
      continue;
    }
    for (int32_t i = uses->classes.first_class[number]; i < uses->classes.first_class[number + 1]; i++)
      depend_on_use(uses, &uses->uses[uses->classes.classes[i]], instance, writes, producers);
  }
}

static void note_access(LastUses *uses, int32_t instance, int32_t access) {
  int32_t number = stream_access_box(access);
  bool writes = stream_access_writes(access);
  if (is_in_segments(uses, number)) {
    if (is_inside(uses, number)) note_box(uses, instance, number, writes);
    return;
  }
  for (int32_t i = uses->classes.first_class[number]; i < uses->classes.first_class[number + 1]; i++) {
    LastUse *use = &uses->uses[uses->classes.classes[i]];
    if (writes)
      add_write(uses, instance, use);
    else
      add_read(uses, instance, use);
  }
}

/* Reads before writes: a command that does both has the write as its last word on those bytes. */
void last_uses_note(LastUses *uses, int32_t instance) {
  InstanceRange accesses = command_stream_accesses(uses->stream, instance);
  for (int64_t i = 0; i < accesses.count; i++)
    if (!stream_access_writes(accesses.data[i])) note_access(uses, instance, accesses.data[i]);
  for (int64_t i = 0; i < accesses.count; i++)
    if (stream_access_writes(accesses.data[i])) note_access(uses, instance, accesses.data[i]);
}

/* Bytes of the Buffer are known by segments unless commands touch more runs than so many there, on the average. */
enum { MOST_RUNS = 64 };

static bool wants_segments(const CommandStream *stream) {
  int64_t accesses = 0, runs = 0;
  for (int64_t a = 0; a < stream->accesses.count; a++) {
    int32_t number = stream_access_box(stream->accesses.data[a]);
    if (stream->boxes.data[number].object != BUFFER_OBJECT) continue;
    ByteBox box = command_stream_box(stream, number);
    runs += byte_box_run_count(&box);
    accesses++;
  }
  return runs <= MOST_RUNS * accesses;
}

Status last_uses_init(LastUses *uses, Arena *arena, const CommandStream *stream, const CommandOrder *order,
                      DiagSink *diag) {
  *uses = (LastUses){.arena = arena, .stream = stream, .order = order, .free_reads = -1};
  static const UseSegment whole = {0, {-1, -1}};
  uses->has_segments = wants_segments(stream);
  array_push(&uses->segments, arena, whole);
  bool *skips = ARENA_NEW_ARRAY(arena, bool, stream->objects.count);
  skips[BUFFER_OBJECT] = uses->has_segments;
  RETURN_IF_ERROR(byte_classes_find(arena, arena, stream, skips, diag, &uses->classes));
  uses->uses = ARENA_NEW_ARRAY(arena, LastUse, uses->classes.class_count);
  for (int32_t i = 0; i < uses->classes.class_count; i++) uses->uses[i] = (LastUse){-1, -1};
  uses->wanted_by = ARENA_NEW_ARRAY(arena, int32_t, stream->commands.count);
  for (int64_t i = 0; i < stream->commands.count; i++) uses->wanted_by[i] = -1;
  return STATUS_OK;
}
