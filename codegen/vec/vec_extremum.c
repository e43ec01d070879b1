/* The larger and the smaller of two floats, and the extremum of many. */
#include "codegen/vec/vec_apply_internal.h"

#define UNUSED(x) (void)(x)

enum { LEAST_REGISTER_BITS = 128, MOST_REGISTER_BITS = 512 };

static LLVMTypeRef element_of(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static bool is_f64(LLVMValueRef value) {
  return LLVMGetTypeKind(element_of(value)) == LLVMDoubleTypeKind;
}

static int register_bits_of(LLVMValueRef value, int lanes) {
  return lanes * (is_f64(value) ? 64 : 32);
}

typedef LLVMValueRef ExtremumRule(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_maximum, int lanes);

/* What |rule| makes of each half. */
static LLVMValueRef by_halves(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_maximum, int lanes,
                              ExtremumRule *rule) {
  int half = lanes / 2;
  LLVMValueRef parts[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef a = vec_slice(vec, x, i * half, half), b = vec_slice(vec, y, i * half, half);
    parts[i] = rule(vec, a, b, is_maximum, half);
  }
  return vec_join(vec, parts[0], parts[1], half);
}

/* The extremum of |x| and |y|, of one where the other is NaN, by AVX-512 DQ's instruction, which orders zeros: whole
 * registers of f32 or f64. */
static LLVMValueRef extremum_of_numbers(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_maximum,
                                        int lanes) {
  int bits = register_bits_of(x, lanes);
  if (bits > MOST_REGISTER_BITS) return by_halves(vec, x, y, is_maximum, lanes, extremum_of_numbers);
  static const char *const names[2][3] = {
      {"llvm.x86.avx512.mask.range.ps.128", "llvm.x86.avx512.mask.range.ps.256", "llvm.x86.avx512.mask.range.ps.512"},
      {"llvm.x86.avx512.mask.range.pd.128", "llvm.x86.avx512.mask.range.pd.256", "llvm.x86.avx512.mask.range.pd.512"}};
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef mask = LLVMConstAllOnes(LLVMIntTypeInContext(vec->context, lanes == 16 ? 16 : 8));
  LLVMValueRef operation = LLVMConstInt(s32, is_maximum ? 1 | 1 << 2 : 0 | 1 << 2, false); /* sign of the result */
  LLVMValueRef arguments[] = {x, y, operation, LLVMConstNull(LLVMTypeOf(x)), mask, LLVMConstInt(s32, 4, false)};
  const char *name = names[is_f64(x)][bits == LEAST_REGISTER_BITS ? 0 : bits == 256 ? 1 : 2];
  return vec_intrinsic(vec, name, NULL, 0, arguments, bits == MOST_REGISTER_BITS ? 6 : 5);
}

/* NaN, from a sum, where either is NaN.  NULL: no whole registers, or no such instruction. */
static LLVMValueRef extremum_by_instruction(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_maximum,
                                            int lanes) {
  if (!vec->target->has_avx512) return NULL;
  if (lanes == 1) { /* with the rest of a register, whatever it holds */
    int filled = is_f64(x) ? 2 : 4;
    LLVMValueRef zero = LLVMConstNull(LLVMInt32TypeInContext(vec->context));
    LLVMValueRef other = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), (unsigned)filled));
    x = LLVMBuildInsertElement(vec->builder, other, x, zero, "");
    y = LLVMBuildInsertElement(vec->builder, other, y, zero, "");
    LLVMValueRef extrema = extremum_by_instruction(vec, x, y, is_maximum, filled);
    return LLVMBuildExtractElement(vec->builder, extrema, zero, "");
  }
  int bits = register_bits_of(x, lanes);
  if (bits < LEAST_REGISTER_BITS) return NULL;
  if (bits > MOST_REGISTER_BITS) return by_halves(vec, x, y, is_maximum, lanes, extremum_by_instruction);
  LLVMValueRef result = extremum_of_numbers(vec, x, y, is_maximum, lanes);
  LLVMValueRef is_nan = LLVMBuildFCmp(vec->builder, LLVMRealUNO, x, y, "");
  return LLVMBuildSelect(vec->builder, is_nan, LLVMBuildFAdd(vec->builder, x, y, ""), result, "");
}

