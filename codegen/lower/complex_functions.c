/* Exponential, logarithm, roots, and what follows from them.  Special values are those of C's annex G. */
#include "codegen/lower/complex_internal.h"

static Complex complex_one(const ComplexMath *m) {
  return (Complex){c_constant(m, 1), c_constant(m, 0)};
}

/* i·z and z/i. */
static Complex times_i(const ComplexMath *m, Complex z) {
  return (Complex){c_apply(m, HLO_NEGATE, z.im), z.re};
}

static Complex over_i(const ComplexMath *m, Complex z) {
  return (Complex){z.im, c_apply(m, HLO_NEGATE, z.re)};
}

/* |value| where |y| is finite, else |instead|: sin and cos of anything else are NaN. */
static int32_t if_finite(const ComplexMath *m, int32_t y, int32_t value, int32_t instead) {
  return c_select(m, c_is_finite(m, y), value, instead);
}

/* --- exponential --- */

/* e^x·t without overflow before the product: as e^(x/2)·t·e^(x/2) where e^x is too large. */
static int32_t exp_times(const ComplexMath *m, int32_t x, int32_t t) {
  int32_t whole = c_apply(m, HLO_EXPONENTIAL, x), half = c_apply(m, HLO_EXPONENTIAL, c_scale(m, x, 0.5));
  int32_t in_halves = c_apply2(m, HLO_MULTIPLY, c_apply2(m, HLO_MULTIPLY, half, t), half);
  int32_t is_large = c_compare_to(m, COMPARISON_DIRECTION_EQ, whole, __builtin_inf());
  return c_select(m, is_large, in_halves, c_apply2(m, HLO_MULTIPLY, whole, t));
}

/* e^-inf is 0 in any direction, e^inf infinite; without imaginary part there is none. */
Complex complex_exp(const ComplexMath *m, const Complex *z) {
  int32_t x = z->re, y = z->im, nan = c_constant(m, __builtin_nan(""));
  int32_t vanishes = c_compare_to(m, COMPARISON_DIRECTION_EQ, x, -__builtin_inf());
  int32_t zero_or_nan = c_select(m, vanishes, c_constant(m, 0), nan);
  int32_t one_or =
      c_select(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, x, __builtin_inf()), c_constant(m, 1), zero_or_nan);
  int32_t re = exp_times(m, x, if_finite(m, y, c_apply(m, HLO_COSINE, y), one_or));
  int32_t im = exp_times(m, x, if_finite(m, y, c_apply(m, HLO_SINE, y), zero_or_nan));
  return (Complex){re, c_select(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, y, 0), y, im)};
}

/* e^x·cos y - 1 as (e^x - 1)·cos y - 2·sin²(y/2). */
Complex complex_expm1(const ComplexMath *m, const Complex *z) {
  int32_t s = c_apply(m, HLO_SINE, c_scale(m, z->im, 0.5)), cosine = c_apply(m, HLO_COSINE, z->im);
  int32_t re = c_apply2(m, HLO_MULTIPLY, c_apply(m, HLO_EXPONENTIAL_MINUS_ONE, z->re), cosine);
  re = c_apply2(m, HLO_SUBTRACT, re, c_scale(m, c_apply2(m, HLO_MULTIPLY, s, s), 2));
  int32_t im = exp_times(m, z->re, c_apply(m, HLO_SINE, z->im));
  return (Complex){re, c_select(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, z->im, 0), z->im, im)};
}

/* 1/(1 + e⁻ᶻ), or eᶻ/(1 + eᶻ) where e⁻ᶻ may overflow before the result vanishes. */
Complex complex_logistic(const ComplexMath *m, const Complex *z) {
  Complex negative = complex_negate(m, z), one = complex_one(m), over = one, power;
  if (m->is_roomy) {
    power = complex_exp(m, &negative);
  } else {
    int32_t is_left = c_compare_to(m, COMPARISON_DIRECTION_LT, z->re, 0);
    Complex shrinking = c_select_both(m, is_left, *z, negative);
    power = complex_exp(m, &shrinking);
    over = c_select_both(m, is_left, power, one);
  }
  Complex below = complex_add(m, (Complex[]){one, power});
  return c_quotient(m, over, below);
}

/* --- logarithm --- */

typedef struct Sum {
  int32_t value, error; /* as rounded, and what is missing */
} Sum;

