/* Channel-major images with positions as rows: a result goes on along positions, but registers hold features.
 *
 * The image is read where it is, one number for each position, as the window slides; rows of a tile that begin outside
 * of it are left out.  Weights are packed as any columns.  Finished sums, which have a position in each row, are
 * transposed, and finished as if features were rows. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

#define MOST_OUTSIDE 31 /* rows and taps that ask: bits of a constant in an instruction */

/* --- the window --- */

static bool walks_plainly(const Kernel *kernel, IndexExpr address, int dim, int64_t *out_step) {
  if (index_depends_nonlinearly(&kernel->space, address, dim)) return false;
  *out_step = index_dim_coefficient(&kernel->space, address, dim);
  return *out_step > 0;
}

/* The parts of |predicate|: one of the tap and the row at most, and one of the middle dim and what stands still. */
static bool find_guards(const Kernel *kernel, const ContractionBlocking *blocking, int32_t predicate,
                        WindowWalk *window) {
  const KernelValue *value = &kernel->values[predicate];
  int row = blocking->rows.dims[blocking->rows.count - 1];
  if (value->kind == KERNEL_APPLY && value->opcode == HLO_AND)
    return find_guards(kernel, blocking, value->operands[0], window) &&
           find_guards(kernel, blocking, value->operands[1], window);
  if (value->kind != KERNEL_IN_RANGE || (value->dims >> window->outer & 1) != 0) return false;
  uint64_t sliding = UINT64_C(1) << row | UINT64_C(1) << window->tap;
  int64_t step;
  if ((value->dims & ~sliding) == 0) {
    bool is_plain = walks_plainly(kernel, value->address, row, &step) &&
                    walks_plainly(kernel, value->address, window->tap, &step) && value->address.term_count == 2;
    if (!is_plain || window->tap_guard >= 0) return false;
    window->tap_guard = predicate;
    return true;
  }
  bool stands_still = (value->dims & sliding) == 0 && window->middle >= 0 && window->middle_guard < 0;
  if (!stands_still || !walks_plainly(kernel, value->address, window->middle, &step)) return false;
  window->middle_guard = predicate;
  return true;
}

bool contraction_find_window(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs], *rhs = &kernel->values[blocking->rhs];
  const DimList *depth = &blocking->depth, *rows = &blocking->rows;
  WindowWalk *window = &blocking->window;
  if (lhs->kind != KERNEL_LOAD || lhs->type != blocking->type || rhs->kind != KERNEL_LOAD || rhs->predicate >= 0)
    return false;
  if (depth->count < 2 || depth->count > 3) return false;
  *window = (WindowWalk){.outer = depth->dims[0],
                         .middle = depth->count == 3 ? depth->dims[1] : -1,
                         .tap = depth->dims[depth->count - 1],
                         .middle_count = 1,
                         .middle_guard = -1,
                         .tap_guard = -1};
  window->tap_count = kernel->dims[window->tap].extent;
  if (window->tap_count > MOST_TAPS) return false;
  int64_t row;
  bool is_plain = walks_plainly(kernel, lhs->address, window->outer, &window->outer_step) &&
                  walks_plainly(kernel, lhs->address, window->tap, &window->tap_step) &&
                  walks_plainly(kernel, lhs->address, rows->dims[rows->count - 1], &row);
  if (!is_plain) return false;
  if (window->middle >= 0) {
    window->middle_count = kernel->dims[window->middle].extent;
    if (!walks_plainly(kernel, lhs->address, window->middle, &window->middle_step)) return false;
  }
  blocking->row_stride = row;
  return lhs->predicate < 0 || find_guards(kernel, blocking, lhs->predicate, window);
}

/* Whether |row| is a column of the image at |tap|. */
static bool is_column(const Kernel *kernel, const ContractionBlocking *blocking, int64_t row, int64_t tap) {
  const WindowWalk *window = &blocking->window;
  if (window->tap_guard < 0) return true;
  const KernelValue *guard = &kernel->values[window->tap_guard];
  int row_dim = blocking->rows.dims[blocking->rows.count - 1];
  int64_t column = guard->address.constant + row * index_dim_coefficient(&kernel->space, guard->address, row_dim) +
                   tap * index_dim_coefficient(&kernel->space, guard->address, window->tap);
  return column >= guard->lower && column < guard->upper;
}

