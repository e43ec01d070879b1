/* sort and topk. */
#include "hlo/infer/infer_internal.h"

/* The comparator takes two scalars of each operand, pairwise, and returns pred[]. */
static Status check_comparator(const InferContext *context, int count) {
  const HloComputation *comparator;
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_TO_APPLY, &comparator));
  RETURN_IF_ERROR(infer_check_callee(context, HLO_ATTR_TO_APPLY, comparator, 2 * (int64_t)count));
  for (int i = 0; i < 2 * count; i++) {
    const Shape *element = shape_scalar(context->shapes, infer_operand(context, i / 2)->type);
    if (shape_compatible_ignoring_precision(comparator->parameters.data[i]->shape, element)) continue;
    return infer_callee_parameter_mismatch(context, HLO_ATTR_TO_APPLY, comparator, i, element);
  }
  const Shape *result = comparator->root->shape;
  if (shape_is_scalar(result) && result->type == TYPE_PRED) return STATUS_OK;
  return infer_attr_error(context, HLO_ATTR_TO_APPLY, "needs comparator '%.*s' to return pred[], it returns %s",
                          SV_ARG(comparator->name), infer_text(context, result));
}

Status infer_sort(const InferContext *context, const Shape **out_shape) {
  int count = context->instruction->operand_count, dimension;
  RETURN_IF_ERROR(infer_check_arrays(context, 0, count));
  const Shape *first = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_one_dimension(context, first->rank, &dimension));
  const Shape **elements = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  for (int i = 0; i < count; i++) {
    elements[i] = infer_operand(context, i);
    if (shape_same_dims(first, elements[i])) continue;
    return infer_error(context, "needs operands of the same dimensions, got %s and %s", infer_text(context, first),
                       infer_text(context, elements[i]));
  }
  RETURN_IF_ERROR(check_comparator(context, count));
  *out_shape = count == 1 ? first : shape_tuple(context->shapes, elements, count);
  return STATUS_OK;
}

/* (the k best of the last dimension, their positions) */
Status infer_topk(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  int64_t k = hlo_instruction_int(context->instruction, HLO_ATTR_K, 0);
  int last = operand->rank - 1;
  if (last < 0 || k < 0 || (operand->dims[last] != SHAPE_UNBOUNDED && k > operand->dims[last])) {
    return infer_attr_error(context, HLO_ATTR_K, "cannot take the best %lld of %s", (long long)k,
                            infer_text(context, operand));
  }
  ShapeDraft draft = infer_draft_like(context, operand->type, operand);
  draft.dims[last] = k;
  draft.dynamic[last] = false;
  const Shape *values = infer_finish(context, &draft, NULL);
  const Shape *elements[] = {values, shape_with_type(context->shapes, values, TYPE_S32)};
  *out_shape = shape_tuple(context->shapes, elements, 2);
  return STATUS_OK;
}
