/* Communication with the host and along channels, ordered by tokens. */
#include "hlo/infer/infer_internal.h"

/* (token) → (data, token); the text knows the data. */
Status infer_infeed(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_token(context, 0));
  RETURN_IF_ERROR(infer_stated(context, out_shape));
  const Shape *stated = *out_shape;
  if (shape_is_tuple(stated) && stated->tuple_size == 2 && stated->tuple[1]->type == TYPE_TOKEN) return STATUS_OK;
  return infer_error(context, "makes data and a token, not %s", infer_text(context, stated));
}

/* (data, token) → token */
Status infer_outfeed(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_token(context, 1));
  const HloAttr *shape = hlo_instruction_attr(context->instruction, HLO_ATTR_OUTFEED_SHAPE);
  if (shape != NULL && !shape_compatible(shape->value.shape, infer_operand(context, 0))) {
    return infer_attr_error(context, HLO_ATTR_OUTFEED_SHAPE, "has 'outfeed_shape' %s, but data %s",
                            infer_text(context, shape->value.shape), infer_text(context, infer_operand(context, 0)));
  }
  *out_shape = shape_token(context->shapes);
  return STATUS_OK;
}

/* (data, u32[], token[]) */
static const Shape *channel_tuple(const InferContext *context, const Shape *data) {
  const Shape *elements[] = {data, shape_scalar(context->shapes, TYPE_U32), shape_token(context->shapes)};
  return shape_tuple(context->shapes, elements, 3);
}

Status infer_send(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_token(context, 1));
  *out_shape = channel_tuple(context, infer_operand(context, 0));
  return STATUS_OK;
}

Status infer_recv(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(infer_check_token(context, 0));
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_tuple(stated) || stated->tuple_size != 3) {
    return infer_error(context, "makes (data, u32[], token[]), not %s", infer_text(context, stated));
  }
  *out_shape = infer_prefer_stated(context, channel_tuple(context, stated->tuple[0]));
  return STATUS_OK;
}

static Status check_channel_tuple(const InferContext *context) {
  const Shape *operand = infer_operand(context, 0);
  if (shape_is_tuple(operand) && operand->tuple_size == 3 &&
      shape_compatible(operand, channel_tuple(context, operand->tuple[0]))) {
    return STATUS_OK;
  }
  return infer_error(context, "needs (data, u32[], token[]), got %s", infer_text(context, operand));
}

Status infer_send_done(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_channel_tuple(context));
  *out_shape = shape_token(context->shapes);
  return STATUS_OK;
}

Status infer_recv_done(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_channel_tuple(context));
  const Shape *operand = infer_operand(context, 0);
  const Shape *elements[] = {operand->tuple[0], operand->tuple[2]};
  *out_shape = shape_tuple(context->shapes, elements, 2);
  return STATUS_OK;
}
