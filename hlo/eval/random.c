/* Random bits.  rng-bit-generator is exact: Threefry 2x32 with 20 rounds and Philox 4x32 with 10 (Salmon et al.,
 * "Parallel random numbers: as easy as 1, 2, 3", 2011), counters and order of the outputs as in XLA. */
#include <math.h>
#include <string.h>

#include "hlo/eval/eval_internal.h"

static uint32_t low_half(uint64_t value) {
  return (uint32_t)value;
}

static uint32_t high_half(uint64_t value) {
  return (uint32_t)(value >> 32);
}

static uint64_t join_halves(uint32_t low, uint32_t high) {
  return (uint64_t)high << 32 | low;
}

/* |bits|, as many as the type has; floats are what they say as an unsigned number. */
static void store_number(Literal *out, int64_t element, uint64_t bits) {
  PrimitiveType type = out->shape->type;
  if (type_is_float(type)) {
    literal_set_double(out, element, (double)(bits & type_int_max(type_unsigned_of(type))));
  } else {
    literal_set_int(out, element, (int64_t)bits);
  }
}

/* ---- Threefry ---- */

static void threefry_rounds(uint32_t *x, const int *rotations) {
  for (int i = 0; i < 4; i++) {
    x[0] += x[1];
    x[1] = (x[1] << rotations[i] | x[1] >> (32 - rotations[i])) ^ x[0];
  }
}

static void threefry(uint64_t key, uint64_t counter, uint32_t *out) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t keys[3] = {low_half(key), high_half(key), 0};
  keys[2] = 0x1BD11BDAu ^ keys[0] ^ keys[1];
  out[0] = low_half(counter) + keys[0];
  out[1] = high_half(counter) + keys[1];
  for (uint32_t i = 0; i < 5; i++) {
    threefry_rounds(out, rotations[i % 2]);
    out[0] += keys[(i + 1) % 3];
    out[1] += keys[(i + 2) % 3] + i + 1;
  }
}

/* The dimension whose neighbours share a counter: the first even one, else the first of the largest. */
static int split_dimension(const Shape *shape) {
  for (int i = 0; i < shape->rank; i++)
    if (shape->dims[i] % 2 == 0) return i;
  int split = 0;
  for (int i = 1; i < shape->rank; i++)
    if (shape->dims[i] > shape->dims[split]) split = i;
  return split;
}

/* 32 bits and less: each counter makes two numbers, neighbours along the split dimension. */
static uint64_t threefry_narrow(uint64_t key, uint64_t counter, Literal *out) {
  const Shape *shape = out->shape;
  uint32_t pair[2];
  if (shape->rank == 0) {
    threefry(key, counter, pair);
    store_number(out, 0, pair[0]);
    return counter + 1;
  }
  int64_t half[EVAL_MAX_RANK], strides[EVAL_MAX_RANK], index[EVAL_MAX_RANK] = {0}, total = 1;
  int split = split_dimension(shape);
  eval_strides(shape, strides);
  for (int i = 0; i < shape->rank; i++) total *= half[i] = i == split ? ceil_div(shape->dims[i], 2) : shape->dims[i];
  for (int64_t i = 0; i < total; i++) {
    threefry(key, counter + (uint64_t)i, pair);
    int64_t at = eval_offset(shape->rank, index, strides) + index[split] * strides[split];
    store_number(out, at, pair[0]);
    if (2 * index[split] + 1 < shape->dims[split]) store_number(out, at + strides[split], pair[1]);
    eval_next_index(shape->rank, half, index);
  }
  return counter + (uint64_t)total;
}

static uint64_t threefry_fill(uint64_t key, uint64_t counter, Literal *out) {
  if (type_bits(out->shape->type) < 64) return threefry_narrow(key, counter, out);
  int64_t total = shape_element_count(out->shape);
  for (int64_t i = 0; i < total; i++) {
    uint32_t pair[2];
    threefry(key, counter + (uint64_t)i, pair);
    store_number(out, i, join_halves(pair[0], pair[1]));
  }
  return counter + (uint64_t)total;
}

/* ---- Philox ---- */

static void philox(uint64_t key, const uint64_t *counter, uint32_t *out) {
  uint32_t x[4] = {low_half(counter[0]), high_half(counter[0]), low_half(counter[1]), high_half(counter[1])};
  uint32_t keys[2] = {low_half(key), high_half(key)};
  for (int i = 0; i < 10; i++) {
    uint64_t first = (uint64_t)x[0] * 0xD2511F53u, second = (uint64_t)x[2] * 0xCD9E8D57u;
    uint32_t next[4] = {high_half(second) ^ x[1] ^ keys[0], low_half(second), high_half(first) ^ x[3] ^ keys[1],
                        low_half(first)};
    memcpy(x, next, sizeof x);
    keys[0] += 0x9E3779B9u;
    keys[1] += 0xBB67AE85u;
  }
  memcpy(out, x, sizeof x);
}

