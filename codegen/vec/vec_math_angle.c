/* Reduction of angles by multiples of π/2: by subtraction for moderate ones, by the binary digits of 2/π (Payne and
 * Hanek) for the rest, those of f32 from a table by their exponent. */
#include <math.h>

#include "codegen/ir/ir_loop.h"
#include "codegen/vec/math_internal.h"

#define HALF_PI_HIGH 0x1.921fb54442d18p+0
#define HALF_PI_LOW 0x1.1a62633145c07p-54

/* A word of zeros, then the first 1280 bits of 2/π. */
static const uint64_t two_over_pi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};

/* --- one large angle, as a function of its own: double → {quadrant, high, low} --- */

typedef struct Scalar {
  const VecBuilder *vec;
  LLVMBuilderRef b;
  LLVMTypeRef s64, s128, f64;
} Scalar;

static LLVMValueRef number(const Scalar *s, uint64_t value) {
  return LLVMConstInt(s->s64, value, false);
}

static LLVMValueRef digit_table(const VecBuilder *vec) {
  const char *name = "xlac.two_over_pi";
  LLVMValueRef table = LLVMGetNamedGlobal(vec->module, name);
  if (table != NULL) return table;
  LLVMTypeRef s64 = LLVMInt64TypeInContext(vec->context);
  enum { COUNT = sizeof two_over_pi / sizeof *two_over_pi };
  LLVMValueRef words[COUNT];
  for (int i = 0; i < COUNT; i++) words[i] = LLVMConstInt(s64, two_over_pi[i], false);
  table = LLVMAddGlobal(vec->module, LLVMArrayType2(s64, COUNT), name);
  LLVMSetInitializer(table, LLVMConstArray2(s64, words, COUNT));
  LLVMSetGlobalConstant(table, true);
  LLVMSetLinkage(table, LLVMPrivateLinkage);
  return table;
}

/* 64 digits from bit |shift| of word |index| + |more| on. */
static LLVMValueRef digits(const Scalar *s, LLVMValueRef index, int more, LLVMValueRef shift) {
  LLVMValueRef table = digit_table(s->vec), words[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef at = LLVMBuildAdd(s->b, index, number(s, (uint64_t)(more + i)), "");
    words[i] = LLVMBuildLoad2(s->b, s->s64, LLVMBuildGEP2(s->b, s->s64, table, &at, 1, ""), "");
  }
  LLVMValueRef arguments[] = {words[0], words[1], shift};
  LLVMTypeRef type = s->s64;
  return vec_intrinsic(s->vec, "llvm.fshl", &type, 1, arguments, 3);
}

static LLVMValueRef wide(const Scalar *s, LLVMValueRef value) {
  return LLVMBuildZExt(s->b, value, s->s128, "");
}

static LLVMValueRef upper(const Scalar *s, LLVMValueRef value) {
  return LLVMBuildTrunc(s->b, LLVMBuildLShr(s->b, value, LLVMConstInt(s->s128, 64, false), ""), s->s64, "");
}

/* With |x| = m·2^e, m a whole number of 53 bits: the digits from weight 2^(2-e) on are all that matters modulo 4; 192
 * of them times m, modulo 2^192, are the quadrant in two bits and the rest of the turn after it. */
