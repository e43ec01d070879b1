/* Comparison, choice, bounds: the same for all classes of type. */
#include "codegen/vec/vec_apply_internal.h"

VEC_RULE(vec_identity) {
  (void)vec, (void)op, (void)lanes;
  return operands[0];
}

VEC_RULE(vec_select) {
  (void)op, (void)lanes;
  return LLVMBuildSelect(vec->builder, operands[0], operands[1], operands[2], "");
}

static const LLVMRealPredicate real_predicates[] = {
    [COMPARISON_DIRECTION_EQ] = LLVMRealOEQ, [COMPARISON_DIRECTION_NE] = LLVMRealUNE,
    [COMPARISON_DIRECTION_GE] = LLVMRealOGE, [COMPARISON_DIRECTION_GT] = LLVMRealOGT,
    [COMPARISON_DIRECTION_LE] = LLVMRealOLE, [COMPARISON_DIRECTION_LT] = LLVMRealOLT,
};

static const LLVMIntPredicate signed_predicates[] = {
    [COMPARISON_DIRECTION_EQ] = LLVMIntEQ,  [COMPARISON_DIRECTION_NE] = LLVMIntNE,
    [COMPARISON_DIRECTION_GE] = LLVMIntSGE, [COMPARISON_DIRECTION_GT] = LLVMIntSGT,
    [COMPARISON_DIRECTION_LE] = LLVMIntSLE, [COMPARISON_DIRECTION_LT] = LLVMIntSLT,
};

static const LLVMIntPredicate unsigned_predicates[] = {
    [COMPARISON_DIRECTION_EQ] = LLVMIntEQ,  [COMPARISON_DIRECTION_NE] = LLVMIntNE,
    [COMPARISON_DIRECTION_GE] = LLVMIntUGE, [COMPARISON_DIRECTION_GT] = LLVMIntUGT,
    [COMPARISON_DIRECTION_LE] = LLVMIntULE, [COMPARISON_DIRECTION_LT] = LLVMIntULT,
};

/* Bits of a float as an integer that orders as IEEE's total order: -NaN < -inf < … < -0 < +0 < … < NaN. */
static LLVMValueRef total_order_key(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  int bits = vec_is_half(vec, type) ? 16 : vec_register_bits(type);
  LLVMTypeRef integer = vec_of(LLVMIntTypeInContext(vec->context, (unsigned)bits), lanes);
  LLVMValueRef word = LLVMBuildBitCast(vec->builder, value, integer, "");
  LLVMValueRef sign = LLVMBuildAShr(vec->builder, word, vec_int(vec, bits, bits - 1, lanes), "");
  LLVMValueRef flips = LLVMBuildLShr(vec->builder, sign, vec_int(vec, bits, 1, lanes), "");
  return LLVMBuildXor(vec->builder, word, flips, "");
}

VEC_RULE(vec_compare) {
  LLVMValueRef a = operands[0], b = operands[1];
  int64_t direction = op->params[0];
  if (type_is_float(op->operand_type)) {
    if (op->params[1] != COMPARISON_TYPE_TOTALORDER)
      return LLVMBuildFCmp(vec->builder, real_predicates[direction], a, b, "");
    a = total_order_key(vec, op->operand_type, a, lanes);
    b = total_order_key(vec, op->operand_type, b, lanes);
    return LLVMBuildICmp(vec->builder, signed_predicates[direction], a, b, "");
  }
  bool is_signed = type_is_signed(op->operand_type);
  return LLVMBuildICmp(vec->builder, (is_signed ? signed_predicates : unsigned_predicates)[direction], a, b, "");
}

/* min(max(x, lower), upper) */
VEC_RULE(vec_clamp) {
  VecOp maximum = *op, minimum = *op;
  maximum.opcode = HLO_MAXIMUM;
  minimum.opcode = HLO_MINIMUM;
  LLVMValueRef raised = vec_apply(vec, &maximum, (LLVMValueRef[]){operands[1], operands[0]}, lanes);
  return vec_apply(vec, &minimum, (LLVMValueRef[]){raised, operands[2]}, lanes);
}
