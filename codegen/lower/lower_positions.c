/* Integers that follow from where an element stands (an iota times a step plus a start, as frames and windows are
 * gathered at): they stay functions of the loops' indices through arithmetic, and what compares or bounds them is
 * decided by their ranges.  A gather at such places is a load at a plain address. */
#include "base/checked_math.h"
#include "codegen/lower/lowering_internal.h"

/* Operands beyond are left alone, so that sums and products of two fit 64 bits. */
#define MOST_POSITION INT32_MAX
/* Larger constants are not looked through. */
#define MOST_CONSTANT_ELEMENTS (1 << 18)

static bool is_counted(PrimitiveType type) {
  return type_is_integral(type) && type_bits(type) >= 8;
}

static bool fits_type(PrimitiveType type, int64_t lower, int64_t upper) {
  return lower >= type_int_min(type) && (upper < 0 || (uint64_t)upper <= type_int_max(type));
}

bool lowering_position(const Lowering *lowering, int32_t value, IndexExpr *out_expr) {
  const KernelValue *info = &lowering->draft.values.data[value];
  if (!is_counted(info->type)) return false;
  if (info->kind == KERNEL_CONSTANT) {
    int unused = 64 - type_bits(info->type);
    uint64_t bits = info->bits[0] << unused;
    *out_expr = index_constant(type_is_signed(info->type) ? (int64_t)bits >> unused : (int64_t)(bits >> unused));
  } else if (info->kind == KERNEL_INDEX) {
    *out_expr = info->address;
  } else {
    return false;
  }
  int64_t lower, upper;
  index_range(&lowering->draft.space, *out_expr, &lower, &upper);
  return fits_type(info->type, lower, upper) && lower >= -MOST_POSITION && upper <= MOST_POSITION;
}

/* An operand as a function of indices, and what values it takes. */
typedef struct Position {
  IndexExpr expr;
  int64_t lower, upper;
} Position;

static bool find_positions(const Lowering *lowering, const int32_t *operands, int count, Position *out) {
  for (int i = 0; i < count; i++) {
    if (!lowering_position(lowering, operands[i], &out[i].expr)) return false;
    index_range(&lowering->draft.space, out[i].expr, &out[i].lower, &out[i].upper);
  }
  return true;
}

/* An operation under way. */
typedef struct Applied {
  HloOpcode opcode;
  PrimitiveType type;
  const int32_t *operands;
  ComparisonDirection direction;
} Applied;

/* Arithmetic that wraps as indices of that type do. */
static bool apply_arithmetic(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  Position p[2];
  if (!find_positions(lowering, applied->operands, 2, p)) return false;
  IndexSpace *space = &lowering->draft.space;
  bool is_first = p[0].lower == p[0].upper, is_second = p[1].lower == p[1].upper;
  bool divides = is_second && p[1].lower > 0 && p[0].lower >= 0;
  HloOpcode opcode = applied->opcode;
  IndexExpr result;
  if (opcode == HLO_ADD) {
    result = index_add(space, p[0].expr, p[1].expr);
  } else if (opcode == HLO_SUBTRACT) {
    result = index_add(space, p[0].expr, index_scale(space, p[1].expr, -1));
  } else if (opcode == HLO_MULTIPLY && (is_first || is_second)) {
    result = is_second ? index_scale(space, p[0].expr, p[1].lower) : index_scale(space, p[1].expr, p[0].lower);
  } else if (opcode == HLO_DIVIDE && divides) {
    result = index_div(space, p[0].expr, p[1].lower);
  } else if (opcode == HLO_REMAINDER && divides) {
    result = index_mod(space, p[0].expr, p[1].lower);
  } else {
    return false;
  }
  *out_value = lowering_index_value(lowering, applied->type, result);
  return true;
}

/* -1: not known from ranges alone. */
static int known_comparison(ComparisonDirection direction, const Position *a, const Position *b) {
  bool is_below = a->upper < b->lower, is_not_below = a->lower >= b->upper, is_apart = is_below || a->lower > b->upper;
  switch (direction) {
    case COMPARISON_DIRECTION_LT: return is_below ? 1 : is_not_below ? 0 : -1;
    case COMPARISON_DIRECTION_GE: return is_not_below ? 1 : is_below ? 0 : -1;
    case COMPARISON_DIRECTION_GT:
    case COMPARISON_DIRECTION_LE: return known_comparison(comparison_direction_exchanged(direction), b, a);
    case COMPARISON_DIRECTION_EQ: return is_apart ? 0 : -1;
    case COMPARISON_DIRECTION_NE: return is_apart ? 1 : -1;
  }
  return -1;
}

static bool apply_compare(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  Position p[2];
  if (!find_positions(lowering, applied->operands, 2, p)) return false;
  int known = known_comparison(applied->direction, &p[0], &p[1]);
  if (known >= 0) *out_value = lowering_constant_int(lowering, TYPE_PRED, known);
  return known >= 0;
}

