/* Products of few rows with weights whose depth is contiguous: lanes along the depth, nothing packed.
 *
 * The time is that of reading the weights.  A tile is all rows times a few columns, each with a register of partial
 * sums, so that a weight is read once and several streams of them at a time.  So the weights may be anything that is
 * computed of what is read: numbers of 8 and 4 bits, times a scale that a group of the depth shares.  Lanes walk the
 * dim of the depth along which the weights lie; dims outside of it are loops (groups), few indices inside of it (the
 * halves of a byte) are written out. */
#include "codegen/blocks/contraction_internal.h"

/* Rows of which a step loads more than it adds products up are faster packed. */
enum { MOST_ROWS = 10, MOST_ROWS_FEW_REGISTERS = 5 };
#define MOST_COLUMNS 8
#define MOST_SUMS 24
#define MOST_SUMS_FEW_REGISTERS 10
/* Bytes ahead in each column where weights come from memory: the hardware follows no stream from page to page. */
#define AHEAD_BYTES 2048
/* Columns shorter than that, far apart: so many columns ahead, where there are enough that those beyond the last do not
 * count. */
#define COLUMNS_AHEAD 16
#define LEAST_COLUMNS_AHEAD 256
/* Read of a column in a step, at least: of less, the loads of one line would all ask. */
#define AHEAD_FROM_BYTES 32
/* Registers' worth of depth at least: shorter sums cost more to combine than to make.  Of up to so many rows as many
 * are enough as there are rows, the last one begun. */
enum { LEAST_STEPS = 4, FEW_ROWS = 2 };
/* Operations of the rows, repeated for each tile, and of the columns, each done once. */
#define MOST_ROW_OPERATIONS 2
#define MOST_COLUMN_OPERATIONS 24
/* Indices of the depth inside of the dim in lanes. */
#define MOST_INSIDE 4
/* Columns of a chunk at least; chunks for each thread, as each reads its weights through from one end. */
#define CHUNK_COLUMNS 64
#define SKINNY_CHUNKS_PER_WORKER 2

/* --- the blocking --- */

static bool has_many_registers(const VecTarget *target) {
  return target->register_count >= 32;
}

static int columns_of_tile(const VecTarget *target, int rows) {
  int sums = has_many_registers(target) ? MOST_SUMS : MOST_SUMS_FEW_REGISTERS, columns = sums / rows;
  return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

/* All loads of |set| move by 1 … |most| along |dim|, or not at all. */
static bool moves_forward(const Kernel *kernel, const ValueSet *set, int dim, int64_t most) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind != KERNEL_LOAD || (value->dims >> dim & 1) == 0) continue;
    int64_t stride;
    if (!kernel_plain_stride(kernel, value->address, dim, &stride) || stride < 1 || stride > most) return false;
  }
  return true;
}

/* One factor, in lanes along |dim|. */
static bool is_in_lanes(const Kernel *kernel, const VecTarget *target, const ContractionBlocking *blocking,
                        const ValueSet *set, int dim, int most_operations) {
  bool masked = blocking->along_run % blocking->lanes != 0;
  int operations = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) operations += set->has[v] && kernel->values[v].kind == KERNEL_APPLY;
  return operations <= most_operations && moves_forward(kernel, set, dim, masked ? 1 : MOST_INSIDE) &&
         contraction_lanes(kernel, target, set, dim, blocking->lanes, masked) == blocking->lanes;
}

/* Dims that both factors walk as one with that in lanes are joined to it. */
static void join_along(const Kernel *kernel, ContractionBlocking *blocking, int along) {
  const DimList *depth = &blocking->depth;
  blocking->along = along;
  blocking->along_first = along;
  blocking->along_run = kernel->dims[depth->dims[along]].extent;
  while (blocking->along_first > 0 &&
         contraction_merges(kernel, &blocking->lhs_set, depth, blocking->along_first - 1) &&
         contraction_merges(kernel, &blocking->rhs_set, depth, blocking->along_first - 1)) {
    blocking->along_first--;
    blocking->along_run *= kernel->dims[depth->dims[blocking->along_first]].extent;
  }
}

