/* Pieces of a nest of loops that threads may share out. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

#define MANY_PIECES 64   /* enough for any number of threads in sight: no more loops are joined */
#define ENOUGH_PIECES 16 /* of the first loops, not to look further */
#define PIECE_INDICES 64 /* at least, of a dim that may be walked in lanes: whole cache lines */
#define APART_INDICES 16 /* the same inside of sequential dims, where nothing else can be cut */

/* Within sequential dims, points of parallel ones may run at once, but no further apart. */
static bool is_parallel(const Kernel *kernel) {
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER && !kernel_dim_is_parallel(&kernel->dims[d])) return false;
  }
  return true;
}

static bool may_be_cut(const Kernel *kernel, int dim, bool all_parallel) {
  return all_parallel || kernel->dims[dim].kind == KERNEL_APART;
}

PieceSplit emit_split_choose(const Kernel *kernel, const int *dims, int dim_count, int dim, int64_t extent,
                             int64_t step) {
  PieceSplit whole = {.piece_count = 1, .dim = -1}, first = whole, other = whole;
  bool all_parallel = is_parallel(kernel);
  for (int i = 0; i < dim_count && first.piece_count < MANY_PIECES; i++) {
    if (!may_be_cut(kernel, dims[i], all_parallel)) break;
    first.piece_count *= kernel->dims[dims[i]].extent;
    first.dims[first.dim_count++] = dims[i];
  }
  if (first.piece_count >= ENOUGH_PIECES) return first;
  if (dim >= 0 && may_be_cut(kernel, dim, all_parallel)) {
    other.dim = dim;
    other.piece_size = align_up(all_parallel ? PIECE_INDICES : APART_INDICES, step);
    other.piece_count = max_i64(extent / other.piece_size, 1);
  }
  if (other.piece_count > first.piece_count) return other;
  return first.piece_count > 1 ? first : whole;
}

void emit_split_bind(const KernelEmitter *emitter, LLVMValueRef piece, LLVMValueRef *out_dims) {
  const PieceSplit *split = &emitter->split;
  LLVMBuilderRef builder = emitter->vec->builder;
  for (int i = split->dim_count - 1; i >= 0; i--) {
    LLVMValueRef extent = emit_index_constant(emitter, emitter->kernel->dims[split->dims[i]].extent);
    out_dims[split->dims[i]] = i == 0 ? piece : LLVMBuildURem(builder, piece, extent, "");
    if (i > 0) piece = LLVMBuildUDiv(builder, piece, extent, "");
  }
}

PointLoop emit_split_loop_begin(KernelEmitter *emitter) {
  PointLoop loop = point_loop_begin(&emitter->point, emitter->pieces, 1);
  emit_split_bind(emitter, loop.index, emitter->point.dims);
  return loop;
}

static LLVMValueRef has_last_piece(KernelEmitter *emitter) {
  LLVMValueRef count = emit_index_constant(emitter, emitter->split.piece_count);
  return LLVMBuildICmp(emitter->vec->builder, LLVMIntEQ, emitter->pieces.end, count, "");
}

IndexRange emit_split_range(KernelEmitter *emitter, int64_t extent) {
  LLVMBuilderRef builder = emitter->vec->builder;
  LLVMValueRef size = emit_index_constant(emitter, emitter->split.piece_size);
  IndexRange range = {.begin = LLVMBuildMul(builder, emitter->pieces.begin, size, "")};
  range.end = LLVMBuildMul(builder, emitter->pieces.end, size, "");
  range.end = LLVMBuildSelect(builder, has_last_piece(emitter), emit_index_constant(emitter, extent), range.end, "");
  return range;
}

LLVMBasicBlockRef emit_last_piece_begin(KernelEmitter *emitter) {
  const VecBuilder *vec = emitter->vec;
  LLVMBasicBlockRef inside = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBuildCondBr(vec->builder, has_last_piece(emitter), inside, behind);
  LLVMPositionBuilderAtEnd(vec->builder, inside);
  return behind;
}

void emit_last_piece_end(KernelEmitter *emitter, LLVMBasicBlockRef behind) {
  LLVMBuildBr(emitter->vec->builder, behind);
  LLVMPositionBuilderAtEnd(emitter->vec->builder, behind);
}
