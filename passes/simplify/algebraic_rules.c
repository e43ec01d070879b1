#include "passes/simplify/algebraic_rules.h"

HloInstruction *algebraic_reshape(HloInstruction *value, const Shape *shape) {
  if (value->shape == shape) return value;
  return hlo_computation_add(value->parent, HLO_RESHAPE, shape, &value, 1, (StringView){0});
}

HloInstruction *algebraic_broadcast(HloInstruction *value, const Shape *shape, const int64_t *dims) {
  HloInstruction *result = hlo_computation_add(value->parent, HLO_BROADCAST, shape, &value, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, value->shape->rank);
  return result;
}

HloInstruction *algebraic_splat_source(HloInstruction *value) {
  if (value->opcode == HLO_BROADCAST && shape_is_scalar(value->operands[0]->shape)) return value->operands[0];
  return shape_is_scalar(value->shape) ? value : NULL;
}

bool algebraic_is_all(HloInstruction *value, double number) {
  if (value->opcode == HLO_BROADCAST) value = value->operands[0];
  const Literal *literal = value->opcode == HLO_CONSTANT ? hlo_instruction_literal(value) : NULL;
  if (literal == NULL || literal->elided || !shape_is_array(value->shape) || type_is_complex(value->shape->type))
    return false;
  /* Large constants are left alone: looking at every element again and again would cost more than it brings. */
  int64_t count = shape_element_count(value->shape);
  return count > 0 && count <= 4096 && literal_is_all(literal, number);
}
