/* Functions that frontends spell out, as one operation, and functions of their inverses: fewer roundings, so other last
 * bits, and a fraction of the time. */
#include "passes/simplify/algebraic_rules.h"

/* --- shapes of expressions --- */

/* The operands of a binary operation; those of products and sums in either order. */
typedef struct Sides {
  HloInstruction *a, *b;
} Sides;

static bool sides_of(HloInstruction *value, HloOpcode opcode, int order, Sides *out) {
  if (value->opcode != opcode) return false;
  *out = (Sides){value->operands[order], value->operands[1 - order]};
  return true;
}

static bool is_number(HloInstruction *value, double number) {
  const Literal *literal = algebraic_splat_literal(value);
  return literal != NULL && literal_get_double(literal, 0) == (double)(float)number;
}

static bool is_unary_of(const HloInstruction *value, HloOpcode opcode, const HloInstruction *x) {
  return value->opcode == opcode && value->operands[0] == x;
}

static bool is_square_of(const HloInstruction *value, const HloInstruction *x) {
  return value->opcode == HLO_MULTIPLY && value->operands[0] == x && value->operands[1] == x;
}

/* What |value| compares with |number| to be less. */
static HloInstruction *less_than(HloInstruction *value, double number) {
  if (value->opcode != HLO_COMPARE || !is_number(value->operands[1], number)) return NULL;
  int64_t direction = hlo_instruction_int(value, HLO_ATTR_DIRECTION, -1);
  return direction == COMPARISON_DIRECTION_LT ? value->operands[0] : NULL;
}

typedef bool (*IsValue)(HloInstruction *value, const HloInstruction *x);

static bool is_square(HloInstruction *value, const HloInstruction *x) {
  return is_square_of(value, x);
}

/* 1/x² */
static bool is_reciprocal_square(HloInstruction *value, const HloInstruction *x) {
  Sides sides;
  return sides_of(value, HLO_DIVIDE, 0, &sides) && is_number(sides.a, 1) && is_square_of(sides.b, x);
}

/* The polynomial of |terms|, from the highest power down, in a value that |is_argument| of x: Horner's scheme. */
static bool is_polynomial(HloInstruction *value, const double *terms, int count, IsValue is_argument,
                          const HloInstruction *x) {
  for (int i = count - 1; i > 0; i--) {
    Sides sum, product;
    bool found = false;
    for (int order = 0; order < 2 && !found; order++)
      found = sides_of(value, HLO_ADD, order, &sum) && is_number(sum.b, terms[i]);
    if (!found) return false;
    found = false;
    for (int order = 0; order < 2 && !found; order++) {
      found = sides_of(sum.a, HLO_MULTIPLY, order, &product) && is_argument(product.b, x) &&
              (i > 1 || is_number(product.a, terms[0]));
    }
    if (!found) return false;
    value = product.a;
  }
  return true;
}

/* --- erfc --- */

/* Of Cephes' ndtrf.c, as StableHLO's chlo.erfc is expanded for f32 (JAX's gelu, erfc, norm.cdf): erf x / x in x² below
 * 1; erfc x · x · exp(x²) in 1/x² below 2 and above. */
static const double erf_terms[] = {7.853861353153693e-5,  -8.010193625184903e-4, 5.188327685732524e-3,
                                   -2.685381193529856e-2, 1.128358514861418e-1,  -3.761262582423300e-1,
                                   1.128379165726710e+0};
static const double erfc_middle_terms[] = {2.326819970068386e-2,  -1.387039388740657e-1, 3.687424674597105e-1,
                                           -5.824733027278666e-1, 6.210004621745983e-1,  -4.944515323274145e-1,
                                           3.404879937665872e-1,  -2.741127028184656e-1, 5.638259427386472e-1};
static const double erfc_far_terms[] = {-1.047766399936249e+1, 1.297719955372516e+1,  -7.495518717768503e+0,
                                        2.921019019210786e+0,  -1.015265279202700e+0, 4.218463358204948e-1,
                                        -2.820767439740514e-1, 5.641895067754075e-1};

#define COUNT(terms) ((int)(sizeof(terms) / sizeof *(terms)))

