/* Products of few rows with weights whose depth is contiguous: lanes along the depth, nothing packed.
 *
 * The time is that of reading the weights.  A tile is all rows times a few columns, each with a register of partial
 * sums, so that a weight is read once and several streams of them at a time. */
#include "codegen/blocks/contraction_internal.h"

#define MOST_ROWS 4
#define MOST_COLUMNS 8
#define MOST_SUMS (MOST_ROWS * MOST_COLUMNS)
/* Registers' worth of depth at least: shorter sums cost more to combine than to make. */
#define LEAST_STEPS 4
/* Operations of a factor that may be repeated: those of the rows once for each tile. */
#define MOST_OPERATIONS 2
/* Columns of a chunk at least. */
#define CHUNK_COLUMNS 64

/* --- the blocking --- */

static int columns_of_tile(const VecTarget *target, int rows) {
  int sums = target->register_count >= 32 ? 24 : 10, columns = sums / rows;
  return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

/* One factor, in lanes along the depth, which it walks as one. */
static bool is_along_depth(const Kernel *kernel, const VecTarget *target, const ContractionBlocking *blocking,
                           const ValueSet *set) {
  int dim = blocking->depth.dims[blocking->depth.count - 1], operations = 0;
  bool masked = blocking->depth.size % blocking->lanes != 0;
  for (int32_t v = 0; v < kernel->value_count; v++) operations += set->has[v] && kernel->values[v].kind == KERNEL_APPLY;
  return operations <= MOST_OPERATIONS && contraction_contiguous(kernel, set, dim) &&
         contraction_merged_suffix(kernel, set, &blocking->depth) == blocking->depth.count &&
         contraction_lanes(kernel, target, set, dim, blocking->lanes, masked) == blocking->lanes;
}

bool contraction_choose_skinny(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  if (!type_is_float(blocking->type) || blocking->rows.size > MOST_ROWS || blocking->columns.size < MOST_COLUMNS)
    return false;
  blocking->lanes = target->vector_bits / (type_storage_bytes(blocking->type) * 8);
  if (blocking->depth.size < LEAST_STEPS * blocking->lanes) return false;
  if (!is_along_depth(kernel, target, blocking, &blocking->lhs_set)) return false;
  if (!is_along_depth(kernel, target, blocking, &blocking->rhs_set)) return false;
  blocking->is_skinny = true;
  blocking->tile_rows = (int)blocking->rows.size;
  blocking->tile_count = 1;
  blocking->panel_width = columns_of_tile(target, blocking->tile_rows);
  blocking->panel_count = (blocking->columns.size + blocking->panel_width - 1) / blocking->panel_width;
  blocking->split = blocking->batch.size >= blocking->panel_count ? ROLE_BATCH : ROLE_COLUMNS;
  blocking->piece_count = blocking->split == ROLE_BATCH ? blocking->batch.size : blocking->panel_count;
  blocking->chunk_limit = blocking->piece_count;
  if (blocking->split == ROLE_COLUMNS)
    blocking->chunk_limit = (blocking->columns.size + CHUNK_COLUMNS - 1) / CHUNK_COLUMNS;
  return true;
}

/* --- one tile --- */

typedef struct SkinnyTile {
  ContractionEmitter *emitter;
  LLVMValueRef first_column;
  int rows, columns;
  LLVMValueRef sums[MOST_SUMS]; /* row by row */
} SkinnyTile;

static void set_row(const SkinnyTile *tile, int row) {
  const ContractionBlocking *blocking = tile->emitter->blocking;
  block_set_linear(tile->emitter, &blocking->rows, blocking->rows.count, NULL, block_int(tile->emitter->vec, row));
}

static void set_column(const SkinnyTile *tile, int column) {
  const ContractionBlocking *blocking = tile->emitter->blocking;
  const VecBuilder *vec = tile->emitter->vec;
  block_set_linear(tile->emitter, &blocking->columns, blocking->columns.count, NULL,
                   ir_index_add(vec->builder, tile->first_column, block_int(vec, column)));
}

/* sums += rows × columns at as many indices of the depth as there are lanes. */
static void add_products(SkinnyTile *tile, LLVMValueRef depth, LLVMValueRef mask) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->point;
  LLVMValueRef lhs[MOST_ROWS];
  point->vector_dim = blocking->depth.dims[blocking->depth.count - 1];
  point->lanes = blocking->lanes;
  point->mask = mask;
  for (int i = 0; i < blocking->depth.count; i++) point->dims[blocking->depth.dims[i]] = block_int(emitter->vec, 0);
  point->dims[point->vector_dim] = depth;
  int64_t height = point->known.count;
  for (int r = 0; r < tile->rows; r++) {
    set_row(tile, r);
    lhs[r] = point_value_lanes(point, blocking->lhs);
    point_forget(point, height);
  }
  for (int c = 0; c < tile->columns; c++) {
    set_column(tile, c);
    LLVMValueRef rhs = point_value_lanes(point, blocking->rhs);
    point_forget(point, height);
    for (int r = 0; r < tile->rows; r++) {
      LLVMValueRef *sum = &tile->sums[r * tile->columns + c];
      *sum = vec_multiply_add(emitter->vec, blocking->type, lhs[r], rhs, *sum);
    }
  }
  point->lanes = 1;
  point->mask = NULL;
}

