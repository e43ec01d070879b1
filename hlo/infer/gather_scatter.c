/* gather and scatter: windows of an array addressed through an array of start indices. */
#include "hlo/infer/infer_internal.h"

/* The parts of both operations' dimension numbers that mean the same. */
typedef struct IndexedWindows {
  const Shape *operand, *indices;
  HloAttrId window_dims;    /* dimensions of the other array that hold a window */
  HloAttrId collapsed_dims; /* operand dimensions missing from it, of window size 1 */
  HloAttrId operand_batching_dims, indices_batching_dims;
  HloAttrId index_map; /* the operand dimension of each component of an index */
  int64_t index_vector_dim;
  int batch_rank;   /* dimensions of |indices| apart from the index vector */
  bool *is_missing; /* operand dimensions collapsed or batching */
} IndexedWindows;

/* The sizes of |indices| without the index vector, in order. */
static int64_t batch_dimension(const IndexedWindows *windows, int i) {
  return i < windows->index_vector_dim ? i : i + 1;
}

static Status check_sorted(const InferContext *context, HloAttrId id) {
  if (infer_list_is_sorted(hlo_instruction_ints(context->instruction, id))) return STATUS_OK;
  return infer_attr_error(context, id, "needs '%s' in ascending order", hlo_attr_info(id)->text);
}

static Status check_index_vector(const InferContext *context, IndexedWindows *windows) {
  const Shape *indices = windows->indices;
  int64_t dimension = hlo_instruction_int(context->instruction, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  if (dimension < 0 || dimension > indices->rank) {
    return infer_attr_error(context, HLO_ATTR_INDEX_VECTOR_DIM, "has 'index_vector_dim' %lld, out of range for %s",
                            (long long)dimension, infer_text(context, indices));
  }
  windows->index_vector_dim = dimension;
  windows->batch_rank = dimension == indices->rank ? indices->rank : indices->rank - 1;
  int64_t components = dimension == indices->rank ? 1 : indices->dims[dimension];
  Int64List map = hlo_instruction_ints(context->instruction, windows->index_map);
  if (infer_sizes_agree(components, map.count)) return STATUS_OK;
  return infer_attr_error(context, windows->index_map,
                          "needs one of '%s' for each of the %lld components of an index, got %lld",
                          hlo_attr_info(windows->index_map)->text, (long long)components, (long long)map.count);
}

static Status check_batching(const InferContext *context, const IndexedWindows *windows) {
  Int64List operand_dims = hlo_instruction_ints(context->instruction, windows->operand_batching_dims);
  Int64List indices_dims = hlo_instruction_ints(context->instruction, windows->indices_batching_dims);
  if (operand_dims.count != indices_dims.count) {
    return infer_error(context, "needs as many of '%s' as of '%s'", hlo_attr_info(windows->indices_batching_dims)->text,
                       hlo_attr_info(windows->operand_batching_dims)->text);
  }
  bool *seen = ARENA_NEW_ARRAY(context->scratch, bool, windows->indices->rank + 1);
  seen[windows->index_vector_dim] = true;
  RETURN_IF_ERROR(infer_mark_dimensions(context, windows->indices_batching_dims, windows->indices->rank, seen));
  for (int64_t i = 0; i < operand_dims.count; i++) {
    if (infer_sizes_agree(windows->operand->dims[operand_dims.data[i]], windows->indices->dims[indices_dims.data[i]]))
      continue;
    return infer_attr_error(context, windows->operand_batching_dims,
                            "has batching dimensions %lld and %lld of different sizes", (long long)operand_dims.data[i],
                            (long long)indices_dims.data[i]);
  }
  return STATUS_OK;
}

/* Everything that does not involve the windows themselves. */
static Status check_windows(const InferContext *context, IndexedWindows *windows) {
  if (!shape_is_array(windows->indices) || !type_is_integral(windows->indices->type)) {
    return infer_error(context, "needs integer indices, got %s", infer_text(context, windows->indices));
  }
  int rank = windows->operand->rank;
  RETURN_IF_ERROR(check_index_vector(context, windows));
  windows->is_missing = ARENA_NEW_ARRAY(context->scratch, bool, rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, windows->collapsed_dims, rank, windows->is_missing));
  RETURN_IF_ERROR(infer_mark_dimensions(context, windows->operand_batching_dims, rank, windows->is_missing));
  bool *is_mapped = ARENA_NEW_ARRAY(context->scratch, bool, rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, windows->operand_batching_dims, rank, is_mapped));
  RETURN_IF_ERROR(infer_mark_dimensions(context, windows->index_map, rank, is_mapped));
  RETURN_IF_ERROR(check_sorted(context, windows->collapsed_dims));
  RETURN_IF_ERROR(check_sorted(context, windows->operand_batching_dims));
  RETURN_IF_ERROR(check_sorted(context, windows->window_dims));
  RETURN_IF_ERROR(check_batching(context, windows));
  Int64List window_dims = hlo_instruction_ints(context->instruction, windows->window_dims);
  int64_t present = 0;
  for (int i = 0; i < rank; i++) present += !windows->is_missing[i];
  if (window_dims.count == present) return STATUS_OK;
  return infer_attr_error(context, windows->window_dims, "needs %lld of '%s' for operand %s, got %lld",
                          (long long)present, hlo_attr_info(windows->window_dims)->text,
                          infer_text(context, windows->operand), (long long)window_dims.count);
}