/* By comparisons: each keeps the second of two zeros, and of two where one is NaN.  So they are made both ways: of
 * zeros the bits of both make the one that has to win, and NaN comes from the sum. */
static LLVMValueRef extremum_by_bits(const VecBuilder *vec, LLVMValueRef x, LLVMValueRef y, bool is_maximum,
                                     PrimitiveType bits, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef type = LLVMTypeOf(x), integer = vec_type(vec, bits, lanes);
  LLVMRealPredicate wins = is_maximum ? LLVMRealOGT : LLVMRealOLT;
  LLVMValueRef first = LLVMBuildSelect(b, LLVMBuildFCmp(b, wins, x, y, ""), x, y, "");
  LLVMValueRef second = LLVMBuildSelect(b, LLVMBuildFCmp(b, wins, y, x, ""), y, x, "");
  first = LLVMBuildBitCast(b, first, integer, "");
  second = LLVMBuildBitCast(b, second, integer, "");
  LLVMValueRef both = is_maximum ? LLVMBuildAnd(b, first, second, "") : LLVMBuildOr(b, first, second, "");
  LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, x, y, "");
  return LLVMBuildSelect(b, is_nan, LLVMBuildFAdd(b, x, y, ""), LLVMBuildBitCast(b, both, type, ""), "");
}

/* The integer of the width of |kind| where comparisons make its extrema, else TYPE_INVALID: f16, whose instructions
 * compare, and floats that have no registers, for which LLVM has no function of a library. */
static PrimitiveType compared_bits(const VecTarget *target, LLVMTypeKind kind) {
  if (kind == LLVMHalfTypeKind) return TYPE_S16;
  if (kind == LLVMFloatTypeKind && target->lacks_f32) return TYPE_S32;
  return kind == LLVMDoubleTypeKind && target->lacks_f64 ? TYPE_S64 : TYPE_INVALID;
}

/* NaN wins from either side and -0 < +0 (IEEE 754-2019 maximum, as XLA has it).  Against a constant one comparison
 * does, written so that NaN fails it: strict, but for a zero that has to win over the other zero. */
static LLVMValueRef extremum(const VecBuilder *vec, const LLVMValueRef *operands, bool is_maximum) {
  for (int i = 0; i < 2; i++) {
    LLVMValueRef x = operands[1 - i];
    double bound;
    if (!vec_same_constant(operands[i], &bound) || bound != bound) continue;
    bool wins_ties = bound == 0 && !__builtin_signbit(bound) == is_maximum;
    LLVMRealPredicate predicate =
        is_maximum ? (wins_ties ? LLVMRealOLE : LLVMRealOLT) : (wins_ties ? LLVMRealOGE : LLVMRealOGT);
    return LLVMBuildSelect(vec->builder, LLVMBuildFCmp(vec->builder, predicate, x, operands[i], ""), operands[i], x,
                           "");
  }
  LLVMTypeRef type = LLVMTypeOf(operands[0]);
  bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  int lanes = is_vector ? (int)LLVMGetVectorSize(type) : 1;
  LLVMTypeKind kind = LLVMGetTypeKind(element_of(operands[0]));
  PrimitiveType bits = compared_bits(vec->target, kind);
  if (bits != TYPE_INVALID) return extremum_by_bits(vec, operands[0], operands[1], is_maximum, bits, lanes);
  LLVMValueRef result = extremum_by_instruction(vec, operands[0], operands[1], is_maximum, lanes);
  if (result != NULL) return result;
  LLVMValueRef arguments[] = {operands[0], operands[1]};
  return vec_intrinsic(vec, is_maximum ? "llvm.maximum" : "llvm.minimum", &type, 1, arguments, 2);
}

VEC_RULE(vec_float_maximum) {
  UNUSED(op), UNUSED(lanes);
  return extremum(vec, operands, true);
}

VEC_RULE(vec_float_minimum) {
  UNUSED(op), UNUSED(lanes);
  return extremum(vec, operands, false);
}

