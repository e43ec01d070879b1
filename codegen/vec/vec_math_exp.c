/* Exponentials: exp, expm1, tanh, logistic, sinh, cosh. */
#include "codegen/vec/math_internal.h"

static const MathFit *const exp_fits[] = {&fit_exp_single, &fit_exp_middle, &fit_exp_double};

typedef struct ExpParts {
  MathWhole n;
  LLVMValueRef p; /* exp(r) - 1 */
} ExpParts;

#define LOG2_E 0x1.71547652b82fep+0

/* ln 2 in two parts, the first so short that n times it is exact. */
static double ln_2_high(const Math *m) {
  return m->is_double ? 0x1.62e42fefa38p-1 : 0x1.62ep-1;
}

static double ln_2_low(const Math *m) {
  return m->is_double ? 0x1.ef35793c7673p-45 : 0x1.0bfbe8e8p-15;
}

/* x - n·ln 2.  NaN goes through all of it. */
static LLVMValueRef take_powers(const Math *m, LLVMValueRef x, LLVMValueRef n) {
  return m_fma(m, n, m_const(m, -ln_2_low(m)), m_fma(m, n, m_const(m, -ln_2_high(m)), x));
}

/* exp(r) - 1 */
static LLVMValueRef small_expm1(const Math *m, LLVMValueRef r, const MathFit *fit) {
  return m_fma(m, m_mul(m, r, r), m_polynomial(m, r, fit), r);
}

/* x = n·ln 2 + r, n whole */
static ExpParts split_exp(const Math *m, LLVMValueRef x, LLVMValueRef x_low) {
  ExpParts parts = {.n = m_whole_product(m, x, LOG2_E)};
  LLVMValueRef r = take_powers(m, x, parts.n.value);
  if (x_low != NULL) r = m_add(m, r, x_low);
  parts.p = small_expm1(m, r, exp_fits[m->precision]);
  return parts;
}

/* Beyond these bounds the result is 0 or infinite. */
static double least_exponent(const Math *m) {
  return m->is_double ? -746 : -104;
}

static LLVMValueRef clamp_exponent(const Math *m, LLVMValueRef x) {
  return m_clamp(m, x, least_exponent(m), m->is_double ? 710 : 89);
}

/* Of x within the bounds. */
static LLVMValueRef exp_by_wholes(const Math *m, LLVMValueRef x) {
  ExpParts parts = split_exp(m, x, NULL);
  return m_scale_by_power(m, m_add(m, parts.p, m_const(m, 1)), &parts.n);
}

/* More than what remains beside a multiple of 1/16 where the result is neither 0 nor infinite. */
#define SIXTEENTHS_REST 0x1.8p-6

/* Multiples of 1/16 for n, their powers from a table: r is so small that two terms do, of f64 five; there a second
 * table has what the powers lack.  Where n is beyond the range of results, NaN or infinite, it alone decides, and r, to
 * which |x_low| is added unless it is NULL, only has to be small. */
static LLVMValueRef exp_by_sixteenths(const Math *m, LLVMValueRef x, LLVMValueRef x_low) {
  bool is_exact = m->precision == MATH_DOUBLE;
  MathWhole n = m_sixteenths_product(m, x, LOG2_E);
  LLVMValueRef power = m_lookup(m, m_bits(m, n.sum), &table_power), rest = take_powers(m, x, n.value);
  if (x_low != NULL) rest = m_add(m, rest, x_low);
  rest = m_within(m, rest, SIXTEENTHS_REST);
  LLVMValueRef p = small_expm1(m, rest, is_exact ? &fit_exp_sixteenth_double : &fit_exp_sixteenth), sum;
  if (is_exact) {
    LLVMValueRef lost = m_lookup(m, m_bits(m, n.sum), &table_power_low);
    sum = m_add(m, power, m_fma(m, power, p, lost));
  } else {
    sum = m_fma(m, power, p, power);
  }
  return m_scale_by_floor(m, sum, n.value);
}

/* No tables for what is f64 for the sake of f32: two terms more, and no lookups, are as good. */
static bool takes_sixteenths(const Math *m) {
  return m_has_tables(m) && m->precision != MATH_MIDDLE;
}

static LLVMValueRef exp_of(const Math *m, LLVMValueRef x) {
  return takes_sixteenths(m) ? exp_by_sixteenths(m, x, NULL) : exp_by_wholes(m, clamp_exponent(m, x));
}

