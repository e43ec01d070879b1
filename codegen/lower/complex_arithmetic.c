/* Arithmetic on complex numbers, and the notation for functions of them. */
#include "codegen/lower/complex_internal.h"

/* --- notation --- */

int32_t c_constant(const ComplexMath *m, double value) {
  return lowering_constant_double(m->lowering, m->type, value);
}

int32_t c_apply(const ComplexMath *m, HloOpcode opcode, int32_t a) {
  return lowering_apply(m->lowering, opcode, m->type, &a, 1);
}

int32_t c_apply2(const ComplexMath *m, HloOpcode opcode, int32_t a, int32_t b) {
  return lowering_apply(m->lowering, opcode, m->type, (int32_t[]){a, b}, 2);
}

int32_t c_scale(const ComplexMath *m, int32_t a, double factor) {
  return c_apply2(m, HLO_MULTIPLY, a, c_constant(m, factor));
}

/* A pred. */
static int32_t c_compare(const ComplexMath *m, ComparisonDirection direction, int32_t a, int32_t b) {
  return lowering_apply_with(m->lowering, HLO_COMPARE, TYPE_PRED, (int32_t[]){a, b}, 2, (int64_t)direction,
                             COMPARISON_TYPE_FLOAT);
}

int32_t c_compare_to(const ComplexMath *m, ComparisonDirection direction, int32_t a, double b) {
  return c_compare(m, direction, a, c_constant(m, b));
}

int32_t c_both(const ComplexMath *m, int32_t a, int32_t b) {
  return lowering_apply(m->lowering, HLO_AND, TYPE_PRED, (int32_t[]){a, b}, 2);
}

int32_t c_either(const ComplexMath *m, int32_t a, int32_t b) {
  return lowering_apply(m->lowering, HLO_OR, TYPE_PRED, (int32_t[]){a, b}, 2);
}

int32_t c_is_infinite(const ComplexMath *m, int32_t a) {
  return c_compare_to(m, COMPARISON_DIRECTION_EQ, c_apply(m, HLO_ABS, a), __builtin_inf());
}

int32_t c_any_infinite(const ComplexMath *m, Complex z) {
  return c_either(m, c_is_infinite(m, z.re), c_is_infinite(m, z.im));
}

int32_t c_is_finite(const ComplexMath *m, int32_t a) {
  return lowering_apply(m->lowering, HLO_IS_FINITE, TYPE_PRED, &a, 1);
}

static int32_t c_is_nan(const ComplexMath *m, int32_t a) {
  return c_compare(m, COMPARISON_DIRECTION_NE, a, a);
}

int32_t c_copysign(const ComplexMath *m, int32_t size, int32_t sign) {
  PrimitiveType bits = m->type == TYPE_F64 ? TYPE_U64 : TYPE_U32;
  int32_t parts[2] = {lowering_apply(m->lowering, HLO_BITCAST_CONVERT, bits, &size, 1),
                      lowering_apply(m->lowering, HLO_BITCAST_CONVERT, bits, &sign, 1)};
  int32_t top = lowering_constant_bits(m->lowering, bits, UINT64_C(1) << (type_bits(bits) - 1), 0);
  parts[1] = lowering_apply(m->lowering, HLO_AND, bits, (int32_t[]){parts[1], top}, 2);
  int32_t joined = lowering_apply(m->lowering, HLO_OR, bits, parts, 2);
  return lowering_apply(m->lowering, HLO_BITCAST_CONVERT, m->type, &joined, 1);
}

int32_t c_select(const ComplexMath *m, int32_t condition, int32_t a, int32_t b) {
  return lowering_select(m->lowering, condition, a, b);
}

Complex c_select_both(const ComplexMath *m, int32_t condition, Complex a, Complex b) {
  return (Complex){c_select(m, condition, a.re, b.re), c_select(m, condition, a.im, b.im)};
}

int32_t c_larger_part(const ComplexMath *m, Complex z) {
  return c_apply2(m, HLO_MAXIMUM, c_apply(m, HLO_ABS, z.re), c_apply(m, HLO_ABS, z.im));
}

