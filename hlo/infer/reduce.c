/* Operations that apply a computation to elements: reduce, reduce-window, select-and-scatter, map, scan. */
#include "hlo/infer/infer_internal.h"

/* (k arrays, k initial values): the arrays agree in dimensions, the reducer with all types. */
static Status check_reduction(const InferContext *context, HloAttrId id, int *out_count,
                              const HloComputation **out_reducer) {
  int operand_count = context->instruction->operand_count, count = operand_count / 2;
  if (operand_count % 2 != 0) return infer_error(context, "needs as many initial values as operands");
  RETURN_IF_ERROR(infer_check_arrays(context, 0, operand_count));
  const Shape **inits = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  PrimitiveType *types = ARENA_NEW_ARRAY(context->scratch, PrimitiveType, count);
  for (int i = 0; i < count; i++) {
    const Shape *first = infer_operand(context, 0), *operand = infer_operand(context, i);
    if (!shape_same_dims(first, operand)) {
      return infer_error(context, "needs operands of the same dimensions, got %s and %s", infer_text(context, first),
                         infer_text(context, operand));
    }
    inits[i] = infer_operand(context, count + i);
    types[i] = operand->type;
  }
  *out_count = count;
  return infer_check_reducer(context, id, count, inits, types, out_reducer);
}

/* One array for each result of the reducer, all with the dimensions of |shape|.  The element types are the reducer's,
 * but those of the initial values for windows: they may differ in precision. */
static const Shape *reduction_result(const InferContext *context, const HloComputation *reducer, int count,
                                     const Shape *shape) {
  bool is_window = context->instruction->opcode == HLO_REDUCE_WINDOW;
  const Shape **elements = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  for (int i = 0; i < count; i++) {
    PrimitiveType type = is_window ? infer_operand(context, count + i)->type : infer_reducer_type(reducer, i);
    elements[i] = shape_with_type(context->shapes, shape, type);
  }
  return shape_is_tuple(reducer->root->shape) ? shape_tuple(context->shapes, elements, count) : elements[0];
}

Status infer_reduce(const InferContext *context, const Shape **out_shape) {
  int count;
  const HloComputation *reducer;
  RETURN_IF_ERROR(check_reduction(context, HLO_ATTR_TO_APPLY, &count, &reducer));
  const Shape *operand = infer_operand(context, 0);
  bool *is_reduced = ARENA_NEW_ARRAY(context->scratch, bool, operand->rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_DIMENSIONS, operand->rank, is_reduced));
  ShapeDraft draft = infer_draft(context, operand->type, operand->rank);
  for (int i = 0; i < operand->rank; i++) {
    if (!is_reduced[i]) infer_draft_push_dim(&draft, operand, i);
  }
  *out_shape = reduction_result(context, reducer, count, infer_finish(context, &draft, NULL));
  return STATUS_OK;
}

Status infer_reduce_window(const InferContext *context, const Shape **out_shape) {
  int count;
  const HloComputation *reducer;
  RETURN_IF_ERROR(check_reduction(context, HLO_ATTR_TO_APPLY, &count, &reducer));
  const Shape *shape, *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_window_shape(context, operand, operand->type, &shape));
  *out_shape = reduction_result(context, reducer, count, shape);
  return STATUS_OK;
}

/* The selecting computation: two elements → pred[]. */
static Status check_select(const InferContext *context, const Shape *element) {
  const HloComputation *select;
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_SELECT_COMPUTATION, &select));
  RETURN_IF_ERROR(infer_check_callee(context, HLO_ATTR_SELECT_COMPUTATION, select, 2));
  for (int i = 0; i < 2; i++) {
    if (shape_compatible_ignoring_precision(select->parameters.data[i]->shape, element)) continue;
    return infer_callee_parameter_mismatch(context, HLO_ATTR_SELECT_COMPUTATION, select, i, element);
  }
  const Shape *result = select->root->shape;
  if (shape_is_scalar(result) && result->type == TYPE_PRED) return STATUS_OK;
  return infer_attr_error(context, HLO_ATTR_SELECT_COMPUTATION, "needs '%.*s' to return pred[], it returns %s",
                          SV_ARG(select->name), infer_text(context, result));
}

