#include "passes/control/constant_value.h"

bool constant_value_is(const HloInstruction *value) {
  if (value->opcode == HLO_BROADCAST) return constant_value_is(value->operands[0]);
  return value->opcode == HLO_CONSTANT || value->opcode == HLO_IOTA;
}

bool constant_value_equal(const HloInstruction *a, const HloInstruction *b) {
  static const HloAttrEquality equality = {0};
  if (a->opcode != b->opcode || a->shape != b->shape || !hlo_instruction_same_attrs(a, b, &equality)) return false;
  return a->operand_count == 0 || constant_value_equal(a->operands[0], b->operands[0]);
}

HloInstruction *constant_value_copy(HloComputation *computation, const HloInstruction *value) {
  HloInstruction *operand = value->operand_count > 0 ? constant_value_copy(computation, value->operands[0]) : NULL;
  HloInstruction *copy = hlo_computation_add_clone(computation, value, value->shape, &operand, value->operand_count);
  hlo_instruction_remove_attr(copy, HLO_ATTR_SHARDING);
  return copy;
}
