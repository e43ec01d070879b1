/* Rules of comparisons, of what they select, and of what the ranges of integers decide. */
#include "passes/simplify/algebraic_rules.h"
#include "passes/simplify/integer_range.h"

static ComparisonDirection direction_of(const HloInstruction *compare) {
  return (ComparisonDirection)hlo_instruction_int(compare, HLO_ATTR_DIRECTION, -1);
}

static bool is_total_order(const HloInstruction *compare) {
  return hlo_instruction_int(compare, HLO_ATTR_COMPARISON_TYPE, COMPARISON_TYPE_FLOAT) == COMPARISON_TYPE_TOTALORDER;
}

/* |compare| of other operands. */
static HloInstruction *compare_of(HloInstruction *compare, const HloInstruction *like, HloInstruction *a,
                                  HloInstruction *b) {
  HloInstruction *operands[2] = {a, b};
  return hlo_computation_add_clone(compare->parent, compare, like->shape, operands, 2);
}

/* x = x → true, x < x → false and so on; of floats only x < x and x > x, which NaN does not change */
static HloInstruction *compare_self(HloInstruction *instruction) {
  if (instruction->operands[0] != instruction->operands[1]) return NULL;
  bool exact = algebraic_is_exact(instruction->operands[0]->shape->type);
  switch (direction_of(instruction)) {
    case COMPARISON_DIRECTION_LT:
    case COMPARISON_DIRECTION_GT: return algebraic_integer(instruction, 0);
    case COMPARISON_DIRECTION_NE: return exact ? algebraic_integer(instruction, 0) : NULL;
    case COMPARISON_DIRECTION_EQ:
    case COMPARISON_DIRECTION_LE:
    case COMPARISON_DIRECTION_GE: return exact ? algebraic_integer(instruction, 1) : NULL;
  }
  XLAC_BUG("direction %d", (int)direction_of(instruction));
}

/* p = true → p,  p != false → p,  p = false → ~p,  p != true → ~p */
static HloInstruction *compare_pred(HloInstruction *instruction) {
  ComparisonDirection direction = direction_of(instruction);
  bool equal = direction == COMPARISON_DIRECTION_EQ;
  if (!algebraic_is_pred(instruction->operands[0]) || (!equal && direction != COMPARISON_DIRECTION_NE)) return NULL;
  for (int i = 0; i < 2; i++) {
    bool ones = algebraic_is_all_ones(instruction->operands[i]), zeros = algebraic_is_all(instruction->operands[i], 0);
    HloInstruction *other = instruction->operands[1 - i];
    if ((!ones && !zeros) || other->shape != instruction->shape) continue;
    return ones == equal ? other : algebraic_unary(instruction, HLO_NOT, other);
  }
  return NULL;
}

/* ~(x < y) → x >= y for integers; of floats only equality, which NaN does not change */
static HloInstruction *not_compare(HloInstruction *instruction) {
  static const ComparisonDirection inverse[] = {
      [COMPARISON_DIRECTION_EQ] = COMPARISON_DIRECTION_NE, [COMPARISON_DIRECTION_NE] = COMPARISON_DIRECTION_EQ,
      [COMPARISON_DIRECTION_GE] = COMPARISON_DIRECTION_LT, [COMPARISON_DIRECTION_GT] = COMPARISON_DIRECTION_LE,
      [COMPARISON_DIRECTION_LE] = COMPARISON_DIRECTION_GT, [COMPARISON_DIRECTION_LT] = COMPARISON_DIRECTION_GE};
  HloInstruction *compare = instruction->operands[0];
  if (compare->opcode != HLO_COMPARE || !algebraic_is_pred(instruction)) return NULL;
  ComparisonDirection direction = direction_of(compare);
  bool equality = direction == COMPARISON_DIRECTION_EQ || direction == COMPARISON_DIRECTION_NE;
  if (!equality && !algebraic_is_exact(compare->operands[0]->shape->type)) return NULL;
  HloInstruction *result = compare_of(compare, instruction, compare->operands[0], compare->operands[1]);
  hlo_instruction_set_int(result, HLO_ATTR_DIRECTION, inverse[direction]);
  return result;
}

