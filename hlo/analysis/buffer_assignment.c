#include "hlo/analysis/buffer_assignment.h"

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

const HloValue *buffer_assignment_value(const BufferAssignment *assignment, const HloInstruction *instruction,
                                        int node) {
  const BufferAssignmentIndex *index = assignment->index;
  if (node < 0 || instruction->id >= index->instruction_limit) return NULL;
  int32_t first = index->first_positions[instruction->id];
  if (first < 0 || first + node >= index->position_count) return NULL;
  int32_t value = index->values_at[first + node];
  return value < 0 ? NULL : &assignment->values[value];
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
