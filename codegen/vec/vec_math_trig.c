/* Trigonometric functions and their inverses, computed in f64 (f32 results are rounded once more). */
#include "codegen/vec/math_internal.h"

/* sin r = r + r³·S(r²), cos r = 1 - r²/2 + r⁴·C(r²) for |r| <= π/4: Taylor series, whose next terms are below 1e-19. */
static const double sin_series[] = {1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
                                    1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
static const double cos_series[] = {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                                    1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};

typedef struct SinCos {
  LLVMValueRef sin, cos;
} SinCos;

static LLVMValueRef in_double(const Math *m, LLVMValueRef x) {
  return m->is_double ? x : m_widen(m, x);
}

static LLVMValueRef from_double(const Math *m, LLVMValueRef x) {
  return m->is_double ? x : m_narrow(m, x);
}

/* x = n·π/2 + r with π/2 in three parts of 33 bits (Cody and Waite): |n| < 2^20 exactly, beyond with growing error. */
static LLVMValueRef reduce(const Math *d, LLVMValueRef x, LLVMValueRef *out_quadrant) {
  LLVMValueRef n = m_rint(d, m_mul(d, x, m_const(d, 0.63661977236758138243)));
  LLVMValueRef r = m_fma(d, n, m_const(d, -1.57079632673412561417e+00), x);
  r = m_fma(d, n, m_const(d, -6.07710050630396597660e-11), r);
  r = m_fma(d, n, m_const(d, -2.02226624879595063154e-21), r);
  LLVMValueRef bounded = m_clamp(d, m_select(d, m_compare(d, LLVMRealUNO, n, n), m_const(d, 0), n), -0x1p52, 0x1p52);
  *out_quadrant = LLVMBuildFPToSI(d->b, bounded, vec_type(d->vec, TYPE_S64, d->lanes), "");
  return r;
}

static LLVMValueRef has_bit(const Math *d, LLVMValueRef word, int64_t bit) {
  LLVMValueRef masked = LLVMBuildAnd(d->b, word, m_int(d, bit), "");
  return LLVMBuildICmp(d->b, LLVMIntNE, masked, m_int(d, 0), "");
}

static SinCos sin_cos(const Math *d, LLVMValueRef x) {
  LLVMValueRef quadrant;
  LLVMValueRef r = reduce(d, x, &quadrant), z = m_mul(d, r, r);
  LLVMValueRef sine = m_fma(d, m_mul(d, z, r), m_polynomial(d, z, sin_series, 8), r);
  LLVMValueRef cosine = m_fma(d, m_mul(d, z, z), m_polynomial(d, z, cos_series, 7), m_fma(d, z, m_const(d, -0.5), m_const(d, 1)));
  LLVMValueRef odd = has_bit(d, quadrant, 1), upper = has_bit(d, quadrant, 2);
  LLVMValueRef next_upper = has_bit(d, LLVMBuildAdd(d->b, quadrant, m_int(d, 1), ""), 2);
  SinCos result = {m_select(d, odd, cosine, sine), m_select(d, odd, sine, cosine)};
  result.sin = m_select(d, upper, m_neg(d, result.sin), result.sin);
  result.cos = m_select(d, next_upper, m_neg(d, result.cos), result.cos);
  return result;
}

VEC_RULE(vec_math_sin) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef result = from_double(&m, sin_cos(&d, in_double(&m, operands[0])).sin);
  return m_select(&m, m_compare_to(&m, LLVMRealOEQ, operands[0], 0), operands[0], result);
}

VEC_RULE(vec_math_cos) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  return from_double(&m, sin_cos(&d, in_double(&m, operands[0])).cos);
}

VEC_RULE(vec_math_tan) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  SinCos both = sin_cos(&d, in_double(&m, operands[0]));
  LLVMValueRef result = from_double(&m, m_div(&d, both.sin, both.cos));
  return m_select(&m, m_compare_to(&m, LLVMRealOEQ, operands[0], 0), operands[0], result);
}

/* --- inverse functions --- */

#define ATAN_TERMS 14
#define HALF_PI 1.57079632679489661923

/* atan of 0 <= t <= 1: two halvings of the angle, atan t = 2·atan(t / (1 + sqrt(1 + t²))), then the series for t <= 0.199. */
static LLVMValueRef atan_unit(const Math *d, LLVMValueRef t) {
  double series[ATAN_TERMS];
  for (int k = 0; k < ATAN_TERMS; k++) series[ATAN_TERMS - 1 - k] = (k % 2 == 0 ? -1.0 : 1.0) / (2 * k + 3);
  for (int i = 0; i < 2; i++) {
    LLVMValueRef root = m_sqrt(d, m_fma(d, t, t, m_const(d, 1)));
    t = m_div(d, t, m_add(d, root, m_const(d, 1)));
  }
  LLVMValueRef z = m_mul(d, t, t);
  LLVMValueRef angle = m_fma(d, m_mul(d, z, t), m_polynomial(d, z, series, ATAN_TERMS), t);
  return m_mul(d, angle, m_const(d, 4));
}