static void product_bits(const Scalar *s, LLVMValueRef x, LLVMValueRef *out_high, LLVMValueRef *out_middle) {
  LLVMValueRef bits = LLVMBuildBitCast(s->b, x, s->s64, "");
  LLVMValueRef field = LLVMBuildAnd(s->b, LLVMBuildLShr(s->b, bits, number(s, 52), ""), number(s, 0x7ff), "");
  LLVMValueRef m = LLVMBuildAnd(s->b, bits, number(s, (UINT64_C(1) << 52) - 1), "");
  m = wide(s, LLVMBuildOr(s->b, m, number(s, UINT64_C(1) << 52), ""));
  /* e = field - 1075, and the table begins with 64 zeros: position e - 2 + 64.  Angles below 2^-10 never come here. */
  LLVMValueRef position = LLVMBuildSub(s->b, field, number(s, 1013), "");
  LLVMValueRef index = LLVMBuildLShr(s->b, position, number(s, 6), "");
  LLVMValueRef shift = LLVMBuildAnd(s->b, position, number(s, 63), "");
  LLVMValueRef w0 = digits(s, index, 0, shift), w1 = digits(s, index, 1, shift), w2 = digits(s, index, 2, shift);
  LLVMValueRef low = upper(s, LLVMBuildMul(s->b, m, wide(s, w2), ""));
  LLVMValueRef middle = LLVMBuildAdd(s->b, LLVMBuildMul(s->b, m, wide(s, w1), ""), wide(s, low), "");
  LLVMValueRef high = LLVMBuildTrunc(s->b, LLVMBuildMul(s->b, m, wide(s, w0), ""), s->s64, "");
  *out_high = LLVMBuildAdd(s->b, high, upper(s, middle), "");
  *out_middle = LLVMBuildTrunc(s->b, middle, s->s64, "");
}

static LLVMValueRef chunk(const Scalar *s, LLVMValueRef word, bool is_upper, bool is_signed, double weight) {
  LLVMValueRef part = is_signed  ? LLVMBuildAShr(s->b, word, number(s, 32), "")
                      : is_upper ? LLVMBuildLShr(s->b, word, number(s, 32), "")
                                 : LLVMBuildAnd(s->b, word, number(s, 0xffffffff), "");
  return LLVMBuildFMul(s->b, LLVMBuildSIToFP(s->b, part, s->f64, ""), LLVMConstReal(s->f64, weight), "");
}

/* The part after the quadrant is a signed fraction of a quarter turn in [-1/2, 1/2): that of -1/2 and less counts down
 * from the next quadrant. */
static void build_large_angle(const VecBuilder *vec, LLVMValueRef function) {
  LLVMContextRef context = vec->context;
  Scalar s = {vec, vec->builder, LLVMInt64TypeInContext(context), LLVMIntTypeInContext(context, 128),
              LLVMDoubleTypeInContext(context)};
  Math d = math_of(vec, TYPE_F64, 1);
  LLVMValueRef x = LLVMGetParam(function, 0), high, middle;
  product_bits(&s, x, &high, &middle);
  LLVMValueRef quadrant =
      LLVMBuildLShr(s.b, LLVMBuildAdd(s.b, high, number(&s, UINT64_C(1) << 61), ""), number(&s, 62), "");
  LLVMTypeRef type = s.s64;
  LLVMValueRef two = number(&s, 2);
  LLVMValueRef fraction = vec_intrinsic(vec, "llvm.fshl", &type, 1, (LLVMValueRef[]){high, middle, two}, 3);
  LLVMValueRef below = LLVMBuildShl(s.b, middle, two, "");
  MathPair turn = pair_sum(&d, chunk(&s, fraction, true, true, 0x1p-32), chunk(&s, fraction, false, false, 0x1p-64));
  LLVMValueRef rest = m_add(&d, chunk(&s, below, true, false, 0x1p-96), chunk(&s, below, false, false, 0x1p-128));
  turn = pair_add(&d, turn, (MathPair){rest, m_const(&d, 0)});
  MathPair half_pi = {m_const(&d, HALF_PI_HIGH), m_const(&d, HALF_PI_LOW)};
  MathPair r = pair_multiply(&d, turn, half_pi);
  LLVMValueRef negative = m_sign_bit(&d, x);
  LLVMValueRef results[3] = {LLVMBuildSelect(s.b, negative, LLVMBuildNeg(s.b, quadrant, ""), quadrant, ""),
                             m_select(&d, negative, m_neg(&d, r.high), r.high),
                             m_select(&d, negative, m_neg(&d, r.low), r.low)};
  LLVMBuildAggregateRet(s.b, results, 3);
}

static LLVMValueRef large_angle_function(const VecBuilder *vec) {
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(vec->context);
  LLVMTypeRef fields[] = {LLVMInt64TypeInContext(vec->context), f64, f64};
  LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(vec->context, fields, 3, false), &f64, 1, false);
  VecFunction function = vec_function_begin(vec, "xlac.large_angle", type);
  if (function.is_new) {
    build_large_angle(&function.vec, function.value);
    vec_function_end(&function);
  }
  return function.value;
}

