/* Asynchronous wrappers: async-start makes ((operands), result, context...), async-update passes it on, async-done
 * takes the result. */
#include "hlo/infer/infer_internal.h"

static bool is_async_tuple(const Shape *shape) {
  return shape_is_tuple(shape) && shape->tuple_size >= 2 && shape_is_tuple(shape->tuple[0]);
}

/* The text has contexts that nothing else knows, so the shape is checked rather than made. */
Status infer_async_start(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!is_async_tuple(stated)) {
    return infer_error(context, "makes ((operands), result, context...), not %s", infer_text(context, stated));
  }
  const HloComputation *callee = hlo_instruction_computation(context->instruction, HLO_ATTR_CALLS);
  int count = context->instruction->operand_count;
  const Shape *arguments;
  RETURN_IF_ERROR(infer_tuple(context, &arguments));
  if (!shape_compatible(stated->tuple[0], arguments)) {
    return infer_error(context, "states operands %s, but has %s", infer_text(context, stated->tuple[0]),
                       infer_text(context, arguments));
  }
  *out_shape = stated;
  if (callee == NULL) return STATUS_OK;
  RETURN_IF_ERROR(infer_check_callee(context, HLO_ATTR_CALLS, callee, count));
  for (int i = 0; i < count; i++) {
    if (shape_compatible(callee->parameters.data[i]->shape, infer_operand(context, i))) continue;
    return infer_callee_parameter_mismatch(context, HLO_ATTR_CALLS, callee, i, infer_operand(context, i));
  }
  if (shape_compatible(callee->root->shape, stated->tuple[1])) return STATUS_OK;
  return infer_error(context, "states result %s, but '%.*s' returns %s", infer_text(context, stated->tuple[1]),
                     SV_ARG(callee->name), infer_text(context, callee->root->shape));
}

static Status check_async_operand(const InferContext *context) {
  if (is_async_tuple(infer_operand(context, 0))) return STATUS_OK;
  return infer_error(context, "needs ((operands), result, context...), got %s",
                     infer_text(context, infer_operand(context, 0)));
}

Status infer_async_update(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_async_operand(context));
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}

Status infer_async_done(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_async_operand(context));
  *out_shape = infer_operand(context, 0)->tuple[1];
  return STATUS_OK;
}
