#include "codegen/blocks/counted_loop.h"

CountedLoop counted_loop_begin(const VecBuilder *vec, LLVMValueRef function, LLVMValueRef begin, LLVMValueRef end,
                               int64_t step) {
  LLVMBuilderRef b = vec->builder;
  CountedLoop loop = {.end = end, .step = step};
  loop.header = LLVMAppendBasicBlockInContext(vec->context, function, "");
  loop.behind = LLVMAppendBasicBlockInContext(vec->context, function, "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), loop.header, loop.behind);
  LLVMPositionBuilderAtEnd(b, loop.header);
  loop.index = LLVMBuildPhi(b, LLVMTypeOf(begin), "");
  LLVMAddIncoming(loop.index, &begin, &before, 1);
  return loop;
}

void counted_loop_end(const VecBuilder *vec, CountedLoop *loop) {
  LLVMBuilderRef b = vec->builder;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  LLVMValueRef step = LLVMConstInt(LLVMTypeOf(loop->index), (unsigned long long)loop->step, true);
  LLVMValueRef next = LLVMBuildNSWAdd(b, loop->index, step, "");
  LLVMAddIncoming(loop->index, &next, &latch, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, loop->end, ""), loop->header, loop->behind);
  LLVMPositionBuilderAtEnd(b, loop->behind);
}
