#include "codegen/oncore/plan/tensor_use.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"

typedef ARRAY(TensorStretch) StretchArray;

/* The Tensor whose interval holds byte |at|: of nested ones the innermost. */
static int32_t tensor_at(const Plan *plan, int64_t at) {
  int32_t found = -1;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (tensor->begin <= at && at < tensor->end) found = t;
  }
  return found;
}

static void note_use(TensorUse *use, int32_t command, double from, double to) {
  if (use->first_command < 0) {
    use->first_command = command;
    use->from = from;
  }
  use->last_command = command;
  if (to > use->to) use->to = to;
}

/* The whole slot that |at| lies in; of a Tensor that is no ring, all of it. */
static void slot_of(const PlanTensor *tensor, int64_t at, int64_t *out_begin, int64_t *out_end) {
  *out_begin = tensor->begin;
  *out_end = tensor->end;
  if (tensor->kind != PLAN_RING) return;
  int64_t slot = (at - tensor->begin) / tensor->slot_stride;
  *out_begin = tensor->begin + slot * tensor->slot_stride;
  *out_end = min_i64(*out_begin + tensor->slot_stride, tensor->end);
}

/* --- which stretch is the latest, by bytes --- */

/* The Buffer cut wherever a slot begins or ends: a slot is some pieces, and all bytes of a piece have one fate. */
typedef struct BufferPieces {
  int64_t count;    /* of borders */
  int64_t *borders; /* where pieces begin, ascending */
  int64_t *latest;  /* by piece: the number of the latest stretch over it, -1: there is none */
} BufferPieces;

static int compare_bytes(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static BufferPieces cut_buffer(Arena *arena, const Plan *plan) {
  ARRAY(int64_t) borders = {0};
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    int64_t stride = tensor->kind == PLAN_RING ? tensor->slot_stride : tensor->end - tensor->begin;
    for (int64_t at = tensor->begin; stride > 0 && at < tensor->end; at += stride) array_push(&borders, arena, at);
    array_push(&borders, arena, tensor->end);
  }
  if (borders.count > 1) qsort(borders.data, (size_t)borders.count, sizeof *borders.data, compare_bytes);
  BufferPieces pieces = {.borders = borders.data};
  for (int64_t i = 0; i < borders.count; i++) {
    if (pieces.count == 0 || pieces.borders[pieces.count - 1] != borders.data[i])
      pieces.borders[pieces.count++] = borders.data[i];
  }
  pieces.latest = ARENA_NEW_ARRAY(arena, int64_t, pieces.count + 1);
  for (int64_t i = 0; i < pieces.count; i++) pieces.latest[i] = -1;
  return pieces;
}

/* The piece that begins at |border|. */
static int64_t piece_at(const BufferPieces *pieces, int64_t border) {
  int64_t low = 0, high = pieces->count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (pieces->borders[middle] < border)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int64_t latest_over(const BufferPieces *pieces, int64_t begin, int64_t end) {
  int64_t latest = -1;
  for (int64_t i = piece_at(pieces, begin); i < pieces->count && pieces->borders[i] < end; i++)
    latest = max_i64(latest, pieces->latest[i]);
  return latest;
}

static void set_latest(BufferPieces *pieces, int64_t begin, int64_t end, int64_t number) {
  for (int64_t i = piece_at(pieces, begin); i < pieces->count && pieces->borders[i] < end; i++)
    pieces->latest[i] = number;
}

/* --- from command to command --- */

typedef struct StretchFinder {
  Arena *arena;
  const Plan *plan;
  const PlanVerdict *verdict;
  BufferPieces pieces;
  StretchArray stretches;
} StretchFinder;

/* |instance| touches |tensor| at byte |at|: the stretch there goes on, or another one begins. */
static void add_touch(StretchFinder *finder, int32_t instance, int32_t tensor, int64_t at, bool writes) {
  double from = finder->verdict->simulation.starts[instance], to = finder->verdict->simulation.ends[instance];
  int64_t begin, end;
  slot_of(&finder->plan->tensors[tensor], at, &begin, &end);
  int64_t number = latest_over(&finder->pieces, begin, end);
  TensorStretch *open = number >= 0 ? &finder->stretches.data[number] : NULL;
  if (open != NULL && (!writes || from < open->to)) {
    if (to <= open->to) return;
    open->to = to;
    open->last = instance;
    return;
  }
  array_push(&finder->stretches, finder->arena, ((TensorStretch){tensor, begin, end, from, to, instance, instance}));
  set_latest(&finder->pieces, begin, end, finder->stretches.count - 1);
}

TensorUses tensor_uses_find(Arena *arena, const Plan *plan, const PlanVerdict *verdict, int64_t limit) {
  const CommandStream *stream = &verdict->stream;
  TensorUse *uses = ARENA_NEW_ARRAY(arena, TensorUse, plan->tensor_count);
  for (int32_t t = 0; t < plan->tensor_count; t++) uses[t].first_command = uses[t].last_command = -1;
  StretchFinder finder = {.arena = arena, .plan = plan, .verdict = verdict, .pieces = cut_buffer(arena, plan)};
  TensorUses result = {.uses = uses};
  for (int32_t i = 0; i < stream->commands.count; i++) {
    double from = verdict->simulation.starts[i], to = verdict->simulation.ends[i];
    if (i < limit) result.window = to > result.window ? to : result.window;
    InstanceRange accesses = command_stream_accesses(stream, i);
    for (int64_t a = 0; a < accesses.count; a++) {
      int32_t number = stream_access_box(accesses.data[a]);
      const StreamObject *object = &stream->objects.data[stream->boxes.data[number].object];
      bool is_there = stream->boxes.data[number].object == BUFFER_OBJECT || object->flags & OBJECT_IN_BUFFER;
      if (!is_there) continue;
      int64_t at = stream->boxes.data[number].base + object->begin;
      int32_t tensor = tensor_at(plan, at);
      if (tensor < 0) continue;
      note_use(&uses[tensor], stream->commands.data[i].label, from, to);
      if (i < limit) add_touch(&finder, i, tensor, at, stream_access_writes(accesses.data[a]));
    }
  }
  result.stretches = finder.stretches.data;
  result.stretch_count = finder.stretches.count;
  return result;
}
