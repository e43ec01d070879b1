/* Types, constants, memory: how values look in registers and in memory. */
#include <stdio.h>
#include <string.h>

#include "codegen/ir/ir_function.h"
#include "codegen/vec/vec_internal.h"
#include "hlo/ir/fold_identity.h"
#include "hlo/type/float_types.h"

#define MAX_LANES 256

/* --- types --- */

bool vec_type_supported(PrimitiveType type) {
  return type == TYPE_PRED || type_is_integral(type) || type_is_float(type);
}

bool vec_is_half(const VecBuilder *vec, PrimitiveType type) {
  return type == TYPE_F16 && vec->target->has_f16_arithmetic;
}

static LLVMTypeRef element_type(const VecBuilder *vec, PrimitiveType type) {
  if (vec_is_half(vec, type)) return LLVMHalfTypeInContext(vec->context);
  if (type == TYPE_PRED) return LLVMInt1TypeInContext(vec->context);
  if (type == TYPE_F64) return LLVMDoubleTypeInContext(vec->context);
  if (type_is_float(type)) return LLVMFloatTypeInContext(vec->context);
  return LLVMIntTypeInContext(vec->context, (unsigned)type_storage_bytes(type) * 8);
}

LLVMTypeRef vec_of(LLVMTypeRef element, int lanes) {
  return lanes == 1 ? element : LLVMVectorType(element, (unsigned)lanes);
}

LLVMTypeRef vec_type(const VecBuilder *vec, PrimitiveType type, int lanes) {
  return vec_of(element_type(vec, type), lanes);
}

static LLVMTypeRef memory_element_type(const VecBuilder *vec, PrimitiveType type) {
  if (type == TYPE_F16 || type == TYPE_BF16) return LLVMInt16TypeInContext(vec->context);
  bool is_byte = type == TYPE_PRED || vec_is_narrow_float(type);
  return is_byte ? LLVMInt8TypeInContext(vec->context) : element_type(vec, type);
}

LLVMTypeRef vec_memory_type(const VecBuilder *vec, PrimitiveType type, int lanes) {
  return vec_of(memory_element_type(vec, type), lanes);
}

int vec_register_bits(PrimitiveType type) {
  if (type == TYPE_PRED) return 1;
  if (type_is_float(type)) return type == TYPE_F64 ? 64 : 32;
  return type_storage_bytes(type) * 8;
}

/* --- constants --- */

LLVMValueRef vec_int(const VecBuilder *vec, int bits, int64_t value, int lanes) {
  LLVMValueRef scalar =
      LLVMConstInt(LLVMIntTypeInContext(vec->context, (unsigned)bits), (unsigned long long)value, true);
  return vec_splat(vec, scalar, lanes);
}

/* f32 (32) or f64 (64) from bits. */
static LLVMValueRef float_from_bits(const VecBuilder *vec, int bits, uint64_t value, int lanes) {
  LLVMTypeRef type = bits == 64 ? LLVMDoubleTypeInContext(vec->context) : LLVMFloatTypeInContext(vec->context);
  LLVMValueRef scalar = LLVMConstInt(LLVMIntTypeInContext(vec->context, (unsigned)bits), value, false);
  return vec_splat(vec, LLVMConstBitCast(scalar, type), lanes);
}

LLVMValueRef vec_constant(const VecBuilder *vec, PrimitiveType type, uint64_t bits, int lanes) {
  if (type == TYPE_F64) return float_from_bits(vec, 64, bits, lanes);
  if (type == TYPE_F32) return float_from_bits(vec, 32, bits, lanes);
  if (type_is_float(type))
    return vec_splat(vec, LLVMConstReal(element_type(vec, type), float_decode(type, bits)), lanes);
  if (type == TYPE_PRED) bits = (bits & 0xff) != 0;
  return vec_splat(vec, LLVMConstInt(element_type(vec, type), bits, false), lanes);
}

LLVMValueRef vec_constant_double(const VecBuilder *vec, PrimitiveType type, double value, int lanes) {
  if (type_is_float(type)) return vec_splat(vec, LLVMConstReal(element_type(vec, type), value), lanes);
  return vec_splat(vec, LLVMConstInt(element_type(vec, type), (unsigned long long)(int64_t)value, true), lanes);
}

