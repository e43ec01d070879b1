/* Slices at computed places, and arrays of computed size. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

/* The start of a dynamic slice, element offset, with each index clamped so that the slice lies inside.  Indices are
 * scalars from operand |first| on, or one vector. */
static int64_t clamped_start(const EvalStep *step, int first, const Shape *array, const int64_t *slice_dims,
                             const int64_t *strides) {
  bool is_vector = array->rank > 0 && eval_operand_shape(step, first)->rank == 1;
  int64_t offset = 0;
  for (int i = 0; i < array->rank; i++) {
    const Literal *index = eval_operand(step, is_vector ? first : first + i);
    int64_t start = literal_get_int(index, is_vector ? i : 0);
    if (start < 0 && type_is_unsigned(index->shape->type)) start = INT64_MAX;
    offset += strides[i] * max_i64(0, min_i64(start, array->dims[i] - slice_dims[i]));
  }
  return offset;
}

Status eval_dynamic_slice(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  if (shape_element_count(out->shape) == 0) return STATUS_OK;
  eval_strides(from, strides);
  eval_strides(out->shape, to_strides);
  int64_t start = clamped_start(step, 1, from, out->shape->dims, strides);
  eval_copy_box((size_t)type_storage_bytes(from->type), from->rank, out->shape->dims, out->data, to_strides,
                literal_element(eval_operand(step, 0), start), strides);
  return STATUS_OK;
}

Status eval_dynamic_update_slice(EvalStep *step) {
  const Shape *update = eval_operand_shape(step, 1);
  const int64_t *sizes = eval_operand(step, 1)->sizes;
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  eval_copy_leaves(out, eval_operand(step, 0));
  if (shape_element_count(update) == 0) return STATUS_OK;
  eval_strides(update, strides);
  eval_strides(out->shape, to_strides);
  /* the bounds lie inside, what is beyond the sizes stays as it was */
  int64_t start = clamped_start(step, 2, out->shape, update->dims, to_strides);
  eval_copy_box((size_t)type_storage_bytes(update->type), update->rank, sizes ? sizes : update->dims,
                literal_element(out, start), to_strides, eval_operand(step, 1)->data, strides);
  return STATUS_OK;
}

/* ---- sizes ---- */

Status eval_set_dimension_size(EvalStep *step) {
  const Shape *shape = step->instruction->shape;
  int64_t dimension = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS).data[0];
  if (!step->state) step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, int64_t, shape->rank + 1);
  int64_t *sizes = step->state;
  const Literal *array = eval_operand(step, 0);
  for (int i = 0; i < shape->rank; i++) sizes[i] = array->sizes ? array->sizes[i] : shape->dims[i];
  sizes[dimension] = max_i64(0, min_i64(literal_get_int(eval_operand(step, 1), 0), shape->dims[dimension]));
  eval_forward_value(step, array);
  bool is_whole = step->instruction->operands[1]->opcode == HLO_CONSTANT;
  for (int i = 0; i < shape->rank; i++) is_whole = is_whole && sizes[i] == shape->dims[i];
  step->value.sizes = is_whole ? NULL : sizes;
  return STATUS_OK;
}

Status eval_get_dimension_size(EvalStep *step) {
  int64_t dimension = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS).data[0];
  const Literal *array = eval_operand(step, 0);
  literal_set_int(eval_result(step), 0, array->sizes ? array->sizes[dimension] : array->shape->dims[dimension]);
  return STATUS_OK;
}

/* (array, the size of each dimension) */
Status eval_slice_to_dynamic(EvalStep *step) {
  const Shape *shape = step->instruction->shape;
  if (!step->state) step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, int64_t, shape->rank + 1);
  int64_t *sizes = step->state;
  for (int i = 0; i < shape->rank; i++) {
    int64_t size = max_i64(0, min_i64(literal_get_int(eval_operand(step, i + 1), 0), shape->dims[i]));
    sizes[i] = shape->dynamic != NULL && shape->dynamic[i] ? size : shape->dims[i];
  }
  eval_forward_value(step, eval_operand(step, 0));
  step->value.sizes = sizes;
  return STATUS_OK;
}

Status eval_pad_to_static(EvalStep *step) {
  const Literal *array = eval_operand(step, 0);
  const Shape *shape = step->instruction->shape;
  Arena *arena = step->frame->evaluation->arena;
  Literal *out = eval_tuple_result(step);
  out->tuple[0] = *array;
  out->tuple[0].shape = shape->tuple[0];
  for (int i = 1; i < shape->tuple_size; i++) {
    if (!out->tuple[i].data) out->tuple[i] = *literal_create(arena, shape->tuple[i]);
    literal_set_int(&out->tuple[i], 0, array->sizes ? array->sizes[i - 1] : array->shape->dims[i - 1]);
  }
  return STATUS_OK;
}

/* The elements in order, as many as both have: sizes need not agree. */
Status eval_dynamic_reshape(EvalStep *step) {
  const Literal *from = eval_operand(step, 0);
  Literal *out = eval_result(step);
  int64_t count = min_i64(shape_element_count(from->shape), shape_element_count(out->shape));
  if (count > 0) memcpy(out->data, from->data, (size_t)(count * type_storage_bytes(out->shape->type)));
  return STATUS_OK;
}
