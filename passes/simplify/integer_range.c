#include "passes/simplify/integer_range.h"

#include <math.h>

#include "base/checked_math.h"

/* A value is looked into so deep, beside iotas and constants: two operands at each step, so a few dozen instructions at
 * most. */
enum { MOST_DEPTH = 4, MOST_CONSTANT_ELEMENTS = 64 };

static IntegerRange range_within(const HloInstruction *value, int depth);

static IntegerRange range_of_type(PrimitiveType type) {
  if (type == TYPE_PRED) return (IntegerRange){0, 1};
  uint64_t most = type_int_max(type);
  return (IntegerRange){type_int_min(type), most > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)most};
}

/* |range| if arithmetic of |type| does not wrap there; else all of the type. */
static IntegerRange unless_wrapped(IntegerRange range, bool fits, PrimitiveType type) {
  IntegerRange all = range_of_type(type);
  return fits && range.low >= all.low && range.high <= all.high ? range : all;
}

static IntegerRange range_of_constant(const HloInstruction *value) {
  const Literal *literal = hlo_instruction_literal(value);
  PrimitiveType type = value->shape->type;
  int64_t count = shape_element_count(value->shape);
  IntegerRange all = range_of_type(type), range = {INT64_MAX, INT64_MIN};
  if (literal->elided || count < 1 || count > MOST_CONSTANT_ELEMENTS) return all;
  for (int64_t i = 0; i < count; i++) {
    int64_t element = literal_get_int(literal, i);
    if (element < 0 && type_is_unsigned(type)) element = INT64_MAX;
    range.low = min_i64(range.low, element);
    range.high = max_i64(range.high, element);
  }
  return range;
}

static IntegerRange range_of_sum(const HloInstruction *value, IntegerRange a, IntegerRange b) {
  IntegerRange range = {0, 0};
  bool wraps =
      value->opcode == HLO_ADD
          ? __builtin_add_overflow(a.low, b.low, &range.low) || __builtin_add_overflow(a.high, b.high, &range.high)
          : __builtin_sub_overflow(a.low, b.high, &range.low) || __builtin_sub_overflow(a.high, b.low, &range.high);
  bool open = value->shape->type == TYPE_U64 && (a.high == INT64_MAX || b.high == INT64_MAX);
  return unless_wrapped(range, !wraps && !open, value->shape->type);
}

/* The ends of a product of two ranges are among the products of their ends. */
static IntegerRange range_of_product(const HloInstruction *value, IntegerRange a, IntegerRange b) {
  const int64_t as[] = {a.low, a.high}, bs[] = {b.low, b.high};
  IntegerRange range = {INT64_MAX, INT64_MIN};
  bool fits = value->shape->type != TYPE_U64 || (a.high != INT64_MAX && b.high != INT64_MAX);
  for (int i = 0; i < 4; i++) {
    int64_t product;
    if (!checked_mul(as[i / 2], bs[i % 2], &product)) return range_of_type(value->shape->type);
    range.low = min_i64(range.low, product);
    range.high = max_i64(range.high, product);
  }
  return unless_wrapped(range, fits, value->shape->type);
}

/* x / c and x % c by a positive c; what x is when negative is left alone. */
static IntegerRange range_of_quotient(const HloInstruction *value, IntegerRange x, IntegerRange by) {
  IntegerRange all = range_of_type(value->shape->type);
  bool known = by.low == by.high && by.low > 0 && by.high != INT64_MAX && x.low >= 0;
  if (!known) return all;
  if (value->opcode == HLO_REMAINDER) return (IntegerRange){0, min_i64(x.high, by.low - 1)};
  return x.high == INT64_MAX ? (IntegerRange){0, all.high} : (IntegerRange){x.low / by.low, x.high / by.low};
}

static IntegerRange range_of_binary(const HloInstruction *value, IntegerRange a, IntegerRange b) {
  IntegerRange all = range_of_type(value->shape->type);
  switch (value->opcode) {
    case HLO_ADD:
    case HLO_SUBTRACT: return range_of_sum(value, a, b);
    case HLO_MULTIPLY: return range_of_product(value, a, b);
    case HLO_MAXIMUM: return (IntegerRange){max_i64(a.low, b.low), max_i64(a.high, b.high)};
    case HLO_MINIMUM: return (IntegerRange){min_i64(a.low, b.low), min_i64(a.high, b.high)};
    case HLO_DIVIDE:
    case HLO_REMAINDER: return range_of_quotient(value, a, b);
    case HLO_AND: {
      /* A mask without the sign leaves no more than itself. */
      if (a.low < 0 && b.low < 0) return all;
      if (a.low < 0) return (IntegerRange){0, b.high};
      return (IntegerRange){0, b.low < 0 ? a.high : min_i64(a.high, b.high)};
    }
    default: XLAC_BUG("'%s' has no rule for its range", hlo_opcode_text(value->opcode));
  }
}

