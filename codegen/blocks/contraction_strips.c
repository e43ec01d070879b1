/* Strips: rows of a tile that are neighbouring patches of an image overlap, and are packed once. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

/* Whether the predicate depends on |row| and |depth| in ranges alone, as |steps| of |depth| to one of |row|. */
static bool guard_slides(const Kernel *kernel, int32_t predicate, int row, int depth, int64_t steps) {
  const KernelValue *value = &kernel->values[predicate];
  if ((value->dims & (UINT64_C(1) << row | UINT64_C(1) << depth)) == 0) return true;
  if (value->kind == KERNEL_IN_RANGE) {
    const IndexSpace *space = &kernel->space;
    if (index_depends_nonlinearly(space, value->address, row) ||
        index_depends_nonlinearly(space, value->address, depth))
      return false;
    return index_dim_coefficient(space, value->address, row) ==
           steps * index_dim_coefficient(space, value->address, depth);
  }
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_AND) return false;
  return guard_slides(kernel, value->operands[0], row, depth, steps) &&
         guard_slides(kernel, value->operands[1], row, depth, steps);
}

/* How many indices of |depth| the lhs moves on from one |row| to the next, its guard too; 0: it does not. */
static int64_t sliding_steps(const Kernel *kernel, const KernelValue *lhs, int row, int depth) {
  const IndexSpace *space = &kernel->space;
  if (index_depends_nonlinearly(space, lhs->address, row) || index_depends_nonlinearly(space, lhs->address, depth))
    return 0;
  int64_t of_row = index_dim_coefficient(space, lhs->address, row);
  int64_t of_depth = index_dim_coefficient(space, lhs->address, depth);
  if (of_depth == 0 || of_row % of_depth != 0 || of_row / of_depth <= 0) return 0;
  int64_t steps = of_row / of_depth;
  return lhs->predicate < 0 || guard_slides(kernel, lhs->predicate, row, depth, steps) ? steps : 0;
}

void contraction_choose_strips(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  const DimList *rows = &blocking->rows, *depth = &blocking->depth;
  bool is_plain = lhs->kind == KERNEL_LOAD && blocking->group == 1 && !blocking->lhs_transposes;
  if (!is_plain || rows->count == 0 || blocking->tile_rows < 2) return;
  int row = rows->dims[rows->count - 1];
  if (kernel->dims[row].extent % blocking->tile_rows != 0) return;

  int inside = contraction_inside_suffix(kernel, blocking, depth->count);
  int merged = contraction_merged_suffix(kernel, &blocking->lhs_set, depth), most = depth->count - blocking->chunk_dim;
  int count = (int)min_i64(inside > merged ? inside : merged, most);
  int first = depth->count - count;
  int64_t steps = sliding_steps(kernel, lhs, row, depth->dims[first]), inner = 1;
  for (int i = first + 1; i < depth->count; i++) inner *= kernel->dims[depth->dims[i]].extent;
  int64_t extent = first == blocking->chunk_dim ? blocking->chunk_size : kernel->dims[depth->dims[first]].extent;
  if (steps == 0 || steps >= extent) return;
  int64_t bytes = type_storage_bytes(blocking->type);
  if (contraction_rows_meet(blocking->tile_rows, steps * inner * bytes)) return;
  blocking->strip_dims = count;
  blocking->strip_longer = (blocking->tile_rows - 1) * steps;
  blocking->strip_run = extent * inner;
  blocking->strip_length = (extent + blocking->strip_longer) * inner;
  blocking->row_stride = steps * inner;
  int64_t lanes = blocking->vector_lanes, beyond = inner % lanes == 0 ? 0 : lanes; /* of the last run, by vectors */
  int64_t strips = blocking->block_depth / blocking->strip_run;
  blocking->lhs_slot = align_up(strips * blocking->strip_length + beyond, lanes);
}

int64_t contraction_strip_gap(const ContractionBlocking *blocking) {
  if (blocking->strip_dims == 0 || blocking->strip_run == blocking->block_depth) return 0;
  return blocking->strip_length - blocking->strip_run;
}