LLVMValueRef math_exp_moderate(const Math *m, LLVMValueRef x) {
  if (m->is_double && takes_sixteenths(m)) return exp_by_sixteenths(m, x, NULL);
  ExpParts parts = split_exp(m, x, NULL);
  return m_mul(m, m_add(m, parts.p, m_const(m, 1)), m_power_of_two(m, &parts.n));
}

LLVMValueRef math_expm1_moderate(const Math *m, LLVMValueRef x) {
  ExpParts parts = split_exp(m, x, NULL);
  LLVMValueRef scale = m_power_of_two(m, &parts.n);
  return m_fma(m, scale, parts.p, m_sub(m, scale, m_const(m, 1)));
}

LLVMValueRef math_exp_pair(const Math *m, MathPair x) {
  if (takes_sixteenths(m)) return exp_by_sixteenths(m, x.high, x.low);
  LLVMValueRef high = clamp_exponent(m, x.high);
  LLVMValueRef same = m_compare(m, LLVMRealOEQ, high, x.high);
  ExpParts parts = split_exp(m, high, m_select(m, same, x.low, m_const(m, 0)));
  return m_scale_by_power(m, m_add(m, parts.p, m_const(m, 1)), &parts.n);
}

LLVMValueRef math_decay(const Math *m, LLVMValueRef x, LLVMValueRef factor) {
  if (m->is_double || !m_has_tables(m)) {
    MathPair square = pair_product(m, x, x);
    return m_mul(m, math_exp_pair(m, (MathPair){m_neg(m, square.high), m_neg(m, square.low)}), factor);
  }
  LLVMValueRef opposite = m_neg(m, x);
  MathWhole n = m_sixteenths_product(m, m_mul(m, opposite, x), LOG2_E);
  LLVMValueRef power = m_lookup(m, m_bits(m, n.sum), &table_power);
  LLVMValueRef rest = m_fma(m, opposite, x, m_scale(m, n.value, -ln_2_high(m)));
  rest = m_fma(m, n.value, m_const(m, -ln_2_low(m)), rest);
  LLVMValueRef value = m_fma(m, power, small_expm1(m, rest, &fit_exp_sixteenth), power);
  return m_scale_by_floor(m, m_mul(m, value, factor), n.value);
}

/* 2^n·(exp(r) - 1) + (2^n - 1), computed at half scale so that n = 128 (1024) does not overflow early; x where x²/2
 * makes no difference, which half of would be subnormal too early. */
static LLVMValueRef expm1_of(const Math *m, LLVMValueRef x) {
  ExpParts parts = split_exp(m, m_clamp(m, x, m->is_double ? -40 : -20, m->is_double ? 710 : 89), NULL);
  MathWhole less = {m_sub(m, parts.n.sum, m_const(m, 1)), m_sub(m, parts.n.value, m_const(m, 1))};
  LLVMValueRef half = m_power_of_two(m, &less);
  LLVMValueRef sum = m_fma(m, half, parts.p, m_sub(m, half, m_const(m, 0.5)));
  LLVMValueRef is_small = m_compare_to(m, LLVMRealOLT, m_abs(m, x), m->is_double ? 0x1p-54 : 0x1p-25);
  return m_select(m, is_small, x, m_add(m, sum, sum));
}

VEC_RULE(vec_math_exp) {
  Math m = math_of(vec, op->type, lanes);
  return exp_of(&m, operands[0]);
}

VEC_RULE(vec_math_expm1) {
  Math m = math_of(vec, op->type, lanes);
  return expm1_of(&m, operands[0]);
}

/* tanh(c + t) = (tanh c + tanh t) / (1 + tanh c · tanh t), tanh c from a table. */
static LLVMValueRef tanh_by_table(const Math *m, LLVMValueRef x) {
  MathPlace place = m_place_by_halves(m, x);
  LLVMValueRef at = m_lookup_long(m, place.index, &table_tanh), square = m_mul(m, place.rest, place.rest);
  LLVMValueRef cube = m_mul(m, square, place.rest);
  LLVMValueRef beyond = m_fma(m, cube, m_polynomial(m, square, &fit_tanh_single), place.rest);
  LLVMValueRef quotient = m_div(m, m_add(m, at, beyond), m_fma(m, at, beyond, m_const(m, 1)));
  return m_copysign(m, quotient, x);
}

