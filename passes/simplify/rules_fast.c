/* Rules of --fast-math: functions of real numbers.  What they give differs from what is written by roundings, by the
 * sign of zeros, and where a value between would be infinite or NaN. */
#include "passes/simplify/algebraic_rules.h"
#include "passes/simplify/integer_range.h"

static HloInstruction *multiply(const HloInstruction *like, HloInstruction *a, HloInstruction *b) {
  return algebraic_binary(like, HLO_MULTIPLY, a, b);
}

/* --- quotients --- */

/* a / c → a · (1/c) for a constant c;  a / broadcast(b) → a · broadcast(1/b) */
static HloInstruction *divide_by_one_value(HloInstruction *instruction) {
  HloInstruction *divisor = instruction->operands[1], *scalar = algebraic_splat_source(divisor);
  if (!algebraic_is_ieee(instruction) || scalar == NULL) return NULL;
  const Literal *literal = algebraic_splat_literal(divisor);
  double number = literal != NULL ? literal_get_double(literal, 0) : 1;
  if (number == 0 || !__builtin_isfinite(number) || !__builtin_isnormal(1 / number)) return NULL;
  if (literal == NULL && shape_is_scalar(instruction->shape)) return NULL;
  if (literal != NULL && algebraic_is_all(instruction->operands[0], 1)) return NULL;
  HloInstruction *inverse = algebraic_binary(scalar, HLO_DIVIDE, algebraic_number(scalar, 1), scalar);
  if (!shape_is_scalar(instruction->shape)) inverse = algebraic_broadcast(inverse, instruction->shape, NULL);
  return multiply(instruction, instruction->operands[0], inverse);
}

/* (a / b) / c → a / (b · c),  a / (b / c) → (a · c) / b */
static HloInstruction *divide_quotient(HloInstruction *instruction) {
  HloInstruction *a = instruction->operands[0], *b = instruction->operands[1];
  if (!algebraic_is_ieee(instruction)) return NULL;
  if (b->opcode == HLO_DIVIDE)
    return algebraic_binary(instruction, HLO_DIVIDE, multiply(instruction, a, b->operands[1]), b->operands[0]);
  if (a->opcode != HLO_DIVIDE || a->user_count != 1) return NULL;
  return algebraic_binary(instruction, HLO_DIVIDE, a->operands[0], multiply(instruction, a->operands[1], b));
}

/* a / exp(b) → a · exp(-b),  a / bᶜ → a · b⁻ᶜ,  a / √b → a · rsqrt(b),  a / rsqrt(b) → a · √b */
static HloInstruction *divide_by_function(HloInstruction *instruction) {
  HloInstruction *a = instruction->operands[0], *by = instruction->operands[1], *inverse;
  if (!algebraic_is_ieee(instruction) || by->user_count != 1) return NULL;
  switch (by->opcode) {
    case HLO_EXPONENTIAL:
      inverse = algebraic_unary(by, HLO_EXPONENTIAL, algebraic_unary(by, HLO_NEGATE, by->operands[0]));
      break;
    case HLO_POWER:
      inverse = algebraic_binary(by, HLO_POWER, by->operands[0], algebraic_unary(by, HLO_NEGATE, by->operands[1]));
      break;
    case HLO_SQRT: inverse = algebraic_unary(by, HLO_RSQRT, by->operands[0]); break;
    case HLO_RSQRT: inverse = algebraic_unary(by, HLO_SQRT, by->operands[0]); break;
    default: return NULL;
  }
  return multiply(instruction, a, inverse);
}

/* --- products --- */

/* exp(a) · exp(b) → exp(a + b) */
static HloInstruction *multiply_exponentials(HloInstruction *instruction) {
  const HloInstruction *a = instruction->operands[0], *b = instruction->operands[1];
  if (!algebraic_is_ieee(instruction) || a->opcode != HLO_EXPONENTIAL || b->opcode != HLO_EXPONENTIAL) return NULL;
  if (a->user_count != 1 || b->user_count != 1) return NULL;
  return algebraic_unary(instruction, HLO_EXPONENTIAL,
                         algebraic_binary(instruction, HLO_ADD, a->operands[0], b->operands[0]));
}

/* √x · √x → x,  rsqrt(x) · rsqrt(x) → 1 / x for an x that is never negative */
static HloInstruction *multiply_roots(HloInstruction *instruction) {
  const HloInstruction *root = instruction->operands[0];
  if (!algebraic_is_ieee(instruction) || root != instruction->operands[1]) return NULL;
  if ((root->opcode != HLO_SQRT && root->opcode != HLO_RSQRT) || !integer_range_is_non_negative(root->operands[0]))
    return NULL;
  if (root->opcode == HLO_SQRT) return algebraic_of_shape(instruction, root->operands[0]);
  return algebraic_binary(instruction, HLO_DIVIDE, algebraic_number(instruction, 1), root->operands[0]);
}

