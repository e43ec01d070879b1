/* Logarithms: log, log1p, the inverse hyperbolic functions, and log to double length for powers. */
#include "codegen/vec/math_internal.h"

/* x = (1 + f)·2^e with sqrt(1/2) <= 1 + f < sqrt(2) in f64, 3/4 <= 1 + f < 3/2 in f32. */
typedef struct LogParts {
  LLVMValueRef f, e;          /* floats */
  LLVMValueRef significand;   /* 1 + f */
  LLVMValueRef exponent_bits; /* integer: the bits that were taken off x */
} LogParts;

/* |x| positive and normal; |offset| is added to e.  The exponent becomes a float by standing in the low bits of 2^52
 * (2^23). */
static LogParts split_log(const Math *m, LLVMValueRef x, LLVMValueRef offset) {
  int mantissa = m->is_double ? 52 : 23;
  int64_t least = m->is_double ? INT64_C(0x3fe6a09e667f3bcd) : 0x3f400000;
  int64_t bias = m->is_double ? INT64_C(1023) << 52 : INT64_C(127) << 23;
  double magic = m->is_double ? 0x1p52 : 0x1p23;
  int64_t magic_bits = m->is_double ? INT64_C(0x4330000000000000) : 0x4b000000;
  LLVMValueRef shifted = LLVMBuildAdd(m->b, m_bits(m, x), m_int(m, bias - least), "");
  LLVMValueRef exponent = LLVMBuildLShr(m->b, shifted, m_int(m, mantissa), "");
  LLVMValueRef rest = LLVMBuildAnd(m->b, shifted, m_int(m, (INT64_C(1) << mantissa) - 1), "");
  LLVMValueRef counted = m_from_bits(m, LLVMBuildOr(m->b, exponent, m_int(m, magic_bits), ""));
  LogParts parts;
  parts.significand = m_from_bits(m, LLVMBuildAdd(m->b, rest, m_int(m, least), ""));
  parts.f = m_sub(m, parts.significand, m_const(m, 1));
  parts.e = m_sub(m, counted, m_const(m, magic + (m->is_double ? 1023 : 127)));
  if (offset != NULL) parts.e = m_add(m, parts.e, offset);
  LLVMValueRef biased = LLVMBuildSub(m->b, exponent, m_int(m, m->is_double ? 1023 : 127), "");
  parts.exponent_bits = LLVMBuildShl(m->b, biased, m_int(m, mantissa), "");
  return parts;
}

/* Subnormal x lifted into the normals; what to add to the exponent then. */
static LLVMValueRef lift_subnormal(const Math *m, LLVMValueRef x, LLVMValueRef *out_offset) {
  LLVMValueRef is_small = m_compare_to(m, LLVMRealOLT, x, m->is_double ? 0x1p-1022 : 0x1p-126);
  *out_offset = m_select(m, is_small, m_const(m, m->is_double ? -54 : -25), m_const(m, 0));
  return m_select(m, is_small, m_scale(m, x, m->is_double ? 0x1p54 : 0x1p25), x);
}

/* ln 2 in two parts of f32, and of f64, the first so short that multiples of it are exact. */
#define LN_2_HIGH 0x1.62ep-1
#define LN_2_LOW 0x1.0bfbe8e8p-15
#define LN_2_HIGH_DOUBLE 0x1.62e42fefa38p-1
#define LN_2_LOW_DOUBLE 0x1.ef35793c7673p-45

/* log(1 + f) + e·ln 2.  f64: with s = f/(2 + f), log(1 + f) = 2s + s³·R(s²), written as f - (f²/2 - s·(f²/2 + s²·R)) so
 * that only the small terms are rounded (Tang; also fdlibm).  f32: a polynomial in f, no division. */
static LLVMValueRef log_of_parts(const Math *m, LLVMValueRef f, LLVMValueRef e) {
  double high = m->is_double ? LN_2_HIGH_DOUBLE : LN_2_HIGH, low = m->is_double ? LN_2_LOW_DOUBLE : LN_2_LOW;
  LLVMValueRef half_square = m_mul(m, f, m_scale(m, f, 0.5)), small = m_mul(m, e, m_const(m, low));
  if (m->precision == MATH_SINGLE) {
    LLVMValueRef cube = m_mul(m, m_mul(m, f, f), f);
    small = m_fma(m, cube, m_polynomial(m, f, &fit_log_single), small);
    LLVMValueRef rest = m_add(m, m_sub(m, small, half_square), f);
    return m_fma(m, e, m_const(m, high), rest);
  }
  LLVMValueRef s = m_div(m, f, m_add(m, f, m_const(m, 2))), z = m_mul(m, s, s);
  LLVMValueRef series =
      m_mul(m, z, m_polynomial(m, z, m->precision == MATH_DOUBLE ? &fit_log_double : &fit_log_middle));
  LLVMValueRef inner = m_fma(m, s, m_add(m, half_square, series), small);
  LLVMValueRef correction = m_sub(m, m_sub(m, half_square, inner), f);
  return m_sub(m, m_mul(m, e, m_const(m, high)), correction);
}