static void add_to_counter(uint64_t *counter, uint64_t delta) {
  counter[0] += delta;
  if (counter[0] < delta) counter[1]++;
}

/* |counter|: low and high half, advanced.  Each value makes four numbers of 32 bits or two of 64. */
static void philox_fill(uint64_t key, uint64_t *counter, Literal *out) {
  bool is_wide = type_bits(out->shape->type) == 64;
  int64_t total = shape_element_count(out->shape), group = is_wide ? 2 : 4;
  for (int64_t i = 0; i < total; i += group) {
    uint32_t numbers[4];
    philox(key, counter, numbers);
    for (int64_t j = 0; j < group && i + j < total; j++) {
      uint64_t bits = is_wide ? join_halves(numbers[2 * j], numbers[2 * j + 1]) : numbers[j];
      store_number(out, i + j, bits);
    }
    add_to_counter(counter, 1);
  }
}

/* ---- rules ---- */

static bool takes_bits(const EvalStep *step, PrimitiveType type) {
  return (type_is_integral(type) || type_is_float(type)) && eval_operand_shape(step, 0)->type == TYPE_U64;
}

/* State: key, counter (Philox: the low half of the counter; the high half follows, or is the key again). */
Status eval_rng_bit_generator(EvalStep *step) {
  const Literal *state = eval_operand(step, 0);
  Literal *out = eval_result(step);
  Literal *bits = shape_is_tuple(out->shape) ? &out->tuple[1] : out;
  int64_t count = shape_element_count(state->shape);
  if (!takes_bits(step, bits->shape->type) || state->shape->rank != 1 || count < 2)
    return eval_error(step, "can be evaluated for integers and floats from an u64[2] or u64[3] only");
  uint64_t words[3] = {0};
  memcpy(words, state->data, (size_t)min_i64(count, 3) * sizeof(uint64_t));
  uint64_t counter[2] = {words[1], count >= 3 ? words[2] : words[0]};
  if (hlo_instruction_int(step->instruction, HLO_ATTR_RNG_ALGORITHM, 0) == RANDOM_ALGORITHM_THREE_FRY)
    counter[0] = threefry_fill(words[0], counter[0], bits);
  else
    philox_fill(words[0], counter, bits);
  if (!shape_is_tuple(out->shape)) return STATUS_OK;
  eval_copy_leaves(&out->tuple[0], state);
  uint64_t *next = out->tuple[0].data;
  next[1] = counter[0];
  if (count >= 3) next[2] = counter[1];
  return STATUS_OK;
}

/* splitmix64: rng has no stream of its own, only a distribution. */
static uint64_t next_bits(Evaluation *evaluation) {
  uint64_t z = evaluation->random_state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static double next_fraction(Evaluation *evaluation) {
  return (double)(next_bits(evaluation) >> 11) * 0x1p-53;
}

static double next_normal(Evaluation *evaluation) {
  double radius = sqrt(-2 * log(1 - next_fraction(evaluation)));
  return radius * cos(2 * 3.14159265358979323846 * next_fraction(evaluation));
}

/* From [a, b), or normal with mean a and deviation b. */
static void next_number(EvalStep *step, PrimitiveType type, bool is_normal, Literal *out, int64_t index) {
  Evaluation *evaluation = step->frame->evaluation;
  if (type_is_float(type)) {
    double a = literal_get_double(eval_operand(step, 0), 0), b = literal_get_double(eval_operand(step, 1), 0);
    double value = is_normal ? a + b * next_normal(evaluation) : a + (b - a) * next_fraction(evaluation);
    literal_set_double(out, index, value);
    if (!is_normal && literal_get_double(out, index) >= b) literal_set_double(out, index, a); /* rounded up */
    return;
  }
  int64_t a = literal_get_int(eval_operand(step, 0), 0), b = literal_get_int(eval_operand(step, 1), 0);
  uint64_t range = (uint64_t)b - (uint64_t)a;
  literal_set_int(out, index, (int64_t)((uint64_t)a + (range ? next_bits(evaluation) % range : 0)));
}

Status eval_rng(EvalStep *step) {
  PrimitiveType type = step->instruction->shape->type;
  bool is_normal = hlo_instruction_int(step->instruction, HLO_ATTR_DISTRIBUTION, 0) == RANDOM_DISTRIBUTION_NORMAL;
  if (type_is_complex(type)) return eval_error(step, "cannot be evaluated for %s", type_text(type));
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  for (int64_t i = 0; i < total; i++) next_number(step, type, is_normal, out, i);
  return STATUS_OK;
}

Status eval_rng_state(EvalStep *step) {
  Evaluation *evaluation = step->frame->evaluation;
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  for (int64_t i = 0; i < total; i++) literal_set_int(out, i, i == 0 ? (int64_t)evaluation->random_state : 0);
  evaluation->random_state += (uint64_t)hlo_instruction_int(step->instruction, HLO_ATTR_DELTA, 0);
  return STATUS_OK;
}