int32_t c_by_size(const ComplexMath *m, int32_t size, double huge, double tiny, double usual) {
  bool is_double = m->type == TYPE_F64;
  int32_t is_huge = c_compare_to(m, COMPARISON_DIRECTION_GT, size, is_double ? 0x1p500 : 0x1p50);
  int32_t is_tiny = c_compare_to(m, COMPARISON_DIRECTION_LT, size, is_double ? 0x1p-500 : 0x1p-50);
  return c_select(m, is_huge, c_constant(m, huge), c_select(m, is_tiny, c_constant(m, tiny), c_constant(m, usual)));
}

/* --- arithmetic --- */

Complex complex_add(const ComplexMath *m, const Complex *z) {
  return (Complex){c_apply2(m, HLO_ADD, z[0].re, z[1].re), c_apply2(m, HLO_ADD, z[0].im, z[1].im)};
}

Complex complex_subtract(const ComplexMath *m, const Complex *z) {
  return (Complex){c_apply2(m, HLO_SUBTRACT, z[0].re, z[1].re), c_apply2(m, HLO_SUBTRACT, z[0].im, z[1].im)};
}

Complex complex_negate(const ComplexMath *m, const Complex *z) {
  return (Complex){c_apply(m, HLO_NEGATE, z->re), c_apply(m, HLO_NEGATE, z->im)};
}

Complex complex_multiply(const ComplexMath *m, const Complex *z) {
  int32_t rr = c_apply2(m, HLO_MULTIPLY, z[0].re, z[1].re), ii = c_apply2(m, HLO_MULTIPLY, z[0].im, z[1].im);
  int32_t ri = c_apply2(m, HLO_MULTIPLY, z[0].re, z[1].im), ir = c_apply2(m, HLO_MULTIPLY, z[0].im, z[1].re);
  return (Complex){c_apply2(m, HLO_SUBTRACT, rr, ii), c_apply2(m, HLO_ADD, ri, ir)};
}

static Complex times(const ComplexMath *m, Complex z, int32_t factor) {
  return (Complex){c_apply2(m, HLO_MULTIPLY, z.re, factor), c_apply2(m, HLO_MULTIPLY, z.im, factor)};
}

int32_t c_norm(const ComplexMath *m, Complex z) {
  return c_apply2(m, HLO_ADD, c_apply2(m, HLO_MULTIPLY, z.re, z.re), c_apply2(m, HLO_MULTIPLY, z.im, z.im));
}

/* z / divisor.  With room a reciprocal does: what it is off by is lost in the one rounding. */
Complex c_over_real(const ComplexMath *m, Complex z, int32_t divisor) {
  if (m->is_roomy) return times(m, z, c_apply2(m, HLO_DIVIDE, c_constant(m, 1), divisor));
  return (Complex){c_apply2(m, HLO_DIVIDE, z.re, divisor), c_apply2(m, HLO_DIVIDE, z.im, divisor)};
}

/* Of a root in f64 that is rounded to f32: enough but where it lies within 2^-16 units of the middle between two. */
#define ROOMY_ROOT_BITS 40

/* Infinite as soon as a part is, be the other NaN.  Unless there is room, parts of which a square would leave the range
 * are brought near 1 by a power of two, with which the least number is as well. */
Complex complex_abs(const ComplexMath *m, const Complex *z) {
  int32_t size;
  if (m->is_roomy) {
    int32_t norm = c_norm(m, *z);
    size = lowering_apply_with(m->lowering, HLO_SQRT, m->type, &norm, 1, ROOMY_ROOT_BITS, 0);
  } else {
    double up = m->type == TYPE_F64 ? 0x1p600 : 0x1p100, down = 1 / up;
    int32_t larger = c_larger_part(m, *z);
    size = c_apply(m, HLO_SQRT, c_norm(m, times(m, *z, c_by_size(m, larger, down, up, 1))));
    size = c_apply2(m, HLO_MULTIPLY, size, c_by_size(m, larger, up, down, 1));
  }
  return (Complex){c_select(m, c_any_infinite(m, *z), c_constant(m, __builtin_inf()), size), -1};
}

Complex complex_sign(const ComplexMath *m, const Complex *z) {
  int32_t size = complex_abs(m, z).re;
  int32_t is_zero = c_compare_to(m, COMPARISON_DIRECTION_EQ, size, 0);
  return c_select_both(m, is_zero, *z, c_over_real(m, *z, size));
}

/* --- division --- */

