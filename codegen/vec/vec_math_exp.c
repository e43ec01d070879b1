/* Exponentials and logarithms: exp, expm1, log, log1p, tanh, logistic, sinh, cosh, pow, cbrt. */
#include "codegen/vec/math_internal.h"

/* 1/k! from the highest power needed for |r| <= ln 2 / 2 down to 1/2! (f32: r^7, f64: r^13). */
static const double inverse_factorials[] = {
    1.6059043836821613e-10, 2.08767569878681e-09,   2.505210838544172e-08, 2.755731922398589e-07,
    2.7557319223985893e-06, 2.48015873015873e-05,   0.0001984126984126984, 0.001388888888888889,
    0.008333333333333333,   0.041666666666666664,   0.16666666666666666,   0.5,
};

typedef struct ExpParts {
  LLVMValueRef n; /* whole, as a float */
  LLVMValueRef p; /* exp(r) - 1 */
} ExpParts;

/* x = n·ln 2 + r; ln 2 in two parts so that n·high is exact. */
static ExpParts split_exp(const Math *m, LLVMValueRef x) {
  double high = m->is_double ? 6.93147180369123816490e-01 : 0.693359375;
  double low = m->is_double ? 1.90821492927058770002e-10 : -2.12194440054690583e-4;
  int first = m->is_double ? 0 : 6;
  ExpParts parts;
  parts.n = m_rint(m, m_mul(m, x, m_const(m, 1.4426950408889634)));
  LLVMValueRef r = m_fma(m, parts.n, m_const(m, -high), x);
  r = m_fma(m, parts.n, m_const(m, -low), r);
  LLVMValueRef tail = m_polynomial(m, r, inverse_factorials + first, 12 - first);
  parts.p = m_fma(m, m_mul(m, r, r), tail, r);
  return parts;
}

/* 2^n for whole n within the normal exponents. */
static LLVMValueRef power_of_two(const Math *m, LLVMValueRef n) {
  LLVMTypeRef integer = vec_type(m->vec, m->is_double ? TYPE_S64 : TYPE_S32, m->lanes);
  LLVMValueRef exponent = LLVMBuildFPToSI(m->b, n, integer, "");
  LLVMValueRef biased = LLVMBuildAdd(m->b, exponent, m_int(m, m->is_double ? 1023 : 127), "");
  return m_from_bits(m, LLVMBuildShl(m->b, biased, m_int(m, m->is_double ? 52 : 23), ""));
}

/* Two factors of about 2^(n/2): right down to subnormals and up to overflow. */
static LLVMValueRef scale(const Math *m, LLVMValueRef value, LLVMValueRef n) {
  LLVMValueRef half = m_rint(m, m_mul(m, n, m_const(m, 0.5)));
  value = m_mul(m, value, power_of_two(m, half));
  return m_mul(m, value, power_of_two(m, m_sub(m, n, half)));
}

/* NaN would be poison as an integer: computation goes on with 0 and NaN is put back at the end. */
static LLVMValueRef without_nan(const Math *m, LLVMValueRef x) {
  return m_select(m, m_compare(m, LLVMRealUNO, x, x), m_const(m, 0), x);
}

static LLVMValueRef restore_nan(const Math *m, LLVMValueRef x, LLVMValueRef result) {
  return m_select(m, m_compare(m, LLVMRealUNO, x, x), x, result);
}

LLVMValueRef math_exp(const Math *m, LLVMValueRef x) {
  double lower = m->is_double ? -746 : -104, upper = m->is_double ? 710 : 89;
  ExpParts parts = split_exp(m, m_clamp(m, without_nan(m, x), lower, upper));
  LLVMValueRef result = scale(m, m_add(m, parts.p, m_const(m, 1)), parts.n);
  return restore_nan(m, x, result);
}

