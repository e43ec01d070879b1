/* Kernels of several instructions, one after the other in the schedule, that are run in another order than theirs. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_TURNS_H
#define XLAC_CODEGEN_KERNEL_KERNEL_TURNS_H

#include "codegen/kernel/kernel_table.h"

/* One use of a table, or a strip of it. */
typedef struct KernelTurn {
  const KernelUse *use; /* before it was cut */
  int32_t strip;        /* which of them; 0 where it is not cut */
} KernelTurn;

/* All Kernels of all the instructions that they name, of one computation: the order in which they are run. */
typedef struct KernelTurns {
  const HloInstruction *last; /* the last of the instructions, where they are run */
  int32_t count;
  const KernelTurn *turns;
} KernelTurns;

/* Changes |table|, which kernel_table_cut has made of the one with the uses of |turns|, so that they are run in that
 * order.  Whoever asks for it knows that this computes the same. */
void kernel_table_take_turns(KernelTable *table, const KernelTurns *turns);

#endif
