/* Rules of bits, comparisons, selections and conversions. */
#include "passes/simplify/algebraic_rules.h"

static HloInstruction *same_shape(const HloInstruction *instruction, HloInstruction *value) {
  return value->shape == instruction->shape ? value : NULL;
}

static bool is_pred(const HloInstruction *instruction) {
  return instruction->shape->type == TYPE_PRED;
}

/* Everywhere all bits: true, -1, the largest of an unsigned type. */
static bool is_all_ones(HloInstruction *value) {
  const Literal *literal = algebraic_splat_literal(value);
  PrimitiveType type = value->shape->type;
  if (literal == NULL || (type != TYPE_PRED && !type_is_integral(type))) return false;
  int64_t number = literal_get_int(literal, 0);
  if (type == TYPE_PRED) return number == 1;
  return type_is_signed(type) ? number == -1 : (uint64_t)number == type_int_max(type);
}

static HloInstruction *all_ones(const HloInstruction *like) {
  return algebraic_integer(like, is_pred(like) ? 1 : -1);
}

/* --- bits --- */

/* x & ones → x,  x & 0 → 0,  x & x → x */
static HloInstruction *and_known(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1]) return same_shape(instruction, instruction->operands[0]);
  for (int i = 0; i < 2; i++) {
    if (is_all_ones(instruction->operands[i])) return same_shape(instruction, instruction->operands[1 - i]);
    if (algebraic_is_all(instruction->operands[i], 0)) return algebraic_integer(instruction, 0);
  }
  return NULL;
}

/* x | 0 → x,  x | ones → ones,  x | x → x */
static HloInstruction *or_known(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1]) return same_shape(instruction, instruction->operands[0]);
  for (int i = 0; i < 2; i++) {
    if (algebraic_is_all(instruction->operands[i], 0)) return same_shape(instruction, instruction->operands[1 - i]);
    if (is_all_ones(instruction->operands[i])) return all_ones(instruction);
  }
  return NULL;
}

/* x ^ 0 → x,  x ^ ones → ~x,  x ^ x → 0 */
static HloInstruction *xor_known(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1]) return algebraic_integer(instruction, 0);
  for (int i = 0; i < 2; i++) {
    HloInstruction *other = instruction->operands[1 - i];
    if (algebraic_is_all(instruction->operands[i], 0)) return same_shape(instruction, other);
    if (is_all_ones(instruction->operands[i])) return algebraic_unary(instruction, HLO_NOT, other);
  }
  return NULL;
}

/* ~~x → x */
static HloInstruction *not_not(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  return inner->opcode == HLO_NOT ? same_shape(instruction, inner->operands[0]) : NULL;
}

/* x << 0 → x, likewise for the other shifts */
static HloInstruction *shift_zero(HloInstruction *instruction) {
  return algebraic_is_all(instruction->operands[1], 0) ? same_shape(instruction, instruction->operands[0]) : NULL;
}

/* --- comparison --- */

static ComparisonDirection direction_of(const HloInstruction *compare) {
  return (ComparisonDirection)hlo_instruction_int(compare, HLO_ATTR_DIRECTION, -1);
}

static bool is_exact_type(PrimitiveType type) {
  return type_is_integral(type) || type == TYPE_PRED;
}

/* x = x → true, x < x → false and so on; of floats only x < x and x > x, which NaN does not change */
static HloInstruction *compare_self(HloInstruction *instruction) {
  if (instruction->operands[0] != instruction->operands[1]) return NULL;
  bool exact = is_exact_type(instruction->operands[0]->shape->type);
  switch (direction_of(instruction)) {
    case COMPARISON_DIRECTION_LT:
    case COMPARISON_DIRECTION_GT: return algebraic_integer(instruction, 0);
    case COMPARISON_DIRECTION_NE: return exact ? algebraic_integer(instruction, 0) : NULL;
    default: return exact ? algebraic_integer(instruction, 1) : NULL;
  }
}

/* x < 0 → false,  x >= 0 → true for unsigned x */
static HloInstruction *compare_unsigned_zero(HloInstruction *instruction) {
  PrimitiveType type = instruction->operands[0]->shape->type;
  if (!type_is_unsigned(type) || !algebraic_is_all(instruction->operands[1], 0)) return NULL;
  if (direction_of(instruction) == COMPARISON_DIRECTION_LT) return algebraic_integer(instruction, 0);
  return direction_of(instruction) == COMPARISON_DIRECTION_GE ? algebraic_integer(instruction, 1) : NULL;
}