/* The operand that is the extremum whatever the indices are. */
static bool apply_extremum(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  Position p[2];
  if (!find_positions(lowering, applied->operands, 2, p)) return false;
  int largest = p[0].lower >= p[1].upper ? 0 : 1;
  if (largest == 1 && p[1].lower < p[0].upper) return false;
  *out_value = applied->operands[applied->opcode == HLO_MAXIMUM ? largest : 1 - largest];
  return true;
}

static bool apply_clamp(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  Position p[3];
  if (!find_positions(lowering, applied->operands, 3, p)) return false;
  if (p[1].lower < p[0].upper || p[1].upper > p[2].lower) return false;
  *out_value = applied->operands[1];
  return true;
}

static bool apply_convert(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  Position p;
  if (!is_counted(applied->type) || !find_positions(lowering, applied->operands, 1, &p)) return false;
  *out_value = lowering_index_value(lowering, applied->type, p.expr);
  return true;
}

/* Whether |value| is a truth value that is known, and which. */
static bool is_known(const Lowering *lowering, int32_t value, bool *out_holds) {
  const KernelValue *info = &lowering->draft.values.data[value];
  *out_holds = info->bits[0] != 0;
  return info->kind == KERNEL_CONSTANT && info->type == TYPE_PRED;
}

static bool apply_select(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  bool holds;
  if (!is_known(lowering, applied->operands[0], &holds)) return false;
  *out_value = applied->operands[holds ? 1 : 2];
  return true;
}

/* A conjunction or disjunction of which one side is known. */
static bool apply_junction(Lowering *lowering, const Applied *applied, int32_t *out_value) {
  for (int i = 0; i < 2; i++) {
    bool holds;
    if (!is_known(lowering, applied->operands[i], &holds)) continue;
    *out_value = applied->operands[holds == (applied->opcode == HLO_AND) ? 1 - i : i];
    return true;
  }
  return false;
}

static bool (*const rules[HLO_OPCODE_COUNT])(Lowering *, const Applied *, int32_t *) = {
    [HLO_ADD] = apply_arithmetic,    [HLO_SUBTRACT] = apply_arithmetic,  [HLO_MULTIPLY] = apply_arithmetic,
    [HLO_DIVIDE] = apply_arithmetic, [HLO_REMAINDER] = apply_arithmetic, [HLO_COMPARE] = apply_compare,
    [HLO_MAXIMUM] = apply_extremum,  [HLO_MINIMUM] = apply_extremum,     [HLO_CLAMP] = apply_clamp,
    [HLO_CONVERT] = apply_convert,   [HLO_SELECT] = apply_select,        [HLO_AND] = apply_junction,
    [HLO_OR] = apply_junction,
};

bool lowering_apply_positions(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                              int64_t param0, int32_t *out_value) {
  if (!lowering->target.folds_positions || rules[opcode] == NULL) return false;
  const Applied applied = {opcode, type, operands, (ComparisonDirection)param0};
  return rules[opcode](lowering, &applied, out_value);
}

/* --- constants --- */

/* By dimension the step from an index to the next one; false where one is beyond MOST_POSITION. */
static bool find_steps(const Literal *literal, int64_t *out_steps) {
  const Shape *shape = literal->shape;
  int64_t distance = 1, first = literal_get_int(literal, 0);
  for (int i = shape->rank - 1; i >= 0; i--) {
    out_steps[i] = 0;
    if (shape->dims[i] > 1 && __builtin_sub_overflow(literal_get_int(literal, distance), first, &out_steps[i]))
      return false;
    if (out_steps[i] < -MOST_POSITION || out_steps[i] > MOST_POSITION) return false;
    distance *= shape->dims[i];
  }
  return true;
}

static bool has_steps(const Literal *literal, const int64_t *steps) {
  const Shape *shape = literal->shape;
  int64_t count = shape_element_count(shape), first = literal_get_int(literal, 0);
  for (int64_t element = 0; element < count; element++) {
    int64_t rest = element, expected = first;
    for (int i = shape->rank - 1; i >= 0; i--) {
      expected += rest % shape->dims[i] * steps[i];
      rest /= shape->dims[i];
    }
    if (literal_get_int(literal, element) != expected) return false;
  }
  return true;
}

bool lowering_constant_position(Lowering *lowering, const Literal *literal, const IndexExpr *index,
                                int32_t *out_value) {
  const Shape *shape = literal->shape;
  int64_t steps[MAX_RANK], count = shape_element_count(shape);
  if (!lowering->target.folds_positions || literal->elided || !is_counted(shape->type)) return false;
  if (count == 0 || count > MOST_CONSTANT_ELEMENTS || !shape_has_default_layout(shape)) return false;
  int64_t ends[] = {literal_get_int(literal, 0), literal_get_int(literal, count - 1)};
  if (min_i64(ends[0], ends[1]) < -MOST_POSITION || max_i64(ends[0], ends[1]) > MOST_POSITION) return false;
  if (!find_steps(literal, steps) || !has_steps(literal, steps)) return false;
  IndexExpr sum = index_constant(ends[0]);
  for (int i = 0; i < shape->rank; i++)
    sum = index_add(&lowering->draft.space, sum, index_scale(&lowering->draft.space, index[i], steps[i]));
  *out_value = lowering_index_value(lowering, shape->type, sum);
  return true;
}