/* (operand, source, initial value): the source has one element for each place of the window. */
Status infer_select_and_scatter(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 3));
  const Shape *operand = infer_operand(context, 0), *source = infer_operand(context, 1),
              *init = infer_operand(context, 2);
  RETURN_IF_ERROR(check_select(context, shape_scalar(context->shapes, operand->type)));
  const HloComputation *reducer;
  RETURN_IF_ERROR(infer_check_reducer(context, HLO_ATTR_SCATTER_COMPUTATION, 1, &init, &source->type, &reducer));
  const Shape *places;
  RETURN_IF_ERROR(infer_window_shape(context, operand, operand->type, &places));
  if (!shape_compatible_ignoring_precision(places, source)) {
    return infer_error(context, "needs a source of shape %s for this window, got %s", infer_text(context, places),
                       infer_text(context, source));
  }
  *out_shape = operand;
  return STATUS_OK;
}

/* --- map --- */

/* The operand whose dimensions the result has: scalars stretch when the shape is inferred. */
static Status widest_operand(const InferContext *context, const Shape **out_shape) {
  const Shape *widest = infer_operand(context, 0);
  for (int i = 1; i < context->instruction->operand_count; i++) {
    const Shape *operand = infer_operand(context, i);
    if (shape_same_dims(operand, widest) || operand->rank == 0) continue;
    if (widest->rank != 0) {
      return infer_error(context, "needs operands of the same dimensions, got %s and %s", infer_text(context, widest),
                         infer_text(context, operand));
    }
    widest = operand;
  }
  *out_shape = widest;
  return STATUS_OK;
}

/* 'dimensions' says nothing: whatever stands there, the computation is applied to single elements, as in XLA. */
Status infer_map(const InferContext *context, const Shape **out_shape) {
  int count = context->instruction->operand_count;
  RETURN_IF_ERROR(infer_check_arrays(context, 0, count));
  const Shape *shape = NULL;
  RETURN_IF_ERROR(widest_operand(context, &shape));
  const HloComputation *callee;
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_TO_APPLY, &callee));
  RETURN_IF_ERROR(infer_check_callee(context, HLO_ATTR_TO_APPLY, callee, count));
  for (int i = 0; i < count; i++) {
    const Shape *element = shape_scalar(context->shapes, infer_operand(context, i)->type);
    if (shape_compatible_ignoring_precision(callee->parameters.data[i]->shape, element)) continue;
    return infer_callee_parameter_mismatch(context, HLO_ATTR_TO_APPLY, callee, i, element);
  }
  const Shape *result = callee->root->shape;
  if (!shape_is_scalar(result)) {
    return infer_attr_error(context, HLO_ATTR_TO_APPLY, "needs '%.*s' to return a scalar, it returns %s",
                            SV_ARG(callee->name), infer_text(context, result));
  }
  ShapeDraft draft = infer_draft_like(context, result->type, shape);
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

/* --- scan: (inputs, initial carries); the computation takes one slice of each input and the carries, and returns one
 * slice of each output and the carries --- */

typedef struct Scan {
  int inputs, carries;
  int dimension;
  int64_t steps;
  const HloComputation *callee;
} Scan;

static Status check_scan_input(const InferContext *context, const Scan *scan, int index) {
  const Shape *input = infer_operand(context, index);
  if (scan->dimension >= input->rank || !infer_sizes_agree(input->dims[scan->dimension], scan->steps)) {
    return infer_error(context, "needs inputs of one size along dimension %d, got %s and %s", scan->dimension,
                       infer_text(context, infer_operand(context, 0)), infer_text(context, input));
  }
  ShapeDraft slice = infer_draft(context, input->type, input->rank);
  for (int i = 0; i < input->rank; i++) {
    if (i != scan->dimension) infer_draft_push_dim(&slice, input, i);
  }
  const Shape *expected = infer_finish(context, &slice, NULL);
  if (shape_compatible(scan->callee->parameters.data[index]->shape, expected)) return STATUS_OK;
  return infer_callee_parameter_mismatch(context, HLO_ATTR_TO_APPLY, scan->callee, index, expected);
}

