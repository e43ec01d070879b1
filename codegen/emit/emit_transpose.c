/* Kernels that read against the grain: stores contiguous along one dim, loads along another.
 *
 * The plane of the two dims is walked in blocks of V × V points.  A block loads V rows of V elements of each such
 * operand, transposes them in registers, and then computes its V rows along the stores' dim as the loop emitter does,
 * finding those loads in the value cache. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* --- plan --- */

#define MAX_OPERATIONS 600 /* of one block: it is straight-line code */

/* |expr| moves by a plain term of |dim| only. */
static bool is_affine(const Kernel *kernel, IndexExpr expr, int dim) {
  if (index_depends_nonlinearly(&kernel->space, expr, dim)) return false;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE && (kernel->values[atom->number].dims >> dim & 1) != 0) return false;
  }
  return true;
}

static int64_t coefficient_of(const Kernel *kernel, IndexExpr expr, int dim) {
  return index_dim_coefficient(&kernel->space, expr, dim);
}

static bool has_form(const Kernel *kernel) {
  if (kernel->stage_count != 1 || kernel->fold_count != 0 || kernel->stages[0].store_count == 0) return false;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].kind != KERNEL_PARALLEL || kernel->dims[d].stage != KERNEL_OUTER) return false;
  }
  return true;
}

/* All stores go along |dim|. */
static bool is_stored_along(const Kernel *kernel, int dim) {
  const KernelStage *stage = &kernel->stages[0];
  for (int i = 0; i < stage->store_count; i++) {
    const KernelStore *store = &stage->stores[i];
    if (store->predicate >= 0 || !is_affine(kernel, store->address, dim)) return false;
    if (coefficient_of(kernel, store->address, dim) != 1) return false;
  }
  return true;
}

static bool is_transposed(const Kernel *kernel, const KernelValue *value, int across, int along) {
  if (value->kind != KERNEL_LOAD || value->predicate >= 0) return false;
  if (!is_affine(kernel, value->address, across) || !is_affine(kernel, value->address, along)) return false;
  int64_t stride = coefficient_of(kernel, value->address, along);
  return coefficient_of(kernel, value->address, across) == 1 && stride != 0 && stride != 1;
}

static int collect_loads(const Kernel *kernel, int across, int along, int32_t *loads) {
  int count = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (is_transposed(kernel, &kernel->values[v], across, along)) loads[count++] = v;
  }
  return count;
}

/* The pair of dims by which most loads are transposed. */
static void choose_dims(const Kernel *kernel, TransposePlan *plan) {
  int32_t *loads = plan->loads;
  for (int along = kernel->dim_count - 1; along >= 0; along--) {
    if (!is_stored_along(kernel, along)) continue;
    for (int across = kernel->dim_count - 1; across >= 0; across--) {
      int count = across == along ? 0 : collect_loads(kernel, across, along, loads);
      if (count <= plan->load_count) continue;
      plan->across = across;
      plan->along = along;
      plan->load_count = count;
    }
  }
  plan->load_count = collect_loads(kernel, plan->across, plan->along, loads);
}

static int operation_count(const Kernel *kernel) {
  int count = 1;
  for (int32_t v = 0; v < kernel->value_count; v++) count += kernel->values[v].kind == KERNEL_APPLY;
  return count;
}

#define CACHE_ROWS 32 /* one line of each stays in the first level while blocks move along them */
#define MAX_LANES 16
#define MIN_LANES 4

/* The side of the blocks, 0 when it would not pay.  Loads of the last block may begin earlier, so |across| must hold a
 * whole one. */
static int choose_lanes(const Kernel *kernel, const VecTarget *target, const TransposePlan *plan) {
  int bits = plan->is_copy ? type_storage_bytes(kernel->values[plan->loads[0]].type) * 8 : emit_widest_element(kernel);
  int native = (int)max_i64(target->vector_bits / bits, 1), lanes = (int)min_i64(native, MAX_LANES);
  while (lanes > kernel->dims[plan->across].extent) lanes /= 2;
  while (lanes / 2 >= kernel->dims[plan->along].extent) lanes /= 2;
  return lanes >= MIN_LANES || (lanes == native && lanes > 1) ? lanes : 0;
}

bool transpose_plan_choose(const Kernel *kernel, const VecTarget *target, Arena *arena, TransposePlan *out_plan) {
  if (!has_form(kernel)) return false;
  *out_plan = (TransposePlan){.loads = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count)};
  choose_dims(kernel, out_plan);
  if (out_plan->load_count == 0) return false;
  const KernelStore *store = &kernel->stages[0].stores[0];
  out_plan->is_copy =
      kernel->stages[0].store_count == 1 && out_plan->load_count == 1 && store->value == out_plan->loads[0];
  out_plan->lanes = choose_lanes(kernel, target, out_plan);
  out_plan->cache_rows = CACHE_ROWS;
  return out_plan->lanes != 0 && operation_count(kernel) * out_plan->lanes <= MAX_OPERATIONS;
}

/* --- loops with bounds known at run time --- */

