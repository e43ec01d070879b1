#include "codegen/blocks/phase_share.h"

IndexRange phase_share_range(LLVMBuilderRef builder, const PhaseShare *share, LLVMValueRef count) {
  LLVMValueRef one = LLVMConstInt(LLVMTypeOf(share->chunk), 1, false);
  LLVMValueRef next = LLVMBuildNSWAdd(builder, share->chunk, one, "");
  return (IndexRange){LLVMBuildUDiv(builder, LLVMBuildNSWMul(builder, share->chunk, count, ""), share->chunks, ""),
                      LLVMBuildUDiv(builder, LLVMBuildNSWMul(builder, next, count, ""), share->chunks, "")};
}
