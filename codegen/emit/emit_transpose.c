/* Kernels that read against the grain: stores contiguous along one dim, loads along another.
 *
 * The plane of the two dims is walked in blocks of V × V points.  A block loads V rows of V elements of each such
 * operand, transposes them in registers, and then computes its V rows along the stores' dim as the loop emitter does,
 * finding those loads in the value cache. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* --- the strategy --- */

#define CACHE_SIDE 64 /* of parts of the plane: their lines and pages stay at hand, whatever the strides */
/* Of a source that no cache holds: runs of what is stored are long enough for memory to take them in order, short
 * enough that the pages of their source, one for each element of a run, are known to the processor; and some lines of
 * the source are asked for before their blocks are read. */
#define FAR_BYTES (INT64_C(16) << 20)
#define FAR_COLUMNS 256
#define FAR_LINES_AHEAD 2
#define MAX_LANES 16
#define MIN_LANES 4

static bool has_form(const Kernel *kernel) {
  if (kernel->stage_count != 1 || kernel->fold_count != 0 || kernel->stages[0].store_count == 0) return false;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (!kernel_dim_is_parallel(&kernel->dims[d]) || kernel->dims[d].stage != KERNEL_OUTER) return false;
  }
  return true;
}

/* All stores go along |dim|. */
static bool is_stored_along(const Kernel *kernel, int dim) {
  const KernelStage *stage = &kernel->stages[0];
  for (int i = 0; i < stage->store_count; i++) {
    const KernelStore *store = &stage->stores[i];
    int64_t stride;
    if (store->predicate >= 0 || !kernel_plain_stride(kernel, store->address, dim, &stride) || stride != 1)
      return false;
  }
  return true;
}

/* Rows of |across| are loaded, of small strides as well; small strides of |along| need no blocks. */
static bool is_transposed(const Kernel *kernel, const KernelValue *value, int across, int along) {
  int64_t in_row, between_rows;
  if (value->kind != KERNEL_LOAD || value->predicate >= 0) return false;
  if (!kernel_plain_stride(kernel, value->address, across, &in_row) || !vec_stride_is_small(in_row)) return false;
  if (!kernel_plain_stride(kernel, value->address, along, &between_rows)) return false;
  return between_rows != 0 && !vec_stride_is_small(between_rows);
}

int emit_square_loads(const Kernel *kernel, int across, int along, int32_t *out_loads) {
  int count = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (is_transposed(kernel, &kernel->values[v], across, along)) out_loads[count++] = v;
  }
  return count;
}

/* What walking by these dims is worth: rows that fill vectors, and whole vectors rather than every other lane. */
static int64_t dims_score(const Kernel *kernel, int across, int along, int32_t *loads) {
  int64_t score = 0, stride;
  int count = emit_square_loads(kernel, across, along, loads);
  for (int i = 0; i < count; i++) {
    bool is_plain = kernel_plain_stride(kernel, kernel->values[loads[i]].address, across, &stride);
    score += (is_plain && stride == 1 ? 2 : 1) * min_i64(kernel->dims[across].extent, MAX_LANES);
  }
  return score;
}

static void choose_dims(const Kernel *kernel, TransposeStrategy *strategy) {
  int64_t best = 0;
  for (int along = kernel->dim_count - 1; along >= 0; along--) {
    if (!is_stored_along(kernel, along)) continue;
    for (int across = kernel->dim_count - 1; across >= 0; across--) {
      int64_t score = across == along ? 0 : dims_score(kernel, across, along, strategy->loads);
      if (score <= best) continue;
      best = score;
      strategy->across = across;
      strategy->along = along;
    }
  }
  strategy->load_count = best == 0 ? 0 : emit_square_loads(kernel, strategy->across, strategy->along, strategy->loads);
}

static int operation_count(const Kernel *kernel) {
  int count = 1;
  for (int32_t v = 0; v < kernel->value_count; v++) count += kernel->values[v].kind == KERNEL_APPLY;
  return count;
}

/* The side of the blocks, 0 when it would not pay.  Loads of the last block may begin earlier, so |across| must hold a
 * whole one. */
static int choose_lanes(const Kernel *kernel, const VecTarget *target, const TransposeStrategy *strategy) {
  int bits = strategy->is_copy ? type_storage_bytes(kernel->values[strategy->loads[0]].type) * 8
                               : emit_widest_element(kernel, target);
  int native = (int)max_i64(target->vector_bits / bits, 1), lanes = (int)min_i64(native, MAX_LANES);
  while (lanes > kernel->dims[strategy->across].extent) lanes /= 2;
  while (lanes / 2 >= kernel->dims[strategy->along].extent) lanes /= 2;
  return lanes >= MIN_LANES || (lanes == native && lanes > 1) ? lanes : 0;
}

