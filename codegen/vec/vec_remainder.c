/* The floating remainder (C's fmod), exact for every quotient. */
#include <math.h>

#include "codegen/ir/ir_loop.h"
#include "codegen/vec/math_internal.h"

/* A divisor that the quotient's exponent does not overflow with: size, or size·2^1000 where |rest| is more than 2^1000
 * times as large.  A remainder of the multiple has the same remainder as the original. */
static LLVMValueRef nearer_divisor(const Math *d, LLVMValueRef rest, LLVMValueRef size) {
  LLVMValueRef is_far = m_compare(d, LLVMRealOGT, m_scale(d, rest, 0x1p-500), m_scale(d, size, 0x1p500));
  return m_select(d, is_far, m_scale(d, size, 0x1p1000), size);
}

/* rest - q·size with q the quotient cut to 25 bits: q times either half of size is exact, and so are both differences.
 * Negative only where the division rounded up to a whole number; then one size too much was taken away. */
static LLVMValueRef take_away(const Math *d, LLVMValueRef rest, LLVMValueRef size) {
  if (d->precision == MATH_DOUBLE) size = nearer_divisor(d, rest, nearer_divisor(d, rest, size));
  VecOp floor_op = {HLO_FLOOR, TYPE_F64, TYPE_F64, {0, 0}};
  LLVMValueRef ratio = m_div(d, rest, size), whole = vec_apply(d->vec, &floor_op, &ratio, d->lanes);
  LLVMValueRef cut = m_from_bits(d, LLVMBuildAnd(d->b, m_bits(d, whole), m_int(d, ~INT64_C(0xfffffff)), ""));
  LLVMValueRef high = m_from_bits(d, LLVMBuildAnd(d->b, m_bits(d, size), m_int(d, ~INT64_C(0x7ffffff)), ""));
  rest = m_sub(d, rest, m_mul(d, cut, high));
  rest = m_sub(d, rest, m_mul(d, cut, m_sub(d, size, high)));
  return m_select(d, m_compare_to(d, LLVMRealOLT, rest, 0), m_add(d, rest, size), rest);
}

/* Rounds until every lane's rest is below its divisor; one for quotients below 2^25, and 2^25 more with each. */
static LLVMValueRef reduce(const Math *d, LLVMValueRef rest, LLVMValueRef size) {
  LLVMValueRef *carried[] = {&rest};
  IrLoop loop = ir_loop_begin(d->b, carried, 1);
  rest = take_away(d, rest, size);
  ir_loop_end_while(&loop, vec_any(d->vec, m_compare(d, LLVMRealOGE, rest, size), d->lanes));
  return rest;
}

/* --- divisors known when compiling --- */

/* A power of two from 1 on that is everywhere the divisor: neither quotient nor product loses a digit that counts. */
static bool known_power(LLVMValueRef divisors, double *out_power) {
  int exponent;
  if (!vec_same_constant(divisors, out_power) || !(*out_power >= 1 && *out_power <= 0x1p100)) return false;
  return frexp(*out_power, &exponent) == 0.5;
}

bool vec_remainder_is_short(const VecOp *op, LLVMValueRef divisors) {
  double power;
  return type_is_float(op->type) && known_power(divisors, &power);
}

/* What is left of |x| without the whole multiples; NaN for infinities, inf - inf. */
static LLVMValueRef remainder_of_power(const Math *m, LLVMValueRef x, double power) {
  VecOp floor_op = {HLO_FLOOR, m->type, m->type, {0, 0}};
  LLVMValueRef size = m_abs(m, x), quotient = m_scale(m, size, 1 / power);
  LLVMValueRef multiple = m_scale(m, vec_apply(m->vec, &floor_op, &quotient, m->lanes), power);
  return m_copysign(m, m_sub(m, size, multiple), x);
}

/* The sign of x; NaN for y = 0 and for infinite x; x itself for infinite y. */
VEC_RULE(vec_float_remainder) {
  Math m = math_of(vec, op->type, lanes), d = math_double(&m);
  double power;
  if (known_power(operands[1], &power)) return remainder_of_power(&m, operands[0], power);
  LLVMValueRef x = m_in_double(&m, operands[0]), y = m_in_double(&m, operands[1]);
  LLVMValueRef rest = m_abs(&d, x), size = m_abs(&d, y), infinity = m_infinity(&d);
  LLVMValueRef x_is_finite = m_compare(&d, LLVMRealOLT, rest, infinity),
               y_is_positive = m_compare_to(&d, LLVMRealOGT, size, 0);
  LLVMValueRef is_valid = m_and(&d, x_is_finite, y_is_positive);
  LLVMValueRef is_smaller = m_and(&d, x_is_finite, m_compare(&d, LLVMRealOLT, rest, size));
  LLVMValueRef runs = m_and(&d, is_valid, m_not(&d, is_smaller));
  LLVMValueRef one = m_const(&d, 1);
  LLVMValueRef reduced = reduce(&d, m_select(&d, runs, rest, one), m_select(&d, runs, size, one));
  LLVMValueRef result = m_copysign(&d, reduced, x);
  result = m_select(&d, is_smaller, x, m_select(&d, is_valid, result, m_nan(&d)));
  return m_from_double(&m, result);
}
