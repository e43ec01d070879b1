/* Powers, roots, erf, and the floating remainder. */
#include "codegen/vec/math_internal.h"

static LLVMValueRef in_double(const Math *m, LLVMValueRef x) {
  return m->is_double ? x : m_widen(m, x);
}

static LLVMValueRef from_double(const Math *m, LLVMValueRef x) {
  return m->is_double ? x : m_narrow(m, x);
}

static LLVMValueRef is_whole(const Math *d, LLVMValueRef x) {
  return m_compare(d, LLVMRealOEQ, m_rint(d, x), x);
}

/* exp(y·log|x|) with IEEE 754's special cases of pow. */
VEC_RULE(vec_math_pow) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]), y = in_double(&m, operands[1]);
  LLVMValueRef size = m_abs(&d, x), one = m_const(&d, 1);
  LLVMValueRef result = math_exp(&d, m_mul(&d, y, math_log(&d, size)));
  LLVMValueRef whole = is_whole(&d, y);
  LLVMValueRef half = m_mul(&d, y, m_const(&d, 0.5));
  LLVMValueRef odd = LLVMBuildAnd(d.b, whole, LLVMBuildNot(d.b, is_whole(&d, half), ""), "");
  LLVMValueRef negative = LLVMBuildICmp(d.b, LLVMIntSLT, m_bits(&d, x), m_int(&d, 0), "");
  LLVMValueRef flips = LLVMBuildAnd(d.b, negative, odd, "");
  LLVMValueRef flipped = m_select(&d, flips, m_neg(&d, result), result);
  LLVMValueRef finite_negative = LLVMBuildAnd(d.b, m_compare_to(&d, LLVMRealOLT, x, 0), m_compare_to(&d, LLVMRealOGT, x, -__builtin_inf()), "");
  LLVMValueRef invalid = LLVMBuildAnd(d.b, finite_negative, LLVMBuildNot(d.b, whole, ""), "");
  LLVMValueRef value = m_select(&d, invalid, m_const(&d, __builtin_nan("")), flipped);
  /* (±1)^±inf = 1, x^0 = 1, 1^y = 1, NaN included */
  LLVMValueRef unit = LLVMBuildAnd(d.b, m_compare_to(&d, LLVMRealOEQ, size, 1),
                                   m_compare_to(&d, LLVMRealOEQ, m_abs(&d, y), __builtin_inf()), "");
  LLVMValueRef is_one = LLVMBuildOr(d.b, m_compare_to(&d, LLVMRealOEQ, y, 0), m_compare_to(&d, LLVMRealOEQ, x, 1), "");
  return from_double(&m, m_select(&d, LLVMBuildOr(d.b, unit, is_one, ""), one, value));
}

/* exp(log|x| / 3), then one step of Newton's method. */
VEC_RULE(vec_math_cbrt) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]), size = m_abs(&d, x);
  LLVMValueRef root = math_exp(&d, m_mul(&d, math_log(&d, size), m_const(&d, 1.0 / 3)));
  LLVMValueRef error = m_sub(&d, m_div(&d, size, m_mul(&d, root, root)), root);
  LLVMValueRef better = m_fma(&d, error, m_const(&d, 1.0 / 3), root);
  LLVMValueRef ordinary = LLVMBuildAnd(d.b, m_compare_to(&d, LLVMRealOGT, size, 0), m_compare_to(&d, LLVMRealOLT, size, __builtin_inf()), "");
  return from_double(&m, m_copysign(&d, m_select(&d, ordinary, better, size), x));
}

/* --- erf --- */

#define ERF_TERMS 140

/* 2/sqrt(π)·exp(-x²)·Σ 2^n x^(2n+1) / (2n+1)!!: all terms positive, enough of them for |x| <= 6, where erf is 1. */
static LLVMValueRef erf_double(const Math *d, LLVMValueRef x) {
  double series[ERF_TERMS];
  double term = 1;
  for (int n = 0; n < ERF_TERMS; n++) {
    series[ERF_TERMS - 1 - n] = term;
    term *= 2.0 / (2 * n + 3);
  }
  LLVMValueRef size = m_clamp(d, m_abs(d, x), 0, 6), square = m_mul(d, size, size);
  LLVMValueRef sum = m_mul(d, size, m_polynomial(d, square, series, ERF_TERMS));
  LLVMValueRef result = m_mul(d, m_mul(d, sum, m_const(d, 1.12837916709551257390)), math_exp(d, m_neg(d, square)));
  result = m_select(d, m_compare_to(d, LLVMRealOGT, result, 1), m_const(d, 1), result);
  return m_copysign(d, result, x);
}

/* Two minimax polynomials: erf itself below 0.92, log(erfc) above. */
static LLVMValueRef erf_single(const Math *m, LLVMValueRef x) {
  static const double near_series[] = {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1};
  static const double far_series[] = {-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2,
                                      -1.06777877e-1, -6.34846687e-1, -1.28717512e-1, 0};
  LLVMValueRef size = m_abs(m, x);
  LLVMValueRef near = m_fma(m, m_polynomial(m, m_mul(m, x, x), near_series, 6), x, x);
  LLVMValueRef t = m_clamp(m, size, 0, 4.5);
  LLVMValueRef exponent = m_sub(m, m_polynomial(m, t, far_series, 8), t);
  LLVMValueRef far = m_copysign(m, m_sub(m, m_const(m, 1), math_exp(m, exponent)), x);
  return m_select(m, m_compare_to(m, LLVMRealOGT, size, 0.921875), far, near);
}

VEC_RULE(vec_math_erf) {
  Math m = math_of(vec, op->type, lanes);
  return m.is_double ? erf_double(&m, operands[0]) : erf_single(&m, operands[0]);
}

/* --- remainder --- */

/* x - trunc(x / y)·y in f64, exact for f32 whose quotient is below 2^53; larger quotients take further rounds. */
VEC_RULE(vec_float_remainder) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = in_double(&m, operands[0]), y = in_double(&m, operands[1]);
  LLVMValueRef rest = m_abs(&d, x), size = m_abs(&d, y);
  VecOp floor_op = {HLO_FLOOR, TYPE_F64, TYPE_F64, {0, 0}};
  for (int round = 0; round < 3; round++) {
    LLVMValueRef ratio = m_div(&d, rest, size);
    LLVMValueRef quotient = vec_apply(vec, &floor_op, &ratio, lanes);
    LLVMValueRef next = m_fma(&d, m_neg(&d, quotient), size, rest);
    rest = m_select(&d, m_compare_to(&d, LLVMRealOLT, next, 0), m_add(&d, next, size), next);
  }
  rest = m_select(&d, m_compare(&d, LLVMRealOGE, rest, size), m_sub(&d, rest, size), rest);
  LLVMValueRef unchanged = m_compare_to(&d, LLVMRealOEQ, size, __builtin_inf());
  LLVMValueRef finite = m_compare_to(&d, LLVMRealOLT, m_abs(&d, x), __builtin_inf());
  LLVMValueRef result = m_copysign(&d, rest, x);
  result = m_select(&d, LLVMBuildAnd(d.b, unchanged, finite, ""), x, result);
  return from_double(&m, result);
}
