#include "passes/control/constant_value.h"

/* So many operations on constants are done again in each round rather than stored before it: each is cheap, and fuses
 * with what reads it. */
enum { MOST_NODES = 8 };

/* Made from nothing: constants and iotas. */
static bool is_source(const HloInstruction *value) {
  return value->operand_count == 0 && hlo_opcode_is_cheap(value->opcode) && value->opcode != HLO_PARAMETER;
}

static bool is_repeatable(HloOpcode opcode) {
  return opcode == HLO_BROADCAST || (hlo_opcode_has(opcode, OP_ELEMENTWISE) && hlo_opcode_is_cheap(opcode));
}

static bool is_constant(const HloInstruction *value, int *nodes) {
  if (++*nodes > MOST_NODES) return false;
  if (is_source(value)) return true;
  if (!is_repeatable(value->opcode)) return false;
  for (int i = 0; i < value->operand_count; i++) {
    if (!is_constant(value->operands[i], nodes)) return false;
  }
  return true;
}

bool constant_value_is(const HloInstruction *value) {
  int nodes = 0;
  return is_constant(value, &nodes);
}

bool constant_value_equal(const HloInstruction *a, const HloInstruction *b) {
  static const HloAttrEquality equality = {0};
  if (a->opcode != b->opcode || a->shape != b->shape || !hlo_instruction_same_attrs(a, b, &equality)) return false;
  if (a->operand_count != b->operand_count) return false;
  for (int i = 0; i < a->operand_count; i++) {
    if (!constant_value_equal(a->operands[i], b->operands[i])) return false;
  }
  return true;
}

HloInstruction *constant_value_copy(HloComputation *computation, const HloInstruction *value) {
  HloInstruction *operands[3] = {NULL};
  for (int i = 0; i < value->operand_count; i++) operands[i] = constant_value_copy(computation, value->operands[i]);
  HloInstruction *copy = hlo_computation_add_clone(computation, value, value->shape, operands, value->operand_count);
  hlo_instruction_remove_sharding(copy);
  return copy;
}