LLVMValueRef vec_splat(const VecBuilder *vec, LLVMValueRef scalar, int lanes) {
  if (lanes == 1) return scalar;
  XLAC_CHECK(lanes <= MAX_LANES);
  if (LLVMIsConstant(scalar)) {
    LLVMValueRef elements[MAX_LANES];
    for (int i = 0; i < lanes; i++) elements[i] = scalar;
    return LLVMConstVector(elements, (unsigned)lanes);
  }
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef one = LLVMBuildInsertElement(vec->builder, LLVMGetPoison(type), scalar, LLVMConstInt(s32, 0, false), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(s32, (unsigned)lanes));
  return LLVMBuildShuffleVector(vec->builder, one, LLVMGetPoison(type), zeros, "");
}

LLVMValueRef vec_lane_indices(const VecBuilder *vec, int bits, int64_t stride, int lanes) {
  LLVMTypeRef type = LLVMIntTypeInContext(vec->context, (unsigned)bits);
  LLVMValueRef elements[MAX_LANES];
  for (int i = 0; i < lanes; i++) elements[i] = LLVMConstInt(type, (unsigned long long)(stride * i), true);
  return lanes == 1 ? elements[0] : LLVMConstVector(elements, (unsigned)lanes);
}

LLVMValueRef vec_slice(const VecBuilder *vec, LLVMValueRef value, int first, int count) {
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  if (count == 1) return LLVMBuildExtractElement(vec->builder, value, LLVMConstInt(s32, (unsigned)first, false), "");
  LLVMValueRef elements[MAX_LANES];
  for (int i = 0; i < count; i++) elements[i] = LLVMConstInt(s32, (unsigned)(first + i), false);
  return LLVMBuildShuffleVector(vec->builder, value, LLVMGetPoison(LLVMTypeOf(value)),
                                LLVMConstVector(elements, (unsigned)count), "");
}

LLVMValueRef vec_join(const VecBuilder *vec, LLVMValueRef low, LLVMValueRef high, int lanes) {
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef elements[MAX_LANES];
  XLAC_CHECK(lanes * 2 <= MAX_LANES);
  if (lanes == 1) {
    LLVMValueRef pair = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(low), 2));
    pair = LLVMBuildInsertElement(vec->builder, pair, low, LLVMConstInt(s32, 0, false), "");
    return LLVMBuildInsertElement(vec->builder, pair, high, LLVMConstInt(s32, 1, false), "");
  }
  for (int i = 0; i < lanes * 2; i++) elements[i] = LLVMConstInt(s32, (unsigned)i, false);
  return LLVMBuildShuffleVector(vec->builder, low, high, LLVMConstVector(elements, (unsigned)lanes * 2), "");
}

bool vec_same_constant(LLVMValueRef value, double *out_constant) {
  LLVMValueRef one = value;
  if (!LLVMIsConstant(value)) return false;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) {
    one = LLVMGetAggregateElement(value, 0);
    for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(value)); i++)
      if (LLVMGetAggregateElement(value, i) != one) return false;
  }
  if (one == NULL || !LLVMIsAConstantFP(one)) return false;
  LLVMBool is_rounded;
  *out_constant = LLVMConstRealGetDouble(one, &is_rounded);
  return true;
}

LLVMValueRef vec_pad(const VecBuilder *vec, LLVMValueRef value, int lanes, int full) {
  LLVMTypeRef element = lanes == 1 ? LLVMTypeOf(value) : LLVMGetElementType(LLVMTypeOf(value));
  if (lanes == 1) {
    LLVMValueRef zeros = LLVMConstNull(vec_of(element, full));
    return LLVMBuildInsertElement(vec->builder, zeros, value,
                                  LLVMConstInt(LLVMInt32TypeInContext(vec->context), 0, false), "");
  }
  for (; lanes < full; lanes *= 2) value = vec_join(vec, value, LLVMConstNull(vec_of(element, lanes)), lanes);
  return value;
}

