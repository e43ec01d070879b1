/* Contractions: Kernels of the form result = Σ lhs × rhs (dot, convolution), as blocked and packed matrix multiplication. */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* True when |kernel| has the form: stage 0 folds a0 ← a0 + lhs × rhs (seed zero), lhs and rhs being loads (converted to the fold's type, predicated or not)
 * with affine addresses; stage 1 stores from a0; and when blocking it pays (its dimensions are large enough). */
bool contraction_matches(const Kernel *kernel, const VecTarget *target);

/* Emits the body of a function at the builder's position (entry block), buffers being |buffer_pointers|, |scratch| 64-byte aligned of the
 * returned size; leaves the builder at the end of the code, without a terminator.  */
int64_t contraction_scratch_bytes(const Kernel *kernel, const VecTarget *target);
void contraction_emit(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, const LLVMValueRef *buffer_pointers,
                      LLVMValueRef scratch);

#endif
