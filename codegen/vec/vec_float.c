/* Floating point but for the transcendental functions.  bf16 is a float here, and f16 either a float or itself;
 * vec_apply rounds. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "codegen/vec/vec_apply_internal.h"
#include "hlo/type/float_types.h"

#define UNUSED(x) (void)(x)

static PrimitiveType int_type_of(PrimitiveType type) {
  return type == TYPE_F64 ? TYPE_S64 : TYPE_S32;
}

static LLVMValueRef unary_intrinsic(const VecBuilder *vec, const char *name, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return vec_intrinsic(vec, name, &type, 1, &value, 1);
}

static LLVMValueRef to_bits(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  return LLVMBuildBitCast(vec->builder, value, vec_type(vec, int_type_of(type), lanes), "");
}

static LLVMValueRef from_bits(const VecBuilder *vec, PrimitiveType type, LLVMValueRef bits, int lanes) {
  return LLVMBuildBitCast(vec->builder, bits, vec_type(vec, type, lanes), "");
}

#define BINARY_RULE(name, build)                              \
  VEC_RULE(name) {                                            \
    UNUSED(op);                                               \
    UNUSED(lanes);                                            \
    return build(vec->builder, operands[0], operands[1], ""); \
  }

BINARY_RULE(vec_float_add, LLVMBuildFAdd)
BINARY_RULE(vec_float_subtract, LLVMBuildFSub)
BINARY_RULE(vec_float_multiply, LLVMBuildFMul)

/* --- division --- */

enum { LEAST_OF_BYTES = -128, MOST_OF_BYTES = 255 };

/* Whether the value is a number of 8 bits as f32, signed or not. */
static bool is_byte(LLVMValueRef value) {
  if (LLVMIsAUIToFPInst(value) == NULL && LLVMIsASIToFPInst(value) == NULL) return false;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(value, 0));
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetIntTypeWidth(type) == 8;
}

/* x/d as the nearest to x·r, corrected by what remains (Markstein): whether that is the quotient for all bytes. */
static bool reciprocal_divides_bytes(float divisor, float reciprocal) {
  for (int x = LEAST_OF_BYTES; x <= MOST_OF_BYTES; x++) {
    float product = (float)x * reciprocal, quotient = (float)x / divisor;
    float corrected = fmaf(fmaf(-product, divisor, (float)x), reciprocal, product);
    if (memcmp(&corrected, &quotient, sizeof quotient) != 0) return false;
  }
  return true;
}

/* Whether x/divisor may be had from x·r: the quotient's remainder is exact but for quotients near the least numbers. */
static bool has_short_quotients(PrimitiveType type, double divisor) {
  double most = type == TYPE_F64 ? 0x1p64 : 0x1p16;
  return divisor >= 1 / most && divisor <= most;
}

/* |value| between the largest numbers of |type|: never infinite. */
static LLVMValueRef bounded(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  LLVMBuilderRef b = vec->builder;
  double most = type == TYPE_F64 ? DBL_MAX : (double)FLT_MAX;
  LLVMValueRef upper = vec_constant_double(vec, type, most, lanes),
               lower = vec_constant_double(vec, type, -most, lanes);
  value = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, value, upper, ""), value, upper, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, value, lower, ""), value, lower, "");
}

/* x/divisor as the nearest to x·r, corrected by what remains (Markstein), in a quarter of a division's time; of zeros
 * the signs are right since what is too much is taken away.  x·r may be infinite where the quotient is not, so it is
 * bounded: what remains of an infinite x or quotient makes it infinite again.  Quotients below 2^-100 (f64: 2^-900),
 * whose remainder may be below the least number, may be one unit off. */
static LLVMValueRef short_quotient(const VecBuilder *vec, PrimitiveType type, LLVMValueRef x, double divisor,
                                   int lanes) {
  LLVMBuilderRef b = vec->builder;
  double reciprocal = type == TYPE_F64 ? 1 / divisor : (double)(1 / (float)divisor);
  LLVMValueRef product = LLVMBuildFMul(b, x, vec_constant_double(vec, type, reciprocal, lanes), "");
  product = bounded(vec, type, product, lanes);
  LLVMValueRef beyond =
      vec_multiply_add(vec, type, product, vec_constant_double(vec, type, divisor, lanes), LLVMBuildFNeg(b, x, ""));
  return vec_multiply_add(vec, type, beyond, vec_constant_double(vec, type, -reciprocal, lanes), product);
}