static bool reads_far(const Kernel *kernel, const TransposeStrategy *strategy) {
  for (int i = 0; i < strategy->load_count; i++) {
    const KernelBuffer *buffer = &kernel->buffers[kernel->values[strategy->loads[i]].buffer];
    if (buffer->element_count * type_storage_bytes(buffer->type) >= FAR_BYTES) return true;
  }
  return false;
}

bool transpose_strategy_choose(const Kernel *kernel, const VecTarget *target, Arena *arena,
                               TransposeStrategy *out_strategy) {
  if (!has_form(kernel)) return false;
  *out_strategy = (TransposeStrategy){.loads = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count)};
  choose_dims(kernel, out_strategy);
  if (out_strategy->load_count == 0) return false;
  const KernelStore *store = &kernel->stages[0].stores[0];
  out_strategy->is_copy =
      kernel->stages[0].store_count == 1 && out_strategy->load_count == 1 && store->value == out_strategy->loads[0];
  out_strategy->lanes = choose_lanes(kernel, target, out_strategy);
  out_strategy->strip_rows =
      max_i64(out_strategy->lanes, LINE_BYTES / type_storage_bytes(kernel->values[out_strategy->loads[0]].type));
  out_strategy->cache_rows = max_i64(CACHE_SIDE, out_strategy->strip_rows);
  out_strategy->is_far = reads_far(kernel, out_strategy);
  out_strategy->cache_columns = out_strategy->is_far ? FAR_COLUMNS : CACHE_SIDE;
  return out_strategy->lanes != 0 && operation_count(kernel) * out_strategy->lanes <= SQUARE_MAX_OPERATIONS;
}

const bool *transpose_streamed_buffers(const Kernel *kernel, const VecTarget *target, const TransposeStrategy *strategy,
                                       Arena *arena) {
  int64_t extent = kernel->dims[strategy->along].extent, lanes = strategy->lanes;
  VectorWalk walk = {.dim = strategy->along, .part_count = 1};
  walk.parts[0] = (VectorPart){0, extent / lanes * lanes, (int)lanes, 0};
  return memory_streamed_buffers(kernel, target, &walk, NULL, arena);
}

static LLVMValueRef add_index(KernelEmitter *emitter, LLVMValueRef index, int64_t more) {
  return ir_index_add(emitter->vec->builder, index, emit_index_constant(emitter, more));
}

/* --- blocks --- */

/* The part of a block that is computed: all of it but at the plane's edges. */
typedef struct BlockShape {
  int first_row; /* rows before it belong to the block before */
  int column_count;
} BlockShape;

typedef struct TransposeEmitter {
  KernelEmitter *emitter;
  const TransposeStrategy *strategy;
  LLVMValueRef *rows; /* of all transposed loads, |lanes| each, as in memory */
} TransposeEmitter;

void emit_load_square(KernelEmitter *emitter, int32_t load, const SquareBlock *block, LLVMValueRef *out_rows) {
  const KernelValue *value = &emitter->kernel->values[load];
  int lanes = block->lanes;
  int64_t in_row = 0, between_rows = 0;
  kernel_plain_stride(emitter->kernel, value->address, block->across, &in_row);
  kernel_plain_stride(emitter->kernel, value->address, block->along, &between_rows);
  LLVMTypeRef element = vec_memory_type(emitter->vec, value->type, 1);
  LLVMValueRef first = point_load_pointer(&emitter->point, load);
  for (int i = 0; i < lanes; i++) {
    LLVMValueRef offset = emit_index_constant(emitter, i * between_rows);
    LLVMValueRef pointer = LLVMBuildGEP2(emitter->vec->builder, element, first, &offset, 1, "");
    if (i < block->count)
      out_rows[i] = vec_load_strided(emitter->vec, value->type, pointer, in_row, NULL, lanes);
    else
      out_rows[i] = LLVMGetPoison(vec_memory_type(emitter->vec, value->type, lanes));
  }
  vec_transpose(emitter->vec, value->type, out_rows, lanes);
}

/* Of the rows that |block| reads what is some lines further on. */
static void ask_ahead(KernelEmitter *emitter, int32_t load, const SquareBlock *block) {
  const KernelValue *value = &emitter->kernel->values[load];
  int64_t between_rows = 0;
  kernel_plain_stride(emitter->kernel, value->address, block->along, &between_rows);
  LLVMTypeRef element = vec_memory_type(emitter->vec, value->type, 1);
  LLVMValueRef first = point_load_pointer(&emitter->point, load);
  int64_t ahead = FAR_LINES_AHEAD * LINE_BYTES / type_storage_bytes(value->type);
  for (int i = 0; i < block->count; i++) {
    LLVMValueRef offset = emit_index_constant(emitter, i * between_rows + ahead);
    vec_prefetch(emitter->vec, LLVMBuildGEP2(emitter->vec->builder, element, first, &offset, 1, ""));
  }
}

