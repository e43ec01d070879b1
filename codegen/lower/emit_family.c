#include "codegen/lower/emit_family.h"

#define EMIT_index(name) EMIT_indexed

static const EmitFamily families[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = EMIT_##emit,
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

EmitFamily emit_family(HloOpcode opcode) {
  return families[opcode];
}

bool emit_family_makes_kernels(EmitFamily family) {
  switch (family) {
    case EMIT_unsupported:
    case EMIT_parameter:
    case EMIT_constant:
    case EMIT_tuple:
    case EMIT_forward:
    case EMIT_call:
    case EMIT_rng_state:
    case EMIT_outside_call:
    case EMIT_collective:
    case EMIT_device_id:
    case EMIT_while:
    case EMIT_conditional: return false;
    default: return true;
  }
}

static ComparisonType default_comparison_type(PrimitiveType type) {
  if (type_is_float(type) || type_is_complex(type)) return COMPARISON_TYPE_FLOAT;
  return type_is_signed(type) ? COMPARISON_TYPE_SIGNED : COMPARISON_TYPE_UNSIGNED;
}

void emit_lane_params(const HloInstruction *instruction, int64_t out_params[2]) {
  out_params[0] = out_params[1] = 0;
  if (instruction->opcode == HLO_COMPARE) {
    ComparisonType fallback = default_comparison_type(instruction->operands[0]->shape->type);
    out_params[0] = hlo_instruction_int(instruction, HLO_ATTR_DIRECTION, 0);
    out_params[1] = hlo_instruction_int(instruction, HLO_ATTR_COMPARISON_TYPE, fallback);
  } else if (instruction->opcode == HLO_REDUCE_PRECISION) {
    out_params[0] = hlo_instruction_int(instruction, HLO_ATTR_EXPONENT_BITS, 8);
    out_params[1] = hlo_instruction_int(instruction, HLO_ATTR_MANTISSA_BITS, 23);
  }
}

int emit_typed_operand(HloOpcode opcode) {
  return hlo_opcode_has(opcode, OP_TAKES_SCALARS) ? 1 : 0;
}
