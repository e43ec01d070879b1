/* Sine, cosine, tangent and the inverse functions. */
#include "codegen/vec/math_internal.h"

static const MathFit *const sin_fits[] = {&fit_sin_single, &fit_sin_middle, &fit_sin_double};
static const MathFit *const cos_fits[] = {&fit_cos_single, &fit_cos_middle, &fit_cos_double};

/* sin and cos of a reduced angle; the low part, NULL for none, enters to first order. */
static void sin_cos(const Math *m, MathPair r, LLVMValueRef *out_sin, LLVMValueRef *out_cos) {
  LLVMValueRef z = m_mul(m, r.high, r.high), cubic = m_mul(m, z, r.high), square = m_mul(m, z, z);
  LLVMValueRef tail = m_polynomial(m, z, sin_fits[m->precision]);
  if (r.low == NULL) {
    *out_sin = m_fma(m, cubic, tail, r.high);
  } else {
    LLVMValueRef low = m_fma(m, m_scale(m, z, -0.5), r.low, r.low);
    *out_sin = m_add(m, r.high, m_add(m, m_mul(m, cubic, tail), low));
  }
  /* 1 - z/2 is rounded; what that loses is added to the small terms */
  LLVMValueRef half = m_scale(m, z, 0.5), main = m_sub(m, m_const(m, 1), half);
  LLVMValueRef lost = m_sub(m, m_sub(m, m_const(m, 1), main), half);
  if (r.low != NULL) lost = m_sub(m, lost, m_mul(m, r.high, r.low));
  *out_cos = m_add(m, main, m_fma(m, square, m_polynomial(m, z, cos_fits[m->precision]), lost));
}

static LLVMValueRef has_bit(const Math *m, LLVMValueRef word, int64_t bit) {
  LLVMValueRef masked = LLVMBuildAnd(m->b, word, m_int(m, bit), "");
  return LLVMBuildICmp(m->b, LLVMIntNE, masked, m_int(m, 0), "");
}

/* sin of r + quadrant·π/2 */
static LLVMValueRef sin_in_quadrant(const Math *m, MathPair r, LLVMValueRef quadrant) {
  LLVMValueRef sine, cosine;
  sin_cos(m, r, &sine, &cosine);
  LLVMValueRef value = m_select(m, has_bit(m, quadrant, 1), cosine, sine);
  LLVMValueRef sign =
      LLVMBuildShl(m->b, LLVMBuildAnd(m->b, quadrant, m_int(m, 2), ""), m_int(m, m->is_double ? 62 : 30), "");
  return m_from_bits(m, LLVMBuildXor(m->b, m_bits(m, value), sign, ""));
}

static LLVMValueRef add_quadrants(const Math *m, LLVMValueRef quadrant, int more) {
  return more == 0 ? quadrant : LLVMBuildAdd(m->b, quadrant, m_int(m, more), "");
}

static LLVMValueRef sin_through_double(const Math *m, LLVMValueRef x, int quadrants) {
  Math d = math_double(m);
  MathQuadrant angle = math_reduce_angle(&d, m_in_double(m, x));
  if (!m->is_double) angle.r.low = NULL;
  return m_from_double(m, sin_in_quadrant(&d, angle.r, add_quadrants(&d, angle.quadrant, quadrants)));
}

/* f32 with fma: π/2 in three parts of 24 bits; the first product cancels exactly. */
static LLVMValueRef sin_moderate(const Math *m, LLVMValueRef x, int quadrants) {
  MathWhole n = m_whole_product(m, x, 0x1.45f306dc9c883p-1);
  LLVMValueRef r = m_fma(m, n.value, m_const(m, -0x1.921fb6p+0), x);
  r = m_fma(m, n.value, m_const(m, 0x1.777a5cp-25), r);
  r = m_fma(m, n.value, m_const(m, 0x1.ee59dap-50), r);
  return sin_in_quadrant(m, (MathPair){r, NULL}, add_quadrants(m, m_bits(m, n.sum), quadrants));
}

/* The table begun |quadrants| quarters of a turn later. */
static MathLongTable turned_table(const MathLongTable *table, int quadrants) {
  enum { SIZE = sizeof table->values / sizeof *table->values };
  MathLongTable turned;
  for (int i = 0; i < SIZE; i++) turned.values[i] = table->values[(i + quadrants * (SIZE / 4)) % SIZE];
  return turned;
}

/* sin(a + r) = sin a + (sin a · (cos r - 1) + cos a · sin r) with a multiple a of π/16, of whose sine and cosine a
 * table has 32 values: r is so small that two terms of each polynomial do.  π/16 in three parts as above. */