static bool choose_along(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth;
  blocking->along_inside = 1;
  for (int along = depth->count - 1; along >= 0 && blocking->along_inside <= MOST_INSIDE; along--) {
    int dim = depth->dims[along];
    if (contraction_contiguous(kernel, &blocking->rhs_set, dim)) {
      join_along(kernel, blocking, along);
      return blocking->along_run >= blocking->lanes &&
             is_in_lanes(kernel, target, blocking, &blocking->lhs_set, dim, MOST_ROW_OPERATIONS) &&
             is_in_lanes(kernel, target, blocking, &blocking->rhs_set, dim, MOST_COLUMN_OPERATIONS);
    }
    blocking->along_inside *= kernel->dims[dim].extent;
  }
  return false;
}

static bool is_deep(const ContractionBlocking *blocking) {
  int64_t rows = blocking->rows.size, depth = blocking->depth.size;
  return rows <= FEW_ROWS ? depth > (rows - 1) * blocking->lanes : depth >= LEAST_STEPS * blocking->lanes;
}

bool contraction_choose_skinny(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  int64_t most_rows = has_many_registers(target) ? MOST_ROWS : MOST_ROWS_FEW_REGISTERS;
  if (!type_is_float(blocking->type) || blocking->rows.size > most_rows || blocking->columns.size < MOST_COLUMNS)
    return false;
  blocking->lanes = target->vector_bits / (type_storage_bytes(blocking->type) * 8);
  if (!is_deep(blocking)) return false;
  if (!choose_along(kernel, target, blocking)) return false;
  blocking->is_skinny = true;
  blocking->rhs_ahead = target->streams_factors;
  blocking->tile_rows = (int)blocking->rows.size;
  blocking->tile_count = 1;
  blocking->panel_width = columns_of_tile(target, blocking->tile_rows);
  blocking->panel_count = (blocking->columns.size + blocking->panel_width - 1) / blocking->panel_width;
  blocking->split = blocking->batch.size >= blocking->panel_count ? ROLE_BATCH : ROLE_COLUMNS;
  blocking->piece_count = blocking->split == ROLE_BATCH ? blocking->batch.size : blocking->panel_count;
  blocking->chunk_limit = blocking->piece_count;
  blocking->chunks_per_worker = SKINNY_CHUNKS_PER_WORKER;
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
  LLVMValueRef *columns_alone;  /* by column and value: what is the same for all lanes of a run; else NULL */
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

/* Dims of the depth from |first| on, as bits. */
static uint64_t depth_bits(const ContractionBlocking *blocking, int first) {
  uint64_t bits = 0;
  for (int i = first; i < blocking->depth.count; i++) bits |= UINT64_C(1) << blocking->depth.dims[i];
  return bits;
}

/* Index |inside| of the dims inside of that in lanes. */
static void set_inside(ContractionEmitter *emitter, int inside) {
  const ContractionBlocking *blocking = emitter->blocking;
  for (int i = blocking->depth.count - 1; i > blocking->along; i--) {
    int dim = blocking->depth.dims[i], extent = (int)emitter->kernel->dims[dim].extent;
    emitter->point.dims[dim] = block_int(emitter->vec, inside % extent);
    inside /= extent;
  }
}

/* Scales and the like: computed for each column before the loop over a run. */
static void compute_columns_alone(SkinnyTile *tile) {
  ContractionEmitter *emitter = tile->emitter;
  const Kernel *kernel = emitter->kernel;
  KernelPoint *point = &emitter->point;
  uint64_t later = depth_bits(emitter->blocking, emitter->blocking->along_first);
  int64_t height = point->known.count;
  for (int c = 0; c < tile->columns; c++) {
    set_column(tile, c);
    for (int32_t v = 0; v < kernel->value_count; v++) {
      const KernelValue *value = &kernel->values[v];
      bool is_alone = emitter->blocking->rhs_set.has[v] && (value->dims & later) == 0;
      if (!is_alone || value->kind == KERNEL_CONSTANT) continue;
      tile->columns_alone[c * kernel->value_count + v] = point_value(point, v);
    }
    point_forget(point, height);
  }
}

/* The point gets what is known of |column|. */
static void recall_column(const SkinnyTile *tile, int column) {
  int32_t count = tile->emitter->kernel->value_count;
  set_column(tile, column);
  for (int32_t v = 0; v < count; v++) {
    LLVMValueRef known = tile->columns_alone[column * count + v];
    if (known != NULL) point_set_value(&tile->emitter->point, v, known);
  }
}

/* Bytes from what |value| loads of a column to what it will load soon: further on in the column or, where columns are
 * short and lie apart, as the keys of a head among those of others, at the same place of a later one. */
static int64_t distance_ahead(const ContractionEmitter *emitter, const KernelValue *value) {
  const ContractionBlocking *blocking = emitter->blocking;
  int last = blocking->columns.dims[blocking->columns.count - 1];
  int64_t bytes = type_storage_bytes(value->type), column_bytes = blocking->depth.size * bytes, stride;
  if (!kernel_plain_stride(emitter->kernel, value->address, last, &stride)) return AHEAD_BYTES;
  bool are_apart = column_bytes < AHEAD_BYTES && stride * bytes >= 2 * column_bytes;
  return are_apart && blocking->columns.size >= LEAST_COLUMNS_AHEAD ? COLUMNS_AHEAD * stride * bytes : AHEAD_BYTES;
}

/* What the loads of the column at this point will read soon. */
static void ask_for_column(ContractionEmitter *emitter) {
  const VecBuilder *vec = emitter->vec;
  const Kernel *kernel = emitter->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!emitter->blocking->rhs_set.has[v] || value->kind != KERNEL_LOAD) continue;
    if (!point_is_vector(&emitter->point, v)) continue;
    if (emitter->point.lanes * type_storage_bytes(value->type) < AHEAD_FROM_BYTES) continue;
    LLVMValueRef distance = block_int(vec, distance_ahead(emitter, value));
    vec_prefetch(vec, block_element(vec, TYPE_S8, point_load_pointer(&emitter->point, v), distance));
  }
}

