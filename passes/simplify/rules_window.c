/* Rules of windows over an array that is the same everywhere: what is counted in each is known by dimension. */
#include "base/checked_math.h"
#include "passes/simplify/algebraic_rules.h"

enum { RANK_LIMIT = 16, MOST_BYTES = 4096 };

/* How many elements of the array a window holds along one dimension, by the place of the window. */
typedef struct WindowCounts {
  int64_t size;        /* places */
  int64_t least, most; /* elements in a window */
  bool rises, falls;   /* place + 1, size - place */
  const WindowDimension *window;
  int64_t elements;
} WindowCounts;

static int64_t count_at(const WindowCounts *counts, int64_t place) {
  int64_t first = place * counts->window->stride - counts->window->pad_low;
  int64_t end = min_i64(first + counts->window->size, counts->elements);
  return max_i64(end - max_i64(first, 0), 0);
}

static bool count_windows(const HloInstruction *instruction, int dimension, WindowCounts *out_counts) {
  const Window *window = hlo_instruction_window(instruction);
  const WindowDimension *dim = &window->dims[dimension];
  if (dim->base_dilation != 1 || dim->window_dilation != 1) return false;
  *out_counts = (WindowCounts){.size = instruction->shape->dims[dimension],
                               .least = INT64_MAX,
                               .rises = true,
                               .falls = true,
                               .window = dim,
                               .elements = instruction->operands[0]->shape->dims[dimension]};
  enum { MOST_PLACES = 1 << 20 };
  if (out_counts->size > MOST_PLACES) return false;
  for (int64_t i = 0; i < out_counts->size; i++) {
    int64_t count = count_at(out_counts, i);
    out_counts->least = min_i64(out_counts->least, count);
    out_counts->most = max_i64(out_counts->most, count);
    out_counts->rises &= count == i + 1;
    out_counts->falls &= count == out_counts->size - i;
  }
  return out_counts->size > 0;
}

/* Integers wrap. */
static HloInstruction *number_like(const HloInstruction *like, int64_t number) {
  return type_is_integral(like->shape->type) ? algebraic_integer(like, number) : algebraic_number(like, (double)number);
}

/* The counts along a dimension of |like|, spread over it; NULL where that is one number, or a large constant. */
static HloInstruction *spread_counts(const HloInstruction *like, int64_t dimension, const WindowCounts *counts) {
  HloModule *module = like->parent->module;
  PrimitiveType type = like->shape->type;
  const Shape *shape = shape_array(module->shapes, type, &counts->size, 1);
  HloInstruction *vector;
  if (counts->size * type_storage_bytes(type) <= MOST_BYTES) {
    Literal *literal = literal_create(module->arena, shape);
    for (int64_t i = 0; i < counts->size; i++) literal_set_int(literal, i, count_at(counts, i));
    vector = hlo_computation_add_constant(like->parent, literal, (StringView){0});
  } else if (counts->rises || counts->falls) {
    vector = hlo_computation_add(like->parent, HLO_IOTA, shape, NULL, 0, (StringView){0});
    hlo_instruction_set_int(vector, HLO_ATTR_IOTA_DIMENSION, 0);
    HloInstruction *one = number_like(vector, counts->rises ? 1 : counts->size);
    vector = counts->rises ? algebraic_binary(vector, HLO_ADD, vector, one)
                           : algebraic_binary(vector, HLO_SUBTRACT, one, vector);
  } else {
    return NULL;
  }
  return algebraic_broadcast(vector, like->shape, &dimension);
}

/* Sums of up to |most| times |value| from zero on are exact in any order, and have the sign of the product. */
static bool sums_exactly(HloInstruction *value, HloInstruction *init, int64_t most) {
  PrimitiveType type = value->shape->type;
  if (!algebraic_is_all(init, 0)) return false;
  if (type_is_integral(type)) return true;
  const Literal *literal = algebraic_splat_literal(value), *zero = algebraic_splat_literal(init);
  if (literal == NULL || zero == NULL || !algebraic_is_ieee(value)) return false;
  double number = literal_get_double(literal, 0), limit = (double)((int64_t)2 << type_info(type)->mantissa_bits);
  if (__builtin_signbit(literal_get_double(zero, 0)) || !(number >= 0) || number > limit) return false;
  if (number != (double)(int64_t)number || __builtin_signbit(number)) return false;
  return number * (double)most <= limit;
}

/* The numbers of elements in the windows, as an array like |instruction|; those that are the same in every window go
 * into |out_factor|.  NULL: no number depends on the place; |*out_possible| false: a large constant would be needed. */
static HloInstruction *count_elements(HloInstruction *instruction, const WindowCounts *counts, int64_t *out_factor,
                                      bool *out_possible) {
  HloInstruction *product = NULL;
  *out_factor = 1;
  *out_possible = true;
  for (int d = 0; d < instruction->shape->rank; d++) {
    if (counts[d].least == counts[d].most) {
      *out_factor *= counts[d].most;
      continue;
    }
    HloInstruction *factor = spread_counts(instruction, d, &counts[d]);
    if (factor == NULL) {
      *out_possible = false;
      return NULL;
    }
    product = product == NULL ? factor : algebraic_binary(instruction, HLO_MULTIPLY, product, factor);
  }
  return product;
}

static HloOpcode combiner_of(const HloInstruction *instruction) {
  const HloInstruction *root = hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY)->root;
  if (instruction->operand_count != 2 || root->operand_count != 2) return HLO_TUPLE;
  const HloInstruction *a = root->operands[0], *b = root->operands[1];
  return a->opcode == HLO_PARAMETER && b->opcode == HLO_PARAMETER && a != b ? root->opcode : HLO_TUPLE;
}

/* reduce-window(broadcast(a), 0) that adds → a · how many are in each window, which is a product by dimension; of the
 * larger, the smaller, and, or → init ∘ a, when every window holds an element */
static HloInstruction *window_of_splat(HloInstruction *instruction) {
  HloInstruction *value = algebraic_splat_source(instruction->operands[0]), *init = instruction->operands[1];
  const Shape *shape = instruction->shape;
  HloOpcode combiner = combiner_of(instruction);
  if (value == NULL || !shape_is_array(shape) || shape_is_dynamic(shape) || shape->rank > RANK_LIMIT) return NULL;
  if (shape->rank == 0 || hlo_instruction_window(instruction) == NULL) return NULL;
  WindowCounts counts[RANK_LIMIT];
  int64_t most = 1, least = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (!count_windows(instruction, d, &counts[d])) return NULL;
    if (__builtin_mul_overflow(most, counts[d].most, &most)) return NULL;
    least = min_i64(least, counts[d].least);
  }
  if (hlo_opcode_has(combiner, OP_IDEMPOTENT)) {
    if (least < 1 || value->shape != init->shape) return NULL;
    return algebraic_broadcast(algebraic_binary(value, combiner, init, value), shape, NULL);
  }
  if (combiner != HLO_ADD || !sums_exactly(value, init, most)) return NULL;
  int64_t factor;
  bool possible;
  HloInstruction *product = count_elements(instruction, counts, &factor, &possible);
  if (!possible) return NULL;
  if (factor != 1) value = algebraic_binary(value, HLO_MULTIPLY, value, number_like(value, factor));
  HloInstruction *spread = algebraic_broadcast(value, shape, NULL);
  return product == NULL ? spread : algebraic_binary(instruction, HLO_MULTIPLY, product, spread);
}

AlgebraicRules algebraic_window_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_REDUCE_WINDOW, "window-of-splat", window_of_splat},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
