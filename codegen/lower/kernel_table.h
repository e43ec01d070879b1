/* KernelTable: the Kernels of a module's instructions, built once whatever number of targets they are emitted for. */
#ifndef XLAC_CODEGEN_LOWER_KERNEL_TABLE_H
#define XLAC_CODEGEN_LOWER_KERNEL_TABLE_H

#include "codegen/lower/kernel_builder.h"

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

typedef struct KernelVisit {
  const HloInstruction *instruction;
  int32_t place; /* among the instruction's Kernels */
  KernelUse use;
} KernelVisit;

/* Calls |visit| for each Kernel of |module| in the order of computations and schedules; ends at the first status that
 * is not STATUS_OK, and returns it.  |with_scalars|: arithmetic on rank-0 values has Kernels as well, where floats
 * take part. */
MUST_USE Status kernel_table_visit(KernelTable *table, const HloModule *module, bool with_scalars, DiagSink *diag,
                                   Status (*visit)(void *self, const KernelVisit *visit, DiagSink *diag), void *self);

#endif
