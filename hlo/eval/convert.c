/* Changes of element type: convert, bitcast-convert, reduce-precision, stochastic-convert. */
#include <math.h>
#include <string.h>

#include "hlo/eval/eval_internal.h"
#include "hlo/type/float_types.h"

Status eval_convert(EvalStep *step) {
  PrimitiveType from = eval_operand_shape(step, 0)->type;
  const Literal *in = eval_operand(step, 0);
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  LaneBlock block;
  for (int64_t start = 0; start < total; start += LANES) {
    int64_t count = min_i64(LANES, total - start);
    lanes_load(from, literal_element(in, start), 1, count, &block);
    lanes_convert(lane_class(from), out->shape->type, count, &block, &block);
    lanes_store(out->shape->type, literal_element(out, start), count, &block);
  }
  return STATUS_OK;
}

/* ---- reduce-precision ---- */

typedef struct FloatFormat {
  int exponent_bits, mantissa_bits;
} FloatFormat;

/* |bits| of a value of format |type| with fewer mantissa bits (to nearest even) and the exponents of fewer bits: what
 * is too large becomes infinite, what is not normal 0. */
static uint64_t reduce_bits(uint64_t bits, FloatFormat type, FloatFormat target) {
  uint64_t sign = bits & (uint64_t)1 << (type.exponent_bits + type.mantissa_bits);
  uint64_t size = bits ^ sign;
  uint64_t infinity = (((uint64_t)1 << type.exponent_bits) - 1) << type.mantissa_bits;
  if (target.mantissa_bits < type.mantissa_bits) {
    int drop = type.mantissa_bits - target.mantissa_bits;
    uint64_t last = size >> drop & 1;
    size = (size + last + ((uint64_t)1 << (drop - 1)) - 1) >> drop << drop;
  }
  if (target.exponent_bits < type.exponent_bits) {
    uint64_t bias = ((uint64_t)1 << (type.exponent_bits - 1)) - 1;
    uint64_t reach = ((uint64_t)1 << (target.exponent_bits - 1)) - 1;
    uint64_t exponent = size >> type.mantissa_bits;
    if (exponent > bias + reach) size = infinity;
    if (exponent <= bias - reach) size = 0;
  }
  return sign | size;
}

static double reduce_value(double value, PrimitiveType type, FloatFormat target) {
  if (isnan(value)) return value;
  PrimitiveType format = float_precision_format(type);
  const TypeInfo *info = type_info(format);
  FloatFormat source = {info->exponent_bits, info->mantissa_bits};
  return float_decode(format, reduce_bits(float_encode(format, value), source, target));
}

Status eval_reduce_precision(EvalStep *step) {
  PrimitiveType type = step->instruction->shape->type;
  FloatFormat target = {(int)hlo_instruction_int(step->instruction, HLO_ATTR_EXPONENT_BITS, 0),
                        (int)hlo_instruction_int(step->instruction, HLO_ATTR_MANTISSA_BITS, 0)};
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  LaneBlock block;
  for (int64_t start = 0; start < total; start += LANES) {
    int64_t count = min_i64(LANES, total - start);
    lanes_load(type, literal_element(eval_operand(step, 0), start), 1, count, &block);
    for (int64_t i = 0; i < count; i++) block.f[i] = reduce_value(block.f[i], type, target);
    lanes_store(type, literal_element(out, start), count, &block);
  }
  return STATUS_OK;
}

/* ---- stochastic-convert ---- */

/* Truncates, and adds one with the probability of the fraction: |random| is uniform in |bits| bits. */
static double stochastic_value(double value, uint64_t random, int bits) {
  double size = fabs(value), whole = floor(size);
  if (!isfinite(value)) return value;
  double fraction = ldexp(size - whole, bits);
  if ((double)random < floor(fraction)) whole += 1;
  return copysign(whole, value);
}

