#include "hlo/analysis/row_alignment.h"

#include "hlo/analysis/loop_nest.h"

/* The leading dims of the operand reach those of the result in order and none is repeated; the others stay after them.
 */
static bool broadcast_keeps_rows(const HloInstruction *broadcast, int64_t rows) {
  const Shape *from = broadcast->operands[0]->shape, *to = broadcast->shape;
  Int64List dimensions = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  int from_leading = hlo_row_dims(from, rows), to_leading = hlo_row_dims(to, rows);
  int64_t reached = 0; /* result dims below this one are accounted for */
  for (int d = 0; d < from->rank; d++) {
    int64_t target = dimensions.data[d];
    if (from->dims[d] == 1) continue;
    if (d >= from_leading) {
      if (target < to_leading) return false;
      continue;
    }
    if (target >= to_leading) return false;
    for (; reached < target; reached++) {
      if (to->dims[reached] != 1) return false;
    }
    reached++;
  }
  for (; reached < to_leading; reached++) {
    if (to->dims[reached] != 1) return false;
  }
  return true;
}

/* Whole rows become one element each. */
static bool reduce_keeps_rows(const HloInstruction *reduce, int64_t rows) {
  if (!shape_is_array(reduce->shape) || shape_element_count(reduce->shape) != rows) return false;
  Int64List dimensions = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  const Shape *input = reduce->operands[0]->shape;
  int leading = hlo_row_dims(input, rows);
  for (int64_t i = 0; i < dimensions.count; i++) {
    if (dimensions.data[i] < leading && input->dims[dimensions.data[i]] != 1) return false;
  }
  return true;
}

/* |instruction| makes rows from the rows of operand |operand|. */
static bool keeps_rows(const HloInstruction *instruction, const HloInstruction *operand, int64_t rows) {
  if (!shape_is_array(operand->shape) || !shape_is_array(instruction->shape)) return false;
  if (hlo_row_dims(operand->shape, rows) < 0 || hlo_row_dims(instruction->shape, rows) < 0) return false;
  switch (instruction->opcode) {
    case HLO_BROADCAST: return broadcast_keeps_rows(instruction, rows);
    case HLO_REDUCE: return operand == instruction->operands[0] && reduce_keeps_rows(instruction, rows);
    case HLO_RESHAPE: return shape_has_default_layout(operand->shape) && shape_has_default_layout(instruction->shape);
    case HLO_BITCAST:
      return operand->shape->type == instruction->shape->type && shape_has_default_layout(operand->shape) &&
             shape_has_default_layout(instruction->shape);
    case HLO_COPY: return operand->shape == instruction->shape;
    default:
      return hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) && shape_same_dims(operand->shape, instruction->shape);
  }
}

bool row_aligned_fused(const HloComputation *fused, const HloInstruction *parameter, int64_t rows, Arena *scratch) {
  IntMap derived;
  if (hlo_row_dims(parameter->shape, rows) < 0) return false;
  int_map_init(&derived, scratch);
  int_map_set(&derived, (uint64_t)parameter->id, 1);
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *instruction = fused->instructions.data[i];
    for (int k = 0; k < instruction->operand_count; k++) {
      int64_t ignored;
      if (!int_map_find(&derived, (uint64_t)instruction->operands[k]->id, &ignored)) continue;
      if (!keeps_rows(instruction, instruction->operands[k], rows)) return false;
      int_map_set(&derived, (uint64_t)instruction->id, 1);
    }
  }
  return true;
}

bool row_aligned(const HloInstruction *consumer, const HloInstruction *producer, int64_t rows, Arena *scratch) {
  if (consumer->opcode != HLO_FUSION) return keeps_rows(consumer, producer, rows);
  const HloComputation *fused = hlo_instruction_computation(consumer, HLO_ATTR_CALLS);
  for (int k = 0; k < consumer->operand_count; k++) {
    if (consumer->operands[k] != producer) continue;
    if (!row_aligned_fused(fused, fused->parameters.data[k], rows, scratch)) return false;
  }
  return true;
}