/* max(a, b) > a → b > a,  a > min(a, b) → a > b, and with < : where they are equal neither is greater, and NaN in
 * either is NaN in both.  Not where something else reads max(a, b), which would then be kept beside b. */
static HloInstruction *compare_extreme(HloInstruction *instruction) {
  ComparisonDirection direction = direction_of(instruction);
  if (is_total_order(instruction)) return NULL;
  for (int i = 0; i < 2; i++) {
    const HloInstruction *extreme = instruction->operands[i];
    HloInstruction *other = instruction->operands[1 - i];
    ComparisonDirection towards = i == 0 ? direction : comparison_direction_exchanged(direction);
    bool fits = (extreme->opcode == HLO_MAXIMUM && towards == COMPARISON_DIRECTION_GT) ||
                (extreme->opcode == HLO_MINIMUM && towards == COMPARISON_DIRECTION_LT);
    if (!fits || extreme->user_count != 1) continue;
    if (extreme->operands[0] != other && extreme->operands[1] != other) continue;
    HloInstruction *rest = extreme->operands[extreme->operands[0] == other ? 1 : 0];
    return i == 0 ? compare_of(instruction, instruction, rest, other)
                  : compare_of(instruction, instruction, other, rest);
  }
  return NULL;
}

/* Whether |value| is made, element by element, from sums of a contraction that nothing else reads. */
static bool ends_sums(const HloInstruction *value, int depth) {
  if (hlo_opcode_has(value->opcode, OP_CONTRACTION)) return true;
  if (depth == 0 || !hlo_opcode_has(value->opcode, OP_ELEMENTWISE)) return false;
  for (int i = 0; i < value->operand_count; i++) {
    const HloInstruction *operand = value->operands[i];
    if (operand->user_count == 1 && !hlo_instruction_is_root(operand) && ends_sums(operand, depth - 1)) return true;
  }
  return false;
}

/* Whether |direction| tells of |extreme|, which is made of |a| and |b|, against b what it tells of a. */
static bool extreme_tells(const HloInstruction *extreme, const HloInstruction *a, const HloInstruction *b,
                          ComparisonDirection direction) {
  bool is_larger = direction == COMPARISON_DIRECTION_GT || direction == COMPARISON_DIRECTION_LE;
  bool is_smaller = direction == COMPARISON_DIRECTION_LT || direction == COMPARISON_DIRECTION_GE;
  bool fits = (extreme->opcode == HLO_MAXIMUM && is_larger) || (extreme->opcode == HLO_MINIMUM && is_smaller);
  if (!fits || extreme->operand_count != 2) return false;
  return (extreme->operands[0] == a && extreme->operands[1] == b) ||
         (extreme->operands[0] == b && extreme->operands[1] == a);
}

/* The maximum or minimum of |a| and |b| that others read as well and that |direction| may tell of in place of a, which
 * only that and comparisons with b read; NULL: there is none. */
static HloInstruction *extreme_instead(const HloInstruction *a, const HloInstruction *b,
                                       ComparisonDirection direction) {
  HloInstruction *found = NULL;
  if (hlo_instruction_is_root(a)) return NULL;
  for (int32_t u = 0; u < a->user_count; u++) {
    HloInstruction *user = a->users[u];
    if (user->opcode == HLO_COMPARE && (user->operands[0] == b || user->operands[1] == b)) continue;
    if (found != NULL || !extreme_tells(user, a, b, direction)) return NULL;
    found = user;
  }
  return found;
}

/* Whether |extreme|, the maximum or minimum of |a| and something else, is better asked than a. */
typedef bool (*BetterAsked)(const HloInstruction *a, const HloInstruction *extreme);

/* a > b → max(a, b) > b,  a <= b → max(a, b) <= b, and with min, < and >= : NaN in either is NaN in both.  Where others
 * read only the extreme, and it |is_better|. */
static HloInstruction *ask_extreme(HloInstruction *instruction, BetterAsked is_better) {
  if (is_total_order(instruction)) return NULL;
  for (int i = 0; i < 2; i++) {
    HloInstruction *a = instruction->operands[i], *b = instruction->operands[1 - i];
    ComparisonDirection direction = direction_of(instruction);
    if (i == 1) direction = comparison_direction_exchanged(direction);
    HloInstruction *extreme = a != b ? extreme_instead(a, b, direction) : NULL;
    if (extreme == NULL || !is_better(a, extreme)) continue;
    return i == 0 ? compare_of(instruction, instruction, extreme, b) : compare_of(instruction, instruction, b, extreme);
  }
  return NULL;
}

