/* Powers and roots. */
#include "codegen/vec/math_internal.h"

/* x^y for 0 < x < inf: exp(y·log x), f64 with the logarithm and the product in pairs. */
static LLVMValueRef positive_power(const Math *d, LLVMValueRef x, LLVMValueRef y) {
  if (d->precision != MATH_DOUBLE) return math_exp_moderate(d, m_clamp(d, m_mul(d, y, math_log(d, x)), -300, 300));
  MathPair log = math_log_pair(d, x), product = pair_product(d, y, log.high);
  product.low = m_fma(d, y, log.low, product.low);
  return math_exp_pair(d, product);
}

typedef struct Whole {
  LLVMValueRef is_whole, is_odd;
} Whole;

/* From 2^53 on all floats are even; infinities count as even, too. */
static Whole wholeness(const Math *d, LLVMValueRef y) {
  LLVMValueRef half = m_scale(d, y, 0.5);
  LLVMValueRef is_whole = m_compare(d, LLVMRealOEQ, m_rint(d, y), y);
  LLVMValueRef half_is_whole = m_compare(d, LLVMRealOEQ, m_rint(d, half), half);
  return (Whole){is_whole, m_and(d, is_whole, m_not(d, half_is_whole))};
}

/* --- exponents known when compiling --- */

/* Products are as exact as the general way up to here, and shorter. */
#define MOST_HALVES 16

/* Twice the exponent, where that is a whole number up to MOST_HALVES for all lanes; else 0. */
static int known_halves(LLVMValueRef exponents) {
  double exponent;
  if (!vec_same_constant(exponents, &exponent)) return 0;
  double halves = 2 * exponent;
  return halves >= -MOST_HALVES && halves <= MOST_HALVES && halves == (int)halves ? (int)halves : 0;
}

bool vec_power_is_short(const VecOp *op, LLVMValueRef exponents) {
  return type_is_float(op->type) && op->type != TYPE_F64 && known_halves(exponents) != 0;
}

/* x^(halves/2), in f64 of an f32, so that it is rounded once to speak of.  Squares by squares; of an odd number of
 * halves the root is taken, which a negative x has not: but pow(-0) and pow(-inf) are those of 0 and inf. */
static LLVMValueRef short_power(const Math *d, LLVMValueRef x, int halves) {
  bool has_root = halves % 2 != 0;
  LLVMValueRef base = has_root ? m_abs(d, x) : x, square = base, result = has_root ? m_sqrt(d, base) : NULL;
  for (int rest = (halves < 0 ? -halves : halves) / 2; rest > 0; rest /= 2) {
    if (rest % 2 != 0) result = result == NULL ? square : m_mul(d, result, square);
    if (rest > 1) square = m_mul(d, square, square);
  }
  if (halves < 0) result = m_div(d, m_const(d, 1), result);
  if (!has_root) return result;
  LLVMValueRef invalid = m_and(d, m_compare_to(d, LLVMRealOLT, x, 0), m_compare(d, LLVMRealOLT, base, m_infinity(d)));
  return m_select(d, invalid, m_nan(d), result);
}

/* IEEE 754's special cases of pow. */
VEC_RULE(vec_math_pow) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  if (vec_power_is_short(op, operands[1]))
    return m_from_double(&m, short_power(&d, m_in_double(&m, operands[0]), known_halves(operands[1])));
  LLVMValueRef x = m_in_double(&m, operands[0]), y = m_in_double(&m, operands[1]);
  LLVMValueRef size = m_abs(&d, x), one = m_const(&d, 1), zero = m_const(&d, 0), infinity = m_infinity(&d);
  LLVMValueRef is_zero = m_compare_to(&d, LLVMRealOEQ, size, 0),
               is_infinite = m_compare(&d, LLVMRealOEQ, size, infinity);
  LLVMValueRef is_unbounded = m_or(&d, is_zero, is_infinite);
  LLVMValueRef result = positive_power(&d, m_select(&d, is_unbounded, one, size), y);
  LLVMValueRef grows = LLVMBuildXor(d.b, is_zero, m_compare_to(&d, LLVMRealOGT, y, 0), "");
  result = m_select(&d, is_unbounded, m_select(&d, grows, infinity, zero), result);
  result = m_select(&d, m_compare(&d, LLVMRealUNO, x, y), m_nan(&d), result);
  Whole whole = wholeness(&d, y);
  LLVMValueRef flips = m_and(&d, m_sign_bit(&d, x), whole.is_odd);
  result = m_select(&d, flips, m_neg(&d, result), result);
  LLVMValueRef finite_negative = m_and(&d, m_compare_to(&d, LLVMRealOLT, x, 0), m_not(&d, is_infinite));
  LLVMValueRef invalid = m_and(&d, finite_negative, m_not(&d, whole.is_whole));
  result = m_select(&d, invalid, m_nan(&d), result);
  /* (±1)^±inf = 1, x^0 = 1, 1^y = 1, NaN included */
  LLVMValueRef y_is_infinite = m_compare(&d, LLVMRealOEQ, m_abs(&d, y), infinity);
  LLVMValueRef unit = m_and(&d, m_compare_to(&d, LLVMRealOEQ, size, 1), y_is_infinite);
  LLVMValueRef is_one = m_or(&d, m_compare_to(&d, LLVMRealOEQ, y, 0), m_compare_to(&d, LLVMRealOEQ, x, 1));
  return m_from_double(&m, m_select(&d, m_or(&d, unit, is_one), one, result));
}