typedef struct BlockLoop {
  LLVMValueRef index, end;
  int64_t step;
  LLVMBasicBlockRef header;
  int64_t cache_height;
} BlockLoop;

static LLVMValueRef index_value_of(const KernelEmitter *emitter, int64_t value) {
  return LLVMConstInt(LLVMInt64TypeInContext(emitter->vec->context), (unsigned long long)value, true);
}

static LLVMValueRef add_index(KernelEmitter *emitter, LLVMValueRef index, int64_t more) {
  return more == 0 ? index : LLVMBuildAdd(emitter->vec->builder, index, index_value_of(emitter, more), "");
}

/* From |begin| below |end|, of which there is at least one. */
static BlockLoop block_loop_begin(KernelEmitter *emitter, LLVMValueRef begin, LLVMValueRef end, int64_t step) {
  const VecBuilder *vec = emitter->vec;
  BlockLoop loop = {.end = end, .step = step, .cache_height = emitter->computed.count};
  LLVMBasicBlockRef before = LLVMGetInsertBlock(vec->builder);
  loop.header = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "blocks");
  LLVMBuildBr(vec->builder, loop.header);
  LLVMPositionBuilderAtEnd(vec->builder, loop.header);
  loop.index = LLVMBuildPhi(vec->builder, LLVMInt64TypeInContext(vec->context), "");
  LLVMAddIncoming(loop.index, &begin, &before, 1);
  return loop;
}

static void block_loop_end(KernelEmitter *emitter, BlockLoop *loop) {
  LLVMBuilderRef builder = emitter->vec->builder;
  emit_forget(emitter, loop->cache_height);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(builder);
  LLVMValueRef next = LLVMBuildNSWAdd(builder, loop->index, index_value_of(emitter, loop->step), "");
  LLVMAddIncoming(loop->index, &next, &latch, 1);
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(emitter->vec->context, emitter->function, "");
  LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntSLT, next, loop->end, ""), loop->header, behind);
  LLVMPositionBuilderAtEnd(builder, behind);
}

/* --- blocks --- */

/* The part of a block that is computed: all of it but at the plane's edges. */
typedef struct BlockShape {
  int first_row; /* rows before it belong to the block before */
  int column_count;
} BlockShape;

typedef struct TransposeEmitter {
  KernelEmitter *emitter;
  const TransposePlan *plan;
  LLVMValueRef *rows; /* of all transposed loads, |lanes| each, as in memory */
} TransposeEmitter;

static LLVMValueRef element_pointer(KernelEmitter *emitter, int32_t buffer, LLVMValueRef base, LLVMValueRef index) {
  LLVMTypeRef element = vec_memory_type(emitter->vec, emitter->kernel->buffers[buffer].type, 1);
  return LLVMBuildGEP2(emitter->vec->builder, element, base, &index, 1, "");
}

/* Loads the block of one operand at the current point; columns beyond |count| are not touched. */
static void load_block(TransposeEmitter *transpose, int32_t load, int count, LLVMValueRef *rows) {
  KernelEmitter *emitter = transpose->emitter;
  const KernelValue *value = &emitter->kernel->values[load];
  int lanes = transpose->plan->lanes;
  LLVMTypeRef type = vec_memory_type(emitter->vec, value->type, lanes);
  int64_t stride = coefficient_of(emitter->kernel, value->address, transpose->plan->along);
  LLVMValueRef first =
      element_pointer(emitter, value->buffer, emitter->buffers[value->buffer], emit_index(emitter, value->address));
  for (int i = 0; i < lanes; i++) {
    rows[i] = LLVMGetPoison(type);
    if (i >= count) continue;
    LLVMValueRef pointer = element_pointer(emitter, value->buffer, first, index_value_of(emitter, i * stride));
    rows[i] = LLVMBuildLoad2(emitter->vec->builder, type, pointer, "");
    LLVMSetAlignment(rows[i], (unsigned)type_storage_bytes(value->type));
  }
  vec_transpose(emitter->vec, value->type, rows, lanes);
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
  LLVMValueRef pointer =
      element_pointer(emitter, store->buffer, emitter->buffers[store->buffer], emit_index(emitter, store->address));
  LLVMValueRef stored = LLVMBuildStore(emitter->vec->builder, piece, pointer);
  LLVMSetAlignment(stored, (unsigned)type_storage_bytes(emitter->kernel->buffers[store->buffer].type));
}

/* Row |row| of the block, its lanes from |first| on: as many as the emitter has. */
static void emit_row(TransposeEmitter *transpose, int row, int first) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposePlan *plan = transpose->plan;
  const KernelStage *stage = &emitter->kernel->stages[0];
  int64_t height = emitter->computed.count;
  for (int i = 0; i < plan->load_count; i++) {
    int32_t load = plan->loads[i];
    LLVMValueRef piece =
        row_piece(emitter->vec, transpose->rows[i * plan->lanes + row], plan->lanes, first, emitter->lanes);
    if (plan->is_copy) {
      store_copy(transpose, piece);
      return;
    }
    piece = vec_from_memory(emitter->vec, emitter->kernel->values[load].type, piece, emitter->lanes);
    emitter->values[load] = (CachedValue){.value = piece, .is_vector = emitter->lanes > 1};
    array_push(&emitter->computed, emitter->arena, load);
  }
  /* all values first: a later store must not see what an earlier one wrote */
  for (int i = 0; i < stage->store_count; i++) emit_value(emitter, stage->stores[i].value);
  for (int i = 0; i < stage->store_count; i++) emit_store(emitter, &stage->stores[i]);
  emit_forget(emitter, height);
}

