/* The error function. */
#include "codegen/vec/math_internal.h"

/* x + x·P(x²) below 1; 1 - exp(-x²)·E above, E a polynomial in (x - 2)/(x + 2) (f64), or 1 - exp(L(x)) (f32). */
VEC_RULE(vec_math_erf) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef x = operands[0], one = m_const(&m, 1), square = m_mul(&m, x, x), complement;
  LLVMValueRef size = m_clamp(&m, m_abs(&m, x), 0, m.is_double ? 6 : 4);
  LLVMValueRef near =
      m_fma(&m, m_polynomial(&m, square, m.is_double ? &fit_erf_near_double : &fit_erf_near_single), x, x);
  LLVMValueRef bounded = m_clamp(&m, size, 1, 6);
  if (m.is_double) {
    LLVMValueRef two = m_const(&m, 2), u = m_div(&m, m_sub(&m, bounded, two), m_add(&m, bounded, two));
    LLVMValueRef decay = math_exp_moderate(&m, m_neg(&m, m_mul(&m, bounded, bounded)));
    complement = m_mul(&m, decay, m_polynomial(&m, u, &fit_erf_far_double));
  } else {
    complement = math_exp_moderate(&m, m_polynomial(&m, bounded, &fit_erf_far_single));
  }
  LLVMValueRef far = m_copysign(&m, m_sub(&m, one, complement), x);
  return m_select(&m, m_compare_to(&m, LLVMRealOGE, size, 1), far, near);
}
