/* Integers and pred: wrapping arithmetic, division that never traps, shifts by any amount. */
#include "codegen/ir/ir_loop.h"
#include "codegen/vec/vec_apply_internal.h"

#define UNUSED(x) (void)(x)

/* A rule that is one LLVM instruction. */
#define BINARY_RULE(name, build)                              \
  VEC_RULE(name) {                                            \
    UNUSED(op);                                               \
    UNUSED(lanes);                                            \
    return build(vec->builder, operands[0], operands[1], ""); \
  }

BINARY_RULE(vec_pred_and, LLVMBuildAnd)
BINARY_RULE(vec_pred_or, LLVMBuildOr)
BINARY_RULE(vec_int_add, LLVMBuildAdd)
BINARY_RULE(vec_int_and, LLVMBuildAnd)
BINARY_RULE(vec_int_multiply, LLVMBuildMul)
BINARY_RULE(vec_int_or, LLVMBuildOr)
BINARY_RULE(vec_int_subtract, LLVMBuildSub)
BINARY_RULE(vec_int_xor, LLVMBuildXor)

VEC_RULE(vec_int_negate) {
  UNUSED(op), UNUSED(lanes);
  return LLVMBuildNeg(vec->builder, operands[0], "");
}

VEC_RULE(vec_int_not) {
  UNUSED(op), UNUSED(lanes);
  return LLVMBuildNot(vec->builder, operands[0], "");
}

static LLVMValueRef zero_of(LLVMValueRef value) {
  return LLVMConstNull(LLVMTypeOf(value));
}

static LLVMValueRef select_by(const VecBuilder *vec, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(vec->builder, LLVMBuildICmp(vec->builder, predicate, a, b, ""), a, b, "");
}

static LLVMValueRef absolute(LLVMBuilderRef b, LLVMValueRef x) {
  LLVMValueRef is_negative = LLVMBuildICmp(b, LLVMIntSLT, x, zero_of(x), "");
  return LLVMBuildSelect(b, is_negative, LLVMBuildNeg(b, x, ""), x, "");
}

VEC_RULE(vec_int_maximum) {
  UNUSED(lanes);
  return select_by(vec, type_is_signed(op->type) ? LLVMIntSGT : LLVMIntUGT, operands[0], operands[1]);
}

VEC_RULE(vec_int_minimum) {
  UNUSED(lanes);
  return select_by(vec, type_is_signed(op->type) ? LLVMIntSLT : LLVMIntULT, operands[0], operands[1]);
}

VEC_RULE(vec_int_abs) {
  UNUSED(lanes);
  if (!type_is_signed(op->type)) return operands[0];
  return absolute(vec->builder, operands[0]);
}

VEC_RULE(vec_int_sign) {
  int bits = vec_register_bits(op->type);
  LLVMValueRef positive = LLVMBuildICmp(vec->builder, LLVMIntNE, operands[0], zero_of(operands[0]), "");
  LLVMValueRef one = LLVMBuildZExt(vec->builder, positive, LLVMTypeOf(operands[0]), "");
  if (!type_is_signed(op->type)) return one;
  LLVMValueRef fill = LLVMBuildAShr(vec->builder, operands[0], vec_int(vec, bits, bits - 1, lanes), "");
  return LLVMBuildOr(vec->builder, one, fill, "");
}

/* The quotient of vectors, cut to a whole number: where there is no vector instruction for it, floats of more than
 * twice the width divide exactly enough (a quotient that is not whole is farther from the next whole number than the
 * division's rounding error). */