/* a², exactly: halves of a number multiply without rounding. */
static Sum square(const ComplexMath *m, int32_t a) {
  int32_t product = c_apply2(m, HLO_MULTIPLY, a, a);
  if (m->is_roomy) return (Sum){product, c_constant(m, 0)};
  int32_t split = c_scale(m, a, 0x1p27 + 1);
  int32_t high = c_apply2(m, HLO_SUBTRACT, split, c_apply2(m, HLO_SUBTRACT, split, a));
  int32_t low = c_apply2(m, HLO_SUBTRACT, a, high);
  int32_t error = c_apply2(m, HLO_SUBTRACT, c_apply2(m, HLO_MULTIPLY, high, high), product);
  error = c_apply2(m, HLO_ADD, error, c_scale(m, c_apply2(m, HLO_MULTIPLY, high, low), 2));
  return (Sum){product, c_apply2(m, HLO_ADD, error, c_apply2(m, HLO_MULTIPLY, low, low))};
}

/* log |z| from |z|² in double length, so that it keeps its digits next to the unit circle. */
static int32_t log_of_size(const ComplexMath *m, Complex z) {
  int32_t larger = c_larger_part(m, z);
  int32_t smaller = c_apply2(m, HLO_MINIMUM, c_apply(m, HLO_ABS, z.re), c_apply(m, HLO_ABS, z.im)), scaled = larger;
  if (!m->is_roomy) {
    int32_t scale = c_by_size(m, larger, 0x1p-600, 0x1p600, 1);
    scaled = c_apply2(m, HLO_MULTIPLY, larger, scale);
    smaller = c_apply2(m, HLO_MULTIPLY, smaller, scale);
  }
  Sum p = square(m, scaled), q = square(m, smaller);
  int32_t u = c_apply2(m, HLO_ADD, p.value, q.value);
  int32_t e = c_apply2(m, HLO_SUBTRACT, q.value, c_apply2(m, HLO_SUBTRACT, u, p.value));
  e = c_apply2(m, HLO_ADD, e, c_apply2(m, HLO_ADD, p.error, q.error));
  int32_t is_plain = c_both(m, c_is_finite(m, u), c_compare_to(m, COMPARISON_DIRECTION_GT, u, 0));
  int32_t rest = c_select(m, is_plain, c_apply2(m, HLO_DIVIDE, e, u), c_constant(m, 0));
  int32_t result = c_scale(m, c_apply2(m, HLO_ADD, c_apply(m, HLO_LOG, u), rest), 0.5);
  if (!m->is_roomy) {
    const double shift = 0x1.9fe3682cd3be4p8; /* 600·log 2 */
    result = c_apply2(m, HLO_ADD, result, c_by_size(m, larger, shift, -shift, 0));
  }
  return c_select(m, c_any_infinite(m, z), c_constant(m, __builtin_inf()), result);
}

Complex complex_log(const ComplexMath *m, const Complex *z) {
  return (Complex){log_of_size(m, *z), c_apply2(m, HLO_ATAN2, z->im, z->re)};
}

/* |1 + z|² = 1 + t with t = x·(2 + x) + y², which keeps its digits but near -1.  There 1 + x is exact, and where t
 * would overflow, 1 is nothing: log |1 + z| by itself. */
Complex complex_log1p(const ComplexMath *m, const Complex *z) {
  Complex beside = {c_apply2(m, HLO_ADD, z->re, c_constant(m, 1)), z->im};
  int32_t t = c_apply2(m, HLO_MULTIPLY, z->re, c_apply2(m, HLO_ADD, z->re, c_constant(m, 2)));
  t = c_apply2(m, HLO_ADD, t, c_apply2(m, HLO_MULTIPLY, z->im, z->im));
  int32_t is_plain = c_compare_to(m, COMPARISON_DIRECTION_LT, t, -0.5);
  if (!m->is_roomy)
    is_plain = c_either(m, is_plain, c_compare_to(m, COMPARISON_DIRECTION_GT, c_larger_part(m, *z), 0x1p500));
  int32_t re = c_select(m, is_plain, log_of_size(m, beside), c_scale(m, c_apply(m, HLO_LOG_PLUS_ONE, t), 0.5));
  re = c_select(m, c_any_infinite(m, *z), c_constant(m, __builtin_inf()), re);
  return (Complex){re, c_apply2(m, HLO_ATAN2, z->im, beside.re)};
}

/* --- roots and powers --- */

