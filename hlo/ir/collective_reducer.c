#include "hlo/ir/collective_reducer.h"

#include "hlo/ir/hlo_computation.h"

static bool is_known_type(PrimitiveType type, HloOpcode opcode) {
  if (type_is_complex(type)) return opcode == HLO_ADD || opcode == HLO_MULTIPLY;
  bool is_float = type_is_plain_float(type);
  if (is_float) return opcode != HLO_AND && opcode != HLO_OR && opcode != HLO_XOR;
  return type == TYPE_PRED || (type_is_integral(type) && type_bits(type) >= 8);
}

/* Sums, products and extremes of pred are logical. */
static HloOpcode opcode_for(HloOpcode opcode, PrimitiveType type) {
  if (type != TYPE_PRED) return opcode;
  if (opcode == HLO_ADD || opcode == HLO_MAXIMUM) return HLO_OR;
  return opcode == HLO_MULTIPLY || opcode == HLO_MINIMUM ? HLO_AND : opcode;
}

bool hlo_reducer_opcode(const HloComputation *reducer, HloOpcode *out_opcode) {
  if (reducer == NULL || reducer->parameters.count != 2) return false;
  const HloInstruction *root = reducer->root, *a = reducer->parameters.data[0], *b = reducer->parameters.data[1];
  if (!hlo_opcode_has(root->opcode, OP_ASSOCIATIVE) || root->operand_count != 2) return false;
  *out_opcode = root->opcode;
  return (root->operands[0] == a && root->operands[1] == b) || (root->operands[0] == b && root->operands[1] == a);
}

bool collective_reducer(const HloInstruction *collective, HloOpcode *out_opcode) {
  const HloComputation *reducer = hlo_instruction_computation(collective, HLO_ATTR_TO_APPLY);
  HloOpcode opcode;
  if (!hlo_reducer_opcode(reducer, &opcode)) return false;
  PrimitiveType type = reducer->root->shape->type;
  for (int i = 0; i < 2; i++) {
    if (reducer->parameters.data[i]->shape->type != type) return false;
  }
  for (int i = 0; i < collective->operand_count; i++) {
    if (collective->operands[i]->shape->type != type) return false;
  }
  *out_opcode = opcode_for(opcode, type);
  return is_known_type(type, *out_opcode);
}
