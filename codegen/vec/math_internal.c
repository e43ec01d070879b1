#include "codegen/vec/math_internal.h"

Math math_of(const VecBuilder *vec, PrimitiveType type, int lanes) {
  PrimitiveType computed = type == TYPE_F64 ? TYPE_F64 : TYPE_F32;
  return (Math){vec, vec->builder, computed, computed == TYPE_F64, lanes};
}

Math math_double(const Math *m) {
  return math_of(m->vec, TYPE_F64, m->lanes);
}

LLVMValueRef m_const(const Math *m, double value) {
  return vec_constant_double(m->vec, m->type, value, m->lanes);
}

LLVMValueRef m_add(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(m->b, a, b, "");
}

LLVMValueRef m_sub(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(m->b, a, b, "");
}

LLVMValueRef m_mul(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(m->b, a, b, "");
}

LLVMValueRef m_div(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFDiv(m->b, a, b, "");
}

LLVMValueRef m_fma(const Math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return vec_multiply_add(m->vec, m->type, a, b, c);
}

static LLVMValueRef unary(const Math *m, const char *name, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return vec_intrinsic(m->vec, name, &type, 1, &a, 1);
}

LLVMValueRef m_abs(const Math *m, LLVMValueRef a) {
  return unary(m, "llvm.fabs", a);
}

LLVMValueRef m_neg(const Math *m, LLVMValueRef a) {
  return LLVMBuildFNeg(m->b, a, "");
}

LLVMValueRef m_sqrt(const Math *m, LLVMValueRef a) {
  return unary(m, "llvm.sqrt", a);
}

LLVMValueRef m_rint(const Math *m, LLVMValueRef a) {
  return vec_float_rint(m->vec, m->type, a, m->lanes);
}

LLVMValueRef m_copysign(const Math *m, LLVMValueRef size, LLVMValueRef sign) {
  LLVMTypeRef type = LLVMTypeOf(size);
  LLVMValueRef arguments[] = {size, sign};
  return vec_intrinsic(m->vec, "llvm.copysign", &type, 1, arguments, 2);
}

LLVMValueRef m_select(const Math *m, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(m->b, condition, a, b, "");
}

LLVMValueRef m_compare(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(m->b, predicate, a, b, "");
}

LLVMValueRef m_compare_to(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, double b) {
  return LLVMBuildFCmp(m->b, predicate, a, m_const(m, b), "");
}

LLVMValueRef m_clamp(const Math *m, LLVMValueRef a, double lower, double upper) {
  a = m_select(m, m_compare_to(m, LLVMRealOLT, a, lower), m_const(m, lower), a);
  return m_select(m, m_compare_to(m, LLVMRealOGT, a, upper), m_const(m, upper), a);
}

LLVMValueRef m_bits(const Math *m, LLVMValueRef a) {
  return LLVMBuildBitCast(m->b, a, vec_type(m->vec, m->is_double ? TYPE_S64 : TYPE_S32, m->lanes), "");
}

LLVMValueRef m_from_bits(const Math *m, LLVMValueRef bits) {
  return LLVMBuildBitCast(m->b, bits, vec_type(m->vec, m->type, m->lanes), "");
}

LLVMValueRef m_int(const Math *m, int64_t value) {
  return vec_int(m->vec, m->is_double ? 64 : 32, value, m->lanes);
}

LLVMValueRef m_polynomial(const Math *m, LLVMValueRef x, const double *coefficients, int count) {
  LLVMValueRef sum = m_const(m, coefficients[0]);
  for (int i = 1; i < count; i++) sum = m_fma(m, sum, x, m_const(m, coefficients[i]));
  return sum;
}

LLVMValueRef m_widen(const Math *m, LLVMValueRef a) {
  return LLVMBuildFPExt(m->b, a, vec_type(m->vec, TYPE_F64, m->lanes), "");
}

LLVMValueRef m_narrow(const Math *m, LLVMValueRef a) {
  return LLVMBuildFPTrunc(m->b, a, vec_type(m->vec, TYPE_F32, m->lanes), "");
}