LLVMValueRef vec_any(const VecBuilder *vec, LLVMValueRef condition, int lanes) {
  if (lanes == 1) return condition;
  LLVMValueRef word =
      LLVMBuildBitCast(vec->builder, condition, LLVMIntTypeInContext(vec->context, (unsigned)lanes), "");
  return LLVMBuildICmp(vec->builder, LLVMIntNE, word, LLVMConstNull(LLVMTypeOf(word)), "");
}

/* --- functions --- */

VecFunction vec_function_begin(const VecBuilder *vec, const char *name, LLVMTypeRef type) {
  VecFunction function = {.value = LLVMGetNamedFunction(vec->module, name), .vec = *vec};
  if (function.value != NULL) return function;
  function.is_new = true;
  function.value = ir_function_add(vec->module, name, type, LLVMInternalLinkage);
  function.vec.builder = LLVMCreateBuilderInContext(vec->context);
  LLVMPositionBuilderAtEnd(function.vec.builder, LLVMAppendBasicBlockInContext(vec->context, function.value, ""));
  return function;
}

void vec_function_end(VecFunction *function) {
  LLVMDisposeBuilder(function->vec.builder);
  function->vec.builder = NULL;
}

/* --- intrinsics --- */

LLVMValueRef vec_intrinsic(const VecBuilder *vec, const char *name, LLVMTypeRef *overloads, int overload_count,
                           LLVMValueRef *arguments, int argument_count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (id == 0) XLAC_BUG("LLVM has no intrinsic %s", name);
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(vec->module, id, overloads, (size_t)overload_count);
  LLVMTypeRef type = LLVMIntrinsicGetType(vec->context, id, overloads, (size_t)overload_count);
  return LLVMBuildCall2(vec->builder, type, function, arguments, (unsigned)argument_count, "");
}

/* --- the narrow floats --- */

static LLVMValueRef bitcast(const VecBuilder *vec, LLVMValueRef value, LLVMTypeRef type) {
  return LLVMBuildBitCast(vec->builder, value, type, "");
}

static LLVMValueRef bf16_to_float(const VecBuilder *vec, LLVMValueRef bits, int lanes) {
  LLVMTypeRef s32 = vec_type(vec, TYPE_S32, lanes);
  LLVMValueRef wide = LLVMBuildZExt(vec->builder, bits, s32, "");
  return bitcast(vec, LLVMBuildShl(vec->builder, wide, vec_int(vec, 32, 16, lanes), ""),
                 vec_type(vec, TYPE_F32, lanes));
}