/* Bytes (pixels by 255) have no exceptions. */
static LLVMValueRef byte_quotient(const VecBuilder *vec, LLVMValueRef const *operands, float divisor, int lanes) {
  LLVMValueRef factor = vec_constant_double(vec, TYPE_F32, (double)(1 / divisor), lanes);
  LLVMValueRef product = LLVMBuildFMul(vec->builder, operands[0], factor, "");
  LLVMValueRef rest =
      vec_multiply_add(vec, TYPE_F32, LLVMBuildFNeg(vec->builder, product, ""), operands[1], operands[0]);
  return vec_multiply_add(vec, TYPE_F32, rest, factor, product);
}

VEC_RULE(vec_float_divide) {
  double divisor;
  if ((op->type == TYPE_F32 || op->type == TYPE_F64) && vec->target->has_fma &&
      vec_same_constant(operands[1], &divisor)) {
    bool is_bytes = op->type == TYPE_F32 && is_byte(operands[0]);
    if (is_bytes && reciprocal_divides_bytes((float)divisor, 1 / (float)divisor))
      return byte_quotient(vec, operands, (float)divisor, lanes);
    if (lanes > 1 && has_short_quotients(op->type, divisor))
      return short_quotient(vec, op->type, operands[0], divisor, lanes);
  }
  return LLVMBuildFDiv(vec->builder, operands[0], operands[1], "");
}

/* --- signs --- */

VEC_RULE(vec_float_negate) {
  UNUSED(op), UNUSED(lanes);
  return LLVMBuildFNeg(vec->builder, operands[0], "");
}

VEC_RULE(vec_float_abs) {
  UNUSED(op), UNUSED(lanes);
  return unary_intrinsic(vec, "llvm.fabs", operands[0]);
}

VEC_RULE(vec_float_imag) {
  UNUSED(vec), UNUSED(op), UNUSED(lanes);
  return LLVMConstNull(LLVMTypeOf(operands[0]));
}

/* 1/sqrt(value) of f64 to 14 bits, by AVX-512's instruction. */
static LLVMValueRef estimate_rsqrt(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  if (lanes == 1) return vec_slice(vec, estimate_rsqrt(vec, vec_pad(vec, value, 1, 2), 2), 0, 1);
  if (lanes > 8) {
    int half = lanes / 2;
    LLVMValueRef low = estimate_rsqrt(vec, vec_slice(vec, value, 0, half), half);
    return vec_join(vec, low, estimate_rsqrt(vec, vec_slice(vec, value, half, half), half), half);
  }
  const char *name = lanes == 2   ? "llvm.x86.avx512.rsqrt14.pd.128"
                     : lanes == 4 ? "llvm.x86.avx512.rsqrt14.pd.256"
                                  : "llvm.x86.avx512.rsqrt14.pd.512";
  LLVMValueRef mask = LLVMConstAllOnes(LLVMInt8TypeInContext(vec->context));
  LLVMValueRef arguments[] = {value, LLVMConstNull(LLVMTypeOf(value)), mask};
  return vec_intrinsic(vec, name, NULL, 0, arguments, 3);
}

#define SHORT_ROOT_BITS 40

/* sqrt(x) to so many bits without the processor's root, which takes four times as long: x times the estimate, to which
 * what its square lacks is added twice.  The estimate's operand is kept above 0, where it is infinite; infinity gives
 * NaN. */
static LLVMValueRef short_root(const VecBuilder *vec, LLVMValueRef x, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef least = vec_constant_double(vec, TYPE_F64, 0x1p-1000, lanes);
  LLVMValueRef is_above = LLVMBuildFCmp(b, LLVMRealOGT, x, least, "");
  LLVMValueRef estimate = estimate_rsqrt(vec, LLVMBuildSelect(b, is_above, x, least, ""), lanes);
  LLVMValueRef root = LLVMBuildFMul(b, x, estimate, "");
  LLVMValueRef half = LLVMBuildFMul(b, estimate, vec_constant_double(vec, TYPE_F64, 0.5, lanes), "");
  for (int step = 0; step < 2; step++) {
    LLVMValueRef lacks = vec_multiply_add(vec, TYPE_F64, LLVMBuildFNeg(b, root, ""), root, x);
    root = vec_multiply_add(vec, TYPE_F64, lacks, half, root);
  }
  return root;
}

