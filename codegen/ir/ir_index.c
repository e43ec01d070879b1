#include "codegen/ir/ir_index.h"

LLVMValueRef ir_index(LLVMContextRef context, int64_t value) {
  return LLVMConstInt(LLVMInt64TypeInContext(context), (unsigned long long)value, true);
}

bool ir_index_is_constant(LLVMValueRef value, int64_t *out_value) {
  if (!LLVMIsAConstantInt(value)) return false;
  *out_value = LLVMConstIntGetSExtValue(value);
  return true;
}

static LLVMValueRef constant_like(LLVMValueRef index, int64_t value) {
  return LLVMConstInt(LLVMTypeOf(index), (unsigned long long)value, true);
}

LLVMValueRef ir_index_add(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b) {
  int64_t constant;
  if (ir_index_is_constant(a, &constant) && constant == 0) return b;
  if (ir_index_is_constant(b, &constant) && constant == 0) return a;
  return LLVMBuildAdd(builder, a, b, "");
}

LLVMValueRef ir_index_multiply(LLVMBuilderRef builder, LLVMValueRef a, int64_t b) {
  return b == 1 ? a : LLVMBuildMul(builder, a, constant_like(a, b), "");
}

LLVMValueRef ir_index_minimum(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b) {
  int64_t x, y;
  if (ir_index_is_constant(a, &x) && ir_index_is_constant(b, &y)) return x < y ? a : b;
  return LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSLT, a, b, ""), a, b, "");
}

LLVMValueRef ir_index_maximum(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b) {
  int64_t x, y;
  if (ir_index_is_constant(a, &x) && ir_index_is_constant(b, &y)) return x > y ? a : b;
  return LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSGT, a, b, ""), a, b, "");
}

IndexRange ir_range(LLVMContextRef context, int64_t begin, int64_t end) {
  return (IndexRange){ir_index(context, begin), ir_index(context, end)};
}

IndexRange ir_range_below(LLVMValueRef end) {
  return (IndexRange){constant_like(end, 0), end};
}

void ir_range_cut(LLVMBuilderRef builder, IndexRange range, int64_t step, IndexRange *out_whole, IndexRange *out_rest) {
  LLVMValueRef middle = LLVMBuildAnd(builder, range.end, constant_like(range.end, -step), "");
  *out_whole = (IndexRange){range.begin, middle};
  *out_rest = (IndexRange){middle, range.end};
}

bool ir_range_is_empty(IndexRange range) {
  int64_t begin, end;
  return ir_index_is_constant(range.begin, &begin) && ir_index_is_constant(range.end, &end) && begin >= end;
}

bool ir_range_is_one_round(IndexRange range, int64_t step) {
  int64_t begin, end;
  return ir_index_is_constant(range.begin, &begin) && ir_index_is_constant(range.end, &end) && begin < end &&
         end - begin <= step;
}
