/* What happens to finished sums: the epilogue, computed in lanes along the columns of one row after the other.
 *
 * What is computed from columns alone (the scale of a batch norm) is computed once for a panel and kept. */
#include "codegen/blocks/contraction_internal.h"

#define MOST_LANES_AT_ONCE 32
#define FEW_OPERATIONS 8

/* A stretch of one row: columns |column| and following, |first| being the first one's number in the panel. */
typedef struct ColumnStep {
  LLVMValueRef first, column, mask;
  int lanes;
  TileStep what;
  LLVMValueRef sums; /* of the row; NULL: of no row, what is kept is computed */
} ColumnStep;

static LLVMValueRef kept_address(const ContractionEmitter *emitter, int number, LLVMValueRef first) {
  const ContractionBlocking *blocking = emitter->blocking;
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef place = block_byte(vec, emitter->kept, number * blocking->kept_stride);
  return block_element(vec, emitter->kernel->values[blocking->kept[number]].type, place, first);
}

static void compute_kept(ContractionEmitter *emitter, const ColumnStep *step) {
  const ContractionBlocking *blocking = emitter->blocking;
  for (int i = 0; i < blocking->kept_count; i++) {
    LLVMValueRef value = point_value_lanes(&emitter->point, blocking->kept[i]);
    PrimitiveType type = emitter->kernel->values[blocking->kept[i]].type;
    vec_store(emitter->vec, type, value, kept_address(emitter, i, step->first), NULL, step->lanes);
  }
}

static void load_kept(ContractionEmitter *emitter, const ColumnStep *step) {
  const ContractionBlocking *blocking = emitter->blocking;
  for (int i = 0; i < blocking->kept_count; i++) {
    PrimitiveType type = emitter->kernel->values[blocking->kept[i]].type;
    LLVMValueRef pointer = kept_address(emitter, i, step->first);
    point_set_value(&emitter->point, blocking->kept[i], vec_load(emitter->vec, type, pointer, NULL, step->lanes));
  }
}

static LLVMValueRef result_address(ContractionEmitter *emitter) {
  const KernelStore *store = &emitter->kernel->stages[1].stores[0];
  return point_element(&emitter->point, store->buffer, point_index(&emitter->point, store->address));
}

static void move_sums(ContractionEmitter *emitter, const ColumnStep *step) {
  const VecBuilder *vec = emitter->vec;
  PrimitiveType type = emitter->blocking->type;
  LLVMValueRef result = result_address(emitter);
  LLVMValueRef from = step->what == TILE_FETCH ? result : step->sums,
               to = step->what == TILE_FETCH ? step->sums : result;
  vec_store(vec, type, vec_load(vec, type, from, step->mask, step->lanes), to, step->mask, step->lanes);
}

static void finish_step(ContractionEmitter *emitter, const ColumnStep *step) {
  const KernelStage *stage = &emitter->kernel->stages[1];
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  point->dims[point->vector_dim] = step->column;
  point->lanes = step->lanes;
  point->mask = step->mask;
  if (step->sums == NULL) {
    compute_kept(emitter, step);
  } else if (step->what != TILE_FINISH) {
    move_sums(emitter, step);
  } else {
    load_kept(emitter, step);
    point->accumulators[0] = vec_load(emitter->vec, emitter->blocking->type, step->sums, step->mask, step->lanes);
    /* all values first: a later store must not see what an earlier one wrote */
    for (int i = 0; i < stage->store_count; i++) point_value(point, stage->stores[i].value);
    for (int i = 0; i < stage->store_count; i++) point_store(point, &stage->stores[i]);
  }
  point->lanes = 1;
  point->mask = NULL;
  point_forget(point, height);
}

static bool stores_masked(const ContractionEmitter *emitter) {
  const VecTarget *target = emitter->vec->target;
  const KernelStage *stage = &emitter->kernel->stages[1];
  for (int i = 0; i < stage->store_count && !target->has_masks; i++) {
    if (!target->has_masks_32 || type_storage_bytes(emitter->kernel->buffers[stage->stores[i].buffer].type) < 4)
      return false;
  }
  return true;
}

/* A row of a tile, the first of whose columns is |column|; |sums| NULL: what is kept. */
typedef struct TileRow {
  TileStep what;
  LLVMValueRef sums, column;
} TileRow;

