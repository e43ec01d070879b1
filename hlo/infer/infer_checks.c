/* Checks and building blocks that many rules need. */
#include "base/checked_math.h"
#include "hlo/infer/infer_internal.h"

const char *infer_shape_text(Arena *scratch, const Shape *shape, bool with_layout) {
  enum { LIMIT = 300 };
  StringView text = shape_text(scratch, shape, with_layout);
  return arena_printf(scratch, "%.*s%s", text.size > LIMIT ? LIMIT : (int)text.size, text.data,
                      text.size > LIMIT ? "…" : "");
}

const char *infer_text(const InferContext *context, const Shape *shape) {
  return infer_shape_text(context->scratch, shape, false);
}

/* --- operands --- */

const Shape *infer_operand(const InferContext *context, int index) {
  return context->instruction->operands[index]->shape;
}

Status infer_check_array(const InferContext *context, int index) {
  const Shape *shape = infer_operand(context, index);
  if (shape_is_array(shape)) return STATUS_OK;
  return infer_error(context, "needs an array as operand %d, got %s", index, infer_text(context, shape));
}

Status infer_check_arrays(const InferContext *context, int first, int end) {
  for (int i = first; i < end; i++) RETURN_IF_ERROR(infer_check_array(context, i));
  return STATUS_OK;
}

Status infer_check_token(const InferContext *context, int index) {
  const Shape *shape = infer_operand(context, index);
  if (shape->type == TYPE_TOKEN) return STATUS_OK;
  return infer_error(context, "needs a token as operand %d, got %s", index, infer_text(context, shape));
}

Status infer_check_index(const InferContext *context, int index) {
  const Shape *shape = infer_operand(context, index);
  if (shape_is_scalar(shape) && type_is_integral(shape->type)) return STATUS_OK;
  return infer_error(context, "needs an integer scalar as operand %d, got %s", index, infer_text(context, shape));
}

/* --- types and sizes --- */

bool infer_types_agree(PrimitiveType a, PrimitiveType b) {
  return a == b || (type_is_float(a) && type_is_float(b));
}

PrimitiveType infer_contraction_type(const InferContext *context) {
  const Shape *stated = context->instruction->shape;
  if (stated != NULL && shape_is_array(stated)) return stated->type;
  return type_wider(infer_operand(context, 0)->type, infer_operand(context, 1)->type);
}

bool infer_sizes_agree(int64_t a, int64_t b) {
  return a == b || a == SHAPE_UNBOUNDED || b == SHAPE_UNBOUNDED;
}

bool infer_is_dynamic(const Shape *shape, int dimension) {
  return shape->dynamic != NULL && shape->dynamic[dimension];
}

/* --- attributes --- */

Status infer_mark_dimensions(const InferContext *context, HloAttrId id, int rank, bool *seen) {
  Int64List list = hlo_instruction_ints(context->instruction, id);
  const char *name = hlo_attr_info(id)->text;
  for (int64_t i = 0; i < list.count; i++) {
    int64_t dimension = list.data[i];
    if (dimension < 0 || dimension >= rank) {
      return infer_attr_error(context, id, "has dimension %lld in '%s', out of range for rank %d", (long long)dimension,
                              name, rank);
    }
    if (seen[dimension]) {
      return infer_attr_error(context, id, "has dimension %lld in '%s', which is taken already", (long long)dimension,
                              name);
    }
    seen[dimension] = true;
  }
  return STATUS_OK;
}

Status infer_one_dimension(const InferContext *context, int rank, int *out_dimension) {
  Int64List list = hlo_instruction_ints(context->instruction, HLO_ATTR_DIMENSIONS);
  if (list.count != 1) {
    return infer_attr_error(context, HLO_ATTR_DIMENSIONS, "takes exactly one of 'dimensions', got %lld",
                            (long long)list.count);
  }
  if (list.data[0] < 0 || list.data[0] >= rank) {
    return infer_attr_error(context, HLO_ATTR_DIMENSIONS,
                            "has dimension %lld in 'dimensions', out of range for rank %d", (long long)list.data[0],
                            rank);
  }
  *out_dimension = (int)list.data[0];
  return STATUS_OK;
}

bool infer_list_is_sorted(Int64List list) {
  for (int64_t i = 1; i < list.count; i++) {
    if (list.data[i - 1] >= list.data[i]) return false;
  }
  return true;
}

/* --- the stated shape --- */

Status infer_stated(const InferContext *context, const Shape **out_stated) {
  *out_stated = context->instruction->shape;
  if (*out_stated != NULL) return STATUS_OK;
  return infer_error(context, "needs a stated shape");
}

const Shape *infer_prefer_stated(const InferContext *context, const Shape *inferred) {
  const Shape *stated = context->instruction->shape;
  return stated != NULL && shape_compatible(stated, inferred) ? stated : inferred;
}

/* --- called computations --- */

Status infer_callee(const InferContext *context, HloAttrId id, const HloComputation **out_callee) {
  *out_callee = hlo_instruction_computation(context->instruction, id);
  if (*out_callee != NULL) return STATUS_OK;
  return infer_error(context, "needs attribute '%s'", hlo_attr_info(id)->text);
}

