/* Operations that rearrange elements without computing: their result is an affine view of the operands. */
#include "base/checked_math.h"
#include "hlo/infer/infer_internal.h"

/* With a stated shape, 'dimensions' says where each operand dimension goes.  Without one it lists sizes to put in
 * front: a quirk of XLA's inference that its parser shows. */
static Status infer_prepended(const InferContext *context, Int64List sizes, const Shape **out_shape) {
  const Shape *operand = infer_operand(context, 0);
  if (sizes.count > INT32_MAX - operand->rank) return infer_error(context, "has too many dimensions");
  ShapeDraft draft = infer_draft(context, operand->type, (int)sizes.count + operand->rank);
  for (int64_t i = 0; i < sizes.count; i++) {
    if (sizes.data[i] < 0) {
      return infer_attr_error(context, HLO_ATTR_DIMENSIONS, "cannot have the size %lld", (long long)sizes.data[i]);
    }
    infer_draft_push(&draft, sizes.data[i], false);
  }
  for (int i = 0; i < operand->rank; i++) infer_draft_push_dim(&draft, operand, i);
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

Status infer_broadcast(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0), *stated = context->instruction->shape;
  Int64List places = hlo_instruction_ints(context->instruction, HLO_ATTR_DIMENSIONS);
  if (stated == NULL) return infer_prepended(context, places, out_shape);
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  if (places.count != operand->rank) {
    return infer_attr_error(context, HLO_ATTR_DIMENSIONS, "needs %d of 'dimensions' for operand %s, got %lld",
                            operand->rank, infer_text(context, operand), (long long)places.count);
  }
  bool *seen = ARENA_NEW_ARRAY(context->scratch, bool, stated->rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_DIMENSIONS, stated->rank, seen));
  for (int i = 0; i < operand->rank; i++) {
    if (infer_sizes_agree(operand->dims[i], stated->dims[places.data[i]])) continue;
    return infer_attr_error(context, HLO_ATTR_DIMENSIONS,
                            "puts dimension %d of %s to dimension %lld of %s, the sizes differ", i,
                            infer_text(context, operand), (long long)places.data[i], infer_text(context, stated));
  }
  *out_shape = stated->type == operand->type ? stated : shape_with_type(context->shapes, stated, operand->type);
  return STATUS_OK;
}

/* The layout moves along with the dimensions, so that the transpose costs nothing unless another layout is stated. */
static const Shape *transposed(const InferContext *context, const Shape *operand, Int64List order) {
  ShapeDraft draft = infer_draft(context, operand->type, operand->rank);
  int64_t *place = ARENA_NEW_ARRAY(context->scratch, int64_t, operand->rank);
  for (int i = 0; i < operand->rank; i++) {
    infer_draft_push_dim(&draft, operand, order.data[i]);
    place[order.data[i]] = i;
  }
  int64_t *minor_to_major = ARENA_NEW_ARRAY(context->scratch, int64_t, operand->rank);
  for (int i = 0; i < operand->rank; i++) {
    int64_t dimension = operand->layout.rank == operand->rank ? operand->layout.minor_to_major[i] : -1;
    /* a layout that is no permutation is the verifier's to refuse */
    if (dimension < 0 || dimension >= operand->rank) return infer_finish(context, &draft, NULL);
    minor_to_major[i] = place[dimension];
  }
  Layout layout = {.rank = operand->rank, .minor_to_major = minor_to_major, .tail_padding_alignment = 1};
  layout.memory_space = operand->layout.memory_space;
  layout.element_size_in_bits = operand->layout.element_size_in_bits;
  return infer_finish(context, &draft, &layout);
}

Status infer_transpose(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  Int64List order = hlo_instruction_ints(context->instruction, HLO_ATTR_DIMENSIONS);
  if (order.count != operand->rank) {
    return infer_attr_error(context, HLO_ATTR_DIMENSIONS, "needs %d of 'dimensions' for operand %s, got %lld",
                            operand->rank, infer_text(context, operand), (long long)order.count);
  }
  bool *seen = ARENA_NEW_ARRAY(context->scratch, bool, operand->rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_DIMENSIONS, operand->rank, seen));
  *out_shape = transposed(context, operand, order);
  return STATUS_OK;
}

Status infer_reverse(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  bool *seen = ARENA_NEW_ARRAY(context->scratch, bool, operand->rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_DIMENSIONS, operand->rank, seen));
  *out_shape = operand;
  return STATUS_OK;
}

