/* Rules of bits, extremes, selections, conversions and complex numbers. */
#include "passes/simplify/algebraic_rules.h"

static HloInstruction *all_ones(const HloInstruction *like) {
  return algebraic_integer(like, algebraic_is_pred(like) ? 1 : -1);
}

/* --- bits --- */

/* x & ones → x,  x & 0 → 0,  x & x → x */
static HloInstruction *and_known(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1])
    return algebraic_of_shape(instruction, instruction->operands[0]);
  for (int i = 0; i < 2; i++) {
    if (algebraic_is_all_ones(instruction->operands[i]))
      return algebraic_of_shape(instruction, instruction->operands[1 - i]);
    if (algebraic_is_all(instruction->operands[i], 0)) return algebraic_integer(instruction, 0);
  }
  return NULL;
}

/* x | 0 → x,  x | ones → ones,  x | x → x */
static HloInstruction *or_known(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1])
    return algebraic_of_shape(instruction, instruction->operands[0]);
  for (int i = 0; i < 2; i++) {
    if (algebraic_is_all(instruction->operands[i], 0))
      return algebraic_of_shape(instruction, instruction->operands[1 - i]);
    if (algebraic_is_all_ones(instruction->operands[i])) return all_ones(instruction);
  }
  return NULL;
}

/* x ^ 0 → x,  x ^ ones → ~x,  x ^ x → 0 */
static HloInstruction *xor_known(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1]) return algebraic_integer(instruction, 0);
  for (int i = 0; i < 2; i++) {
    HloInstruction *other = instruction->operands[1 - i];
    if (algebraic_is_all(instruction->operands[i], 0)) return algebraic_of_shape(instruction, other);
    if (algebraic_is_all_ones(instruction->operands[i])) return algebraic_unary(instruction, HLO_NOT, other);
  }
  return NULL;
}

/* ~~x → x */
static HloInstruction *not_not(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  return inner->opcode == HLO_NOT ? algebraic_of_shape(instruction, inner->operands[0]) : NULL;
}

/* x << 0 → x, likewise for the other shifts */
static HloInstruction *shift_zero(HloInstruction *instruction) {
  return algebraic_is_all(instruction->operands[1], 0) ? algebraic_of_shape(instruction, instruction->operands[0])
                                                       : NULL;
}

/* --- extremes --- */

/* max(x, x) → x,  min(x, x) → x */
static HloInstruction *extreme_self(HloInstruction *instruction) {
  return instruction->operands[0] == instruction->operands[1]
             ? algebraic_of_shape(instruction, instruction->operands[0])
             : NULL;
}

/* op(op(x, y), y) → op(x, y) for what taking twice does not change: the larger, the smaller, and, or */
static HloInstruction *taken_twice(HloInstruction *instruction) {
  for (int i = 0; i < 2; i++) {
    HloInstruction *inner = instruction->operands[i], *other = instruction->operands[1 - i];
    if (inner->opcode != instruction->opcode) continue;
    if (inner->operands[0] == other || inner->operands[1] == other) return algebraic_of_shape(instruction, inner);
  }
  return NULL;
}

/* x & (x | y) → x,  max(x, min(x, y)) → x and the other way round, for what has no NaN */
static HloInstruction *absorbed(HloInstruction *instruction) {
  static const HloOpcode pairs[][2] = {
      {HLO_MAXIMUM, HLO_MINIMUM}, {HLO_MINIMUM, HLO_MAXIMUM}, {HLO_AND, HLO_OR}, {HLO_OR, HLO_AND}};
  if (!algebraic_is_exact(instruction->shape->type)) return NULL;
  for (int i = 0; i < 8; i++) {
    const HloInstruction *inner = instruction->operands[i % 2];
    HloInstruction *other = instruction->operands[1 - i % 2];
    if (instruction->opcode != pairs[i / 2][0] || inner->opcode != pairs[i / 2][1]) continue;
    if (inner->operands[0] == other || inner->operands[1] == other) return algebraic_of_shape(instruction, other);
  }
  return NULL;
}

/* clamp(a, clamp(a, x, b), b) → clamp(a, x, b): also where a > b, which gives b both times */
static HloInstruction *clamp_again(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[1];
  if (inner->opcode != HLO_CLAMP || inner->operands[0] != instruction->operands[0]) return NULL;
  return inner->operands[2] == instruction->operands[2] ? algebraic_of_shape(instruction, inner) : NULL;
}

