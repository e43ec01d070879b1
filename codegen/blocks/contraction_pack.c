/* What packing of both factors takes: walks over a block of the depth, lanes of a factor, guards that are known to
 * hold.
 */
#include "codegen/blocks/contraction_pack_internal.h"

static int64_t extent_of(const ContractionEmitter *emitter, int dim) {
  return emitter->kernel->dims[dim].extent;
}

int pack_merged_depth(const ContractionEmitter *emitter, const ValueSet *set) {
  const DimList *depth = &emitter->blocking->depth;
  int merged = contraction_merged_suffix(emitter->kernel, set, depth),
      limit = depth->count - emitter->blocking->chunk_dim;
  return merged < limit ? merged : limit;
}

LLVMValueRef pack_depth_count(const ContractionEmitter *emitter, const DepthBlock *block, int i) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef count =
      i == blocking->chunk_dim ? block->chunk_count : block_int(vec, extent_of(emitter, blocking->depth.dims[i]));
  return i == block->longer_dim && block->longer_by > 0
             ? ir_index_add(vec->builder, count, block_int(vec, block->longer_by))
             : count;
}

void pack_nest_add(PackNest *nest, const DepthBlock *block, int i) {
  ContractionEmitter *emitter = nest->emitter;
  const VecBuilder *vec = emitter->vec;
  const DimList *depth = &emitter->blocking->depth;
  bool is_chunk = i == emitter->blocking->chunk_dim;
  int64_t inside = 1;
  for (int j = i + 1; j < depth->count; j++)
    inside *= extent_of(emitter, depth->dims[j]) + (j == block->longer_dim ? block->longer_by : 0);
  LLVMValueRef count = pack_depth_count(emitter, block, i);
  PointLoop *loop = &nest->loops[nest->loop_count++];
  *loop = point_loop_begin(&emitter->point, ir_range_below(count), 1);
  nest->offset = ir_index_add(vec->builder, nest->offset, ir_index_multiply(vec->builder, loop->index, inside));
  emitter->point.dims[depth->dims[i]] =
      is_chunk ? ir_index_add(vec->builder, block->chunk_begin, loop->index) : loop->index;
}

void pack_nest_begin(ContractionEmitter *emitter, const DepthBlock *block, int merged, PackNest *nest) {
  *nest = (PackNest){.emitter = emitter, .offset = block_int(emitter->vec, 0)};
  for (int i = emitter->blocking->chunk_dim; i < emitter->blocking->depth.count - merged; i++)
    pack_nest_add(nest, block, i);
}

void pack_nest_end(PackNest *nest) {
  while (nest->loop_count > 0) point_loop_end(&nest->emitter->point, &nest->loops[--nest->loop_count]);
}

void pack_depth_run(ContractionEmitter *emitter, const DepthBlock *block, int merged, LLVMValueRef *out_first,
                    LLVMValueRef *out_count) {
  const VecBuilder *vec = emitter->vec;
  const DimList *depth = &emitter->blocking->depth;
  int outer = depth->count - merged;
  int64_t inner = 1;
  for (int i = outer; i < depth->count; i++) {
    if (i > outer) inner *= extent_of(emitter, depth->dims[i]);
    emitter->point.dims[depth->dims[i]] = block_int(vec, 0);
  }
  *out_first = block_int(vec, 0);
  *out_count = ir_index_multiply(vec->builder, pack_depth_count(emitter, block, outer), inner);
  if (outer == emitter->blocking->chunk_dim) *out_first = ir_index_multiply(vec->builder, block->chunk_begin, inner);
}

void pack_nest_begin_run(ContractionEmitter *emitter, const DepthBlock *block, const ValueSet *set, PackNest *nest,
                         LLVMValueRef *out_first, LLVMValueRef *out_count) {
  int merged = pack_merged_depth(emitter, set);
  pack_nest_begin(emitter, block, merged, nest);
  pack_depth_run(emitter, block, merged, out_first, out_count);
}

LLVMValueRef contraction_factor_lanes(ContractionEmitter *emitter, int32_t factor, int lanes, LLVMValueRef mask) {
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  point->lanes = lanes;
  point->mask = mask;
  LLVMValueRef value = point_value_lanes(point, factor);
  point->lanes = 1;
  point->mask = NULL;
  point_forget(point, height);
  return value;
}

LLVMValueRef pack_bits(const ContractionEmitter *emitter, LLVMValueRef value, int lanes) {
  const VecBuilder *vec = emitter->vec;
  if (emitter->blocking->dot != VEC_DOT_BF16) return value;
  LLVMTypeRef words = vec_type(vec, TYPE_U32, lanes);
  LLVMValueRef upper = vec_splat(vec, LLVMConstInt(LLVMInt32TypeInContext(vec->context), 16, false), lanes);
  return LLVMBuildLShr(vec->builder, LLVMBuildBitCast(vec->builder, value, words, ""), upper, "");
}

LLVMValueRef contraction_packed_value(const ContractionEmitter *emitter, LLVMValueRef value, bool is_lhs, int lanes) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->group == 1) return value;
  LLVMTypeRef narrow = vec_type(vec, blocking->packed_type, lanes);
  value = LLVMBuildTrunc(vec->builder, pack_bits(emitter, value, lanes), narrow, "");
  if (!is_lhs || !blocking->lhs_shifted) return value;
  return LLVMBuildXor(vec->builder, value, vec_constant(vec, blocking->packed_type, 0x80, lanes), "");
}

/* --- where a guard is known to hold --- */

PackBranch pack_branch_begin(ContractionEmitter *emitter, LLVMValueRef condition) {
  const VecBuilder *vec = emitter->vec;
  LLVMBasicBlockRef holds = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  PackBranch branch = {.otherwise = LLVMAppendBasicBlockInContext(vec->context, emitter->function, ""),
                       .after = LLVMAppendBasicBlockInContext(vec->context, emitter->function, ""),
                       .height = emitter->point.known.count};
  LLVMBuildCondBr(vec->builder, condition, holds, branch.otherwise);
  LLVMPositionBuilderAtEnd(vec->builder, holds);
  return branch;
}

static void branch_leave(ContractionEmitter *emitter, const PackBranch *branch, LLVMBasicBlockRef next) {
  emitter->point.assumed = -1;
  point_forget(&emitter->point, branch->height);
  LLVMBuildBr(emitter->vec->builder, branch->after);
  LLVMPositionBuilderAtEnd(emitter->vec->builder, next);
}

void pack_branch_otherwise(ContractionEmitter *emitter, const PackBranch *branch) {
  branch_leave(emitter, branch, branch->otherwise);
}

void pack_branch_end(ContractionEmitter *emitter, const PackBranch *branch) {
  branch_leave(emitter, branch, branch->after);
}

void pack_assume_guard(ContractionEmitter *emitter, int32_t factor) {
  emitter->point.assumed = emitter->kernel->values[factor].predicate;
}

LLVMValueRef pack_holds_at_ends(ContractionEmitter *emitter, int32_t factor, const PackEnds *ends) {
  int32_t guard = emitter->kernel->values[factor].predicate;
  int64_t height = emitter->point.known.count;
  LLVMValueRef holds[2];
  for (int end = 0; end < 2; end++) {
    for (int i = 0; i < ends->count; i++)
      emitter->point.dims[ends->dims[i]] = end == 0 ? ends->first[i] : ends->last[i];
    holds[end] = point_value(&emitter->point, guard);
    point_forget(&emitter->point, height);
  }
  return LLVMBuildAnd(emitter->vec->builder, holds[0], holds[1], "");
}
