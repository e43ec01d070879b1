/* Floats of 8, 6 and 4 bits: f32 in registers, a byte in memory.  Everything about a type follows from hlo/type's
 * decoding of a few patterns. */
#include <math.h>

#include "codegen/vec/vec_internal.h"
#include "hlo/type/float_types.h"

typedef struct NarrowFloat {
  int mantissa, sign_bit, bias;
  int least_special;     /* magnitude pattern from which on there are infinities and NaN; past the last one: none */
  bool only_nan;         /* no infinity among them */
  int negative_zero_nan; /* 1 where the pattern of -0 is the NaN */
  uint64_t nan[2], infinity[2], over[2]; /* patterns for each sign */
} NarrowFloat;

bool vec_is_narrow_float(PrimitiveType type) {
  return type_is_float(type) && type_bits(type) <= 8;
}

static NarrowFloat describe(PrimitiveType type) {
  NarrowFloat f = {.mantissa = type_info(type)->mantissa_bits, .sign_bit = type_bits(type) - 1};
  f.bias = 1 - ilogb(float_decode(type, UINT64_C(1) << f.mantissa));
  int count = 1 << f.sign_bit;
  for (f.least_special = 0; f.least_special < count; f.least_special++) {
    if (!isfinite(float_decode(type, (uint64_t)f.least_special))) break;
  }
  f.only_nan = !float_has_infinity(type);
  f.negative_zero_nan = isnan(float_decode(type, (uint64_t)count));
  for (int s = 0; s < 2; s++) {
    double sign = s == 0 ? 1 : -1;
    f.nan[s] = float_encode(type, copysign((double)NAN, sign));
    f.infinity[s] = float_encode(type, copysign((double)INFINITY, sign));
    f.over[s] = float_encode(type, sign * float_max(type) * 2);
  }
  return f;
}

static LLVMValueRef number(const VecBuilder *vec, int64_t value, int lanes) {
  return vec_int(vec, 32, value, lanes);
}

/* --- f8e8m0fnu: powers of two by their exponent, 0xff NaN, neither zero nor signs --- */

static LLVMValueRef exponent_to_float(const VecBuilder *vec, LLVMValueRef bits, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef wide = LLVMBuildZExt(b, bits, vec_type(vec, TYPE_S32, lanes), "");
  LLVMValueRef word = LLVMBuildShl(b, wide, number(vec, 23, lanes), "");
  LLVMValueRef is_least = LLVMBuildICmp(b, LLVMIntEQ, wide, number(vec, 0, lanes), "");
  LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntEQ, wide, number(vec, 0xff, lanes), "");
  word = LLVMBuildSelect(b, is_least, number(vec, 0x400000, lanes), word, ""); /* 2^-127 is subnormal */
  word = LLVMBuildSelect(b, is_nan, number(vec, 0x7fc00000, lanes), word, "");
  return LLVMBuildBitCast(b, word, vec_type(vec, TYPE_F32, lanes), "");
}

/* Half and above goes up, except that all above the smallest does; what is not positive is NaN. */
static LLVMValueRef exponent_from_float(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef word = LLVMBuildBitCast(b, value, vec_type(vec, TYPE_S32, lanes), "");
  LLVMValueRef is_subnormal = LLVMBuildICmp(b, LLVMIntULT, word, number(vec, 0x800000, lanes), "");
  LLVMValueRef round = LLVMBuildSelect(b, is_subnormal, number(vec, 0x3fffff, lanes), number(vec, 0x400000, lanes), "");
  LLVMValueRef code = LLVMBuildLShr(b, LLVMBuildAdd(b, word, round, ""), number(vec, 23, lanes), "");
  LLVMValueRef is_positive = LLVMBuildICmp(b, LLVMIntSGT, word, number(vec, 0, lanes), "");
  LLVMValueRef is_number = LLVMBuildICmp(b, LLVMIntULE, word, number(vec, 0x7f800000, lanes), "");
  code = LLVMBuildSelect(b, LLVMBuildAnd(b, is_positive, is_number, ""), code, number(vec, 0xff, lanes), "");
  return LLVMBuildTrunc(b, code, vec_type(vec, TYPE_U8, lanes), "");
}

/* --- the others --- */

LLVMValueRef vec_narrow_to_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef bits, int lanes) {
  if (type == TYPE_F8E8M0FNU) return exponent_to_float(vec, bits, lanes);
  NarrowFloat f = describe(type);
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes), s32 = vec_type(vec, TYPE_S32, lanes);
  LLVMValueRef wide = LLVMBuildZExt(b, bits, s32, "");
  LLVMValueRef magnitude = LLVMBuildAnd(b, wide, number(vec, (1 << f.sign_bit) - 1, lanes), "");
  LLVMValueRef shifted = LLVMBuildShl(b, magnitude, number(vec, 23 - f.mantissa, lanes), "");
  LLVMValueRef word = vec_widen_exponent(vec, shifted, f.bias, lanes);
  if (f.least_special < 1 << f.sign_bit) {
    LLVMValueRef is_special = LLVMBuildICmp(b, LLVMIntUGE, magnitude, number(vec, f.least_special, lanes), "");
    LLVMValueRef special =
        f.only_nan ? number(vec, 0x7fc00000, lanes) : LLVMBuildOr(b, shifted, number(vec, 0x7f800000, lanes), "");
    word = LLVMBuildSelect(b, is_special, special, word, "");
  }
  LLVMValueRef sign = LLVMBuildAnd(b, wide, number(vec, INT64_C(1) << f.sign_bit, lanes), "");
  word = LLVMBuildOr(b, word, LLVMBuildShl(b, sign, number(vec, 31 - f.sign_bit, lanes), ""), "");
  if (f.negative_zero_nan) {
    LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntEQ, wide, number(vec, INT64_C(1) << f.sign_bit, lanes), "");
    word = LLVMBuildSelect(b, is_nan, number(vec, (int64_t)0xffc00000, lanes), word, "");
  }
  return LLVMBuildBitCast(b, word, f32, "");
}

