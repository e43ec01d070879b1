/* The last stage a row behind: a softmax computes exponentials of a row while it divides and stores those of the row
 * before, so that memory and the units that divide have something to do meanwhile.
 *
 * Both are steps of one loop, and one row of scratch does for them: what the last stage reads of it is overwritten
 * right after.  There is a round more than rows.  In the first one the last stage stores nonsense, which the second one
 * replaces; in the last one the other stages compute the last row again, for nobody.  So all rounds are the same code.
 * What is computed of an element is the same as in loops of their own. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* A round more is little then: less than stages in loops of their own take longer. */
#define LEAST_ROWS 64

static int dim_count_of(const Kernel *kernel, int stage) {
  int count = 0;
  for (int d = 0; d < kernel->dim_count; d++) count += kernel->dims[d].stage == stage;
  return count;
}

static bool has_rows_enough(const Kernel *kernel) {
  double rows = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER) continue;
    if (!kernel_dim_is_parallel(&kernel->dims[d])) return false;
    rows *= (double)kernel->dims[d].extent;
  }
  return rows >= LEAST_ROWS;
}

/* Stage |stage| stores rows of the scratch, those before it nothing, the last one results. */
static bool stores_match(const Kernel *kernel, int stage) {
  for (int s = 0; s < kernel->stage_count; s++) {
    const KernelStage *info = &kernel->stages[s];
    if (info->transform != NULL || info->comparator != NULL || (info->store_count > 0) != (s >= stage)) return false;
    for (int i = 0; i < info->store_count; i++) {
      KernelBufferRole role = kernel->buffers[info->stores[i].buffer].role;
      if (info->stores[i].predicate >= 0 || role != (s == stage ? KERNEL_SCRATCH : KERNEL_RESULT)) return false;
    }
  }
  return true;
}

/* Of floats, which begin as anything, along the rows, and none in the last stage. */
static bool folds_match(const Kernel *kernel) {
  for (int f = 0; f < kernel->fold_count; f++) {
    const KernelFold *fold = &kernel->folds[f];
    if (fold->is_scan || !type_is_float(fold->type) || fold->stage == kernel->stage_count - 1) return false;
  }
  return true;
}

static int64_t buffer_bytes(const KernelBuffer *buffer) {
  return buffer->element_count * type_storage_bytes(buffer->type);
}

/* Nonsense that is stored may lie where an operand of that size did: the last stage must not read such. */
static bool reads_only_scratch(const Kernel *kernel) {
  int last = kernel->stage_count - 1;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || (value->stage != last && value->stage != KERNEL_OUTER)) continue;
    const KernelBuffer *read = &kernel->buffers[value->buffer];
    for (int i = 0; i < kernel->stages[last].store_count && read->role != KERNEL_SCRATCH; i++) {
      if (buffer_bytes(&kernel->buffers[kernel->stages[last].stores[i].buffer]) == buffer_bytes(read)) return false;
    }
  }
  return true;
}

bool behind_matches(const Kernel *kernel, const LoopStrategy *loops, int stage) {
  int last = kernel->stage_count - 1;
  if (stage + 1 != last || dim_count_of(kernel, stage) != 1 || dim_count_of(kernel, last) != 1) return false;
  const VectorWalk *walk = &loops->stage_walks[stage], *behind = &loops->stage_walks[last];
  if (walk->dim < 0 || behind->dim < 0 || walk->stream_count > 1 || behind->stream_count > 1) return false;
  if (kernel->dims[walk->dim].extent != kernel->dims[behind->dim].extent) return false;
  return has_rows_enough(kernel) && stores_match(kernel, stage) && folds_match(kernel) && reads_only_scratch(kernel);
}

/* The emitter's point, and the one behind, in each other's place. */
static void swap_points(KernelEmitter *emitter) {
  KernelPoint point = emitter->point;
  emitter->point = *emitter->behind;
  *emitter->behind = point;
}

void emit_behind(KernelEmitter *emitter, const VectorPart *part, LLVMValueRef index) {
  const Kernel *kernel = emitter->kernel;
  int last = kernel->stage_count - 1, dim = emitter->loops.stage_walks[last].dim;
  /* First what is read of this row: in the first round it may lie where the last stage stores. */
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD && value->stage == emitter->loops.behind) point_value(&emitter->point, v);
  }
  swap_points(emitter);
  int64_t height = emitter->point.known.count;
  emit_enter_lanes(emitter, dim, part);
  emitter->point.dims[dim] = index;
  emit_stores(emitter, last);
  emit_leave_lanes(emitter);
  point_forget(&emitter->point, height);
  swap_points(emitter);
}

void emit_rows_behind(KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  const VecBuilder *vec = emitter->vec;
  KernelPoint behind = kernel_point(vec, kernel, emitter->function, emitter->point.buffers, emitter->arena);
  behind.streamed = emitter->point.streamed;
  LLVMValueRef **carried = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef *, kernel->fold_count);
  for (int f = 0; f < kernel->fold_count; f++) {
    behind.accumulators[f] = vec_constant_double(vec, kernel->folds[f].type, 0, 1);
    carried[f] = &behind.accumulators[f];
  }
  IndexRange rounds = emitter->pieces;
  LLVMValueRef one = emit_index_constant(emitter, 1), last = LLVMBuildSub(vec->builder, rounds.end, one, "");
  rounds.end = ir_index_add(vec->builder, rounds.end, one);
  PointLoop loop = point_loop_begin_carrying(&emitter->point, rounds, 1, carried, kernel->fold_count);
  LLVMValueRef before = LLVMBuildSub(vec->builder, loop.index, one, "");
  emit_split_bind(emitter, ir_index_minimum(vec->builder, loop.index, last), emitter->point.dims);
  emit_split_bind(emitter, ir_index_maximum(vec->builder, before, rounds.begin), behind.dims);
  uint64_t known = 0;
  for (int i = 0; i < emitter->split.dim_count; i++) known |= UINT64_C(1) << emitter->split.dims[i];
  emitter->behind = &behind;
  swap_points(emitter);
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  emit_hoist_values(emitter, kernel->stage_count - 1, known);
  swap_points(emitter);
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  emit_stages(emitter, known);
  emitter->behind = NULL;
  for (int f = 0; f < kernel->fold_count; f++) behind.accumulators[f] = emitter->point.accumulators[f];
  point_loop_end(&emitter->point, &loop);
}