/* Lanes [first, first + count) of a row. */
static LLVMValueRef row_piece(const VecBuilder *vec, LLVMValueRef row, int lanes, int first, int count) {
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  if (count == lanes) return row;
  if (count == 1) return LLVMBuildExtractElement(vec->builder, row, LLVMConstInt(s32, (unsigned)first, false), "");
  LLVMValueRef indices[VEC_MAX_SQUARE];
  for (int i = 0; i < count; i++) indices[i] = LLVMConstInt(s32, (unsigned)(first + i), false);
  return LLVMBuildShuffleVector(vec->builder, row, LLVMGetPoison(LLVMTypeOf(row)),
                                LLVMConstVector(indices, (unsigned)count), "");
}

static void store_copy(TransposeEmitter *transpose, LLVMValueRef piece) {
  KernelEmitter *emitter = transpose->emitter;
  const KernelStore *store = &emitter->kernel->stages[0].stores[0];
  LLVMValueRef pointer = point_element(&emitter->point, store->buffer, point_index(&emitter->point, store->address));
  if (point_passes_caches(&emitter->point, store)) {
    vec_store_memory_uncached(emitter->vec, piece, pointer);
    return;
  }
  LLVMValueRef stored = LLVMBuildStore(emitter->vec->builder, piece, pointer);
  LLVMSetAlignment(stored, (unsigned)type_storage_bytes(emitter->kernel->buffers[store->buffer].type));
}

/* Row |row| of the block, its lanes from |first| on: as many as the emitter has. */
static void emit_row(TransposeEmitter *transpose, int row, int first) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposeStrategy *strategy = transpose->strategy;
  const KernelStage *stage = &emitter->kernel->stages[0];
  int64_t height = emitter->point.known.count;
  for (int i = 0; i < strategy->load_count; i++) {
    int32_t load = strategy->loads[i];
    LLVMValueRef piece = row_piece(emitter->vec, transpose->rows[i * strategy->lanes + row], strategy->lanes, first,
                                   emitter->point.lanes);
    if (strategy->is_copy) {
      store_copy(transpose, piece);
      return;
    }
    piece = vec_from_memory(emitter->vec, emitter->kernel->values[load].type, piece, emitter->point.lanes);
    point_set_value(&emitter->point, load, piece);
  }
  /* all values first: a later store must not see what an earlier one wrote */
  for (int i = 0; i < stage->store_count; i++) point_value(&emitter->point, stage->stores[i].value);
  for (int i = 0; i < stage->store_count; i++) point_store(&emitter->point, &stage->stores[i]);
  point_forget(&emitter->point, height);
}

/* The rows of a block in as many lanes as the block has, or, at the plane's edge, in pieces of falling powers of two.
 */
static void emit_block(TransposeEmitter *transpose, const BlockShape *shape, LLVMValueRef across, LLVMValueRef along) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposeStrategy *strategy = transpose->strategy;
  emitter->point.dims[strategy->across] = across;
  emitter->point.dims[strategy->along] = along;
  emitter->point.vector_dim = strategy->along;
  SquareBlock block = {strategy->across, strategy->along, strategy->lanes, shape->column_count};
  for (int i = 0; i < strategy->load_count; i++)
    emit_load_square(emitter, strategy->loads[i], &block, &transpose->rows[i * strategy->lanes]);
  for (int i = 0; i < strategy->load_count && strategy->is_far; i++) ask_ahead(emitter, strategy->loads[i], &block);
  int first = 0;
  for (int lanes = strategy->lanes; lanes > 0; lanes /= 2) {
    if (first + lanes > shape->column_count) continue;
    emitter->point.lanes = lanes;
    emitter->point.dims[strategy->along] = add_index(emitter, along, first);
    int64_t height = emitter->point.known.count;
    emit_hoist_values(emitter, KERNEL_OUTER, ~(UINT64_C(1) << strategy->across));
    for (int row = shape->first_row; row < strategy->lanes; row++) {
      emitter->point.dims[strategy->across] = add_index(emitter, across, row);
      emit_row(transpose, row, first);
    }
    point_forget(&emitter->point, height);
    first += lanes;
  }
  emitter->point.lanes = 1;
}

/* --- the plane --- */

