/* A small notation for writing maths on lanes of f32 or f64. */
#ifndef XLAC_CODEGEN_VEC_MATH_INTERNAL_H
#define XLAC_CODEGEN_VEC_MATH_INTERNAL_H

#include "codegen/vec/vec_apply_internal.h"

typedef struct Math {
  const VecBuilder *vec;
  LLVMBuilderRef b;
  PrimitiveType type; /* F32 or F64 */
  bool is_double;
  int lanes;
} Math;

/* The arithmetic in which an operation of |type| is computed: f64 for f64, f32 for the others. */
Math math_of(const VecBuilder *vec, PrimitiveType type, int lanes);
/* The same lanes in f64. */
Math math_double(const Math *m);

LLVMValueRef m_const(const Math *m, double value);
LLVMValueRef m_add(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_sub(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_mul(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_div(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_fma(const Math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* a*b + c, vec_multiply_add */
LLVMValueRef m_abs(const Math *m, LLVMValueRef a);
LLVMValueRef m_neg(const Math *m, LLVMValueRef a);
LLVMValueRef m_sqrt(const Math *m, LLVMValueRef a);
LLVMValueRef m_rint(const Math *m, LLVMValueRef a);
LLVMValueRef m_copysign(const Math *m, LLVMValueRef size, LLVMValueRef sign);
LLVMValueRef m_select(const Math *m, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_compare(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_compare_to(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, double b);
LLVMValueRef m_clamp(const Math *m, LLVMValueRef a, double lower, double upper); /* NaN stays */
LLVMValueRef m_bits(const Math *m, LLVMValueRef a);
LLVMValueRef m_from_bits(const Math *m, LLVMValueRef bits);
LLVMValueRef m_int(const Math *m, int64_t value); /* integer lanes of the float's width */
/* Horner: coefficients from the highest power down. */
LLVMValueRef m_polynomial(const Math *m, LLVMValueRef x, const double *coefficients, int count);
LLVMValueRef m_widen(const Math *m, LLVMValueRef a);   /* f32 lanes as f64 */
LLVMValueRef m_narrow(const Math *m, LLVMValueRef a);  /* f64 lanes as f32 */

/* Building blocks used by several functions. */
LLVMValueRef math_exp(const Math *m, LLVMValueRef x);
LLVMValueRef math_expm1(const Math *m, LLVMValueRef x);
LLVMValueRef math_log(const Math *m, LLVMValueRef x);
LLVMValueRef math_log1p(const Math *m, LLVMValueRef x);

#endif
