#include "base/checked_math.h"
#include "passes/expand/graph_builder.h"

/* rng-bit-generator, rng and stochastic-convert as integer arithmetic.
 *
 * rng-bit-generator is exact: Threefry 2x32 with 20 rounds and Philox 4x32 with 10 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011), with the counters and the order of the numbers of XLA.  rng has a distribution,
 * but no stream of its own: number i is splitmix64 of the module's state plus i. */

static HloInstruction *add(GraphBuilder *builder, HloInstruction *a, HloInstruction *b) {
  return graph_binary(builder, HLO_ADD, a, b);
}

static HloInstruction *exclusive_or(GraphBuilder *builder, HloInstruction *a, HloInstruction *b) {
  return graph_binary(builder, HLO_XOR, a, b);
}

/* |opcode| with one number on the right. */
static HloInstruction *with(GraphBuilder *builder, HloOpcode opcode, HloInstruction *a, uint64_t number) {
  return graph_binary(builder, opcode, a, graph_integer(builder, a->shape->type, (int64_t)number, a->shape));
}

static HloInstruction *low_half(GraphBuilder *builder, HloInstruction *wide) {
  return graph_convert(builder, wide, TYPE_U32);
}

static HloInstruction *high_half(GraphBuilder *builder, HloInstruction *wide) {
  return graph_convert(builder, with(builder, HLO_SHIFT_RIGHT_LOGICAL, wide, 32), TYPE_U32);
}

static HloInstruction *join_halves(GraphBuilder *builder, HloInstruction *low, HloInstruction *high) {
  HloInstruction *upper = with(builder, HLO_SHIFT_LEFT, graph_convert(builder, high, TYPE_U64), 32);
  return graph_binary(builder, HLO_OR, upper, graph_convert(builder, low, TYPE_U64));
}

/* Word |index| of an u64[] state as a scalar. */
static HloInstruction *state_word(GraphBuilder *builder, HloInstruction *state, int64_t index) {
  return graph_reshape(builder, graph_slice(builder, state, 0, index, index + 1), NULL, 0);
}

/* u64: 0, 1, 2 … in row-major order. */
static HloInstruction *positions(GraphBuilder *builder, const int64_t *dims, int rank) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  return graph_reshape(builder, graph_iota(builder, TYPE_U64, &count, 1, 0), dims, rank);
}

/* --- Threefry --- */

static void threefry_round(GraphBuilder *builder, HloInstruction **x, int rotation) {
  x[0] = add(builder, x[0], x[1]);
  HloInstruction *turned = graph_binary(builder, HLO_OR, with(builder, HLO_SHIFT_LEFT, x[1], (uint64_t)rotation),
                                        with(builder, HLO_SHIFT_RIGHT_LOGICAL, x[1], (uint64_t)(32 - rotation)));
  x[1] = exclusive_or(builder, turned, x[0]);
}

/* Two u32 for each of |counters|. */
static void threefry(GraphBuilder *builder, HloInstruction *key, HloInstruction *counters, HloInstruction **x) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  HloInstruction *keys[3] = {low_half(builder, key), high_half(builder, key), NULL};
  keys[2] = exclusive_or(builder, with(builder, HLO_XOR, keys[0], 0x1BD11BDAu), keys[1]);
  for (int i = 0; i < 3; i++) keys[i] = graph_splat(builder, keys[i], counters->shape);
  x[0] = add(builder, low_half(builder, counters), keys[0]);
  x[1] = add(builder, high_half(builder, counters), keys[1]);
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < 4; k++) threefry_round(builder, x, rotations[i % 2][k]);
    x[0] = add(builder, x[0], keys[(i + 1) % 3]);
    x[1] = with(builder, HLO_ADD, add(builder, x[1], keys[(i + 2) % 3]), (uint64_t)i + 1);
  }
}

/* The dimension whose neighbours share a counter: the first even one, else the first of the largest. */
static int split_dimension(const Shape *shape) {
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] % 2 == 0) return i;
  }
  int split = 0;
  for (int i = 1; i < shape->rank; i++) {
    if (shape->dims[i] > shape->dims[split]) split = i;
  }
  return split;
}

