/* Steps of finishing a KernelDraft, and of kernel_table_share. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_INTERNAL_H
#define XLAC_CODEGEN_KERNEL_KERNEL_INTERNAL_H

#include "codegen/kernel/kernel_table.h"

/* Sets stage and dims of |values|, which are those of |kernel|, from what they read. */
void kernel_values_depend(const Kernel *kernel, KernelValue *values);

/* |shared| for the place where |own| stood: its buffers are bound as those are, which texts do not say.  |shared| may
 * have further ones, which are bound to nothing. */
const Kernel *kernel_bound_as(Arena *arena, const Kernel *shared, const Kernel *own);

/* The two halves of kernel_table_share, without verifying. */
void kernel_table_share_places(KernelTable *table, bool (*has_function)(const Kernel *kernel));
void kernel_table_share_constants(KernelTable *table, bool (*has_function)(const Kernel *kernel));

#endif
