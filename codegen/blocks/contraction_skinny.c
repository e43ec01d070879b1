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

/* --- the plan --- */

static int columns_of_tile(const VecTarget *target, int rows) {
  int sums = target->register_count >= 32 ? 24 : 10, columns = sums / rows;
  return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

/* One factor, in lanes along the depth, which it walks as one. */
static bool is_along_depth(const Kernel *kernel, const VecTarget *target, const ContractionPlan *plan,
                           const ValueSet *set) {
  int dim = plan->depth.dims[plan->depth.count - 1], operations = 0;
  bool masked = plan->depth.size % plan->lanes != 0;
  for (int32_t v = 0; v < kernel->value_count; v++) operations += set->has[v] && kernel->values[v].kind == KERNEL_APPLY;
  return operations <= MOST_OPERATIONS && contraction_contiguous(kernel, set, dim) &&
         contraction_merged_suffix(kernel, set, &plan->depth) == plan->depth.count &&
         contraction_lanes(kernel, target, set, dim, plan->lanes, masked) == plan->lanes;
}

bool contraction_choose_skinny(const Kernel *kernel, const VecTarget *target, ContractionPlan *plan) {
  if (!type_is_float(plan->type) || plan->rows.size > MOST_ROWS || plan->columns.size < MOST_COLUMNS) return false;
  plan->lanes = target->vector_bits / (type_storage_bytes(plan->type) * 8);
  if (plan->depth.size < LEAST_STEPS * plan->lanes) return false;
  if (!is_along_depth(kernel, target, plan, &plan->lhs_set)) return false;
  if (!is_along_depth(kernel, target, plan, &plan->rhs_set)) return false;
  plan->is_skinny = true;
  plan->tile_rows = (int)plan->rows.size;
  plan->tile_count = 1;
  plan->panel_width = columns_of_tile(target, plan->tile_rows);
  plan->panel_count = (plan->columns.size + plan->panel_width - 1) / plan->panel_width;
  plan->split = plan->batch.size >= plan->panel_count ? ROLE_BATCH : ROLE_COLUMNS;
  plan->piece_count = plan->split == ROLE_BATCH ? plan->batch.size : plan->panel_count;
  plan->chunk_limit = plan->piece_count;
  if (plan->split == ROLE_COLUMNS) plan->chunk_limit = (plan->columns.size + CHUNK_COLUMNS - 1) / CHUNK_COLUMNS;
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
  const ContractionPlan *plan = tile->emitter->plan;
  block_set_linear(tile->emitter, &plan->rows, plan->rows.count, NULL, block_int(tile->emitter->vec, row));
}

static void set_column(const SkinnyTile *tile, int column) {
  const ContractionPlan *plan = tile->emitter->plan;
  const VecBuilder *vec = tile->emitter->vec;
  block_set_linear(tile->emitter, &plan->columns, plan->columns.count, NULL,
                   ir_index_add(vec->builder, tile->first_column, block_int(vec, column)));
}

/* sums += rows × columns at as many indices of the depth as there are lanes. */
static void add_products(SkinnyTile *tile, LLVMValueRef depth, LLVMValueRef mask) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionPlan *plan = emitter->plan;
  KernelPoint *point = &emitter->point;
  LLVMValueRef lhs[MOST_ROWS];
  point->vector_dim = plan->depth.dims[plan->depth.count - 1];
  point->lanes = plan->lanes;
  point->mask = mask;
  for (int i = 0; i < plan->depth.count; i++) point->dims[plan->depth.dims[i]] = block_int(emitter->vec, 0);
  point->dims[point->vector_dim] = depth;
  int64_t height = point->known.count;
  for (int r = 0; r < tile->rows; r++) {
    set_row(tile, r);
    lhs[r] = point_value_lanes(point, plan->lhs);
    point_forget(point, height);
  }
  for (int c = 0; c < tile->columns; c++) {
    set_column(tile, c);
    LLVMValueRef rhs = point_value_lanes(point, plan->rhs);
    point_forget(point, height);
    for (int r = 0; r < tile->rows; r++) {
      LLVMValueRef *sum = &tile->sums[r * tile->columns + c];
      *sum = vec_multiply_add(emitter->vec, plan->type, lhs[r], rhs, *sum);
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
  PointLoop loop =
      point_loop_begin_carrying(&emitter->point, ir_range(vec->context, 0, end), emitter->plan->lanes, carried, count);
  add_products(tile, loop.index, NULL);
  point_loop_end(&emitter->point, &loop);
}

/* What follows the sum of lanes. */
static void finish_element(SkinnyTile *tile, int row, int column) {
  ContractionEmitter *emitter = tile->emitter;
  const ContractionPlan *plan = emitter->plan;
  const KernelStage *stage = &emitter->kernel->stages[1];
  VecOp add = {.opcode = HLO_ADD, .type = plan->type, .operand_type = plan->type};
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  set_row(tile, row);
  set_column(tile, column);
  point->accumulators[0] = vec_reduce(emitter->vec, &add, tile->sums[row * tile->columns + column], plan->lanes);
  /* all values first: a later store must not see what an earlier one wrote */
  for (int i = 0; i < stage->store_count; i++) point_value(point, stage->stores[i].value);
  for (int i = 0; i < stage->store_count; i++) point_store(point, &stage->stores[i]);
  point_forget(point, height);
}

static void emit_tile(ContractionEmitter *emitter, LLVMValueRef panel, int columns) {
  const VecBuilder *vec = emitter->vec;
  const ContractionPlan *plan = emitter->plan;
  SkinnyTile tile = {.emitter = emitter, .rows = plan->tile_rows, .columns = columns};
  tile.first_column = ir_index_multiply(vec->builder, panel, plan->panel_width);
  LLVMValueRef zero = vec_constant_double(vec, plan->type, 0, plan->lanes);
  for (int i = 0; i < tile.rows * columns; i++) tile.sums[i] = zero;
  int64_t whole = plan->depth.size / plan->lanes * plan->lanes;
  add_whole_steps(&tile, whole);
  if (whole < plan->depth.size) {
    LLVMValueRef end = block_int(vec, plan->depth.size), begin = block_int(vec, whole);
    add_products(&tile, begin, block_lanes_below(vec, begin, end, plan->lanes));
  }
  for (int r = 0; r < tile.rows; r++) {
    for (int c = 0; c < columns; c++) finish_element(&tile, r, c);
  }
}

/* --- all of them --- */

void contraction_emit_skinny(ContractionEmitter *emitter) {
  const VecBuilder *vec = emitter->vec;
  const ContractionPlan *plan = emitter->plan;
  IndexRange batch = emitter->work[ROLE_BATCH], panels = emitter->work[ROLE_COLUMNS];
  int64_t whole = plan->columns.size / plan->panel_width, rest = plan->columns.size % plan->panel_width;
  PointLoop entries = point_loop_begin(&emitter->point, batch, 1);
  block_set_linear(emitter, &plan->batch, plan->batch.count, NULL, entries.index);
  LLVMValueRef end = ir_index_minimum(vec->builder, panels.end, block_int(vec, whole));
  PointLoop tiles = point_loop_begin_guarded(&emitter->point, (IndexRange){panels.begin, end}, 1);
  emit_tile(emitter, tiles.index, (int)plan->panel_width);
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
