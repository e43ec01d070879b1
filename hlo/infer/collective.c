/* Communication between devices.  The number of participants is not known here: where it enters the result (all-gather,
 * reduce-scatter) it is read off the stated shape, and the verifier compares it with the replica groups. */
#include "base/checked_math.h"
#include "hlo/infer/infer_internal.h"

/* The operand alone, or a tuple of all. */
static Status operand_or_tuple(const InferContext *context, const Shape **out_shape) {
  if (context->instruction->operand_count != 1) return infer_tuple(context, out_shape);
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}

Status infer_collective_broadcast(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, context->instruction->operand_count));
  return operand_or_tuple(context, out_shape);
}

/* The reducer works on scalars; operands may have types of their own, as long as they agree up to precision. */
static Status check_all_reducer(const InferContext *context) {
  const HloComputation *reducer;
  RETURN_IF_ERROR(infer_check_arrays(context, 0, context->instruction->operand_count));
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_TO_APPLY, &reducer));
  RETURN_IF_ERROR(infer_check_callee(context, HLO_ATTR_TO_APPLY, reducer, 2));
  for (int i = 0; i < 2; i++) {
    const Shape *parameter = reducer->parameters.data[i]->shape;
    if (shape_is_scalar(parameter) && shape_compatible_ignoring_precision(parameter, reducer->root->shape)) continue;
    return infer_attr_error(context, HLO_ATTR_TO_APPLY, "needs '%.*s' to combine two scalars into one",
                            SV_ARG(reducer->name));
  }
  return STATUS_OK;
}

Status infer_all_reduce(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_all_reducer(context));
  return operand_or_tuple(context, out_shape);
}

/* --- all-gather and reduce-scatter: one dimension grows or shrinks by the number of participants --- */

/* The shape stated for operand |index| in |results|, NULL when the stated shape has no place for it. */
static const Shape *stated_for(const InferContext *context, const Shape *results, int index) {
  if (results == NULL) return NULL;
  if (context->instruction->operand_count == 1 && !shape_is_tuple(results)) return results;
  return shape_is_tuple(results) && results->tuple_size > index ? results->tuple[index] : NULL;
}