/* min(b, clamp(a, x, b)) → clamp(a, x, b): the upper bound is taken last.  max(a, clamp(a, x, b)) would need a <= b. */
static HloInstruction *minimum_of_clamp(HloInstruction *instruction) {
  for (int i = 0; i < 2; i++) {
    HloInstruction *clamp = instruction->operands[i];
    if (clamp->opcode == HLO_CLAMP && clamp->operands[2] == instruction->operands[1 - i])
      return algebraic_of_shape(instruction, clamp);
  }
  return NULL;
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
    if (is_end) return algebraic_of_shape(instruction, instruction->operands[1 - i]);
  }
  return NULL;
}

/* --- selection --- */

/* select(p, x, x) → x,  select(true, x, y) → x,  select(false, x, y) → y */
static HloInstruction *select_known(HloInstruction *instruction) {
  if (instruction->operands[1] == instruction->operands[2])
    return algebraic_of_shape(instruction, instruction->operands[1]);
  if (algebraic_is_all(instruction->operands[0], 1)) return algebraic_of_shape(instruction, instruction->operands[1]);
  if (algebraic_is_all(instruction->operands[0], 0)) return algebraic_of_shape(instruction, instruction->operands[2]);
  return NULL;
}

/* select(~p, x, y) → select(p, y, x) */
static HloInstruction *select_not(HloInstruction *instruction) {
  const HloInstruction *predicate = instruction->operands[0];
  if (predicate->opcode != HLO_NOT) return NULL;
  return algebraic_select(instruction, predicate->operands[0], instruction->operands[2], instruction->operands[1]);
}

/* select(p, select(p, x, y), z) → select(p, x, z), and on the other side */
static HloInstruction *select_select(HloInstruction *instruction) {
  HloInstruction *predicate = instruction->operands[0], *x = instruction->operands[1], *z = instruction->operands[2];
  if (x->opcode == HLO_SELECT && x->operands[0] == predicate)
    return algebraic_select(instruction, predicate, x->operands[1], z);
  if (z->opcode == HLO_SELECT && z->operands[0] == predicate)
    return algebraic_select(instruction, predicate, x, z->operands[2]);
  return NULL;
}

/* select(p, true, false) → p,  select(p, false, true) → ~p,  select(p, x, false) → p & x,  select(p, true, x) → p | x
 */
static HloInstruction *select_pred(HloInstruction *instruction) {
  HloInstruction *predicate = instruction->operands[0], *x = instruction->operands[1], *y = instruction->operands[2];
  if (!algebraic_is_pred(instruction) || predicate->shape != instruction->shape) return NULL;
  bool x_true = algebraic_is_all_ones(x), x_false = algebraic_is_all(x, 0);
  bool y_true = algebraic_is_all_ones(y), y_false = algebraic_is_all(y, 0);
  if (x_true && y_false) return predicate;
  if (x_false && y_true) return algebraic_unary(instruction, HLO_NOT, predicate);
  if (y_false) return algebraic_binary(instruction, HLO_AND, predicate, x);
  return x_true ? algebraic_binary(instruction, HLO_OR, predicate, y) : NULL;
}

/* --- conversion --- */

/* convert(x) to the type it has → x */
static HloInstruction *convert_nothing(HloInstruction *instruction) {
  return algebraic_of_shape(instruction, instruction->operands[0]);
}

/* convert(convert(x)) → convert(x), where the first loses nothing */
static HloInstruction *convert_convert(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONVERT) return NULL;
  HloInstruction *x = inner->operands[0];
  PrimitiveType from = x->shape->type, to = instruction->shape->type;
  if (!type_converts_exactly(from, inner->shape->type)) return NULL;
  /* Between integers a conversion wraps, from floats it saturates. */
  bool by_float = type_is_float(inner->shape->type) && !type_is_float(from) && type_is_integral(to);
  if (by_float && !type_converts_exactly(from, to)) return NULL;
  return x->shape == instruction->shape ? x : algebraic_unary(instruction, HLO_CONVERT, x);
}

/* Rounding what |opcode| gives of two numbers of type |narrow|, computed in |wide|, gives what it computes in |narrow|:
 * integers wrap, operations of 16-bit floats are computed in f32 anyway, and the digits of f64 are more than twice
 * those of f32 and two, which makes the first of two roundings harmless. */