static bool is_made_of_sums(const HloInstruction *a, const HloInstruction *extreme) {
  enum { MOST_STEPS = 6 };
  (void)extreme;
  return ends_sums(a, MOST_STEPS);
}

/* Where a is made from the sums of a contraction, which then end as the larger: a layer and what its gradient passes
 * through. */
static HloInstruction *compare_ended(HloInstruction *instruction) {
  return ask_extreme(instruction, is_made_of_sums);
}

static bool is_kept(const HloInstruction *a, const HloInstruction *extreme) {
  (void)a;
  for (int32_t u = 0; u < extreme->user_count; u++) {
    HloOpcode opcode = extreme->users[u]->opcode;
    if (hlo_opcode_has(opcode, OP_CONTRACTION) || opcode == HLO_REDUCE_WINDOW) return true;
  }
  return false;
}

/* Where the larger is in memory for a contraction or windows: a, which is made from what is there as well (what a norm
 * normalises), is not stored beside it for the gradient. */
static HloInstruction *compare_kept(HloInstruction *instruction) {
  return ask_extreme(instruction, is_kept);
}

/* select(p, c, d) < e → select(p, c < e, d < e) for constants, which folds and leaves p, ~p or a constant; likewise of
 * a converted p, which selects 1 or 0 */
static HloInstruction *compare_of_choice(HloInstruction *instruction) {
  for (int i = 0; i < 2; i++) {
    HloInstruction *choice = instruction->operands[i], *constant = instruction->operands[1 - i], *of[2];
    if (algebraic_splat_literal(constant) == NULL || type_is_complex(choice->shape->type)) continue;
    if (choice->opcode == HLO_SELECT && choice->operands[0]->shape == instruction->shape) {
      if (algebraic_splat_literal(choice->operands[1]) == NULL) continue;
      if (algebraic_splat_literal(choice->operands[2]) == NULL) continue;
      of[0] = choice->operands[1];
      of[1] = choice->operands[2];
    } else if (choice->opcode == HLO_CONVERT && algebraic_is_pred(choice->operands[0]) && !algebraic_is_pred(choice)) {
      if (choice->operands[0]->shape != instruction->shape) continue;
      if (!algebraic_is_ieee(choice) && !type_is_integral(choice->shape->type)) continue;
      of[0] = algebraic_number(choice, 1);
      of[1] = algebraic_number(choice, 0);
    } else {
      continue;
    }
    for (int k = 0; k < 2; k++) {
      of[k] = i == 0 ? compare_of(instruction, instruction, of[k], constant)
                     : compare_of(instruction, instruction, constant, of[k]);
    }
    return algebraic_select(instruction, choice->operands[0], of[0], of[1]);
  }
  return NULL;
}

/* What is compared with a constant, from which side, and the constant. */
typedef struct Bound {
  HloInstruction *x, *constant;
  ComparisonDirection direction; /* x < constant, and so on */
  double number;
} Bound;

static bool bound_of(HloInstruction *compare, Bound *out_bound) {
  if (compare->opcode != HLO_COMPARE || is_total_order(compare)) return false;
  for (int i = 1; i >= 0; i--) {
    const Literal *literal = algebraic_splat_literal(compare->operands[i]);
    PrimitiveType type = compare->operands[i]->shape->type;
    if (literal == NULL || type_is_complex(type) || type_bits(type) > 32) continue; /* a double holds the number */
    ComparisonDirection direction = direction_of(compare);
    *out_bound =
        (Bound){compare->operands[1 - i], compare->operands[i],
                i == 1 ? direction : comparison_direction_exchanged(direction), literal_get_double(literal, 0)};
    return true;
  }
  return false;
}

/* x < c & x < d → x < min(c, d),  x < c | x < d → x < max(c, d), likewise with the other directions: one of the two
 * comparisons implies the other */
