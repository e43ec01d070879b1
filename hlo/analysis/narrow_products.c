#include "hlo/analysis/narrow_products.h"

static PrimitiveType factor_type(const HloInstruction *factor) {
  if (factor->opcode == HLO_CONVERT) factor = factor->operands[0];
  return factor->shape->type;
}

static bool is_byte(PrimitiveType type) {
  return type == TYPE_S8 || type == TYPE_U8;
}

bool hlo_convolution_is_narrow(const HloInstruction *convolution) {
  PrimitiveType lhs = factor_type(convolution->operands[0]), rhs = factor_type(convolution->operands[1]);
  return (lhs == TYPE_BF16 && rhs == TYPE_BF16) || (is_byte(lhs) && is_byte(rhs));
}

bool hlo_makes_narrow_features(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_CONVOLUTION || !hlo_convolution_is_narrow(instruction)) return false;
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(instruction);
  return labels != NULL && labels->output.feature == instruction->shape->rank - 1;
}