/* t/(t + 2) with t = expm1(2|x|).  From 9.02 on it rounds to 1. */
static LLVMValueRef tanh_single(const Math *m, LLVMValueRef x) {
  if (m_has_tables(m)) return tanh_by_table(m, x);
  LLVMValueRef size = m_at_most(m, m_abs(m, x), 10), t = math_expm1_moderate(m, m_add(m, size, size));
  return m_copysign(m, m_div(m, t, m_add(m, t, m_const(m, 2))), x);
}

/* 1 - 2/(exp(2|x|) + 1), an odd polynomial below 0.55, where that would cancel. */
static LLVMValueRef tanh_double(const Math *m, LLVMValueRef x) {
  LLVMValueRef size = m_at_most(m, m_abs(m, x), 20), square = m_mul(m, x, x), one = m_const(m, 1);
  LLVMValueRef e = math_exp_moderate(m, m_add(m, size, size));
  LLVMValueRef far = m_sub(m, one, m_div(m, m_const(m, 2), m_add(m, e, one)));
  LLVMValueRef near = m_fma(m, m_mul(m, square, size), m_polynomial(m, square, &fit_tanh_double), size);
  return m_copysign(m, m_select(m, m_compare_to(m, LLVMRealOLT, size, 0.55), near, far), x);
}

VEC_RULE(vec_math_tanh) {
  Math m = math_of(vec, op->type, lanes);
  return m.is_double ? tanh_double(&m, operands[0]) : tanh_single(&m, operands[0]);
}

/* e/(1 + e) or 1/(1 + e) with e = exp(-|x|): keeps its precision where the result is small.  What rounding 1 + e lost
 * is taken from the quotient (at its weight for small e, where it matters most); a power from a table would cost a
 * third of a unit.  Results of 16 bits and fewer are rounded so much that neither shows. */
VEC_RULE(vec_math_logistic) {
  Math m = math_of(vec, op->type, lanes);
  bool is_narrow = type_storage_bytes(op->type) < 4;
  LLVMValueRef x = operands[0], one = m_const(&m, 1), size = m_neg(&m, m_abs(&m, x));
  LLVMValueRef e = is_narrow ? exp_of(&m, size) : exp_by_wholes(&m, m_at_least(&m, size, least_exponent(&m)));
  LLVMValueRef numerator = m_select(&m, m_sign_bit(&m, x), e, one), denominator = m_add(&m, one, e);
  LLVMValueRef quotient = m_div(&m, numerator, denominator);
  if (is_narrow) return quotient;
  LLVMValueRef lost = m_sub(&m, e, m_sub(&m, denominator, one));
  return m_fma(&m, m_neg(&m, quotient), lost, quotient);
}

/* exp(size)/2 where exp itself may overflow. */
static LLVMValueRef half_exp(const Math *d, LLVMValueRef size) {
  LLVMValueRef root = exp_of(d, m_scale(d, size, 0.5));
  return m_mul(d, m_scale(d, root, 0.5), root);
}

/* (t + t/(t+1)) / 2 with t = expm1(|x|) */
VEC_RULE(vec_math_sinh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]), size = m_abs(&d, x);
  LLVMValueRef t = expm1_of(&d, m_clamp(&d, size, 0, 700));
  LLVMValueRef result = m_scale(&d, m_add(&d, t, m_div(&d, t, m_add(&d, t, m_const(&d, 1)))), 0.5);
  if (m.is_double) result = m_select(&d, m_compare_to(&d, LLVMRealOGT, size, 700), half_exp(&d, size), result);
  return m_from_double(&m, m_copysign(&d, result, x));
}

/* (e + 1/e) / 2 */
VEC_RULE(vec_math_cosh) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef size = m_abs(&d, m_in_double(&m, operands[0]));
  LLVMValueRef e = math_exp_moderate(&d, m_clamp(&d, size, 0, 700));
  LLVMValueRef result = m_scale(&d, m_add(&d, e, m_div(&d, m_const(&d, 1), e)), 0.5);
  if (m.is_double) result = m_select(&d, m_compare_to(&d, LLVMRealOGT, size, 700), half_exp(&d, size), result);
  return m_from_double(&m, result);
}