/* t = sqrt((|x| + |z|)/2) and |y|/(2t) are the parts, the larger one where x is positive first. */
Complex complex_sqrt(const ComplexMath *m, const Complex *z) {
  Complex w = *z;
  int32_t larger = c_larger_part(m, *z);
  if (!m->is_roomy) {
    int32_t scale = c_by_size(m, larger, 0x1p-600, 0x1p600, 1);
    w = (Complex){c_apply2(m, HLO_MULTIPLY, w.re, scale), c_apply2(m, HLO_MULTIPLY, w.im, scale)};
  }
  int32_t sum = c_apply2(m, HLO_ADD, c_apply(m, HLO_ABS, w.re), complex_abs(m, &w).re);
  int32_t t = c_apply(m, HLO_SQRT, c_scale(m, sum, 0.5));
  int32_t other = c_apply2(m, HLO_DIVIDE, c_scale(m, c_apply(m, HLO_ABS, w.im), 0.5), t);
  other = c_select(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, t, 0), t, other);
  int32_t is_right = c_compare_to(m, COMPARISON_DIRECTION_GE, w.re, 0);
  Complex root = {c_select(m, is_right, t, other), c_select(m, is_right, other, t)};
  if (!m->is_roomy) {
    int32_t back = c_by_size(m, larger, 0x1p300, 0x1p-300, 1);
    root = (Complex){c_apply2(m, HLO_MULTIPLY, root.re, back), c_apply2(m, HLO_MULTIPLY, root.im, back)};
  }
  int32_t infinity = c_constant(m, __builtin_inf());
  root = c_select_both(m, c_is_infinite(m, z->im), (Complex){infinity, infinity}, root);
  return (Complex){root.re, c_copysign(m, root.im, z->im)};
}

Complex complex_rsqrt(const ComplexMath *m, const Complex *z) {
  return c_quotient(m, complex_one(m), complex_sqrt(m, z));
}

/* exp(y·log x); 0 to a positive power is 0, to the power of 0 it is 1. */
Complex complex_power(const ComplexMath *m, const Complex *z) {
  Complex product = complex_multiply(m, (Complex[]){z[1], complex_log(m, &z[0])});
  Complex result = complex_exp(m, &product), zero = {c_constant(m, 0), c_constant(m, 0)};
  int32_t of_zero = c_both(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, z[0].re, 0),
                           c_compare_to(m, COMPARISON_DIRECTION_EQ, z[0].im, 0));
  int32_t is_real = c_compare_to(m, COMPARISON_DIRECTION_EQ, z[1].im, 0);
  int32_t is_positive = c_both(m, is_real, c_compare_to(m, COMPARISON_DIRECTION_GT, z[1].re, 0));
  int32_t is_zero = c_both(m, is_real, c_compare_to(m, COMPARISON_DIRECTION_EQ, z[1].re, 0));
  result = c_select_both(m, c_both(m, of_zero, is_positive), zero, result);
  return c_select_both(m, c_both(m, of_zero, is_zero), complex_one(m), result);
}

/* --- circular and hyperbolic functions --- */

/* Above this e^x is sinh and cosh twice over, below nothing overflows. */
#define LARGE_ANGLE 40

/* sinh(x)·t and cosh(x)·t, |function| being which. */
static int32_t hyperbolic_times(const ComplexMath *m, HloOpcode function, int32_t x, int32_t t) {
  int32_t usual = c_apply2(m, HLO_MULTIPLY, c_apply(m, function, x), t);
  if (m->is_roomy) return usual;
  int32_t size = c_apply(m, HLO_ABS, x), signed_t = t;
  if (function == HLO_SINH) signed_t = c_apply2(m, HLO_MULTIPLY, t, c_copysign(m, c_constant(m, 1), x));
  int32_t large = exp_times(m, size, c_scale(m, signed_t, 0.5));
  return c_select(m, c_compare_to(m, COMPARISON_DIRECTION_GT, size, LARGE_ANGLE), large, usual);
}

/* sinh x·cos y + i·cosh x·sin y, or (|is_cosine|) cosh x·cos y + i·sinh x·sin y.  A part that is 0 by itself stays so,
 * and what is infinite too, where the angle says nothing. */
static Complex hyperbolic(const ComplexMath *m, Complex z, bool is_cosine) {
  int32_t x = z.re, y = z.im, nan = c_constant(m, __builtin_nan("")), one = c_constant(m, 1);
  int32_t stays_zero = c_select(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, x, 0), one, nan);
  int32_t cosine_or = c_select(m, c_is_infinite(m, x), one, is_cosine ? nan : stays_zero);
  int32_t cosine = if_finite(m, y, c_apply(m, HLO_COSINE, y), cosine_or);
  int32_t sine = if_finite(m, y, c_apply(m, HLO_SINE, y), is_cosine ? stays_zero : nan);
  int32_t re = hyperbolic_times(m, is_cosine ? HLO_COSH : HLO_SINH, x, cosine);
  int32_t im = hyperbolic_times(m, is_cosine ? HLO_SINH : HLO_COSH, x, sine);
  int32_t zero = is_cosine ? c_apply2(m, HLO_MULTIPLY, y, c_copysign(m, one, x)) : y;
  return (Complex){re, c_select(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, y, 0), zero, im)};
}

