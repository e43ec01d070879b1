/* Index arithmetic of a blocked contraction. */
#include "codegen/blocks/contraction_internal.h"

LLVMValueRef block_int(const VecBuilder *vec, int64_t value) {
  return ir_index(vec->context, value);
}

LLVMValueRef block_count_left(const VecBuilder *vec, int64_t most, int64_t total, LLVMValueRef begin) {
  if (total % most == 0) return block_int(vec, most);
  return ir_index_minimum(vec->builder, block_int(vec, most),
                          LLVMBuildSub(vec->builder, block_int(vec, total), begin, ""));
}

LLVMValueRef block_element(const VecBuilder *vec, PrimitiveType type, LLVMValueRef base, LLVMValueRef index) {
  return LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), base, &index, 1, "");
}

LLVMValueRef block_byte(const VecBuilder *vec, LLVMValueRef base, int64_t offset) {
  return block_element(vec, TYPE_S8, base, block_int(vec, offset));
}

void block_set_linear(ContractionEmitter *emitter, const DimList *list, int count, const ValueSet *set,
                      LLVMValueRef linear) {
  const VecBuilder *vec = emitter->vec;
  for (int i = count - 1; i >= 0;) {
    int last = i;
    int64_t extent = emitter->kernel->dims[list->dims[i]].extent;
    for (; i > 0 && set != NULL && contraction_merges(emitter->kernel, set, list, i - 1); i--) {
      extent *= emitter->kernel->dims[list->dims[i - 1]].extent;
      emitter->point.dims[list->dims[i - 1]] = block_int(vec, 0);
    }
    i--;
    LLVMValueRef divisor = block_int(vec, extent);
    emitter->point.dims[list->dims[last]] = i < 0 ? linear : LLVMBuildURem(vec->builder, linear, divisor, "");
    if (i >= 0) linear = LLVMBuildUDiv(vec->builder, linear, divisor, "");
  }
}

LLVMValueRef block_lanes_below(const VecBuilder *vec, LLVMValueRef first, LLVMValueRef end, int lanes) {
  LLVMTypeRef narrow = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef left = LLVMBuildTrunc(vec->builder, LLVMBuildSub(vec->builder, end, first, ""), narrow, "");
  LLVMValueRef indices = vec_lane_indices(vec, 32, 1, lanes);
  return LLVMBuildICmp(vec->builder, LLVMIntSLT, indices, vec_splat(vec, left, lanes), "");
}

LLVMValueRef block_steps_up_to(const VecBuilder *vec, int64_t bound, LLVMValueRef without, int64_t step) {
  LLVMValueRef left = LLVMBuildSub(vec->builder, block_int(vec, bound), without, "");
  LLVMValueRef up =
      ir_index_maximum(vec->builder, ir_index_add(vec->builder, left, block_int(vec, step - 1)), block_int(vec, 0));
  return step == 1 ? up : LLVMBuildUDiv(vec->builder, up, block_int(vec, step), "");
}

LLVMValueRef contraction_group_count(const VecBuilder *vec, const ContractionBlocking *blocking, LLVMValueRef depth) {
  if (blocking->group == 1) return depth;
  LLVMValueRef up = ir_index_add(vec->builder, depth, block_int(vec, blocking->group - 1));
  return LLVMBuildUDiv(vec->builder, up, block_int(vec, blocking->group), "");
}