static HloInstruction *join_bounds(HloInstruction *instruction) {
  Bound a, b;
  if (!algebraic_is_pred(instruction)) return NULL;
  if (!bound_of(instruction->operands[0], &a) || !bound_of(instruction->operands[1], &b)) return NULL;
  if (a.x != b.x || a.direction != b.direction || a.number != a.number || b.number != b.number) return NULL;
  bool below = a.direction == COMPARISON_DIRECTION_LT || a.direction == COMPARISON_DIRECTION_LE;
  bool above = a.direction == COMPARISON_DIRECTION_GT || a.direction == COMPARISON_DIRECTION_GE;
  if (!below && !above) return NULL;
  bool smaller = below == (instruction->opcode == HLO_AND);
  return algebraic_of_shape(instruction, instruction->operands[(a.number <= b.number) == smaller ? 0 : 1]);
}

/* --- what ranges decide --- */

/* x < y → true or false, when all of x is below all of y, or none of it */
static HloInstruction *compare_range(HloInstruction *instruction) {
  const HloInstruction *x = instruction->operands[0], *y = instruction->operands[1];
  if (type_is_integral(x->shape->type)) {
    IntegerRange a = integer_range(x), b = integer_range(y);
    bool below = integer_range_below(a, b), above = integer_range_below(b, a);
    bool not_below = integer_range_not_below(a, b), not_above = integer_range_not_below(b, a);
    switch (direction_of(instruction)) {
      case COMPARISON_DIRECTION_LT: return below || not_below ? algebraic_integer(instruction, below) : NULL;
      case COMPARISON_DIRECTION_GE: return below || not_below ? algebraic_integer(instruction, not_below) : NULL;
      case COMPARISON_DIRECTION_GT: return above || not_above ? algebraic_integer(instruction, above) : NULL;
      case COMPARISON_DIRECTION_LE: return above || not_above ? algebraic_integer(instruction, not_above) : NULL;
      case COMPARISON_DIRECTION_EQ: return below || above ? algebraic_integer(instruction, 0) : NULL;
      case COMPARISON_DIRECTION_NE: return below || above ? algebraic_integer(instruction, 1) : NULL;
    }
    XLAC_BUG("direction %d", (int)direction_of(instruction));
  }
  /* Of floats: |x| < 0 is false whatever x is, NaN included. */
  if (!type_is_float(x->shape->type) || is_total_order(instruction)) return NULL;
  bool below_zero = direction_of(instruction) == COMPARISON_DIRECTION_LT && algebraic_is_all((HloInstruction *)y, 0) &&
                    integer_range_is_non_negative(x);
  bool above = direction_of(instruction) == COMPARISON_DIRECTION_GT && algebraic_is_all((HloInstruction *)x, 0) &&
               integer_range_is_non_negative(y);
  return below_zero || above ? algebraic_integer(instruction, 0) : NULL;
}

/* max(x, y) → the one that is nowhere below the other, likewise min, for integers */
static HloInstruction *extreme_range(HloInstruction *instruction) {
  if (!type_is_integral(instruction->shape->type)) return NULL;
  IntegerRange a = integer_range(instruction->operands[0]), b = integer_range(instruction->operands[1]);
  int larger = integer_range_not_below(a, b) ? 0 : integer_range_not_below(b, a) ? 1 : -1;
  if (larger < 0) return NULL;
  int index = instruction->opcode == HLO_MAXIMUM ? larger : 1 - larger;
  return algebraic_of_shape(instruction, instruction->operands[index]);
}

/* clamp(low, x, high) → x, when it is inside anyway, for integers */
static HloInstruction *clamp_range(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[1];
  if (!type_is_integral(x->shape->type)) return NULL;
  IntegerRange range = integer_range(x);
  bool inside = integer_range_not_below(range, integer_range(instruction->operands[0])) &&
                integer_range_not_below(integer_range(instruction->operands[2]), range);
  return inside ? algebraic_of_shape(instruction, x) : NULL;
}