/* a · conj(b). */
static Complex times_conjugate(const ComplexMath *m, Complex a, Complex b) {
  int32_t rr = c_apply2(m, HLO_MULTIPLY, a.re, b.re), ii = c_apply2(m, HLO_MULTIPLY, a.im, b.im);
  int32_t ir = c_apply2(m, HLO_MULTIPLY, a.im, b.re), ri = c_apply2(m, HLO_MULTIPLY, a.re, b.im);
  return (Complex){c_apply2(m, HLO_ADD, rr, ii), c_apply2(m, HLO_SUBTRACT, ir, ri)};
}

static Complex quotient(const ComplexMath *m, Complex a, Complex b) {
  return c_over_real(m, times_conjugate(m, a, b), c_norm(m, b));
}

/* Both brought near 1 by powers of two, so that no square leaves the range.  What that is worth is given back in two
 * halves: all of it at once may be more than a number can say. */
static Complex scaled_quotient(const ComplexMath *m, Complex a, Complex b) {
  int32_t above = c_larger_part(m, a), below = c_larger_part(m, b);
  Complex result = quotient(m, times(m, a, c_by_size(m, above, 0x1p-600, 0x1p600, 1)),
                            times(m, b, c_by_size(m, below, 0x1p-600, 0x1p600, 1)));
  int32_t half =
      c_apply2(m, HLO_MULTIPLY, c_by_size(m, above, 0x1p300, 0x1p-300, 1), c_by_size(m, below, 0x1p-300, 0x1p300, 1));
  return times(m, times(m, result, half), half);
}

/* Infinite parts as ±1, others as ±0: the direction of an infinite number. */
static Complex direction_of(const ComplexMath *m, Complex z) {
  int32_t one = c_constant(m, 1), zero = c_constant(m, 0);
  return (Complex){c_copysign(m, c_select(m, c_is_infinite(m, z.re), one, zero), z.re),
                   c_copysign(m, c_select(m, c_is_infinite(m, z.im), one, zero), z.im)};
}

static int32_t all_finite(const ComplexMath *m, Complex z) {
  return c_both(m, c_is_finite(m, z.re), c_is_finite(m, z.im));
}

/* As in C's annex G: where |result|, by the formula, is only NaN, a number over 0 and an infinite one over a finite one
 * are infinite, a finite one over an infinite one is 0. */
static Complex repair_quotient(const ComplexMath *m, Complex a, Complex b, Complex result) {
  int32_t infinity = c_constant(m, __builtin_inf());
  int32_t is_broken = c_both(m, c_is_nan(m, result.re), c_is_nan(m, result.im));
  Complex to_infinity = times(m, times_conjugate(m, direction_of(m, a), b), infinity);
  Complex toward_zero = times_conjugate(m, a, direction_of(m, b)); /* may be more than a number can say */
  int32_t zero = c_constant(m, 0);
  Complex to_zero = {c_copysign(m, zero, toward_zero.re), c_copysign(m, zero, toward_zero.im)};
  Complex repaired = c_select_both(m, c_both(m, c_any_infinite(m, b), all_finite(m, a)), to_zero, result);
  repaired = c_select_both(m, c_both(m, c_any_infinite(m, a), all_finite(m, b)), to_infinity, repaired);
  int32_t by_zero =
      c_both(m, c_compare_to(m, COMPARISON_DIRECTION_EQ, b.re, 0), c_compare_to(m, COMPARISON_DIRECTION_EQ, b.im, 0));
  repaired = c_select_both(m, by_zero, times(m, a, c_copysign(m, infinity, b.re)), repaired);
  return c_select_both(m, is_broken, repaired, result);
}

Complex c_quotient(const ComplexMath *m, Complex a, Complex b) {
  return repair_quotient(m, a, b, m->is_roomy ? quotient(m, a, b) : scaled_quotient(m, a, b));
}

static Complex converted(const ComplexMath *m, Complex z) {
  return (Complex){lowering_convert(m->lowering, z.re, m->type), lowering_convert(m->lowering, z.im, m->type)};
}

/* Operands that were widened and a result that will be narrowed are told apart in f32: twice as many to a register. */
Complex complex_divide(const ComplexMath *m, const Complex *z) {
  if (!m->is_roomy) return c_quotient(m, z[0], z[1]);
  ComplexMath narrow = {m->lowering, TYPE_F32, false};
  Complex result = converted(&narrow, quotient(m, z[0], z[1]));
  return repair_quotient(&narrow, converted(&narrow, z[0]), converted(&narrow, z[1]), result);
}
