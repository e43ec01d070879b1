/* From instructions to Kernels. */
#ifndef XLAC_CODEGEN_LOWER_KERNEL_BUILDER_H
#define XLAC_CODEGEN_LOWER_KERNEL_BUILDER_H

#include "codegen/kernel/kernel.h"

typedef struct KernelList {
  int32_t count;
  const Kernel *const *kernels; /* to be run in this order */
} KernelList;

/* The Kernels of one instruction (a fusion or a single operation with arrays): mostly one, two where a result must be
 * filled before it is scattered into, none when all results are empty.  Iteration dims are refined until the fusion's
 * reshapes need no division in lanes, and neighbouring dims that every address walks as one are merged.
 * STATUS_UNSUPPORTED, located, for what has no rule yet. */
MUST_USE Status kernel_build(Arena *arena, const HloInstruction *instruction, DiagSink *diag, KernelList *out_kernels);
/* The same, but rows of up to |row_bytes| of a value that several stages need are kept between them whatever it costs
 * to compute; longer ones, and those of kernel_build, only where it costs a root or a function. */
MUST_USE Status kernel_build_with_rows(Arena *arena, const HloInstruction *instruction, int64_t row_bytes,
                                       DiagSink *diag, KernelList *out_kernels);

/* Scalar computation |region|, applied by |source|, as a Kernel of one point: operand i is its parameter i, the one
 * stage stores its result. */
MUST_USE Status kernel_build_region(Arena *arena, const HloComputation *region, const HloInstruction *source,
                                    DiagSink *diag, const Kernel **out_kernel);

#endif
