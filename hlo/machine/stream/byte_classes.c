/* A sweep over the runs of all boxes of an object.  The set of boxes around a byte is known by a sum of random numbers,
 * one per box, in 128 bits: sums go up and down with the sweep at no cost, and sets that differ have sums that differ.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "hlo/machine/stream/byte_classes_internal.h"

enum { MAX_RUNS = 1 << 26 };

typedef struct SweepEvent {
  int64_t at;
  int32_t box;
  int32_t step; /* 1: a run begins, -1: it ends */
} SweepEvent;

typedef ARRAY(SweepEvent) EventArray;

/* A set of boxes. */
typedef struct BoxSet {
  uint64_t low, high;
} BoxSet;

typedef struct ClassEntry {
  BoxSet set;
  int32_t same_low; /* the next one with this |low|, -1: none */
} ClassEntry;

typedef struct ClassMember {
  int32_t box, byte_class;
} ClassMember;

typedef struct Sweep {
  Arena *arena, *scratch;
  const CommandStream *stream;
  EventArray events;
  ARRAY(ClassEntry) entries;
  IntMap entry_by_low;
  ARRAY(ClassMember) members;
  ARRAY(ClassRange) ranges;
  ARRAY(ClassRange) examples; /* by class */
  ARRAY(int32_t) active;      /* the boxes around the current byte */
  int32_t *active_at;         /* by box: its place in |active|, -1 outside */
  BoxSet current;
} Sweep;

bool byte_box_is_inside(const ByteBox *box, int64_t bytes) {
  return box->base >= 0 && byte_box_end(box) <= bytes;
}

/* --- runs --- */

static int compare_events(const void *a, const void *b) {
  const SweepEvent *left = a, *right = b;
  if (left->at != right->at) return left->at < right->at ? -1 : 1;
  if (left->box != right->box) return left->box < right->box ? -1 : 1;
  return left->step - right->step;
}

static void push_run(EventArray *events, Arena *scratch, int32_t box, int64_t start, int64_t end) {
  SweepEvent begin = {start, box, 1}, finish = {end, box, -1};
  array_push(events, scratch, begin);
  array_push(events, scratch, finish);
}

/* The runs of a box whose levels interleave, so that they may overlap: one byte is one byte of the box however often it
 * is named. */
static void push_tangled_runs(Sweep *sweep, int32_t number, const ByteBox *box, int64_t count) {
  EventArray own = {0};
  for (int64_t i = 0; i < count; i++) {
    int64_t start = byte_box_run(box, i);
    push_run(&own, sweep->scratch, number, start, start + box->bytes);
  }
  qsort(own.data, (size_t)own.count, sizeof(SweepEvent), compare_events);
  int64_t depth = 0, start = 0;
  for (int64_t i = 0; i < own.count; i++) {
    if (depth == 0) start = own.data[i].at;
    depth += own.data[i].step;
    /* At one place ends come before beginnings; what touches stays two runs, which does no harm. */
    if (depth == 0 && own.data[i].at > start) push_run(&sweep->events, sweep->scratch, number, start, own.data[i].at);
  }
}