static bool narrows_exactly(HloOpcode opcode, PrimitiveType narrow, PrimitiveType wide) {
  bool integers = type_is_integral(narrow) && type_is_integral(wide) && type_bits(narrow) < type_bits(wide);
  bool floats =
      ((narrow == TYPE_BF16 || narrow == TYPE_F16) && wide == TYPE_F32) || (narrow == TYPE_F32 && wide == TYPE_F64);
  switch (opcode) {
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY: return integers || floats;
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR: return integers;
    case HLO_DIVIDE: return floats;
    case HLO_MAXIMUM:
    case HLO_MINIMUM: return floats || (integers && type_converts_exactly(narrow, wide));
    default: return false;
  }
}

/* convert(op(convert(x), convert(y))) → op(x, y) of their narrower type, where that is the same */
static HloInstruction *narrow_arithmetic(HloInstruction *instruction) {
  HloInstruction *wide = instruction->operands[0], *narrow[2];
  PrimitiveType type = instruction->shape->type;
  if (wide->operand_count != 2 || wide->user_count != 1) return NULL;
  if (!narrows_exactly(wide->opcode, type, wide->shape->type)) return NULL;
  int constants = 0;
  for (int i = 0; i < 2; i++) {
    HloInstruction *operand = wide->operands[i];
    const Literal *literal = type_is_integral(type) ? algebraic_splat_literal(operand) : NULL;
    if (operand->opcode == HLO_CONVERT && operand->operands[0]->shape == instruction->shape) {
      narrow[i] = operand->operands[0];
    } else if (literal != NULL && wide->opcode != HLO_MAXIMUM && wide->opcode != HLO_MINIMUM) {
      narrow[i] = algebraic_integer(instruction, literal_get_int(literal, 0));
      constants++;
    } else {
      return NULL;
    }
  }
  return constants < 2 ? algebraic_binary(instruction, wide->opcode, narrow[0], narrow[1]) : NULL;
}

/* --- indices of more bits than are read of them --- */

/* Operations one inside the other. */
enum { MOST_INDEX_DEPTH = 5 };

static bool is_index_operation(HloOpcode opcode) {
  return opcode == HLO_ADD || opcode == HLO_SUBTRACT || opcode == HLO_MULTIPLY;
}

/* Whether |value| is computed of iotas and constants alone, by operations whose lower bits are those of |type|. */
static bool is_index(HloInstruction *value, PrimitiveType type, int depth) {
  if (value->opcode == HLO_IOTA) {
    int64_t size = value->shape->dims[hlo_instruction_int(value, HLO_ATTR_IOTA_DIMENSION, 0)];
    return size == 0 || (uint64_t)(size - 1) <= type_int_max(type);
  }
  if (algebraic_splat_literal(value) != NULL) return true;
  if (depth == 0) return false;
  if (value->opcode == HLO_BROADCAST) return is_index(value->operands[0], type, depth - 1);
  return is_index_operation(value->opcode) && is_index(value->operands[0], type, depth - 1) &&
         is_index(value->operands[1], type, depth - 1);
}

/* |value|, for which is_index() holds, made in |type|. */
static HloInstruction *index_of_type(HloInstruction *value, PrimitiveType type) {
  HloComputation *computation = value->parent;
  const Shape *shape = shape_with_type(computation->module->shapes, value->shape, type);
  HloInstruction *operands[2];
  int count = value->operand_count;
  if (algebraic_splat_literal(value) != NULL)
    return hlo_computation_add(computation, HLO_CONVERT, shape, &value, 1, (StringView){0});
  for (int i = 0; i < count; i++) operands[i] = index_of_type(value->operands[i], type);
  return hlo_computation_add_clone(computation, value, shape, operands, count);
}

/* convert(i * c + j) to fewer bits → i * c + j in these, of indices i and j and constants c: integers wrap alike */
static HloInstruction *narrow_index(HloInstruction *instruction) {
  HloInstruction *wide = instruction->operands[0];
  PrimitiveType type = instruction->shape->type;
  if (!type_is_integral(type) || !type_is_integral(wide->shape->type)) return NULL;
  if (type_bits(type) >= type_bits(wide->shape->type) || algebraic_splat_literal(wide) != NULL) return NULL;
  return is_index(wide, type, MOST_INDEX_DEPTH) ? algebraic_of_shape(instruction, index_of_type(wide, type)) : NULL;
}