/* |operand| with |dimension| as stated; its size must be a multiple of the other. */
static Status scaled_operand(const InferContext *context, const Shape *operand, const Shape *stated, int dimension,
                             bool grows, int64_t *ratio, const Shape **out_shape) {
  bool fits = stated != NULL && shape_is_array(stated) && stated->rank == operand->rank && dimension < operand->rank;
  if (fits) {
    int64_t wide = grows ? stated->dims[dimension] : operand->dims[dimension];
    int64_t narrow = grows ? operand->dims[dimension] : stated->dims[dimension];
    if (wide != SHAPE_UNBOUNDED && narrow != SHAPE_UNBOUNDED) {
      fits = narrow == 0 ? wide == 0 : wide % narrow == 0;
      if (fits && narrow != 0 && *ratio == 0) *ratio = wide / narrow;
      fits = fits && (narrow == 0 || wide / narrow == *ratio);
    }
  }
  if (!fits) {
    return infer_attr_error(context, HLO_ATTR_DIMENSIONS,
                            "cannot %s dimension %d of %s by the number of participants to %s",
                            grows ? "multiply" : "divide", dimension, infer_text(context, operand),
                            stated == NULL ? "the stated shape" : infer_text(context, stated));
  }
  ShapeDraft draft = infer_draft_like(context, operand->type, operand);
  draft.dims[dimension] = stated->dims[dimension];
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

static Status infer_scaled(const InferContext *context, const Shape *results, bool grows, const Shape **out_shape) {
  int count = context->instruction->operand_count, dimension;
  RETURN_IF_ERROR(infer_check_arrays(context, 0, count));
  RETURN_IF_ERROR(infer_one_dimension(context, infer_operand(context, 0)->rank, &dimension));
  const Shape **elements = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  int64_t ratio = 0;
  for (int i = 0; i < count; i++) {
    RETURN_IF_ERROR(scaled_operand(context, infer_operand(context, i), stated_for(context, results, i), dimension,
                                   grows, &ratio, &elements[i]));
  }
  *out_shape = count == 1 && !shape_is_tuple(results) ? elements[0] : shape_tuple(context->shapes, elements, count);
  return STATUS_OK;
}

Status infer_all_gather(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(infer_stated(context, &stated));
  RETURN_IF_ERROR(infer_scaled(context, stated, true, out_shape));
  *out_shape = infer_prefer_stated(context, *out_shape);
  return STATUS_OK;
}

Status infer_reduce_scatter(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(check_all_reducer(context));
  RETURN_IF_ERROR(infer_stated(context, &stated));
  RETURN_IF_ERROR(infer_scaled(context, stated, false, out_shape));
  *out_shape = infer_prefer_stated(context, *out_shape);
  return STATUS_OK;
}

/* |elements| followed by what the stated shape has after them: contexts of a start operation, which only the text
 * knows. */
static const Shape *with_contexts(const InferContext *context, const Shape *const *elements, int count,
                                  int context_limit) {
  const Shape *stated = context->instruction->shape;
  int total = stated != NULL && shape_is_tuple(stated) && stated->tuple_size > count ? stated->tuple_size : count;
  if (total > count + context_limit) total = count + context_limit;
  const Shape **all = ARENA_NEW_ARRAY(context->scratch, const Shape *, total);
  for (int i = 0; i < total; i++) all[i] = i < count ? elements[i] : stated->tuple[i];
  return shape_tuple(context->shapes, all, total);
}

/* (operands, results) */
Status infer_all_gather_start(const InferContext *context, const Shape **out_shape) {
  const Shape *stated, *elements[2];
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_tuple(stated) || stated->tuple_size < 2) {
    return infer_error(context, "makes a pair of operands and results, not %s", infer_text(context, stated));
  }
  RETURN_IF_ERROR(operand_or_tuple(context, &elements[0]));
  RETURN_IF_ERROR(infer_scaled(context, stated->tuple[1], true, &elements[1]));
  *out_shape = infer_prefer_stated(context, with_contexts(context, elements, 2, 0));
  return STATUS_OK;
}

/* --- exchanges --- */

/* With 'dimensions' the operand is split and put together along one dimension; without, each operand goes to one
 * participant. */
Status infer_all_to_all(const InferContext *context, const Shape **out_shape) {
  int count = context->instruction->operand_count;
  RETURN_IF_ERROR(infer_check_arrays(context, 0, count));
  if (hlo_instruction_attr(context->instruction, HLO_ATTR_DIMENSIONS) != NULL) {
    int dimension;
    if (count != 1) return infer_error(context, "takes 1 operand with 'dimensions', got %d", count);
    RETURN_IF_ERROR(infer_one_dimension(context, infer_operand(context, 0)->rank, &dimension));
    *out_shape = infer_operand(context, 0);
    return STATUS_OK;
  }
  for (int i = 1; i < count; i++) {
    if (shape_compatible(infer_operand(context, 0), infer_operand(context, i))) continue;
    return infer_error(context, "needs operands of one shape, got %s and %s",
                       infer_text(context, infer_operand(context, 0)), infer_text(context, infer_operand(context, i)));
  }
  return infer_tuple(context, out_shape);
}