static void push_box(Sweep *sweep, int32_t number, const ByteBox *box) {
  int64_t count = byte_box_run_count(box);
  if (!byte_box_ascends(box)) {
    push_tangled_runs(sweep, number, box, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t start = byte_box_run(box, i);
    push_run(&sweep->events, sweep->scratch, number, start, start + box->bytes);
  }
}

/* --- classes --- */

static int32_t find_or_add_class(Sweep *sweep) {
  int64_t first = -1;
  if (!int_map_find(&sweep->entry_by_low, sweep->current.low, &first)) first = -1;
  for (int32_t i = (int32_t)first; i >= 0; i = sweep->entries.data[i].same_low) {
    if (sweep->entries.data[i].set.high == sweep->current.high) return i;
  }
  ClassEntry entry = {sweep->current, (int32_t)first};
  array_push(&sweep->entries, sweep->scratch, entry);
  int32_t number = (int32_t)sweep->entries.count - 1;
  int_map_set(&sweep->entry_by_low, sweep->current.low, number);
  for (int64_t i = 0; i < sweep->active.count; i++) {
    ClassMember member = {sweep->active.data[i], number};
    array_push(&sweep->members, sweep->scratch, member);
  }
  return number;
}

static void enter_box(Sweep *sweep, int32_t box) {
  sweep->active_at[box] = (int32_t)sweep->active.count;
  array_push(&sweep->active, sweep->scratch, box);
}

static void leave_box(Sweep *sweep, int32_t box) {
  int32_t place = sweep->active_at[box], last = array_pop(&sweep->active);
  if (last != box) {
    sweep->active.data[place] = last;
    sweep->active_at[last] = place;
  }
  sweep->active_at[box] = -1;
}

static void apply_event(Sweep *sweep, const SweepEvent *event) {
  uint64_t low = hash_combine(1, (uint64_t)event->box), high = hash_combine(2, (uint64_t)event->box);
  if (event->step > 0) {
    sweep->current.low += low;
    sweep->current.high += high;
    enter_box(sweep, event->box);
  } else {
    sweep->current.low -= low;
    sweep->current.high -= high;
    leave_box(sweep, event->box);
  }
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW_EVENTS = 64 };

static void sort_by_digit(const SweepEvent *from, SweepEvent *to, int64_t count, int shift) {
  int64_t places[DIGITS] = {0}, next = 0;
  for (int64_t i = 0; i < count; i++) places[from[i].at >> shift & (DIGITS - 1)]++;
  for (int d = 0; d < DIGITS; d++) {
    int64_t here = places[d];
    places[d] = next;
    next += here;
  }
  for (int64_t i = 0; i < count; i++) to[places[from[i].at >> shift & (DIGITS - 1)]++] = from[i];
}

/* By place, those at one place in the order that they have: of one box ends come before beginnings, as its runs ascend.
 */
static void sort_events(SweepEvent *events, int64_t count) {
  if (count <= FEW_EVENTS) {
    if (count > 1) qsort(events, (size_t)count, sizeof(SweepEvent), compare_events);
    return;
  }
  Arena *scratch = arena_create();
  SweepEvent *from = events, *to = ARENA_NEW_ARRAY(scratch, SweepEvent, count);
  int64_t most = 0;
  for (int64_t i = 0; i < count; i++) most |= events[i].at;
  for (int shift = 0; most >> shift > 0; shift += DIGIT_BITS) {
    if ((most >> shift & (DIGITS - 1)) == 0) continue;
    sort_by_digit(from, to, count, shift);
    SweepEvent *sorted = to;
    to = from;
    from = sorted;
  }
  if (from != events) memcpy(events, from, (size_t)count * sizeof *events);
  arena_destroy(scratch);
}

static void sweep_events(Sweep *sweep, bool keeps_ranges) {
  SweepEvent *events = sweep->events.data;
  int64_t count = sweep->events.count;
  sort_events(events, count);
  for (int64_t i = 0; i < count;) {
    int64_t at = events[i].at;
    for (; i < count && events[i].at == at; i++) apply_event(sweep, &events[i]);
    if (sweep->active.count == 0) continue;
    ClassRange range = {at, events[i].at, find_or_add_class(sweep)};
    if (range.byte_class == sweep->examples.count) array_push(&sweep->examples, sweep->arena, range);
    if (keeps_ranges) array_push(&sweep->ranges, sweep->arena, range);
  }
}

/* --- which boxes matter --- */

static bool *find_written_objects(Arena *scratch, const CommandStream *stream) {
  bool *written = ARENA_NEW_ARRAY(scratch, bool, stream->objects.count);
  for (int64_t i = 0; i < stream->accesses.count; i++) {
    int32_t access = stream->accesses.data[i];
    if (stream_access_writes(access)) written[stream->boxes.data[stream_access_box(access)].object] = true;
  }
  return written;
}

/* Boxes in lists by object: |out_next| by box. */
static int32_t *list_boxes(Arena *scratch, const CommandStream *stream, int32_t *out_next) {
  int32_t *first = ARENA_NEW_ARRAY(scratch, int32_t, stream->objects.count);
  for (int64_t i = 0; i < stream->objects.count; i++) first[i] = -1;
  for (int64_t i = stream->boxes.count - 1; i >= 0; i--) {
    int32_t object = stream->boxes.data[i].object;
    out_next[i] = first[object];
    first[object] = (int32_t)i;
  }
  return first;
}

static Status sweep_object(Sweep *sweep, int32_t object, int32_t first_box, const int32_t *next, DiagSink *diag) {
  const StreamObject *of = &sweep->stream->objects.data[object];
  sweep->events.count = 0;
  int64_t runs = 0;
  for (int32_t i = first_box; i >= 0; i = next[i]) {
    ByteBox box = command_stream_box(sweep->stream, i);
    if (!byte_box_is_inside(&box, of->bytes)) continue;
    int64_t count = byte_box_run_count(&box);
    if (count > MAX_RUNS - runs) {
      return diag_error(diag, STATUS_EXHAUSTED, NO_LOC, "stream-runs",
                        "the accesses to '%.*s' are too scattered to check", SV_ARG(of->name));
    }
    runs += count;
    push_box(sweep, i, &box);
  }
  sweep_events(sweep, (of->flags & OBJECT_WRITTEN_ONCE) != 0);
  return STATUS_OK;
}

static void sort_members(Sweep *sweep, ByteClasses *out_classes) {
  int64_t box_count = sweep->stream->boxes.count;
  int32_t *first = ARENA_NEW_ARRAY(sweep->arena, int32_t, box_count + 2);
  int32_t *classes = ARENA_NEW_ARRAY(sweep->arena, int32_t, sweep->members.count);
  for (int64_t i = 0; i < sweep->members.count; i++) first[sweep->members.data[i].box + 2]++;
  for (int64_t i = 0; i < box_count; i++) first[i + 2] += first[i + 1];
  for (int64_t i = 0; i < sweep->members.count; i++) {
    classes[first[sweep->members.data[i].box + 1]++] = sweep->members.data[i].byte_class;
  }
  out_classes->first_class = first;
  out_classes->classes = classes;
}

Status byte_classes_find(Arena *arena, Arena *scratch, const CommandStream *stream, const bool *skips, DiagSink *diag,
                         ByteClasses *out_classes) {
  Sweep sweep = {.arena = arena, .scratch = scratch, .stream = stream};
  int_map_init(&sweep.entry_by_low, scratch);
  sweep.active_at = ARENA_NEW_ARRAY(scratch, int32_t, stream->boxes.count);
  int32_t *next = ARENA_NEW_ARRAY(scratch, int32_t, stream->boxes.count);
  const int32_t *first = list_boxes(scratch, stream, next);
  const bool *written = find_written_objects(scratch, stream);
  int64_t *first_range = ARENA_NEW_ARRAY(arena, int64_t, stream->objects.count + 1);
  for (int32_t object = 0; object < stream->objects.count; object++) {
    bool is_safe = !written[object] && (stream->objects.data[object].flags & OBJECT_INITIALISED);
    bool is_skipped = is_safe || (skips != NULL && skips[object]);
    if (!is_skipped) RETURN_IF_ERROR(sweep_object(&sweep, object, first[object], next, diag));
    first_range[object + 1] = sweep.ranges.count;
  }
  XLAC_CHECK(sweep.members.count < INT32_MAX);
  out_classes->class_count = (int32_t)sweep.entries.count;
  out_classes->first_range = first_range;
  out_classes->ranges = sweep.ranges.data;
  out_classes->examples = sweep.examples.data;
  sort_members(&sweep, out_classes);
  return STATUS_OK;
}

/* --- for messages --- */

static ClassRange *sorted_runs(Arena *scratch, const ByteBox *box, int64_t *out_count) {
  Sweep own = {.scratch = scratch};
  push_tangled_runs(&own, 0, box, byte_box_run_count(box));
  ClassRange *runs = ARENA_NEW_ARRAY(scratch, ClassRange, own.events.count / 2);
  int64_t count = 0;
  for (int64_t i = 0; i < own.events.count; i += 2) {
    ClassRange run = {own.events.data[i].at, own.events.data[i + 1].at, 0};
    runs[count++] = run;
  }
  *out_count = count;
  return runs;
}

bool byte_boxes_meet(Arena *scratch, const ByteBox *a, const ByteBox *b, int64_t *out_start, int64_t *out_end) {
  int64_t a_count, b_count;
  const ClassRange *a_runs = sorted_runs(scratch, a, &a_count), *b_runs = sorted_runs(scratch, b, &b_count);
  for (int64_t i = 0, k = 0; i < a_count && k < b_count;) {
    *out_start = max_i64(a_runs[i].start, b_runs[k].start);
    *out_end = min_i64(a_runs[i].end, b_runs[k].end);
    if (*out_start < *out_end) return true;
    if (a_runs[i].end <= b_runs[k].end) {
      i++;
    } else {
      k++;
    }
  }
  return false;
}
