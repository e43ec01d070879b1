/* Conversions between all types, bit by bit and by value. */
#include <math.h>

#include "codegen/vec/vec_apply_internal.h"

LLVMValueRef vec_wrap_narrow(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  if (!type_is_integral(type) || type_bits(type) >= 8) return value;
  int width = type_bits(type);
  if (type_is_unsigned(type)) return LLVMBuildAnd(vec->builder, value, vec_int(vec, 8, (1 << width) - 1, lanes), "");
  LLVMValueRef distance = vec_int(vec, 8, 8 - width, lanes);
  return LLVMBuildAShr(vec->builder, LLVMBuildShl(vec->builder, value, distance, ""), distance, "");
}

static LLVMValueRef float_to_float(const VecBuilder *vec, PrimitiveType from, PrimitiveType to, LLVMValueRef value,
                                   int lanes) {
  LLVMTypeRef type = vec_type(vec, to, lanes);
  if (vec_register_bits(from) == vec_register_bits(to)) return value;
  if (to == TYPE_F64) return LLVMBuildFPExt(vec->builder, value, type, "");
  if (to == TYPE_F32 || to == TYPE_F8E8M0FNU) return LLVMBuildFPTrunc(vec->builder, value, type, "");
  /* f64 → f16, bf16: through f32 rounded to odd, so that the second rounding sees what the first cut off */
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef near = LLVMBuildFPTrunc(b, value, type, "");
  LLVMValueRef back = LLVMBuildFPExt(b, near, LLVMTypeOf(value), "");
  LLVMTypeRef s32 = vec_type(vec, TYPE_S32, lanes);
  LLVMValueRef word = LLVMBuildBitCast(b, near, s32, "");
  LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, value, "");
  LLVMValueRef even = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, word, vec_int(vec, 32, 1, lanes), ""),
                                    vec_int(vec, 32, 0, lanes), "");
  LLVMTypeRef f64 = LLVMTypeOf(value);
  LLVMTypeRef overload = f64;
  LLVMValueRef size = vec_intrinsic(vec, "llvm.fabs", &overload, 1, &value, 1),
               back_size = vec_intrinsic(vec, "llvm.fabs", &overload, 1, &back, 1);
  LLVMValueRef grew = LLVMBuildFCmp(b, LLVMRealOGT, back_size, size, "");
  LLVMValueRef step = LLVMBuildSelect(b, grew, vec_int(vec, 32, -1, lanes), vec_int(vec, 32, 1, lanes), "");
  LLVMValueRef moved = LLVMBuildAdd(b, word, step, "");
  LLVMValueRef odd = LLVMBuildSelect(b, LLVMBuildAnd(b, inexact, even, ""), moved, word, "");
  return LLVMBuildBitCast(b, odd, type, "");
}

/* Saturating, NaN to 0, by comparisons: x86 has no such conversion, and LLVM takes vectors apart for
 * llvm.fpto[su]i.sat. Numbers are brought into the type's range first; where the float has not its greatest integer,
 * what is beyond is put right afterwards. */
static LLVMValueRef lanes_to_int(const VecBuilder *vec, PrimitiveType from, PrimitiveType to, LLVMValueRef value,
                                 int lanes) {
  LLVMBuilderRef b = vec->builder;
  bool is_signed = type_is_signed(to);
  int magnitude_bits = type_bits(to) - is_signed, middle_bits = type_bits(to) > 32 ? 64 : 32;
  bool has_greatest = magnitude_bits <= (from == TYPE_F64 ? 53 : 24);
  double limit = ldexp(1, magnitude_bits);
  LLVMValueRef lower = vec_constant_double(vec, from, is_signed ? -limit : 0, lanes);
  LLVMValueRef upper = vec_constant_double(vec, from, has_greatest ? limit - 1 : limit, lanes);
  /* NaN fails the comparison, and takes the lower bound. */
  LLVMValueRef bounded = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, value, lower, ""), value, lower, "");
  if (has_greatest) bounded = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, bounded, upper, ""), bounded, upper, "");
  if (!has_greatest || is_signed) {
    LLVMValueRef stays = has_greatest ? LLVMBuildFCmp(b, LLVMRealORD, value, value, "")
                                      : LLVMBuildFCmp(b, LLVMRealOLT, value, upper, "");
    bounded = LLVMBuildSelect(b, stays, bounded, LLVMConstNull(LLVMTypeOf(value)), "");
  }
  LLVMTypeRef middle = vec_of(LLVMIntTypeInContext(vec->context, (unsigned)middle_bits), lanes);
  bool through_signed = is_signed || type_bits(to) < middle_bits;
  LLVMValueRef result =
      through_signed ? LLVMBuildFPToSI(b, bounded, middle, "") : LLVMBuildFPToUI(b, bounded, middle, "");
  if (!has_greatest) {
    LLVMValueRef is_beyond = LLVMBuildFCmp(b, LLVMRealOGE, value, upper, "");
    LLVMValueRef greatest = vec_int(vec, middle_bits, (int64_t)(UINT64_MAX >> (64 - magnitude_bits)), lanes);
    result = LLVMBuildSelect(b, is_beyond, greatest, result, "");
  }
  return vec_register_bits(to) < middle_bits ? LLVMBuildTrunc(b, result, vec_type(vec, to, lanes), "") : result;
}