/* 2^n·(exp(r) - 1) + (2^n - 1), computed at half scale so that n = 128 (1024) does not overflow early. */
LLVMValueRef math_expm1(const Math *m, LLVMValueRef x) {
  double lower = m->is_double ? -40 : -20, upper = m->is_double ? 710 : 89;
  ExpParts parts = split_exp(m, m_clamp(m, without_nan(m, x), lower, upper));
  LLVMValueRef half = power_of_two(m, m_sub(m, parts.n, m_const(m, 1)));
  LLVMValueRef sum = m_fma(m, half, parts.p, m_sub(m, half, m_const(m, 0.5)));
  LLVMValueRef result = m_add(m, sum, sum);
  result = m_select(m, m_compare_to(m, LLVMRealOEQ, x, 0), x, result);
  return restore_nan(m, x, result);
}

/* 2/(2k+1) for log's series in s², k from high to 1: f64 from s^22, f32 from s^10. */
static const double log_series[] = {2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                    2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};

/* log of a positive normal m·2^e with sqrt(1/2) <= m < sqrt(2), after fdlibm: s = f/(2+f), log(1+f) = f - (f²/2 - s·(f²/2 + R(s²))). */
static LLVMValueRef log_normal(const Math *m, LLVMValueRef x, LLVMValueRef extra_exponent) {
  int mantissa = m->is_double ? 52 : 23;
  int64_t root_half = m->is_double ? INT64_C(0x3fe6a09e667f3bcd) : 0x3f3504f3;
  LLVMValueRef shifted = LLVMBuildSub(m->b, m_bits(m, x), m_int(m, root_half), "");
  LLVMValueRef exponent = LLVMBuildAShr(m->b, shifted, m_int(m, mantissa), "");
  LLVMValueRef rest = LLVMBuildAnd(m->b, shifted, m_int(m, (INT64_C(1) << mantissa) - 1), "");
  LLVMValueRef fraction = m_from_bits(m, LLVMBuildAdd(m->b, rest, m_int(m, root_half), ""));
  LLVMValueRef e = LLVMBuildSIToFP(m->b, exponent, vec_type(m->vec, m->type, m->lanes), "");
  e = m_add(m, e, extra_exponent);
  LLVMValueRef f = m_sub(m, fraction, m_const(m, 1));
  LLVMValueRef s = m_div(m, f, m_add(m, f, m_const(m, 2)));
  LLVMValueRef z = m_mul(m, s, s);
  int first = m->is_double ? 0 : 7;
  LLVMValueRef series = m_mul(m, z, m_polynomial(m, z, log_series + first, 12 - first));
  LLVMValueRef half_square = m_mul(m, m_mul(m, f, f), m_const(m, 0.5));
  double high = m->is_double ? 6.93147180369123816490e-01 : 6.9313812256e-01;
  double low = m->is_double ? 1.90821492927058770002e-10 : 9.0580006145e-06;
  LLVMValueRef inner = m_fma(m, s, m_add(m, half_square, series), m_mul(m, e, m_const(m, low)));
  LLVMValueRef correction = m_sub(m, m_sub(m, half_square, inner), f);
  return m_sub(m, m_mul(m, e, m_const(m, high)), correction);
}

LLVMValueRef math_log(const Math *m, LLVMValueRef x) {
  double least = m->is_double ? 0x1p-1022 : 0x1p-126, lift = m->is_double ? 0x1p54 : 0x1p25;
  LLVMValueRef is_small = m_compare_to(m, LLVMRealOLT, x, least);
  LLVMValueRef normal = m_select(m, is_small, m_mul(m, x, m_const(m, lift)), x);
  LLVMValueRef extra = m_select(m, is_small, m_const(m, m->is_double ? -54 : -25), m_const(m, 0));
  LLVMValueRef result = log_normal(m, normal, extra);
  result = m_select(m, m_compare_to(m, LLVMRealOEQ, x, __builtin_inf()), x, result);
  result = m_select(m, m_compare_to(m, LLVMRealOEQ, x, 0), m_const(m, -__builtin_inf()), result);
  LLVMValueRef invalid = m_compare_to(m, LLVMRealULT, x, 0);
  return m_select(m, invalid, m_const(m, __builtin_nan("")), result);
}

