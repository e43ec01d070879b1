/* Products of few rows with a rhs that comes from memory: whole rows of it, some at a time, added to sums in
 * memory.
 *
 * A micro-kernel would read a few lines of each of many rows for each tile, and begin again for the next one.  A sweep
 * goes along all columns of a chunk instead, with the numbers of the lhs in registers: what it reads is as many streams
 * as it has rows, without a break, and what it asks for ahead are the rows of the sweep after it.  Each sum is made in
 * the order of the depth, as in a micro-kernel, so that bits are the same. */
#include <stdio.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"
#include "codegen/ir/ir_function.h"

/* Rows of the rhs at once: more are too many streams, fewer too few for the sums that each sweep loads and stores. */
static const int depths[] = {8, 4};
#define MOST_SWEPT_DEPTH 8
#define MOST_SWEPT_VECTORS 4
/* The rows of the sweep after this one are asked for while the second-level cache has room for so many bytes of them;
 * else what is so far on in each row. */
#define MOST_AHEAD_BYTES (512 << 10)
#define AHEAD_IN_ROW_BYTES 1024

enum { SWEEP_LHS, SWEEP_RHS, SWEEP_SUMS, SWEEP_COLUMNS, SWEEP_ARGS };

/* --- which --- */

/* Vectors of a line of the rhs: what is asked for is lines. */
static int vectors_of_line(const ContractionBlocking *blocking) {
  int bytes = blocking->lanes * (int)type_storage_bytes(blocking->rhs_type);
  int vectors = bytes < LINE_BYTES ? LINE_BYTES / bytes : 1;
  return vectors < MOST_SWEPT_VECTORS ? vectors : MOST_SWEPT_VECTORS;
}

int contraction_sweep_depth(const VecTarget *target, const ContractionBlocking *blocking) {
  bool is_plain = blocking->is_far && blocking->group == 1 && !blocking->is_turned && blocking->rest_rows == 0;
  if (!is_plain || blocking->tile_rows != blocking->rows.size || blocking->tile_rows > MOST_SWEPT_ROWS) return 0;
  if (blocking->column_suffix < blocking->columns.count || blocking->panel_count == 1) return 0;
  int rows = blocking->tile_rows, vectors = vectors_of_line(blocking);
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    int64_t bytes = 2 * depths[i] * blocking->rhs_stride * type_storage_bytes(blocking->rhs_type);
    int registers = rows * (depths[i] + vectors) + vectors + 1;
    if (registers <= target->register_count && bytes > 0 && bytes <= LARGEST_OFFSET) return depths[i];
  }
  return 0;
}

bool contraction_is_swept(const ContractionBlocking *blocking) {
  bool reads_plainly = !blocking->lhs_by_tiles && blocking->strip_dims == 0 && blocking->common_guard_count == 0;
  bool is_cut = blocking->block_count > 1 && blocking->block_depth <= blocking->sweep_depth;
  int64_t bytes = 2 * blocking->block_depth * blocking->rhs_stride * type_storage_bytes(blocking->rhs_type);
  return blocking->sweep_depth > 0 && reads_plainly && is_cut && bytes <= LARGEST_OFFSET;
}

/* --- a sweep --- */

typedef struct SweepEmitter {
  const VecBuilder *vec;
  const ContractionBlocking *blocking;
  int depth; /* rows of the rhs */
  LLVMValueRef arguments[SWEEP_ARGS];
  LLVMValueRef numbers[MOST_SWEPT_ROWS][MOST_SWEPT_DEPTH]; /* of the lhs */
} SweepEmitter;

/* Elements from row to row of the sums: in the result, or in the scratch, as long as the chunk's longest. */
static int64_t sum_stride(const ContractionBlocking *blocking) {
  return blocking->sums_in_result ? blocking->sum_stride : blocking->panels_per_chunk * blocking->panel_width;
}

/* Elements of the rhs from what is multiplied to what is asked for. */
static int64_t distance_ahead(const ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->rhs_type);
  bool has_room =
      blocking->depth_runs == 0 && blocking->columns.size * bytes * blocking->block_depth <= MOST_AHEAD_BYTES;
  return has_room ? blocking->block_depth * blocking->rhs_stride : AHEAD_IN_ROW_BYTES / bytes;
}

static bool has_masks(const VecTarget *target, const ContractionBlocking *blocking) {
  if (!contraction_mask_is_cheap(target, blocking->rhs_type, false)) return false;
  return blocking->lanes > 1 && contraction_mask_is_cheap(target, blocking->type, false);
}