/* |pair| in turn along |split|, of |shape|'s dimensions. */
static HloInstruction *interleave(GraphBuilder *builder, HloInstruction *const *pair, const Shape *shape, int split) {
  int rank = shape->rank;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, rank + 1);
  HloInstruction *columns[2];
  for (int i = 0; i <= rank; i++)
    dims[i] = i <= split ? pair[0]->shape->dims[i] : i == split + 1 ? 1 : shape->dims[i - 1];
  for (int i = 0; i < 2; i++) columns[i] = graph_reshape(builder, pair[i], dims, rank + 1);
  HloInstruction *both = graph_concatenate(builder, columns, 2, split + 1);
  dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, shape->dims, rank);
  dims[split] = 2 * pair[0]->shape->dims[split];
  both = graph_reshape(builder, both, dims, rank);
  return dims[split] == shape->dims[split] ? both : graph_slice(builder, both, split, 0, shape->dims[split]);
}

/* Numbers of |shape|; |*out_used|: so many counters. */
static HloInstruction *threefry_numbers(GraphBuilder *builder, HloInstruction *key, HloInstruction *counter,
                                        const Shape *shape, int64_t *out_used) {
  bool is_wide = type_bits(shape->type) == 64, is_split = !is_wide && shape->rank > 0;
  int split = is_split ? split_dimension(shape) : 0;
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, shape->dims, shape->rank);
  if (is_split) dims[split] = ceil_div(dims[split], 2);
  HloInstruction *counters = positions(builder, dims, shape->rank), *pair[2];
  *out_used = shape_element_count(counters->shape);
  threefry(builder, key, add(builder, counters, graph_splat(builder, counter, counters->shape)), pair);
  HloInstruction *numbers = is_wide    ? join_halves(builder, pair[0], pair[1])
                            : is_split ? interleave(builder, pair, shape, split)
                                       : pair[0];
  return graph_convert(builder, numbers, shape->type);
}

/* --- Philox --- */

/* Four u32 for each counter of two words. */
static void philox(GraphBuilder *builder, HloInstruction *key, HloInstruction *const *counter, HloInstruction **x) {
  static const uint32_t factors[] = {0xD2511F53u, 0xCD9E8D57u}, steps[] = {0x9E3779B9u, 0xBB67AE85u};
  HloInstruction *keys[] = {low_half(builder, key), high_half(builder, key)};
  for (int i = 0; i < 4; i++)
    x[i] = i % 2 == 0 ? low_half(builder, counter[i / 2]) : high_half(builder, counter[i / 2]);
  for (int i = 0; i < 10; i++) {
    HloInstruction *products[2];
    for (int k = 0; k < 2; k++)
      products[k] = with(builder, HLO_MULTIPLY, graph_convert(builder, x[2 * k], TYPE_U64), factors[k]);
    HloInstruction *mixed[2];
    for (int k = 0; k < 2; k++)
      mixed[k] = exclusive_or(builder, exclusive_or(builder, high_half(builder, products[1 - k]), x[2 * k + 1]),
                              graph_splat(builder, keys[k], x[0]->shape));
    x[0] = mixed[0];
    x[1] = low_half(builder, products[1]);
    x[2] = mixed[1];
    x[3] = low_half(builder, products[0]);
    for (int k = 0; k < 2; k++) keys[k] = with(builder, HLO_ADD, keys[k], steps[k]);
  }
}

/* |counter|, two words, |steps| (scalars or arrays of one shape) later. */
static void advance(GraphBuilder *builder, HloInstruction **counter, HloInstruction *steps) {
  counter[0] = add(builder, counter[0], steps);
  HloInstruction *carry = graph_compare(builder, COMPARISON_DIRECTION_LT, counter[0], steps);
  counter[1] = add(builder, counter[1], graph_convert(builder, carry, TYPE_U64));
}