/* (input, output, input offsets, send sizes, output offsets, receive sizes) → output */
Status infer_ragged_all_to_all(const InferContext *context, const Shape **out_shape) {
  int count = context->instruction->operand_count;
  if (count != 6) return infer_error(context, "takes 6 operands, got %d", count);
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 6));
  const Shape *input = infer_operand(context, 0), *output = infer_operand(context, 1),
              *offsets = infer_operand(context, 2);
  bool fits = input->type == output->type && input->rank == output->rank && input->rank > 0;
  for (int i = 1; fits && i < input->rank; i++) fits = infer_sizes_agree(input->dims[i], output->dims[i]);
  if (!fits) {
    return infer_error(context, "needs input and output that differ in dimension 0 only, got %s and %s",
                       infer_text(context, input), infer_text(context, output));
  }
  for (int i = 2; i < 6; i++) {
    const Shape *shape = infer_operand(context, i);
    if (shape_compatible(offsets, shape) && type_is_integral(shape->type) && (shape->rank == 1 || shape->rank == 2))
      continue;
    return infer_error(context, "needs offsets and sizes of one integer shape of rank 1 or 2, got %s and %s",
                       infer_text(context, offsets), infer_text(context, shape));
  }
  *out_shape = output;
  return STATUS_OK;
}

/* One offset in each dimension of |buffer|, or a tuple of such tuples. */
static bool is_offset(const Shape *buffer, const Shape *offset) {
  if (!shape_is_array(buffer) || !shape_is_tuple(offset) || offset->tuple_size == 0) return false;
  bool is_list = shape_is_tuple(offset->tuple[0]);
  for (int i = 0; i < offset->tuple_size; i++) {
    const Shape *element = offset->tuple[i];
    if (is_list ? !shape_is_tuple(element) || element->tuple_size != buffer->rank : !shape_is_array(element))
      return false;
  }
  return is_list || offset->tuple_size == buffer->rank;
}

/* Offsets of the slices of an array, or of each array of a tuple. */
static bool are_offsets(const Shape *buffers, const Shape *offsets) {
  if (!shape_is_tuple(buffers)) return is_offset(buffers, offsets);
  if (!shape_is_tuple(offsets) || offsets->tuple_size != buffers->tuple_size) return false;
  for (int i = 0; i < buffers->tuple_size; i++) {
    if (!is_offset(buffers->tuple[i], offsets->tuple[i])) return false;
  }
  return true;
}

static Status check_slices(const InferContext *context) {
  const Shape *input = infer_operand(context, 0), *output = infer_operand(context, 1);
  if (shape_is_tuple(input) != shape_is_tuple(output) || input->tuple_size != output->tuple_size) {
    return infer_error(context, "needs as many inputs as outputs, got %s and %s", infer_text(context, input),
                       infer_text(context, output));
  }
  for (int i = 0; i < 2; i++) {
    const Shape *buffers = infer_operand(context, i), *offsets = infer_operand(context, 2 + i);
    if (are_offsets(buffers, offsets)) continue;
    return infer_error(context, "needs for %s an offset in each dimension of each slice, got %s",
                       infer_text(context, buffers), infer_text(context, offsets));
  }
  return STATUS_OK;
}

/* With 'slice_sizes' the operands are (input, output, input offsets, output offsets) and the output is updated. */
static Status permuted(const InferContext *context, bool *out_in_place, const Shape **out_shape) {
  *out_in_place = hlo_instruction_attr(context->instruction, HLO_ATTR_PERMUTE_SLICE_SIZES) != NULL;
  if (!*out_in_place) return operand_or_tuple(context, out_shape);
  if (context->instruction->operand_count != 4) {
    return infer_error(context, "takes 4 operands with 'slice_sizes', got %d", context->instruction->operand_count);
  }
  RETURN_IF_ERROR(check_slices(context));
  *out_shape = infer_operand(context, 1);
  return STATUS_OK;
}

Status infer_collective_permute(const InferContext *context, const Shape **out_shape) {
  bool in_place;
  return permuted(context, &in_place, out_shape);
}

/* (input, output[, contexts]) */
Status infer_collective_permute_start(const InferContext *context, const Shape **out_shape) {
  bool in_place;
  const Shape *elements[2];
  RETURN_IF_ERROR(permuted(context, &in_place, &elements[1]));
  elements[0] = in_place ? infer_operand(context, 0) : elements[1];
  *out_shape = infer_prefer_stated(context, with_contexts(context, elements, 2, 2));
  return STATUS_OK;
}