/* Saturating, NaN to 0: llvm.fpto[su]i.sat does both.  Types narrower than a byte saturate at their own bounds. */
static LLVMValueRef float_to_int(const VecBuilder *vec, PrimitiveType from, PrimitiveType to, LLVMValueRef value,
                                 int lanes) {
  if (lanes > 1 && !vec->target->has_saturation) return lanes_to_int(vec, from, to, value, lanes);
  bool is_signed = type_is_signed(to);
  LLVMTypeRef narrow = vec_of(LLVMIntTypeInContext(vec->context, (unsigned)type_bits(to)), lanes);
  LLVMTypeRef overloads[] = {narrow, LLVMTypeOf(value)};
  LLVMValueRef result = vec_intrinsic(vec, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", overloads, 2, &value, 1);
  LLVMTypeRef type = vec_type(vec, to, lanes);
  if (type_bits(to) >= 8) return result;
  return is_signed ? LLVMBuildSExt(vec->builder, result, type, "") : LLVMBuildZExt(vec->builder, result, type, "");
}

/* The low |count| bits of integer lanes gathered in the next one: zeros, and that one set where any of them was. */
static LLVMValueRef gather_low_bits(const VecBuilder *vec, LLVMValueRef value, int width, int count, int lanes) {
  LLVMBuilderRef b = vec->builder;
  int64_t next = INT64_C(1) << count;
  LLVMValueRef carried = LLVMBuildAdd(b, LLVMBuildAnd(b, value, vec_int(vec, width, next - 1, lanes), ""),
                                      vec_int(vec, width, next - 1, lanes), "");
  return LLVMBuildAnd(b, LLVMBuildOr(b, carried, value, ""), vec_int(vec, width, -next, lanes), "");
}

/* Integers of 64 (32) bits from 2^40 (2^20) on with as many low bits gathered as f64 (f32) may not keep: the conversion
 * becomes exact, and rounding that to f16 or bf16 gives what rounding the integer would. */
static LLVMValueRef with_sticky_bit(const VecBuilder *vec, PrimitiveType from, LLVMValueRef value, int lanes) {
  LLVMBuilderRef b = vec->builder;
  int width = type_bits(from), kept = width == 64 ? 40 : 20;
  LLVMValueRef gathered = gather_low_bits(vec, value, width, width == 64 ? 11 : 8, lanes);
  LLVMValueRef limit = vec_int(vec, width, INT64_C(1) << kept, lanes), is_big;
  if (type_is_signed(from)) { /* -limit <= value < limit, as one unsigned comparison */
    LLVMValueRef shifted = LLVMBuildAdd(b, value, limit, "");
    is_big = LLVMBuildICmp(b, LLVMIntUGE, shifted, vec_int(vec, width, INT64_C(2) << kept, lanes), "");
  } else {
    is_big = LLVMBuildICmp(b, LLVMIntUGE, value, limit, "");
  }
  return LLVMBuildSelect(b, is_big, gathered, value, "");
}

static LLVMValueRef int_to_float(const VecBuilder *vec, PrimitiveType from, PrimitiveType to, LLVMValueRef value,
                                 int lanes) {
  /* wide integers reach floats below f32 through an exact f32 or f64, whose digits are gathered in those of f32 */
  bool is_short = to != TYPE_F32 && to != TYPE_F64 && to != TYPE_F8E8M0FNU && type_bits(from) >= 32;
  bool through_double = is_short && type_bits(from) == 64;
  if (is_short) value = with_sticky_bit(vec, from, value, lanes);
  PrimitiveType middle = through_double ? TYPE_F64 : to;
  LLVMTypeRef type = vec_type(vec, middle, lanes);
  LLVMValueRef result = type_is_signed(from) ? LLVMBuildSIToFP(vec->builder, value, type, "")
                                             : LLVMBuildUIToFP(vec->builder, value, type, "");
  if (!through_double) return result;
  LLVMValueRef word = LLVMBuildBitCast(vec->builder, result, vec_type(vec, TYPE_S64, lanes), "");
  word = gather_low_bits(vec, word, 64, 29, lanes);
  return LLVMBuildFPTrunc(vec->builder, LLVMBuildBitCast(vec->builder, word, type, ""), vec_type(vec, to, lanes), "");
}

static LLVMValueRef int_to_int(const VecBuilder *vec, PrimitiveType from, PrimitiveType to, LLVMValueRef value,
                               int lanes) {
  int from_bits = vec_register_bits(from), to_bits = vec_register_bits(to);
  LLVMTypeRef type = vec_type(vec, to, lanes);
  if (from_bits == to_bits) return value;
  if (from_bits > to_bits) return LLVMBuildTrunc(vec->builder, value, type, "");
  return type_is_signed(from) ? LLVMBuildSExt(vec->builder, value, type, "")
                              : LLVMBuildZExt(vec->builder, value, type, "");
}

VEC_RULE(vec_convert) {
  PrimitiveType from = op->operand_type, to = op->type;
  LLVMValueRef value = operands[0];
  if (from == to) return value;
  if (to == TYPE_PRED) {
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
    if (type_is_float(from)) return LLVMBuildFCmp(vec->builder, LLVMRealUNE, value, zero, "");
    return LLVMBuildICmp(vec->builder, LLVMIntNE, value, zero, "");
  }
  if (type_is_float(from)) {
    return type_is_float(to) ? float_to_float(vec, from, to, value, lanes) : float_to_int(vec, from, to, value, lanes);
  }
  return type_is_float(to) ? int_to_float(vec, from, to, value, lanes) : int_to_int(vec, from, to, value, lanes);
}

VEC_RULE(vec_bitcast_convert) {
  LLVMValueRef word = vec_to_memory(vec, op->operand_type, operands[0], lanes);
  LLVMValueRef cast = LLVMBuildBitCast(vec->builder, word, vec_memory_type(vec, op->type, lanes), "");
  return vec_from_memory(vec, op->type, cast, lanes);
}