Status infer_check_callee(const InferContext *context, HloAttrId id, const HloComputation *callee, int64_t count) {
  if (callee->root == NULL || callee->root->shape == NULL) {
    return infer_attr_error(context, id, "calls '%.*s', which has no root", SV_ARG(callee->name));
  }
  if (callee->parameters.count != count) {
    return infer_attr_error(context, id, "needs '%.*s' to have %lld parameter%s, it has %lld", SV_ARG(callee->name),
                            (long long)count, plural_ending(count), (long long)callee->parameters.count);
  }
  for (int64_t i = 0; i < count; i++) {
    const HloInstruction *parameter = callee->parameters.data[i];
    if (hlo_instruction_parameter_number(parameter) == i && parameter->shape != NULL) continue;
    return infer_attr_error(context, id, "calls '%.*s', which has no parameter %lld", SV_ARG(callee->name),
                            (long long)i);
  }
  return STATUS_OK;
}

Status infer_callee_parameter_mismatch(const InferContext *context, HloAttrId id, const HloComputation *callee,
                                       int64_t parameter, const Shape *expected) {
  return infer_attr_error(context, id, "needs parameter %lld of '%.*s' to be %s, it is %s", (long long)parameter,
                          SV_ARG(callee->name), infer_text(context, expected),
                          infer_text(context, callee->parameters.data[parameter]->shape));
}

PrimitiveType infer_reducer_type(const HloComputation *reducer, int index) {
  const Shape *shape = reducer->root->shape;
  return shape_is_tuple(shape) ? shape->tuple[index]->type : shape->type;
}

static const Shape *reducer_result(const HloComputation *reducer, int count, int index) {
  const Shape *shape = reducer->root->shape;
  if (shape_is_tuple(shape)) return shape->tuple_size == count ? shape->tuple[index] : NULL;
  return count == 1 ? shape : NULL;
}

Status infer_check_reducer(const InferContext *context, HloAttrId id, int count, const Shape *const *inits,
                           const PrimitiveType *element_types, const HloComputation **out_reducer) {
  const HloComputation *reducer;
  RETURN_IF_ERROR(infer_callee(context, id, &reducer));
  RETURN_IF_ERROR(infer_check_callee(context, id, reducer, 2 * (int64_t)count));
  for (int i = 0; i < count; i++) {
    const Shape *result = reducer_result(reducer, count, i);
    if (result == NULL || !shape_is_scalar(result)) {
      return infer_attr_error(context, id, "needs '%.*s' to return %s, it returns %s", SV_ARG(reducer->name),
                              count == 1 ? "a scalar" : "a tuple of one scalar for each operand",
                              infer_text(context, reducer->root->shape));
    }
    const HloInstruction *const *parameters = (const HloInstruction *const *)reducer->parameters.data;
    if (!shape_compatible(parameters[i]->shape, result)) {
      return infer_callee_parameter_mismatch(context, id, reducer, i, result);
    }
    if (!shape_compatible_ignoring_precision(inits[i], result)) {
      return infer_attr_error(context, id, "has initial value %d of shape %s, but '%.*s' returns %s", i,
                              infer_text(context, inits[i]), SV_ARG(reducer->name), infer_text(context, result));
    }
    const Shape *element = shape_scalar(context->shapes, element_types[i]);
    if (!shape_compatible_ignoring_precision(parameters[count + i]->shape, element)) {
      return infer_callee_parameter_mismatch(context, id, reducer, count + i, element);
    }
    if (!shape_compatible_ignoring_precision(parameters[count + i]->shape, result)) {
      return infer_callee_parameter_mismatch(context, id, reducer, count + i, result);
    }
  }
  *out_reducer = reducer;
  return STATUS_OK;
}

/* --- shapes being made --- */

ShapeDraft infer_draft(const InferContext *context, PrimitiveType type, int capacity) {
  return (ShapeDraft){type, 0, capacity, ARENA_NEW_ARRAY(context->scratch, int64_t, capacity),
                      ARENA_NEW_ARRAY(context->scratch, bool, capacity)};
}

void infer_draft_push(ShapeDraft *draft, int64_t size, bool dynamic) {
  XLAC_CHECK(draft->rank < draft->capacity);
  draft->dims[draft->rank] = size;
  draft->dynamic[draft->rank] = dynamic || size == SHAPE_UNBOUNDED;
  draft->rank++;
}

void infer_draft_push_dim(ShapeDraft *draft, const Shape *shape, int64_t dimension) {
  infer_draft_push(draft, shape->dims[dimension], infer_is_dynamic(shape, (int)dimension));
}

ShapeDraft infer_draft_like(const InferContext *context, PrimitiveType type, const Shape *shape) {
  ShapeDraft draft = infer_draft(context, type, shape->rank);
  for (int i = 0; i < shape->rank; i++) infer_draft_push_dim(&draft, shape, i);
  return draft;
}

const Shape *infer_finish(const InferContext *context, const ShapeDraft *draft, const Layout *layout) {
  bool any = false;
  for (int i = 0; i < draft->rank; i++) any |= draft->dynamic[i];
  return shape_array_with(context->shapes, draft->type, draft->dims, any ? draft->dynamic : NULL, draft->rank, layout);
}