/* Numbers of |shape|: four of 32 bits or two of 64 to a counter. */
static HloInstruction *philox_numbers(GraphBuilder *builder, HloInstruction *key, HloInstruction *const *counter,
                                      const Shape *shape, int64_t *out_used) {
  bool is_wide = type_bits(shape->type) == 64;
  int group = is_wide ? 2 : 4;
  int64_t total = shape_element_count(shape), used = ceil_div(total, group);
  HloInstruction *x[4], *columns[4], *at[2];
  HloInstruction *steps = positions(builder, &used, 1);
  for (int i = 0; i < 2; i++) at[i] = graph_splat(builder, counter[i], steps->shape);
  advance(builder, at, steps);
  philox(builder, key, at, x);
  for (int i = 0; i < group; i++) {
    HloInstruction *column = is_wide ? join_halves(builder, x[2 * i], x[2 * i + 1]) : x[i];
    columns[i] = graph_reshape(builder, column, (int64_t[]){used, 1}, 2);
  }
  const int64_t length = used * group;
  HloInstruction *numbers = graph_reshape(builder, graph_concatenate(builder, columns, group, 1), &length, 1);
  if (length != total) numbers = graph_slice(builder, numbers, 0, 0, total);
  *out_used = used;
  return graph_convert(builder, graph_reshape(builder, numbers, shape->dims, shape->rank), shape->type);
}

/* Floats are made of as many random bits, read as an unsigned number. */
static PrimitiveType numbers_type(PrimitiveType type) {
  if (type_is_integral(type)) return type;
  return type_is_float(type) ? type_unsigned_of(type) : TYPE_INVALID;
}

/* State: key, counter (Philox: the low half of the counter; the high half follows, or is the key again). */
static HloInstruction *expand_bit_generator(GraphBuilder *builder) {
  const Shape *shape = builder->origin->shape, *bits = shape_is_tuple(shape) ? shape->tuple[1] : shape;
  HloInstruction *state = graph_operand(builder, 0);
  PrimitiveType type = numbers_type(bits->type);
  if (type == TYPE_INVALID || state->shape->type != TYPE_U64 || state->shape->rank != 1 || state->shape->dims[0] < 2 ||
      shape_is_dynamic(shape))
    return NULL;
  int64_t words = state->shape->dims[0], used;
  HloInstruction *key = state_word(builder, state, 0);
  HloInstruction *counter[] = {state_word(builder, state, 1), words >= 3 ? state_word(builder, state, 2) : key};
  const Shape *drawn = shape_with_type(graph_shapes(builder), bits, type);
  bool is_philox = hlo_instruction_int(builder->origin, HLO_ATTR_RNG_ALGORITHM, 0) != RANDOM_ALGORITHM_THREE_FRY;
  HloInstruction *numbers = is_philox ? philox_numbers(builder, key, counter, drawn, &used)
                                      : threefry_numbers(builder, key, counter[0], drawn, &used);
  numbers = graph_convert(builder, numbers, bits->type);
  if (!shape_is_tuple(shape)) return numbers;
  HloInstruction *steps = graph_integer(builder, TYPE_U64, used, NULL), *parts[4];
  if (is_philox) {
    advance(builder, counter, steps);
  } else {
    counter[0] = add(builder, counter[0], steps);
  }
  int64_t known = min_i64(words, 3);
  parts[0] = graph_slice(builder, state, 0, 0, 1);
  for (int64_t i = 1; i < known; i++) parts[i] = graph_reshape(builder, counter[i - 1], (int64_t[]){1}, 1);
  if (words > known) parts[known] = graph_slice(builder, state, 0, known, words);
  HloInstruction *next = graph_concatenate(builder, parts, (int)(words > known ? known + 1 : known), 0);
  return graph_tuple(builder, (HloInstruction *[]){next, numbers}, 2);
}

/* --- rng --- */

#define SPLITMIX_STEP 0x9E3779B97F4A7C15u