/* x = m·2^(3q + r): a polynomial's guess at the root of m, times that of 2^r, corrected by Halley's method, times 2^q.
 */
VEC_RULE(vec_math_cbrt) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  LLVMValueRef x = m_in_double(&m, operands[0]), size = m_abs(&d, x);
  LLVMValueRef is_small = m_compare_to(&d, LLVMRealOLT, size, 0x1p-1000);
  LLVMValueRef lifted = m_select(&d, is_small, m_scale(&d, size, 0x1p90), size), bits = m_bits(&d, lifted);
  LLVMValueRef field = LLVMBuildLShr(d.b, bits, m_int(&d, 52), "");
  LLVMValueRef e = m_from_bits(&d, LLVMBuildOr(d.b, field, m_int(&d, INT64_C(0x4330000000000000)), ""));
  e = m_sub(&d, e, m_const(&d, 0x1p52 + 1023));
  LLVMValueRef fraction = LLVMBuildAnd(d.b, bits, m_int(&d, (INT64_C(1) << 52) - 1), "");
  LLVMValueRef significand = m_from_bits(&d, LLVMBuildOr(d.b, fraction, m_int(&d, INT64_C(0x3ff0000000000000)), ""));
  MathWhole q = m_whole_product(&d, e, 1.0 / 3);
  LLVMValueRef r = m_sub(&d, e, m_scale(&d, q.value, 3)); /* -1, 0, 1 */
  LLVMValueRef above = m_compare_to(&d, LLVMRealOGT, r, 0.5), below = m_compare_to(&d, LLVMRealOLT, r, -0.5);
  LLVMValueRef root = m_polynomial(&d, significand, &fit_cbrt), target = significand;
  root = m_select(&d, above, m_scale(&d, root, 0x1.428a2f98d728bp+0), root);
  root = m_select(&d, below, m_scale(&d, root, 0x1.965fea53d6e3dp-1), root);
  target = m_select(&d, above, m_scale(&d, target, 2), m_select(&d, below, m_scale(&d, target, 0.5), target));
  LLVMValueRef square = m_mul(&d, root, root), error;
  if (d.precision == MATH_DOUBLE) { /* y³ - m to double length */
    root = m_mul(&d, root,
                 m_div(&d, m_fma(&d, square, root, m_add(&d, target, target)),
                       m_fma(&d, m_add(&d, square, square), root, target)));
    MathPair exact_square = pair_product(&d, root, root), cube = pair_product(&d, exact_square.high, root);
    square = exact_square.high;
    error = m_sub(&d, m_sub(&d, cube.high, target), m_neg(&d, m_fma(&d, exact_square.low, root, cube.low)));
  } else {
    error = m_fma(&d, square, root, m_neg(&d, target));
  }
  /* Halley: y - y·e/(2y³ + m + ...) = y - e·y/(2·cube + target) */
  LLVMValueRef cubes = m_fma(&d, m_add(&d, square, square), root, target);
  root = m_sub(&d, root, m_div(&d, m_mul(&d, error, root), cubes));
  LLVMValueRef result = m_mul(&d, root, m_power_of_two(&d, &q));
  result = m_select(&d, is_small, m_scale(&d, result, 0x1p-30), result);
  LLVMValueRef ordinary =
      m_and(&d, m_compare_to(&d, LLVMRealOGT, size, 0), m_compare(&d, LLVMRealOLT, size, m_infinity(&d)));
  return m_from_double(&m, m_copysign(&d, m_select(&d, ordinary, result, size), x));
}
