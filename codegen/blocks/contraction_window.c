/* Windows that slide over an image: which dims walk it, what of it is there, and which rows of a tile lie beside it.
 *
 * A tile's rows are positions that follow one another in a row of the image.  Rows of the window above or below the
 * image are left out; of the others each tap asks by a bit whether a position at the edge meets the image. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

#define MOST_OUTSIDE 31 /* rows and taps that ask: bits of a constant in an instruction */
/* Channels that are worth a loop for each tap. */
#define SHORTEST_WALK 16

/* --- which dims --- */

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
  if (value->kind != KERNEL_IN_RANGE || (value->dims >> window->channel & 1) != 0) return false;
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

/* The window whose dims are |*window|'s. */
static bool find_steps(const Kernel *kernel, ContractionBlocking *blocking, WindowWalk *window) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  const DimList *rows = &blocking->rows;
  window->middle_guard = window->tap_guard = -1;
  window->middle_count = 1;
  window->tap_count = kernel->dims[window->tap].extent;
  window->channel_count = kernel->dims[window->channel].extent;
  if (lhs->kind != KERNEL_LOAD || lhs->type != blocking->type || window->tap_count > MOST_TAPS) return false;
  int64_t row;
  bool is_plain = walks_plainly(kernel, lhs->address, window->channel, &window->channel_step) &&
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

bool contraction_find_window(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *rhs = &kernel->values[blocking->rhs];
  const DimList *depth = &blocking->depth;
  if (rhs->kind != KERNEL_LOAD || rhs->predicate >= 0 || depth->count < 2 || depth->count > 3) return false;
  blocking->window = (WindowWalk){.channel = depth->dims[0],
                                  .middle = depth->count == 3 ? depth->dims[1] : -1,
                                  .tap = depth->dims[depth->count - 1]};
  return find_steps(kernel, blocking, &blocking->window);
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

bool contraction_choose_outside(const Kernel *kernel, ContractionBlocking *blocking) {
  WindowWalk *window = &blocking->window;
  int rows = blocking->tile_rows, asking = 0;
  int64_t extent = kernel->dims[blocking->rows.dims[blocking->rows.count - 1]].extent, inside = 0;
  int64_t step = window->tap_step, reach = (rows - 1) * blocking->row_stride / step + window->tap_count;
  int64_t patches = rows * window->tap_count;
  int64_t farthest = (rows - 1) * blocking->row_stride + (window->tap_count - 1) * step;
  int64_t bytes = type_storage_bytes(blocking->type);
  if (extent % rows != 0 || rows > 32) return false;
  int64_t steps[] = {farthest, window->channel_step, window->middle_step * window->middle_count};
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
  return true;
}

bool contraction_may_walk_window(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth, *rows = &blocking->rows;
  WindowWalk *window = &blocking->window;
  /* long registers of which two are multiplied in a cycle have not been measured */
  bool is_known = target->multiplies_by_halves || !target->has_avx512;
  bool has_code = is_known && blocking->group == 1 && !blocking->in_matrix_unit &&
                  contraction_has_assembly(target, blocking, blocking->tile_rows, blocking->panel_vectors);
  if (!has_code || depth->count < 2 || depth->count > 3 || rows->count == 0) return false;
  *window = (WindowWalk){.channel = depth->dims[depth->count - 1],
                         .middle = depth->count == 3 ? depth->dims[0] : -1,
                         .tap = depth->dims[depth->count - 2]};
  int64_t row_stride = blocking->row_stride;
  bool slides = find_steps(kernel, blocking, window) && window->channel_step == 1;
  window->row_step = blocking->row_stride;
  bool meet = contraction_patches_meet(kernel, blocking, blocking->row_stride);
  bool may_walk = slides && !meet && window->channel_count >= SHORTEST_WALK &&
                  contraction_merged_suffix(kernel, &blocking->rhs_set, depth) == depth->count &&
                  contraction_choose_outside(kernel, blocking);
  blocking->row_stride = row_stride;
  return may_walk;
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

/* Which indices of the window's middle dim the tile at the point takes of those in |range|, as far as rows of the image
 * are there: from |range->begin| on, as many as are returned. */
static LLVMValueRef middle_inside(ContractionEmitter *emitter, IndexRange *range) {
  const VecBuilder *vec = emitter->vec;
  const WindowWalk *window = &emitter->blocking->window;
  if (window->middle_guard >= 0) {
    const KernelValue *guard = &emitter->kernel->values[window->middle_guard];
    LLVMValueRef without = point_index_without(&emitter->point, guard->address, window->middle);
    int64_t step = index_dim_coefficient(&emitter->kernel->space, guard->address, window->middle);
    LLVMValueRef lower = block_steps_up_to(vec, guard->lower, without, step);
    range->begin = emitter->blocking->walks_window ? ir_index_maximum(vec->builder, range->begin, lower) : lower;
    range->end = ir_index_minimum(vec->builder, block_steps_up_to(vec, guard->upper, without, step), range->end);
  }
  return LLVMBuildSub(vec->builder, range->end, range->begin, "");
}

void contraction_walk_window(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row, MicroCall *call) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  const WindowWalk *window = &blocking->window;
  LLVMValueRef dims[KERNEL_MAX_DIMS], *here = emitter->point.dims;
  memcpy(dims, here, sizeof dims);
  int64_t height = emitter->point.known.count;
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL, row);
  LLVMValueRef zero = block_int(vec, 0);
  bool is_chunk = blocking->walks_window && window->middle >= 0; /* of the middle dim */
  IndexRange middle = ir_range_below(block_int(vec, window->middle_count));
  if (is_chunk)
    middle = (IndexRange){block->chunk_begin, ir_index_add(vec->builder, block->chunk_begin, block->chunk_count)};
  here[window->channel] = blocking->walks_window ? zero : block->chunk_begin;
  here[window->tap] = zero;
  LLVMValueRef begin = middle.begin;
  if (window->middle >= 0) here[window->middle] = zero;
  LLVMValueRef count = middle_inside(emitter, &middle);
  if (window->middle >= 0) here[window->middle] = middle.begin;
  call->lhs = point_load_pointer(&emitter->point, blocking->lhs);
  LLVMValueRef outside = rows_outside(emitter, here[blocking->rows.dims[blocking->rows.count - 1]]);
  LLVMValueRef skipped = LLVMBuildSub(vec->builder, middle.begin, begin, "");
  if (blocking->walks_window) {
    LLVMValueRef rows = ir_index_multiply(vec->builder, skipped, window->tap_count * window->channel_count);
    call->rhs =
        block_element(vec, blocking->rhs_type, call->rhs, LLVMBuildMul(vec->builder, rows, call->rhs_stride, ""));
    call->depth = count;
    call->outside = outside;
  } else {
    call->rhs = block_element(vec, blocking->type, call->rhs,
                              ir_index_multiply(vec->builder, skipped, window->tap_count * blocking->packed_stride));
    LLVMValueRef some = LLVMBuildICmp(vec->builder, LLVMIntSGT, count, zero, "");
    call->depth = LLVMBuildSelect(vec->builder, some, block->chunk_count, zero, "");
    call->rhs_stride = count;
    call->tile_stride = outside;
  }
  point_forget(&emitter->point, height);
  memcpy(here, dims, sizeof dims);
}
