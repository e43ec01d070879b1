#include "hlo/analysis/factor_bytes.h"

#include "base/checked_math.h"

double hlo_factor_bytes(const HloModule *module) {
  double bytes = 0;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (!hlo_opcode_has(instruction->opcode, OP_CONTRACTION)) continue;
      bytes += (double)max_i64(shape_byte_size(instruction->operands[0]->shape),
                               shape_byte_size(instruction->operands[1]->shape));
    }
  }
  return bytes;
}
