/* The last stage a row behind, the first one a row early: a softmax computes exponentials of a row while it divides and
 * stores those of the row before, so that memory and the units that divide have something to do meanwhile, and finds
 * the largest number of the next row, which comes from memory then.
 *
 * These are steps of one loop, and one row of scratch does for them: what the last stage reads of it is overwritten
 * right after.  There is a round more than rows.  In the first one the last stage stores nonsense, which the second one
 * replaces; in the last one the other stages compute the last row again, for nobody.  So all rounds are the same code;
 * only the first stage's loops for the first row stand before them.  What is computed of an element is the same as in
 * loops of their own. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* Of the processor: the loops of the other two stages take more than half as many. */
#define EARLY_REGISTERS 32

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

/* Sums may be cut into strips (fold_chains.c), which loops of another stage are not. */
static bool folds_may_be_early(const Kernel *kernel) {
  FoldChoice choice;
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == 0 && fold_is_sum(kernel, f)) return false;
  }
  return !fold_choice_find(kernel, 0, &choice);
}

bool early_matches(const Kernel *kernel, const VecTarget *target, const LoopStrategy *loops, int stage) {
  if (stage != 1 || target->register_count < EARLY_REGISTERS || dim_count_of(kernel, 0) != 1) return false;
  const VectorWalk *first = &loops->stage_walks[0], *walk = &loops->stage_walks[stage];
  if (first->dim < 0 || kernel->dims[first->dim].extent != kernel->dims[walk->dim].extent) return false;
  return walk->ahead_dim >= 0 && folds_may_be_early(kernel);
}

/* The emitter's point, and another one, in each other's place. */
static void swap_points(KernelEmitter *emitter, KernelPoint *other) {
  KernelPoint point = emitter->point;
  emitter->point = *other;
  *other = point;
}

void emit_behind(KernelEmitter *emitter, const VectorPart *part, LLVMValueRef index) {
  const Kernel *kernel = emitter->kernel;
  int last = kernel->stage_count - 1, dim = emitter->loops.stage_walks[last].dim;
  /* First what is read of this row: in the first round it may lie where the last stage stores. */
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD && value->stage == emitter->loops.behind) point_value(&emitter->point, v);
  }
  swap_points(emitter, emitter->behind);
  int64_t height = emitter->point.known.count;
  emit_enter_lanes(emitter, dim, part);
  emitter->point.dims[dim] = index;
  emit_stores(emitter, last);
  emit_leave_lanes(emitter);
  point_forget(&emitter->point, height);
  swap_points(emitter, emitter->behind);
}

void emit_early(KernelEmitter *emitter, int part, LLVMValueRef index) {
  const VectorWalk *walk = &emitter->loops.stage_walks[0];
  swap_points(emitter, emitter->early);
  int64_t height = emitter->point.known.count;
  emit_enter_lanes(emitter, walk->dim, &walk->parts[part]);
  emitter->point.dims[walk->dim] = index;
  emit_fold_step(emitter, emitter->early_nest, part);
  emit_leave_lanes(emitter);
  point_forget(&emitter->point, height);
  swap_points(emitter, emitter->early);
}

/* The dims of rows. */
static uint64_t rows_known(const KernelEmitter *emitter) {
  uint64_t known = 0;
  for (int i = 0; i < emitter->split.dim_count; i++) known |= UINT64_C(1) << emitter->split.dims[i];
  return known;
}

/* At |point|, which is of piece |piece|: what is known of it, outside of stages and of stage |stage|. */
static void enter_row(KernelEmitter *emitter, KernelPoint *point, LLVMValueRef piece, int stage) {
  emit_split_bind(emitter, piece, point->dims);
  swap_points(emitter, point);
  emit_hoist_values(emitter, KERNEL_OUTER, rows_known(emitter));
  emit_hoist_values(emitter, stage, rows_known(emitter));
  swap_points(emitter, point);
}

/* The first stage's folds of the first row, in loops of their own. */
static void fold_first_row(KernelEmitter *emitter, LLVMValueRef piece) {
  uint64_t known = rows_known(emitter);
  int64_t height = emitter->point.known.count;
  emit_split_bind(emitter, piece, emitter->point.dims);
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  emit_hoist_values(emitter, 0, known);
  emit_folds(emitter, 0, known);
  point_forget(&emitter->point, height);
}

static void begin_early(KernelEmitter *emitter, KernelPoint *early) {
  emitter->early = early;
  swap_points(emitter, early);
  emitter->early_nest = emit_fold_begin(emitter, 0);
  swap_points(emitter, early);
}

/* By how many bytes the rows of the scratch, from |row| on, are moved: they shall not begin, modulo the period, in its
 * first quarter after what is read, nor in the sixteenth before it. */
