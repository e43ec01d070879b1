/* Random numbers. */
#include "hlo/infer/infer_internal.h"

/* (a, b): bounds of the uniform, mean and deviation of the normal distribution; the shape comes from the text. */
Status infer_rng(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  if (context->instruction->operand_count != 2) {
    return infer_error(context, "takes 2 operands, got %d", context->instruction->operand_count);
  }
  for (int i = 0; i < 2; i++) {
    const Shape *operand = infer_operand(context, i);
    if (shape_is_scalar(operand) && operand->type == stated->type) continue;
    return infer_error(context, "needs %s[] as operand %d, got %s", type_text(stated->type), i,
                       infer_text(context, operand));
  }
  bool is_normal = hlo_instruction_int(context->instruction, HLO_ATTR_DISTRIBUTION, 0) == RANDOM_DISTRIBUTION_NORMAL;
  bool fits =
      type_is_float(stated->type) || (!is_normal && (type_is_integral(stated->type) || stated->type == TYPE_PRED));
  if (!fits) return infer_error(context, "cannot make %s from this distribution", type_text(stated->type));
  *out_shape = stated;
  return STATUS_OK;
}

/* (state) → bits, or (new state, bits). */
Status infer_rng_bit_generator(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(infer_stated(context, &stated));
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *state = infer_operand(context, 0);
  bool is_pair = shape_is_tuple(stated) && stated->tuple_size == 2;
  const Shape *bits = is_pair ? stated->tuple[1] : stated;
  if (!shape_is_array(bits)) {
    return infer_error(context, "makes an array, or a pair of state and array, not %s", infer_text(context, stated));
  }
  if (is_pair && !shape_compatible(stated->tuple[0], state)) {
    return infer_error(context, "needs a new state of shape %s, got %s", infer_text(context, state),
                       infer_text(context, stated->tuple[0]));
  }
  *out_shape = stated;
  return STATUS_OK;
}

Status infer_rng_state(const InferContext *context, const Shape **out_shape) {
  const int64_t two = 2;
  *out_shape = infer_prefer_stated(context, shape_array(context->shapes, TYPE_U64, &two, 1));
  return STATUS_OK;
}
