/* ModuleWork: what a run of a fused module costs, estimated, so that steps for less memory can be compared by what they
 * cost.  A nominal core does NOMINAL_FLOPS operations and moves NOMINAL_BYTES of memory a second, whichever takes
 * longer, one instruction after the other (the roofline model); no estimate of a real machine, but of the proportion
 * between two modules. */
#ifndef XLAC_PASSES_MEMORY_WORK_H
#define XLAC_PASSES_MEMORY_WORK_H

#include "hlo/ir/hlo_module.h"

#define NOMINAL_FLOPS 3e10
#define NOMINAL_BYTES 1e10
#define NOMINAL_CALL 2e-7 /* seconds that an instruction takes by itself */

typedef struct ModuleWork {
  double flops;   /* operations; a function of real numbers counts as several (OpCost) */
  double seconds; /* of the nominal core */
} ModuleWork;

/* Operations of one run of |instruction|, without those of computations that it calls but for a fusion's. */
double instruction_flops(const HloInstruction *instruction);

/* Of one run of |module|; loops as often as trip_count_find says, once where nobody knows; of branches each. */
ModuleWork module_work(const HloModule *module);

#endif
