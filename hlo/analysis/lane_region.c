#include "hlo/analysis/lane_region.h"

static bool is_lanewise(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_TUPLE) return instruction == instruction->parent->root;
  if (!shape_is_array(instruction->shape) || shape_is_dynamic(instruction->shape)) return false;
  HloOpcode opcode = instruction->opcode;
  if (opcode == HLO_PARAMETER) return instruction->shape->rank == 0;
  if (opcode == HLO_CONSTANT) {
    const Literal *literal = hlo_instruction_literal(instruction);
    return instruction->shape->rank == 0 || (!literal->elided && literal_is_splat(literal));
  }
  if (opcode == HLO_BROADCAST || opcode == HLO_RESHAPE) return shape_element_count(instruction->shape) > 0;
  if (opcode == HLO_BITCAST || opcode == HLO_BITCAST_CONVERT)
    return type_bits(instruction->shape->type) == type_bits(instruction->operands[0]->shape->type);
  return hlo_opcode_has(opcode, OP_ELEMENTWISE);
}

bool hlo_region_is_lanewise(const HloComputation *region) {
  for (int64_t i = 0; i < region->instructions.count; i++) {
    if (!is_lanewise(region->instructions.data[i])) return false;
  }
  return true;
}
