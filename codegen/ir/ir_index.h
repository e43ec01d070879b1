/* Indices in LLVM IR: constants, sums and products that leave out what changes nothing, and ranges of indices.
 *
 * An index is a signed integer; those made here from a number are i64.  What is constant is computed while code is
 * written, never by code. */
#ifndef XLAC_CODEGEN_IR_IR_INDEX_H
#define XLAC_CODEGEN_IR_IR_INDEX_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stdint.h>

/* |value| as an i64. */
LLVMValueRef ir_index(LLVMContextRef context, int64_t value);
/* Whether |value| is a constant, and then which. */
bool ir_index_is_constant(LLVMValueRef value, int64_t *out_value);
/* a + b, a · b, the smaller and the larger of both, all of one type. */
LLVMValueRef ir_index_add(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ir_index_multiply(LLVMBuilderRef builder, LLVMValueRef a, int64_t b);
LLVMValueRef ir_index_minimum(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef ir_index_maximum(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b);

/* Indices [begin, end) of one type. */
typedef struct IndexRange {
  LLVMValueRef begin, end;
} IndexRange;

/* Indices [begin, end) as i64. */
IndexRange ir_range(LLVMContextRef context, int64_t begin, int64_t end);
/* Indices [0, end). */
IndexRange ir_range_below(LLVMValueRef end);
/* Cuts |range|, which begins at a multiple of |step|, a power of two: whole steps, and what is left after them. */
void ir_range_cut(LLVMBuilderRef builder, IndexRange range, int64_t step, IndexRange *out_whole, IndexRange *out_rest);
/* Whether it is known to hold no index.  False also where only the running code knows. */
bool ir_range_is_empty(IndexRange range);
/* Whether it is known that one round of |step| reaches its end. */
bool ir_range_is_one_round(IndexRange range, int64_t step);

#endif
