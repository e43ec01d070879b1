#include "passes/control/costly_operation.h"

bool costly_operation(const HloInstruction *instruction) {
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  bool is_function = hlo_opcode_is_function(instruction->opcode);
  if (shape_is_scalar(instruction->shape)) return false;
  /* One value per broadcast element would be stored instead of the value. */
  if (is_function) return instruction->operands[0]->opcode != HLO_BROADCAST;
  return cost == OP_COST_LOOKUP || cost == OP_COST_FOLD;
}