/* p = true → p,  p != false → p,  p = false → ~p,  p != true → ~p */
static HloInstruction *compare_pred(HloInstruction *instruction) {
  ComparisonDirection direction = direction_of(instruction);
  bool equal = direction == COMPARISON_DIRECTION_EQ;
  if (!is_pred(instruction->operands[0]) || (!equal && direction != COMPARISON_DIRECTION_NE)) return NULL;
  for (int i = 0; i < 2; i++) {
    bool ones = is_all_ones(instruction->operands[i]), zeros = algebraic_is_all(instruction->operands[i], 0);
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
  if (compare->opcode != HLO_COMPARE || !is_pred(instruction)) return NULL;
  ComparisonDirection direction = direction_of(compare);
  bool equality = direction == COMPARISON_DIRECTION_EQ || direction == COMPARISON_DIRECTION_NE;
  if (!equality && !is_exact_type(compare->operands[0]->shape->type)) return NULL;
  HloInstruction *result =
      hlo_computation_add_clone(instruction->parent, compare, instruction->shape, compare->operands, 2);
  hlo_instruction_set_int(result, HLO_ATTR_DIRECTION, inverse[direction]);
  return result;
}

/* max(x, x) → x,  min(x, x) → x */
static HloInstruction *extreme_self(HloInstruction *instruction) {
  return instruction->operands[0] == instruction->operands[1] ? same_shape(instruction, instruction->operands[0])
                                                              : NULL;
}

/* max(x, least) → x,  min(x, largest) → x for integers; max(x, -inf) → x,  min(x, inf) → x for floats: NaN stays NaN */
static HloInstruction *extreme_of_range(HloInstruction *instruction) {
  PrimitiveType type = instruction->shape->type;
  bool largest = instruction->opcode == HLO_MINIMUM;
  for (int i = 0; i < 2; i++) {
    const Literal *literal = algebraic_splat_literal(instruction->operands[i]);
    if (literal == NULL) continue;
    bool is_end = false;
    if (type_is_integral(type)) {
      int64_t end = largest ? (int64_t)type_int_max(type) : type_int_min(type);
      is_end = literal_get_int(literal, 0) == end;
    } else if (algebraic_is_ieee(instruction)) {
      is_end = literal_get_double(literal, 0) == (largest ? __builtin_inf() : -__builtin_inf());
    }
    if (is_end) return same_shape(instruction, instruction->operands[1 - i]);
  }
  return NULL;
}

/* --- selection --- */

/* select(p, x, x) → x,  select(true, x, y) → x,  select(false, x, y) → y */
static HloInstruction *select_known(HloInstruction *instruction) {
  if (instruction->operands[1] == instruction->operands[2]) return same_shape(instruction, instruction->operands[1]);
  if (algebraic_is_all(instruction->operands[0], 1)) return same_shape(instruction, instruction->operands[1]);
  if (algebraic_is_all(instruction->operands[0], 0)) return same_shape(instruction, instruction->operands[2]);
  return NULL;
}

static HloInstruction *select_of(const HloInstruction *like, HloInstruction *predicate, HloInstruction *on_true,
                                 HloInstruction *on_false) {
  HloInstruction *operands[3] = {predicate, on_true, on_false};
  return hlo_computation_add(like->parent, HLO_SELECT, like->shape, operands, 3, (StringView){0});
}

/* select(~p, x, y) → select(p, y, x) */
static HloInstruction *select_not(HloInstruction *instruction) {
  const HloInstruction *predicate = instruction->operands[0];
  if (predicate->opcode != HLO_NOT) return NULL;
  return select_of(instruction, predicate->operands[0], instruction->operands[2], instruction->operands[1]);
}

/* select(p, select(p, x, y), z) → select(p, x, z), and on the other side */
static HloInstruction *select_select(HloInstruction *instruction) {
  HloInstruction *predicate = instruction->operands[0], *x = instruction->operands[1], *z = instruction->operands[2];
  if (x->opcode == HLO_SELECT && x->operands[0] == predicate)
    return select_of(instruction, predicate, x->operands[1], z);
  if (z->opcode == HLO_SELECT && z->operands[0] == predicate)
    return select_of(instruction, predicate, x, z->operands[2]);
  return NULL;
}

/* select(p, true, false) → p,  select(p, false, true) → ~p,  select(p, x, false) → p & x,  select(p, true, x) → p | x
 */
static HloInstruction *select_pred(HloInstruction *instruction) {
  HloInstruction *predicate = instruction->operands[0], *x = instruction->operands[1], *y = instruction->operands[2];
  if (!is_pred(instruction) || predicate->shape != instruction->shape) return NULL;
  bool x_true = is_all_ones(x), x_false = algebraic_is_all(x, 0);
  bool y_true = is_all_ones(y), y_false = algebraic_is_all(y, 0);
  if (x_true && y_false) return predicate;
  if (x_false && y_true) return algebraic_unary(instruction, HLO_NOT, predicate);
  if (y_false) return algebraic_binary(instruction, HLO_AND, predicate, x);
  return x_true ? algebraic_binary(instruction, HLO_OR, predicate, y) : NULL;
}

/* --- conversion --- */

/* convert(x) to the type it has → x */
static HloInstruction *convert_nothing(HloInstruction *instruction) {
  return same_shape(instruction, instruction->operands[0]);
}

/* Every value of |from| is one of |to|. */
static bool converts_exactly(PrimitiveType from, PrimitiveType to) {
  if (from == TYPE_PRED) return type_is_integral(to) || to == TYPE_F32 || to == TYPE_F64;
  const TypeInfo *narrow = type_info(from), *wide = type_info(to);
  if (type_is_integral(from) && type_is_integral(to)) {
    if (type_is_unsigned(from) == type_is_unsigned(to)) return type_bits(to) >= type_bits(from);
    return type_is_unsigned(from) && type_bits(to) > type_bits(from);
  }
  bool to_ieee = to == TYPE_F32 || to == TYPE_F64;
  if (type_is_integral(from)) return to_ieee && type_bits(from) <= wide->mantissa_bits;
  bool from_ieee = from == TYPE_F16 || from == TYPE_BF16 || from == TYPE_F32;
  return from_ieee && to_ieee && wide->exponent_bits >= narrow->exponent_bits &&
         wide->mantissa_bits >= narrow->mantissa_bits;
}

/* convert(convert(x)) → convert(x), where the first loses nothing */
static HloInstruction *convert_convert(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONVERT) return NULL;
  HloInstruction *x = inner->operands[0];
  PrimitiveType from = x->shape->type, to = instruction->shape->type;
  if (!converts_exactly(from, inner->shape->type)) return NULL;
  /* Between integers a conversion wraps, from floats it saturates. */
  bool by_float = type_is_float(inner->shape->type) && !type_is_float(from) && type_is_integral(to);
  if (by_float && !converts_exactly(from, to)) return NULL;
  return x->shape == instruction->shape ? x : algebraic_unary(instruction, HLO_CONVERT, x);
}

