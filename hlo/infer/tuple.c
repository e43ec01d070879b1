/* Structure: tuples and their elements, and operations whose shape the text alone knows. */
#include "hlo/infer/infer_internal.h"

Status infer_tuple(const InferContext *context, const Shape **out_shape) {
  int count = context->instruction->operand_count;
  const Shape **elements = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  for (int i = 0; i < count; i++) elements[i] = infer_operand(context, i);
  *out_shape = shape_tuple(context->shapes, elements, count);
  return STATUS_OK;
}

Status infer_get_tuple_element(const InferContext *context, const Shape **out_shape) {
  const Shape *operand = infer_operand(context, 0);
  int64_t index = hlo_instruction_int(context->instruction, HLO_ATTR_INDEX, 0);
  if (!shape_is_tuple(operand)) return infer_error(context, "needs a tuple, got %s", infer_text(context, operand));
  if (index < 0 || index >= operand->tuple_size) {
    return infer_attr_error(context, HLO_ATTR_INDEX, "takes element %lld of %s, which has %d", (long long)index,
                            infer_text(context, operand), operand->tuple_size);
  }
  *out_shape = operand->tuple[index];
  return STATUS_OK;
}

/* Element |index| of the tuple that the start operation made. */
static Status started_element(const InferContext *context, int index, const Shape **out_shape) {
  const Shape *operand = infer_operand(context, 0);
  if (!shape_is_tuple(operand) || operand->tuple_size <= index) {
    return infer_error(context, "needs the tuple that the start made, got %s", infer_text(context, operand));
  }
  *out_shape = operand->tuple[index];
  return STATUS_OK;
}

Status infer_second_element(const InferContext *context, const Shape **out_shape) {
  return started_element(context, 1, out_shape);
}

Status infer_copy_done(const InferContext *context, const Shape **out_shape) {
  return started_element(context, 0, out_shape);
}

/* (destination, source, context); the destination may lie in another memory space, which only the text knows. */
Status infer_copy_start(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  const Shape *elements[] = {operand, operand, shape_scalar(context->shapes, TYPE_U32)};
  *out_shape = infer_prefer_stated(context, shape_tuple(context->shapes, elements, 3));
  return STATUS_OK;
}

Status infer_parameter(const InferContext *context, const Shape **out_shape) {
  int64_t number = hlo_instruction_int(context->instruction, HLO_ATTR_PARAMETER_NUMBER, 0);
  if (number < 0) return infer_error(context, "cannot have the number %lld", (long long)number);
  return infer_stated(context, out_shape);
}

Status infer_custom_call(const InferContext *context, const Shape **out_shape) {
  return infer_stated(context, out_shape);
}

Status infer_constant(const InferContext *context, const Shape **out_shape) {
  const Literal *literal = hlo_instruction_literal(context->instruction);
  if (literal == NULL || literal->shape == NULL) return infer_error(context, "has no value");
  *out_shape = infer_prefer_stated(context, literal->shape);
  return STATUS_OK;
}

Status infer_id(const InferContext *context, const Shape **out_shape) {
  *out_shape = shape_scalar(context->shapes, TYPE_U32);
  return STATUS_OK;
}

Status infer_after_all(const InferContext *context, const Shape **out_shape) {
  for (int i = 0; i < context->instruction->operand_count; i++) RETURN_IF_ERROR(infer_check_token(context, i));
  *out_shape = shape_token(context->shapes);
  return STATUS_OK;
}

Status infer_add_dependency(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_token(context, 1));
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}
