/* Packing: the lhs as rows with the depth contiguous, the rhs as rows of one panel. */
#include "codegen/blocks/contraction_internal.h"

/* Loops over the dims of the depth inside a block, the last |merged| of them as one, left out here: the caller walks those. */
typedef struct DepthNest {
  ContractionEmitter *emitter;
  int loop_count;
  BlockLoop loops[KERNEL_MAX_DIMS];
  LLVMValueRef offset; /* of the current point in the packed depth */
} DepthNest;

static int64_t extent_of(const ContractionEmitter *emitter, int dim) {
  return emitter->kernel->dims[dim].extent;
}

/* How many last dims of the depth, none outside the chunk, |set| walks as one. */
static int merged_depth(const ContractionEmitter *emitter, const ValueSet *set) {
  const DimList *depth = &emitter->plan->depth;
  int merged = contraction_merged_suffix(emitter->kernel, set, depth), limit = depth->count - emitter->plan->chunk_dim;
  return merged < limit ? merged : limit;
}

static void depth_nest_begin(ContractionEmitter *emitter, const DepthBlock *block, int merged, DepthNest *nest) {
  const VecBuilder *vec = emitter->vec;
  const DimList *depth = &emitter->plan->depth;
  int64_t inside = emitter->plan->inside_chunk;
  *nest = (DepthNest){.emitter = emitter, .offset = block_int(vec, 0)};
  for (int i = emitter->plan->chunk_dim; i < depth->count - merged; i++) {
    int dim = depth->dims[i];
    bool is_chunk = i == emitter->plan->chunk_dim;
    if (!is_chunk) inside /= extent_of(emitter, dim);
    LLVMValueRef count = is_chunk ? block->chunk_count : block_int(vec, extent_of(emitter, dim));
    BlockLoop *loop = &nest->loops[nest->loop_count++];
    *loop = block_loop_begin(emitter, block_int(vec, 0), count, 1, false);
    nest->offset = block_add(vec, nest->offset, block_multiply(vec, loop->index, inside));
    emitter->point.dims[dim] = is_chunk ? block_add(vec, block->chunk_begin, loop->index) : loop->index;
  }
}

static void depth_nest_end(DepthNest *nest) {
  while (nest->loop_count > 0) block_loop_end(nest->emitter, &nest->loops[--nest->loop_count]);
}

/* The run of the last |merged| dims: its first index in the last of them, and its length. */
static void depth_run(ContractionEmitter *emitter, const DepthBlock *block, int merged, LLVMValueRef *out_first, LLVMValueRef *out_count) {
  const VecBuilder *vec = emitter->vec;
  const DimList *depth = &emitter->plan->depth;
  int64_t size = 1;
  for (int i = depth->count - merged; i < depth->count; i++) {
    if (i > emitter->plan->chunk_dim) size *= extent_of(emitter, depth->dims[i]);
    emitter->point.dims[depth->dims[i]] = block_int(vec, 0);
  }
  *out_first = block_int(vec, 0);
  *out_count = block_int(vec, size);
  if (depth->count - merged != emitter->plan->chunk_dim) return;
  *out_first = block_multiply(vec, block->chunk_begin, size);
  *out_count = block_multiply(vec, block->chunk_count, size);
}

/* A vector of a factor at the point, stored where the packed form has it. */
static void pack_lanes(ContractionEmitter *emitter, int32_t factor, int lanes, LLVMValueRef mask, LLVMValueRef target) {
  ElementPoint *point = &emitter->point;
  int height = point->computed_count;
  point->lanes = lanes;
  point->mask = mask;
  LLVMValueRef value = lanes > 1 ? point_value_lanes(point, factor) : point_value(point, factor);
  vec_store(emitter->vec, emitter->plan->type, value, target, NULL, lanes);
  point->lanes = 1;
  point->mask = NULL;
  point_forget(point, height);
}

/* --- lhs --- */

typedef struct RunCopy {
  int dim, lanes;
  bool masks;
  LLVMValueRef first, count, target;
} RunCopy;

static void copy_run_from(ContractionEmitter *emitter, const RunCopy *copy, LLVMValueRef begin, LLVMValueRef end, int lanes, bool masked) {
  const VecBuilder *vec = emitter->vec;
  PrimitiveType type = emitter->plan->type;
  BlockLoop loop = block_loop_begin(emitter, begin, end, lanes, true);
  emitter->point.dims[copy->dim] = block_add(vec, copy->first, loop.index);
  LLVMValueRef mask = masked ? block_lanes_below(vec, loop.index, copy->count, lanes) : NULL;
  pack_lanes(emitter, emitter->plan->lhs, lanes, mask, block_element(vec, type, copy->target, loop.index));
  block_loop_end(emitter, &loop);
}

/* Vectors may write beyond the run: the next run or nobody has its place there. */
static void copy_run(ContractionEmitter *emitter, const RunCopy *copy) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef zero = block_int(vec, 0);
  if (copy->lanes == 1) {
    copy_run_from(emitter, copy, zero, copy->count, 1, false);
    return;
  }
  LLVMValueRef whole = LLVMBuildAnd(vec->builder, copy->count, block_int(vec, -(int64_t)copy->lanes), "");
  copy_run_from(emitter, copy, zero, whole, copy->lanes, false);
  copy_run_from(emitter, copy, whole, copy->count, copy->masks ? copy->lanes : 1, copy->masks);
}

