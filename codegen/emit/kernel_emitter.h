/* Kernel → an LLVM function. */
#ifndef XLAC_CODEGEN_EMIT_KERNEL_EMITTER_H
#define XLAC_CODEGEN_EMIT_KERNEL_EMITTER_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* An internal function void NAME(ptr b0, ptr b1, …, ptr scratch): one pointer per buffer in order, those of role
 * SCRATCH excepted, then scratch of |*out_scratch_bytes| bytes (64-byte aligned; contents irrelevant).  |vec->builder|
 * is left without a position.  The strategy (vector dimension, blocks) is chosen by the Kernel's form and the target
 * alone, so that equal Kernels give equal code. */
MUST_USE Status kernel_emit(const VecBuilder *vec, const Kernel *kernel, const char *name, DiagSink *diag,
                            LLVMValueRef *out_function, int64_t *out_scratch_bytes);

/* A Kernel so small that calling a function for it costs as much as running it: a few points, no scratch. */
bool kernel_is_tiny(const Kernel *kernel);
/* The code of a tiny Kernel at the builder's position in |function|; |buffers| in the Kernel's order. */
MUST_USE Status kernel_emit_inline(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function,
                                   LLVMValueRef *buffers, DiagSink *diag);

#endif
