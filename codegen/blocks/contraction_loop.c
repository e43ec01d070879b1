/* Loops and index arithmetic of a blocked contraction. */
#include "codegen/blocks/contraction_internal.h"

LLVMValueRef block_int(const VecBuilder *vec, int64_t value) {
  return LLVMConstInt(LLVMInt64TypeInContext(vec->context), (unsigned long long)value, true);
}

static bool constant_of(LLVMValueRef value, int64_t *out) {
  if (!LLVMIsAConstantInt(value)) return false;
  *out = LLVMConstIntGetSExtValue(value);
  return true;
}

LLVMValueRef block_add(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b) {
  int64_t constant;
  if (constant_of(a, &constant) && constant == 0) return b;
  if (constant_of(b, &constant) && constant == 0) return a;
  return LLVMBuildAdd(vec->builder, a, b, "");
}

LLVMValueRef block_multiply(const VecBuilder *vec, LLVMValueRef a, int64_t b) {
  return b == 1 ? a : LLVMBuildMul(vec->builder, a, block_int(vec, b), "");
}

LLVMValueRef block_minimum(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b) {
  int64_t x, y;
  if (constant_of(a, &x) && constant_of(b, &y)) return block_int(vec, x < y ? x : y);
  return LLVMBuildSelect(vec->builder, LLVMBuildICmp(vec->builder, LLVMIntSLT, a, b, ""), a, b, "");
}

LLVMValueRef block_count_left(const VecBuilder *vec, int64_t most, int64_t total, LLVMValueRef begin) {
  if (total % most == 0) return block_int(vec, most);
  return block_minimum(vec, block_int(vec, most), LLVMBuildSub(vec->builder, block_int(vec, total), begin, ""));
}

LLVMValueRef block_element(const VecBuilder *vec, PrimitiveType type, LLVMValueRef base, LLVMValueRef index) {
  return LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), base, &index, 1, "");
}

/* --- loops --- */

bool block_is_empty(LLVMValueRef begin, LLVMValueRef end) {
  int64_t first, last;
  return constant_of(begin, &first) && constant_of(end, &last) && first >= last;
}

BlockLoop block_loop_begin(ContractionEmitter *emitter, LLVMValueRef begin, LLVMValueRef end, int64_t step,
                           bool guarded) {
  const VecBuilder *vec = emitter->vec;
  BlockLoop loop = {.index = begin, .end = end, .step = step, .height = emitter->point.known.count};
  int64_t first, last;
  bool is_known = constant_of(begin, &first) && constant_of(end, &last);
  loop.is_single = is_known && first + step >= last;
  if (loop.is_single) return loop;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(vec->builder);
  loop.header = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  if (guarded && !is_known) {
    loop.behind = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
    LLVMBuildCondBr(vec->builder, LLVMBuildICmp(vec->builder, LLVMIntSLT, begin, end, ""), loop.header, loop.behind);
  } else {
    LLVMBuildBr(vec->builder, loop.header);
  }
  LLVMPositionBuilderAtEnd(vec->builder, loop.header);
  loop.index = LLVMBuildPhi(vec->builder, LLVMTypeOf(begin), "");
  LLVMAddIncoming(loop.index, &begin, &before, 1);
  return loop;
}

void block_loop_end(ContractionEmitter *emitter, BlockLoop *loop) {
  const VecBuilder *vec = emitter->vec;
  point_forget(&emitter->point, loop->height);
  if (loop->is_single) return;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(vec->builder);
  LLVMValueRef next = LLVMBuildNSWAdd(vec->builder, loop->index, block_int(vec, loop->step), "");
  LLVMAddIncoming(loop->index, &next, &latch, 1);
  if (loop->behind == NULL) loop->behind = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBuildCondBr(vec->builder, LLVMBuildICmp(vec->builder, LLVMIntSLT, next, loop->end, ""), loop->header,
                  loop->behind);
  LLVMPositionBuilderAtEnd(vec->builder, loop->behind);
}

/* --- indices --- */

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