/* x % c → x for 0 <= x < c;  (x + c) % c → x % c for integers that do not wrap, x >= 0 */
static HloInstruction *remainder_range(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0], *by = instruction->operands[1];
  if (!type_is_integral(x->shape->type)) return NULL;
  IntegerRange range = integer_range(x), divisor = integer_range(by);
  if (range.low < 0 || divisor.low < 1) return NULL;
  if (integer_range_below(range, divisor)) return algebraic_of_shape(instruction, x);
  for (int i = 0; i < 2 && x->opcode == HLO_ADD; i++) {
    /* The sum's range is known only if it does not wrap. */
    HloInstruction *rest = x->operands[1 - i];
    uint64_t most = type_int_max(x->shape->type);
    bool wraps = most > (uint64_t)INT64_MAX || range.high == (int64_t)most;
    if (x->operands[i] != by || wraps || integer_range(rest).low < 0) continue;
    return algebraic_binary(instruction, HLO_REMAINDER, rest, by);
  }
  return NULL;
}

/* x >> c → 0 for 0 <= x < 2^c: the upper half of a 64-bit index */
static HloInstruction *shift_range(HloInstruction *instruction) {
  const HloInstruction *x = instruction->operands[0];
  IntegerRange range = integer_range(x), by = integer_range(instruction->operands[1]);
  bool is_known = range.low >= 0 && range.high < INT64_MAX && by.low >= 0 && by.low < type_bits(x->shape->type);
  return is_known && range.high >> by.low == 0 ? algebraic_integer(instruction, 0) : NULL;
}

/* |x| → x for an x that is never negative; NaN may keep its sign */
static HloInstruction *abs_of_positive(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  return integer_range_is_non_negative(x) ? algebraic_of_shape(instruction, x) : NULL;
}

/* --- what a comparison selects --- */

/* Of integers: select(a = b, a, b) → b,  select(a != b, a, b) → a,  select(a > b, a, b) → max(a, b),
 * select(a < b, a, b) → min(a, b); of pred these are or and and */
static HloInstruction *select_compared(HloInstruction *instruction) {
  const HloInstruction *compare = instruction->operands[0];
  HloInstruction *a = instruction->operands[1], *b = instruction->operands[2];
  if (compare->opcode != HLO_COMPARE || !algebraic_is_exact(instruction->shape->type)) return NULL;
  ComparisonDirection direction = direction_of(compare);
  if (compare->operands[0] == b && compare->operands[1] == a) {
    direction = comparison_direction_exchanged(direction);
  } else if (compare->operands[0] != a || compare->operands[1] != b) {
    return NULL;
  }
  bool pred = algebraic_is_pred(instruction);
  switch (direction) {
    case COMPARISON_DIRECTION_EQ: return algebraic_of_shape(instruction, b);
    case COMPARISON_DIRECTION_NE: return algebraic_of_shape(instruction, a);
    case COMPARISON_DIRECTION_GT:
    case COMPARISON_DIRECTION_GE: return algebraic_binary(instruction, pred ? HLO_OR : HLO_MAXIMUM, a, b);
    case COMPARISON_DIRECTION_LT:
    case COMPARISON_DIRECTION_LE: return algebraic_binary(instruction, pred ? HLO_AND : HLO_MINIMUM, a, b);
  }
  XLAC_BUG("direction %d", (int)direction);
}

AlgebraicRules algebraic_compare_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_NOT, "not-compare", not_compare},
      {HLO_COMPARE, "compare-self", compare_self},
      {HLO_COMPARE, "compare-pred", compare_pred},
      {HLO_COMPARE, "compare-extreme", compare_extreme},
      {HLO_COMPARE, "compare-ended", compare_ended},
      {HLO_COMPARE, "compare-of-choice", compare_of_choice},
      {HLO_COMPARE, "compare-range", compare_range},
      {HLO_AND, "join-bounds", join_bounds},
      {HLO_OR, "join-bounds", join_bounds},
      {HLO_MAXIMUM, "extreme-range", extreme_range},
      {HLO_MINIMUM, "extreme-range", extreme_range},
      {HLO_CLAMP, "clamp-range", clamp_range},
      {HLO_REMAINDER, "remainder-range", remainder_range},
      {HLO_SHIFT_RIGHT_LOGICAL, "shift-range", shift_range},
      {HLO_SHIFT_RIGHT_ARITHMETIC, "shift-range", shift_range},
      {HLO_ABS, "abs-of-positive", abs_of_positive},
      {HLO_SELECT, "select-compared", select_compared},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}

AlgebraicRules algebraic_oncore_compare_rules(void) {
  static const AlgebraicRule rules[] = {{HLO_COMPARE, "compare-kept", compare_kept}};
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
