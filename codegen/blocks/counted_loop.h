/* for index = begin; index < end; index += step */
#ifndef XLAC_CODEGEN_BLOCKS_COUNTED_LOOP_H
#define XLAC_CODEGEN_BLOCKS_COUNTED_LOOP_H

#include "codegen/vec/vec.h"

typedef struct CountedLoop {
  LLVMValueRef index, end; /* i64 */
  LLVMBasicBlockRef header, behind;
  int64_t step;
} CountedLoop;

/* The builder then stands in the loop's body, which is left out where |begin| is not below |end|. */
CountedLoop counted_loop_begin(const VecBuilder *vec, LLVMValueRef function, LLVMValueRef begin, LLVMValueRef end,
                               int64_t step);
/* The builder stands after the loop. */
void counted_loop_end(const VecBuilder *vec, CountedLoop *loop);

#endif