/* Strips of |strip_rows| rows inside of larger blocks. */
static void emit_part(TransposeEmitter *transpose, const BlockShape *shape, IndexRange rows, IndexRange columns) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposeStrategy *strategy = transpose->strategy;
  PointLoop column_blocks = point_loop_begin(&emitter->point, columns, strategy->cache_columns);
  PointLoop row_blocks = point_loop_begin(&emitter->point, rows, strategy->cache_rows);
  PointLoop strips = point_loop_begin(&emitter->point, ir_loop_round(&row_blocks.loop), strategy->strip_rows);
  IndexRange strip = ir_loop_round(&strips.loop);
  PointLoop column = point_loop_begin(&emitter->point, ir_loop_round(&column_blocks.loop), strategy->lanes);
  PointLoop row = point_loop_begin(&emitter->point, strip, strategy->lanes);
  emit_block(transpose, shape, row.index, column.index);
  point_loop_end(&emitter->point, &row);
  point_loop_end(&emitter->point, &column);
  point_loop_end(&emitter->point, &strips);
  point_loop_end(&emitter->point, &row_blocks);
  point_loop_end(&emitter->point, &column_blocks);
}

/* Rows of |shape| and all columns. */
static void emit_rows(TransposeEmitter *transpose, BlockShape shape, IndexRange rows) {
  KernelEmitter *emitter = transpose->emitter;
  int lanes = transpose->strategy->lanes;
  int64_t extent = emitter->kernel->dims[transpose->strategy->along].extent, whole = extent / lanes * lanes;
  shape.column_count = lanes;
  if (whole > 0) emit_part(transpose, &shape, rows, emit_constant_range(emitter, 0, whole));
  shape.column_count = (int)(extent - whole);
  if (whole < extent) emit_part(transpose, &shape, rows, emit_constant_range(emitter, whole, extent));
}

/* Whole blocks, then the rows that are left. */
static void emit_plane(TransposeEmitter *transpose) {
  KernelEmitter *emitter = transpose->emitter;
  int lanes = transpose->strategy->lanes, across = transpose->strategy->across;
  int64_t extent = emitter->kernel->dims[across].extent, whole = extent / lanes * lanes, last = extent - lanes;
  bool is_split = emitter->split.dim == across;
  emit_rows(transpose, (BlockShape){0},
            is_split ? emit_split_range(emitter, whole) : emit_constant_range(emitter, 0, whole));
  if (whole == extent) return;
  LLVMBasicBlockRef behind = is_split ? emit_last_piece_begin(emitter) : NULL;
  /* loads may overlap the block before, stores must not: they may be in place */
  emit_rows(transpose, (BlockShape){.first_row = (int)(whole - last)}, emit_constant_range(emitter, last, last + 1));
  if (behind != NULL) emit_last_piece_end(emitter, behind);
}

/* The loops over |dims|, around the plane. */
static void emit_dims_around(TransposeEmitter *transpose, const int *dims, int count, uint64_t known) {
  KernelEmitter *emitter = transpose->emitter;
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  if (count == 0) {
    emit_plane(transpose);
    return;
  }
  PointLoop loop =
      point_loop_begin(&emitter->point, emit_constant_range(emitter, 0, emitter->kernel->dims[dims[0]].extent), 1);
  emitter->point.dims[dims[0]] = loop.index;
  emit_dims_around(transpose, dims + 1, count - 1, known | UINT64_C(1) << dims[0]);
  point_loop_end(&emitter->point, &loop);
}

static int dims_around(const Kernel *kernel, const TransposeStrategy *strategy, int *out_dims) {
  int count = 0;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (d != strategy->across && d != strategy->along) out_dims[count++] = d;
  }
  return count;
}

PieceSplit transpose_split(const Kernel *kernel, const TransposeStrategy *strategy) {
  int dims[KERNEL_MAX_DIMS], count = dims_around(kernel, strategy, dims);
  int64_t whole = kernel->dims[strategy->across].extent / strategy->lanes * strategy->lanes;
  return emit_split_choose(kernel, dims, count, strategy->across, whole, strategy->cache_rows);
}

void emit_transpose(KernelEmitter *emitter, const TransposeStrategy *strategy) {
  TransposeEmitter transpose = {.emitter = emitter, .strategy = strategy};
  transpose.rows = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, strategy->load_count * strategy->lanes);
  int dims[KERNEL_MAX_DIMS], count = dims_around(emitter->kernel, strategy, dims), split = emitter->split.dim_count;
  if (split == 0) {
    emit_dims_around(&transpose, dims, count, 0);
    return;
  }
  uint64_t known = 0;
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  PointLoop loop = emit_split_loop_begin(emitter);
  for (int i = 0; i < split; i++) known |= UINT64_C(1) << dims[i];
  emit_dims_around(&transpose, dims + split, count - split, known);
  point_loop_end(&emitter->point, &loop);
}
