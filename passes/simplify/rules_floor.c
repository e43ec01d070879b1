/* Floor division and its remainder by powers of two, as frontends spell them out of what truncates: bits of two's
 * complement. */
#include "passes/simplify/algebraic_rules.h"

/* k, when the splat constant |value| is 2^k, a positive number of a signed type; -1 otherwise. */
static int positive_power(HloInstruction *value) {
  const Literal *literal = algebraic_splat_literal(value);
  if (literal == NULL || !type_is_integral(value->shape->type) || !type_is_signed(value->shape->type)) return -1;
  int64_t number = literal_get_int(literal, 0);
  if (number <= 0 || (number & (number - 1)) != 0) return -1;
  return __builtin_ctzll((uint64_t)number);
}

/* compare(a, number) in |direction|, by value. */
static bool compares(HloInstruction *value, ComparisonDirection direction, const HloInstruction *a, int64_t number) {
  if (value->opcode != HLO_COMPARE || value->operands[0] != a) return false;
  if (hlo_instruction_int(value, HLO_ATTR_DIRECTION, -1) != (int64_t)direction) return false;
  const Literal *literal = algebraic_splat_literal(value->operands[1]);
  return literal != NULL && literal_get_int(literal, 0) == number;
}

static bool is_operation(const HloInstruction *value, HloOpcode opcode, const HloInstruction *a,
                         const HloInstruction *b) {
  return value->opcode == opcode && value->operands[0] == a && value->operands[1] == b;
}

/* r < 0, or that and r != 0 */
static bool is_below_zero(HloInstruction *value, const HloInstruction *r) {
  if (value->opcode != HLO_AND) return compares(value, COMPARISON_DIRECTION_LT, r, 0);
  for (int i = 0; i < 2; i++) {
    if (compares(value->operands[i], COMPARISON_DIRECTION_LT, r, 0) &&
        compares(value->operands[1 - i], COMPARISON_DIRECTION_NE, r, 0))
      return true;
  }
  return false;
}

/* With r = x % 2^k, which has the sign of x:  r < 0 ? r + 2^k : r  →  x & (2^k - 1) */
static HloInstruction *floor_remainder(HloInstruction *instruction) {
  HloInstruction *r = instruction->operands[2], *sum = instruction->operands[1];
  if (r->opcode != HLO_REMAINDER) return NULL;
  HloInstruction *x = r->operands[0], *by = r->operands[1];
  int power = positive_power(by);
  if (power < 0 || sum->opcode != HLO_ADD || !is_below_zero(instruction->operands[0], r)) return NULL;
  for (int i = 0; i < 2; i++) {
    if (sum->operands[i] != r || positive_power(sum->operands[1 - i]) != power) continue;
    return algebraic_binary(instruction, HLO_AND, x, algebraic_integer(instruction, (INT64_C(1) << power) - 1));
  }
  return NULL;
}

static bool is_one_less(HloInstruction *value, const HloInstruction *q) {
  if (value->opcode == HLO_SUBTRACT) return value->operands[0] == q && algebraic_is_all(value->operands[1], 1);
  if (value->opcode != HLO_ADD) return false;
  return (value->operands[0] == q && algebraic_is_all(value->operands[1], -1)) ||
         (value->operands[1] == q && algebraic_is_all(value->operands[0], -1));
}

/* sign(x) != 1, or x < 0: where x % 2^k is not 0, x is not either */
static bool is_not_positive(HloInstruction *value, const HloInstruction *x) {
  if (compares(value, COMPARISON_DIRECTION_LT, x, 0)) return true;
  if (value->opcode != HLO_COMPARE) return false;
  HloInstruction *sign = value->operands[0];
  return sign->opcode == HLO_SIGN && sign->operands[0] == x && compares(value, COMPARISON_DIRECTION_NE, sign, 1);
}

static bool is_rest_below_zero(HloInstruction *value, const HloInstruction *x, const HloInstruction *by) {
  if (value->opcode != HLO_AND) return false;
  for (int i = 0; i < 2; i++) {
    const HloInstruction *has_rest = value->operands[i];
    if (has_rest->opcode != HLO_COMPARE) continue;
    if (is_operation(has_rest->operands[0], HLO_REMAINDER, x, by) &&
        compares(value->operands[i], COMPARISON_DIRECTION_NE, has_rest->operands[0], 0) &&
        is_not_positive(value->operands[1 - i], x))
      return true;
  }
  return false;
}

/* With q = x / 2^k:  x < 0 and x % 2^k != 0 ? q - 1 : q  →  x >> k, copies of the sign first */
static HloInstruction *floor_quotient(HloInstruction *instruction) {
  HloInstruction *q = instruction->operands[2];
  if (q->opcode != HLO_DIVIDE) return NULL;
  HloInstruction *x = q->operands[0], *by = q->operands[1];
  int power = positive_power(by);
  if (power < 0 || !is_one_less(instruction->operands[1], q)) return NULL;
  if (!is_rest_below_zero(instruction->operands[0], x, by)) return NULL;
  return algebraic_binary(instruction, HLO_SHIFT_RIGHT_ARITHMETIC, x, algebraic_integer(instruction, power));
}

AlgebraicRules algebraic_floor_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_SELECT, "floor-remainder", floor_remainder},
      {HLO_SELECT, "floor-quotient", floor_quotient},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
