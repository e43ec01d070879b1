/* Rules of lane-wise operations, by class of type. */
#ifndef XLAC_CODEGEN_VEC_VEC_APPLY_INTERNAL_H
#define XLAC_CODEGEN_VEC_VEC_APPLY_INTERNAL_H

#include "codegen/vec/vec_internal.h"

/* The operation on register values; float results need not be rounded to f16 or bf16, nor integers wrapped below a
 * byte: vec_apply does. */
typedef LLVMValueRef (*VecRule)(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes);

#define VEC_RULE(name) \
  LLVMValueRef name(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes)

/* vec_compare.c: any class */
VEC_RULE(vec_identity);
VEC_RULE(vec_compare);
VEC_RULE(vec_select);
VEC_RULE(vec_clamp);
/* vec_convert.c */
VEC_RULE(vec_convert);
VEC_RULE(vec_bitcast_convert);
/* s1, s2, s4, u1 …: back into the range of the type, extended to the byte. */
LLVMValueRef vec_wrap_narrow(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes);

/* vec_integer.c */
VEC_RULE(vec_pred_and);
VEC_RULE(vec_pred_or);
VEC_RULE(vec_int_abs);
VEC_RULE(vec_int_add);
VEC_RULE(vec_int_and);
VEC_RULE(vec_int_clz);
VEC_RULE(vec_int_divide);
VEC_RULE(vec_int_maximum);
VEC_RULE(vec_int_minimum);
VEC_RULE(vec_int_mulhi);
VEC_RULE(vec_int_multiply);
VEC_RULE(vec_int_negate);
VEC_RULE(vec_int_not);
VEC_RULE(vec_int_or);
VEC_RULE(vec_int_popcnt);
VEC_RULE(vec_int_power);
VEC_RULE(vec_int_remainder);
VEC_RULE(vec_int_shift);
VEC_RULE(vec_int_sign);
VEC_RULE(vec_int_subtract);
VEC_RULE(vec_int_xor);

/* vec_float.c */
VEC_RULE(vec_float_abs);
VEC_RULE(vec_float_add);
VEC_RULE(vec_float_ceil);
VEC_RULE(vec_float_divide);
VEC_RULE(vec_float_floor);
VEC_RULE(vec_float_imag);
VEC_RULE(vec_float_is_finite);
VEC_RULE(vec_float_maximum);
VEC_RULE(vec_float_minimum);
VEC_RULE(vec_float_multiply);
VEC_RULE(vec_float_negate);
VEC_RULE(vec_float_reduce_precision);
VEC_RULE(vec_float_remainder);
VEC_RULE(vec_float_round_afz);
VEC_RULE(vec_float_round_even);
VEC_RULE(vec_float_rsqrt);
VEC_RULE(vec_float_sign);
VEC_RULE(vec_float_sqrt);
VEC_RULE(vec_float_subtract);

/* vec_math_*.c */
VEC_RULE(vec_math_acos);
VEC_RULE(vec_math_acosh);
VEC_RULE(vec_math_asin);
VEC_RULE(vec_math_asinh);
VEC_RULE(vec_math_atan2);
VEC_RULE(vec_math_atanh);
VEC_RULE(vec_math_cbrt);
VEC_RULE(vec_math_cos);
VEC_RULE(vec_math_cosh);
VEC_RULE(vec_math_erf);
VEC_RULE(vec_math_exp);
VEC_RULE(vec_math_expm1);
VEC_RULE(vec_math_log);
VEC_RULE(vec_math_log1p);
VEC_RULE(vec_math_logistic);
VEC_RULE(vec_math_pow);
VEC_RULE(vec_math_sin);
VEC_RULE(vec_math_sinh);
VEC_RULE(vec_math_tan);
VEC_RULE(vec_math_tanh);

#endif
