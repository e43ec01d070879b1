#include <math.h>
#include <string.h>

#include "passes/simplify/algebraic_rules.h"
#include "passes/simplify/integer_range.h"

/* Rules of the algebraic simplifier: arithmetic, powers, constants. */

/* Integers, and under --fast-math floats, may be added and multiplied in any order. */
static bool regroups(const HloInstruction *instruction, bool fast) {
  return type_is_integral(instruction->shape->type) || (fast && algebraic_is_ieee(instruction));
}

/* The other operand of a binary operation whose operand |index| is all |number|; NULL where it is not. */
static HloInstruction *if_all(const HloInstruction *instruction, int index, double number) {
  if (!algebraic_is_all(instruction->operands[index], number)) return NULL;
  return algebraic_of_shape(instruction, instruction->operands[1 - index]);
}

/* |value| is everywhere the zero that has no effect: any of integers, of floats the one of this sign. */
static bool is_zero(HloInstruction *value, bool negative) {
  if (type_is_integral(value->shape->type)) return algebraic_is_all(value, 0);
  const Literal *literal = algebraic_is_ieee(value) ? algebraic_splat_literal(value) : NULL;
  if (literal == NULL || literal_get_double(literal, 0) != 0) return false;
  return (signbit(literal_get_double(literal, 0)) != 0) == negative;
}

/* x + 0 → x for integers, x + -0 → x for floats: -0 + +0 is +0 */
static HloInstruction *add_zero(HloInstruction *instruction) {
  if (is_zero(instruction->operands[1], true)) return algebraic_of_shape(instruction, instruction->operands[0]);
  return is_zero(instruction->operands[0], true) ? algebraic_of_shape(instruction, instruction->operands[1]) : NULL;
}

/* x + 0 → x */
static HloInstruction *add_zero_fast(HloInstruction *instruction) {
  HloInstruction *result = if_all(instruction, 1, 0);
  return result != NULL ? result : if_all(instruction, 0, 0);
}

/* x - 0 → x for integers, x - +0 → x for floats: -0 - +0 is -0, +0 - +0 is +0 */
static HloInstruction *subtract_zero(HloInstruction *instruction) {
  return is_zero(instruction->operands[1], false) ? algebraic_of_shape(instruction, instruction->operands[0]) : NULL;
}

/* x · 1 → x */
static HloInstruction *multiply_one(HloInstruction *instruction) {
  if (!type_is_integral(instruction->shape->type) && !type_is_float(instruction->shape->type)) return NULL;
  HloInstruction *result = if_all(instruction, 1, 1);
  return result != NULL ? result : if_all(instruction, 0, 1);
}

/* x / 1 → x */
static HloInstruction *divide_one(HloInstruction *instruction) {
  return if_all(instruction, 1, 1);
}

/* -(-x) → x */
static HloInstruction *undo_twice(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  return inner->opcode == instruction->opcode ? algebraic_of_shape(instruction, inner->operands[0]) : NULL;
}

static HloInstruction *scalar_of_splat(HloInstruction *constant, const Literal *literal) {
  HloModule *module = constant->parent->module;
  Literal *scalar = literal_create(module->arena, shape_scalar(module->shapes, constant->shape->type));
  memcpy(scalar->data, literal->data, (size_t)type_storage_bytes(constant->shape->type));
  return hlo_computation_add_constant(constant->parent, scalar, (StringView){0});
}

/* constant({c, c, …}) → broadcast(c) */
static HloInstruction *splat_constant(HloInstruction *instruction) {
  const Literal *literal = hlo_instruction_literal(instruction);
  if (!shape_is_array(instruction->shape) || shape_is_scalar(instruction->shape) || literal->elided) return NULL;
  if (shape_element_count(instruction->shape) < 1 || !literal_is_splat(literal)) return NULL;
  return algebraic_broadcast(scalar_of_splat(instruction, literal), instruction->shape, NULL);
}

/* x + -y → x - y,  -x + y → y - x: the same exact sum, rounded once */
static HloInstruction *add_negated(HloInstruction *instruction) {
  if (!algebraic_is_ieee(instruction) && !type_is_integral(instruction->shape->type)) return NULL;
  for (int i = 1; i >= 0; i--) {
    const HloInstruction *negated = instruction->operands[i];
    if (negated->opcode != HLO_NEGATE) continue;
    return algebraic_binary(instruction, HLO_SUBTRACT, instruction->operands[1 - i], negated->operands[0]);
  }
  return NULL;
}