void contraction_pack_lhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin, LLVMValueRef row_count) {
  const VecBuilder *vec = emitter->vec;
  const ContractionPlan *plan = emitter->plan;
  const ValueSet *set = &plan->lhs_set;
  int merged = merged_depth(emitter, set), dim = plan->depth.dims[plan->depth.count - 1];
  BlockLoop rows = block_loop_begin(emitter, block_int(vec, 0), row_count, 1, false);
  LLVMValueRef row = block_minimum(vec, block_add(vec, row_begin, rows.index), block_int(vec, plan->rows.size - 1));
  block_set_linear(emitter, &plan->rows, plan->rows.count, set, row);
  DepthNest nest;
  depth_nest_begin(emitter, block, merged, &nest);
  RunCopy copy = {.dim = dim};
  int lanes = vec->target->vector_bits / (type_storage_bytes(plan->type) * 8);
  copy.lanes = contraction_lanes(emitter->kernel, vec->target, set, dim, lanes, false);
  copy.masks = contraction_lanes(emitter->kernel, vec->target, set, dim, lanes, true) > 1;
  depth_run(emitter, block, merged, &copy.first, &copy.count);
  LLVMValueRef offset = block_add(vec, block_multiply(vec, rows.index, plan->row_stride), nest.offset);
  copy.target = block_element(vec, plan->type, emitter->lhs_pack, offset);
  emitter->point.vector_dim = dim;
  point_hoist(&emitter->point, set, UINT64_C(1) << dim);
  copy_run(emitter, &copy);
  depth_nest_end(&nest);
  block_loop_end(emitter, &rows);
}

/* --- rhs --- */

/* One row of the panel in lanes of |lanes|; |end|: of the run of columns, NULL when the panel lies inside it. */
static void pack_panel_row(ContractionEmitter *emitter, LLVMValueRef column, LLVMValueRef target, LLVMValueRef end, int lanes) {
  const VecBuilder *vec = emitter->vec;
  const ContractionPlan *plan = emitter->plan;
  int dim = plan->columns.dims[plan->columns.count - 1];
  if (lanes == 1) {
    LLVMValueRef width = block_int(vec, plan->panel_width);
    if (end != NULL) width = block_minimum(vec, width, LLVMBuildSub(vec->builder, end, column, ""));
    BlockLoop loop = block_loop_begin(emitter, block_int(vec, 0), width, 1, false);
    emitter->point.dims[dim] = block_add(vec, column, loop.index);
    pack_lanes(emitter, plan->rhs, 1, NULL, block_element(vec, plan->type, target, loop.index));
    block_loop_end(emitter, &loop);
    return;
  }
  for (int j = 0; j < plan->panel_vectors; j++) {
    LLVMValueRef shift = block_int(vec, (int64_t)j * lanes), at = block_add(vec, column, shift);
    emitter->point.dims[dim] = at;
    LLVMValueRef mask = end == NULL ? NULL : block_lanes_below(vec, at, end, lanes);
    pack_lanes(emitter, plan->rhs, lanes, mask, block_element(vec, plan->type, target, shift));
  }
}

static void pack_panel(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column, LLVMValueRef end, int lanes) {
  const VecBuilder *vec = emitter->vec;
  const ContractionPlan *plan = emitter->plan;
  const ValueSet *set = &plan->rhs_set;
  int merged = merged_depth(emitter, set), dim = plan->depth.dims[plan->depth.count - 1];
  DepthNest nest;
  depth_nest_begin(emitter, block, merged, &nest);
  LLVMValueRef first, count;
  depth_run(emitter, block, merged, &first, &count);
  emitter->point.vector_dim = plan->columns.dims[plan->columns.count - 1];
  BlockLoop loop = block_loop_begin(emitter, block_int(vec, 0), count, 1, false);
  emitter->point.dims[dim] = block_add(vec, first, loop.index);
  LLVMValueRef offset = block_multiply(vec, block_add(vec, nest.offset, loop.index), plan->panel_width);
  point_hoist(&emitter->point, set, UINT64_C(1) << emitter->point.vector_dim);
  pack_panel_row(emitter, column, block_element(vec, plan->type, emitter->rhs_pack, offset), end, lanes);
  block_loop_end(emitter, &loop);
  depth_nest_end(&nest);
}

void contraction_pack_rhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  const VecBuilder *vec = emitter->vec;
  const ContractionPlan *plan = emitter->plan;
  int dim = plan->columns.dims[plan->columns.count - 1];
  bool has_tail = plan->column_run % plan->panel_width != 0;
  LLVMValueRef end = block_int(vec, plan->column_run);
  int whole = contraction_lanes(emitter->kernel, vec->target, &plan->rhs_set, dim, plan->lanes, false);
  int masked = contraction_lanes(emitter->kernel, vec->target, &plan->rhs_set, dim, plan->lanes, true);
  if (!has_tail) {
    pack_panel(emitter, block, column, NULL, whole);
    return;
  }
  if (masked == whole || plan->panel_width > plan->column_run) {
    pack_panel(emitter, block, column, end, masked);
    return;
  }
  LLVMBasicBlockRef inside = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef across = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMValueRef last = block_int(vec, plan->column_run - plan->panel_width);
  LLVMBuildCondBr(vec->builder, LLVMBuildICmp(vec->builder, LLVMIntSLE, column, last, ""), inside, across);
  LLVMPositionBuilderAtEnd(vec->builder, inside);
  pack_panel(emitter, block, column, NULL, whole);
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, across);
  pack_panel(emitter, block, column, end, masked);
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}