/* Which part of the middle dim is there, in all: where its guard depends on one dim besides. */
static double middle_share(const Kernel *kernel, const ContractionBlocking *blocking) {
  const WindowWalk *window = &blocking->window;
  if (window->middle_guard < 0) return 1;
  const KernelValue *guard = &kernel->values[window->middle_guard];
  int64_t all = 0, inside = 0;
  for (int i = 0; i < blocking->rows.count; i++) {
    int dim = blocking->rows.dims[i];
    int64_t step = index_dim_coefficient(&kernel->space, guard->address, dim);
    if (step == 0 || guard->address.term_count != 2) continue;
    for (int64_t r = 0; r < kernel->dims[dim].extent; r++) {
      for (int64_t m = 0; m < window->middle_count; m++) {
        int64_t place = guard->address.constant + r * step +
                        m * index_dim_coefficient(&kernel->space, guard->address, window->middle);
        inside += place >= guard->lower && place < guard->upper;
        all++;
      }
    }
  }
  return all == 0 ? 1 : (double)inside / (double)all;
}

int64_t contraction_turned_rows(const ContractionBlocking *blocking) {
  return align_up(blocking->tile_rows, blocking->lanes);
}

int contraction_turned_lanes(const ContractionBlocking *blocking) {
  int lanes = blocking->lanes;
  while (lanes / 2 >= blocking->tile_rows && lanes > 2) lanes /= 2;
  return lanes;
}

bool contraction_choose_window_tiles(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  WindowWalk *window = &blocking->window;
  int rows = blocking->tile_rows, asking = 0;
  int64_t extent = kernel->dims[blocking->rows.dims[blocking->rows.count - 1]].extent, inside = 0;
  int64_t step = window->tap_step, reach = (rows - 1) * blocking->row_stride / step + window->tap_count;
  int64_t patches = rows * window->tap_count;
  int64_t farthest = (rows - 1) * blocking->row_stride + (window->tap_count - 1) * step;
  int64_t bytes = type_storage_bytes(blocking->type);
  bool has_code = blocking->lanes == blocking->vector_lanes && blocking->columns.size >= blocking->lanes &&
                  vec_moves_squares(target, blocking->type, blocking->lanes) &&
                  contraction_has_assembly(target, blocking, rows, blocking->panel_vectors);
  if (!has_code || extent % rows != 0 || rows > 32) return false;
  int64_t steps[] = {farthest, window->outer_step, window->middle_step * window->middle_count};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (steps[i] > LARGEST_OFFSET / bytes) return false;
  }
  for (int64_t tap = 0; tap < window->tap_count; tap++) {
    window->outside[tap] = 0;
    for (int64_t r = 0; r < extent; r++) {
      bool is_inside = is_column(kernel, blocking, r, tap);
      inside += is_inside;
      if (!is_inside) window->outside[tap] |= UINT32_C(1) << r % rows;
    }
    for (int r = 0; r < rows; r++) asking += window->outside[tap] >> r & 1;
  }
  if (asking > MOST_OUTSIDE) return false;
  blocking->cut_share = (double)inside / (double)(extent * window->tap_count) * middle_share(kernel, blocking);
  window->read_share = (double)min_i64(reach, patches) / (double)patches;
  blocking->lhs_in_place = blocking->lhs_by_tiles = true;
  return true;
}

/* --- emission --- */

/* The bits of rows that are outside at each tap, of tiles that begin with |first| in their row. */
static uint32_t bits_outside(const Kernel *kernel, const ContractionBlocking *blocking, int64_t first) {
  const WindowWalk *window = &blocking->window;
  uint32_t bits = 0;
  int bit = 0;
  for (int64_t tap = 0; tap < window->tap_count; tap++) {
    for (int r = 0; r < blocking->tile_rows; r++) {
      if ((window->outside[tap] >> r & 1) == 0) continue;
      if (!is_column(kernel, blocking, first + r, tap)) bits |= UINT32_C(1) << bit;
      bit++;
    }
  }
  return bits;
}

