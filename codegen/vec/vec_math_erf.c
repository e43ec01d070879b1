/* The error function and its complement. */
#include "codegen/vec/math_internal.h"

/* From 3.92 on it rounds to 1.  Without tables 1 - exp(y) as expm1, so that small results keep their digits, y = x +
 * x·Q(x) with x below 0. */
static LLVMValueRef erf_single(const Math *m, LLVMValueRef x) {
  if (m_has_tables(m)) {
    MathPlace place = m_place(m, x, pieces_erf.step);
    return m_copysign(m, m_pieces(m, &place, &pieces_erf), x);
  }
  LLVMValueRef below = m_at_least(m, m_neg(m, m_abs(m, x)), -3.95);
  LLVMValueRef exponent = m_fma(m, below, m_polynomial(m, below, &fit_erf_single), below);
  return m_copysign(m, math_expm1_moderate(m, exponent), x);
}

/* x + x·P(x²) below 1; 1 - exp(-x²)·E above, E a polynomial in (x - 2)/(x + 2). */
static LLVMValueRef erf_double(const Math *m, LLVMValueRef x) {
  LLVMValueRef one = m_const(m, 1), two = m_const(m, 2), square = m_mul(m, x, x);
  LLVMValueRef size = m_at_most(m, m_abs(m, x), 6), bounded = m_clamp(m, size, 1, 6);
  LLVMValueRef near = m_fma(m, m_polynomial(m, square, &fit_erf_near_double), x, x);
  LLVMValueRef u = m_div(m, m_sub(m, bounded, two), m_add(m, bounded, two));
  LLVMValueRef decay = math_exp_moderate(m, m_neg(m, m_mul(m, bounded, bounded)));
  LLVMValueRef complement = m_mul(m, decay, m_polynomial(m, u, &fit_erf_far_double));
  LLVMValueRef far = m_copysign(m, m_sub(m, one, complement), x);
  return m_select(m, m_compare_to(m, LLVMRealOGE, size, 1), far, near);
}

VEC_RULE(vec_math_erf) {
  Math m = math_of(vec, op->type, lanes);
  return m.is_double ? erf_double(&m, operands[0]) : erf_single(&m, operands[0]);
}

/* A polynomial in (x - center)/(x + center), term by term: at x = 0 its sum is larger than its first terms. */
static LLVMValueRef over_center(const Math *m, LLVMValueRef x, double center, const MathFit *fit) {
  LLVMValueRef middle = m_const(m, center), u = m_div(m, m_sub(m, x, middle), m_add(m, x, middle));
  LLVMValueRef sum = m_const(m, fit->terms[0]);
  for (int i = 1; i < fit->count; i++) sum = m_fma(m, sum, u, m_const(m, fit->terms[i]));
  return sum;
}

/* exp(-x²)·E(|x|), E in pieces or a polynomial over 3.  Beyond 10.06 it is 0. */
static LLVMValueRef erfc_of_size_single(const Math *m, LLVMValueRef x) {
  MathPlace place = m_place(m, x, pieces_erfc.step);
  LLVMValueRef scaled =
      m_has_tables(m) ? m_pieces(m, &place, &pieces_erfc) : over_center(m, place.size, 3, &fit_erfc_single);
  return math_decay(m, place.size, scaled);
}

/* 1 - erf below a half; the same as for f32 above, over 5.  Beyond 27.23 it is 0. */
static LLVMValueRef erfc_of_size_double(const Math *m, LLVMValueRef x) {
  LLVMValueRef size = m_at_most(m, m_abs(m, x), 27.25), square = m_mul(m, size, size);
  LLVMValueRef near = m_fma(m, m_polynomial(m, square, &fit_erf_near_double), size, size);
  LLVMValueRef far = math_decay(m, size, over_center(m, size, 5, &fit_erfc_double));
  return m_select(m, m_compare_to(m, LLVMRealOLT, size, 0.5), m_sub(m, m_const(m, 1), near), far);
}

/* 2 - erfc(-x) for negative x */
VEC_RULE(vec_math_erfc) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef x = operands[0], value = m.is_double ? erfc_of_size_double(&m, x) : erfc_of_size_single(&m, x);
  return m_select(&m, m_compare_to(&m, LLVMRealOLT, x, 0), m_sub(&m, m_const(&m, 2), value), value);
}
