/* Steps of finishing a KernelDraft. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_INTERNAL_H
#define XLAC_CODEGEN_KERNEL_KERNEL_INTERNAL_H

#include "codegen/kernel/kernel.h"

/* Sets stage and dims of |values|, which are those of |kernel|, from what they read. */
void kernel_values_depend(const Kernel *kernel, KernelValue *values);

#endif