/* sums += rows × columns at as many indices of the run as there are lanes, from |first| on; not where |mask| is false:
 * what is computed of the zeros that are loaded there may be anything. */
static void add_products(SkinnyTile *tile, LLVMValueRef first, LLVMValueRef mask) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->point;
  int inside = (int)blocking->along_inside;
  LLVMValueRef lhs[MOST_INSIDE][MOST_ROWS];
  point->vector_dim = blocking->depth.dims[blocking->along];
  point->lanes = blocking->lanes;
  point->mask = mask;
  point->dims[point->vector_dim] = first;
  int64_t height = point->known.count;
  for (int i = 0; i < inside; i++) {
    set_inside(emitter, i);
    for (int r = 0; r < tile->rows; r++) {
      set_row(tile, r);
      lhs[i][r] = point_value_lanes(point, blocking->lhs);
      point_forget(point, height);
    }
  }
  for (int c = 0; c < tile->columns; c++) {
    recall_column(tile, c);
    if (inside > 1) contraction_hoist(point, &blocking->rhs_set, depth_bits(blocking, blocking->along + 1));
    int64_t shared = point->known.count;
    if (blocking->rhs_ahead && inside == 1) ask_for_column(emitter);
    for (int i = 0; i < inside; i++) {
      set_inside(emitter, i);
      LLVMValueRef rhs = point_value_lanes(point, blocking->rhs);
      point_forget(point, shared);
      for (int r = 0; r < tile->rows; r++) {
        LLVMValueRef *sum = &tile->sums[r * tile->columns + c];
        LLVMValueRef added = vec_multiply_add(emitter->vec, blocking->type, lhs[i][r], rhs, *sum);
        *sum = mask == NULL ? added : LLVMBuildSelect(emitter->vec->builder, mask, added, *sum, "");
      }
    }
    point_forget(point, height);
  }
  point->lanes = 1;
  point->mask = NULL;
}