/* |range| of the columns. */
static void finish_columns(ContractionEmitter *emitter, const TileRow *row, IndexRange range, int lanes, bool masked) {
  const VecBuilder *vec = emitter->vec;
  if (ir_range_is_empty(range)) return;
  PointLoop loop = point_loop_begin_guarded(&emitter->point, range, lanes);
  ColumnStep step = {.first = loop.index,
                     .column = ir_index_add(vec->builder, row->column, loop.index),
                     .lanes = lanes,
                     .what = row->what};
  if (masked) step.mask = block_lanes_below(vec, loop.index, range.end, lanes);
  if (row->sums != NULL) step.sums = block_element(vec, emitter->blocking->type, row->sums, loop.index);
  finish_step(emitter, &step);
  point_loop_end(&emitter->point, &loop);
}

/* A row of a panel at once where few operations need few registers: there is no loop then. */
static int whole_row_lanes(const ContractionEmitter *emitter, int dim) {
  const ContractionBlocking *blocking = emitter->blocking;
  int width = (int)blocking->panel_width;
  bool is_power = (width & (width - 1)) == 0;
  if (!is_power || width > MOST_LANES_AT_ONCE || blocking->column_run % width != 0) return blocking->lanes;
  if (contraction_operation_count(emitter->kernel, &blocking->epilogue_set) > FEW_OPERATIONS) return blocking->lanes;
  int lanes = contraction_lanes(emitter->kernel, emitter->vec->target, &blocking->epilogue_set, dim, width, false);
  return lanes == width ? width : blocking->lanes;
}

/* Columns to the end of the panel or of the run. */
static void finish_row(ContractionEmitter *emitter, const TileRow *row) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  IndexRange all = ir_range_below(block_count_left(vec, blocking->panel_width, blocking->column_run, row->column)),
             whole, rest;
  int dim = emitter->point.vector_dim;
  if (blocking->column_run % blocking->lanes == 0) {
    finish_columns(emitter, row, all, whole_row_lanes(emitter, dim), false);
    return;
  }
  bool masks = stores_masked(emitter) &&
               contraction_lanes(emitter->kernel, vec->target, &blocking->epilogue_set, dim, blocking->lanes, true) > 1;
  ir_range_cut(vec->builder, all, blocking->lanes, &whole, &rest);
  finish_columns(emitter, row, whole, blocking->lanes, false);
  finish_columns(emitter, row, rest, masks ? blocking->lanes : 1, masks);
}

void contraction_keep_columns(ContractionEmitter *emitter, LLVMValueRef column) {
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->kept_count == 0) return;
  ElementLoops loops = contraction_loops_begin(emitter);
  emitter->point.vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  finish_row(emitter, &(TileRow){.column = column});
  contraction_loops_end(emitter, &loops);
}

LLVMValueRef contraction_result_address(ContractionEmitter *emitter, LLVMValueRef row, LLVMValueRef column) {
  const ContractionBlocking *blocking = emitter->blocking;
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, &blocking->epilogue_set, row);
  emitter->point.dims[blocking->columns.dims[blocking->columns.count - 1]] = column;
  return result_address(emitter);
}

static void step_tile(ContractionEmitter *emitter, TileStep step, const TileSums *sums) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  ElementLoops loops = contraction_loops_begin(emitter);
  LLVMValueRef count = sums->count;
  if (count == NULL) count = block_count_left(vec, blocking->tile_rows, blocking->rows.size, sums->row);
  PointLoop rows = point_loop_begin(&emitter->point, ir_range_below(count), 1);
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, &blocking->epilogue_set,
                   ir_index_add(vec->builder, sums->row, rows.index));
  emitter->point.vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  if (step == TILE_FINISH)
    contraction_hoist(&emitter->point, &blocking->epilogue_set, UINT64_C(1) << emitter->point.vector_dim);
  LLVMValueRef offset = LLVMBuildMul(vec->builder, rows.index, sums->stride, "");
  finish_row(emitter, &(TileRow){.what = step,
                                 .sums = block_element(vec, blocking->type, sums->first, offset),
                                 .column = sums->column});
  point_loop_end(&emitter->point, &rows);
  contraction_loops_end(emitter, &loops);
}

void contraction_tile_step(ContractionEmitter *emitter, TileStep step, const TileSums *sums) {
  const ContractionBlocking *blocking = emitter->blocking;
  if (!blocking->is_turned) {
    step_tile(emitter, step, sums);
    return;
  }
  ContractionBlocking finish = contraction_turned_finish(blocking);
  TileSums turned = contraction_turn_sums(emitter, sums);
  emitter->blocking = &finish;
  step_tile(emitter, step, &turned);
  emitter->blocking = blocking;
}