static LLVMValueRef quotient_through_floats(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_signed,
                                            int bits, int lanes) {
  LLVMBuilderRef b = vec->builder;
  bool is_wide = bits == 32;
  LLVMTypeRef real = vec_type(vec, is_wide ? TYPE_F64 : TYPE_F32, lanes), word = LLVMTypeOf(x);
  LLVMTypeRef whole = vec_of(LLVMInt32TypeInContext(vec->context), lanes);
  LLVMValueRef parts[] = {x, y};
  for (int i = 0; i < 2; i++) {
    parts[i] = is_signed ? LLVMBuildSIToFP(b, parts[i], real, "") : LLVMBuildUIToFP(b, parts[i], real, "");
  }
  LLVMValueRef quotient = LLVMBuildFDiv(b, parts[0], parts[1], "");
  if (!is_wide) return LLVMBuildTrunc(b, LLVMBuildFPToSI(b, quotient, whole, ""), word, "");
  if (is_signed) return LLVMBuildFPToSI(b, quotient, word, "");
  return LLVMBuildFPToUI(b, quotient, word, "");
}

/* The quotient of unsigned numbers of 64 bits, divisors up to 2^63, in two steps by 1/y in f64.  The first is off by
 * less than 2^-51 of itself and 1, so that what it leaves of x is less than 2^13 + y: it has a sign.  The second rounds
 * what remains of the quotient, too small a number for an error that matters, to nearest, and is at most one too many.
 */
static LLVMValueRef quotient_in_steps(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef real = vec_type(vec, TYPE_F64, lanes), word = LLVMTypeOf(x);
  LLVMValueRef one = vec_constant_double(vec, TYPE_F64, 1, lanes);
  LLVMValueRef greatest = vec_constant_double(vec, TYPE_F64, 0x1.fffffffffffffp63, lanes);
  LLVMValueRef inverse = LLVMBuildFDiv(b, one, LLVMBuildUIToFP(b, y, real, ""), "");
  LLVMValueRef first = LLVMBuildFMul(b, LLVMBuildUIToFP(b, x, real, ""), inverse, "");
  first = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, first, greatest, ""), first, greatest, "");
  first = LLVMBuildFPToUI(b, first, word, "");
  LLVMValueRef rest = LLVMBuildSub(b, x, LLVMBuildMul(b, first, y, ""), "");
  LLVMValueRef second = LLVMBuildFMul(b, LLVMBuildSIToFP(b, rest, real, ""), inverse, "");
  second = LLVMBuildFPToSI(b, vec_float_rint(vec, TYPE_F64, second, lanes), word, "");
  rest = LLVMBuildSub(b, rest, LLVMBuildMul(b, second, y, ""), "");
  LLVMValueRef sum = LLVMBuildAdd(b, first, second, "");
  LLVMValueRef less = LLVMBuildSub(b, sum, vec_int(vec, 64, 1, lanes), "");
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, rest, zero_of(rest), ""), less, sum, "");
}

static LLVMValueRef wide_quotient(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_signed, int lanes) {
  LLVMBuilderRef b = vec->builder;
  if (is_signed) {
    LLVMValueRef sign = LLVMBuildAShr(b, LLVMBuildXor(b, x, y, ""), vec_int(vec, 64, 63, lanes), "");
    LLVMValueRef size = quotient_in_steps(vec, absolute(b, x), absolute(b, y), lanes);
    return LLVMBuildSub(b, LLVMBuildXor(b, size, sign, ""), sign, "");
  }
  LLVMValueRef is_large = LLVMBuildICmp(b, LLVMIntSLT, y, zero_of(y), "");
  LLVMValueRef once = LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntUGE, x, y, ""), LLVMTypeOf(x), "");
  return LLVMBuildSelect(b, is_large, once, quotient_in_steps(vec, x, y, lanes), "");
}

/* Of few wide lanes each by itself: the processor's own division is over before what stands for one of vectors is. */
static LLVMValueRef quotient(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_signed, int bits,
                             int lanes) {
  if (lanes > VEC_FEW_QUOTIENTS && bits == 64 && !LLVMIsConstant(y) && vec->target->has_avx512)
    return wide_quotient(vec, x, y, is_signed, lanes);
  if (lanes > 1 && bits <= 32 && !LLVMIsConstant(y) && !vec->target->has_division)
    return quotient_through_floats(vec, x, y, is_signed, bits, lanes);
  return is_signed ? LLVMBuildSDiv(vec->builder, x, y, "") : LLVMBuildUDiv(vec->builder, x, y, "");
}