/* |ahead| elements after that of row |row| and column |column|. */
static LLVMValueRef rhs_at(const SweepEmitter *sweep, int row, LLVMValueRef column, int64_t ahead) {
  const ContractionBlocking *blocking = sweep->blocking;
  LLVMValueRef first = block_element(sweep->vec, blocking->rhs_type, sweep->arguments[SWEEP_RHS], column);
  LLVMValueRef further = block_int(sweep->vec, row * blocking->rhs_stride + ahead);
  return block_element(sweep->vec, blocking->rhs_type, first, further);
}

static LLVMValueRef sums_at(const SweepEmitter *sweep, int row, LLVMValueRef column) {
  const VecBuilder *vec = sweep->vec;
  PrimitiveType type = sweep->blocking->type;
  LLVMValueRef first = block_element(vec, type, sweep->arguments[SWEEP_SUMS], column);
  return block_element(vec, type, first, block_int(vec, row * sum_stride(sweep->blocking)));
}

static void load_numbers(SweepEmitter *sweep) {
  const VecBuilder *vec = sweep->vec;
  const ContractionBlocking *blocking = sweep->blocking;
  for (int r = 0; r < blocking->tile_rows; r++) {
    for (int d = 0; d < sweep->depth; d++) {
      LLVMValueRef place = block_int(vec, r * blocking->row_stride + d * blocking->lhs_step);
      LLVMValueRef pointer = block_element(vec, blocking->type, sweep->arguments[SWEEP_LHS], place);
      sweep->numbers[r][d] = vec_load(vec, blocking->type, pointer, NULL, 1);
    }
  }
}

/* |lanes| of row |row| of the rhs from |column| on, in the type of the sums. */
static LLVMValueRef load_rhs(const SweepEmitter *sweep, int row, LLVMValueRef column, LLVMValueRef mask, int lanes) {
  const ContractionBlocking *blocking = sweep->blocking;
  VecOp convert = {HLO_CONVERT, blocking->type, blocking->rhs_type, {0, 0}};
  LLVMValueRef value = vec_load(sweep->vec, blocking->rhs_type, rhs_at(sweep, row, column, 0), mask, lanes);
  return blocking->rhs_type == blocking->type ? value : vec_apply(sweep->vec, &convert, &value, lanes);
}

/* What is added to the sums of |lanes| columns from |column| on; |mask|: NULL, or which of them are there. */
static void add_products(const SweepEmitter *sweep, LLVMValueRef column, LLVMValueRef mask, int lanes) {
  const VecBuilder *vec = sweep->vec;
  PrimitiveType type = sweep->blocking->type;
  int rows = sweep->blocking->tile_rows;
  LLVMValueRef sums[MOST_SWEPT_ROWS];
  for (int r = 0; r < rows; r++) sums[r] = vec_load(vec, type, sums_at(sweep, r, column), mask, lanes);
  for (int d = 0; d < sweep->depth; d++) {
    LLVMValueRef rhs = load_rhs(sweep, d, column, mask, lanes);
    for (int r = 0; r < rows; r++) {
      LLVMValueRef number = vec_splat(vec, sweep->numbers[r][d], lanes);
      sums[r] = vec_multiply_add(vec, type, number, rhs, sums[r]);
    }
  }
  for (int r = 0; r < rows; r++) vec_store(vec, type, sums[r], sums_at(sweep, r, column), mask, lanes);
}

/* Steps of |vectors| registers of |lanes| columns. */
static void emit_columns(const SweepEmitter *sweep, IndexRange columns, int vectors, int lanes, bool is_masked) {
  const VecBuilder *vec = sweep->vec;
  if (ir_range_is_empty(columns)) return;
  IrLoop loop = ir_loop_count_guarded(vec->builder, columns, (int64_t)vectors * lanes, NULL, 0);
  for (int d = 0; lanes > 1 && d < sweep->depth; d++)
    vec_prefetch(vec, rhs_at(sweep, d, loop.index, distance_ahead(sweep->blocking)));
  LLVMValueRef mask = is_masked ? block_lanes_below(vec, loop.index, columns.end, lanes) : NULL;
  for (int v = 0; v < vectors; v++)
    add_products(sweep, ir_index_add(vec->builder, loop.index, block_int(vec, (int64_t)v * lanes)), mask, lanes);
  ir_loop_end(&loop);
}

/* Lines, the registers that are left, the columns that are left. */
static void emit_body(SweepEmitter *sweep) {
  const VecBuilder *vec = sweep->vec;
  const ContractionBlocking *blocking = sweep->blocking;
  int lanes = blocking->lanes, vectors = vectors_of_line(blocking);
  IndexRange all = ir_range_below(sweep->arguments[SWEEP_COLUMNS]), lines, rest, whole;
  load_numbers(sweep);
  ir_range_cut(vec->builder, all, (int64_t)vectors * lanes, &lines, &rest);
  emit_columns(sweep, lines, vectors, lanes, false);
  int64_t step = greatest_common_divisor(blocking->panel_width, blocking->column_run);
  if (step % ((int64_t)vectors * lanes) != 0) {
    ir_range_cut(vec->builder, rest, lanes, &whole, &rest);
    if (vectors > 1) emit_columns(sweep, whole, 1, lanes, false);
    bool is_masked = has_masks(vec->target, blocking);
    if (step % lanes != 0) emit_columns(sweep, rest, 1, is_masked ? lanes : 1, is_masked);
  }
  LLVMBuildRetVoid(vec->builder);
}