static Status check_scan(const InferContext *context, Scan *scan) {
  int count = context->instruction->operand_count;
  int64_t carries = hlo_instruction_int(context->instruction, HLO_ATTR_NUM_CARRIES, 0);
  if (carries < 0 || carries >= count) {
    return infer_attr_error(context, HLO_ATTR_NUM_CARRIES,
                            "cannot have %lld carries and at least one input in %d operands", (long long)carries,
                            count);
  }
  RETURN_IF_ERROR(infer_check_arrays(context, 0, count));
  scan->carries = (int)carries;
  scan->inputs = count - scan->carries;
  const Shape *first = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_one_dimension(context, first->rank, &scan->dimension));
  scan->steps = first->dims[scan->dimension];
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_TO_APPLY, &scan->callee));
  RETURN_IF_ERROR(infer_check_callee(context, HLO_ATTR_TO_APPLY, scan->callee, count));
  for (int i = 0; i < scan->inputs; i++) RETURN_IF_ERROR(check_scan_input(context, scan, i));
  for (int i = scan->inputs; i < count; i++) {
    if (shape_compatible(scan->callee->parameters.data[i]->shape, infer_operand(context, i))) continue;
    return infer_callee_parameter_mismatch(context, HLO_ATTR_TO_APPLY, scan->callee, i, infer_operand(context, i));
  }
  return STATUS_OK;
}

/* A slice of an output with the scanned dimension put in. */
static Status stacked(const InferContext *context, const Scan *scan, const Shape *slice, const Shape **out_shape) {
  if (!shape_is_array(slice) || scan->dimension > slice->rank) {
    return infer_attr_error(context, HLO_ATTR_TO_APPLY, "cannot stack results %s along dimension %d",
                            infer_text(context, slice), scan->dimension);
  }
  ShapeDraft draft = infer_draft(context, slice->type, slice->rank + 1);
  for (int i = 0; i <= slice->rank; i++) {
    if (i == scan->dimension) infer_draft_push(&draft, scan->steps, false);
    if (i < slice->rank) infer_draft_push_dim(&draft, slice, i);
  }
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

static Status scan_result(const InferContext *context, const Scan *scan, int index, int outputs, const Shape *result,
                          const Shape **out_shape) {
  if (index < outputs) return stacked(context, scan, result, out_shape);
  const Shape *carry = infer_operand(context, scan->inputs + index - outputs);
  *out_shape = carry;
  if (shape_compatible(result, carry)) return STATUS_OK;
  return infer_attr_error(context, HLO_ATTR_TO_APPLY, "needs '%.*s' to return %s as carry %d, it returns %s",
                          SV_ARG(scan->callee->name), infer_text(context, carry), index - outputs,
                          infer_text(context, result));
}

Status infer_scan(const InferContext *context, const Shape **out_shape) {
  Scan scan = {0};
  RETURN_IF_ERROR(check_scan(context, &scan));
  const Shape *root = scan.callee->root->shape;
  int count = shape_is_tuple(root) ? root->tuple_size : 1, outputs = count - scan.carries;
  if (outputs < 0) {
    return infer_attr_error(context, HLO_ATTR_TO_APPLY, "has %d carries, but '%.*s' returns %s", scan.carries,
                            SV_ARG(scan.callee->name), infer_text(context, root));
  }
  if (!shape_is_tuple(root)) return scan_result(context, &scan, 0, outputs, root, out_shape);
  const Shape **elements = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  for (int i = 0; i < count; i++)
    RETURN_IF_ERROR(scan_result(context, &scan, i, outputs, root->tuple[i], &elements[i]));
  *out_shape = shape_tuple(context->shapes, elements, count);
  return STATUS_OK;
}