/* Round to nearest even by adding half; the bits of the bf16 in the upper half of the word. */
static LLVMValueRef bf16_rounded_word(const VecBuilder *vec, LLVMValueRef value, VecNan nan, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef s32 = vec_type(vec, TYPE_S32, lanes);
  LLVMValueRef bits = bitcast(vec, value, s32);
  LLVMValueRef half;
  if (vec->target->has_avx512 && lanes > 1) { /* masks: an instruction less than to move the bit */
    LLVMValueRef bit = LLVMBuildAnd(b, bits, vec_int(vec, 32, 0x10000, lanes), "");
    LLVMValueRef is_odd = LLVMBuildICmp(b, LLVMIntNE, bit, vec_int(vec, 32, 0, lanes), "");
    half = LLVMBuildSelect(b, is_odd, vec_int(vec, 32, 0x8000, lanes), vec_int(vec, 32, 0x7fff, lanes), "");
  } else {
    LLVMValueRef odd =
        LLVMBuildAnd(b, LLVMBuildLShr(b, bits, vec_int(vec, 32, 16, lanes), ""), vec_int(vec, 32, 1, lanes), "");
    half = LLVMBuildAdd(b, odd, vec_int(vec, 32, 0x7fff, lanes), "");
  }
  LLVMValueRef word = LLVMBuildAdd(b, bits, half, "");
  if (nan == VEC_NAN_ANY) { /* kept quiet */
    LLVMValueRef quiet = LLVMBuildOr(b, bits, vec_int(vec, 32, 0x400000, lanes), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
    word = LLVMBuildSelect(b, is_nan, quiet, word, "");
  }
  return LLVMBuildAnd(b, word, vec_int(vec, 32, (int64_t)0xffff0000, lanes), "");
}

static LLVMTypeRef half_type(const VecBuilder *vec, int lanes) {
  return vec_of(LLVMHalfTypeInContext(vec->context), lanes);
}

LLVMValueRef vec_half_to_float(const VecBuilder *vec, LLVMValueRef half, int lanes) {
  return LLVMBuildFPExt(vec->builder, half, vec_type(vec, TYPE_F32, lanes), "");
}

LLVMValueRef vec_float_to_half(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  LLVMTypeRef half = half_type(vec, lanes);
  if (LLVMIsAFPExtInst(value) != NULL && LLVMTypeOf(LLVMGetOperand(value, 0)) == half) return LLVMGetOperand(value, 0);
  return LLVMBuildFPTrunc(vec->builder, value, half, "");
}

LLVMValueRef vec_f16_bits_to_float(const VecBuilder *vec, LLVMValueRef bits, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes), s32 = vec_type(vec, TYPE_S32, lanes);
  if (vec->target->has_f16c) return vec_half_to_float(vec, bitcast(vec, bits, half_type(vec, lanes)), lanes);
  /* infinities and NaN get the full exponent */
  LLVMValueRef wide = LLVMBuildZExt(b, bits, s32, "");
  LLVMValueRef sign =
      LLVMBuildShl(b, LLVMBuildAnd(b, wide, vec_int(vec, 32, 0x8000, lanes), ""), vec_int(vec, 32, 16, lanes), "");
  LLVMValueRef magnitude = LLVMBuildAnd(b, wide, vec_int(vec, 32, 0x7fff, lanes), "");
  LLVMValueRef shifted = LLVMBuildShl(b, magnitude, vec_int(vec, 32, 13, lanes), "");
  LLVMValueRef scaled = vec_widen_exponent(vec, shifted, 15, lanes);
  LLVMValueRef special = LLVMBuildICmp(b, LLVMIntUGE, magnitude, vec_int(vec, 32, 0x7c00, lanes), "");
  LLVMValueRef infinite = LLVMBuildOr(b, shifted, vec_int(vec, 32, 0x7f800000, lanes), "");
  LLVMValueRef word = LLVMBuildSelect(b, special, infinite, scaled, "");
  return bitcast(vec, LLVMBuildOr(b, word, sign, ""), f32);
}

/* After "float to half" by rounding with a magic addition for subnormals and integer rounding for normals. */
LLVMValueRef vec_float_to_f16_bits(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef f32 = vec_type(vec, TYPE_F32, lanes), s32 = vec_type(vec, TYPE_S32, lanes),
              s16 = vec_type(vec, TYPE_S16, lanes);
  if (vec->target->has_f16c) return bitcast(vec, vec_float_to_half(vec, value, lanes), s16);
  LLVMValueRef bits = bitcast(vec, value, s32);
  LLVMValueRef sign =
      LLVMBuildAnd(b, LLVMBuildLShr(b, bits, vec_int(vec, 32, 16, lanes), ""), vec_int(vec, 32, 0x8000, lanes), "");
  LLVMValueRef magnitude = LLVMBuildAnd(b, bits, vec_int(vec, 32, 0x7fffffff, lanes), "");
  LLVMValueRef odd =
      LLVMBuildAnd(b, LLVMBuildLShr(b, magnitude, vec_int(vec, 32, 13, lanes), ""), vec_int(vec, 32, 1, lanes), "");
  LLVMValueRef normal =
      LLVMBuildAdd(b, LLVMBuildAdd(b, magnitude, vec_int(vec, 32, 0xfff - (INT64_C(112) << 23), lanes), ""), odd, "");
  normal = LLVMBuildLShr(b, normal, vec_int(vec, 32, 13, lanes), "");
  LLVMValueRef magic = LLVMBuildFAdd(b, bitcast(vec, magnitude, f32), float_from_bits(vec, 32, 0x3f000000, lanes), "");
  LLVMValueRef subnormal = LLVMBuildSub(b, bitcast(vec, magic, s32), vec_int(vec, 32, 0x3f000000, lanes), "");
  LLVMValueRef is_subnormal = LLVMBuildICmp(b, LLVMIntULT, magnitude, vec_int(vec, 32, INT64_C(113) << 23, lanes), "");
  LLVMValueRef overflows = LLVMBuildICmp(b, LLVMIntUGE, magnitude, vec_int(vec, 32, 0x477ff000, lanes), "");
  LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntUGT, magnitude, vec_int(vec, 32, 0x7f800000, lanes), "");
  LLVMValueRef word = LLVMBuildSelect(b, is_subnormal, subnormal, normal, "");
  word = LLVMBuildSelect(b, overflows, vec_int(vec, 32, 0x7c00, lanes), word, "");
  LLVMValueRef payload =
      LLVMBuildAnd(b, LLVMBuildLShr(b, magnitude, vec_int(vec, 32, 13, lanes), ""), vec_int(vec, 32, 0x3ff, lanes), "");
  LLVMValueRef nan = LLVMBuildOr(b, payload, vec_int(vec, 32, 0x7e00, lanes), "");
  word = LLVMBuildSelect(b, is_nan, nan, word, "");
  return LLVMBuildTrunc(b, LLVMBuildOr(b, word, sign, ""), s16, "");
}

