#include "codegen/kernel/emit_family.h"

static const EmitFamily families[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, infer, eval, emit, attributes) [HLO_##id] = EMIT_##emit,
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

EmitFamily emit_family(HloOpcode opcode) {
  return families[opcode];
}