/* x - -y → x + y */
static HloInstruction *subtract_negated(HloInstruction *instruction) {
  if (!algebraic_is_ieee(instruction) && !type_is_integral(instruction->shape->type)) return NULL;
  const HloInstruction *negated = instruction->operands[1];
  if (negated->opcode != HLO_NEGATE) return NULL;
  return algebraic_binary(instruction, HLO_ADD, instruction->operands[0], negated->operands[0]);
}

/* x - x → 0 for integers; of floats infinite ones give NaN */
static HloInstruction *subtract_self_of(HloInstruction *instruction, bool fast) {
  if (!regroups(instruction, fast) || instruction->operands[0] != instruction->operands[1]) return NULL;
  return algebraic_number(instruction, 0);
}

static HloInstruction *subtract_self(HloInstruction *instruction) {
  return subtract_self_of(instruction, false);
}

static HloInstruction *subtract_self_fast(HloInstruction *instruction) {
  return subtract_self_of(instruction, true);
}

/* x + (y - x) → y for integers, in either order */
static HloInstruction *add_of_difference_of(HloInstruction *instruction, bool fast) {
  if (!regroups(instruction, fast)) return NULL;
  for (int i = 0; i < 2; i++) {
    const HloInstruction *difference = instruction->operands[i];
    if (difference->opcode != HLO_SUBTRACT || difference->operands[1] != instruction->operands[1 - i]) continue;
    return algebraic_of_shape(instruction, difference->operands[0]);
  }
  return NULL;
}

static HloInstruction *add_of_difference(HloInstruction *instruction) {
  return add_of_difference_of(instruction, false);
}

static HloInstruction *add_of_difference_fast(HloInstruction *instruction) {
  return add_of_difference_of(instruction, true);
}

/* (x + y) - y → x,  x - (x - y) → y for integers */
static HloInstruction *subtract_of_sum_of(HloInstruction *instruction, bool fast) {
  const HloInstruction *left = instruction->operands[0], *right = instruction->operands[1];
  if (!regroups(instruction, fast)) return NULL;
  for (int i = 0; i < 2 && left->opcode == HLO_ADD; i++) {
    if (left->operands[i] == right) return algebraic_of_shape(instruction, left->operands[1 - i]);
  }
  if (right->opcode != HLO_SUBTRACT || right->operands[0] != left) return NULL;
  return algebraic_of_shape(instruction, right->operands[1]);
}

static HloInstruction *subtract_of_sum(HloInstruction *instruction) {
  return subtract_of_sum_of(instruction, false);
}

static HloInstruction *subtract_of_sum_fast(HloInstruction *instruction) {
  return subtract_of_sum_of(instruction, true);
}

/* -(x - y) → y - x for integers; of floats the sign of a zero would change */
static HloInstruction *negate_difference_of(HloInstruction *instruction, bool fast) {
  const HloInstruction *inner = instruction->operands[0];
  if (!regroups(instruction, fast) || inner->opcode != HLO_SUBTRACT) return NULL;
  return algebraic_binary(instruction, HLO_SUBTRACT, inner->operands[1], inner->operands[0]);
}

static HloInstruction *negate_difference(HloInstruction *instruction) {
  return negate_difference_of(instruction, false);
}

static HloInstruction *negate_difference_fast(HloInstruction *instruction) {
  return negate_difference_of(instruction, true);
}

/* x · 0 → 0 for integers */
static HloInstruction *multiply_zero_of(HloInstruction *instruction, bool fast) {
  if (!regroups(instruction, fast)) return NULL;
  for (int i = 0; i < 2; i++) {
    if (algebraic_is_all(instruction->operands[i], 0)) return algebraic_number(instruction, 0);
  }
  return NULL;
}

static HloInstruction *multiply_zero(HloInstruction *instruction) {
  return multiply_zero_of(instruction, false);
}

static HloInstruction *multiply_zero_fast(HloInstruction *instruction) {
  return multiply_zero_of(instruction, true);
}

/* x · -1 → -x */
static HloInstruction *multiply_minus_one(HloInstruction *instruction) {
  if (!algebraic_is_ieee(instruction) && !type_is_signed(instruction->shape->type)) return NULL;
  for (int i = 0; i < 2; i++) {
    if (algebraic_is_all(instruction->operands[i], -1))
      return algebraic_unary(instruction, HLO_NEGATE, instruction->operands[1 - i]);
  }
  return NULL;
}

/* -x · -y → x · y,  -x / -y → x / y: signs cancel; of integers the quotient of the least by -1 would differ */
static HloInstruction *negated_factors(HloInstruction *instruction) {
  HloInstruction *left = instruction->operands[0], *right = instruction->operands[1];
  if (left->opcode != HLO_NEGATE || right->opcode != HLO_NEGATE || !algebraic_is_ieee(instruction)) return NULL;
  return algebraic_binary(instruction, instruction->opcode, left->operands[0], right->operands[0]);
}