/* All whole registers' worth of the depth. */
static void add_whole_steps(SkinnyTile *tile, int64_t end) {
  ContractionEmitter *emitter = tile->emitter;
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef *carried[MOST_SUMS];
  int count = tile->rows * tile->columns;
  for (int i = 0; i < count; i++) carried[i] = &tile->sums[i];
  PointLoop loop = point_loop_begin_carrying(&emitter->point, ir_range(vec->context, 0, end), emitter->blocking->lanes,
                                             carried, count);
  add_products(tile, loop.index, NULL);
  point_loop_end(&emitter->point, &loop);
}

/* What follows the sum of lanes. */
static void finish_element(SkinnyTile *tile, int row, int column) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionBlocking *blocking = emitter->blocking;
  const KernelStage *stage = &emitter->kernel->stages[1];
  VecOp add = {.opcode = HLO_ADD, .type = blocking->type, .operand_type = blocking->type};
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  set_row(tile, row);
  set_column(tile, column);
  point->accumulators[0] = vec_reduce(emitter->vec, &add, tile->sums[row * tile->columns + column], blocking->lanes);
  /* all values first: a later store must not see what an earlier one wrote */
  for (int i = 0; i < stage->store_count; i++) point_value(point, stage->stores[i].value);
  for (int i = 0; i < stage->store_count; i++) point_store(point, &stage->stores[i]);
  point_forget(point, height);
}

static void emit_tile(ContractionEmitter *emitter, LLVMValueRef panel, int columns) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  SkinnyTile tile = {.emitter = emitter, .rows = blocking->tile_rows, .columns = columns};
  tile.first_column = ir_index_multiply(vec->builder, panel, blocking->panel_width);
  LLVMValueRef zero = vec_constant_double(vec, blocking->type, 0, blocking->lanes);
  for (int i = 0; i < tile.rows * columns; i++) tile.sums[i] = zero;
  int64_t whole = blocking->depth.size / blocking->lanes * blocking->lanes;
  add_whole_steps(&tile, whole);
  if (whole < blocking->depth.size) {
    LLVMValueRef end = block_int(vec, blocking->depth.size), begin = block_int(vec, whole);
    add_products(&tile, begin, block_lanes_below(vec, begin, end, blocking->lanes));
  }
  for (int r = 0; r < tile.rows; r++) {
    for (int c = 0; c < columns; c++) finish_element(&tile, r, c);
  }
}

/* --- all of them --- */

void contraction_emit_skinny(ContractionEmitter *emitter) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  IndexRange batch = emitter->work[ROLE_BATCH], panels = emitter->work[ROLE_COLUMNS];
  int64_t whole = blocking->columns.size / blocking->panel_width, rest = blocking->columns.size % blocking->panel_width;
  PointLoop entries = point_loop_begin(&emitter->point, batch, 1);
  block_set_linear(emitter, &blocking->batch, blocking->batch.count, NULL, entries.index);
  LLVMValueRef end = ir_index_minimum(vec->builder, panels.end, block_int(vec, whole));
  PointLoop tiles = point_loop_begin_guarded(&emitter->point, (IndexRange){panels.begin, end}, 1);
  emit_tile(emitter, tiles.index, (int)blocking->panel_width);
  point_loop_end(&emitter->point, &tiles);
  if (rest > 0) {
    LLVMValueRef last = block_int(vec, whole);
    LLVMValueRef begin = LLVMBuildSelect(vec->builder, LLVMBuildICmp(vec->builder, LLVMIntSGT, panels.end, last, ""),
                                         last, panels.end, "");
    PointLoop tail = point_loop_begin_guarded(&emitter->point, (IndexRange){begin, panels.end}, 1);
    emit_tile(emitter, last, (int)rest);
    point_loop_end(&emitter->point, &tail);
  }
  point_loop_end(&emitter->point, &entries);
}
