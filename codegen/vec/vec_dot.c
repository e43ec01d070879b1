/* Products of narrow numbers summed in 32-bit lanes. */
#include "codegen/vec/vec_internal.h"

static LLVMValueRef call_dot(const VecBuilder *vec, const char *name, LLVMTypeRef result, const LLVMValueRef *arguments,
                             unsigned count) {
  LLVMTypeRef types[3];
  LLVMValueRef copies[3];
  for (unsigned i = 0; i < count; i++) {
    types[i] = LLVMTypeOf(arguments[i]);
    copies[i] = arguments[i];
  }
  LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
  LLVMValueRef function = LLVMGetNamedFunction(vec->module, name);
  if (function == NULL) function = LLVMAddFunction(vec->module, name, type);
  return LLVMBuildCall2(vec->builder, type, function, copies, count, "");
}

/* By the number of 32-bit lanes: 4, 8, 16. */
static int width_of(int lanes) {
  XLAC_CHECK(lanes == 4 || lanes == 8 || lanes == 16);
  return lanes / 8;
}

static LLVMValueRef add_bf16_pairs(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum, int lanes) {
  static const char *const names[] = {"llvm.x86.avx512bf16.dpbf16ps.128", "llvm.x86.avx512bf16.dpbf16ps.256",
                                      "llvm.x86.avx512bf16.dpbf16ps.512"};
  XLAC_CHECK(vec->target->has_bf16_pairs);
  LLVMTypeRef halves = LLVMVectorType(LLVMBFloatTypeInContext(vec->context), (unsigned)lanes * 2);
  LLVMValueRef arguments[3] = {sum, LLVMBuildBitCast(vec->builder, a, halves, ""),
                               LLVMBuildBitCast(vec->builder, b, halves, "")};
  return call_dot(vec, names[width_of(lanes)], LLVMTypeOf(sum), arguments, 3);
}

LLVMValueRef vec_dot_add(const VecBuilder *vec, VecDotKind kind, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum,
                         int lanes) {
  static const char *const pairs[] = {"llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                                      "llvm.x86.avx512.pmaddw.d.512"};
  static const char *const fused_pairs[] = {"llvm.x86.avx512.vpdpwssd.128", "llvm.x86.avx512.vpdpwssd.256",
                                            "llvm.x86.avx512.vpdpwssd.512"};
  static const char *const quads[] = {"llvm.x86.avx512.vpdpbusd.128", "llvm.x86.avx512.vpdpbusd.256",
                                      "llvm.x86.avx512.vpdpbusd.512"};
  if (kind == VEC_DOT_BF16) return add_bf16_pairs(vec, a, b, sum, lanes);
  int width = width_of(lanes);
  if (kind == VEC_DOT_U8_S8) XLAC_CHECK(vec->target->has_vnni);
  if (vec->target->has_vnni) {
    const char *name = kind == VEC_DOT_U8_S8 ? quads[width] : fused_pairs[width];
    return call_dot(vec, name, LLVMTypeOf(sum), (LLVMValueRef[]){sum, a, b}, 3);
  }
  LLVMTypeRef halves = LLVMVectorType(LLVMInt16TypeInContext(vec->context), (unsigned)lanes * 2);
  LLVMValueRef factors[2] = {LLVMBuildBitCast(vec->builder, a, halves, ""),
                             LLVMBuildBitCast(vec->builder, b, halves, "")};
  LLVMValueRef products = call_dot(vec, pairs[width], LLVMTypeOf(sum), factors, 2);
  return LLVMBuildAdd(vec->builder, sum, products, "");
}
