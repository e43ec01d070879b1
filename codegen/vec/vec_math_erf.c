/* The error function. */
#include "codegen/vec/math_internal.h"

/* From 3.92 on it rounds to 1.  Without tables 1 - exp(y) as expm1, so that small results keep their digits, y = x +
 * x·Q(x) with x below 0. */
static LLVMValueRef erf_single(const Math *m, LLVMValueRef x) {
  if (m_has_tables(m)) return m_copysign(m, m_pieces(m, x, &pieces_erf), x);
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