/* The angle of (x, y) in [-π, π]. */
static LLVMValueRef atan2_double(const Math *d, LLVMValueRef y, LLVMValueRef x) {
  LLVMValueRef ay = m_abs(d, y), ax = m_abs(d, x);
  LLVMValueRef steep = m_compare(d, LLVMRealOGT, ay, ax);
  LLVMValueRef smaller = m_select(d, steep, ax, ay), larger = m_select(d, steep, ay, ax);
  LLVMValueRef equal = m_compare(d, LLVMRealOEQ, ay, ax); /* both infinite, or both zero */
  LLVMValueRef zero = m_compare_to(d, LLVMRealOEQ, larger, 0);
  LLVMValueRef quotient = m_select(d, equal, m_const(d, 1), m_div(d, smaller, larger));
  quotient = m_select(d, zero, m_const(d, 0), quotient);
  LLVMValueRef angle = atan_unit(d, quotient);
  angle = m_select(d, steep, m_sub(d, m_const(d, HALF_PI), angle), angle);
  LLVMValueRef negative = LLVMBuildICmp(d->b, LLVMIntSLT, m_bits(d, x), m_int(d, 0), "");
  angle = m_select(d, negative, m_sub(d, m_const(d, 2 * HALF_PI), angle), angle);
  LLVMValueRef result = m_copysign(d, angle, y);
  LLVMValueRef is_nan = m_compare(d, LLVMRealUNO, x, y);
  return m_select(d, is_nan, m_const(d, __builtin_nan("")), result);
}

VEC_RULE(vec_math_atan2) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  return from_double(&m, atan2_double(&d, in_double(&m, operands[0]), in_double(&m, operands[1])));
}

/* sqrt((1 - x)(1 + x)) */
static LLVMValueRef other_leg(const Math *d, LLVMValueRef x) {
  LLVMValueRef one = m_const(d, 1);
  return m_sqrt(d, m_mul(d, m_sub(d, one, x), m_add(d, one, x)));
}

VEC_RULE(vec_math_asin) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]);
  return from_double(&m, atan2_double(&d, x, other_leg(&d, x)));
}

VEC_RULE(vec_math_acos) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]);
  return from_double(&m, atan2_double(&d, other_leg(&d, x), x));
}

/* --- inverse hyperbolic functions --- */

/* log1p(|x| + x² / (1 + sqrt(x² + 1))), log(2|x|) where x² leaves the range. */
VEC_RULE(vec_math_asinh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]), size = m_abs(&d, x), square = m_mul(&d, size, size);
  LLVMValueRef root = m_sqrt(&d, m_add(&d, square, m_const(&d, 1)));
  LLVMValueRef near = math_log1p(&d, m_add(&d, size, m_div(&d, square, m_add(&d, root, m_const(&d, 1)))));
  LLVMValueRef far = m_add(&d, math_log(&d, size), m_const(&d, 0.69314718055994530942));
  LLVMValueRef result = m_select(&d, m_compare_to(&d, LLVMRealOGT, size, 0x1p28), far, near);
  return from_double(&m, m_copysign(&d, result, x));
}

/* log1p(t + sqrt(2t + t²)) with t = x - 1; log(2x) where that leaves the range. */
VEC_RULE(vec_math_acosh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]), t = m_sub(&d, x, m_const(&d, 1));
  LLVMValueRef root = m_sqrt(&d, m_fma(&d, t, t, m_add(&d, t, t)));
  LLVMValueRef near = math_log1p(&d, m_add(&d, t, root));
  LLVMValueRef far = m_add(&d, math_log(&d, x), m_const(&d, 0.69314718055994530942));
  LLVMValueRef result = m_select(&d, m_compare_to(&d, LLVMRealOGT, x, 0x1p28), far, near);
  LLVMValueRef invalid = m_compare_to(&d, LLVMRealULT, x, 1);
  return from_double(&m, m_select(&d, invalid, m_const(&d, __builtin_nan("")), result));
}

/* log1p(2x / (1 - x)) / 2 */
VEC_RULE(vec_math_atanh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]), size = m_abs(&d, x);
  LLVMValueRef ratio = m_div(&d, m_add(&d, size, size), m_sub(&d, m_const(&d, 1), size));
  LLVMValueRef result = m_mul(&d, math_log1p(&d, ratio), m_const(&d, 0.5));
  return from_double(&m, m_copysign(&d, result, x));
}
