/* KernelTable: the Kernels of a module's instructions, built once whatever number of targets they are emitted for. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_TABLE_H
#define XLAC_CODEGEN_KERNEL_KERNEL_TABLE_H

#include "codegen/kernel/kernel_builder.h"

typedef struct KernelUse {
  const Kernel *kernel;
  int32_t identity; /* equal Kernels have the same, dense from 0 */
} KernelUse;

typedef struct KernelUses {
  int32_t count;
  const KernelUse *uses; /* to be run in this order */
} KernelUses;

typedef struct KernelTable KernelTable;

/* Lives in |arena|, as do the Kernels. */
KernelTable *kernel_table_create(Arena *arena);

/* The Kernels of |instruction|, built at the first call (kernel_build). */
MUST_USE Status kernel_table_get(KernelTable *table, const HloInstruction *instruction, DiagSink *diag,
                                 KernelUses *out_uses);

#endif
