#include "passes/layout/turned_value.h"

bool layout_may_turn(const Shape *shape) {
  return shape_is_static_array(shape) && shape->rank > 1 && shape->rank <= LAYOUT_RANK_LIMIT;
}

bool layout_is_plain(const HloInstruction *instruction) {
  const Shape *shape = instruction->shape;
  return layout_may_turn(shape) && shape == shape_with_default_layout(instruction->parent->module->shapes, shape);
}

bool layout_is_elementwise(const HloInstruction *instruction) {
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || instruction->operand_count == 0) return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    if (shape_is_scalar(operand->shape)) continue;
    if (!layout_is_plain(operand) || !shape_same_dims(operand->shape, instruction->shape)) return false;
  }
  return layout_is_plain(instruction);
}

const Shape *layout_turned_shape(ShapeTable *shapes, const Shape *shape, const int64_t *order) {
  int64_t dims[LAYOUT_RANK_LIMIT];
  for (int i = 0; i < shape->rank; i++) dims[i] = shape->dims[order[i]];
  return shape_array(shapes, shape->type, dims, shape->rank);
}

HloInstruction *layout_transposed(HloInstruction *value, const Shape *shape, const int64_t *dims) {
  HloInstruction *result = hlo_computation_add(value->parent, HLO_TRANSPOSE, shape, &value, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, shape->rank);
  return result;
}