/* x · convert(p) → select(p, x, 0): of an infinite x, too */
static HloInstruction *multiply_pred(HloInstruction *instruction) {
  if (!algebraic_is_ieee(instruction)) return NULL;
  for (int i = 0; i < 2; i++) {
    const HloInstruction *convert = instruction->operands[i];
    if (convert->opcode != HLO_CONVERT || convert->operands[0]->shape->type != TYPE_PRED) continue;
    return algebraic_select(instruction, convert->operands[0], instruction->operands[1 - i],
                            algebraic_number(instruction, 0));
  }
  return NULL;
}

/* --- powers, logarithms, roots --- */

/* exp(a)ᵇ → exp(a · b),  (aᵇ)ᶜ → aᵇᶜ for an a that is never negative,  x³ → x · x · x */
static HloInstruction *power_of_function(HloInstruction *instruction) {
  HloInstruction *base = instruction->operands[0], *exponent = instruction->operands[1];
  if (!algebraic_is_ieee(instruction)) return NULL;
  if (base->opcode == HLO_EXPONENTIAL && base->user_count == 1)
    return algebraic_unary(instruction, HLO_EXPONENTIAL, multiply(instruction, base->operands[0], exponent));
  if (base->opcode == HLO_POWER && base->user_count == 1 && integer_range_is_non_negative(base->operands[0]))
    return algebraic_binary(instruction, HLO_POWER, base->operands[0],
                            multiply(instruction, base->operands[1], exponent));
  if (!algebraic_is_all(exponent, 3)) return NULL;
  return multiply(instruction, multiply(instruction, base, base), base);
}

/* log(xʸ) → y · log(x),  log(√x) → log(x) / 2 for an x that is never negative */
static HloInstruction *log_of_function(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (!algebraic_is_ieee(instruction)) return NULL;
  HloInstruction *factor;
  switch (inner->opcode) {
    case HLO_POWER: factor = inner->operands[1]; break;
    case HLO_SQRT: factor = algebraic_number(instruction, 0.5); break;
    case HLO_RSQRT: factor = algebraic_number(instruction, -0.5); break;
    default: return NULL;
  }
  if (inner->opcode == HLO_POWER && !integer_range_is_non_negative(inner->operands[0])) return NULL;
  return multiply(instruction, factor, algebraic_unary(instruction, HLO_LOG, inner->operands[0]));
}

/* √(x · x) → |x| */
static HloInstruction *root_of_square(HloInstruction *instruction) {
  const HloInstruction *square = instruction->operands[0];
  if (!algebraic_is_ieee(instruction) || square->opcode != HLO_MULTIPLY) return NULL;
  if (square->operands[0] != square->operands[1]) return NULL;
  return algebraic_unary(instruction, HLO_ABS, square->operands[0]);
}

/* rsqrt(1 / x) → √x,  rsqrt(x⁻²) → |x| */
static HloInstruction *rsqrt_of_inverse(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (!algebraic_is_ieee(instruction)) return NULL;
  if (inner->opcode == HLO_DIVIDE && algebraic_is_all(inner->operands[0], 1))
    return algebraic_unary(instruction, HLO_SQRT, inner->operands[1]);
  if (inner->opcode == HLO_POWER && algebraic_is_all(inner->operands[1], -2))
    return algebraic_unary(instruction, HLO_ABS, inner->operands[0]);
  return NULL;
}

/* max(f(x), f(y)) → f(max(x, y)) for a function that grows, likewise min */
static HloInstruction *extreme_of_function(HloInstruction *instruction) {
  static const HloOpcode growing[] = {HLO_CBRT, HLO_EXPONENTIAL, HLO_TANH, HLO_LOGISTIC, HLO_ERF, HLO_ASINH, HLO_SINH};
  const HloInstruction *x = instruction->operands[0], *y = instruction->operands[1];
  if (!algebraic_is_ieee(instruction) || x->opcode != y->opcode || x == y) return NULL;
  if (x->user_count != 1 || y->user_count != 1) return NULL;
  for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++) {
    if (x->opcode != growing[i]) continue;
    return algebraic_unary(instruction, x->opcode,
                           algebraic_binary(instruction, instruction->opcode, x->operands[0], y->operands[0]));
  }
  return NULL;
}

AlgebraicRules algebraic_fast_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_DIVIDE, "divide-by-one-value-fast", divide_by_one_value},
      {HLO_DIVIDE, "divide-by-function-fast", divide_by_function},
      {HLO_DIVIDE, "divide-quotient-fast", divide_quotient},
      {HLO_MULTIPLY, "multiply-exponentials-fast", multiply_exponentials},
      {HLO_MULTIPLY, "multiply-roots-fast", multiply_roots},
      {HLO_MULTIPLY, "multiply-pred-fast", multiply_pred},
      {HLO_POWER, "power-of-function-fast", power_of_function},
      {HLO_LOG, "log-of-function-fast", log_of_function},
      {HLO_SQRT, "root-of-square-fast", root_of_square},
      {HLO_RSQRT, "rsqrt-of-inverse-fast", rsqrt_of_inverse},
      {HLO_MAXIMUM, "extreme-of-function-fast", extreme_of_function},
      {HLO_MINIMUM, "extreme-of-function-fast", extreme_of_function},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