/* 1 - x·P(x²) */
static bool is_erfc_near(HloInstruction *value, const HloInstruction *x) {
  Sides difference, product;
  if (!sides_of(value, HLO_SUBTRACT, 0, &difference) || !is_number(difference.a, 1)) return false;
  for (int order = 0; order < 2; order++) {
    if (sides_of(difference.b, HLO_MULTIPLY, order, &product) && product.a == x &&
        is_polynomial(product.b, erf_terms, COUNT(erf_terms), is_square, x))
      return true;
  }
  return false;
}

/* exp(-x²) · (1/|x|) */
static bool is_decay(HloInstruction *value, const HloInstruction *x) {
  for (int order = 0; order < 2; order++) {
    Sides product, quotient;
    if (!sides_of(value, HLO_MULTIPLY, order, &product) || product.a->opcode != HLO_EXPONENTIAL) continue;
    const HloInstruction *exponent = product.a->operands[0];
    if (exponent->opcode == HLO_NEGATE && is_square_of(exponent->operands[0], x) &&
        sides_of(product.b, HLO_DIVIDE, 0, &quotient) && is_number(quotient.a, 1) &&
        is_unary_of(quotient.b, HLO_ABS, x))
      return true;
  }
  return false;
}

/* |x| < 2 ? P(1/x²) : R(1/x²) */
static bool is_erfc_scaled(HloInstruction *value, const HloInstruction *x) {
  if (value->opcode != HLO_SELECT) return false;
  const HloInstruction *size = less_than(value->operands[0], 2);
  return size != NULL && is_unary_of(size, HLO_ABS, x) &&
         is_polynomial(value->operands[1], erfc_middle_terms, COUNT(erfc_middle_terms), is_reciprocal_square, x) &&
         is_polynomial(value->operands[2], erfc_far_terms, COUNT(erfc_far_terms), is_reciprocal_square, x);
}

/* -x² < -log of the largest float ? 0 : exp(-x²)/|x| · that */
static bool is_erfc_of_size(HloInstruction *value, const HloInstruction *x) {
  if (value->opcode != HLO_SELECT || !is_number(value->operands[1], 0)) return false;
  const HloInstruction *exponent = less_than(value->operands[0], -88.7228394);
  if (exponent == NULL || exponent->opcode != HLO_NEGATE || !is_square_of(exponent->operands[0], x)) return false;
  for (int order = 0; order < 2; order++) {
    Sides product;
    if (sides_of(value->operands[2], HLO_MULTIPLY, order, &product) && is_decay(product.a, x) &&
        is_erfc_scaled(product.b, x))
      return true;
  }
  return false;
}

/* x < 0 ? 2 - y : y */
static bool is_erfc_far(HloInstruction *value, const HloInstruction *x) {
  if (value->opcode != HLO_SELECT || less_than(value->operands[0], 0) != x) return false;
  HloInstruction *of_size = value->operands[2];
  Sides mirrored;
  return sides_of(value->operands[1], HLO_SUBTRACT, 0, &mirrored) && is_number(mirrored.a, 2) &&
         mirrored.b == of_size && is_erfc_of_size(of_size, x);
}

/* |x| < 1 ? near : far → erfc(x) */
static HloInstruction *spelled_erfc(HloInstruction *instruction) {
  if (instruction->shape->type != TYPE_F32) return NULL;
  HloInstruction *size = less_than(instruction->operands[0], 1);
  if (size == NULL || size->opcode != HLO_ABS) return NULL;
  HloInstruction *x = size->operands[0];
  if (x->shape != instruction->shape || !is_erfc_near(instruction->operands[1], x) ||
      !is_erfc_far(instruction->operands[2], x))
    return NULL;
  return algebraic_unary(instruction, HLO_ERFC, x);
}

/* --- angles by their sine and cosine, as XLA expands chlo.asin and chlo.acos --- */

/* 1 + x, in either order. */
static bool is_one_more(HloInstruction *value, const HloInstruction *x) {
  Sides sum;
  for (int order = 0; order < 2; order++) {
    if (sides_of(value, HLO_ADD, order, &sum) && sum.a == x && is_number(sum.b, 1)) return true;
  }
  return false;
}

/* sqrt((1 - x)·(1 + x)) */
static bool is_other_leg(const HloInstruction *value, const HloInstruction *x) {
  Sides product, difference;
  for (int order = 0; order < 2 && value->opcode == HLO_SQRT; order++) {
    if (sides_of(value->operands[0], HLO_MULTIPLY, order, &product) &&
        sides_of(product.a, HLO_SUBTRACT, 0, &difference) && is_number(difference.a, 1) && difference.b == x &&
        is_one_more(product.b, x))
      return true;
  }
  return false;
}

