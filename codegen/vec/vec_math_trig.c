/* Sine, cosine, tangent and the inverse functions. */
#include "codegen/vec/math_internal.h"

/* sin and cos of an angle within an eighth of a turn, in f64 lanes; the low part, NULL for none, enters to first
 * order. */
static void sin_cos(const Math *m, MathPair r, LLVMValueRef *out_sin, LLVMValueRef *out_cos) {
  bool is_middle = m->precision == MATH_MIDDLE;
  const MathFit *sin_fit = is_middle ? &fit_sin_middle : &fit_sin_double;
  const MathFit *cos_fit = is_middle ? &fit_cos_middle : &fit_cos_double;
  LLVMValueRef z = m_mul(m, r.high, r.high), cubic = m_mul(m, z, r.high), square = m_mul(m, z, z);
  LLVMValueRef tail = m_polynomial(m, z, sin_fit);
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
  *out_cos = m_add(m, main, m_fma(m, square, m_polynomial(m, z, cos_fit), lost));
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

#define SINGLE_ANGLE_BOUND 0x1p15
#define ONE_OVER_PI 0x1.45f306dc9c883p-2

/* f32 with fma, angles up to SINGLE_ANGLE_BOUND: x = n·π + r, for a cosine x + π/2, so n are halves.  π is in three
 * parts: the first product cancels exactly.  sin r = r + r·t with t a polynomial in r² less a center: its terms are
 * small, so their roundings hardly count.  sin -0 is -0, since no part of π is rounded up, and t is not negative at 0.
 */
static LLVMValueRef sin_moderate(const Math *m, LLVMValueRef x, bool is_cosine) {
  LLVMValueRef half = m_const(m, 0.5);
  MathWhole n =
      is_cosine ? m_whole(m, m_fma(m, x, m_const(m, ONE_OVER_PI), m_neg(m, half))) : m_whole_product(m, x, ONE_OVER_PI);
  LLVMValueRef turns = is_cosine ? m_add(m, n.value, half) : n.value;
  LLVMValueRef r = m_fma(m, turns, m_const(m, -0x1.921fb4p+1), x);
  r = m_fma(m, turns, m_const(m, -0x1.4442dp-23), r);
  r = m_fma(m, turns, m_const(m, -0x1.84698ap-47), r);
  LLVMValueRef place = m_fma(m, r, r, m_const(m, -fit_sin_half_turn.center));
  LLVMValueRef value = m_fma(m, m_polynomial(m, place, &fit_sin_half_turn.fit), r, r);
  LLVMValueRef odd = is_cosine ? LLVMBuildNot(m->b, m_bits(m, n.sum), "") : m_bits(m, n.sum);
  LLVMValueRef sign = LLVMBuildShl(m->b, odd, m_int(m, 31), "");
  return m_from_bits(m, LLVMBuildXor(m->b, m_bits(m, value), sign, ""));
}

/* The same for larger angles, finite or not. */
static VEC_RULE(sin_far) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  MathQuadrant angle = math_reduce_short_angle(&d, m_in_double(&m, operands[0]));
  angle.r.low = NULL;
  int quadrants = op->opcode == HLO_COSINE;
  return m_from_double(&m, sin_in_quadrant(&d, angle.r, add_quadrants(&d, angle.quadrant, quadrants)));
}

/* Whether a lane of |x| is no moderate angle.  Lanes that share a place in registers are compared as one, the largest
 * of their sizes as integers, of which NaN is larger than all numbers. */
static LLVMValueRef has_far_lane(const Math *m, LLVMValueRef x) {
  Math narrow = *m;
  LLVMValueRef sizes = m_bits(m, m_abs(m, x));
  while (narrow.lanes * 32 > m->vec->target->vector_bits) {
    narrow.lanes /= 2;
    LLVMValueRef low = vec_slice(m->vec, sizes, 0, narrow.lanes);
    LLVMValueRef high = vec_slice(m->vec, sizes, narrow.lanes, narrow.lanes);
    sizes = LLVMBuildSelect(m->b, LLVMBuildICmp(m->b, LLVMIntSGT, low, high, ""), low, high, "");
  }
  LLVMValueRef is_far = m_compare_to(&narrow, LLVMRealUGT, m_from_bits(&narrow, sizes), SINGLE_ANGLE_BOUND);
  return vec_any(m->vec, is_far, narrow.lanes);
}

static bool is_short(const Math *m) {
  return !m->is_double && m->vec->target->has_fma;
}

/* The short code for moderate angles at each use; one comparison says whether all lanes are that. */
static LLVMValueRef short_sin(const VecBuilder *vec, const VecOp *op, LLVMValueRef x, int lanes) {
  Math m = math_of(vec, op->type, lanes);
  bool is_cosine = op->opcode == HLO_COSINE;
  LLVMValueRef near = sin_moderate(&m, x, is_cosine), result;
  MathBranch branch = math_if(&m, has_far_lane(&m, x));
  LLVMValueRef far = vec_call(vec, op, &(VecPart){sin_far, ".far"}, &x, lanes);
  LLVMValueRef inside = m_select(&m, m_compare_to(&m, LLVMRealUGT, m_abs(&m, x), SINGLE_ANGLE_BOUND), far, near);
  math_end_if(&m, &branch, &near, &inside, 1, &result);
  return result;
}

VEC_RULE(vec_math_sin) {
  Math m = math_of(vec, op->type, lanes);
  LLVMValueRef x = operands[0];
  if (is_short(&m)) return short_sin(vec, op, x, lanes);
  return m_select(&m, m_compare_to(&m, LLVMRealOEQ, x, 0), x, sin_through_double(&m, x, 0));
}

VEC_RULE(vec_math_cos) {
  Math m = math_of(vec, op->type, lanes);
  return is_short(&m) ? short_sin(vec, op, operands[0], lanes) : sin_through_double(&m, operands[0], 1);
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
