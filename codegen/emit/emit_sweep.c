/* Sweeps: folds and scans over rows, with the accumulators in memory. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* The accumulators of |fold| for the columns at the point. */
static LLVMValueRef accumulator_pointer(KernelEmitter *emitter, int fold) {
  const VecBuilder *vec = emitter->vec;
  const Kernel *kernel = emitter->kernel;
  const LoopStrategy *loops = &emitter->loops;
  const KernelStore *result = loops->sweep.results[fold];
  if (result != NULL)
    return point_element(&emitter->point, result->buffer, point_index(&emitter->point, result->address));
  LLVMValueRef column =
      LLVMBuildSub(vec->builder, emitter->point.dims[loops->outer_walk.dim], emitter->sweep_begin, "");
  LLVMTypeRef byte = LLVMInt8TypeInContext(vec->context), element = vec_memory_type(vec, kernel->folds[fold].type, 1);
  LLVMValueRef offset = emit_index_constant(emitter, loops->sweep.places[fold]);
  LLVMValueRef base = LLVMBuildInBoundsGEP2(vec->builder, byte, emitter->scratch, &offset, 1, "");
  return LLVMBuildInBoundsGEP2(vec->builder, element, base, &column, 1, "");
}

static void store_accumulators(KernelEmitter *emitter) {
  for (int f = 0; f < emitter->kernel->fold_count; f++)
    vec_store(emitter->vec, emitter->kernel->folds[f].type, emitter->point.accumulators[f],
              accumulator_pointer(emitter, f), NULL, emitter->point.lanes);
}

void emit_sweep_load(KernelEmitter *emitter) {
  for (int f = 0; f < emitter->kernel->fold_count; f++)
    emitter->point.accumulators[f] = vec_load(emitter->vec, emitter->kernel->folds[f].type,
                                              accumulator_pointer(emitter, f), NULL, emitter->point.lanes);
}

int emit_sweep_columns(const KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  int lanes = emitter->loops.outer_walk.parts[0].lanes, bits = 0;
  for (int f = 0; f < kernel->fold_count; f++) bits = (int)max_i64(bits, type_storage_bytes(kernel->folds[f].type) * 8);
  while (lanes % 2 == 0 && lanes * bits > SWEEP_COLUMN_BITS) lanes /= 2;
  return lanes;
}

static PointLoop begin_columns(KernelEmitter *emitter, IndexRange tile) {
  const VectorWalk *walk = &emitter->loops.outer_walk;
  emitter->point.vector_dim = walk->dim;
  emitter->point.lanes = emit_sweep_columns(emitter);
  emitter->point.mask = NULL;
  PointLoop columns = point_loop_begin(&emitter->point, tile, emitter->point.lanes);
  emitter->point.dims[walk->dim] = columns.index;
  return columns;
}

static void end_columns(KernelEmitter *emitter, PointLoop *columns) {
  point_loop_end(&emitter->point, columns);
  emitter->point.lanes = 1;
}

static void set_seeds(KernelEmitter *emitter, IndexRange tile) {
  PointLoop columns = begin_columns(emitter, tile);
  for (int f = 0; f < emitter->kernel->fold_count; f++)
    emitter->point.accumulators[f] = point_value_lanes(&emitter->point, emitter->kernel->folds[f].seed);
  store_accumulators(emitter);
  end_columns(emitter, &columns);
}

/* What the loads of this row will read a round later: the hardware follows no row from page to page. */
static void ask_for_next_round(KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  int rows = emitter->loops.sweep.dim;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->stage != kernel->dims[rows].stage) continue;
    int64_t distance = memory_sweep_distance(kernel, value, emitter->loops.outer_walk.dim, rows);
    if (distance != 0) emit_ask_for(emitter, v, distance);
  }
}

/* The step of a row, and what scans store at it. */
static void advance_all(KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  LLVMValueRef next[SWEEP_MOST_FOLDS];
  for (int f = 0; f < kernel->fold_count; f++) next[f] = point_value_lanes(&emitter->point, kernel->folds[f].next);
  if (kernel->folds[0].is_scan) emit_stores(emitter, kernel->folds[0].stage);
  for (int f = 0; f < kernel->fold_count; f++) emitter->point.accumulators[f] = next[f];
}

/* A round's sums begin anew: |totals|, by fold, are those of the rounds before. */
static void begin_round(KernelEmitter *emitter, LLVMValueRef *totals) {
  for (int f = 0; f < emitter->kernel->fold_count; f++) {
    totals[f] = emitter->point.accumulators[f];
    if (fold_is_sum(emitter->kernel, f))
      emitter->point.accumulators[f] = point_value_lanes(&emitter->point, emitter->kernel->folds[f].seed);
  }
}

static void end_round(KernelEmitter *emitter, LLVMValueRef *totals) {
  const Kernel *kernel = emitter->kernel;
  for (int f = 0; f < kernel->fold_count; f++) {
    if (!fold_is_sum(kernel, f)) continue;
    VecOp op = kernel_vec_op(kernel, &kernel->values[kernel->folds[f].next]);
    LLVMValueRef both[] = {totals[f], emitter->point.accumulators[f]};
    emitter->point.accumulators[f] = vec_apply(emitter->vec, &op, both, emitter->point.lanes);
  }
}

/* |count| rows a round. */
static void add_rows(KernelEmitter *emitter, IndexRange tile, int64_t begin, int64_t end, int64_t count) {
  int dim = emitter->loops.sweep.dim;
  if (begin == end) return;
  PointLoop rows = point_loop_begin(&emitter->point, emit_constant_range(emitter, begin, end), count);
  PointLoop columns = begin_columns(emitter, tile);
  LLVMValueRef totals[SWEEP_MOST_FOLDS];
  emit_sweep_load(emitter);
  if (count > 1) begin_round(emitter, totals);
  for (int64_t i = 0; i < count; i++) {
    int64_t height = emitter->point.known.count;
    emitter->point.dims[dim] = LLVMBuildAdd(emitter->vec->builder, rows.index, emit_index_constant(emitter, i), "");
    if (count > 1) ask_for_next_round(emitter);
    advance_all(emitter);
    point_forget(&emitter->point, height);
  }
  if (count > 1) end_round(emitter, totals);
  store_accumulators(emitter);
  end_columns(emitter, &columns);
  point_loop_end(&emitter->point, &rows);
}

PointLoop emit_sweep_begin(KernelEmitter *emitter, IndexRange range, IndexRange *out_tile) {
  const SweepStrategy *sweep = &emitter->loops.sweep;
  int64_t extent = emitter->kernel->dims[sweep->dim].extent, main_end = extent / SWEEP_ROWS * SWEEP_ROWS;
  PointLoop tiles = point_loop_begin(&emitter->point, range, sweep->tile_columns);
  IndexRange tile = ir_loop_round(&tiles.loop);
  emitter->sweep_begin = tile.begin;
  set_seeds(emitter, tile);
  add_rows(emitter, tile, 0, main_end, SWEEP_ROWS);
  add_rows(emitter, tile, main_end, extent, 1);
  *out_tile = tile;
  return tiles;
}

void emit_sweep_end(KernelEmitter *emitter, PointLoop *tiles) {
  emitter->sweep_begin = NULL;
  point_loop_end(&emitter->point, tiles);
}
