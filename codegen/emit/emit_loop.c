/* Loops, folds and stages. */
#include "base/checked_math.h"
#include "codegen/blocks/fft.h"
#include "codegen/emit/emit_internal.h"

LLVMValueRef emit_index_constant(const KernelEmitter *emitter, int64_t value) {
  return ir_index(emitter->vec->context, value);
}

IndexRange emit_constant_range(const KernelEmitter *emitter, int64_t begin, int64_t end) {
  return ir_range(emitter->vec->context, begin, end);
}

IndexRange emit_whole_dim(const KernelEmitter *emitter, int dim) {
  return emit_constant_range(emitter, 0, emitter->kernel->dims[dim].extent);
}

/* --- values, as far out as they can be --- */

void emit_hoist_values(KernelEmitter *emitter, int stage, uint64_t known) {
  const Kernel *kernel = emitter->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->stage == stage && value->kind != KERNEL_CONSTANT && (value->dims & ~known) == 0)
      point_value(&emitter->point, v);
  }
}

/* --- steps of the vector dim --- */

void emit_enter_lanes(KernelEmitter *emitter, int dim, const VectorPart *part) {
  const VecBuilder *vec = emitter->vec;
  emitter->point.vector_dim = dim;
  emitter->point.lanes = part->lanes;
  emitter->point.vector_begin = part->begin;
  emitter->point.vector_end = part->end;
  emitter->point.mask = NULL;
  if (part->masked == 0) return;
  LLVMValueRef *bits = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, part->lanes);
  LLVMTypeRef bit = LLVMInt1TypeInContext(vec->context);
  for (int i = 0; i < part->lanes; i++) bits[i] = LLVMConstInt(bit, i < part->masked, false);
  emitter->point.mask = LLVMConstVector(bits, (unsigned)part->lanes);
}

void emit_leave_lanes(KernelEmitter *emitter) {
  emitter->point.lanes = 1;
  emitter->point.vector_begin = emitter->point.vector_end = 0;
  emitter->point.mask = NULL;
}

/* --- stages and outer loops --- */

void emit_stores(KernelEmitter *emitter, int stage) {
  const KernelStage *info = &emitter->kernel->stages[stage];
  for (int i = 0; i < info->store_count; i++) point_value(&emitter->point, info->stores[i].value);
  KernelPoint *point = &emitter->point;
  for (int i = 0, count; i < info->store_count; i += count) {
    count = point->lanes > 1 ? kernel_stores_in_turn(emitter->kernel, stage, i, point->vector_dim) : 1;
    if (count > 1) {
      point_store_in_turn(point, &info->stores[i], count);
    } else {
      point_store(point, &info->stores[i]);
    }
  }
}

void emit_ask_for(KernelEmitter *emitter, int32_t load, int64_t distance) {
  const VecBuilder *vec = emitter->vec;
  LLVMTypeRef byte = LLVMInt8TypeInContext(vec->context);
  LLVMValueRef first = point_load_pointer(&emitter->point, load);
  const KernelBuffer *buffer = &emitter->kernel->buffers[emitter->kernel->values[load].buffer];
  int64_t bytes = type_storage_bytes(buffer->type) * emitter->point.lanes;
  for (int64_t at = 0; at < bytes; at += LINE_BYTES) {
    LLVMValueRef offset = emit_index_constant(emitter, distance + at);
    vec_prefetch(vec, LLVMBuildGEP2(vec->builder, byte, first, &offset, 1, ""));
  }
}

void emit_ask_ahead(KernelEmitter *emitter, int stage, const VectorWalk *walk) {
  for (int32_t v = 0; v < emitter->kernel->value_count; v++) {
    const KernelValue *value = &emitter->kernel->values[v];
    if (value->kind != KERNEL_LOAD || value->stage != stage) continue;
    int64_t ahead = memory_is_asked_ahead(emitter->kernel, value, walk->dim) ? walk->ahead : 0;
    if (walk->ahead_dim >= 0)
      ahead = memory_row_distance(emitter->kernel, value, walk->dim, walk->ahead_dim, emitter->early != NULL);
    if (ahead != 0) emit_ask_for(emitter, v, ahead);
  }
}

