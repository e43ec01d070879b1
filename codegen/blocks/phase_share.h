/* What one call does of a block in phases that threads share. */
#ifndef XLAC_CODEGEN_BLOCKS_PHASE_SHARE_H
#define XLAC_CODEGEN_BLOCKS_PHASE_SHARE_H

#include "codegen/ir/ir_index.h"

/* Of |phase| its part |chunk| of |chunks|; all i64.  Where chunks is 0 a call does everything.  A phase begins when all
 * chunks of the one before are done, and all have as many. */
typedef struct PhaseShare {
  LLVMValueRef phase, chunk, chunks;
  LLVMValueRef further; /* scratch of the chunks after the first, one after the other */
} PhaseShare;

/* Of |count| (i64) things those of the chunk, where chunks is not 0. */
IndexRange phase_share_range(LLVMBuilderRef builder, const PhaseShare *share, LLVMValueRef count);

#endif