VEC_RULE(vec_float_sqrt) {
  bool is_short = op->params[0] > 0 && op->params[0] <= SHORT_ROOT_BITS;
  if (is_short && op->type == TYPE_F64 && vec->target->has_avx512) return short_root(vec, operands[0], lanes);
  return unary_intrinsic(vec, "llvm.sqrt", operands[0]);
}

VEC_RULE(vec_float_rsqrt) {
  LLVMValueRef root = unary_intrinsic(vec, "llvm.sqrt", operands[0]);
  return LLVMBuildFDiv(vec->builder, vec_constant_double(vec, op->type, 1.0, lanes), root, "");
}

VEC_RULE(vec_float_is_finite) {
  UNUSED(lanes);
  LLVMValueRef size = unary_intrinsic(vec, "llvm.fabs", operands[0]);
  LLVMValueRef infinity = vec_constant_double(vec, op->operand_type, __builtin_inf(), lanes);
  return LLVMBuildFCmp(vec->builder, LLVMRealOLT, size, infinity, "");
}

/* ±1 with the sign of x; ±0 and NaN stay. */
VEC_RULE(vec_float_sign) {
  LLVMValueRef x = operands[0];
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef arguments[] = {vec_constant_double(vec, op->type, 1.0, lanes), x};
  LLVMValueRef one = vec_intrinsic(vec, "llvm.copysign", &type, 1, arguments, 2);
  LLVMValueRef ordinary = LLVMBuildFCmp(vec->builder, LLVMRealONE, x, LLVMConstNull(type), "");
  return LLVMBuildSelect(vec->builder, ordinary, one, x, "");
}

/* --- rounding --- */

static LLVMValueRef copy_sign(const VecBuilder *vec, LLVMValueRef size, LLVMValueRef sign) {
  LLVMTypeRef type = LLVMTypeOf(size);
  LLVMValueRef arguments[] = {size, sign};
  return vec_intrinsic(vec, "llvm.copysign", &type, 1, arguments, 2);
}

LLVMValueRef vec_float_rint(const VecBuilder *vec, PrimitiveType type, LLVMValueRef x, int lanes) {
  if (vec->target->has_rounding) return unary_intrinsic(vec, "llvm.rint", x);
  /* adding and taking away 2^23 (2^52) leaves no room for a fraction; larger values have none */
  double magic = type == TYPE_F64 ? 0x1p52 : 0x1p23;
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef size = unary_intrinsic(vec, "llvm.fabs", x), big = vec_constant_double(vec, type, magic, lanes);
  LLVMValueRef rounded = LLVMBuildFSub(b, LLVMBuildFAdd(b, size, big, ""), big, "");
  LLVMValueRef small = LLVMBuildFCmp(b, LLVMRealOLT, size, big, "");
  return LLVMBuildSelect(b, small, copy_sign(vec, rounded, x), x, "");
}

VEC_RULE(vec_float_round_even) {
  return vec_float_rint(vec, op->type, operands[0], lanes);
}

static LLVMValueRef floor_or_ceil(const VecBuilder *vec, const VecOp *op, LLVMValueRef x, int lanes, bool up) {
  if (vec->target->has_rounding) return unary_intrinsic(vec, up ? "llvm.ceil" : "llvm.floor", x);
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef near = vec_float_rint(vec, op->type, x, lanes), one = vec_constant_double(vec, op->type, 1.0, lanes);
  LLVMValueRef beyond = LLVMBuildFCmp(b, up ? LLVMRealOLT : LLVMRealOGT, near, x, "");
  LLVMValueRef moved = up ? LLVMBuildFAdd(b, near, one, "") : LLVMBuildFSub(b, near, one, "");
  return copy_sign(vec, LLVMBuildSelect(b, beyond, moved, near, ""), x);
}