static LLVMValueRef bytes_apart(const KernelEmitter *emitter, LLVMValueRef row) {
  const RowsApart *apart = &emitter->loops.apart;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMTypeRef index = LLVMInt64TypeInContext(emitter->vec->context);
  int64_t before = apart->period / 16, after = apart->period / 4;
  LLVMValueRef read = LLVMBuildPtrToInt(b, emitter->point.buffers[apart->buffer], index, "");
  LLVMValueRef place = LLVMBuildSub(b, LLVMBuildPtrToInt(b, row, index, ""), read, "");
  place = LLVMBuildAdd(b, place, emit_index_constant(emitter, before), "");
  place = LLVMBuildAnd(b, place, emit_index_constant(emitter, apart->period - 1), "");
  LLVMValueRef is_near = LLVMBuildICmp(b, LLVMIntULT, place, emit_index_constant(emitter, before + after), "");
  LLVMValueRef bytes = emit_index_constant(emitter, rows_apart_bytes(apart));
  return LLVMBuildSelect(b, is_near, bytes, emit_index_constant(emitter, 0), "");
}

/* The point's buffers with the rows of the scratch where they are apart from what is read. */
static const LLVMValueRef *move_rows_apart(KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  const VecBuilder *vec = emitter->vec;
  if (emitter->loops.apart.period == 0) return emitter->point.buffers;
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count), bytes = NULL;
  for (int i = 0; i < kernel->buffer_count; i++) {
    buffers[i] = emitter->point.buffers[i];
    if (kernel->buffers[i].role != KERNEL_SCRATCH) continue;
    if (bytes == NULL) bytes = bytes_apart(emitter, buffers[i]);
    buffers[i] = LLVMBuildInBoundsGEP2(vec->builder, LLVMInt8TypeInContext(vec->context), buffers[i], &bytes, 1, "");
  }
  return buffers;
}

/* The first stage's final values of the next row are this row's in the next round. */
static void end_early(KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  swap_points(emitter, emitter->early);
  emit_fold_end(emitter, emitter->early_nest);
  swap_points(emitter, emitter->early);
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == 0) emitter->point.accumulators[f] = emitter->early->accumulators[f];
  }
  emitter->early = NULL;
}

/* What goes from round to round: all folds of the row behind, and of this one those that were folded early.  Returns
 * how many. */
static int carry_rows(KernelEmitter *emitter, KernelPoint *behind, LLVMValueRef **out_carried) {
  const Kernel *kernel = emitter->kernel;
  int count = 0;
  for (int f = 0; f < kernel->fold_count; f++) {
    behind->accumulators[f] = vec_constant_double(emitter->vec, kernel->folds[f].type, 0, 1);
    out_carried[count++] = &behind->accumulators[f];
    if (emitter->loops.early && kernel->folds[f].stage == 0) out_carried[count++] = &emitter->point.accumulators[f];
  }
  return count;
}

void emit_rows_behind(KernelEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  const VecBuilder *vec = emitter->vec;
  const LLVMValueRef *buffers = emitter->point.buffers;
  emitter->point.buffers = move_rows_apart(emitter);
  KernelPoint behind = kernel_point(vec, kernel, emitter->function, emitter->point.buffers, emitter->arena);
  KernelPoint early = kernel_point(vec, kernel, emitter->function, emitter->point.buffers, emitter->arena);
  behind.streamed = emitter->point.streamed;
  IndexRange rounds = emitter->pieces;
  LLVMValueRef one = emit_index_constant(emitter, 1), last = LLVMBuildSub(vec->builder, rounds.end, one, "");
  rounds.end = ir_index_add(vec->builder, rounds.end, one);
  if (emitter->loops.early) fold_first_row(emitter, rounds.begin);
  LLVMValueRef **carried = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef *, 2 * kernel->fold_count);
  int carried_count = carry_rows(emitter, &behind, carried);
  PointLoop loop = point_loop_begin_carrying(&emitter->point, rounds, 1, carried, carried_count);
  LLVMValueRef before = LLVMBuildSub(vec->builder, loop.index, one, "");
  emit_split_bind(emitter, ir_index_minimum(vec->builder, loop.index, last), emitter->point.dims);
  enter_row(emitter, &behind, ir_index_maximum(vec->builder, before, rounds.begin), kernel->stage_count - 1);
  emitter->behind = &behind;
  if (emitter->loops.early) {
    LLVMValueRef next = LLVMBuildAdd(vec->builder, loop.index, one, "");
    enter_row(emitter, &early, ir_index_minimum(vec->builder, next, last), 0);
    begin_early(emitter, &early);
  }
  emit_hoist_values(emitter, KERNEL_OUTER, rows_known(emitter));
  emit_stages(emitter, rows_known(emitter));
  emitter->behind = NULL;
  for (int f = 0; f < kernel->fold_count; f++) behind.accumulators[f] = emitter->point.accumulators[f];
  if (emitter->loops.early) end_early(emitter);
  point_loop_end(&emitter->point, &loop);
  emitter->point.buffers = buffers;
}
