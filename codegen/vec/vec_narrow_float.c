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
  bool is_short_f16;     /* the upper byte of an f16, NaN and infinities included */
  uint64_t nan, over;    /* patterns of positive ones; over: beyond the greatest number, and infinite */
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
  f.nan = float_encode(type, (double)NAN);
  f.over = float_encode(type, (double)INFINITY);
  f.is_short_f16 = !f.only_nan && f.over << 8 == float_encode(TYPE_F16, (double)INFINITY) && f.bias == 15;
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
  if (f.is_short_f16 && vec->target->has_f16c) {
    LLVMValueRef half = LLVMBuildZExt(b, bits, vec_type(vec, TYPE_S16, lanes), "");
    half = LLVMBuildShl(b, half, vec_int(vec, 16, 8, lanes), "");
    return vec_f16_bits_to_float(vec, half, lanes);
  }
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

LLVMValueRef vec_f32_bits(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  return LLVMBuildBitCast(vec->builder, value, vec_type(vec, TYPE_S32, lanes), "");
}

static uint32_t float_bits(double value) {
  return (uint32_t)float_encode(TYPE_F32, value);
}

/* The greatest f32, as bits, that does not round to more than the type's greatest number: halfway to what would be the
 * next one, where that rounds down. */
static int64_t last_rounded(PrimitiveType type, const NarrowFloat *f) {
  double greatest = float_max(type), half_unit = ldexp(0.5, ilogb(greatest) - f->mantissa);
  return (int64_t)float_bits(greatest + half_unit) - (int64_t)(float_encode(type, greatest) & 1);
}

LLVMValueRef vec_narrow_round(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  if (type == TYPE_F8E8M0FNU) return exponent_to_float(vec, exponent_from_float(vec, value, lanes), lanes);
  NarrowFloat f = describe(type);
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes);
  LLVMValueRef word = vec_f32_bits(vec, value, lanes), infinity = number(vec, 0x7f800000, lanes);
  LLVMValueRef size = LLVMBuildAnd(b, word, number(vec, 0x7fffffff, lanes), "");
  LLVMValueRef rounded = vec_f32_bits(vec, round_size(vec, &f, LLVMBuildBitCast(b, size, f32, ""), lanes), lanes);
  double over = fabs(float_decode(type, f.over));
  LLVMValueRef beyond = number(vec, isnan(over) ? 0x7fc00000 : (int64_t)float_bits(over), lanes);
  LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntUGT, size, infinity, "");
  if (isinf(over)) beyond = LLVMBuildSelect(b, is_nan, size, beyond, "");
  LLVMValueRef is_beyond = LLVMBuildICmp(b, LLVMIntUGT, size, number(vec, last_rounded(type, &f), lanes), "");
  LLVMValueRef result = LLVMBuildSelect(b, is_beyond, beyond, rounded, "");
  LLVMValueRef sign = LLVMBuildAnd(b, word, number(vec, (int64_t)0x80000000, lanes), "");
  result = LLVMBuildOr(b, result, sign, "");
  if (isfinite(over)) /* the type has no NaN */
    result = LLVMBuildSelect(b, is_nan, number(vec, float_bits(float_decode(type, f.nan)), lanes), result, "");
  result = LLVMBuildBitCast(b, result, f32, "");
  if (!f.negative_zero_nan) return result;
  return LLVMBuildFAdd(b, result, vec_constant_double(vec, TYPE_F32, 0, lanes), ""); /* 0 for -0 */
}

/* The pattern of |size|, bits of an f32 without sign that is a number of the type.  One that is subnormal there stands
 * in the lowest bits of the sum with a power of two of which they are the unit. */
static LLVMValueRef size_pattern(const VecBuilder *vec, const NarrowFloat *f, LLVMValueRef size, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes);
  LLVMValueRef above = LLVMBuildSub(b, size, number(vec, (int64_t)(127 - f->bias) << 23, lanes), "");
  LLVMValueRef normal = LLVMBuildLShr(b, above, number(vec, 23 - f->mantissa, lanes), "");
  double anchor = ldexp(1, 24 - f->bias - f->mantissa);
  LLVMValueRef sum =
      LLVMBuildFAdd(b, LLVMBuildBitCast(b, size, f32, ""), vec_constant_double(vec, TYPE_F32, anchor, lanes), "");
  LLVMValueRef subnormal = LLVMBuildSub(b, vec_f32_bits(vec, sum, lanes), number(vec, float_bits(anchor), lanes), "");
  LLVMValueRef least = number(vec, (int64_t)(128 - f->bias) << 23, lanes);
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, size, least, ""), subnormal, normal, "");
}

LLVMValueRef vec_narrow_from_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  if (type == TYPE_F8E8M0FNU) return exponent_from_float(vec, value, lanes);
  NarrowFloat f = describe(type);
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef u8 = vec_type(vec, TYPE_U8, lanes);
  if (f.is_short_f16 && vec->target->has_f16c) {
    LLVMValueRef half = vec_float_to_f16_bits(vec, value, lanes);
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, half, vec_int(vec, 16, 8, lanes), ""), u8, "");
  }
  LLVMValueRef word = vec_f32_bits(vec, value, lanes), zero = number(vec, 0, lanes);
  LLVMValueRef size = LLVMBuildAnd(b, word, number(vec, 0x7fffffff, lanes), "");
  LLVMValueRef code = size_pattern(vec, &f, size, lanes);
  if (!isfinite(float_decode(type, f.over))) {
    LLVMValueRef over = number(vec, (int64_t)f.over, lanes);
    code = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, code, over, ""), code, over, "");
  }
  if (f.nan != f.over && !f.only_nan) {
    LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntUGT, size, number(vec, 0x7f800000, lanes), "");
    code = LLVMBuildSelect(b, is_nan, number(vec, (int64_t)f.nan, lanes), code, "");
  }
  LLVMValueRef sign = LLVMBuildAnd(b, LLVMBuildLShr(b, word, number(vec, 31 - f.sign_bit, lanes), ""),
                                   number(vec, INT64_C(1) << f.sign_bit, lanes), "");
  if (f.negative_zero_nan) sign = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, size, zero, ""), zero, sign, "");
  return LLVMBuildTrunc(b, LLVMBuildOr(b, code, sign, ""), u8, "");
}