static Status check_slice_sizes(const InferContext *context, const IndexedWindows *windows, Int64List sizes) {
  const Shape *operand = windows->operand;
  if (sizes.count != operand->rank) {
    return infer_attr_error(context, HLO_ATTR_SLICE_SIZES, "needs %d slice sizes for %s, got %lld", operand->rank,
                            infer_text(context, operand), (long long)sizes.count);
  }
  for (int i = 0; i < operand->rank; i++) {
    int64_t size = sizes.data[i], bound = operand->dims[i];
    bool fits = size >= 0 && (bound == SHAPE_UNBOUNDED || size <= bound) && (!windows->is_missing[i] || size <= 1);
    if (fits) continue;
    return infer_attr_error(context, HLO_ATTR_SLICE_SIZES, "takes %lld elements of %sdimension %d of %s",
                            (long long)size, windows->is_missing[i] ? "collapsed or batching " : "", i,
                            infer_text(context, operand));
  }
  return STATUS_OK;
}

Status infer_gather(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 2));
  IndexedWindows windows = {.operand = infer_operand(context, 0),
                            .indices = infer_operand(context, 1),
                            .window_dims = HLO_ATTR_OFFSET_DIMS,
                            .collapsed_dims = HLO_ATTR_COLLAPSED_SLICE_DIMS,
                            .operand_batching_dims = HLO_ATTR_OPERAND_BATCHING_DIMS,
                            .indices_batching_dims = HLO_ATTR_START_INDICES_BATCHING_DIMS,
                            .index_map = HLO_ATTR_START_INDEX_MAP};
  RETURN_IF_ERROR(check_windows(context, &windows));
  Int64List sizes = hlo_instruction_ints(context->instruction, HLO_ATTR_SLICE_SIZES);
  RETURN_IF_ERROR(check_slice_sizes(context, &windows, sizes));
  Int64List offset_dims = hlo_instruction_ints(context->instruction, HLO_ATTR_OFFSET_DIMS);
  int rank = windows.batch_rank + (int)offset_dims.count;
  bool *is_offset = ARENA_NEW_ARRAY(context->scratch, bool, rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_OFFSET_DIMS, rank, is_offset));
  ShapeDraft draft = infer_draft(context, windows.operand->type, rank);
  for (int i = 0, offset = 0, batch = 0; i < rank; i++) {
    if (!is_offset[i]) {
      infer_draft_push_dim(&draft, windows.indices, batch_dimension(&windows, batch++));
      continue;
    }
    while (windows.is_missing[offset]) offset++;
    bool is_whole = sizes.data[offset] == windows.operand->dims[offset];
    infer_draft_push(&draft, sizes.data[offset], is_whole && infer_is_dynamic(windows.operand, offset));
    offset++;
  }
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