static bool is_real(const HloInstruction *instruction) {
  return type_is_float(instruction->shape->type);
}

/* Twice the angle of (1 + sqrt((1 - x)·(1 + x)), x) → asin(x) */
static HloInstruction *spelled_asin(HloInstruction *instruction) {
  HloInstruction *angle = instruction->operands[0];
  Sides sum;
  if (!is_real(instruction) || instruction->operands[1] != angle || angle->opcode != HLO_ATAN2) return NULL;
  for (int order = 0; order < 2; order++) {
    if (sides_of(angle->operands[1], HLO_ADD, order, &sum) && is_number(sum.b, 1) &&
        is_other_leg(sum.a, angle->operands[0]))
      return algebraic_unary(instruction, HLO_ASIN, angle->operands[0]);
  }
  return NULL;
}

/* The angle of (x, sqrt((1 - x)·(1 + x))) → acos(x) */
static HloInstruction *spelled_acos(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[1];
  if (!is_real(instruction) || !is_other_leg(instruction->operands[0], x)) return NULL;
  return algebraic_unary(instruction, HLO_ACOS, x);
}

/* --- functions of their inverses --- */

/* log(exp(x)) → x, as XLA has it: exp need not be in the range of its type, and nothing is rounded. */
static HloInstruction *log_of_exponential(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (!is_real(instruction) || inner->opcode != HLO_EXPONENTIAL) return NULL;
  return inner->operands[0]->shape == instruction->shape ? inner->operands[0] : NULL;
}

/* --- gates: x · logistic(y) --- */

enum { CUBIC = 4, CUBIC_DEPTH = 6 };

/* |value| as a polynomial of x of up to the third degree, with constant terms; false where it is none, or one that is
 * spelled out in more than CUBIC_DEPTH steps. */
static bool cubic_of(HloInstruction *value, const HloInstruction *x, int depth, double out[CUBIC]) {
  for (int i = 0; i < CUBIC; i++) out[i] = 0;
  const Literal *literal = algebraic_splat_literal(value);
  if (value == x || literal != NULL) {
    out[value == x ? 1 : 0] = value == x ? 1 : literal_get_double(literal, 0);
    return true;
  }
  if (depth == 0) return false;
  double a[CUBIC], b[CUBIC];
  if (value->opcode == HLO_POWER && value->operands[0] == x && is_number(value->operands[1], 3)) {
    out[3] = 1;
    return true;
  }
  if (value->opcode != HLO_ADD && value->opcode != HLO_MULTIPLY) return false;
  if (!cubic_of(value->operands[0], x, depth - 1, a) || !cubic_of(value->operands[1], x, depth - 1, b)) return false;
  bool fits = true;
  for (int i = 0; i < CUBIC; i++) {
    if (value->opcode == HLO_ADD) out[i] = a[i] + b[i];
    for (int j = 0; j < CUBIC && value->opcode == HLO_MULTIPLY; j++) {
      double product = a[i] * b[j];
      if (i + j < CUBIC)
        out[i + j] += product;
      else if (product != 0)
        fits = false;
    }
  }
  return fits;
}

/* factor·y; x·(a + b·x²) where y is an odd polynomial of x whose terms have one sign, as of the gelu by tanh, so that
 * it is infinite where y is. */
static HloInstruction *scaled_argument(const HloInstruction *like, HloInstruction *y, HloInstruction *x,
                                       double factor) {
  double terms[CUBIC];
  if (cubic_of(y, x, CUBIC_DEPTH, terms) && terms[0] == 0 && terms[2] == 0 && terms[1] * terms[3] > 0) {
    HloInstruction *square = algebraic_binary(like, HLO_MULTIPLY, x, x);
    HloInstruction *third = algebraic_binary(like, HLO_MULTIPLY, square, algebraic_number(like, factor * terms[3]));
    HloInstruction *sum = algebraic_binary(like, HLO_ADD, third, algebraic_number(like, factor * terms[1]));
    return algebraic_binary(like, HLO_MULTIPLY, sum, x);
  }
  Sides product;
  for (int order = 0; order < 2; order++) {
    if (!sides_of(y, HLO_MULTIPLY, order, &product)) continue;
    const Literal *literal = algebraic_splat_literal(product.b);
    if (literal == NULL) continue;
    HloInstruction *number = algebraic_number(like, factor * literal_get_double(literal, 0));
    return algebraic_binary(like, HLO_MULTIPLY, product.a, number);
  }
  return algebraic_binary(like, HLO_MULTIPLY, y, algebraic_number(like, factor));
}

