/* Slices at positions known at run time, and dimensions whose size is. */
#include "hlo/infer/infer_internal.h"

/* Start indices after |first|: one integer scalar for each dimension, all of one type, or one vector of them. */
static Status check_starts(const InferContext *context, int first, const Shape *operand) {
  int count = context->instruction->operand_count - first;
  if (count == 1 && infer_operand(context, first)->rank == 1) {
    const Shape *vector = infer_operand(context, first);
    if (shape_is_array(vector) && type_is_integral(vector->type) && infer_sizes_agree(vector->dims[0], operand->rank))
      return STATUS_OK;
    return infer_error(context, "needs %d integer start indices, got %s", operand->rank, infer_text(context, vector));
  }
  if (count != operand->rank) {
    return infer_error(context, "needs %d start indices for %s, got %d", operand->rank, infer_text(context, operand),
                       count);
  }
  for (int i = 0; i < count; i++) {
    RETURN_IF_ERROR(infer_check_index(context, first + i));
    if (infer_operand(context, first + i)->type != infer_operand(context, first)->type) {
      return infer_error(context, "needs start indices of one type, got %s and %s",
                         type_text(infer_operand(context, first)->type),
                         type_text(infer_operand(context, first + i)->type));
    }
  }
  return STATUS_OK;
}

Status infer_dynamic_slice(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(check_starts(context, 1, operand));
  Int64List sizes = hlo_instruction_ints(context->instruction, HLO_ATTR_DYNAMIC_SLICE_SIZES);
  if (sizes.count != operand->rank) {
    return infer_attr_error(context, HLO_ATTR_DYNAMIC_SLICE_SIZES, "needs %d slice sizes for %s, got %lld",
                            operand->rank, infer_text(context, operand), (long long)sizes.count);
  }
  ShapeDraft draft = infer_draft(context, operand->type, operand->rank);
  for (int i = 0; i < operand->rank; i++) {
    int64_t bound = operand->dims[i], size = sizes.data[i];
    if (size < 0 || (bound != SHAPE_UNBOUNDED && size > bound)) {
      return infer_attr_error(context, HLO_ATTR_DYNAMIC_SLICE_SIZES, "takes %lld elements of dimension %d of %s",
                              (long long)size, i, infer_text(context, operand));
    }
    infer_draft_push(&draft, size, infer_is_dynamic(operand, i) && size == bound);
  }
  *out_shape = infer_prefer_stated(context, infer_finish(context, &draft, NULL));
  return STATUS_OK;
}

/* A buffer operand ("b(f32[4])") is updated as the array in it. */
Status infer_dynamic_update_slice(const InferContext *context, const Shape **out_shape) {
  const Shape *operand = shape_in_buffer(infer_operand(context, 0)), *update = infer_operand(context, 1);
  if (!shape_is_array(operand)) RETURN_IF_ERROR(infer_check_array(context, 0));
  RETURN_IF_ERROR(infer_check_array(context, 1));
  RETURN_IF_ERROR(check_starts(context, 2, operand));
  bool fits = update->rank == operand->rank && infer_types_agree(update->type, operand->type);
  for (int i = 0; fits && i < operand->rank; i++) {
    fits = update->dims[i] <= operand->dims[i] || operand->dims[i] == SHAPE_UNBOUNDED;
  }
  if (!fits) {
    return infer_error(context, "cannot put %s into %s", infer_text(context, update), infer_text(context, operand));
  }
  *out_shape = infer_prefer_stated(context, infer_operand(context, 0));
  return STATUS_OK;
}

Status infer_get_dimension_size(const InferContext *context, const Shape **out_shape) {
  int dimension;
  RETURN_IF_ERROR(infer_check_array(context, 0));
  RETURN_IF_ERROR(infer_one_dimension(context, infer_operand(context, 0)->rank, &dimension));
  *out_shape = shape_scalar(context->shapes, TYPE_S32);
  return STATUS_OK;
}

static Status check_s32(const InferContext *context, int index) {
  const Shape *shape = infer_operand(context, index);
  if (shape_is_scalar(shape) && shape->type == TYPE_S32) return STATUS_OK;
  return infer_error(context, "needs an s32[] as operand %d, got %s", index, infer_text(context, shape));
}

Status infer_set_dimension_size(const InferContext *context, const Shape **out_shape) {
  int dimension;
  RETURN_IF_ERROR(infer_check_array(context, 0));
  RETURN_IF_ERROR(check_s32(context, 1));
  const Shape *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_one_dimension(context, operand->rank, &dimension));
  ShapeDraft draft = infer_draft_like(context, operand->type, operand);
  draft.dynamic[dimension] = true;
  *out_shape = infer_prefer_stated(context, infer_finish(context, &draft, &operand->layout));
  return STATUS_OK;
}

/* (array, size of each result dimension): the bounds come from the text. */
Status infer_dynamic_reshape(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *stated, *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  if (context->instruction->operand_count - 1 != stated->rank) {
    return infer_error(context, "needs %d sizes for %s, got %d", stated->rank, infer_text(context, stated),
                       context->instruction->operand_count - 1);
  }
  for (int i = 1; i <= stated->rank; i++) RETURN_IF_ERROR(check_s32(context, i));
  if (shape_element_count(operand) != shape_element_count(stated)) {
    return infer_error(context, "cannot turn %s into %s: the numbers of elements differ", infer_text(context, operand),
                       infer_text(context, stated));
  }
  *out_shape = stated->type == operand->type ? stated : shape_with_type(context->shapes, stated, operand->type);
  return STATUS_OK;
}
