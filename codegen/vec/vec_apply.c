/* Lane-wise operations: dispatch by opcode and class of type.  Each rule is a row; what has no row is not supported. */
#include "codegen/vec/vec_apply_internal.h"

static const VecRule pred_rules[HLO_OPCODE_COUNT] = {
    [HLO_ADD] = vec_pred_or,       [HLO_MULTIPLY] = vec_pred_and, [HLO_MAXIMUM] = vec_pred_or, [HLO_MINIMUM] = vec_pred_and,
    [HLO_AND] = vec_pred_and,      [HLO_OR] = vec_pred_or,        [HLO_XOR] = vec_int_xor,     [HLO_NOT] = vec_int_not,
    [HLO_COMPARE] = vec_compare,   [HLO_SELECT] = vec_select,     [HLO_CONVERT] = vec_convert, [HLO_CLAMP] = vec_clamp,
    [HLO_BITCAST_CONVERT] = vec_bitcast_convert, [HLO_COPY] = vec_identity,
};

static const VecRule integer_rules[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = vec_int_abs,
    [HLO_ADD] = vec_int_add,
    [HLO_AND] = vec_int_and,
    [HLO_BITCAST_CONVERT] = vec_bitcast_convert,
    [HLO_CLAMP] = vec_clamp,
    [HLO_COMPARE] = vec_compare,
    [HLO_CONVERT] = vec_convert,
    [HLO_COPY] = vec_identity,
    [HLO_COUNT_LEADING_ZEROS] = vec_int_clz,
    [HLO_DIVIDE] = vec_int_divide,
    [HLO_MAXIMUM] = vec_int_maximum,
    [HLO_MINIMUM] = vec_int_minimum,
    [HLO_MULHI] = vec_int_mulhi,
    [HLO_MULTIPLY] = vec_int_multiply,
    [HLO_NEGATE] = vec_int_negate,
    [HLO_NOT] = vec_int_not,
    [HLO_OR] = vec_int_or,
    [HLO_POPCNT] = vec_int_popcnt,
    [HLO_POWER] = vec_int_power,
    [HLO_REMAINDER] = vec_int_remainder,
    [HLO_SELECT] = vec_select,
    [HLO_SHIFT_LEFT] = vec_int_shift,
    [HLO_SHIFT_RIGHT_ARITHMETIC] = vec_int_shift,
    [HLO_SHIFT_RIGHT_LOGICAL] = vec_int_shift,
    [HLO_SIGN] = vec_int_sign,
    [HLO_SUBTRACT] = vec_int_subtract,
    [HLO_XOR] = vec_int_xor,
};

static const VecRule float_rules[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = vec_float_abs,
    [HLO_ADD] = vec_float_add,
    [HLO_BITCAST_CONVERT] = vec_bitcast_convert,
    [HLO_CEIL] = vec_float_ceil,
    [HLO_CLAMP] = vec_clamp,
    [HLO_COMPARE] = vec_compare,
    [HLO_CONVERT] = vec_convert,
    [HLO_COPY] = vec_identity,
    [HLO_DIVIDE] = vec_float_divide,
    [HLO_FLOOR] = vec_float_floor,
    [HLO_IMAG] = vec_float_imag,
    [HLO_IS_FINITE] = vec_float_is_finite,
    [HLO_MAXIMUM] = vec_float_maximum,
    [HLO_MINIMUM] = vec_float_minimum,
    [HLO_MULTIPLY] = vec_float_multiply,
    [HLO_NEGATE] = vec_float_negate,
    [HLO_REAL] = vec_identity,
    [HLO_REDUCE_PRECISION] = vec_float_reduce_precision,
    [HLO_REMAINDER] = vec_float_remainder,
    [HLO_ROUND_NEAREST_AFZ] = vec_float_round_afz,
    [HLO_ROUND_NEAREST_EVEN] = vec_float_round_even,
    [HLO_SELECT] = vec_select,
    [HLO_SIGN] = vec_float_sign,
    [HLO_SQRT] = vec_float_sqrt,
    [HLO_RSQRT] = vec_float_rsqrt,
    [HLO_SUBTRACT] = vec_float_subtract,
    [HLO_ACOS] = vec_math_acos,
    [HLO_ACOSH] = vec_math_acosh,
    [HLO_ASIN] = vec_math_asin,
    [HLO_ASINH] = vec_math_asinh,
    [HLO_ATAN2] = vec_math_atan2,
    [HLO_ATANH] = vec_math_atanh,
    [HLO_CBRT] = vec_math_cbrt,
    [HLO_COSH] = vec_math_cosh,
    [HLO_COSINE] = vec_math_cos,
    [HLO_ERF] = vec_math_erf,
    [HLO_EXPONENTIAL] = vec_math_exp,
    [HLO_EXPONENTIAL_MINUS_ONE] = vec_math_expm1,
    [HLO_LOG] = vec_math_log,
    [HLO_LOG_PLUS_ONE] = vec_math_log1p,
    [HLO_LOGISTIC] = vec_math_logistic,
    [HLO_POWER] = vec_math_pow,
    [HLO_SINE] = vec_math_sin,
    [HLO_SINH] = vec_math_sinh,
    [HLO_TAN] = vec_math_tan,
    [HLO_TANH] = vec_math_tanh,
};

static VecRule rule_of(const VecOp *op) {
  if (op->operand_type == TYPE_PRED) return pred_rules[op->opcode];
  if (type_is_integral(op->operand_type)) return integer_rules[op->opcode];
  return float_rules[op->opcode];
}

bool vec_supports(const VecOp *op) {
  return vec_type_supported(op->type) && vec_type_supported(op->operand_type) && rule_of(op) != NULL;
}

/* Results that any float operation can make inexact; the others only pass values on. */
static bool may_be_inexact(HloOpcode opcode) {
  switch (opcode) {
    case HLO_ABS:
    case HLO_BITCAST_CONVERT:
    case HLO_CLAMP:
    case HLO_COPY:
    case HLO_IMAG:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_NEGATE:
    case HLO_REAL:
    case HLO_SELECT:
    case HLO_SIGN: return false;
    default: return true;
  }
}

LLVMValueRef vec_apply(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes) {
  VecRule rule = rule_of(op);
  if (rule == NULL) XLAC_BUG("no code for '%s' of %s", hlo_opcode_text(op->opcode), type_text(op->operand_type));
  LLVMValueRef result = rule(vec, op, operands, lanes);
  if (may_be_inexact(op->opcode)) result = vec_round_float(vec, op->type, result, lanes);
  return vec_wrap_narrow(vec, op->type, result, lanes);
}