/* bitcast-convert(bitcast-convert(x)) → bitcast-convert(x), where elements keep their size: by way of narrower or wider
 * ones, too, as they are cut and joined in the same order. */
static HloInstruction *bitcast_convert_twice(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BITCAST_CONVERT) return NULL;
  HloInstruction *x = inner->operands[0];
  if (!shape_same_dims(x->shape, instruction->shape)) return NULL;
  return x->shape == instruction->shape ? x : algebraic_unary(instruction, HLO_BITCAST_CONVERT, x);
}

/* --- complex --- */

/* real(complex(a, b)) → a,  imag(complex(a, b)) → b */
static HloInstruction *part_of_complex(HloInstruction *instruction) {
  const HloInstruction *whole = instruction->operands[0];
  if (whole->opcode != HLO_COMPLEX) return NULL;
  return same_shape(instruction, whole->operands[instruction->opcode == HLO_IMAG ? 1 : 0]);
}

/* complex(real(z), imag(z)) → z */
static HloInstruction *complex_of_parts(HloInstruction *instruction) {
  const HloInstruction *real = instruction->operands[0], *imag = instruction->operands[1];
  if (real->opcode != HLO_REAL || imag->opcode != HLO_IMAG || real->operands[0] != imag->operands[0]) return NULL;
  return same_shape(instruction, real->operands[0]);
}

AlgebraicRules algebraic_logic_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_AND, "and-known", and_known},
      {HLO_OR, "or-known", or_known},
      {HLO_XOR, "xor-known", xor_known},
      {HLO_NOT, "not-not", not_not},
      {HLO_NOT, "not-compare", not_compare},
      {HLO_SHIFT_LEFT, "shift-zero", shift_zero},
      {HLO_SHIFT_RIGHT_LOGICAL, "shift-zero", shift_zero},
      {HLO_SHIFT_RIGHT_ARITHMETIC, "shift-zero", shift_zero},
      {HLO_COMPARE, "compare-self", compare_self},
      {HLO_COMPARE, "compare-unsigned-zero", compare_unsigned_zero},
      {HLO_COMPARE, "compare-pred", compare_pred},
      {HLO_MAXIMUM, "extreme-self", extreme_self},
      {HLO_MINIMUM, "extreme-self", extreme_self},
      {HLO_MAXIMUM, "extreme-of-range", extreme_of_range},
      {HLO_MINIMUM, "extreme-of-range", extreme_of_range},
      {HLO_SELECT, "select-known", select_known},
      {HLO_SELECT, "select-not", select_not},
      {HLO_SELECT, "select-select", select_select},
      {HLO_SELECT, "select-pred", select_pred},
      {HLO_CONVERT, "convert-nothing", convert_nothing},
      {HLO_CONVERT, "convert-convert", convert_convert},
      {HLO_BITCAST_CONVERT, "bitcast-convert-nothing", convert_nothing},
      {HLO_BITCAST_CONVERT, "bitcast-convert-twice", bitcast_convert_twice},
      {HLO_REAL, "real-of-complex", part_of_complex},
      {HLO_IMAG, "imag-of-complex", part_of_complex},
      {HLO_COMPLEX, "complex-of-parts", complex_of_parts},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
