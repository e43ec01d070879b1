/* ModuleWork: what a run of a fused module costs, estimated, so that steps for less memory can be compared by what they
 * cost.  A nominal core does NOMINAL_FLOPS operations and moves NOMINAL_BYTES of memory a second, one after the other,
 * one instruction after the other; no estimate of a real machine, but of the proportion between two modules. */
#ifndef XLAC_PASSES_MEMORY_WORK_H
#define XLAC_PASSES_MEMORY_WORK_H

#include "hlo/ir/hlo_module.h"

#define NOMINAL_FLOPS 3e10
#define NOMINAL_BYTES 1e10
#define NOMINAL_CALL 1e-6 /* seconds that an instruction takes by itself */
#define NOMINAL_PACKING 3 /* times that a contraction moves its operands: it reads, packs and reads them */

typedef struct ModuleWork {
  double flops;   /* operations; a function of real numbers counts as several (OpCost) */
  double seconds; /* of the nominal core */
} ModuleWork;

/* Operations of one run of |instruction|, without those of computations that it calls but for a fusion's. */
double instruction_flops(const HloInstruction *instruction);

/* Of one run of |module|; computations as often as hlo_execution_counts says. */
ModuleWork module_work(const HloModule *module);

#endif