/* x / (1 + exp(factor·y)) for factor < 0.  The exponential overflows only where logistic(-factor·y) is subnormal. */
static HloInstruction *gate(const HloInstruction *like, HloInstruction *x, HloInstruction *y, double factor) {
  HloInstruction *exponential = algebraic_unary(like, HLO_EXPONENTIAL, scaled_argument(like, y, x, factor));
  HloInstruction *sum = algebraic_binary(like, HLO_ADD, exponential, algebraic_number(like, 1));
  return algebraic_binary(like, HLO_DIVIDE, x, sum);
}

/* f32 and f64: an exponential of f16 would overflow, one of bf16 be rounded too soon. */
static bool has_gates(const HloInstruction *instruction) {
  return instruction->shape->type == TYPE_F32 || instruction->shape->type == TYPE_F64;
}

/* z where |value| = 1 + tanh(z) is for one user alone; NULL elsewhere. */
static HloInstruction *tanh_and_one(HloInstruction *value) {
  Sides sum;
  for (int order = 0; order < 2 && value->user_count == 1; order++) {
    if (sides_of(value, HLO_ADD, order, &sum) && is_number(sum.b, 1) && sum.a->opcode == HLO_TANH &&
        sum.a->user_count == 1)
      return sum.a->operands[0];
  }
  return NULL;
}

/* ½ · x · (1 + tanh(z)), in any order → x / (1 + exp(-2z)): 1 + tanh(z) loses the digits of what is small. */
static HloInstruction *gate_by_tanh(HloInstruction *instruction) {
  Sides outer;
  for (int order = 0; order < 2 && has_gates(instruction); order++) {
    if (!sides_of(instruction, HLO_MULTIPLY, order, &outer)) continue;
    if (outer.a->opcode != HLO_MULTIPLY || outer.a->user_count != 1) continue;
    HloInstruction *factors[] = {outer.b, outer.a->operands[0], outer.a->operands[1]};
    for (int half = 0; half < 3; half++) {
      if (!is_number(factors[half], 0.5)) continue;
      HloInstruction *a = factors[(half + 1) % 3], *b = factors[(half + 2) % 3];
      HloInstruction *z = tanh_and_one(a), *other_z = tanh_and_one(b);
      if (z != NULL) return gate(instruction, b, z, -2);
      if (other_z != NULL) return gate(instruction, a, other_z, -2);
    }
  }
  return NULL;
}

/* x · logistic(y) → x / (1 + exp(-y)): the function by itself takes more steps not to be further from the exact one,
 * and the product is rounded once more. */
static HloInstruction *gate_by_logistic(HloInstruction *instruction) {
  Sides product;
  for (int order = 0; order < 2 && has_gates(instruction); order++) {
    if (!sides_of(instruction, HLO_MULTIPLY, order, &product)) continue;
    if (product.a->opcode == HLO_LOGISTIC && product.a->user_count == 1)
      return gate(instruction, product.b, product.a->operands[0], -1);
  }
  return NULL;
}

AlgebraicRules algebraic_function_rules(void) {
  static const AlgebraicRule rules[] = {{HLO_ADD, "spelled-asin", spelled_asin},
                                        {HLO_ATAN2, "spelled-acos", spelled_acos},
                                        {HLO_LOG, "log-of-exponential", log_of_exponential},
                                        {HLO_SELECT, "spelled-erfc", spelled_erfc}};
  return (AlgebraicRules){rules, COUNT(rules)};
}

AlgebraicRules algebraic_host_function_rules(void) {
  static const AlgebraicRule rules[] = {{HLO_MULTIPLY, "gate-by-tanh", gate_by_tanh},
                                        {HLO_MULTIPLY, "gate-by-logistic", gate_by_logistic}};
  return (AlgebraicRules){rules, COUNT(rules)};
}