/* --- large angles of 24 bits, in lanes --- */

enum {
  LEAST_EXPONENT = 15, /* the least of |x| >= 2^15 */
  SHORT_EXPONENTS = 128 - LEAST_EXPONENT,
  SHORT_PARTS = 3,
  DOUBLE_EXPONENT_BIAS = 1023,
  DOUBLE_FRACTION_BITS = 52,
};

/* |count| digits of 2/π, at most 53, the first of weight 2^-|first|, as a number; digits before the point are 0. */
static double digits_from(int first, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; i++) {
    int place = 64 + first - 1 + i;
    value = value << 1 | (two_over_pi[place / 64] >> (63 - place % 64) & 1);
  }
  return ldexp((double)value, -(first + count - 1));
}

/* For each exponent e of m·2^(e-23), m of 24 bits, what matters of 2/π modulo 4 in three parts: the products of the
 * first two of 28 bits with m are exact, that of the last is rounded. */
static LLVMValueRef part_table(const VecBuilder *vec) {
  static const char name[] = "xlac.two_over_pi.parts";
  LLVMValueRef table = LLVMGetNamedGlobal(vec->module, name);
  if (table != NULL) return table;
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(vec->context);
  LLVMValueRef parts[SHORT_EXPONENTS * SHORT_PARTS];
  for (int i = 0; i < SHORT_EXPONENTS; i++) {
    int first = LEAST_EXPONENT + i - 23 - 1; /* m times the digits before it is a multiple of 4 */
    parts[i * SHORT_PARTS] = LLVMConstReal(f64, digits_from(first, 28));
    parts[i * SHORT_PARTS + 1] = LLVMConstReal(f64, digits_from(first + 28, 28));
    parts[i * SHORT_PARTS + 2] = LLVMConstReal(f64, digits_from(first + 56, 53));
  }
  table = LLVMAddGlobal(vec->module, LLVMArrayType2(f64, SHORT_EXPONENTS * SHORT_PARTS), name);
  LLVMSetInitializer(table, LLVMConstArray2(f64, parts, SHORT_EXPONENTS * SHORT_PARTS));
  LLVMSetGlobalConstant(table, true);
  LLVMSetLinkage(table, LLVMPrivateLinkage);
  return table;
}

static LLVMValueRef part_of(const Math *d, LLVMValueRef index, int part) {
  LLVMValueRef at = LLVMBuildAdd(d->b, index, m_int(d, part), ""), table = part_table(d->vec);
  if (d->lanes > 1) return vec_gather(d->vec, TYPE_F64, table, at, NULL, d->lanes);
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(d->vec->context);
  return LLVMBuildLoad2(d->b, f64, LLVMBuildGEP2(d->b, f64, table, &at, 1, ""), "");
}

MathQuadrant math_reduce_short_angle(const Math *d, LLVMValueRef x) {
  LLVMValueRef field = LLVMBuildLShr(d->b, m_bits(d, m_abs(d, x)), m_int(d, DOUBLE_FRACTION_BITS), "");
  LLVMValueRef row = LLVMBuildSub(d->b, field, m_int(d, DOUBLE_EXPONENT_BIAS + LEAST_EXPONENT), "");
  LLVMValueRef last = m_int(d, SHORT_EXPONENTS - 1);
  row = LLVMBuildSelect(d->b, LLVMBuildICmp(d->b, LLVMIntULT, row, last, ""), row, last, "");
  LLVMValueRef index = LLVMBuildMul(d->b, row, m_int(d, SHORT_PARTS), ""), products[SHORT_PARTS];
  for (int i = 0; i < SHORT_PARTS; i++) products[i] = m_mul(d, x, part_of(d, index, i));
  MathWhole n = m_whole_product(d, m_add(d, products[0], products[1]), 1);
  LLVMValueRef turn = m_add(d, m_sub(d, products[0], n.value), products[1]);
  LLVMValueRef r = m_scale(d, m_add(d, turn, products[2]), HALF_PI_HIGH);
  return (MathQuadrant){m_bits(d, n.sum), {r, m_const(d, 0)}};
}