static IntegerRange range_of_convert(const HloInstruction *value, int depth) {
  PrimitiveType from = value->operands[0]->shape->type, to = value->shape->type;
  if (!type_is_integral(from) && from != TYPE_PRED) return range_of_type(to);
  if (to == TYPE_PRED) return range_of_type(to);
  IntegerRange range = range_within(value->operands[0], depth - 1);
  bool fits = from != TYPE_U64 || range.high != INT64_MAX;
  return unless_wrapped(range, fits, to);
}

static IntegerRange range_of_iota(const HloInstruction *iota) {
  int64_t size = iota->shape->dims[hlo_instruction_int(iota, HLO_ATTR_IOTA_DIMENSION, 0)];
  return unless_wrapped((IntegerRange){0, max_i64(size - 1, 0)}, true, iota->shape->type);
}

static IntegerRange range_of_clamp(const HloInstruction *clamp, int depth) {
  IntegerRange low = range_within(clamp->operands[0], depth - 1), x = range_within(clamp->operands[1], depth - 1),
               high = range_within(clamp->operands[2], depth - 1);
  IntegerRange raised = {max_i64(x.low, low.low), max_i64(x.high, low.high)};
  return (IntegerRange){min_i64(raised.low, high.low), min_i64(raised.high, high.high)};
}

static IntegerRange range_within(const HloInstruction *value, int depth) {
  IntegerRange all = range_of_type(value->shape->type);
  if (value->opcode == HLO_BROADCAST) value = value->operands[0];
  if (value->opcode == HLO_CONSTANT) return range_of_constant(value);
  if (value->opcode == HLO_IOTA) return range_of_iota(value);
  if (depth == 0) return all;
  switch (value->opcode) {
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_SLICE:
    case HLO_REVERSE:
    case HLO_COPY:
    case HLO_DYNAMIC_SLICE:
    case HLO_GATHER: return range_within(value->operands[0], depth - 1);
    case HLO_CONVERT: return range_of_convert(value, depth);
    case HLO_CLAMP: return range_of_clamp(value, depth);
    case HLO_SELECT: {
      IntegerRange a = range_within(value->operands[1], depth - 1), b = range_within(value->operands[2], depth - 1);
      return (IntegerRange){min_i64(a.low, b.low), max_i64(a.high, b.high)};
    }
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_DIVIDE:
    case HLO_REMAINDER:
    case HLO_AND:
      return range_of_binary(value, range_within(value->operands[0], depth - 1),
                             range_within(value->operands[1], depth - 1));
    default: return all;
  }
}

IntegerRange integer_range(const HloInstruction *value) {
  return range_within(value, MOST_DEPTH);
}

bool integer_range_below(IntegerRange a, IntegerRange b) {
  return a.high < b.low;
}

bool integer_range_not_below(IntegerRange a, IntegerRange b) {
  return a.low >= b.high && b.high != INT64_MAX;
}

/* --- signs of floats --- */

static bool constant_is_positive(const HloInstruction *value) {
  const Literal *literal = hlo_instruction_literal(value);
  int64_t count = shape_element_count(value->shape);
  if (literal->elided || count < 1 || count > MOST_CONSTANT_ELEMENTS) return false;
  for (int64_t i = 0; i < count; i++) {
    if (signbit(literal_get_double(literal, i)) != 0) return false;
  }
  return true;
}

static bool is_positive(const HloInstruction *value, int depth) {
  PrimitiveType type = value->shape->type;
  if (depth == 0) return false;
  if (type_is_integral(type) || type == TYPE_PRED) return range_within(value, depth).low >= 0;
  if (!type_is_float(type)) return false;
  switch (value->opcode) {
    case HLO_CONSTANT: return constant_is_positive(value);
    case HLO_ABS:
    case HLO_EXPONENTIAL:
    case HLO_LOGISTIC:
    case HLO_IOTA: return true;
    case HLO_MULTIPLY:
      if (value->operands[0] == value->operands[1]) return true;
      return is_positive(value->operands[0], depth - 1) && is_positive(value->operands[1], depth - 1);
    case HLO_MAXIMUM: return is_positive(value->operands[0], depth - 1) || is_positive(value->operands[1], depth - 1);
    case HLO_ADD:
    case HLO_DIVIDE:
    case HLO_MINIMUM: return is_positive(value->operands[0], depth - 1) && is_positive(value->operands[1], depth - 1);
    case HLO_SELECT: return is_positive(value->operands[1], depth - 1) && is_positive(value->operands[2], depth - 1);
    case HLO_CONVERT:
    case HLO_SQRT:
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_SLICE:
    case HLO_REVERSE:
    case HLO_COPY: return is_positive(value->operands[0], depth - 1);
    default: return false;
  }
}

bool integer_range_is_non_negative(const HloInstruction *value) {
  return is_positive(value, MOST_DEPTH);
}
