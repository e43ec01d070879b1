/* scatter: updates are combined, one after the other, into a result that starts as a copy of the operand (in place). */
#include "codegen/lower/lowering_internal.h"

#define MAX_SCATTER_OPERANDS 16

/* The first operand and its updates stand for all: shapes are alike. */
typedef struct ScatterDims {
  const HloInstruction *indices;
  const Shape *operand, *updates;
  Int64List window, inserted, scatter_map, input_batching, indices_batching;
  int64_t index_vector_dim;
} ScatterDims;

/* The index into the operand that update element |update| goes to, and the predicate under which the whole window lies
 * inside. */
static Status scatter_target(Lowering *lowering, const ScatterDims *dims, const IndexExpr *update, IndexExpr *out_index,
                             int32_t *out_predicate) {
  const Shape *operand = dims->operand, *updates = dims->updates;
  IndexExpr batch[MAX_RANK];
  for (int i = 0, next = 0; i < updates->rank; i++) {
    if (!int64_list_has(dims->window, i)) batch[next++] = update[i];
  }
  *out_predicate = -1;
  int window_next = 0;
  for (int d = 0; d < operand->rank; d++) {
    int64_t batching = int64_list_find(dims->input_batching, d), component = int64_list_find(dims->scatter_map, d);
    int64_t extent = 1;
    out_index[d] = index_constant(0);
    if (batching >= 0) {
      int64_t dim = dims->indices_batching.data[batching];
      out_index[d] = batch[dim - (dim > dims->index_vector_dim ? 1 : 0)];
      continue;
    }
    if (!int64_list_has(dims->inserted, d)) {
      int64_t window_dim = dims->window.data[window_next++];
      extent = updates->dims[window_dim];
      out_index[d] = update[window_dim];
    }
    if (component < 0) continue;
    int32_t start;
    RETURN_IF_ERROR(lower_index_component(lowering, dims->indices, batch, dims->index_vector_dim, component, &start));
    IndexExpr raw = lowering_raw_index(lowering, start);
    int32_t fits = lowering_in_range(lowering, raw, 0, operand->dims[d] - extent + 1);
    *out_predicate = lowering_and(lowering, *out_predicate, fits);
    out_index[d] = index_add(&lowering->draft.space, out_index[d], raw);
  }
  return STATUS_OK;
}

/* The dimension of |dims->indices_batching| that dimension |dim| of the updates, which is no window's, walks; or not.
 */
static bool walks_batch(const ScatterDims *dims, int dim) {
  int64_t batch = dim;
  for (int i = 0; i < dims->window.count; i++) batch -= dims->window.data[i] < dim;
  return int64_list_has(dims->indices_batching, batch + (batch >= dims->index_vector_dim));
}

/* Whether the window dimension |dim| of the updates begins at element 0 of the operand's, wherever the window lies. */
static bool spans_operand(const ScatterDims *dims, int dim) {
  int64_t number = int64_list_find(dims->window, dim);
  for (int d = 0; d < dims->operand->rank; d++) {
    if (int64_list_has(dims->inserted, d) || int64_list_has(dims->input_batching, d)) continue;
    if (number-- == 0) return !int64_list_has(dims->scatter_map, d);
  }
  return false;
}

/* Updates of one element come one after the other; what they are of decides what does not meet. */
static KernelDimKind update_dim_kind(const HloInstruction *scatter, const ScatterDims *dims, int dim) {
  if (hlo_instruction_bool(scatter, HLO_ATTR_UNIQUE_INDICES, false)) return KERNEL_PARALLEL;
  if (!int64_list_has(dims->window, dim)) return walks_batch(dims, dim) ? KERNEL_APART : KERNEL_SEQUENTIAL;
  return spans_operand(dims, dim) ? KERNEL_APART : KERNEL_PARALLEL;
}

/* For rows to be worthwhile: with fewer, columns take no more cache lines than rows. */
enum { LEAST_COLUMNS = 16 };

/* Whether all windows are columns, whole dimensions of the operand before all into which indices point, and many. */
static bool has_columns(const ScatterDims *dims) {
  if (!shape_has_default_layout(dims->operand)) return false;
  int64_t windows = 1;
  for (int i = 0; i < dims->updates->rank; i++) {
    if (!int64_list_has(dims->window, i)) windows *= dims->updates->dims[i];
  }
  if (windows < LEAST_COLUMNS) return false;
  bool is_column = true;
  for (int d = 0, window = 0; d < dims->operand->rank; d++) {
    if (int64_list_has(dims->input_batching, d)) continue;
    bool is_inserted = int64_list_has(dims->inserted, d);
    int64_t extent = is_inserted ? 1 : dims->updates->dims[dims->window.data[window++]];
    if (is_inserted || int64_list_has(dims->scatter_map, d)) is_column = false;
    if (!is_column && extent > 1) return false;
  }
  return true;
}

Status root_scatter(Lowering *lowering, const HloInstruction *scatter) {
  int count = scatter->operand_count / 2;
  if (count > MAX_SCATTER_OPERANDS) {
    return diag_error(lowering->diag, STATUS_UNSUPPORTED, scatter->loc, "unsupported-op",
                      "'scatter' of more than %d arrays", MAX_SCATTER_OPERANDS);
  }
  const Shape *updates = scatter->operands[count + 1]->shape;
  ScatterDims dims = {
      .indices = scatter->operands[count],
      .operand = scatter->operands[0]->shape,
      .updates = updates,
      .window = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS),
      .inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS),
      .scatter_map = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
      .input_batching = hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS),
      .indices_batching = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS),
      .index_vector_dim = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0),
  };
  IndexExpr update[MAX_RANK], target[MAX_RANK];
  /* The windows inside what has indices, in order; columns around it: so the updates of a row meet in the cache. */
  bool begins_with_windows = has_columns(&dims);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < updates->rank; i++) {
      bool is_window = int64_list_has(dims.window, i);
      if (is_window != ((pass == 1) != begins_with_windows)) continue;
      update[i] = lowering_dim(lowering, updates->dims[i], update_dim_kind(scatter, &dims, i), KERNEL_OUTER);
    }
  }
  if (lowering->is_empty) return STATUS_OK;
  int32_t predicate, arguments[2 * MAX_SCATTER_OPERANDS], results[MAX_SCATTER_OPERANDS];
  RETURN_IF_ERROR(scatter_target(lowering, &dims, update, target, &predicate));
  KernelStore stores[MAX_SCATTER_OPERANDS];
  for (int i = 0; i < count; i++) {
    int node = lowering->result_node + i;
    const Shape *leaf = shape_node(lowering->source->shape, node);
    stores[i] = (KernelStore){lowering_buffer(lowering, KERNEL_IN_PLACE, -1, node, leaf),
                              lowering_address(lowering, leaf, target), -1, predicate};
    lowering->predicate = predicate;
    arguments[i] = lowering_load(lowering, stores[i].buffer, stores[i].address);
    lowering->predicate = -1;
    RETURN_IF_ERROR(lower_element(lowering, scatter->operands[count + 1 + i], update, &arguments[count + i]));
  }
  const HloComputation *region = hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY);
  RETURN_IF_ERROR(lower_region(lowering, region, arguments, results, count));
  for (int i = 0; i < count; i++) stores[i].value = results[i];
  lowering_add_stage(lowering, stores, count);
  return STATUS_OK;
}