static LLVMValueRef sin_by_table(const Math *m, LLVMValueRef x, int quadrants) {
  MathWhole n = m_whole_product(m, x, 0x1.45f306dc9c883p+2);
  LLVMValueRef r = m_fma(m, n.value, m_const(m, -0x1.921fb6p-3), x);
  r = m_fma(m, n.value, m_const(m, 0x1.777a5cp-28), r);
  r = m_fma(m, n.value, m_const(m, 0x1.ee59dap-53), r);
  MathLongTable sines = turned_table(&table_sine, quadrants), lost = turned_table(&table_sine_low, quadrants);
  MathLongTable cosines = turned_table(&table_sine, quadrants + 1);
  LLVMValueRef index = m_bits(m, n.sum), sine = m_lookup_long(m, index, &sines);
  LLVMValueRef cosine = m_lookup_long(m, index, &cosines), z = m_mul(m, r, r);
  LLVMValueRef cubic = m_mul(m, m_mul(m, z, r), m_polynomial(m, z, &fit_sin_piece));
  LLVMValueRef less = m_mul(m, z, m_polynomial(m, z, &fit_cos_piece));
  LLVMValueRef small = m_fma(m, cosine, cubic, m_fma(m, sine, less, m_lookup_long(m, index, &lost)));
  return m_add(m, sine, m_fma(m, cosine, r, small));
}

#define SINGLE_ANGLE_BOUND 0x1p15

static LLVMValueRef sin_of(const Math *m, LLVMValueRef x, int quadrants) {
  if (m->is_double || !m->vec->target->has_fma) return sin_through_double(m, x, quadrants);
  LLVMValueRef near = m_has_tables(m) ? sin_by_table(m, x, quadrants) : sin_moderate(m, x, quadrants);
  LLVMValueRef is_far = m_compare_to(m, LLVMRealUGT, m_abs(m, x), SINGLE_ANGLE_BOUND);
  MathBranch branch = math_if_any(m, is_far);
  Math d = math_double(m);
  MathQuadrant angle = math_reduce_short_angle(&d, m_in_double(m, x));
  angle.r.low = NULL;
  LLVMValueRef far = m_from_double(m, sin_in_quadrant(&d, angle.r, add_quadrants(&d, angle.quadrant, quadrants)));
  LLVMValueRef inside = m_select(m, is_far, far, near), result;
  math_end_if(m, &branch, &near, &inside, 1, &result);
  return result;
}

VEC_RULE(vec_math_sin) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef x = operands[0];
  return m_select(&m, m_compare_to(&m, LLVMRealOEQ, x, 0), x, sin_of(&m, x, 0));
}

VEC_RULE(vec_math_cos) {
  Math m = math_of(vec, op->type, lanes);
  return sin_of(&m, operands[0], 1);
}

/* sin/cos, or -cos/sin in the odd quadrants. */
VEC_RULE(vec_math_tan) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = operands[0], sine, cosine;
  MathQuadrant angle = math_reduce_angle(&d, m_in_double(&m, x));
  if (!m.is_double) angle.r.low = NULL;
  sin_cos(&d, angle.r, &sine, &cosine);
  LLVMValueRef is_odd = has_bit(&d, angle.quadrant, 1);
  LLVMValueRef quotient = m_div(&d, m_select(&d, is_odd, m_neg(&d, cosine), sine), m_select(&d, is_odd, sine, cosine));
  return m_select(&m, m_compare_to(&m, LLVMRealOEQ, x, 0), x, m_from_double(&m, quotient));
}

/* --- inverse functions --- */

/* The angle of (x, y) in [-π, π].  With s <= l the two sizes, the angle of s/l, or from tan(π/8) on π/4 plus that of (s
 * - l)/(s + l). */
