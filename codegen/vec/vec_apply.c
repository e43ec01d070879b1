/* Lane-wise operations: dispatch by opcode and class of type.  Each rule is a row; what has no row is not supported. */
#include <stdio.h>

#include "codegen/vec/vec_apply_internal.h"

/* Where the code of an operation stands: at each use, or once in the module, in a function of one register's width; the
 * latter always, or only for elements of 64 bits, or but for scalars of 32 bits where fma makes the code short: those
 * are often links of one long chain, in which a call and what it saves around it would count. */
typedef enum VecPlacement { INLINE, CALLED, CALLED_IF_DOUBLE, CALLED_IF_WIDE } VecPlacement;

typedef struct VecRow {
  VecRule rule;
  VecPlacement placement;
} VecRow;

static const VecRow pred_rules[HLO_OPCODE_COUNT] = {
    [HLO_ADD] = {vec_pred_or, INLINE},
    [HLO_MULTIPLY] = {vec_pred_and, INLINE},
    [HLO_MAXIMUM] = {vec_pred_or, INLINE},
    [HLO_MINIMUM] = {vec_pred_and, INLINE},
    [HLO_AND] = {vec_pred_and, INLINE},
    [HLO_OR] = {vec_pred_or, INLINE},
    [HLO_XOR] = {vec_int_xor, INLINE},
    [HLO_NOT] = {vec_int_not, INLINE},
    [HLO_COMPARE] = {vec_compare, INLINE},
    [HLO_SELECT] = {vec_select, INLINE},
    [HLO_CONVERT] = {vec_convert, INLINE},
    [HLO_CLAMP] = {vec_clamp, INLINE},
    [HLO_BITCAST_CONVERT] = {vec_bitcast_convert, INLINE},
    [HLO_COPY] = {vec_identity, INLINE},
};

static const VecRow integer_rules[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = {vec_int_abs, INLINE},
    [HLO_ADD] = {vec_int_add, INLINE},
    [HLO_AND] = {vec_int_and, INLINE},
    [HLO_BITCAST_CONVERT] = {vec_bitcast_convert, INLINE},
    [HLO_CLAMP] = {vec_clamp, INLINE},
    [HLO_COMPARE] = {vec_compare, INLINE},
    [HLO_CONVERT] = {vec_convert, INLINE},
    [HLO_COPY] = {vec_identity, INLINE},
    [HLO_COUNT_LEADING_ZEROS] = {vec_int_clz, INLINE},
    [HLO_DIVIDE] = {vec_int_divide, CALLED_IF_DOUBLE},
    [HLO_MAXIMUM] = {vec_int_maximum, INLINE},
    [HLO_MINIMUM] = {vec_int_minimum, INLINE},
    [HLO_MULHI] = {vec_int_mulhi, INLINE},
    [HLO_MULTIPLY] = {vec_int_multiply, INLINE},
    [HLO_NEGATE] = {vec_int_negate, INLINE},
    [HLO_NOT] = {vec_int_not, INLINE},
    [HLO_OR] = {vec_int_or, INLINE},
    [HLO_POPCNT] = {vec_int_popcnt, INLINE},
    [HLO_POWER] = {vec_int_power, CALLED},
    [HLO_REMAINDER] = {vec_int_remainder, CALLED_IF_DOUBLE},
    [HLO_SELECT] = {vec_select, INLINE},
    [HLO_SHIFT_LEFT] = {vec_int_shift, INLINE},
    [HLO_SHIFT_RIGHT_ARITHMETIC] = {vec_int_shift, INLINE},
    [HLO_SHIFT_RIGHT_LOGICAL] = {vec_int_shift, INLINE},
    [HLO_SIGN] = {vec_int_sign, INLINE},
    [HLO_SUBTRACT] = {vec_int_subtract, INLINE},
    [HLO_XOR] = {vec_int_xor, INLINE},
};