static LLVMValueRef rows_outside(ContractionEmitter *emitter, LLVMValueRef first) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t extent = emitter->kernel->dims[blocking->rows.dims[blocking->rows.count - 1]].extent;
  LLVMValueRef outside = block_int(vec, 0);
  for (int64_t begin = 0; begin < extent; begin += blocking->tile_rows) {
    uint32_t bits = bits_outside(emitter->kernel, blocking, begin);
    if (bits == 0) continue;
    LLVMValueRef is_here = LLVMBuildICmp(vec->builder, LLVMIntEQ, first, block_int(vec, begin), "");
    outside = LLVMBuildSelect(vec->builder, is_here, block_int(vec, bits), outside, "");
  }
  return outside;
}

void contraction_walk_window(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row, MicroCall *call) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  const WindowWalk *window = &blocking->window;
  LLVMValueRef dims[KERNEL_MAX_DIMS], *here = emitter->point.dims;
  memcpy(dims, here, sizeof dims);
  int64_t height = emitter->point.known.count;
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL, row);
  here[window->outer] = block->chunk_begin;
  here[window->tap] = block_int(vec, 0);
  LLVMValueRef first = block_int(vec, 0), count = block_int(vec, window->middle_count);
  call->depth = block->chunk_count;
  if (window->middle >= 0) here[window->middle] = first;
  if (window->middle_guard >= 0) {
    const KernelValue *guard = &emitter->kernel->values[window->middle_guard];
    LLVMValueRef without = point_index_without(&emitter->point, guard->address, window->middle);
    int64_t step = index_dim_coefficient(&emitter->kernel->space, guard->address, window->middle);
    first = block_steps_up_to(vec, guard->lower, without, step);
    LLVMValueRef end = ir_index_minimum(vec->builder, block_steps_up_to(vec, guard->upper, without, step), count);
    count = LLVMBuildSub(vec->builder, end, first, "");
    LLVMValueRef some = LLVMBuildICmp(vec->builder, LLVMIntSGT, count, block_int(vec, 0), "");
    call->depth = LLVMBuildSelect(vec->builder, some, call->depth, block_int(vec, 0), "");
    here[window->middle] = first;
  }
  call->lhs = point_load_pointer(&emitter->point, blocking->lhs);
  LLVMValueRef skipped = ir_index_multiply(vec->builder, first, window->tap_count * blocking->packed_stride);
  call->rhs = block_element(vec, blocking->type, call->rhs, skipped);
  call->rhs_stride = count;
  call->tile_stride = rows_outside(emitter, here[blocking->rows.dims[blocking->rows.count - 1]]);
  point_forget(&emitter->point, height);
  memcpy(here, dims, sizeof dims);
}

ContractionBlocking contraction_turned_finish(const ContractionBlocking *blocking) {
  ContractionBlocking finish = *blocking;
  finish.is_turned = false;
  finish.rows = blocking->columns;
  finish.columns = (DimList){.count = 1, .dims = {blocking->rows.dims[blocking->rows.count - 1]}};
  finish.columns.size = finish.column_run = finish.panel_width = blocking->tile_rows;
  finish.tile_rows = (int)blocking->panel_width;
  finish.lanes = contraction_turned_lanes(blocking);
  return finish;
}

TileSums contraction_turn_sums(ContractionEmitter *emitter, const TileSums *sums) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t rows = contraction_turned_rows(blocking);
  int lanes = blocking->lanes;
  for (int64_t row = 0; row < rows; row += lanes) {
    VecSquares squares = {
        .source = block_element(vec, blocking->type, sums->first, block_int(vec, row * blocking->panel_width)),
        .target = block_element(vec, blocking->type, emitter->turned, block_int(vec, row)),
        .source_row = blocking->panel_width,
        .target_row = rows,
        .source_step = lanes,
        .target_step = lanes * rows,
        .count = block_int(vec, blocking->panel_vectors)};
    vec_move_squares(vec, blocking->type, &squares, lanes);
  }
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL, sums->row);
  LLVMValueRef first = emitter->point.dims[blocking->rows.dims[blocking->rows.count - 1]];
  return (TileSums){.first = emitter->turned, .stride = block_int(vec, rows), .row = sums->column, .column = first};
}