static LLVMValueRef atan2_double(const Math *d, LLVMValueRef y, LLVMValueRef x) {
  LLVMValueRef ay = m_abs(d, y), ax = m_abs(d, x);
  LLVMValueRef steep = m_compare(d, LLVMRealOGT, ay, ax);
  LLVMValueRef smaller = m_select(d, steep, ax, ay), larger = m_select(d, steep, ay, ax);
  if (d->precision == MATH_DOUBLE) { /* room for the sum */
    LLVMValueRef factor = m_select(d, m_compare_to(d, LLVMRealOGT, larger, 0x1p1000), m_const(d, 0.25), m_const(d, 1));
    smaller = m_mul(d, smaller, factor);
    larger = m_mul(d, larger, factor);
  }
  LLVMValueRef is_diagonal = m_compare(d, LLVMRealOEQ, ay, ax); /* both infinite, or both zero, among others */
  LLVMValueRef is_zero = m_compare_to(d, LLVMRealOEQ, larger, 0);
  LLVMValueRef wide = m_compare(d, LLVMRealOGT, smaller, m_scale(d, larger, 0x1.a827999fcef32p-2));
  LLVMValueRef numerator = m_select(d, wide, m_sub(d, smaller, larger), smaller);
  LLVMValueRef denominator = m_select(d, wide, m_add(d, smaller, larger), larger);
  LLVMValueRef none = m_or(d, is_diagonal, is_zero);
  LLVMValueRef t = m_select(d, none, m_const(d, 0), m_div(d, numerator, denominator)), z = m_mul(d, t, t);
  const MathFit *fit = d->precision == MATH_DOUBLE ? &fit_atan_double : &fit_atan_middle;
  LLVMValueRef tail = m_mul(d, m_mul(d, z, t), m_polynomial(d, z, fit)); /* the angle is base ± (t + tail) */
  LLVMValueRef from_diagonal = m_and(d, m_or(d, wide, is_diagonal), m_not(d, is_zero));
  LLVMValueRef negative = m_sign_bit(d, x);
  /* 0, π/4; π/2 minus that where steep; π minus that where x is negative: in units of π/4 with the sign of t */
  LLVMValueRef base = m_select(d, from_diagonal, m_const(d, 1), m_const(d, 0));
  base = m_select(d, steep, m_sub(d, m_const(d, 2), base), base);
  base = m_select(d, negative, m_sub(d, m_const(d, 4), base), base);
  LLVMValueRef flips = LLVMBuildXor(d->b, steep, negative, "");
  t = m_select(d, flips, m_neg(d, t), t);
  tail = m_select(d, flips, m_neg(d, tail), tail);
  MathPair sum = pair_ordered_sum(d, m_scale(d, base, 0x1.921fb54442d18p-1), t);
  sum.high = m_select(d, m_compare_to(d, LLVMRealOEQ, base, 0), t, sum.high);
  LLVMValueRef rest = m_add(d, tail, m_fma(d, base, m_const(d, 0x1.1a62633145c07p-55), sum.low));
  LLVMValueRef result = m_copysign(d, m_add(d, sum.high, rest), y);
  return m_select(d, m_compare(d, LLVMRealUNO, x, y), m_nan(d), result);
}

VEC_RULE(vec_math_atan2) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  return m_from_double(&m, atan2_double(&d, m_in_double(&m, operands[0]), m_in_double(&m, operands[1])));
}

/* The angles of which x is the sine and the cosine.  With |x| up to 1/2, asin x = x + x·z·P(z) with z = x²; beyond,
 * that of s = sqrt(z), z = (1 - |x|)/2, which is exact, is half of what is missing to π/2.  So either is base ± (t +
 * t·z·P), t being x or 2s: NaN beyond 1, where s is. */
typedef struct ArcParts {
  LLVMValueRef is_far, s, z, p; /* p = P(z) */
} ArcParts;

static ArcParts arc_parts(const Math *d, LLVMValueRef x) {
  LLVMValueRef size = m_abs(d, x), half = m_const(d, 0.5);
  ArcParts arc = {.is_far = m_compare(d, LLVMRealOGT, size, half)};
  LLVMValueRef beside = m_fma(d, size, m_const(d, -0.5), half);
  arc.z = m_select(d, arc.is_far, beside, m_mul(d, size, size));
  arc.s = m_sqrt(d, beside);
  arc.p = m_polynomial(d, arc.z, d->precision == MATH_DOUBLE ? &fit_asin_double : &fit_asin_middle);
  return arc;
}

#define HALF_PI_HIGH 0x1.921fb54442d18p+0
#define HALF_PI_LOW 0x1.1a62633145c07p-54

VEC_RULE(vec_math_asin) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]), zero = m_const(&d, 0);
  ArcParts arc = arc_parts(&d, x);
  LLVMValueRef t = m_select(&d, arc.is_far, m_scale(&d, arc.s, -2), m_abs(&d, x));
  LLVMValueRef base = m_select(&d, arc.is_far, m_const(&d, HALF_PI_HIGH), zero);
  LLVMValueRef low = m_select(&d, arc.is_far, m_const(&d, HALF_PI_LOW), zero);
  LLVMValueRef rest = m_fma(&d, m_mul(&d, t, arc.z), arc.p, low);
  return m_from_double(&m, m_copysign(&d, m_add(&d, m_add(&d, base, t), rest), x));
}

VEC_RULE(vec_math_acos) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]), zero = m_const(&d, 0);
  ArcParts arc = arc_parts(&d, x);
  LLVMValueRef t = m_select(&d, arc.is_far, m_copysign(&d, m_scale(&d, arc.s, 2), x), m_neg(&d, x));
  LLVMValueRef quarters = m_select(&d, m_sign_bit(&d, x), m_const(&d, 2), zero); /* of a turn, beyond 1/2 */
  quarters = m_select(&d, arc.is_far, quarters, m_const(&d, 1));
  LLVMValueRef base = m_scale(&d, quarters, HALF_PI_HIGH), low = m_scale(&d, quarters, HALF_PI_LOW);
  LLVMValueRef rest = m_fma(&d, m_mul(&d, t, arc.z), arc.p, low);
  return m_from_double(&m, m_add(&d, m_add(&d, base, t), rest));
}