Status infer_reshape(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *stated, *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  int64_t before = shape_element_count(operand), after = shape_element_count(stated);
  bool unbounded = false;
  for (int i = 0; i < operand->rank; i++) unbounded |= operand->dims[i] == SHAPE_UNBOUNDED;
  for (int i = 0; i < stated->rank; i++) unbounded |= stated->dims[i] == SHAPE_UNBOUNDED;
  if (!unbounded && (before != after || before < 0)) {
    return infer_error(context, "cannot turn %s into %s: the numbers of elements differ", infer_text(context, operand),
                       infer_text(context, stated));
  }
  int64_t inferred = hlo_instruction_int(context->instruction, HLO_ATTR_INFERRED_DIMENSION, -1);
  if (inferred < -1 || inferred >= stated->rank) {
    return infer_attr_error(context, HLO_ATTR_INFERRED_DIMENSION,
                            "has 'inferred_dimension' %lld, out of range for rank %d", (long long)inferred,
                            stated->rank);
  }
  *out_shape = stated->type == operand->type ? stated : shape_with_type(context->shapes, stated, operand->type);
  return STATUS_OK;
}

/* start, limit, stride → the number of elements taken. */
static Status slice_size(const InferContext *context, const Shape *operand, int i, const SliceDimension *range,
                         int64_t *out_size) {
  int64_t size = operand->dims[i];
  bool fits = range->start >= 0 && range->start <= range->limit && (size == SHAPE_UNBOUNDED || range->limit <= size);
  if (!fits) {
    return infer_attr_error(context, HLO_ATTR_SLICE, "takes [%lld:%lld] of dimension %d, which is not within %s",
                            (long long)range->start, (long long)range->limit, i, infer_text(context, operand));
  }
  if (range->stride <= 0) {
    return infer_attr_error(context, HLO_ATTR_SLICE, "has stride %lld in dimension %d", (long long)range->stride, i);
  }
  *out_size = ceil_div(range->limit - range->start, range->stride);
  return STATUS_OK;
}

Status infer_slice(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  const SliceRanges *ranges = hlo_instruction_slice(context->instruction);
  if (ranges->rank != operand->rank) {
    return infer_attr_error(context, HLO_ATTR_SLICE, "needs %d ranges for operand %s, got %d", operand->rank,
                            infer_text(context, operand), ranges->rank);
  }
  ShapeDraft draft = infer_draft(context, operand->type, operand->rank);
  for (int i = 0; i < operand->rank; i++) {
    int64_t size = 0;
    RETURN_IF_ERROR(slice_size(context, operand, i, &ranges->dims[i], &size));
    infer_draft_push(&draft, size, infer_is_dynamic(operand, i));
  }
  *out_shape = infer_prefer_stated(context, infer_finish(context, &draft, NULL));
  return STATUS_OK;
}

/* low + size + high + interior × (size - 1); false on overflow or a negative result. */
static bool padded_size(int64_t size, const PaddingDimension *padding, int64_t *out_size) {
  int64_t total, holes;
  if (!checked_mul(max_i64(size - 1, 0), padding->interior, &holes)) return false;
  if (!checked_add(size, holes, &total)) return false;
  return checked_add(total, padding->low, &total) && checked_add(total, padding->high, out_size) && *out_size >= 0;
}

Status infer_pad(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 2));
  const Shape *operand = infer_operand(context, 0), *value = infer_operand(context, 1);
  const PaddingConfig *padding = hlo_instruction_padding(context->instruction);
  if (value->rank != 0 || !infer_types_agree(operand->type, value->type)) {
    return infer_error(context, "needs a scalar of type %s as padding value, got %s", type_text(operand->type),
                       infer_text(context, value));
  }
  if (padding->rank != operand->rank) {
    return infer_attr_error(context, HLO_ATTR_PADDING, "needs %d dimensions of padding for operand %s, got %d",
                            operand->rank, infer_text(context, operand), padding->rank);
  }
  ShapeDraft draft = infer_draft(context, type_wider(operand->type, value->type), operand->rank);
  for (int i = 0; i < operand->rank; i++) {
    int64_t size = operand->dims[i];
    if (padding->dims[i].interior < 0) {
      return infer_attr_error(context, HLO_ATTR_PADDING, "has negative interior padding in dimension %d", i);
    }
    if (size != SHAPE_UNBOUNDED && !padded_size(size, &padding->dims[i], &size)) {
      return infer_attr_error(context, HLO_ATTR_PADDING, "makes dimension %d of %s negative or too large", i,
                              infer_text(context, operand));
    }
    infer_draft_push(&draft, size, infer_is_dynamic(operand, i));
  }
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

