#include "codegen/oncore/plan/tensor_use.h"

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

/* The latest stretch over just these bytes, NULL for none. */
static TensorStretch *open_stretch(StretchArray *stretches, int64_t begin, int64_t end) {
  for (int64_t i = stretches->count - 1; i >= 0; i--) {
    TensorStretch *stretch = &stretches->data[i];
    if (stretch->begin < end && begin < stretch->end) return stretch;
  }
  return NULL;
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

TensorUses tensor_uses_find(Arena *arena, const Plan *plan, const PlanVerdict *verdict, int64_t limit) {
  const CommandStream *stream = &verdict->stream;
  TensorUse *uses = ARENA_NEW_ARRAY(arena, TensorUse, plan->tensor_count);
  for (int32_t t = 0; t < plan->tensor_count; t++) uses[t].first_command = uses[t].last_command = -1;
  StretchArray stretches = {0};
  TensorUses result = {.uses = uses};
  for (int32_t i = 0; i < stream->commands.count; i++) {
    double from = verdict->simulation.starts[i], to = verdict->simulation.ends[i];
    if (i < limit) result.window = to > result.window ? to : result.window;
    InstanceRange accesses = command_stream_accesses(stream, i);
    for (int64_t a = 0; a < accesses.count; a++) {
      int32_t number = stream_access_box(accesses.data[a]);
      if (stream->boxes.data[number].object != BUFFER_OBJECT) continue;
      int64_t at = stream->boxes.data[number].base, begin, end;
      int32_t tensor = tensor_at(plan, at);
      if (tensor < 0) continue;
      note_use(&uses[tensor], stream->commands.data[i].label, from, to);
      if (i >= limit) continue;
      slot_of(&plan->tensors[tensor], at, &begin, &end);
      TensorStretch *open = open_stretch(&stretches, begin, end);
      bool goes_on = open != NULL && (!stream_access_writes(accesses.data[a]) || from < open->to);
      if (goes_on) {
        if (to > open->to) open->to = to;
      } else {
        array_push(&stretches, arena, ((TensorStretch){tensor, begin, end, from, to}));
      }
    }
  }
  result.stretches = stretches.data;
  result.stretch_count = stretches.count;
  return result;
}