/* One array of updates: scatter dimensions like the indices, window dimensions no larger than the operand's. */
static Status check_updates(const InferContext *context, const IndexedWindows *windows, const Shape *updates) {
  Int64List window_dims = hlo_instruction_ints(context->instruction, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int rank = windows->batch_rank + (int)window_dims.count;
  if (updates->rank != rank) {
    return infer_error(context, "needs updates of rank %d, got %s", rank, infer_text(context, updates));
  }
  bool *is_window = ARENA_NEW_ARRAY(context->scratch, bool, rank);
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_UPDATE_WINDOW_DIMS, rank, is_window));
  for (int i = 0, window = 0, batch = 0; i < rank; i++) {
    int64_t size = updates->dims[i], bound;
    if (is_window[i]) {
      while (windows->is_missing[window]) window++;
      bound = windows->operand->dims[window++];
      if (size <= bound || bound == SHAPE_UNBOUNDED) continue;
      return infer_error(context, "has windows of %lld in dimension %d of the updates, the operand has %lld",
                         (long long)size, i, (long long)bound);
    }
    bound = windows->indices->dims[batch_dimension(windows, batch++)];
    if (infer_sizes_agree(size, bound)) continue;
    return infer_error(context, "has %lld in dimension %d of the updates, the indices have %lld", (long long)size, i,
                       (long long)bound);
  }
  return STATUS_OK;
}

static Status check_scatter_operands(const InferContext *context, const IndexedWindows *windows, int count) {
  const Shape **inits = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  PrimitiveType *types = ARENA_NEW_ARRAY(context->scratch, PrimitiveType, count);
  for (int i = 0; i < count; i++) {
    const Shape *operand = infer_operand(context, i), *updates = infer_operand(context, count + 1 + i);
    if (!shape_same_dims(operand, windows->operand)) {
      return infer_error(context, "needs operands of the same dimensions, got %s and %s",
                         infer_text(context, windows->operand), infer_text(context, operand));
    }
    if (!infer_types_agree(operand->type, updates->type)) {
      return infer_error(context, "cannot put updates %s into %s", infer_text(context, updates),
                         infer_text(context, operand));
    }
    RETURN_IF_ERROR(check_updates(context, windows, updates));
    inits[i] = shape_scalar(context->shapes, operand->type);
    types[i] = updates->type;
  }
  const HloComputation *reducer;
  return infer_check_reducer(context, HLO_ATTR_TO_APPLY, count, inits, types, &reducer);
}

/* (k operands, indices, k updates) → the operands. */
Status infer_scatter(const InferContext *context, const Shape **out_shape) {
  int operand_count = context->instruction->operand_count, count = operand_count / 2;
  if (operand_count % 2 == 0) return infer_error(context, "needs as many updates as operands, around the indices");
  RETURN_IF_ERROR(infer_check_arrays(context, 0, operand_count));
  IndexedWindows windows = {.operand = infer_operand(context, 0),
                            .indices = infer_operand(context, count),
                            .window_dims = HLO_ATTR_UPDATE_WINDOW_DIMS,
                            .collapsed_dims = HLO_ATTR_INSERTED_WINDOW_DIMS,
                            .operand_batching_dims = HLO_ATTR_INPUT_BATCHING_DIMS,
                            .indices_batching_dims = HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS,
                            .index_map = HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS};
  RETURN_IF_ERROR(check_windows(context, &windows));
  RETURN_IF_ERROR(check_scatter_operands(context, &windows, count));
  *out_shape = windows.operand;
  if (count == 1) return STATUS_OK;
  const Shape **elements = ARENA_NEW_ARRAY(context->scratch, const Shape *, count);
  for (int i = 0; i < count; i++) elements[i] = infer_operand(context, i);
  *out_shape = shape_tuple(context->shapes, elements, count);
  return STATUS_OK;
}