/* u64 of |dims|, |streams| (1 or 2) for each element: number |stream| of each. */
static HloInstruction *splitmix(GraphBuilder *builder, HloInstruction *state, const Shape *like, int64_t streams,
                                int64_t stream) {
  HloInstruction *count = positions(builder, like->dims, like->rank);
  count = with(builder, HLO_ADD, with(builder, HLO_MULTIPLY, count, (uint64_t)streams), (uint64_t)stream + 1);
  HloInstruction *z =
      add(builder, graph_splat(builder, state, like), with(builder, HLO_MULTIPLY, count, SPLITMIX_STEP));
  z = with(builder, HLO_MULTIPLY, exclusive_or(builder, z, with(builder, HLO_SHIFT_RIGHT_LOGICAL, z, 30)),
           0xBF58476D1CE4E5B9u);
  z = with(builder, HLO_MULTIPLY, exclusive_or(builder, z, with(builder, HLO_SHIFT_RIGHT_LOGICAL, z, 27)),
           0x94D049BB133111EBu);
  return exclusive_or(builder, z, with(builder, HLO_SHIFT_RIGHT_LOGICAL, z, 31));
}

/* f64 in [0, 1). */
static HloInstruction *fraction(GraphBuilder *builder, HloInstruction *bits) {
  HloInstruction *number = graph_convert(builder, with(builder, HLO_SHIFT_RIGHT_LOGICAL, bits, 11), TYPE_F64);
  return graph_binary(builder, HLO_MULTIPLY, number, graph_real(builder, TYPE_F64, 0x1p-53, number->shape));
}

/* Mean 0 and deviation 1, after Box and Muller. */
static HloInstruction *normal(GraphBuilder *builder, HloInstruction *a, HloInstruction *b) {
  const Shape *shape = a->shape;
  HloInstruction *left = graph_binary(builder, HLO_SUBTRACT, graph_real(builder, TYPE_F64, 1, shape), a);
  HloInstruction *radius = graph_binary(builder, HLO_MULTIPLY, graph_real(builder, TYPE_F64, -2, shape),
                                        graph_unary(builder, HLO_LOG, left));
  HloInstruction *angle =
      graph_binary(builder, HLO_MULTIPLY, graph_real(builder, TYPE_F64, 2 * 3.14159265358979323846, shape), b);
  return graph_binary(builder, HLO_MULTIPLY, graph_unary(builder, HLO_SQRT, radius),
                      graph_unary(builder, HLO_COSINE, angle));
}

/* The state before, with so many numbers taken from it. */
static HloInstruction *take_numbers(GraphBuilder *builder, int64_t count) {
  const int64_t two = 2;
  HloInstruction *state =
      graph_add(builder, HLO_RNG_GET_AND_UPDATE_STATE, shape_array(graph_shapes(builder), TYPE_U64, &two, 1), NULL, 0);
  hlo_instruction_set_int(state, HLO_ATTR_DELTA, (int64_t)((uint64_t)count * SPLITMIX_STEP));
  return state_word(builder, state, 0);
}

/* From [a, b), or normal with mean a and deviation b. */
static HloInstruction *float_numbers(GraphBuilder *builder, HloInstruction *state, const Shape *shape, bool is_normal) {
  HloInstruction *bounds[2];
  for (int i = 0; i < 2; i++) {
    HloInstruction *bound = graph_convert(builder, graph_operand(builder, i), TYPE_F64);
    bounds[i] = graph_splat(builder, bound, shape);
  }
  HloInstruction *unit = fraction(builder, splitmix(builder, state, shape, is_normal ? 2 : 1, 0)), *scale = bounds[1];
  if (is_normal) {
    unit = normal(builder, unit, fraction(builder, splitmix(builder, state, shape, 2, 1)));
  } else {
    scale = graph_binary(builder, HLO_SUBTRACT, bounds[1], bounds[0]);
  }
  HloInstruction *value = add(builder, bounds[0], graph_binary(builder, HLO_MULTIPLY, scale, unit));
  HloInstruction *result = graph_convert(builder, value, shape->type);
  if (is_normal) return result;
  HloInstruction *is_over =
      graph_compare(builder, COMPARISON_DIRECTION_GE, graph_convert(builder, result, TYPE_F64), bounds[1]);
  return graph_select(builder, is_over, graph_convert(builder, bounds[0], shape->type), result); /* rounded up */
}