LLVMValueRef vec_round_float(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, VecNan nan, int lanes) {
  if (type == TYPE_BF16) return bitcast(vec, bf16_rounded_word(vec, value, nan, lanes), vec_type(vec, TYPE_F32, lanes));
  if (vec_is_half(vec, type)) return value;
  if (type == TYPE_F16 && vec->target->has_f16c)
    return vec_half_to_float(vec, vec_float_to_half(vec, value, lanes), lanes);
  if (type == TYPE_F16) return vec_f16_bits_to_float(vec, vec_float_to_f16_bits(vec, value, lanes), lanes);
  if (!vec_is_narrow_float(type)) return value;
  return vec_narrow_round(vec, type, value, lanes);
}

LLVMValueRef vec_from_memory(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  if (type == TYPE_PRED) return LLVMBuildICmp(vec->builder, LLVMIntNE, value, vec_int(vec, 8, 0, lanes), "");
  if (type == TYPE_BF16) return bf16_to_float(vec, value, lanes);
  if (vec_is_narrow_float(type)) return vec_narrow_to_float(vec, type, value, lanes);
  if (vec_is_half(vec, type)) return bitcast(vec, value, half_type(vec, lanes));
  return type == TYPE_F16 ? vec_f16_bits_to_float(vec, value, lanes) : value;
}

/* Of f32; of two registers of AVX-512 one permutation takes them all, which LLVM does not select singly. */
static LLVMValueRef upper_halves(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  LLVMBuilderRef b = vec->builder;
  bool is_permuted = vec->takes_long && vec->target->has_avx512 && vec->target->has_masks;
  if (is_permuted && lanes % (vec->target->vector_bits / 16) == 0) {
    LLVMValueRef halves = bitcast(vec, value, vec_type(vec, TYPE_S16, 2 * lanes));
    LLVMValueRef places = vec_lane_indices(vec, 32, 2, lanes);
    places = LLVMConstAdd(places, vec_int(vec, 32, 1, lanes));
    return LLVMBuildShuffleVector(b, halves, LLVMGetPoison(LLVMTypeOf(halves)), places, "");
  }
  LLVMValueRef word =
      LLVMBuildLShr(b, bitcast(vec, value, vec_type(vec, TYPE_S32, lanes)), vec_int(vec, 32, 16, lanes), "");
  return LLVMBuildTrunc(b, word, vec_type(vec, TYPE_S16, lanes), "");
}

LLVMValueRef vec_to_memory(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  if (type == TYPE_PRED) return LLVMBuildZExt(vec->builder, value, vec_memory_type(vec, type, lanes), "");
  if (vec_is_half(vec, type)) return bitcast(vec, value, vec_type(vec, TYPE_S16, lanes));
  if (type == TYPE_F16) return vec_float_to_f16_bits(vec, value, lanes);
  if (vec_is_narrow_float(type)) return vec_narrow_from_float(vec, type, value, lanes);
  return type == TYPE_BF16 ? upper_halves(vec, value, lanes) : value; /* exactly representable */
}

/* --- memory --- */

static LLVMValueRef alignment_value(const VecBuilder *vec, PrimitiveType type) {
  return LLVMConstInt(LLVMInt32TypeInContext(vec->context), (unsigned)type_storage_bytes(type), false);
}