Status eval_stochastic_convert(EvalStep *step) {
  PrimitiveType from = eval_operand_shape(step, 0)->type, to = step->instruction->shape->type;
  if (!type_is_integral(to)) return eval_error(step, "cannot be evaluated to %s", type_text(to));
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  int bits = type_bits(eval_operand_shape(step, 1)->type);
  for (int64_t i = 0; i < total; i++) {
    double value;
    lanes_load(from, literal_element(eval_operand(step, 0), i), 1, 1, &value);
    value = stochastic_value(value, (uint64_t)literal_get_int(eval_operand(step, 1), i), bits);
    uint64_t converted;
    lanes_convert(LANE_FLOAT, to, 1, &value, &converted);
    lanes_store(to, literal_element(out, i), 1, &converted);
  }
  return STATUS_OK;
}

/* ---- the same bits under another type ---- */

static bool fills_its_bytes(PrimitiveType type) {
  return type_bits(type) == 8 * type_storage_bytes(type);
}

/* Element bits one after the other, the first in the lowest place. */
static void reinterpret_bitwise(PrimitiveType from, const uint8_t *in, int64_t count, PrimitiveType to, uint8_t *out) {
  int from_bits = type_bits(from), to_bits = type_bits(to);
  int64_t total = count * from_bits;
  uint64_t pending = 0;
  int filled = 0;
  int64_t written = 0;
  for (int64_t at = 0; at < total; at++) {
    uint64_t element = type_load_bits(from, in + at / from_bits * type_storage_bytes(from));
    pending |= (element >> (at % from_bits) & 1) << filled;
    if (++filled < to_bits) continue;
    uint8_t *place = out + written++ * type_storage_bytes(to);
    if (type_is_signed(to))
      type_store_int(to, place, (int64_t)pending);
    else
      type_store_bits(to, place, pending);
    pending = 0;
    filled = 0;
  }
}

static void reinterpret(PrimitiveType from, const void *in, int64_t count, PrimitiveType to, void *out) {
  if (from == to || (fills_its_bytes(from) && fills_its_bytes(to)))
    memcpy(out, in, (size_t)(count * type_storage_bytes(from)));
  else
    reinterpret_bitwise(from, in, count, to, out);
}

Status eval_bitcast_convert(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  Literal *out = eval_result(step);
  reinterpret(from->type, eval_operand(step, 0)->data, shape_element_count(from), out->shape->type, out->data);
  return STATUS_OK;
}

/* The elements in the order of the layout (|to_layout|) or back. */
static void permute_by_layout(const Shape *shape, bool to_layout, const char *in, char *out) {
  int64_t logical[EVAL_MAX_RANK], physical[EVAL_MAX_RANK];
  eval_strides(shape, logical);
  shape_strides(shape, physical);
  eval_copy_box((size_t)type_storage_bytes(shape->type), shape->rank, shape->dims, out, to_layout ? physical : logical,
                in, to_layout ? logical : physical);
}

/* The one operation that sees layouts: the bytes in the operand's order, read in the result's. */
Status eval_bitcast(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0), *to = step->instruction->shape;
  if (!shape_is_array(to)) {
    eval_forward_value(step, eval_operand(step, 0));
    return STATUS_OK;
  }
  if (from->type == to->type && layout_is_descending(&from->layout) && layout_is_descending(&to->layout)) {
    eval_forward_value(step, eval_operand(step, 0));
    return STATUS_OK;
  }
  Literal *out = eval_result(step);
  Arena *scratch = arena_create();
  int64_t from_count = shape_element_count(from), to_count = shape_element_count(to);
  char *physical = arena_alloc(scratch, (size_t)(from_count * type_storage_bytes(from->type)));
  char *converted = arena_alloc(scratch, (size_t)(to_count * type_storage_bytes(to->type)));
  permute_by_layout(from, true, eval_operand(step, 0)->data, physical);
  reinterpret(from->type, physical, from_count, to->type, converted);
  permute_by_layout(to, false, converted, out->data);
  arena_destroy(scratch);
  return STATUS_OK;
}
