/* All Kernels of a module: a step of the compilation, between the passes and whatever reads Kernels. */
#ifndef XLAC_CODEGEN_LOWER_MODULE_KERNELS_H
#define XLAC_CODEGEN_LOWER_MODULE_KERNELS_H

#include "codegen/kernel/kernel_table.h"
#include "codegen/lower/kernel_builder.h"

/* Builds (kernel_build_for) the Kernels of all instructions of the scheduled |module| that compute arrays (views do
 * not), and of those that compute scalars but have no code in the control function: complex ones, and with
 * has_scalar_floats false (the scalar unit of a vector processor) all that floats take part in.  The table lives in
 * |arena|.  Errors are those of kernel_build_for, the first that is met. */
MUST_USE Status module_kernels_build(Arena *arena, const HloModule *module, const KernelTarget *target, DiagSink *diag,
                                     KernelTable **out_table);

#endif