VEC_RULE(vec_float_floor) {
  return floor_or_ceil(vec, op, operands[0], lanes, false);
}

VEC_RULE(vec_float_ceil) {
  return floor_or_ceil(vec, op, operands[0], lanes, true);
}

/* Truncation of |x| plus one where half or more was cut off. */
VEC_RULE(vec_float_round_afz) {
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef size = unary_intrinsic(vec, "llvm.fabs", operands[0]);
  LLVMValueRef whole = floor_or_ceil(vec, op, size, lanes, false);
  LLVMValueRef rest = LLVMBuildFSub(b, size, whole, "");
  LLVMValueRef up = LLVMBuildFCmp(b, LLVMRealOGE, rest, vec_constant_double(vec, op->type, 0.5, lanes), "");
  LLVMValueRef raised = LLVMBuildFAdd(b, whole, vec_constant_double(vec, op->type, 1.0, lanes), "");
  return copy_sign(vec, LLVMBuildSelect(b, up, raised, whole, ""), operands[0]);
}

/* Rounds to |mantissa| bits to nearest even, then overflows and flushes by the range of |exponent| bits (XLA's
 * EmitReducePrecision).  All of it on the bits of a format that holds the type (float_precision_format): an f16 that is
 * subnormal keeps fewer digits. */
VEC_RULE(vec_float_reduce_precision) {
  LLVMBuilderRef b = vec->builder;
  PrimitiveType format = float_precision_format(op->type);
  int bits = type_bits(format);
  int source_mantissa = type_info(format)->mantissa_bits, source_exponent = type_info(format)->exponent_bits;
  int exponent = (int)op->params[0], mantissa = (int)op->params[1];
  LLVMValueRef x = operands[0];
  bool is_half = format == TYPE_F16;
  LLVMValueRef word = is_half ? vec_float_to_f16_bits(vec, x, lanes) : to_bits(vec, format, x, lanes);
  if (mantissa < source_mantissa) {
    int dropped = source_mantissa - mantissa;
    LLVMValueRef last = LLVMBuildAnd(b, LLVMBuildLShr(b, word, vec_int(vec, bits, dropped, lanes), ""),
                                     vec_int(vec, bits, 1, lanes), "");
    LLVMValueRef bias = LLVMBuildAdd(b, last, vec_int(vec, bits, (INT64_C(1) << (dropped - 1)) - 1, lanes), "");
    word =
        LLVMBuildAnd(b, LLVMBuildAdd(b, word, bias, ""), vec_int(vec, bits, ~((INT64_C(1) << dropped) - 1), lanes), "");
  }
  if (exponent < source_exponent) {
    int64_t source_bias = (INT64_C(1) << (source_exponent - 1)) - 1, bias = (INT64_C(1) << (exponent - 1)) - 1;
    int64_t greatest = (source_bias + bias) << source_mantissa, least = (source_bias - bias + 1) << source_mantissa;
    int64_t exponent_mask = ((INT64_C(1) << source_exponent) - 1) << source_mantissa;
    int64_t sign_mask = (int64_t)(UINT64_C(1) << (bits - 1));
    LLVMValueRef field = LLVMBuildAnd(b, word, vec_int(vec, bits, exponent_mask, lanes), "");
    LLVMValueRef sign = LLVMBuildAnd(b, word, vec_int(vec, bits, sign_mask, lanes), "");
    LLVMValueRef infinite = LLVMBuildOr(b, sign, vec_int(vec, bits, exponent_mask, lanes), "");
    LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGT, field, vec_int(vec, bits, greatest, lanes), "");
    LLVMValueRef under = LLVMBuildICmp(b, LLVMIntULT, field, vec_int(vec, bits, least, lanes), "");
    word = LLVMBuildSelect(b, over, infinite, word, "");
    word = LLVMBuildSelect(b, under, sign, word, "");
  }
  LLVMValueRef result = is_half ? vec_f16_bits_to_float(vec, word, lanes) : from_bits(vec, format, word, lanes);
  LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
  return LLVMBuildSelect(b, is_nan, x, result, "");
}