/* (x ∘ c) ∘ d → x ∘ (c ∘ d), which then folds; x is no constant, or they would change places for ever.  Exact for
 * integers, and for the larger and the smaller of floats. */
static HloInstruction *associate_constants_of(HloInstruction *instruction, bool fast) {
  bool selects = instruction->opcode == HLO_MAXIMUM || instruction->opcode == HLO_MINIMUM;
  bool exact = type_is_integral(instruction->shape->type) || instruction->shape->type == TYPE_PRED;
  if (!exact && !((selects || fast) && algebraic_is_ieee(instruction))) return NULL;
  for (int i = 0; i < 2; i++) {
    HloInstruction *inner = instruction->operands[i], *constant = instruction->operands[1 - i];
    if (inner->opcode != instruction->opcode || algebraic_splat_literal(constant) == NULL) continue;
    for (int k = 0; k < 2; k++) {
      HloInstruction *x = inner->operands[1 - k];
      if (algebraic_splat_literal(inner->operands[k]) == NULL || algebraic_splat_literal(x) != NULL) continue;
      HloInstruction *both = algebraic_binary(instruction, instruction->opcode, inner->operands[k], constant);
      return algebraic_binary(instruction, instruction->opcode, x, both);
    }
  }
  return NULL;
}

static HloInstruction *associate_constants(HloInstruction *instruction) {
  return associate_constants_of(instruction, false);
}

static HloInstruction *associate_constants_fast(HloInstruction *instruction) {
  return associate_constants_of(instruction, true);
}

/* x + k or k - x for a splat constant k. */
typedef struct Offset {
  HloInstruction *x, *constant;
  bool x_negated, constant_negated;
} Offset;

static bool offset_of(HloInstruction *value, Offset *out_offset) {
  if (value->opcode != HLO_ADD && value->opcode != HLO_SUBTRACT) return false;
  bool subtracts = value->opcode == HLO_SUBTRACT;
  for (int i = 1; i >= 0; i--) {
    if (algebraic_splat_literal(value->operands[i]) == NULL) continue;
    *out_offset = (Offset){value->operands[1 - i], value->operands[i], subtracts && i == 0, subtracts && i == 1};
    return true;
  }
  return false;
}

/* (x - c) + d → x + (d - c),  c - (d - x) → x + (c - d) and so on for integers: one constant is left; x is none */
static HloInstruction *associate_offsets_of(HloInstruction *instruction, bool fast) {
  Offset outer, inner;
  if (!regroups(instruction, fast) || !offset_of(instruction, &outer)) return NULL;
  if (!offset_of(outer.x, &inner) || algebraic_splat_literal(inner.x) != NULL) return NULL;
  bool inner_negated = outer.x_negated != inner.constant_negated;
  HloInstruction *first = outer.constant, *second = inner.constant, *sum;
  if (outer.constant_negated == inner_negated) {
    sum = algebraic_binary(instruction, HLO_ADD, first, second);
    if (inner_negated) sum = algebraic_unary(instruction, HLO_NEGATE, sum);
  } else {
    sum = algebraic_binary(instruction, HLO_SUBTRACT, inner_negated ? first : second, inner_negated ? second : first);
  }
  bool x_negated = outer.x_negated != inner.x_negated;
  return x_negated ? algebraic_binary(instruction, HLO_SUBTRACT, sum, inner.x)
                   : algebraic_binary(instruction, HLO_ADD, inner.x, sum);
}

static HloInstruction *associate_offsets(HloInstruction *instruction) {
  return associate_offsets_of(instruction, false);
}

static HloInstruction *associate_offsets_fast(HloInstruction *instruction) {
  return associate_offsets_of(instruction, true);
}

/* x · c + y · c → (x + y) · c for integers, when nothing else reads the products */
static HloInstruction *factor_sum_of(HloInstruction *instruction, bool fast) {
  HloInstruction *left = instruction->operands[0], *right = instruction->operands[1];
  if (!regroups(instruction, fast) || left == right) return NULL;
  if (left->opcode != HLO_MULTIPLY || right->opcode != HLO_MULTIPLY) return NULL;
  if (left->user_count != 1 || right->user_count != 1) return NULL;
  for (int i = 0; i < 4; i++) {
    HloInstruction *factor = left->operands[i / 2];
    if (factor != right->operands[i % 2]) continue;
    HloInstruction *sum =
        algebraic_binary(instruction, instruction->opcode, left->operands[1 - i / 2], right->operands[1 - i % 2]);
    return algebraic_binary(instruction, HLO_MULTIPLY, sum, factor);
  }
  return NULL;
}