/* |result| is right for 0 < x < inf. */
static LLVMValueRef log_specials(const Math *m, LLVMValueRef x, LLVMValueRef result) {
  result = m_select(m, m_compare(m, LLVMRealOEQ, x, m_infinity(m)), x, result);
  result = m_select(m, m_compare_to(m, LLVMRealOEQ, x, 0), m_neg(m, m_infinity(m)), result);
  return m_select(m, m_compare_to(m, LLVMRealULT, x, 0), m_nan(m), result);
}

/* A significand between 3/4 and 3/2, and the exponent; of f32 that of x, which is one less where the significand is
 * below 1: the tables add it. */
typedef struct LogCut {
  LLVMValueRef significand, e;
} LogCut;

/* AVX-512 takes floats apart in whole registers, special values and all: of 0 the exponent is -inf, of a negative x the
 * significand NaN. */
static LogCut cut_by_instruction(const Math *m, LLVMValueRef x) {
  static const char *const significands[2][3] = {
      {"llvm.x86.avx512.mask.getmant.ps.128", "llvm.x86.avx512.mask.getmant.ps.256",
       "llvm.x86.avx512.mask.getmant.ps.512"},
      {"llvm.x86.avx512.mask.getmant.pd.128", "llvm.x86.avx512.mask.getmant.pd.256",
       "llvm.x86.avx512.mask.getmant.pd.512"}};
  static const char *const exponents[2][3] = {
      {"llvm.x86.avx512.mask.getexp.ps.128", "llvm.x86.avx512.mask.getexp.ps.256",
       "llvm.x86.avx512.mask.getexp.ps.512"},
      {"llvm.x86.avx512.mask.getexp.pd.128", "llvm.x86.avx512.mask.getexp.pd.256",
       "llvm.x86.avx512.mask.getexp.pd.512"}};
  int bits = m->lanes * (m->is_double ? 64 : 32), width = bits == 128 ? 0 : bits == 256 ? 1 : 2;
  int extra = width == 2 ? 1 : 0;
  LLVMTypeRef s32 = LLVMInt32TypeInContext(m->vec->context);
  LLVMValueRef mask = LLVMConstAllOnes(LLVMIntTypeInContext(m->vec->context, m->lanes == 16 ? 16 : 8));
  LLVMValueRef zeros = LLVMConstNull(LLVMTypeOf(x)), rounding = LLVMConstInt(s32, 4, false);
  /* to [3/4, 3/2), NaN for negative x */
  LLVMValueRef cut[] = {x, LLVMConstInt(s32, 3 | 2 << 2, false), zeros, mask, rounding};
  const char *exponent = exponents[m->is_double][width];
  LogCut parts = {.significand = vec_intrinsic(m->vec, significands[m->is_double][width], NULL, 0, cut, 4 + extra)};
  LLVMValueRef of_x[] = {x, zeros, mask, rounding}, of_significand[] = {parts.significand, zeros, mask, rounding};
  parts.e = vec_intrinsic(m->vec, exponent, NULL, 0, of_x, 3 + extra);
  if (m->is_double) parts.e = m_sub(m, parts.e, vec_intrinsic(m->vec, exponent, NULL, 0, of_significand, 3 + extra));
  return parts;
}

/* log x = e·ln 2 - log c + log(1 + r) with r = c·m - 1, c of a table by the first digits of m; |beside|, NULL for
 * nothing, is what the significand m lacks. */
static LLVMValueRef log_by_long_table(const Math *m, const LogCut *x, LLVMValueRef beside) {
  enum { DIGITS_BELOW = 23 - 5 };
  LLVMValueRef index = LLVMBuildLShr(m->b, m_bits(m, x->significand), m_int(m, DIGITS_BELOW), "");
  LLVMValueRef factor = m_lookup_long(m, index, &table_log_factor);
  LLVMValueRef r = m_fma(m, x->significand, factor, m_const(m, -1));
  LLVMValueRef high = m_fma(m, x->e, m_const(m, LN_2_HIGH), m_lookup_long(m, index, &table_log_high)); /* exact */
  LLVMValueRef low = m_fma(m, x->e, m_const(m, LN_2_LOW), m_lookup_long(m, index, &table_log_low));
  LLVMValueRef doubled = r; /* r times it is the square */
  if (beside != NULL) {     /* not added to r, which is exact; its own square is nothing */
    LLVMValueRef b = m_mul(m, beside, factor);
    low = m_add(m, low, b);
    doubled = m_fma(m, b, m_const(m, 2), r);
  }
  LLVMValueRef rest = m_fma(m, m_mul(m, r, doubled), m_polynomial(m, r, &fit_log_piece), low);
  return m_add(m, high, m_add(m, r, rest));
}