static HloInstruction *integer_numbers(GraphBuilder *builder, HloInstruction *state, const Shape *shape) {
  HloInstruction *bounds[2];
  for (int i = 0; i < 2; i++) bounds[i] = graph_convert(builder, graph_operand(builder, i), TYPE_U64);
  HloInstruction *range = graph_binary(builder, HLO_SUBTRACT, bounds[1], bounds[0]),
                 *zero = graph_zero(builder, TYPE_U64, NULL);
  HloInstruction *is_empty = graph_compare(builder, COMPARISON_DIRECTION_EQ, range, zero);
  range = graph_select(builder, is_empty, graph_integer(builder, TYPE_U64, 1, NULL), range);
  HloInstruction *rest =
      graph_binary(builder, HLO_REMAINDER, splitmix(builder, state, shape, 1, 0), graph_splat(builder, range, shape));
  return graph_convert(builder, add(builder, graph_splat(builder, bounds[0], shape), rest), shape->type);
}

static HloInstruction *expand_rng(GraphBuilder *builder) {
  const HloInstruction *rng = builder->origin;
  const Shape *shape = rng->shape;
  bool is_normal = hlo_instruction_int(rng, HLO_ATTR_DISTRIBUTION, 0) == RANDOM_DISTRIBUTION_NORMAL;
  bool is_float = type_is_float(shape->type);
  if (!is_float && (!type_is_integral(shape->type) || is_normal)) return NULL;
  if (rng->operand_count != 2 || shape_is_dynamic(shape)) return NULL;
  HloInstruction *state = take_numbers(builder, shape_element_count(shape) * (is_normal ? 2 : 1));
  return is_float ? float_numbers(builder, state, shape, is_normal) : integer_numbers(builder, state, shape);
}

/* --- stochastic-convert --- */

/* To integers: truncates, and adds one with the probability of the fraction; |random| is uniform in its bits. */
static HloInstruction *expand_stochastic_convert(GraphBuilder *builder) {
  const HloInstruction *convert = builder->origin;
  HloInstruction *value = graph_operand(builder, 0), *random = graph_operand(builder, 1);
  PrimitiveType type = value->shape->type, bits = random->shape->type;
  if (!type_is_integral(convert->shape->type) || !type_is_float(type) || !type_is_unsigned(bits)) return NULL;
  PrimitiveType wide = type == TYPE_F64 || type_bits(bits) > 32 ? TYPE_F64 : TYPE_F32;
  value = graph_convert(builder, value, wide);
  HloInstruction *size = graph_unary(builder, HLO_ABS, value), *whole = graph_unary(builder, HLO_FLOOR, size);
  HloInstruction *range = graph_real(builder, wide, (double)(UINT64_C(1) << (type_bits(bits) - 1)) * 2, value->shape);
  HloInstruction *part = graph_binary(builder, HLO_MULTIPLY, graph_binary(builder, HLO_SUBTRACT, size, whole), range);
  HloInstruction *goes_up = graph_compare(builder, COMPARISON_DIRECTION_LT, random,
                                          graph_convert(builder, graph_unary(builder, HLO_FLOOR, part), bits));
  HloInstruction *rounded = add(builder, whole, graph_convert(builder, goes_up, wide));
  HloInstruction *is_negative =
      graph_compare(builder, COMPARISON_DIRECTION_LT, value, graph_zero(builder, wide, value->shape));
  rounded = graph_select(builder, is_negative, graph_unary(builder, HLO_NEGATE, rounded), rounded);
  return graph_convert(builder, rounded, convert->shape->type);
}

static const GraphRuleRow rules[] = {
    {HLO_RNG, expand_rng},
    {HLO_RNG_BIT_GENERATOR, expand_bit_generator},
    {HLO_STOCHASTIC_CONVERT, expand_stochastic_convert},
};

static Status run_random_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_random_expander_pass = {"random-expander", "spell random numbers as integer arithmetic",
                                          run_random_expander, false};