/* The whole run: registers' worth of it, then the rest. */
static void add_run(SkinnyTile *tile, LLVMValueRef **carried, int count) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionBlocking *blocking = emitter->blocking;
  const VecBuilder *vec = emitter->vec;
  int64_t whole = blocking->along_run / blocking->lanes * blocking->lanes;
  for (int i = blocking->along_first; i < blocking->along; i++)
    emitter->point.dims[blocking->depth.dims[i]] = block_int(vec, 0);
  compute_columns_alone(tile);
  PointLoop loop =
      point_loop_begin_carrying(&emitter->point, ir_range(vec->context, 0, whole), blocking->lanes, carried, count);
  add_products(tile, loop.index, NULL);
  point_loop_end(&emitter->point, &loop);
  if (whole == blocking->along_run) return;
  LLVMValueRef end = block_int(vec, blocking->along_run), begin = block_int(vec, whole);
  add_products(tile, begin, block_lanes_below(vec, begin, end, blocking->lanes));
}

/* All runs of the depth. */
static void add_runs(SkinnyTile *tile) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef *carried[MOST_SUMS];
  PointLoop loops[KERNEL_MAX_DIMS];
  int count = tile->rows * tile->columns;
  for (int i = 0; i < count; i++) carried[i] = &tile->sums[i];
  for (int i = 0; i < blocking->along_first; i++) {
    int dim = blocking->depth.dims[i];
    IndexRange all = ir_range(emitter->vec->context, 0, emitter->kernel->dims[dim].extent);
    loops[i] = point_loop_begin_carrying(&emitter->point, all, 1, carried, count);
    emitter->point.dims[dim] = loops[i].index;
  }
  add_run(tile, carried, count);
  for (int i = blocking->along_first - 1; i >= 0; i--) point_loop_end(&emitter->point, &loops[i]);
}

/* Whether |count| columns that follow one another may be finished in lanes: they do not leave the last of their dims.
 */
static bool finishes_in_lanes(const ContractionEmitter *emitter, int count) {
  const ContractionBlocking *blocking = emitter->blocking;
  const Kernel *kernel = emitter->kernel;
  int dim = blocking->columns.dims[blocking->columns.count - 1];
  int64_t run = kernel->dims[dim].extent;
  if (run != blocking->columns.size && run % blocking->panel_width != 0) return false;
  return contraction_lanes(kernel, emitter->vec->target, &blocking->epilogue_set, dim, count, false) == count;
}

/* So many columns from |first| on are finished at once. */
static int finished_at_once(const SkinnyTile *tile, int first) {
  int count = 1;
  while (2 * count <= tile->columns - first && 2 * count <= VEC_MAX_REDUCED) count *= 2;
  while (count > 1 && !finishes_in_lanes(tile->emitter, count)) count /= 2;
  return count;
}

/* What follows the sums of lanes of |count| columns. */
static void finish_columns(SkinnyTile *tile, int row, int column, int count) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionBlocking *blocking = emitter->blocking;
  const KernelStage *stage = &emitter->kernel->stages[1];
  VecOp add = {.opcode = HLO_ADD, .type = blocking->type, .operand_type = blocking->type};
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  set_row(tile, row);
  set_column(tile, column);
  point->vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  point->lanes = count;
  LLVMValueRef *sums = &tile->sums[row * tile->columns + column];
  point->accumulators[0] = vec_reduce_each(emitter->vec, &add, sums, count, blocking->lanes);
  /* all values first: a later store must not see what an earlier one wrote */
  for (int i = 0; i < stage->store_count; i++) point_value(point, stage->stores[i].value);
  for (int i = 0; i < stage->store_count; i++) point_store(point, &stage->stores[i]);
  point->lanes = 1;
  point_forget(point, height);
}

static void emit_tile(ContractionEmitter *emitter, LLVMValueRef panel, int columns) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  SkinnyTile tile = {.emitter = emitter, .rows = blocking->tile_rows, .columns = columns};
  tile.first_column = ir_index_multiply(vec->builder, panel, blocking->panel_width);
  LLVMValueRef zero = vec_constant_double(vec, blocking->type, 0, blocking->lanes);
  for (int i = 0; i < tile.rows * columns; i++) tile.sums[i] = zero;
  tile.columns_alone =
      ARENA_NEW_ARRAY(emitter->point.arena, LLVMValueRef, columns * (int64_t)emitter->kernel->value_count);
  add_runs(&tile);
  for (int r = 0; r < tile.rows; r++) {
    for (int c = 0, count; c < columns; c += count) {
      count = finished_at_once(&tile, c);
      finish_columns(&tile, r, c, count);
    }
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
