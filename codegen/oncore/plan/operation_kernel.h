/* A Kernel as a program's operation (PlanOperation): what it keeps between its stages has Tensors too. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_OPERATION_KERNEL_H
#define XLAC_CODEGEN_ONCORE_PLAN_OPERATION_KERNEL_H

#include "codegen/kernel/kernel.h"

/* |kernel|, with IN_PLACE buffers in the places of its SCRATCH ones: each has the elements of all points of the outer
 * dims, row major, those of one point together.  |kernel| itself when it has none.  The new one lives in |arena|.
 * STATUS_UNSUPPORTED ("unsupported-operation", at its source) for a transform, which exchanges its buffers. */
MUST_USE Status operation_kernel_make(Arena *arena, const Kernel *kernel, DiagSink *diag, const Kernel **out_kernel);

#endif
