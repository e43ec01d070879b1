/* Subnormal numbers: the processor's mode, two bits of MXCSR, a register that each thread has of its own; and what must
 * not go through them on the way, since narrow floats keep theirs in any mode. */
#include <math.h>

#include "codegen/vec/vec.h"
#include "codegen/vec/vec_internal.h"

enum { MXCSR_DAZ = 0x0040, MXCSR_FTZ = 0x8000 };

static void call_mode(const VecBuilder *vec, const char *intrinsic, LLVMValueRef place) {
  vec_intrinsic(vec, intrinsic, NULL, 0, &place, 1);
}

LLVMValueRef vec_flush_begin(const VecBuilder *vec) {
  if (!vec->target->flushes_denormals) return NULL;
  LLVMTypeRef word = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef before = LLVMBuildAlloca(vec->builder, word, ""), flushing = LLVMBuildAlloca(vec->builder, word, "");
  call_mode(vec, "llvm.x86.sse.stmxcsr", before);
  LLVMValueRef mode = LLVMBuildLoad2(vec->builder, word, before, "");
  LLVMValueRef bits = LLVMConstInt(word, MXCSR_DAZ | MXCSR_FTZ, false);
  LLVMBuildStore(vec->builder, LLVMBuildOr(vec->builder, mode, bits, ""), flushing);
  call_mode(vec, "llvm.x86.sse.ldmxcsr", flushing);
  return before;
}

void vec_flush_end(const VecBuilder *vec, LLVMValueRef before) {
  if (before != NULL) call_mode(vec, "llvm.x86.sse.ldmxcsr", before);
}

/* --- narrow floats --- */

static LLVMValueRef float_of(const VecBuilder *vec, LLVMValueRef bits, int lanes) {
  return LLVMBuildBitCast(vec->builder, bits, vec_type(vec, TYPE_F32, lanes), "");
}

static LLVMValueRef power(const VecBuilder *vec, int exponent, int lanes) {
  return vec_constant_double(vec, TYPE_F32, ldexp(1, exponent), lanes);
}

/* |exponent| in f32's place. */
static LLVMValueRef placed(const VecBuilder *vec, int exponent, int lanes) {
  return vec_int(vec, 32, (int64_t)exponent << 23, lanes);
}

LLVMValueRef vec_widen_exponent(const VecBuilder *vec, LLVMValueRef word, int bias, int lanes) {
  LLVMBuilderRef b = vec->builder;
  if (!vec->target->flushes_denormals)
    return vec_f32_bits(vec, LLVMBuildFMul(b, float_of(vec, word, lanes), power(vec, 127 - bias, lanes), ""), lanes);
  /* a subnormal number as mantissa of the least normal one, from which that one's own is taken again */
  LLVMValueRef normal = LLVMBuildAdd(b, word, placed(vec, 127 - bias, lanes), "");
  LLVMValueRef above = float_of(vec, LLVMBuildAdd(b, normal, placed(vec, 1, lanes), ""), lanes);
  LLVMValueRef below = vec_f32_bits(vec, LLVMBuildFSub(b, above, power(vec, 1 - bias, lanes), ""), lanes);
  LLVMValueRef is_normal = LLVMBuildICmp(b, LLVMIntUGE, word, placed(vec, 1, lanes), "");
  return LLVMBuildSelect(b, is_normal, normal, below, "");
}
