/* Data movement with fixed indices: every rule copies one box, or a few. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

static size_t unit_of(const Shape *shape) {
  return (size_t)type_storage_bytes(shape->type);
}

Status eval_reshape(EvalStep *step) {
  eval_forward_value(step, eval_operand(step, 0));
  return STATUS_OK;
}

/* 'dimensions' says which result dimension each operand dimension becomes. */
Status eval_broadcast(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  Int64List dimensions = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS);
  int64_t from_strides[EVAL_MAX_RANK], strides[EVAL_MAX_RANK] = {0}, to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  eval_strides(from, from_strides);
  for (int64_t i = 0; i < dimensions.count; i++) strides[dimensions.data[i]] = from_strides[i];
  eval_strides(out->shape, to_strides);
  eval_copy_box(unit_of(from), out->shape->rank, out->shape->dims, out->data, to_strides, eval_operand(step, 0)->data,
                strides);
  return STATUS_OK;
}

Status eval_transpose(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  Int64List dimensions = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS);
  int64_t from_strides[EVAL_MAX_RANK], strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  eval_strides(from, from_strides);
  for (int64_t i = 0; i < dimensions.count; i++) strides[i] = from_strides[dimensions.data[i]];
  eval_strides(out->shape, to_strides);
  eval_copy_box(unit_of(from), out->shape->rank, out->shape->dims, out->data, to_strides, eval_operand(step, 0)->data,
                strides);
  return STATUS_OK;
}

Status eval_reverse(EvalStep *step) {
  const Shape *shape = step->instruction->shape;
  Int64List dimensions = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS);
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK], start = 0;
  Literal *out = eval_result(step);
  if (shape_element_count(shape) == 0) return STATUS_OK;
  eval_strides(shape, strides);
  eval_strides(shape, to_strides);
  for (int i = 0; i < shape->rank; i++) {
    if (!int64_list_has(dimensions, i)) continue;
    start += strides[i] * (shape->dims[i] - 1);
    strides[i] = -strides[i];
  }
  eval_copy_box(unit_of(shape), shape->rank, shape->dims, out->data, to_strides,
                literal_element(eval_operand(step, 0), start), strides);
  return STATUS_OK;
}

Status eval_slice(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  const SliceRanges *ranges = hlo_instruction_slice(step->instruction);
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK], start = 0;
  Literal *out = eval_result(step);
  if (shape_element_count(out->shape) == 0) return STATUS_OK;
  eval_strides(from, strides);
  eval_strides(out->shape, to_strides);
  for (int i = 0; i < from->rank; i++) {
    start += strides[i] * ranges->dims[i].start;
    strides[i] *= ranges->dims[i].stride;
  }
  eval_copy_box(unit_of(from), from->rank, out->shape->dims, out->data, to_strides,
                literal_element(eval_operand(step, 0), start), strides);
  return STATUS_OK;
}

/* The operand's elements stand |interior| + 1 apart after |low| elements of padding; what falls outside is dropped. */
Status eval_pad(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  const PaddingConfig *padding = hlo_instruction_padding(step->instruction);
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], start = 0, to_start = 0;
  Literal *out = eval_result(step);
  eval_fill(out, eval_operand(step, 1)->data);
  eval_strides(from, strides);
  eval_strides(out->shape, to_strides);
  for (int i = 0; i < from->rank; i++) {
    int64_t low = padding->dims[i].low, gap = padding->dims[i].interior + 1, size = out->shape->dims[i];
    int64_t first = low < 0 ? ceil_div(-low, gap) : 0;
    /* The last one kept lies below the end: low + last * gap < size. */
    int64_t end = size - low <= 0 ? 0 : min_i64(from->dims[i], ceil_div(size - low, gap));
    if (end <= first) return STATUS_OK;
    dims[i] = end - first;
    start += strides[i] * first;
    to_start += to_strides[i] * (low + first * gap);
    to_strides[i] *= gap;
  }
  eval_copy_box(unit_of(from), from->rank, dims, literal_element(out, to_start), to_strides,
                literal_element(eval_operand(step, 0), start), strides);
  return STATUS_OK;
}

Status eval_concatenate(EvalStep *step) {
  int64_t dimension = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS).data[0], position = 0;
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  eval_strides(out->shape, to_strides);
  for (int i = 0; i < step->instruction->operand_count; i++) {
    const Shape *from = eval_operand_shape(step, i);
    if (shape_element_count(from) == 0) continue;
    eval_strides(from, strides);
    eval_copy_box(unit_of(from), from->rank, from->dims, literal_element(out, position * to_strides[dimension]),
                  to_strides, eval_operand(step, i)->data, strides);
    position += from->dims[dimension];
  }
  return STATUS_OK;
}

Status eval_iota(EvalStep *step) {
  Literal *out = eval_result(step);
  const Shape *shape = out->shape;
  int64_t dimension = hlo_instruction_int(step->instruction, HLO_ATTR_IOTA_DIMENSION, 0);
  int64_t strides[EVAL_MAX_RANK], total = shape_element_count(shape);
  eval_strides(shape, strides);
  for (int64_t i = 0; i < total; i++) {
    LaneComplex number;
    int64_t position = i / strides[dimension] % shape->dims[dimension];
    lanes_convert(LANE_SIGNED, shape->type, 1, &position, &number);
    lanes_store(shape->type, literal_element(out, i), 1, &number);
  }
  return STATUS_OK;
}

Status eval_constant(EvalStep *step) {
  const Literal *literal = hlo_instruction_literal(step->instruction);
  if (literal->elided) return eval_error(step, "has no value: its text was left out ({...})");
  eval_forward_value(step, literal);
  return STATUS_OK;
}
