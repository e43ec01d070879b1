/* Rows of a tile that are neighbouring patches of an image: they overlap, and are packed once, as a strip; or they are
 * read where they are, those that begin outside of the image left out. */
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

  int inside = contraction_inside_suffix(kernel, blocking, depth->count, 1);
  int merged = contraction_merged_suffix(kernel, &blocking->lhs_set, depth), most = depth->count - blocking->chunk_dim;
  int count = (int)min_i64(inside > merged ? inside : merged, most);
  int first = depth->count - count;
  int64_t steps = sliding_steps(kernel, lhs, row, depth->dims[first]), inner = 1;
  for (int i = first + 1; i < depth->count; i++) inner *= kernel->dims[depth->dims[i]].extent;
  int64_t extent = first == blocking->chunk_dim ? blocking->chunk_size : kernel->dims[depth->dims[first]].extent;
  if (steps == 0 || steps >= extent) return;
  if ((extent + (blocking->tile_rows - 1) * steps) * inner < blocking->vector_lanes) return;
  int64_t bytes = type_storage_bytes(blocking->type);
  if (contraction_rows_meet(blocking->has_large_caches, blocking->tile_rows, steps * inner * bytes)) return;
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

/* --- where they are --- */

/* The parts of |predicate| that are not common to a tile and a block: none, or one range over the rows; false for more
 * than that, or more common ones than there may be. */
static bool find_cut_guard(const Kernel *kernel, int32_t predicate, uint64_t common, int *common_count,
                           int32_t *out_guard) {
  const KernelValue *value = &kernel->values[predicate];
  if ((value->dims & ~common) == 0) return ++*common_count <= MOST_COMMON_GUARDS;
  if (value->kind == KERNEL_IN_RANGE) {
    if (*out_guard >= 0) return false;
    *out_guard = predicate;
    return true;
  }
  return value->kind == KERNEL_APPLY && value->opcode == HLO_AND &&
         find_cut_guard(kernel, value->operands[0], common, common_count, out_guard) &&
         find_cut_guard(kernel, value->operands[1], common, common_count, out_guard);
}

static bool note_cut(ContractionBlocking *blocking, int rows) {
  int at = 0;
  while (at < blocking->cut_count && blocking->cut_rows[at] > rows) at++;
  if (at < blocking->cut_count && blocking->cut_rows[at] == rows) return true;
  if (blocking->cut_count == MOST_CUTS) return false;
  for (int i = blocking->cut_count++; i > at; i--) blocking->cut_rows[i] = blocking->cut_rows[i - 1];
  blocking->cut_rows[at] = rows;
  return true;
}

/* How many rows each tile has for each index of |other| (a dim of the depth, -1 for none), the guard growing along the
 * rows and depending on nothing else. */
static bool count_cut_rows(const Kernel *kernel, int row, int other, ContractionBlocking *blocking) {
  const KernelValue *guard = &kernel->values[blocking->cut_guard];
  int64_t step = index_dim_coefficient(&kernel->space, guard->address, row);
  int64_t of_other = other < 0 ? 0 : index_dim_coefficient(&kernel->space, guard->address, other);
  int64_t others = other < 0 ? 1 : kernel->dims[other].extent, rows = kernel->dims[row].extent, all = 0;
  for (int64_t o = 0; o < others; o++) {
    for (int64_t begin = 0; begin < rows; begin += blocking->tile_rows) {
      int count = 0;
      for (int64_t r = begin; r < begin + blocking->tile_rows; r++) {
        int64_t position = guard->address.constant + r * step + o * of_other;
        count += position >= guard->lower && position < guard->upper;
      }
      if (count == 0 || !note_cut(blocking, count)) return false;
      all += count;
    }
  }
  blocking->cut_share = (double)all / ((double)others * (double)rows);
  return true;
}

/* The dim besides |row| that the guard depends on, which stands still in a block: -1 for none, -2 where that is not
 * all, or not along with the rows. */
static int cut_guard_dim(const Kernel *kernel, const ContractionBlocking *blocking, int row, uint64_t common) {
  const KernelValue *guard = &kernel->values[blocking->cut_guard];
  uint64_t others = guard->dims & ~(UINT64_C(1) << row);
  bool is_plain = (others & ~common) == 0 && (others & (others - 1)) == 0 &&
                  !index_depends_nonlinearly(&kernel->space, guard->address, row) &&
                  index_dim_coefficient(&kernel->space, guard->address, row) > 0;
  if (!is_plain) return -2;
  int terms = 1, found = -1;
  for (int i = 0; i < blocking->depth.count; i++) {
    int dim = blocking->depth.dims[i];
    if ((others >> dim & 1) == 0) continue;
    if (index_depends_nonlinearly(&kernel->space, guard->address, dim)) return -2;
    found = dim;
    terms++;
  }
  return guard->address.term_count == terms ? found : -2;
}

void contraction_choose_by_tiles(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  const DimList *rows = &blocking->rows, *depth = &blocking->depth;
  if (lhs->kind != KERNEL_LOAD || blocking->group > 1 || rows->count == 0) return;
  if (!contraction_contiguous(kernel, &blocking->lhs_set, depth->dims[depth->count - 1])) return;
  int row = rows->dims[rows->count - 1], inside = depth->count - blocking->chunk_dim;
  if (blocking->chunk_size == 1 && inside > 1) inside--;
  if (kernel->dims[row].extent % blocking->tile_rows != 0) return;
  if (contraction_merged_suffix(kernel, &blocking->lhs_set, depth) < inside) return;
  if (index_depends_nonlinearly(&kernel->space, lhs->address, row)) return;
  int64_t stride = index_dim_coefficient(&kernel->space, lhs->address, row);
  if (stride <= 0 || contraction_patches_meet(kernel, blocking, stride)) return;
  uint64_t common = contraction_common_dims(kernel, blocking);
  ContractionBlocking found = *blocking;
  found.cut_guard = -1;
  found.cut_share = 1;
  found.cut_count = 0;
  int common_count = 0;
  if (lhs->predicate >= 0 && !find_cut_guard(kernel, lhs->predicate, common, &common_count, &found.cut_guard)) return;
  if (found.cut_guard >= 0) {
    int other = cut_guard_dim(kernel, &found, row, common);
    if (other == -2 || !count_cut_rows(kernel, row, other, &found)) return;
  }
  found.cut = found.cut_share < 1;
  found.lhs_in_place = found.lhs_by_tiles = true;
  found.row_stride = stride;
  *blocking = found;
}