/* The same of f64, where r is exact: log x = main.high + main.low + (log(1 + r) - r) with main.high = high + r rounded;
 * |high| is 0 or more than |r|. */
typedef struct LogPlace {
  LLVMValueRef factor, r, high; /* c */
  MathPair main;
} LogPlace;

static LogPlace log_place(const Math *m, const LogCut *x) {
  enum { DIGITS_BELOW = 52 - 4 };
  LLVMValueRef index = LLVMBuildLShr(m->b, m_bits(m, x->significand), m_int(m, DIGITS_BELOW), "");
  LogPlace place;
  place.factor = m_lookup(m, index, &table_log_factor_double);
  place.r = m_fma(m, x->significand, place.factor, m_const(m, -1));
  place.high = m_fma(m, x->e, m_const(m, LN_2_HIGH_DOUBLE), m_lookup(m, index, &table_log_high_double));
  place.main.high = m_add(m, place.high, place.r);
  place.main.low = m_fma(m, x->e, m_const(m, LN_2_LOW_DOUBLE), m_lookup(m, index, &table_log_low_double));
  return place;
}

/* What rounding lost of the upper part goes to the lower one, unless that part is infinite; |beside|, NULL for nothing,
 * is a small part of r. */
static LLVMValueRef log_of_place(const Math *m, const LogPlace *place, LLVMValueRef beside) {
  LLVMValueRef r = place->r, high = place->main.high, low = place->main.low, square = m_mul(m, r, r);
  if (beside != NULL) low = m_add(m, low, beside);
  if (m->precision != MATH_DOUBLE && beside == NULL)
    return m_add(m, high, m_fma(m, square, m_polynomial(m, r, &fit_log_piece_middle), low));
  const MathFit *fit = m->precision == MATH_DOUBLE ? &fit_log_piece_double : &fit_log_piece_middle;
  low = m_add(m, low, m_sub(m, r, m_sub(m, high, place->high)));
  LLVMValueRef result = m_add(m, high, m_fma(m, square, m_polynomial(m, r, fit), low));
  return m_select(m, m_compare(m, LLVMRealOEQ, m_abs(m, high), m_infinity(m)), high, result);
}

/* log(1 + x) of f64 from u = 1 + x rounded: what that lost, times c·2^-e, stands beside r; its square is nothing. */
static LLVMValueRef log1p_by_table(const Math *m, LLVMValueRef x) {
  LLVMValueRef one = m_const(m, 1), u = m_add(m, x, one), big = m_compare_to(m, LLVMRealOGT, x, 1);
  LLVMValueRef lost = m_select(m, big, m_sub(m, one, m_sub(m, u, x)), m_sub(m, x, m_sub(m, u, one)));
  LogCut cut = cut_by_instruction(m, u);
  LogPlace place = log_place(m, &cut);
  lost = m_mul(m, m_scale_by_floor(m, lost, m_neg(m, cut.e)), place.factor);
  return m_copysign(m, log_of_place(m, &place, lost), x); /* zeros keep their sign */
}

/* More than what a significand loses by rounding. */
#define MOST_LOST 0x1p-22

/* The same of f32.  2^-e, by which what was lost is scaled, has the bits of 1 less those by which u's and its
 * significand's differ.  Where u is 0, infinite or so large that there is no 2^-e, its exponent alone decides, and what
 * was lost only has to be small. */
static LLVMValueRef log1p_by_long_table(const Math *m, LLVMValueRef x) {
  LLVMValueRef one = m_const(m, 1), u = m_add(m, x, one);
  LLVMValueRef larger = m_at_least(m, x, 1), smaller = m_at_most(m, x, 1);
  LogCut cut = cut_by_instruction(m, u);
  LLVMValueRef shift = LLVMBuildSub(m->b, m_bits(m, cut.significand), m_bits(m, u), "");
  LLVMValueRef shrink = m_from_bits(m, LLVMBuildAdd(m->b, m_bits(m, one), shift, ""));
  LLVMValueRef lost = m_mul(m, m_sub(m, smaller, m_sub(m, u, larger)), shrink);
  return m_copysign(m, log_by_long_table(m, &cut, m_within(m, lost, MOST_LOST)), x); /* zeros keep their sign */
}