/* The rows of a block in as many lanes as the block has, or, at the plane's edge, in pieces of falling powers of two.
 */
static void emit_block(TransposeEmitter *transpose, const BlockShape *shape, LLVMValueRef across, LLVMValueRef along) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposePlan *plan = transpose->plan;
  emitter->dims[plan->across] = across;
  emitter->dims[plan->along] = along;
  emitter->vector_dim = plan->along;
  for (int i = 0; i < plan->load_count; i++)
    load_block(transpose, plan->loads[i], shape->column_count, &transpose->rows[i * plan->lanes]);
  int first = 0;
  for (int lanes = plan->lanes; lanes > 0; lanes /= 2) {
    if (first + lanes > shape->column_count) continue;
    emitter->lanes = lanes;
    emitter->dims[plan->along] = add_index(emitter, along, first);
    int64_t height = emitter->computed.count;
    emit_hoist_values(emitter, ~(UINT64_C(1) << plan->across));
    for (int row = shape->first_row; row < plan->lanes; row++) {
      emitter->dims[plan->across] = add_index(emitter, across, row);
      emit_row(transpose, row, first);
    }
    emit_forget(emitter, height);
    first += lanes;
  }
  emitter->lanes = 1;
}

/* --- the plane --- */

/* Blocks along |along| whose rows begin at each of [begin, end) of |across|. */
static void emit_blocks(TransposeEmitter *transpose, BlockShape shape, LLVMValueRef begin, LLVMValueRef end) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposePlan *plan = transpose->plan;
  int64_t extent = emitter->kernel->dims[plan->along].extent, whole = extent / plan->lanes * plan->lanes;
  for (int part = 0; part < 2; part++) {
    int64_t part_begin = part == 0 ? 0 : whole, part_end = part == 0 ? whole : extent;
    if (part_begin == part_end) continue;
    shape.column_count = (int)min_i64(plan->lanes, part_end - part_begin);
    BlockLoop columns =
        block_loop_begin(emitter, index_value_of(emitter, part_begin), index_value_of(emitter, part_end), plan->lanes);
    BlockLoop rows = block_loop_begin(emitter, begin, end, plan->lanes);
    emit_block(transpose, &shape, rows.index, columns.index);
    block_loop_end(emitter, &rows);
    block_loop_end(emitter, &columns);
  }
}

static void emit_plane(TransposeEmitter *transpose) {
  KernelEmitter *emitter = transpose->emitter;
  const TransposePlan *plan = transpose->plan;
  LLVMBuilderRef builder = emitter->vec->builder;
  int64_t extent = emitter->kernel->dims[plan->across].extent, whole = extent / plan->lanes * plan->lanes;
  LLVMValueRef end = index_value_of(emitter, whole);
  BlockLoop strips = block_loop_begin(emitter, index_value_of(emitter, 0), end, plan->cache_rows);
  LLVMValueRef strip_end = add_index(emitter, strips.index, plan->cache_rows);
  if (whole % plan->cache_rows != 0) {
    strip_end = LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSLT, strip_end, end, ""), strip_end, end, "");
  }
  emit_blocks(transpose, (BlockShape){0}, strips.index, strip_end);
  block_loop_end(emitter, &strips);
  if (whole == extent) return;
  /* loads may overlap the block before, stores must not: they may be in place */
  int64_t last = extent - plan->lanes;
  emit_blocks(transpose, (BlockShape){.first_row = (int)(whole - last)}, index_value_of(emitter, last),
              index_value_of(emitter, last + 1));
}

static void emit_dims_around(TransposeEmitter *transpose, int dim, uint64_t known) {
  KernelEmitter *emitter = transpose->emitter;
  emit_hoist_values(emitter, known);
  while (dim == transpose->plan->across || dim == transpose->plan->along) dim++;
  if (dim == emitter->kernel->dim_count) {
    emit_plane(transpose);
    return;
  }
  Loop loop = emit_loop_begin(emitter, 0, emitter->kernel->dims[dim].extent, 1, NULL, 0);
  emitter->dims[dim] = loop.index;
  emit_dims_around(transpose, dim + 1, known | UINT64_C(1) << dim);
  emit_loop_end(emitter, &loop);
}

void emit_transpose(KernelEmitter *emitter, const TransposePlan *plan) {
  TransposeEmitter transpose = {.emitter = emitter, .plan = plan};
  transpose.rows = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, plan->load_count * plan->lanes);
  emit_dims_around(&transpose, 0, 0);
}