static LLVMValueRef all_lanes(const VecBuilder *vec, int lanes) {
  return vec_splat(vec, LLVMConstInt(LLVMInt1TypeInContext(vec->context), 1, false), lanes);
}

/* Lanes [first, first + count) of a mask; known to be none where one side of a conjunction has none. */
static LLVMValueRef mask_slice(const VecBuilder *vec, LLVMValueRef mask, int first, int count) {
  if (LLVMIsAInstruction(mask) == NULL || LLVMGetInstructionOpcode(mask) != LLVMAnd)
    return vec_slice(vec, mask, first, count);
  LLVMValueRef a = mask_slice(vec, LLVMGetOperand(mask, 0), first, count);
  if (LLVMIsNull(a)) return a;
  LLVMValueRef b = mask_slice(vec, LLVMGetOperand(mask, 1), first, count);
  return LLVMIsNull(b) ? b : LLVMBuildAnd(vec->builder, a, b, "");
}

/* AVX2's: LLVM 19 splits what is longer than a register as well, but where only a part of the mask is a constant, it
 * reads all of a register that this leaves out, or fails. */
static bool is_split(const VecTarget *target, PrimitiveType type, int lanes) {
  return target->has_masks_32 && !target->has_masks && lanes % 2 == 0 &&
         lanes * type_storage_bytes(type) * 8 > target->vector_bits;
}

LLVMValueRef vec_load_masked(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, LLVMValueRef mask,
                             int lanes) {
  LLVMTypeRef memory = vec_memory_type(vec, type, lanes);
  if (LLVMIsNull(mask)) return LLVMConstNull(memory);
  if (is_split(vec->target, type, lanes)) {
    int half = lanes / 2;
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(vec->context), (unsigned)half, false);
    LLVMValueRef next = LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), pointer, &index, 1, "");
    LLVMValueRef low = vec_load_masked(vec, type, pointer, mask_slice(vec, mask, 0, half), half);
    LLVMValueRef high = vec_load_masked(vec, type, next, mask_slice(vec, mask, half, half), half);
    return vec_join(vec, low, high, half);
  }
  LLVMTypeRef overloads[] = {memory, LLVMTypeOf(pointer)};
  LLVMValueRef arguments[] = {pointer, alignment_value(vec, type), mask, LLVMConstNull(memory)};
  return vec_intrinsic(vec, "llvm.masked.load", overloads, 2, arguments, 4);
}

LLVMValueRef vec_load(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, LLVMValueRef mask, int lanes) {
  LLVMTypeRef memory = vec_memory_type(vec, type, lanes);
  LLVMValueRef loaded;
  if (mask == NULL) {
    loaded = LLVMBuildLoad2(vec->builder, memory, pointer, "");
    LLVMSetAlignment(loaded, (unsigned)type_storage_bytes(type));
  } else {
    loaded = vec_load_masked(vec, type, pointer, mask, lanes);
  }
  return vec_from_memory(vec, type, loaded, lanes);
}

void vec_store(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask,
               int lanes) {
  value = vec_to_memory(vec, type, value, lanes);
  if (mask == NULL) {
    LLVMSetAlignment(LLVMBuildStore(vec->builder, value, pointer), (unsigned)type_storage_bytes(type));
    return;
  }
  LLVMTypeRef overloads[] = {LLVMTypeOf(value), LLVMTypeOf(pointer)};
  LLVMValueRef arguments[] = {value, pointer, alignment_value(vec, type), mask};
  vec_intrinsic(vec, "llvm.masked.store", overloads, 2, arguments, 4);
}

void vec_store_uncached(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef pointer,
                        int lanes) {
  vec_store_memory_uncached(vec, vec_to_memory(vec, type, value, lanes), pointer);
}

void vec_store_memory_uncached(const VecBuilder *vec, LLVMValueRef value, LLVMValueRef pointer) {
  LLVMValueRef store = LLVMBuildStore(vec->builder, value, pointer);
  LLVMSetAlignment(store, (unsigned)vec->target->vector_bits / 8);
  LLVMMetadataRef one = LLVMValueAsMetadata(vec_int(vec, 32, 1, 1));
  LLVMMetadataRef node = LLVMMDNodeInContext2(vec->context, &one, 1);
  LLVMSetMetadata(store, LLVMGetMDKindIDInContext(vec->context, "nontemporal", 11),
                  LLVMMetadataAsValue(vec->context, node));
}