/* x / 0 = -1 (all ones), x % 0 = x, least / -1 = least, least % -1 = 0: the divisor is replaced before the machine sees
 * it. */
static LLVMValueRef divide(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes,
                           bool remainder) {
  LLVMBuilderRef b = vec->builder;
  int bits = vec_register_bits(op->type);
  bool is_signed = type_is_signed(op->type);
  LLVMValueRef x = operands[0], y = operands[1], one = vec_int(vec, bits, 1, lanes),
               ones = vec_int(vec, bits, -1, lanes);
  LLVMValueRef by_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero_of(y), "");
  LLVMValueRef safe = LLVMBuildSelect(b, by_zero, one, y, "");
  LLVMValueRef overflows = NULL;
  if (is_signed) {
    overflows = LLVMBuildICmp(b, LLVMIntEQ, y, ones, "");
    safe = LLVMBuildSelect(b, overflows, one, safe, "");
  }
  if (remainder) {
    LLVMValueRef whole = LLVMBuildMul(b, quotient(vec, x, safe, is_signed, bits, lanes), safe, "");
    LLVMValueRef result = LLVMBuildSub(b, x, whole, "");
    return LLVMBuildSelect(b, by_zero, x, result, "");
  }
  LLVMValueRef result = quotient(vec, x, safe, is_signed, bits, lanes);
  if (is_signed) result = LLVMBuildSelect(b, overflows, LLVMBuildNeg(b, x, ""), result, "");
  return LLVMBuildSelect(b, by_zero, ones, result, "");
}

VEC_RULE(vec_int_divide) {
  return divide(vec, op, operands, lanes, false);
}

VEC_RULE(vec_int_remainder) {
  return divide(vec, op, operands, lanes, true);
}

/* Amounts of the width or more shift everything out: zeros, or copies of the sign. */
VEC_RULE(vec_int_shift) {
  LLVMBuilderRef b = vec->builder;
  int bits = vec_register_bits(op->type), width = type_bits(op->type);
  LLVMValueRef amount = operands[1], x = operands[0];
  LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULT, amount, vec_int(vec, bits, width, lanes), "");
  if (op->opcode == HLO_SHIFT_RIGHT_ARITHMETIC) {
    /* unsigned values keep their top bit's meaning: it is the sign here */
    amount = LLVMBuildSelect(b, small, amount, vec_int(vec, bits, width - 1, lanes), "");
    if (width < bits)
      x = LLVMBuildAShr(b, LLVMBuildShl(b, x, vec_int(vec, bits, bits - width, lanes), ""),
                        vec_int(vec, bits, bits - width, lanes), "");
    return LLVMBuildAShr(b, x, amount, "");
  }
  LLVMValueRef safe = LLVMBuildSelect(b, small, amount, zero_of(amount), "");
  if (op->opcode == HLO_SHIFT_RIGHT_LOGICAL && width < bits)
    x = LLVMBuildAnd(b, x, vec_int(vec, bits, (1 << width) - 1, lanes), "");
  LLVMValueRef shifted = op->opcode == HLO_SHIFT_LEFT ? LLVMBuildShl(b, x, safe, "") : LLVMBuildLShr(b, x, safe, "");
  return LLVMBuildSelect(b, small, shifted, zero_of(shifted), "");
}

VEC_RULE(vec_int_popcnt) {
  int bits = vec_register_bits(op->type), width = type_bits(op->type);
  LLVMValueRef x = operands[0];
  if (width < bits) x = LLVMBuildAnd(vec->builder, x, vec_int(vec, bits, (1 << width) - 1, lanes), "");
  LLVMTypeRef type = LLVMTypeOf(x);
  return vec_intrinsic(vec, "llvm.ctpop", &type, 1, &x, 1);
}