static HloInstruction *factor_sum(HloInstruction *instruction) {
  return factor_sum_of(instruction, false);
}

static HloInstruction *factor_sum_fast(HloInstruction *instruction) {
  return factor_sum_of(instruction, true);
}

/* |x| · |x| → x · x, when nothing else reads |x| */
static HloInstruction *square_of_abs(HloInstruction *instruction) {
  const HloInstruction *abs = instruction->operands[0];
  if (abs->opcode != HLO_ABS || abs != instruction->operands[1] || abs->user_count != 1) return NULL;
  if (abs->operands[0]->shape != instruction->shape) return NULL;
  return algebraic_binary(instruction, HLO_MULTIPLY, abs->operands[0], abs->operands[0]);
}

/* (x % y) % y → x % y: it is smaller than y already, or x when y is zero */
static HloInstruction *remainder_again(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_REMAINDER || inner->operands[1] != instruction->operands[1]) return NULL;
  return algebraic_of_shape(instruction, inner);
}

/* k, when the splat constant |value| is 2ᵏ; -1 otherwise.  Of integers. */
static int power_of_two(HloInstruction *value) {
  const Literal *literal = algebraic_splat_literal(value);
  if (literal == NULL || !type_is_unsigned(value->shape->type)) return -1;
  uint64_t number = (uint64_t)literal_get_int(literal, 0);
  if (number == 0 || (number & (number - 1)) != 0) return -1;
  return __builtin_ctzll(number);
}

/* x / 2ᵏ → x >> k,  x % 2ᵏ → x & (2ᵏ - 1) for unsigned x */
static HloInstruction *unsigned_power_of_two(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  int power = power_of_two(instruction->operands[1]);
  if (power < 0) return NULL;
  if (instruction->opcode == HLO_DIVIDE) {
    return algebraic_binary(instruction, HLO_SHIFT_RIGHT_LOGICAL, x, algebraic_integer(instruction, power));
  }
  uint64_t mask = ((uint64_t)1 << power) - 1;
  return algebraic_binary(instruction, HLO_AND, x, algebraic_integer(instruction, (int64_t)mask));
}

/* x / 2ᵏ → x · 2⁻ᵏ for floats whose 2⁻ᵏ is a normal number: both round the same value once */
static HloInstruction *divide_by_power_of_two(HloInstruction *instruction) {
  const Literal *divisor = algebraic_splat_literal(instruction->operands[1]);
  if (divisor == NULL || !algebraic_is_ieee(instruction)) return NULL;
  int power;
  double number = literal_get_double(divisor, 0);
  const TypeInfo *type = type_info(instruction->shape->type);
  if (!isfinite(number) || fabs(frexp(number, &power)) != 0.5) return NULL;
  /* number is ±2^(power - 1), its reciprocal ±2^(1 - power). */
  int largest = (1 << (type->exponent_bits - 1)) - 1;
  if (1 - power > largest || 1 - power < 1 - largest) return NULL;
  return algebraic_binary(instruction, HLO_MULTIPLY, instruction->operands[0],
                          algebraic_number(instruction, 1 / number));
}

/* x⁰ → 1,  x¹ → x,  x² → x · x,  x⁻¹ → 1 / x,  and √x for x^½ where x is never negative: of -0 and -∞ it is another.
 * IEEE 754 says so of NaN and infinities; where the power rounds, a product, a quotient or a root is at least as close.
 */
static HloInstruction *power_known(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  const Literal *exponent = algebraic_splat_literal(instruction->operands[1]);
  if (exponent == NULL || !algebraic_is_ieee(instruction)) return NULL;
  double number = literal_get_double(exponent, 0);
  if (number == 0) return algebraic_number(instruction, 1);
  if (number == 1) return algebraic_of_shape(instruction, x);
  if (number == 2) return algebraic_binary(instruction, HLO_MULTIPLY, x, x);
  if (number == -1) return algebraic_binary(instruction, HLO_DIVIDE, algebraic_number(instruction, 1), x);
  if (number == 0.5 && integer_range_is_non_negative(x)) return algebraic_unary(instruction, HLO_SQRT, x);
  return NULL;
}

/* |-x| → |x|,  ||x|| → |x|: of the least integer, too, which is its own negative */
static HloInstruction *abs_of_sign(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_NEGATE && inner->opcode != HLO_ABS) return NULL;
  if (inner->shape != instruction->shape) return NULL;
  return algebraic_unary(instruction, HLO_ABS, inner->operands[0]);
}