static const VecRow float_rules[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = {vec_float_abs, INLINE},
    [HLO_ADD] = {vec_float_add, INLINE},
    [HLO_BITCAST_CONVERT] = {vec_bitcast_convert, INLINE},
    [HLO_CEIL] = {vec_float_ceil, INLINE},
    [HLO_CLAMP] = {vec_clamp, INLINE},
    [HLO_COMPARE] = {vec_compare, INLINE},
    [HLO_CONVERT] = {vec_convert, INLINE},
    [HLO_COPY] = {vec_identity, INLINE},
    [HLO_DIVIDE] = {vec_float_divide, INLINE},
    [HLO_FLOOR] = {vec_float_floor, INLINE},
    [HLO_IMAG] = {vec_float_imag, INLINE},
    [HLO_IS_FINITE] = {vec_float_is_finite, INLINE},
    [HLO_MAXIMUM] = {vec_float_maximum, INLINE},
    [HLO_MINIMUM] = {vec_float_minimum, INLINE},
    [HLO_MULTIPLY] = {vec_float_multiply, INLINE},
    [HLO_NEGATE] = {vec_float_negate, INLINE},
    [HLO_REAL] = {vec_identity, INLINE},
    [HLO_REDUCE_PRECISION] = {vec_float_reduce_precision, INLINE},
    [HLO_REMAINDER] = {vec_float_remainder, CALLED},
    [HLO_ROUND_NEAREST_AFZ] = {vec_float_round_afz, INLINE},
    [HLO_ROUND_NEAREST_EVEN] = {vec_float_round_even, INLINE},
    [HLO_SELECT] = {vec_select, INLINE},
    [HLO_SIGN] = {vec_float_sign, INLINE},
    [HLO_SQRT] = {vec_float_sqrt, INLINE},
    [HLO_RSQRT] = {vec_float_rsqrt, INLINE},
    [HLO_SUBTRACT] = {vec_float_subtract, INLINE},
    [HLO_ACOS] = {vec_math_acos, CALLED},
    [HLO_ACOSH] = {vec_math_acosh, CALLED},
    [HLO_ASIN] = {vec_math_asin, CALLED},
    [HLO_ASINH] = {vec_math_asinh, CALLED},
    [HLO_ATAN2] = {vec_math_atan2, CALLED},
    [HLO_ATANH] = {vec_math_atanh, CALLED},
    [HLO_CBRT] = {vec_math_cbrt, CALLED},
    [HLO_COSH] = {vec_math_cosh, CALLED},
    [HLO_COSINE] = {vec_math_cos, CALLED_IF_WIDE},
    [HLO_ERF] = {vec_math_erf, CALLED},
    [HLO_EXPONENTIAL] = {vec_math_exp, CALLED_IF_DOUBLE},
    [HLO_EXPONENTIAL_MINUS_ONE] = {vec_math_expm1, CALLED_IF_DOUBLE},
    [HLO_LOG] = {vec_math_log, CALLED_IF_DOUBLE},
    [HLO_LOG_PLUS_ONE] = {vec_math_log1p, CALLED},
    [HLO_LOGISTIC] = {vec_math_logistic, CALLED_IF_DOUBLE},
    [HLO_POWER] = {vec_math_pow, CALLED},
    [HLO_SINE] = {vec_math_sin, CALLED_IF_WIDE},
    [HLO_SINH] = {vec_math_sinh, CALLED},
    [HLO_TAN] = {vec_math_tan, CALLED},
    [HLO_TANH] = {vec_math_tanh, CALLED_IF_DOUBLE},
};

static const VecRow *row_of(const VecOp *op) {
  if (op->operand_type == TYPE_PRED) return &pred_rules[op->opcode];
  if (type_is_integral(op->operand_type)) return &integer_rules[op->opcode];
  return &float_rules[op->opcode];
}

bool vec_supports(const VecOp *op) {
  return vec_type_supported(op->type) && vec_type_supported(op->operand_type) && row_of(op)->rule != NULL;
}

bool vec_is_cheap(const VecOp *op) {
  return row_of(op)->placement == INLINE;
}

/* --- operations as functions --- */

#define MAX_CALL_OPERANDS 2

/* The function for one register of elements. */
static LLVMValueRef function_of(const VecBuilder *vec, const VecOp *op, VecRule rule, LLVMTypeRef type, int lanes) {
  char name[64];
  snprintf(name, sizeof name, "xlac.%s.%s.%d", hlo_opcode_text(op->opcode), type_text(op->operand_type), lanes);
  VecFunction function = vec_function_begin(vec, name, type);
  if (function.is_new) {
    LLVMValueRef operands[MAX_CALL_OPERANDS];
    for (unsigned i = 0; i < LLVMCountParams(function.value); i++) operands[i] = LLVMGetParam(function.value, i);
    LLVMBuildRet(function.vec.builder, rule(&function.vec, op, operands, lanes));
    vec_function_end(&function);
  }
  return function.value;
}