static bool stage_has_dims(const Kernel *kernel, int stage) {
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == stage) return true;
  }
  return false;
}

/* A fold over no dims (all of extent 1) still takes its one step. */
static bool stage_has_folds(const Kernel *kernel, int stage) {
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == stage) return true;
  }
  return false;
}

void emit_stages(KernelEmitter *emitter, uint64_t known) {
  if (emitter->loops.taps.dim >= 0) {
    emit_tap_stages(emitter, known);
    return;
  }
  const Kernel *kernel = emitter->kernel;
  int stage_count = kernel->stage_count - (emitter->behind != NULL);
  for (int s = emitter->early != NULL; s < stage_count; s++) {
    if (kernel->stages[s].transform != NULL) {
      fft_emit(emitter->vec, kernel, s, emitter->point.buffers);
      continue;
    }
    bool has_dims = stage_has_dims(kernel, s);
    if (has_dims) emit_hoist_values(emitter, s, known);
    if (has_dims || stage_has_folds(kernel, s)) {
      emit_folds(emitter, s, known);
    } else {
      emit_stores(emitter, s);
    }
  }
}

static void emit_outer(KernelEmitter *emitter, int level, uint64_t known);

/* One level of an unrolled Kernel. */
static void emit_points(KernelEmitter *emitter, int level, uint64_t known) {
  int dim = emitter->loops.outer[level];
  int64_t height = emitter->point.known.count;
  for (int64_t i = 0; i < emitter->kernel->dims[dim].extent; i++) {
    emitter->point.dims[dim] = emit_index_constant(emitter, i);
    emit_outer(emitter, level + 1, known);
    point_forget(&emitter->point, height);
  }
}

/* One part of the outer vector dim. */
static void emit_outer_part(KernelEmitter *emitter, int level, uint64_t known, const VectorPart *part,
                            IndexRange range) {
  int dim = emitter->loops.outer_walk.dim;
  emit_enter_lanes(emitter, dim, part);
  PointLoop loop = point_loop_begin(&emitter->point, range, emit_part_step(part));
  emitter->point.dims[dim] = loop.index;
  emit_outer(emitter, level + 1, known);
  const VectorWalk *walk = &emitter->loops.outer_walk;
  if (walk->ahead > 0 && part == walk->parts) emit_ask_ahead(emitter, KERNEL_OUTER, walk);
  point_loop_end(&emitter->point, &loop);
  emit_leave_lanes(emitter);
}

/* Where pieces are cut from this dim, its main part is in all of them, the rest in the last. */
static void emit_outer_vector_dim(KernelEmitter *emitter, int level, uint64_t known) {
  const VectorWalk *walk = &emitter->loops.outer_walk;
  bool is_split = emitter->split.dim == walk->dim;
  for (int p = 0; p < walk->part_count; p++) {
    const VectorPart *part = &walk->parts[p];
    IndexRange range = emit_constant_range(emitter, part->begin, part->end);
    if (is_split && p == 0) range = emit_split_range(emitter, part->end);
    LLVMBasicBlockRef behind = is_split && p > 0 ? emit_last_piece_begin(emitter) : NULL;
    if (p == 0 && emitter->loops.sweep.dim >= 0) {
      IndexRange tile;
      PointLoop tiles = emit_sweep_begin(emitter, range, &tile);
      VectorPart columns = *part;
      columns.lanes = emit_sweep_columns(emitter);
      if (!emitter->kernel->folds[0].is_scan) emit_outer_part(emitter, level, known, &columns, tile);
      emit_sweep_end(emitter, &tiles);
    } else {
      emit_outer_part(emitter, level, known, part, range);
    }
    if (behind != NULL) emit_last_piece_end(emitter, behind);
  }
}