Complex complex_sinh(const ComplexMath *m, const Complex *z) {
  return hyperbolic(m, *z, false);
}

Complex complex_cosh(const ComplexMath *m, const Complex *z) {
  return hyperbolic(m, *z, true);
}

Complex complex_sin(const ComplexMath *m, const Complex *z) {
  return over_i(m, hyperbolic(m, times_i(m, *z), false));
}

Complex complex_cos(const ComplexMath *m, const Complex *z) {
  return hyperbolic(m, times_i(m, *z), true);
}

/* (sinh x·cosh x + i·sin y·cos y) / (sinh² x + cos² y), which is ±1 far out. */
Complex complex_tanh(const ComplexMath *m, const Complex *z) {
  int32_t sinh = c_apply(m, HLO_SINH, z->re), cosh = c_apply(m, HLO_COSH, z->re);
  int32_t sine = c_apply(m, HLO_SINE, z->im), cosine = c_apply(m, HLO_COSINE, z->im);
  int32_t below =
      c_apply2(m, HLO_ADD, c_apply2(m, HLO_MULTIPLY, sinh, sinh), c_apply2(m, HLO_MULTIPLY, cosine, cosine));
  Complex above = {c_apply2(m, HLO_MULTIPLY, sinh, cosh), c_apply2(m, HLO_MULTIPLY, sine, cosine)};
  Complex near = c_over_real(m, above, below);
  int32_t is_far = c_compare_to(m, COMPARISON_DIRECTION_GT, c_apply(m, HLO_ABS, z->re), LARGE_ANGLE);
  int32_t re = c_select(m, is_far, c_copysign(m, c_constant(m, 1), z->re), near.re);
  return (Complex){re, c_select(m, c_is_infinite(m, z->re), c_constant(m, 0), near.im)};
}

Complex complex_tan(const ComplexMath *m, const Complex *z) {
  Complex turned = times_i(m, *z);
  return over_i(m, complex_tanh(m, &turned));
}

/* -i·log((x + i·y) / sqrt(x² + y²)), y being the first operand. */
Complex complex_atan2(const ComplexMath *m, const Complex *z) {
  Complex y = z[0], x = z[1];
  Complex above = complex_add(m, (Complex[]){x, times_i(m, y)});
  Complex squares =
      complex_add(m, (Complex[]){complex_multiply(m, (Complex[]){x, x}), complex_multiply(m, (Complex[]){y, y})});
  Complex unit = c_quotient(m, above, complex_sqrt(m, &squares));
  return over_i(m, complex_log(m, &unit));
}

/* --- inverse functions, after W. Kahan, Branch Cuts for Complex Elementary Functions --- */

#define PI 0x1.921fb54442d18p1

/* Of an infinite number its direction from 0, as (±1 or ±0, ±1 or ±0), by which these functions approach their limits.
 */
static Complex far_direction(const ComplexMath *m, Complex z) {
  int32_t one = c_constant(m, 1), x = c_scale(m, z.re, 0), y = c_scale(m, z.im, 0);
  return (Complex){c_select(m, c_is_infinite(m, z.re), c_copysign(m, one, z.re), x),
                   c_select(m, c_is_infinite(m, z.im), c_copysign(m, one, z.im), y)};
}

/* sqrt(1 - z) and sqrt(1 + z). */
static Complex root_beside_one(const ComplexMath *m, Complex z, HloOpcode opcode) {
  Complex argument = {c_apply2(m, opcode, c_constant(m, 1), z.re), z.im};
  if (opcode == HLO_SUBTRACT) argument.im = c_apply(m, HLO_NEGATE, z.im);
  return complex_sqrt(m, &argument);
}

/* The imaginary part of conj(a)·b. */
static int32_t conjugate_product_im(const ComplexMath *m, Complex a, Complex b) {
  return c_apply2(m, HLO_SUBTRACT, c_apply2(m, HLO_MULTIPLY, a.re, b.im), c_apply2(m, HLO_MULTIPLY, a.im, b.re));
}