/* op(op(x)) → op(x) for roundings and signs; of whole numbers converted from integers, too */
static HloInstruction *idempotent(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode == instruction->opcode) return algebraic_of_shape(instruction, inner);
  bool is_whole = inner->opcode == HLO_FLOOR || inner->opcode == HLO_CEIL || inner->opcode == HLO_ROUND_NEAREST_AFZ ||
                  inner->opcode == HLO_ROUND_NEAREST_EVEN;
  if (inner->opcode == HLO_CONVERT) is_whole = type_is_integral(inner->operands[0]->shape->type);
  return is_whole && instruction->opcode != HLO_SIGN ? algebraic_of_shape(instruction, inner) : NULL;
}

AlgebraicRules algebraic_arith_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_ADD, "add-zero", add_zero},
      {HLO_ADD, "add-negated", add_negated},
      {HLO_ADD, "add-of-difference", add_of_difference},
      {HLO_ADD, "associate-constants", associate_constants},
      {HLO_ADD, "associate-offsets", associate_offsets},
      {HLO_ADD, "factor-sum", factor_sum},
      {HLO_SUBTRACT, "subtract-zero", subtract_zero},
      {HLO_SUBTRACT, "subtract-self", subtract_self},
      {HLO_SUBTRACT, "subtract-negated", subtract_negated},
      {HLO_SUBTRACT, "subtract-of-sum", subtract_of_sum},
      {HLO_SUBTRACT, "associate-offsets", associate_offsets},
      {HLO_SUBTRACT, "factor-sum", factor_sum},
      {HLO_MULTIPLY, "multiply-one", multiply_one},
      {HLO_MULTIPLY, "multiply-zero", multiply_zero},
      {HLO_MULTIPLY, "multiply-minus-one", multiply_minus_one},
      {HLO_MULTIPLY, "negated-factors", negated_factors},
      {HLO_MULTIPLY, "square-of-abs", square_of_abs},
      {HLO_MULTIPLY, "associate-constants", associate_constants},
      {HLO_MAXIMUM, "associate-constants", associate_constants},
      {HLO_MINIMUM, "associate-constants", associate_constants},
      {HLO_AND, "associate-constants", associate_constants},
      {HLO_OR, "associate-constants", associate_constants},
      {HLO_XOR, "associate-constants", associate_constants},
      {HLO_DIVIDE, "divide-one", divide_one},
      {HLO_DIVIDE, "negated-factors", negated_factors},
      {HLO_DIVIDE, "unsigned-power-of-two", unsigned_power_of_two},
      {HLO_DIVIDE, "divide-by-power-of-two", divide_by_power_of_two},
      {HLO_REMAINDER, "unsigned-power-of-two", unsigned_power_of_two},
      {HLO_REMAINDER, "remainder-again", remainder_again},
      {HLO_POWER, "power-known", power_known},
      {HLO_NEGATE, "negate-negate", undo_twice},
      {HLO_NEGATE, "negate-difference", negate_difference},
      {HLO_ABS, "abs-of-sign", abs_of_sign},
      {HLO_FLOOR, "idempotent", idempotent},
      {HLO_CEIL, "idempotent", idempotent},
      {HLO_ROUND_NEAREST_AFZ, "idempotent", idempotent},
      {HLO_ROUND_NEAREST_EVEN, "idempotent", idempotent},
      {HLO_SIGN, "idempotent", idempotent},
      {HLO_CONSTANT, "splat-constant", splat_constant},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}

AlgebraicRules algebraic_fast_arith_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_ADD, "add-zero-fast", add_zero_fast},
      {HLO_ADD, "add-of-difference-fast", add_of_difference_fast},
      {HLO_ADD, "associate-constants-fast", associate_constants_fast},
      {HLO_ADD, "associate-offsets-fast", associate_offsets_fast},
      {HLO_ADD, "factor-sum-fast", factor_sum_fast},
      {HLO_SUBTRACT, "subtract-self-fast", subtract_self_fast},
      {HLO_SUBTRACT, "subtract-of-sum-fast", subtract_of_sum_fast},
      {HLO_SUBTRACT, "associate-offsets-fast", associate_offsets_fast},
      {HLO_SUBTRACT, "factor-sum-fast", factor_sum_fast},
      {HLO_MULTIPLY, "multiply-zero-fast", multiply_zero_fast},
      {HLO_MULTIPLY, "associate-constants-fast", associate_constants_fast},
      {HLO_NEGATE, "negate-difference-fast", negate_difference_fast},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