/* The predicate under which alone anything is stored, of a Kernel that does nothing else; -1: there is none. */
static int32_t common_guard(const Kernel *kernel) {
  const KernelStage *stage = &kernel->stages[0];
  if (kernel->stage_count != 1 || kernel->fold_count > 0 || stage->store_count == 0 || stage->transform != NULL)
    return -1;
  for (int i = 1; i < stage->store_count; i++) {
    if (stage->stores[i].predicate != stage->stores[0].predicate) return -1;
  }
  return stage->stores[0].predicate;
}

/* The rest of the nest, only where the guard is true: inside nothing asks for it any more. */
static void emit_outer_guarded(KernelEmitter *emitter, int level, uint64_t known, int32_t guard) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef condition = point_value(&emitter->point, guard);
  int64_t height = emitter->point.known.count;
  LLVMBasicBlockRef inside = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBuildCondBr(vec->builder, condition, inside, behind);
  LLVMPositionBuilderAtEnd(vec->builder, inside);
  emitter->point.assumed = guard;
  emit_outer(emitter, level, known);
  emitter->point.assumed = -1;
  point_forget(&emitter->point, height);
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}

/* As far out as the guard is known. */
static bool begins_guard(const KernelEmitter *emitter, uint64_t known, int32_t guard) {
  if (guard < 0 || emitter->point.assumed >= 0 || emitter->is_unrolled) return false;
  return (emitter->kernel->values[guard].dims & ~known) == 0 && !point_is_vector(&emitter->point, guard);
}

static void emit_outer(KernelEmitter *emitter, int level, uint64_t known) {
  const LoopStrategy *strategy = &emitter->loops;
  int32_t guard = common_guard(emitter->kernel);
  if (begins_guard(emitter, known, guard)) {
    emit_outer_guarded(emitter, level, known, guard);
    return;
  }
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  if (level == strategy->outer_count) {
    emit_stages(emitter, known);
    return;
  }
  int dim = strategy->outer[level];
  if (dim == strategy->taps.dim) {
    emit_tap_places(emitter, level + 1, known, emit_outer);
    return;
  }
  known |= UINT64_C(1) << dim;
  if (emitter->is_unrolled) {
    emit_points(emitter, level, known);
    return;
  }
  if (dim == strategy->outer_walk.dim) {
    emit_outer_vector_dim(emitter, level, known);
    return;
  }
  if (dim == strategy->runs.dim) {
    emit_runs(emitter);
    return;
  }
  PointLoop loop = point_loop_begin(&emitter->point, emit_whole_dim(emitter, dim), 1);
  emitter->point.dims[dim] = loop.index;
  emit_outer(emitter, level + 1, known);
  point_loop_end(&emitter->point, &loop);
}

PieceSplit nest_split(const Kernel *kernel, const LoopStrategy *strategy) {
  const VectorWalk *walk = &strategy->outer_walk;
  int first = strategy->outer_count - (walk->dim >= 0) - (strategy->taps.dim >= 0);
  if (walk->dim < 0 || walk->is_cut) return emit_split_choose(kernel, strategy->outer, first, -1, 0, 1);
  return emit_split_choose(kernel, strategy->outer, first, walk->dim, walk->parts[0].end, walk->parts[0].lanes);
}

void emit_nest(KernelEmitter *emitter) {
  const PieceSplit *split = &emitter->split;
  uint64_t known = 0;
  if (split->dim_count == 0) {
    emit_outer(emitter, 0, known);
    return;
  }
  emit_hoist_values(emitter, KERNEL_OUTER, known);
  if (emitter->loops.behind >= 0 && split->dim_count == emitter->loops.outer_count) {
    emit_rows_behind(emitter);
    return;
  }
  PointLoop loop = emit_split_loop_begin(emitter);
  for (int i = 0; i < split->dim_count; i++) known |= UINT64_C(1) << split->dims[i];
  emit_outer(emitter, split->dim_count, known);
  point_loop_end(&emitter->point, &loop);
}
