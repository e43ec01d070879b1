#include "codegen/blocks/contraction.h"

bool contraction_matches(const Kernel *kernel, const VecTarget *target) {
  (void)kernel, (void)target;
  return false;
}

int64_t contraction_scratch_bytes(const Kernel *kernel, const VecTarget *target) {
  (void)kernel, (void)target;
  return 0;
}

void contraction_emit(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, const LLVMValueRef *buffer_pointers,
                      LLVMValueRef scratch) {
  (void)vec, (void)kernel, (void)function, (void)buffer_pointers, (void)scratch;
  XLAC_BUG("no contraction matches");
}