typedef LLVMValueRef RegisterFunction(const Math *m, LLVMValueRef x);

static LLVMValueRef log_in_register(const Math *m, LLVMValueRef x) {
  LogCut cut = cut_by_instruction(m, x);
  if (!m->is_double) return log_by_long_table(m, &cut, NULL);
  LogPlace place = log_place(m, &cut);
  return log_of_place(m, &place, NULL);
}

/* |function| of as many lanes as a register has, of a register of 128 bits at least. */
static LLVMValueRef by_registers(const Math *m, RegisterFunction *function, LLVMValueRef x) {
  int most = m->is_double ? 8 : 16, least = most / 4;
  Math part = *m;
  if (m->lanes < least) {
    part.lanes = least;
    return vec_slice(m->vec, function(&part, vec_pad(m->vec, x, m->lanes, least)), 0, m->lanes);
  }
  if (m->lanes > most) {
    int half = part.lanes = m->lanes / 2;
    LLVMValueRef low = by_registers(&part, function, vec_slice(m->vec, x, 0, half));
    LLVMValueRef high = by_registers(&part, function, vec_slice(m->vec, x, half, half));
    return vec_join(m->vec, low, high, half);
  }
  return function(m, x);
}

LLVMValueRef math_log(const Math *m, LLVMValueRef x) {
  if (m_has_tables(m)) return by_registers(m, log_in_register, x);
  LLVMValueRef offset, normal = lift_subnormal(m, x, &offset);
  LogParts parts = split_log(m, normal, offset);
  return log_specials(m, x, log_of_parts(m, parts.f, parts.e));
}

/* log u with u = 1 + x rounded; what the rounding lost is added to f.  Near 0, where u has lost most of x, f is x
 * itself. */
static LLVMValueRef log1p_of(const Math *m, LLVMValueRef x) {
  if (m_has_tables(m)) return by_registers(m, m->is_double ? log1p_by_table : log1p_by_long_table, x);
  LLVMValueRef one = m_const(m, 1), u = m_add(m, x, one);
  LLVMValueRef big = m_compare_to(m, LLVMRealOGT, x, 1);
  LLVMValueRef lost = m_select(m, big, m_sub(m, one, m_sub(m, u, x)), m_sub(m, x, m_sub(m, u, one)));
  LogParts parts = split_log(m, u, NULL);
  LLVMValueRef one_bits = m_bits(m, one);
  LLVMValueRef shrink = m_from_bits(m, LLVMBuildSub(m->b, one_bits, parts.exponent_bits, "")); /* 2^-e */
  LLVMValueRef near = m_compare_to(m, LLVMRealOEQ, parts.e, 0);
  LLVMValueRef is_huge = m_compare_to(m, LLVMRealOGT, x, 0x1p60); /* nothing was lost, and 2^-e may not exist */
  LLVMValueRef f = m_select(m, is_huge, parts.f, m_fma(m, lost, shrink, parts.f));
  f = m_select(m, near, x, f);
  return m_copysign(m, log_specials(m, u, log_of_parts(m, f, parts.e)), x); /* zeros keep their sign */
}

/* main - r²/2 + r³/3 + r⁴·Q(r) with all but Q in pairs. */
static MathPair log_pair_by_table(const Math *d, LLVMValueRef x) {
  LogCut cut = cut_by_instruction(d, x);
  LogPlace place = log_place(d, &cut);
  LLVMValueRef r = place.r;
  MathPair square = pair_product(d, r, r), cube = pair_product(d, square.high, r);
  cube.low = m_fma(d, square.low, r, cube.low);
  LLVMValueRef tail = m_mul(d, m_mul(d, square.high, square.high), m_polynomial(d, r, &fit_log_piece_pair));
  MathPair third = pair_product(d, cube.high, m_const(d, 0x1.5555555555555p-2));
  third.low = m_fma(d, cube.high, m_const(d, 0x1.5555555555555p-56), third.low);
  third.low = m_fma(d, cube.low, m_const(d, 0x1.5555555555555p-2), third.low);
  MathPair main = pair_ordered_sum(d, place.high, r);
  MathPair minus = pair_ordered_sum(d, main.high, m_scale(d, square.high, -0.5));
  MathPair sum = pair_ordered_sum(d, minus.high, third.high);
  LLVMValueRef low = m_add(d, place.main.low, m_fma(d, square.low, m_const(d, -0.5), m_add(d, third.low, tail)));
  low = m_add(d, m_add(d, main.low, minus.low), m_add(d, sum.low, low));
  return pair_ordered_sum(d, sum.high, low);
}

