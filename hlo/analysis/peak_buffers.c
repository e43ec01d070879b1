#include "hlo/analysis/peak_buffers.h"

#include <stdlib.h>

#include "base/array.h"

static bool is_in_workspace(const PeakBuffer *buffer) {
  return buffer->allocation->kind == ALLOCATION_TEMP;
}

static int compare_buffers(const void *left, const void *right) {
  const PeakBuffer *a = left, *b = right;
  if (is_in_workspace(a) != is_in_workspace(b)) return is_in_workspace(a) ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if ((a->value == NULL) != (b->value == NULL)) return a->value ? -1 : 1;
  if (a->value) return a->value->id < b->value->id ? -1 : a->value->id > b->value->id;
  return a->instruction->id < b->instruction->id ? -1 : a->instruction->id > b->instruction->id;
}

PeakBuffers peak_buffers_find(Arena *arena, const BufferAssignment *assignment) {
  ARRAY(PeakBuffer) found = {0};
  PeakBuffers result = {0};
  bool *seen = ARENA_NEW_ARRAY(arena, bool, assignment->buffer_count + 1);
  for (int32_t i = 0; i < assignment->value_count; i++) {
    const HloValue *value = &assignment->values[i];
    if (value->size == 0 || seen[value->buffer] || !hlo_value_is_live_at(value, assignment->peak_position)) continue;
    seen[value->buffer] = true;
    const BufferAllocation *allocation = &assignment->allocations[assignment->buffers[value->buffer].allocation];
    array_push(&found, arena, ((PeakBuffer){value, NULL, value->definition.instruction, allocation, value->size}));
  }
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    const BufferScratch *scratch = &assignment->scratches[i];
    if (scratch->position != assignment->peak_position) continue;
    array_push(&found, arena,
               ((PeakBuffer){NULL, scratch, scratch->instruction, &assignment->allocations[scratch->allocation],
                             scratch->size}));
  }
  if (found.count > 1) qsort(found.data, (size_t)found.count, sizeof(PeakBuffer), compare_buffers);
  result.buffers = found.data;
  result.count = found.count;
  while (result.in_workspace < found.count && is_in_workspace(&found.data[result.in_workspace])) result.in_workspace++;
  return result;
}

StringView peak_buffer_shape(Arena *arena, const PeakBuffer *buffer) {
  if (buffer->value == NULL) return sv_printf(arena, "u8[%lld]", (long long)buffer->bytes);
  return shape_text(arena, hlo_value_shape(buffer->value), false);
}
