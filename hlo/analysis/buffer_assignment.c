#include "hlo/analysis/buffer_assignment.h"

#include <stdlib.h>

#include "base/array.h"
#include "hlo/analysis/buffer_assignment_index.h"

const Shape *hlo_value_shape(const HloValue *value) {
  return shape_node(value->definition.instruction->shape, value->definition.node);
}

bool hlo_value_is_live_at(const HloValue *value, int64_t position) {
  for (int32_t i = 0; i < value->range_count; i++) {
    if (value->ranges[i].from <= position && position <= value->ranges[i].to) return true;
  }
  return false;
}

static int compare_range(const void *left, const void *right) {
  const BufferLiveRange *a = left, *b = right;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a->to < b->to ? -1 : a->to > b->to;
}

int32_t buffer_assignment_stretches(const BufferAssignment *assignment, const HloBuffer *buffer, Arena *arena,
                                    const BufferLiveRange **out_stretches) {
  ARRAY(BufferLiveRange) ranges = {0};
  for (int32_t i = 0; i < buffer->value_count; i++) {
    const HloValue *value = &assignment->values[buffer->values[i]];
    for (int32_t k = 0; k < value->range_count; k++) array_push(&ranges, arena, value->ranges[k]);
  }
  qsort(ranges.data, (size_t)ranges.count, sizeof(BufferLiveRange), compare_range);
  int32_t count = 0;
  for (int64_t i = 0; i < ranges.count; i++) {
    BufferLiveRange range = ranges.data[i];
    if (count > 0 && range.from <= ranges.data[count - 1].to + 1) {
      if (range.to > ranges.data[count - 1].to) ranges.data[count - 1].to = range.to;
    } else {
      ranges.data[count++] = range;
    }
  }
  *out_stretches = ranges.data;
  return count;
}

const HloValue *buffer_assignment_value(const BufferAssignment *assignment, const HloInstruction *instruction,
                                        int node) {
  const BufferAssignmentIndex *index = assignment->index;
  if (node < 0 || instruction->id >= index->instruction_limit) return NULL;
  int32_t first = index->first_positions[instruction->id];
  if (first < 0 || first + node >= index->position_count) return NULL;
  int32_t value = index->values_at[first + node];
  return value < 0 ? NULL : &assignment->values[value];
}

int64_t buffer_assignment_outside_bytes(const BufferAssignment *assignment) {
  return assignment->argument_bytes + assignment->result_bytes - assignment->aliased_bytes + assignment->prepared_bytes;
}

const BufferScratch *buffer_assignment_scratch(const BufferAssignment *assignment, const HloInstruction *instruction) {
  const BufferAssignmentIndex *index = assignment->index;
  if (index->scratch_of == NULL || instruction->id >= index->instruction_limit) return NULL;
  int32_t number = index->scratch_of[instruction->id];
  return number == 0 ? NULL : &assignment->scratches[number - 1];
}

BufferSlice buffer_assignment_slice(const BufferAssignment *assignment, const HloInstruction *instruction, int node) {
  const HloValue *value = buffer_assignment_value(assignment, instruction, node);
  if (!value) return (BufferSlice){0};
  const HloBuffer *buffer = &assignment->buffers[value->buffer];
  return (BufferSlice){&assignment->allocations[buffer->allocation], buffer->offset, value->size};
}