void vec_prefetch(const VecBuilder *vec, LLVMValueRef pointer) {
  LLVMTypeRef overload = LLVMTypeOf(pointer);
  LLVMValueRef to_read = vec_int(vec, 32, 0, 1), locality = vec_int(vec, 32, 2, 1), is_data = vec_int(vec, 32, 1, 1);
  LLVMValueRef arguments[] = {pointer, to_read, locality, is_data};
  vec_intrinsic(vec, "llvm.prefetch", &overload, 1, arguments, 4);
}

void vec_store_fence(const VecBuilder *vec) {
  vec_intrinsic(vec, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
}

LLVMValueRef vec_gather(const VecBuilder *vec, PrimitiveType type, LLVMValueRef base, LLVMValueRef offsets,
                        LLVMValueRef mask, int lanes) {
  LLVMTypeRef memory = vec_memory_type(vec, type, lanes);
  LLVMValueRef pointers = LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), base, &offsets, 1, "");
  if (mask == NULL) mask = all_lanes(vec, lanes);
  LLVMTypeRef overloads[] = {memory, LLVMTypeOf(pointers)};
  LLVMValueRef arguments[] = {pointers, alignment_value(vec, type), mask, LLVMConstNull(memory)};
  return vec_from_memory(vec, type, vec_intrinsic(vec, "llvm.masked.gather", overloads, 2, arguments, 4), lanes);
}

void vec_scatter(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef base, LLVMValueRef offsets,
                 LLVMValueRef mask, int lanes) {
  value = vec_to_memory(vec, type, value, lanes);
  LLVMValueRef pointers = LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), base, &offsets, 1, "");
  if (mask == NULL) mask = all_lanes(vec, lanes);
  LLVMTypeRef overloads[] = {LLVMTypeOf(value), LLVMTypeOf(pointers)};
  LLVMValueRef arguments[] = {value, pointers, alignment_value(vec, type), mask};
  vec_intrinsic(vec, "llvm.masked.scatter", overloads, 2, arguments, 4);
}

/* --- combining lanes --- */

static LLVMValueRef lane_index(const VecBuilder *vec, int lane) {
  return LLVMConstInt(LLVMInt32TypeInContext(vec->context), (unsigned)lane, false);
}

LLVMValueRef vec_lane_bits(const VecBuilder *vec, LLVMValueRef condition, int lanes) {
  LLVMTypeRef word = LLVMIntTypeInContext(vec->context, (unsigned)lanes);
  LLVMValueRef bits = LLVMBuildBitCast(vec->builder, condition, word, "");
  return LLVMBuildZExt(vec->builder, bits, LLVMInt64TypeInContext(vec->context), "");
}

LLVMValueRef vec_lowest_bit(const VecBuilder *vec, LLVMValueRef bits) {
  LLVMTypeRef type = LLVMTypeOf(bits);
  LLVMValueRef arguments[] = {bits, LLVMConstInt(LLVMInt1TypeInContext(vec->context), 1, false)};
  return vec_intrinsic(vec, "llvm.cttz", &type, 1, arguments, 2);
}

LLVMValueRef vec_reduce(const VecBuilder *vec, const VecOp *op, LLVMValueRef value, int lanes) {
  while (lanes > 1) {
    XLAC_CHECK(lanes % 2 == 0);
    lanes /= 2;
    LLVMValueRef halves[2] = {vec_slice(vec, value, 0, lanes), vec_slice(vec, value, lanes, lanes)};
    value = vec_apply(vec, op, halves, lanes);
  }
  return value;
}

/* Of groups of |run| lanes in |a| and then |b|, |lanes| each: the lower (|upper| 0) or the upper halves, |taken| lanes.
 */
static LLVMValueRef halves_of(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b, int run, int upper, int taken) {
  LLVMValueRef indices[VEC_MAX_SCAN];
  int half = run / 2;
  for (int i = 0; i < taken; i++) indices[i] = lane_index(vec, i / half * run + upper * half + i % half);
  return LLVMBuildShuffleVector(vec->builder, a, b, LLVMConstVector(indices, (unsigned)taken), "");
}