/* |size| to the nearest multiple of its unit: adding 1.5·2^23 units leaves no room for less. */
static LLVMValueRef round_size(const VecBuilder *vec, const NarrowFloat *f, LLVMValueRef size, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes), s32 = vec_type(vec, TYPE_S32, lanes);
  LLVMValueRef bits = LLVMBuildBitCast(b, size, s32, "");
  LLVMValueRef exponent = LLVMBuildAnd(b, bits, number(vec, 0x7f800000, lanes), "");
  LLVMValueRef least = number(vec, (int64_t)(127 + 1 - f->bias) << 23, lanes);
  LLVMValueRef is_less = LLVMBuildICmp(b, LLVMIntULT, exponent, least, "");
  exponent = LLVMBuildSelect(b, is_less, least, exponent, "");
  LLVMValueRef offset = number(vec, ((int64_t)(23 - f->mantissa) << 23) | 0x400000, lanes);
  LLVMValueRef magic = LLVMBuildBitCast(b, LLVMBuildAdd(b, exponent, offset, ""), f32, "");
  return LLVMBuildFSub(b, LLVMBuildFAdd(b, size, magic, ""), magic, "");
}

static LLVMValueRef by_sign(const VecBuilder *vec, LLVMValueRef is_negative, const uint64_t patterns[2], int lanes) {
  return LLVMBuildSelect(vec->builder, is_negative, number(vec, (int64_t)patterns[1], lanes),
                         number(vec, (int64_t)patterns[0], lanes), "");
}

LLVMValueRef vec_narrow_from_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  if (type == TYPE_F8E8M0FNU) return exponent_from_float(vec, value, lanes);
  NarrowFloat f = describe(type);
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes), s32 = vec_type(vec, TYPE_S32, lanes);
  double greatest = float_max(type);
  LLVMValueRef word = LLVMBuildBitCast(b, value, s32, "");
  LLVMValueRef is_negative = LLVMBuildICmp(b, LLVMIntSLT, word, number(vec, 0, lanes), "");
  LLVMValueRef bits = LLVMBuildAnd(b, word, number(vec, 0x7fffffff, lanes), "");
  LLVMValueRef size = LLVMBuildBitCast(b, bits, f32, "");
  LLVMValueRef bound = vec_constant_double(vec, TYPE_F32, greatest * 2, lanes);
  LLVMValueRef is_bounded = LLVMBuildFCmp(b, LLVMRealOLT, size, bound, "");
  LLVMValueRef rounded = round_size(vec, &f, LLVMBuildSelect(b, is_bounded, size, bound, ""), lanes);
  LLVMValueRef limit = vec_constant_double(vec, TYPE_F32, greatest, lanes);
  LLVMValueRef is_over = LLVMBuildFCmp(b, LLVMRealOGT, rounded, limit, "");
  LLVMValueRef narrowed = vec_narrow_exponent(vec, rounded, f.bias, lanes);
  LLVMValueRef code = LLVMBuildLShr(b, narrowed, number(vec, 23 - f.mantissa, lanes), "");
  LLVMValueRef sign = LLVMBuildAnd(b, LLVMBuildLShr(b, word, number(vec, 31 - f.sign_bit, lanes), ""),
                                   number(vec, INT64_C(1) << f.sign_bit, lanes), "");
  LLVMValueRef with_sign = LLVMBuildOr(b, code, sign, "");
  if (f.negative_zero_nan) {
    LLVMValueRef is_zero = LLVMBuildICmp(b, LLVMIntEQ, code, number(vec, 0, lanes), "");
    with_sign = LLVMBuildSelect(b, is_zero, code, with_sign, "");
  }
  LLVMValueRef infinity = number(vec, 0x7f800000, lanes);
  LLVMValueRef is_infinite = LLVMBuildICmp(b, LLVMIntEQ, bits, infinity, "");
  LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntUGT, bits, infinity, "");
  LLVMValueRef result = LLVMBuildSelect(b, is_over, by_sign(vec, is_negative, f.over, lanes), with_sign, "");
  result = LLVMBuildSelect(b, is_infinite, by_sign(vec, is_negative, f.infinity, lanes), result, "");
  result = LLVMBuildSelect(b, is_nan, by_sign(vec, is_negative, f.nan, lanes), result, "");
  return LLVMBuildTrunc(b, result, vec_type(vec, TYPE_U8, lanes), "");
}
