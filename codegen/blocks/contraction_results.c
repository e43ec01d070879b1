/* What the epilogue of a tile reads beside its sums, or else where they will go, asked for while the tile is
 * multiplied.
 *
 * Results that the second-level cache does not hold make the epilogue wait for memory: it moves a few lines of each
 * row, which are too far apart for the hardware to guess.  The micro-kernel asks for those of one row at every
 * few of its steps.  Often the result takes the memory of what is read, so that one of the two is enough.  In blocks of
 * the depth that do not end sums it asks in the same way for what the next block packs of a lhs. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

#define KEPT_BYTES (400 << 10) /* of arrays that stay in the second-level cache from one kernel to the next */
/* Steps from a row that is asked for to the next one, at most: lines from far away, all at once, hold up those of the
 * factors. */
#define MOST_STEPS_APART 4
#define MOST_BLOCKS 8 /* of the depth: the steps of all of them take longer, and one gains */

int64_t contraction_row_bytes(const Kernel *kernel, const ContractionBlocking *blocking, IndexExpr address,
                              PrimitiveType type) {
  const DimList *rows = &blocking->rows, *columns = &blocking->columns;
  int64_t column, row;
  if (!kernel_plain_stride(kernel, address, columns->dims[columns->count - 1], &column) || column != 1) return 0;
  for (int i = 0; i + 1 < rows->count; i++)
    if (!contraction_address_merges(kernel, address, rows->dims[i], rows->dims[i + 1])) return 0;
  if (!kernel_plain_stride(kernel, address, rows->dims[rows->count - 1], &row)) return 0;
  return max_i64(row, 0) * type_storage_bytes(type);
}

/* A load of the epilogue whose rows lie as those of the result; -1: none. */
static int32_t load_beside(const Kernel *kernel, const ContractionBlocking *blocking, int64_t result_bytes) {
  int row = blocking->rows.dims[blocking->rows.count - 1];
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!blocking->epilogue_set.has[v] || value->kind != KERNEL_LOAD || value->predicate >= 0) continue;
    if ((value->dims >> row & 1) == 0) continue;
    if (contraction_row_bytes(kernel, blocking, value->address, value->type) == result_bytes) return v;
  }
  return -1;
}

/* Rows of a lhs that no cache of the core's own keeps are packed block by block of the depth, a piece of each: those
 * pieces lie too far apart for the hardware to guess. */
static bool packs_far_rows(const Kernel *kernel, const ContractionBlocking *blocking) {
  if (blocking->lhs_in_place || blocking->strip_dims > 0 || blocking->block_count == 1) return false;
  int64_t stride = contraction_lhs_stride(kernel, blocking);
  if (contraction_merged_suffix(kernel, &blocking->lhs_set, &blocking->depth) < blocking->depth.count) return false;
  return (double)stride * (double)blocking->rows.size * type_storage_bytes(blocking->type) > KEPT_BYTES;
}

void contraction_choose_results_ahead(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  const KernelStage *stage = &kernel->stages[1];
  const KernelStore *store = &stage->stores[0];
  blocking->result_lines = 0;
  blocking->lhs_ahead = false;
  if (stage->store_count != 1 || blocking->rows.count == 0 || blocking->tile_count == 1 || blocking->is_turned) return;
  if (!contraction_has_assembly(target, blocking, blocking->tile_rows, blocking->panel_vectors)) return;
  /* steps with shorter registers take too little time themselves */
  if (blocking->vector_lanes * type_storage_bytes(blocking->type) < LINE_BYTES) return;
  bool packs_far = packs_far_rows(kernel, blocking);
  if (blocking->block_count > MOST_BLOCKS && !packs_far) return;
  if (contraction_strip_gap(blocking) > 0 && contraction_lines_ahead(blocking) > 0) return;
  int64_t rows_in_time = blocking->block_depth / blocking->group;
  if (blocking->in_matrix_unit) rows_in_time = rows_in_time / MATRIX_STEP * MATRIX_MOST_AHEAD;
  if (rows_in_time < blocking->tile_rows) return;
  PrimitiveType type = kernel->buffers[store->buffer].type;
  blocking->result_stride = contraction_row_bytes(kernel, blocking, store->address, type);
  if (blocking->result_stride == 0) return;
  blocking->beside = load_beside(kernel, blocking, blocking->result_stride);
  if ((double)blocking->rows.size * (double)blocking->columns.size * type_storage_bytes(type) <= KEPT_BYTES) return;
  blocking->result_lines = (int)ceil_div(blocking->panel_width * type_storage_bytes(type), LINE_BYTES);
  blocking->lhs_ahead = packs_far;
}

/* The last row is asked for when three quarters of the steps are over, for the epilogue follows the last one. */
int contraction_steps_apart(const ContractionBlocking *blocking) {
  int64_t steps = blocking->block_depth / blocking->group * 3 / 4 / blocking->tile_rows;
  return (int)max_i64(min_i64(steps, MOST_STEPS_APART), 1);
}

void contraction_ask_for_results(ContractionEmitter *emitter, LLVMValueRef row, LLVMValueRef column, LLVMValueRef asks,
                                 MicroCall *call) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->result_lines == 0) return;
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  LLVMValueRef dims[KERNEL_MAX_DIMS];
  memcpy(dims, point->dims, sizeof dims);
  LLVMValueRef other = call->result, other_stride = call->result_stride;
  call->result = contraction_result_address(emitter, row, column);
  call->result_stride = block_int(vec, blocking->result_stride);
  point->vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  if (blocking->beside >= 0) call->result = point_load_pointer(point, blocking->beside);
  point_forget(point, height);
  memcpy(point->dims, dims, sizeof dims);
  if (asks == NULL) return;
  call->result = LLVMBuildSelect(vec->builder, asks, call->result, other, "");
  call->result_stride = LLVMBuildSelect(vec->builder, asks, call->result_stride, other_stride, "");
}
