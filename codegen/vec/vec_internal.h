/* Shared by the files of this room. */
#ifndef XLAC_CODEGEN_VEC_VEC_INTERNAL_H
#define XLAC_CODEGEN_VEC_VEC_INTERNAL_H

#include "codegen/vec/vec.h"

/* Bits of one element in a register (vec.h): 1 for pred, 32 for the narrow floats, f16 among them. */
int vec_register_bits(PrimitiveType type);
/* Whether elements of |type| are f16 in registers, too. */
bool vec_is_half(const VecBuilder *vec, PrimitiveType type);

LLVMTypeRef vec_of(LLVMTypeRef element, int lanes);
LLVMValueRef vec_int(const VecBuilder *vec, int bits, int64_t value, int lanes);
/* Lanes of f32 as those of s32 that have their bits. */
LLVMValueRef vec_f32_bits(const VecBuilder *vec, LLVMValueRef value, int lanes);
/* Lanes [first, first + count) of a vector; a scalar when count is 1. */
LLVMValueRef vec_slice(const VecBuilder *vec, LLVMValueRef value, int first, int count);
/* Two values of |lanes| lanes each as one. */
LLVMValueRef vec_join(const VecBuilder *vec, LLVMValueRef low, LLVMValueRef high, int lanes);
/* Whether all lanes are one float known when compiling, and which. */
bool vec_same_constant(LLVMValueRef value, double *out_constant);
/* |lanes| lanes, or a scalar, as the first of |full|, the others zero. */
LLVMValueRef vec_pad(const VecBuilder *vec, LLVMValueRef value, int lanes, int full);
LLVMValueRef vec_intrinsic(const VecBuilder *vec, const char *name, LLVMTypeRef *overloads, int overload_count,
                           LLVMValueRef *arguments, int argument_count);

/* Which NaN a value may be: any, or only the processor's own and those with nothing in the lower half of the word: what
 * arithmetic makes of bf16. */
typedef enum VecNan { VEC_NAN_ANY, VEC_NAN_SHORT } VecNan;
/* A float rounded to what |type| can hold (f16, bf16); others as they are. */
LLVMValueRef vec_round_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, VecNan nan, int lanes);
/* Lanes of LLVM's half, which need has_f16c; and of i16 that have their bits, on any processor. */
LLVMValueRef vec_half_to_float(const VecBuilder *vec, LLVMValueRef half, int lanes);
LLVMValueRef vec_float_to_half(const VecBuilder *vec, LLVMValueRef value, int lanes);
LLVMValueRef vec_f16_bits_to_float(const VecBuilder *vec, LLVMValueRef bits, int lanes);
LLVMValueRef vec_float_to_f16_bits(const VecBuilder *vec, LLVMValueRef value, int lanes);
/* Nearest integer, ties to even. */
LLVMValueRef vec_float_rint(const VecBuilder *vec, PrimitiveType type, LLVMValueRef x, int lanes);
/* As vec_load does where |mask| is not NULL, but as it is in memory. */
LLVMValueRef vec_load_masked(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, LLVMValueRef mask,
                             int lanes);
LLVMValueRef vec_to_memory(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes);

/* vec_narrow_float.c: floats of a byte and less; lanes of bytes and of f32.  vec_narrow_from_float is given numbers of
 * the type, vec_narrow_round makes them of any. */
bool vec_is_narrow_float(PrimitiveType type);
LLVMValueRef vec_narrow_to_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef bits, int lanes);
LLVMValueRef vec_narrow_from_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes);
LLVMValueRef vec_narrow_round(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes);

/* An internal function of the module, made when first asked for. */
typedef struct VecFunction {
  LLVMValueRef value;
  bool is_new;    /* the body is to be built through |vec|, then vec_function_end */
  VecBuilder vec; /* at the function's entry */
} VecFunction;
VecFunction vec_function_begin(const VecBuilder *vec, const char *name, LLVMTypeRef type);
void vec_function_end(VecFunction *function);

/* --- exponents of narrow floats (vec_flush.c) --- */

/* The bits of the f32 that equals a narrow float whose exponent, biased by |bias|, and mantissa stand in f32's places
 * in |word|, without sign: right for zeros, subnormals and normals. */
LLVMValueRef vec_widen_exponent(const VecBuilder *vec, LLVMValueRef word, int bias, int lanes);

#endif