/* Halves of two values' groups fill a register while there are two. */
LLVMValueRef vec_reduce_each(const VecBuilder *vec, const VecOp *op, LLVMValueRef *values, int count, int lanes) {
  if (count == 1) return vec_reduce(vec, op, values[0], lanes);
  XLAC_CHECK(count <= VEC_MAX_REDUCED && lanes <= VEC_MAX_SCAN);
  int left = count, taken = lanes;
  for (int run = lanes; run > 1; run /= 2) {
    bool is_single = left == 1;
    left = is_single ? 1 : left / 2;
    if (is_single) taken /= 2;
    for (int i = 0; i < left; i++) {
      LLVMValueRef a = values[is_single ? 0 : 2 * i], b = values[is_single ? 0 : 2 * i + 1];
      LLVMValueRef halves[2] = {halves_of(vec, a, b, run, 0, taken), halves_of(vec, a, b, run, 1, taken)};
      values[i] = vec_apply(vec, op, halves, taken);
    }
  }
  for (; left > 1; left /= 2, taken *= 2) {
    for (int i = 0; i < left / 2; i++) values[i] = vec_join(vec, values[2 * i], values[2 * i + 1], taken);
  }
  return values[0];
}

/* Lanes |distance| before each; the first ones are the last of |before|. */
static LLVMValueRef move_up(const VecBuilder *vec, LLVMValueRef before, LLVMValueRef value, int distance, int lanes) {
  LLVMValueRef indices[VEC_MAX_SCAN];
  for (int i = 0; i < lanes; i++) indices[i] = lane_index(vec, lanes - distance + i);
  return LLVMBuildShuffleVector(vec->builder, before, value, LLVMConstVector(indices, (unsigned)lanes), "");
}

static LLVMValueRef identity_lanes(const VecBuilder *vec, const VecOp *op, int lanes) {
  uint64_t bits[FOLD_IDENTITY_BYTES / sizeof(uint64_t)] = {0};
  bool has_identity = hlo_fold_identity(op->opcode, op->type, bits);
  XLAC_CHECK(has_identity);
  return vec_constant(vec, op->type, bits[0], lanes);
}

/* The lanes before the first one hold the identity.  Were they left open, LLVM would take them from any register: where
 * that is the accumulator's, each step would wait for the one before. */
LLVMValueRef vec_scan(const VecBuilder *vec, const VecOp *op, LLVMValueRef value, int lanes) {
  XLAC_CHECK(lanes <= VEC_MAX_SCAN);
  LLVMValueRef identity = identity_lanes(vec, op, lanes);
  for (int distance = 1; distance < lanes; distance *= 2) {
    LLVMValueRef operands[] = {move_up(vec, identity, value, distance, lanes), value};
    value = vec_apply(vec, op, operands, lanes);
  }
  return value;
}

LLVMValueRef vec_splat_lane(const VecBuilder *vec, LLVMValueRef value, int lane, int lanes) {
  LLVMValueRef indices[VEC_MAX_SCAN];
  XLAC_CHECK(lanes <= VEC_MAX_SCAN);
  for (int i = 0; i < lanes; i++) indices[i] = lane_index(vec, lane);
  return LLVMBuildShuffleVector(vec->builder, value, value, LLVMConstVector(indices, (unsigned)lanes), "");
}

LLVMValueRef vec_multiply_add(const VecBuilder *vec, PrimitiveType type, LLVMValueRef a, LLVMValueRef b,
                              LLVMValueRef c) {
  LLVMBuilderRef builder = vec->builder;
  if (!type_is_float(type)) return LLVMBuildAdd(builder, LLVMBuildMul(builder, a, b, ""), c, "");
  if (!vec->target->has_fma) return LLVMBuildFAdd(builder, LLVMBuildFMul(builder, a, b, ""), c, "");
  LLVMTypeRef overload = LLVMTypeOf(a);
  LLVMValueRef arguments[] = {a, b, c};
  return vec_intrinsic(vec, "llvm.fma", &overload, 1, arguments, 3);
}