/* 2s + s³·(2/3 + s²·Q(s²)) + e·ln 2 with all but Q in pairs; s = f/(2 + f) is divided to double length. */
MathPair math_log_pair(const Math *d, LLVMValueRef x) {
  if (m_has_tables(d)) return log_pair_by_table(d, x);
  LLVMValueRef offset, normal = lift_subnormal(d, x, &offset);
  LogParts parts = split_log(d, normal, offset);
  MathPair denominator = pair_sum(d, parts.significand, m_const(d, 1));
  LLVMValueRef quotient = m_div(d, parts.f, denominator.high);
  MathPair back = pair_product(d, quotient, denominator.high);
  LLVMValueRef rest = m_sub(d, m_sub(d, parts.f, back.high), back.low);
  rest = m_sub(d, rest, m_mul(d, quotient, denominator.low));
  MathPair s = pair_ordered_sum(d, quotient, m_div(d, rest, denominator.high));
  MathPair z = pair_multiply(d, s, s);
  LLVMValueRef tail = m_polynomial(d, z.high, &fit_log_pair);
  MathPair factor = pair_ordered_sum(d, m_const(d, 0x1.5555555555555p-1), m_mul(d, z.high, tail));
  factor.low = m_add(d, factor.low, m_fma(d, z.low, tail, m_const(d, 0x1.5555555555555p-55)));
  MathPair cubic = pair_multiply(d, pair_multiply(d, s, z), factor);
  MathPair twice = {m_add(d, s.high, s.high), m_add(d, s.low, s.low)};
  MathPair log = pair_add(d, twice, cubic);
  MathPair shift = {m_scale(d, parts.e, 0x1.62e42fefa38p-1), m_scale(d, parts.e, 0x1.ef35793c7673p-45)};
  return pair_add(d, shift, log);
}

VEC_RULE(vec_math_log) {
  Math m = math_of(vec, op->type, lanes);
  return math_log(&m, operands[0]);
}

VEC_RULE(vec_math_log1p) {
  Math m = math_of(vec, op->type, lanes);
  return log1p_of(&m, operands[0]);
}

/* --- inverse hyperbolic functions --- */

#define LN_2 0x1.62e42fefa39efp-1

/* log1p(|x| + x² / (1 + sqrt(x² + 1))), log(2|x|) where x² leaves the range. */
VEC_RULE(vec_math_asinh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]), size = m_abs(&d, x), one = m_const(&d, 1);
  LLVMValueRef is_far = m_compare_to(&d, LLVMRealOGT, size, 0x1p28);
  LLVMValueRef bounded = m_select(&d, is_far, one, size), square = m_mul(&d, bounded, bounded);
  LLVMValueRef root = m_sqrt(&d, m_add(&d, square, one));
  LLVMValueRef argument = m_add(&d, bounded, m_div(&d, square, m_add(&d, root, one)));
  LLVMValueRef result = log1p_of(&d, m_select(&d, is_far, m_sub(&d, size, one), argument));
  result = m_select(&d, is_far, m_add(&d, result, m_const(&d, LN_2)), result);
  return m_from_double(&m, m_copysign(&d, result, x));
}

/* log1p(t + sqrt(2t + t²)) with t = x - 1; log(2x) where that leaves the range. */
VEC_RULE(vec_math_acosh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]);
  LLVMValueRef is_far = m_compare_to(&d, LLVMRealOGT, x, 0x1p28);
  LLVMValueRef t = m_sub(&d, x, m_const(&d, 1));
  LLVMValueRef root = m_sqrt(&d, m_mul(&d, t, m_add(&d, t, m_const(&d, 2))));
  LLVMValueRef result = log1p_of(&d, m_select(&d, is_far, t, m_add(&d, t, root)));
  result = m_select(&d, is_far, m_add(&d, result, m_const(&d, LN_2)), result);
  return m_from_double(&m, m_select(&d, m_compare_to(&d, LLVMRealULT, x, 1), m_nan(&d), result));
}

/* log1p(2x / (1 - x)) / 2 */
VEC_RULE(vec_math_atanh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]), size = m_abs(&d, x);
  LLVMValueRef ratio = m_div(&d, m_add(&d, size, size), m_sub(&d, m_const(&d, 1), size));
  LLVMValueRef result = m_scale(&d, log1p_of(&d, ratio), 0.5);
  return m_from_double(&m, m_copysign(&d, result, x));
}