/* reduce-precision(x) to no fewer bits than its type has → x */
static HloInstruction *precision_kept(HloInstruction *instruction) {
  const TypeInfo *type = type_info(instruction->shape->type);
  if (!algebraic_is_ieee(instruction)) return NULL;
  if (hlo_instruction_int(instruction, HLO_ATTR_EXPONENT_BITS, 0) < type->exponent_bits) return NULL;
  if (hlo_instruction_int(instruction, HLO_ATTR_MANTISSA_BITS, 0) < type->mantissa_bits) return NULL;
  return algebraic_of_shape(instruction, instruction->operands[0]);
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
  return algebraic_of_shape(instruction, whole->operands[instruction->opcode == HLO_IMAG ? 1 : 0]);
}

/* real(x) → x,  imag(x) → 0 for an x that is not complex */
static HloInstruction *part_of_real(HloInstruction *instruction) {
  if (instruction->operands[0]->shape != instruction->shape) return NULL;
  return instruction->opcode == HLO_REAL ? instruction->operands[0] : algebraic_number(instruction, 0);
}

/* complex(real(z), imag(z)) → z */
static HloInstruction *complex_of_parts(HloInstruction *instruction) {
  const HloInstruction *real = instruction->operands[0], *imag = instruction->operands[1];
  if (real->opcode != HLO_REAL || imag->opcode != HLO_IMAG || real->operands[0] != imag->operands[0]) return NULL;
  return algebraic_of_shape(instruction, real->operands[0]);
}

AlgebraicRules algebraic_logic_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_AND, "and-known", and_known},
      {HLO_OR, "or-known", or_known},
      {HLO_XOR, "xor-known", xor_known},
      {HLO_NOT, "not-not", not_not},
      {HLO_SHIFT_LEFT, "shift-zero", shift_zero},
      {HLO_SHIFT_RIGHT_LOGICAL, "shift-zero", shift_zero},
      {HLO_SHIFT_RIGHT_ARITHMETIC, "shift-zero", shift_zero},
      {HLO_MAXIMUM, "extreme-self", extreme_self},
      {HLO_MINIMUM, "extreme-self", extreme_self},
      {HLO_MAXIMUM, "taken-twice", taken_twice},
      {HLO_MINIMUM, "taken-twice", taken_twice},
      {HLO_AND, "taken-twice", taken_twice},
      {HLO_OR, "taken-twice", taken_twice},
      {HLO_MAXIMUM, "absorbed", absorbed},
      {HLO_MINIMUM, "absorbed", absorbed},
      {HLO_AND, "absorbed", absorbed},
      {HLO_OR, "absorbed", absorbed},
      {HLO_CLAMP, "clamp-again", clamp_again},
      {HLO_MINIMUM, "minimum-of-clamp", minimum_of_clamp},
      {HLO_MAXIMUM, "extreme-of-range", extreme_of_range},
      {HLO_MINIMUM, "extreme-of-range", extreme_of_range},
      {HLO_SELECT, "select-known", select_known},
      {HLO_SELECT, "select-not", select_not},
      {HLO_SELECT, "select-select", select_select},
      {HLO_SELECT, "select-pred", select_pred},
      {HLO_CONVERT, "convert-nothing", convert_nothing},
      {HLO_CONVERT, "convert-convert", convert_convert},
      {HLO_CONVERT, "narrow-arithmetic", narrow_arithmetic},
      {HLO_CONVERT, "narrow-index", narrow_index},
      {HLO_REDUCE_PRECISION, "precision-kept", precision_kept},
      {HLO_BITCAST_CONVERT, "bitcast-convert-nothing", convert_nothing},
      {HLO_BITCAST_CONVERT, "bitcast-convert-twice", bitcast_convert_twice},
      {HLO_REAL, "real-of-real", part_of_real},
      {HLO_IMAG, "imag-of-real", part_of_real},
      {HLO_REAL, "real-of-complex", part_of_complex},
      {HLO_IMAG, "imag-of-complex", part_of_complex},
      {HLO_COMPLEX, "complex-of-parts", complex_of_parts},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