VEC_RULE(vec_int_clz) {
  int bits = vec_register_bits(op->type), width = type_bits(op->type);
  LLVMValueRef x = operands[0];
  if (width < bits) x = LLVMBuildAnd(vec->builder, x, vec_int(vec, bits, (1 << width) - 1, lanes), "");
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef arguments[] = {x, LLVMConstInt(LLVMInt1TypeInContext(vec->context), 0, false)};
  LLVMValueRef count = vec_intrinsic(vec, "llvm.ctlz", &type, 1, arguments, 2);
  return width < bits ? LLVMBuildSub(vec->builder, count, vec_int(vec, bits, bits - width, lanes), "") : count;
}

VEC_RULE(vec_int_mulhi) {
  LLVMBuilderRef b = vec->builder;
  int bits = type_bits(op->type);
  bool is_signed = type_is_signed(op->type);
  if (bits < 8) { /* the register holds the whole product */
    LLVMValueRef whole = LLVMBuildMul(b, operands[0], operands[1], ""), by = vec_int(vec, 8, bits, lanes);
    return is_signed ? LLVMBuildAShr(b, whole, by, "") : LLVMBuildLShr(b, whole, by, "");
  }
  LLVMTypeRef wide = vec_of(LLVMIntTypeInContext(vec->context, (unsigned)bits * 2), lanes);
  LLVMValueRef factors[2];
  for (int i = 0; i < 2; i++) {
    factors[i] = is_signed ? LLVMBuildSExt(b, operands[i], wide, "") : LLVMBuildZExt(b, operands[i], wide, "");
  }
  LLVMValueRef product = LLVMBuildMul(b, factors[0], factors[1], "");
  LLVMValueRef high = LLVMBuildLShr(b, product, vec_int(vec, bits * 2, bits, lanes), "");
  return LLVMBuildTrunc(b, high, LLVMTypeOf(operands[0]), "");
}

/* result·base^exponent by squaring, until no lane has bits left. */
static LLVMValueRef power_by_squaring(const VecBuilder *vec, LLVMValueRef base, LLVMValueRef exponent, int bits,
                                      int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef one = vec_int(vec, bits, 1, lanes), result = one, *carried[] = {&result, &base, &exponent};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  LLVMValueRef bit = LLVMBuildAnd(b, exponent, one, "");
  LLVMValueRef is_set = LLVMBuildICmp(b, LLVMIntNE, bit, zero_of(bit), "");
  LLVMValueRef product = LLVMBuildMul(b, result, base, "");
  result = LLVMBuildSelect(b, is_set, product, result, "");
  base = LLVMBuildMul(b, base, base, "");
  exponent = LLVMBuildLShr(b, exponent, one, "");
  LLVMValueRef more = LLVMBuildICmp(b, LLVMIntNE, exponent, zero_of(exponent), "");
  ir_loop_end_while(&loop, vec_any(vec, more, lanes));
  return result;
}

/* x^-n is 0 but for x = 1 (1) and x = -1 (±1), as XLA has it; 0^-n is 0, too. */
VEC_RULE(vec_int_power) {
  LLVMBuilderRef b = vec->builder;
  int bits = vec_register_bits(op->type);
  LLVMValueRef x = operands[0], exponent = operands[1], one = vec_int(vec, bits, 1, lanes), zero = zero_of(one);
  if (!type_is_signed(op->type)) return power_by_squaring(vec, x, exponent, bits, lanes);
  LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntSLT, exponent, zero, "");
  LLVMValueRef result = power_by_squaring(vec, x, LLVMBuildSelect(b, negative, zero, exponent, ""), bits, lanes);
  LLVMValueRef ones = vec_int(vec, bits, -1, lanes);
  LLVMValueRef odd = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, exponent, one, ""), zero, "");
  LLVMValueRef of_minus_one = LLVMBuildSelect(b, odd, ones, one, "");
  LLVMValueRef inverse = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, x, one, ""), one, zero, "");
  inverse = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, x, ones, ""), of_minus_one, inverse, "");
  return LLVMBuildSelect(b, negative, inverse, result, "");
}