/* log(u) + (x - (u - 1)) / u with u = 1 + x rounded: the second term restores what the rounding lost. */
LLVMValueRef math_log1p(const Math *m, LLVMValueRef x) {
  LLVMValueRef u = m_add(m, x, m_const(m, 1));
  LLVMValueRef lost = m_sub(m, x, m_sub(m, u, m_const(m, 1)));
  LLVMValueRef result = m_add(m, math_log(m, u), m_div(m, lost, u));
  LLVMValueRef special = m_compare_to(m, LLVMRealOEQ, x, -1);
  result = m_select(m, special, m_const(m, -__builtin_inf()), result);
  result = m_select(m, m_compare_to(m, LLVMRealOEQ, x, __builtin_inf()), x, result);
  return m_select(m, m_compare_to(m, LLVMRealOEQ, x, 0), x, result);
}

VEC_RULE(vec_math_exp) {
  Math m = math_of(vec, op->type, lanes);
  return math_exp(&m, operands[0]);
}

VEC_RULE(vec_math_expm1) {
  Math m = math_of(vec, op->type, lanes);
  return math_expm1(&m, operands[0]);
}

VEC_RULE(vec_math_log) {
  Math m = math_of(vec, op->type, lanes);
  return math_log(&m, operands[0]);
}

VEC_RULE(vec_math_log1p) {
  Math m = math_of(vec, op->type, lanes);
  return math_log1p(&m, operands[0]);
}

/* t/(t+2) with t = expm1(2|x|). */
VEC_RULE(vec_math_tanh) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef size = m_clamp(&m, m_abs(&m, operands[0]), 0, m.is_double ? 22 : 10);
  LLVMValueRef t = math_expm1(&m, m_add(&m, size, size));
  LLVMValueRef result = m_div(&m, t, m_add(&m, t, m_const(&m, 2)));
  return m_copysign(&m, result, operands[0]);
}

VEC_RULE(vec_math_logistic) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef e = math_exp(&m, m_neg(&m, operands[0]));
  return m_div(&m, m_const(&m, 1), m_add(&m, e, m_const(&m, 1)));
}

/* (t + t/(t+1)) / 2 with t = expm1(|x|); exp(|x| - ln 2) where expm1 would overflow first. */
VEC_RULE(vec_math_sinh) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef size = m_abs(&m, operands[0]);
  LLVMValueRef t = math_expm1(&m, m_clamp(&m, size, 0, m.is_double ? 700 : 80));
  LLVMValueRef near = m_mul(&m, m_add(&m, t, m_div(&m, t, m_add(&m, t, m_const(&m, 1)))), m_const(&m, 0.5));
  LLVMValueRef half = math_exp(&m, m_mul(&m, size, m_const(&m, 0.5)));
  LLVMValueRef far = m_mul(&m, m_mul(&m, half, m_const(&m, 0.5)), half);
  LLVMValueRef result = m_select(&m, m_compare_to(&m, LLVMRealOGT, size, m.is_double ? 700 : 80), far, near);
  return m_copysign(&m, result, operands[0]);
}

VEC_RULE(vec_math_cosh) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef size = m_abs(&m, operands[0]);
  LLVMValueRef half = math_exp(&m, m_mul(&m, size, m_const(&m, 0.5)));
  LLVMValueRef far = m_mul(&m, m_mul(&m, half, m_const(&m, 0.5)), half);
  LLVMValueRef e = math_exp(&m, m_clamp(&m, size, 0, m.is_double ? 700 : 80));
  LLVMValueRef near = m_mul(&m, m_add(&m, e, m_div(&m, m_const(&m, 1), e)), m_const(&m, 0.5));
  return m_select(&m, m_compare_to(&m, LLVMRealOGT, size, m.is_double ? 700 : 80), far, near);
}