/* --- lanes --- */

static LLVMValueRef insert(const Math *d, LLVMValueRef vector, LLVMValueRef value, LLVMValueRef lane) {
  return LLVMBuildInsertElement(d->b, vector, value, lane, "");
}

/* Lane after lane, whether it needs it or not: infinities and NaN come out as something finite. */
static MathQuadrant reduce_large(const Math *d, LLVMValueRef x) {
  LLVMValueRef function = large_angle_function(d->vec);
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  if (d->lanes == 1) {
    LLVMValueRef call = LLVMBuildCall2(d->b, type, function, &x, 1, "");
    return (MathQuadrant){LLVMBuildExtractValue(d->b, call, 0, ""),
                          {LLVMBuildExtractValue(d->b, call, 1, ""), LLVMBuildExtractValue(d->b, call, 2, "")}};
  }
  LLVMValueRef parts[] = {m_int(d, 0), m_const(d, 0), m_const(d, 0)}, *carried[] = {&parts[0], &parts[1], &parts[2]};
  IrLoop loop = ir_loop_count(d->b, ir_range(d->vec->context, 0, d->lanes), 1, carried, 3);
  LLVMValueRef argument = LLVMBuildExtractElement(d->b, x, loop.index, "");
  LLVMValueRef call = LLVMBuildCall2(d->b, type, function, &argument, 1, "");
  for (unsigned i = 0; i < 3; i++) parts[i] = insert(d, parts[i], LLVMBuildExtractValue(d->b, call, i, ""), loop.index);
  ir_loop_end(&loop);
  return (MathQuadrant){parts[0], {parts[1], parts[2]}};
}

/* |x| < 2^20: π/2 in parts of 33, 33 and 53 bits (Cody and Waite); the first two products are exact. */
static MathQuadrant reduce_moderate(const Math *d, LLVMValueRef x, LLVMValueRef *out_n) {
  MathWhole n = m_whole_product(d, x, 0x1.45f306dc9c883p-1);
  LLVMValueRef first = m_fma(d, n.value, m_const(d, -0x1.921fb544p+0), x);
  MathPair second = pair_sum(d, first, m_scale(d, n.value, -0x1.0b4611a6p-34));
  LLVMValueRef low = m_fma(d, n.value, m_const(d, -0x1.3198a2e037073p-69), second.low);
  *out_n = n.value;
  return (MathQuadrant){m_bits(d, n.sum), pair_ordered_sum(d, second.high, low)};
}

/* Where much cancels, the digits of π/2 above do not suffice for f64. */
MathQuadrant math_reduce_angle(const Math *d, LLVMValueRef x) {
  LLVMValueRef n, size = m_abs(d, x);
  MathQuadrant near = reduce_moderate(d, x, &n), far;
  LLVMValueRef is_far = m_compare_to(d, LLVMRealOGT, size, 0x1p20);
  if (d->precision == MATH_DOUBLE) {
    LLVMValueRef cancels = m_compare_to(d, LLVMRealOLT, m_abs(d, near.r.high), 0x1p-20);
    is_far = m_or(d, is_far, m_and(d, cancels, m_compare_to(d, LLVMRealONE, n, 0)));
  }
  LLVMValueRef finite = m_compare(d, LLVMRealOLT, size, m_infinity(d));
  is_far = m_and(d, is_far, finite);
  MathBranch branch = math_if_any(d, is_far);
  if (d->precision == MATH_DOUBLE)
    far = reduce_large(d, m_select(d, is_far, x, m_const(d, 1)));
  else
    far = math_reduce_short_angle(d, x);
  LLVMValueRef outside[] = {near.quadrant, near.r.high, near.r.low}, inside[3], results[3];
  LLVMValueRef computed[] = {far.quadrant, far.r.high, far.r.low};
  for (int i = 0; i < 3; i++) inside[i] = m_select(d, is_far, computed[i], outside[i]);
  math_end_if(d, &branch, outside, inside, 3, results);
  LLVMValueRef high = m_select(d, finite, results[1], m_nan(d));
  return (MathQuadrant){results[0], {high, results[2]}};
}