/* What the function is made of, for its name. */
static void sweep_name(const ContractionBlocking *blocking, int depth, char *out, size_t size) {
  snprintf(out, size, "xlac.contraction.%s.%s.sweep%dx%dx%d.%lld.%lld.%lld.%lld.%lld.%lld", type_text(blocking->type),
           type_text(blocking->rhs_type), blocking->tile_rows, depth, blocking->lanes, (long long)blocking->row_stride,
           (long long)blocking->lhs_step, (long long)blocking->rhs_stride, (long long)sum_stride(blocking),
           (long long)greatest_common_divisor(blocking->panel_width, blocking->column_run),
           (long long)distance_ahead(blocking));
}

static LLVMTypeRef sweep_type(const VecBuilder *vec) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0), index = LLVMInt64TypeInContext(vec->context);
  LLVMTypeRef parameters[SWEEP_ARGS] = {pointer, pointer, pointer, index};
  return LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, SWEEP_ARGS, false);
}

/* Made at its first use in the module. */
static LLVMValueRef sweep_function(const VecBuilder *vec, const ContractionBlocking *blocking, int depth) {
  char name[200];
  sweep_name(blocking, depth, name, sizeof name);
  LLVMValueRef function = LLVMGetNamedFunction(vec->module, name);
  if (function != NULL) return function;
  LLVMBasicBlockRef position = LLVMGetInsertBlock(vec->builder);
  function = ir_function_add(vec->module, name, sweep_type(vec), LLVMInternalLinkage);
  ir_function_mark(function, "noinline");
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, function, ""));
  SweepEmitter sweep = {.vec = vec, .blocking = blocking, .depth = depth};
  LLVMGetParams(function, sweep.arguments);
  emit_body(&sweep);
  LLVMPositionBuilderAtEnd(vec->builder, position);
  return function;
}

static void call_sweep(const VecBuilder *vec, const ContractionBlocking *blocking, int64_t depth, const Sweep *sweep) {
  LLVMValueRef arguments[SWEEP_ARGS] = {sweep->lhs, sweep->rhs, sweep->sums.first, sweep->columns};
  LLVMBuildCall2(vec->builder, sweep_type(vec), sweep_function(vec, blocking, (int)depth), arguments, SWEEP_ARGS, "");
}

/* --- all of them --- */

TileSums contraction_sweep_sums(ContractionEmitter *emitter, LLVMValueRef column) {
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef row = block_int(emitter->vec, 0);
  bool in_result = blocking->sums_in_result;
  return (TileSums){.first = in_result ? contraction_result_address(emitter, row, column) : emitter->tiles,
                    .stride = block_int(emitter->vec, sum_stride(blocking)),
                    .row = row,
                    .column = column};
}

void contraction_sweep_begin(const ContractionEmitter *emitter, const Sweep *sweep) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef zero = LLVMConstNull(LLVMInt8TypeInContext(vec->context));
  unsigned bytes = (unsigned)type_storage_bytes(blocking->type);
  for (int r = 0; r < blocking->tile_rows; r++) {
    LLVMValueRef row = block_element(vec, blocking->type, sweep->sums.first, block_int(vec, r * sum_stride(blocking)));
    LLVMBuildMemSet(vec->builder, row, zero, ir_index_multiply(vec->builder, sweep->columns, bytes), bytes);
  }
}

void contraction_sweep_call(const ContractionEmitter *emitter, const DepthBlock *block, const Sweep *sweep) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t extent = emitter->kernel->dims[blocking->depth.dims[blocking->chunk_dim]].extent;
  int64_t rest = extent % blocking->chunk_size;
  if (rest == 0) {
    call_sweep(vec, blocking, blocking->block_depth, sweep);
    return;
  }
  LLVMValueRef is_rest =
      LLVMBuildICmp(vec->builder, LLVMIntSLT, block->chunk_count, block_int(vec, blocking->chunk_size), "");
  LLVMBasicBlockRef after = ir_if_begin(vec->builder, LLVMBuildNot(vec->builder, is_rest, ""));
  call_sweep(vec, blocking, blocking->block_depth, sweep);
  ir_if_end(vec->builder, after);
  after = ir_if_begin(vec->builder, is_rest);
  call_sweep(vec, blocking, rest * blocking->inside_chunk, sweep);
  ir_if_end(vec->builder, after);
}
