/* Scratch against time: how the code of a module's Kernels is made on a kind of processor, where less scratch means
 * slower code.  A Kernel by itself knows only its own time (contraction.h); here its part of the module's is known. */
#ifndef XLAC_CODEGEN_SCRATCH_BALANCE_H
#define XLAC_CODEGEN_SCRATCH_BALANCE_H

#include "codegen/emit/kernel_strategy.h"
#include "codegen/kernel/kernel_table.h"

typedef struct ScratchBalance {
  Arena *arena;
  int32_t count;                    /* of Kernels, by identity: so are what follow */
  const KernelUse *const *uses;     /* the first use of each */
  const ContractionScratch *limits; /* free: beside what is alive wherever the Kernel runs */
  const double *shares;             /* of the module's time (scratch_balance_shares) */
} ScratchBalance;

/* By identity, |count| of them: the part of the module's time that its Kernels take, estimated; of all that run, 1. */
const double *scratch_balance_shares(Arena *arena, const HloModule *module, const KernelTable *kernels);

/* |out_strategies|: of each Kernel on |target|.  First each for itself (kernel_strategy_choose).  Then what takes more
 * than few bytes (contraction_few_bytes) takes few where all of it together would save less than
 * CONTRACTION_BOUGHT_TIME times the module's time. */
void scratch_balance_choose(const ScratchBalance *balance, const VecTarget *target, KernelStrategy *out_strategies);

#endif
