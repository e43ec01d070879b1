/* Elementwise rules: kernels of elementwise_*.c over whole arrays, comparisons, select and clamp. */
#include <math.h>
#include <string.h>

#include "hlo/eval/eval_internal.h"

/* Element |start| of an operand, which may be one scalar for all. */
static void load_operand(const EvalStep *step, int index, int64_t start, int64_t count, void *out) {
  const Literal *operand = eval_operand(step, index);
  PrimitiveType type = eval_operand_shape(step, index)->type;
  bool is_scalar = eval_operand_shape(step, index)->rank == 0;
  lanes_load(type, literal_element(operand, is_scalar ? 0 : start), is_scalar ? 0 : 1, count, out);
}

static void apply(EvalStep *step, LaneKernel *kernel) {
  const Shape *shape = eval_operand_shape(step, 0);
  bool is_binary = step->instruction->operand_count > 1;
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  LaneBlock a, b, result;
  for (int64_t start = 0; start < total; start += LANES) {
    int64_t count = min_i64(LANES, total - start);
    load_operand(step, 0, start, count, &a);
    if (is_binary) load_operand(step, 1, start, count, &b);
    kernel(type_bits(shape->type), count, &result, &a, is_binary ? &b : &a);
    lanes_store(out->shape->type, literal_element(out, start), count, &result);
  }
}

Status eval_elementwise(EvalStep *step) {
  PrimitiveType type = eval_operand_shape(step, 0)->type;
  LaneKernel *kernel = lane_kernel(step->instruction->opcode, lane_class(type));
  if (!kernel) return eval_error(step, "cannot be evaluated for %s", type_text(type));
  apply(step, kernel);
  return STATUS_OK;
}

/* ---- compare ---- */

#define COMPARE(name, Type, operator)                                                  \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits;                                                                        \
    const Type *x = a, *y = b;                                                         \
    for (int64_t i = 0; i < count; i++) ((uint64_t *)out)[i] = x[i] operator y[i];     \
  }

#define COMPARES(prefix, Type)   \
  COMPARE(prefix##_eq, Type, ==) \
  COMPARE(prefix##_ne, Type, !=) \
  COMPARE(prefix##_ge, Type, >=) \
  COMPARE(prefix##_gt, Type, >)  \
  COMPARE(prefix##_le, Type, <=) \
  COMPARE(prefix##_lt, Type, <)

COMPARES(signed, int64_t)
COMPARES(unsigned, uint64_t)
COMPARES(float, double)

static void complex_eq(int bits, int64_t count, void *out, const void *a, const void *b) {
  (void)bits;
  const LaneComplex *x = a, *y = b;
  for (int64_t i = 0; i < count; i++) ((uint64_t *)out)[i] = x[i].re == y[i].re && x[i].im == y[i].im;
}

static void complex_ne(int bits, int64_t count, void *out, const void *a, const void *b) {
  complex_eq(bits, count, out, a, b);
  for (int64_t i = 0; i < count; i++) ((uint64_t *)out)[i] ^= 1;
}

/* -NaN < -inf < … < -0 < +0 < … < inf < NaN: the order of the bits as sign and magnitude. */
static int64_t total_order_key(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

#define TOTAL(name)                                                                            \
  static void total_##name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    const double *x = a, *y = b;                                                               \
    for (int64_t i = 0; i < count; i++) {                                                      \
      int64_t p = total_order_key(x[i]), q = total_order_key(y[i]);                            \
      signed_##name(bits, 1, (uint64_t *)out + i, &p, &q);                                     \
    }                                                                                          \
  }

TOTAL(eq)
TOTAL(ne)
TOTAL(ge)
TOTAL(gt)
TOTAL(le)
TOTAL(lt)

#define DIRECTIONS(prefix)                                                              \
  {                                                                                     \
      [COMPARISON_DIRECTION_EQ] = prefix##_eq, [COMPARISON_DIRECTION_NE] = prefix##_ne, \
      [COMPARISON_DIRECTION_GE] = prefix##_ge, [COMPARISON_DIRECTION_GT] = prefix##_gt, \
      [COMPARISON_DIRECTION_LE] = prefix##_le, [COMPARISON_DIRECTION_LT] = prefix##_lt, \
  }

enum { DIRECTION_COUNT = 6 };

static LaneKernel *const compare_kernels[LANE_CLASS_COUNT][DIRECTION_COUNT] = {
    [LANE_PRED] = DIRECTIONS(unsigned),
    [LANE_SIGNED] = DIRECTIONS(signed),
    [LANE_UNSIGNED] = DIRECTIONS(unsigned),
    [LANE_FLOAT] = DIRECTIONS(float),
    [LANE_COMPLEX] = {[COMPARISON_DIRECTION_EQ] = complex_eq, [COMPARISON_DIRECTION_NE] = complex_ne},
};

static LaneKernel *const total_kernels[DIRECTION_COUNT] = DIRECTIONS(total);

LaneKernel *lane_compare_kernel(ComparisonDirection direction, LaneClass lane, bool total_order) {
  return lane == LANE_FLOAT && total_order ? total_kernels[direction] : compare_kernels[lane][direction];
}

Status eval_compare(EvalStep *step) {
  PrimitiveType type = eval_operand_shape(step, 0)->type;
  ComparisonDirection direction = (ComparisonDirection)hlo_instruction_int(step->instruction, HLO_ATTR_DIRECTION, 0);
  int64_t order = hlo_instruction_int(step->instruction, HLO_ATTR_COMPARISON_TYPE, COMPARISON_TYPE_FLOAT);
  LaneKernel *kernel = lane_compare_kernel(direction, lane_class(type), order == COMPARISON_TYPE_TOTALORDER);
  if (!kernel) return eval_error(step, "cannot be evaluated for %s in this direction", type_text(type));
  apply(step, kernel);
  return STATUS_OK;
}

/* ---- select and clamp ---- */

Status eval_select(EvalStep *step) {
  const Literal *choice = eval_operand(step, 0), *yes = eval_operand(step, 1), *no = eval_operand(step, 2);
  if (!shape_is_array(step->instruction->shape)) {
    eval_forward_value(step, *(const uint8_t *)choice->data ? yes : no);
    return STATUS_OK;
  }
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  size_t unit = (size_t)type_storage_bytes(out->shape->type);
  const uint8_t *choices = choice->data;
  int64_t stride = eval_operand_shape(step, 0)->rank > 0;
  for (int64_t i = 0; i < total; i++) {
    const Literal *source = choices[i * stride] ? yes : no;
    memcpy((char *)out->data + (size_t)i * unit, (const char *)source->data + (size_t)i * unit, unit);
  }
  return STATUS_OK;
}

Status eval_clamp(EvalStep *step) {
  PrimitiveType type = step->instruction->shape->type;
  LaneKernel *maximum = lane_kernel(HLO_MAXIMUM, lane_class(type));
  LaneKernel *minimum = lane_kernel(HLO_MINIMUM, lane_class(type));
  if (!maximum) return eval_error(step, "cannot be evaluated for %s", type_text(type));
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  LaneBlock low, high, value;
  for (int64_t start = 0; start < total; start += LANES) {
    int64_t count = min_i64(LANES, total - start);
    load_operand(step, 0, start, count, &low);
    load_operand(step, 1, start, count, &value);
    load_operand(step, 2, start, count, &high);
    maximum(type_bits(type), count, &value, &low, &value);
    minimum(type_bits(type), count, &value, &value, &high);
    lanes_store(type, literal_element(out, start), count, &value);
  }
  return STATUS_OK;
}