static Status concatenate_with(const InferContext *context, ShapeDraft *draft, const Shape *operand, int dimension) {
  const Shape *first = infer_operand(context, 0);
  bool fits = operand->rank == draft->rank && infer_types_agree(first->type, operand->type);
  for (int i = 0; fits && i < draft->rank; i++) {
    fits = i == dimension || infer_sizes_agree(draft->dims[i], operand->dims[i]);
  }
  if (!fits) {
    return infer_error(context, "needs operands that differ in dimension %d only, got %s and %s", dimension,
                       infer_text(context, first), infer_text(context, operand));
  }
  draft->type = type_wider(draft->type, operand->type);
  for (int i = 0; i < draft->rank; i++) {
    if (draft->dims[i] == SHAPE_UNBOUNDED && i != dimension) {
      draft->dims[i] = operand->dims[i];
      draft->dynamic[i] = infer_is_dynamic(operand, i);
    }
    draft->dynamic[i] |= infer_is_dynamic(operand, i) && operand->dims[i] != SHAPE_UNBOUNDED;
  }
  int64_t *total = &draft->dims[dimension];
  if (*total == SHAPE_UNBOUNDED || operand->dims[dimension] == SHAPE_UNBOUNDED) {
    *total = SHAPE_UNBOUNDED;
    draft->dynamic[dimension] = true;
  } else if (!checked_add(*total, operand->dims[dimension], total)) {
    return infer_error(context, "makes dimension %d too large", dimension);
  }
  return STATUS_OK;
}

Status infer_concatenate(const InferContext *context, const Shape **out_shape) {
  int count = context->instruction->operand_count, dimension;
  RETURN_IF_ERROR(infer_check_arrays(context, 0, count));
  const Shape *first = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_one_dimension(context, first->rank, &dimension));
  ShapeDraft draft = infer_draft_like(context, first->type, first);
  for (int i = 1; i < count; i++)
    RETURN_IF_ERROR(concatenate_with(context, &draft, infer_operand(context, i), dimension));
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

Status infer_iota(const InferContext *context, const Shape **out_shape) {
  const Shape *stated;
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated) || stated->rank == 0 || stated->type == TYPE_PRED) {
    return infer_error(context, "makes arrays of numbers with at least one dimension, not %s",
                       infer_text(context, stated));
  }
  int64_t dimension = hlo_instruction_int(context->instruction, HLO_ATTR_IOTA_DIMENSION, 0);
  if (dimension < 0 || dimension >= stated->rank) {
    return infer_attr_error(context, HLO_ATTR_IOTA_DIMENSION, "has 'iota_dimension' %lld, out of range for %s",
                            (long long)dimension, infer_text(context, stated));
  }
  *out_shape = stated;
  return STATUS_OK;
}

/* Bits of all elements; -1 when they do not fit. */
static int64_t bit_count(const Shape *shape) {
  int64_t bits, elements = shape_element_count(shape);
  return elements >= 0 && checked_mul(elements, type_bits(shape->type), &bits) ? bits : -1;
}

Status infer_bitcast(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *stated, *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  if (bit_count(operand) != bit_count(stated) || bit_count(operand) < 0) {
    return infer_error(context, "cannot turn %s into %s: the sizes differ", infer_text(context, operand),
                       infer_text(context, stated));
  }
  *out_shape = stated;
  return STATUS_OK;
}

/* A narrower type splits each element along a new last dimension, a wider one merges the last dimension. */
Status infer_bitcast_convert(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *stated, *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated) || type_is_complex(stated->type) != type_is_complex(operand->type)) {
    return infer_error(context, "cannot turn %s into %s", infer_text(context, operand), infer_text(context, stated));
  }
  int from = type_bits(operand->type), to = type_bits(stated->type);
  int wide = from > to ? from : to, narrow = from > to ? to : from, ratio = wide / narrow;
  ShapeDraft draft = infer_draft(context, stated->type, operand->rank + 1);
  bool merges = to > from;
  if (wide % narrow != 0 || (merges && (operand->rank == 0 || operand->dims[operand->rank - 1] != ratio))) {
    return infer_error(context, "cannot put elements of %s together to %s", infer_text(context, operand),
                       type_text(stated->type));
  }
  for (int i = 0; i < operand->rank - merges; i++) infer_draft_push_dim(&draft, operand, i);
  if (from > to) infer_draft_push(&draft, ratio, false);
  *out_shape = infer_prefer_stated(context, infer_finish(context, &draft, NULL));
  return STATUS_OK;
}