/* Fewer lanes than a register's as a whole one, the others zero. */
static LLVMValueRef padded(const VecBuilder *vec, LLVMValueRef value, int lanes, int full) {
  LLVMTypeRef element = lanes == 1 ? LLVMTypeOf(value) : LLVMGetElementType(LLVMTypeOf(value));
  if (lanes == 1) {
    LLVMValueRef zeros = LLVMConstNull(vec_of(element, full));
    return LLVMBuildInsertElement(vec->builder, zeros, value,
                                  LLVMConstInt(LLVMInt32TypeInContext(vec->context), 0, false), "");
  }
  for (; lanes < full; lanes *= 2) value = vec_join(vec, value, LLVMConstNull(vec_of(element, lanes)), lanes);
  return value;
}

static bool is_inline_scalar(const VecBuilder *vec, const VecOp *plain, int lanes) {
  return lanes == 1 && row_of(plain)->placement == CALLED_IF_WIDE && plain->type != TYPE_F64 && vec->target->has_fma;
}

/* Calls with pieces of a register's width, a register of 128 bits where that is enough. */
static LLVMValueRef call(const VecBuilder *vec, const VecOp *op, VecRule rule, const LLVMValueRef *operands,
                         int lanes) {
  VecOp plain = *op;
  if (type_is_float(op->type) && op->type != TYPE_F64) plain.type = plain.operand_type = TYPE_F32;
  int count =
      op->opcode == HLO_POWER || op->opcode == HLO_ATAN2 || op->opcode == HLO_REMAINDER || op->opcode == HLO_DIVIDE ? 2
                                                                                                                    : 1;
  LLVMTypeRef element = vec_type(vec, plain.type, 1), types[MAX_CALL_OPERANDS];
  int bits = type_storage_bytes(plain.type) * 8, full = (lanes * bits <= 128 ? 128 : vec->target->vector_bits) / bits;
  if (lanes > full) {
    LLVMValueRef low[MAX_CALL_OPERANDS], high[MAX_CALL_OPERANDS];
    for (int i = 0; i < count; i++) {
      low[i] = vec_slice(vec, operands[i], 0, lanes / 2);
      high[i] = vec_slice(vec, operands[i], lanes / 2, lanes / 2);
    }
    return vec_join(vec, call(vec, op, rule, low, lanes / 2), call(vec, op, rule, high, lanes / 2), lanes / 2);
  }
  LLVMValueRef arguments[MAX_CALL_OPERANDS];
  for (int i = 0; i < count; i++) {
    types[i] = vec_of(element, full);
    arguments[i] = lanes < full ? padded(vec, operands[i], lanes, full) : operands[i];
  }
  if (is_inline_scalar(vec, &plain, lanes)) return vec_slice(vec, rule(vec, &plain, arguments, full), 0, 1);
  LLVMTypeRef type = LLVMFunctionType(types[0], types, (unsigned)count, false);
  LLVMValueRef function = function_of(vec, &plain, rule, type, full);
  LLVMValueRef result = LLVMBuildCall2(vec->builder, type, function, arguments, (unsigned)count, "");
  return lanes < full ? vec_slice(vec, result, 0, lanes) : result;
}

/* A divisor known when compiling becomes a multiplication. */
static bool is_called(const VecOp *op, const VecRow *row, const LLVMValueRef *operands) {
  if (row->placement == CALLED_IF_DOUBLE && type_storage_bytes(op->type) < 8) return false;
  if (row->placement != INLINE && type_is_integral(op->type) && op->opcode != HLO_POWER)
    return !LLVMIsConstant(operands[1]);
  return row->placement != INLINE;
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
  const VecRow *row = row_of(op);
  if (row->rule == NULL) XLAC_BUG("no code for '%s' of %s", hlo_opcode_text(op->opcode), type_text(op->operand_type));
  bool calls = is_called(op, row, operands);
  LLVMValueRef result = calls ? call(vec, op, row->rule, operands, lanes) : row->rule(vec, op, operands, lanes);
  if (may_be_inexact(op->opcode)) result = vec_round_float(vec, op->type, result, lanes);
  return vec_wrap_narrow(vec, op->type, result, lanes);
}