Complex complex_asin(const ComplexMath *m, const Complex *z) {
  Complex minus = root_beside_one(m, *z, HLO_SUBTRACT), plus = root_beside_one(m, *z, HLO_ADD);
  int32_t beside = c_apply2(m, HLO_SUBTRACT, c_apply2(m, HLO_MULTIPLY, minus.re, plus.re),
                            c_apply2(m, HLO_MULTIPLY, minus.im, plus.im));
  Complex near = {c_apply2(m, HLO_ATAN2, z->re, beside), c_apply(m, HLO_ASINH, conjugate_product_im(m, minus, plus))};
  Complex direction = far_direction(m, *z);
  int32_t angle = c_apply2(m, HLO_ATAN2, direction.re, c_apply(m, HLO_ABS, direction.im));
  Complex far = {angle, c_copysign(m, c_constant(m, __builtin_inf()), z->im)};
  return c_select_both(m, c_any_infinite(m, *z), far, near);
}

Complex complex_acos(const ComplexMath *m, const Complex *z) {
  Complex minus = root_beside_one(m, *z, HLO_SUBTRACT), plus = root_beside_one(m, *z, HLO_ADD);
  Complex near = {c_scale(m, c_apply2(m, HLO_ATAN2, minus.re, plus.re), 2),
                  c_apply(m, HLO_ASINH, conjugate_product_im(m, plus, minus))};
  Complex direction = far_direction(m, *z);
  int32_t angle = c_apply2(m, HLO_ATAN2, c_apply(m, HLO_ABS, direction.im), direction.re);
  Complex far = {angle, c_copysign(m, c_constant(m, __builtin_inf()), c_apply(m, HLO_NEGATE, z->im))};
  return c_select_both(m, c_any_infinite(m, *z), far, near);
}

Complex complex_asinh(const ComplexMath *m, const Complex *z) {
  Complex turned = over_i(m, *z);
  return times_i(m, complex_asin(m, &turned));
}

Complex complex_acosh(const ComplexMath *m, const Complex *z) {
  Complex minus = {c_apply2(m, HLO_SUBTRACT, z->re, c_constant(m, 1)), z->im}, plus = root_beside_one(m, *z, HLO_ADD);
  minus = complex_sqrt(m, &minus);
  int32_t re =
      c_apply2(m, HLO_ADD, c_apply2(m, HLO_MULTIPLY, minus.re, plus.re), c_apply2(m, HLO_MULTIPLY, minus.im, plus.im));
  Complex near = {c_apply(m, HLO_ASINH, re), c_scale(m, c_apply2(m, HLO_ATAN2, minus.im, plus.re), 2)};
  Complex direction = far_direction(m, *z);
  Complex far = {c_constant(m, __builtin_inf()), c_apply2(m, HLO_ATAN2, direction.im, direction.re)};
  return c_select_both(m, c_any_infinite(m, *z), far, near);
}

/* With x ≥ 0, and the sign put back: log1p(4x / ((1-x)² + y²))/4 + i·atan2(2y, (1-x)(1+x) - y²)/2.  Next to 1, where y²
 * is nothing, the real part is log(2/y)/2; far from 0 it is 0, the other π/2. */
Complex complex_atanh(const ComplexMath *m, const Complex *z) {
  int32_t x = c_apply(m, HLO_ABS, z->re), one = c_constant(m, 1), yy = c_apply2(m, HLO_MULTIPLY, z->im, z->im);
  int32_t minus = c_apply2(m, HLO_SUBTRACT, one, x), plus = c_apply2(m, HLO_ADD, one, x);
  int32_t distance = c_apply2(m, HLO_ADD, c_apply2(m, HLO_MULTIPLY, minus, minus), yy);
  int32_t re = c_apply(m, HLO_LOG_PLUS_ONE, c_apply2(m, HLO_DIVIDE, c_scale(m, x, 4), distance));
  re = c_scale(m, re, 0.25);
  if (!m->is_roomy) {
    int32_t height = c_scale(m, c_apply(m, HLO_ABS, z->im), 0.5);
    int32_t is_near_one = c_compare_to(m, COMPARISON_DIRECTION_LT, distance, 0x1p-900);
    re = c_select(m, is_near_one, c_scale(m, c_apply(m, HLO_LOG, height), -0.5), re);
  }
  int32_t beside = c_apply2(m, HLO_SUBTRACT, c_apply2(m, HLO_MULTIPLY, minus, plus), yy);
  int32_t im = c_apply2(m, HLO_ATAN2, c_scale(m, z->im, 2), beside);
  Complex near = {c_copysign(m, re, z->re), c_scale(m, im, 0.5)};
  Complex far = {c_copysign(m, c_constant(m, 0), z->re), c_copysign(m, c_constant(m, PI / 2), z->im)};
  int32_t is_far = c_compare_to(m, COMPARISON_DIRECTION_GT, c_larger_part(m, *z), 0x1p500);
  return c_select_both(m, is_far, far, near);
}