/* --- of many --- */

static bool takes_largest(const VecOp *op) {
  return op->opcode == HLO_MAXIMUM;
}

/* Lanes of a register of the processor. */
static int register_lanes(const VecBuilder *vec, LLVMValueRef value) {
  return vec->target->vector_bits / (is_f64(value) ? 64 : 32);
}

bool vec_extremum_is_apart(const VecBuilder *vec, const VecOp *op, int lanes) {
  if (!vec->target->has_avx512 || !type_is_float(op->type) || vec_is_half(vec, op->type)) return false;
  if (!hlo_opcode_has(op->opcode, OP_IDEMPOTENT)) return false; /* of floats, extrema alone */
  return lanes * vec_register_bits(op->type) % vec->target->vector_bits == 0;
}

VecExtremum vec_extremum_begin(const VecBuilder *vec, LLVMValueRef identity, int lanes) {
  return (VecExtremum){vec_splat(vec, identity, lanes), vec_splat(vec, identity, register_lanes(vec, identity))};
}

static LLVMValueRef any_nan(LLVMValueRef like) {
  return LLVMConstRealOfString(element_of(like), "nan");
}

/* One comparison looks at two registers. */
void vec_extremum_advance(const VecBuilder *vec, const VecOp *op, VecExtremum *best, LLVMValueRef offered, int lanes) {
  int step = register_lanes(vec, offered);
  LLVMValueRef nan = vec_splat(vec, any_nan(offered), step);
  for (int at = 0; at < lanes; at += 2 * step) {
    LLVMValueRef first = lanes > step ? vec_slice(vec, offered, at, step) : offered;
    LLVMValueRef second = at + step < lanes ? vec_slice(vec, offered, at + step, step) : first;
    LLVMValueRef is_nan = LLVMBuildFCmp(vec->builder, LLVMRealUNO, first, second, "");
    best->nan = LLVMBuildSelect(vec->builder, is_nan, nan, best->nan, "");
  }
  best->numbers = extremum_of_numbers(vec, best->numbers, offered, takes_largest(op), lanes);
}

void vec_extremum_join(const VecBuilder *vec, const VecOp *op, VecExtremum *best, const VecExtremum *other, int lanes) {
  LLVMValueRef is_nan = LLVMBuildFCmp(vec->builder, LLVMRealUNO, other->nan, other->nan, "");
  best->nan = LLVMBuildSelect(vec->builder, is_nan, other->nan, best->nan, "");
  best->numbers = extremum_of_numbers(vec, best->numbers, other->numbers, takes_largest(op), lanes);
}

/* Lanes from |first| on, as the first of a value of as many. */
static LLVMValueRef lanes_from(const VecBuilder *vec, LLVMValueRef value, int first, int lanes) {
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef indices[LEAST_REGISTER_BITS / 32];
  for (int i = 0; i < lanes; i++) indices[i] = LLVMConstInt(s32, (unsigned)((first + i) % lanes), false);
  return LLVMBuildShuffleVector(vec->builder, value, value, LLVMConstVector(indices, (unsigned)lanes), "");
}

LLVMValueRef vec_extremum_reduce(const VecBuilder *vec, const VecOp *op, const VecExtremum *best, int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef value = best->numbers;
  while (register_bits_of(value, lanes) > LEAST_REGISTER_BITS) {
    lanes /= 2;
    LLVMValueRef high = vec_slice(vec, value, lanes, lanes);
    value = extremum_of_numbers(vec, vec_slice(vec, value, 0, lanes), high, takes_largest(op), lanes);
  }
  for (int half = lanes / 2; half > 0; half /= 2)
    value = extremum_of_numbers(vec, value, lanes_from(vec, value, half, lanes), takes_largest(op), lanes);
  LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, best->nan, best->nan, "");
  LLVMValueRef bits = vec_lane_bits(vec, is_nan, register_lanes(vec, value));
  LLVMValueRef has_nan = LLVMBuildICmp(b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
  return LLVMBuildSelect(b, has_nan, any_nan(value), vec_slice(vec, value, 0, 1), "");
}
