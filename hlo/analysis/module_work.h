/* ModuleWork: what a run of a module costs one core, estimated.  The core does so many operations and moves so many
 * bytes of memory a second, one after the other, one instruction after the other; caches do not exist.  Good for the
 * proportion between two modules, less so for the time of one. */
#ifndef XLAC_HLO_ANALYSIS_MODULE_WORK_H
#define XLAC_HLO_ANALYSIS_MODULE_WORK_H

#include "hlo/ir/hlo_module.h"

typedef struct CoreRates {
  double flops;        /* operations a second */
  double bytes;        /* of memory, a second */
  double call_seconds; /* that an instruction takes by itself */
} CoreRates;

/* Of no machine in particular. */
#define NOMINAL_CORE ((CoreRates){3e10, 1e10, 1e-6})

typedef struct ModuleWork {
  double flops; /* operations; a function of real numbers counts as several (OpCost) */
  double seconds;
} ModuleWork;

/* Operations of one run of |instruction|, without those of computations that it calls but for a fusion's. */
double instruction_flops(const HloInstruction *instruction);

/* Operations on each element of the result of a fold: for a product 2 of each pair of factors; else the elements of its
 * window, or those of operand 0 for each of all results. */
double instruction_folded_elements(const HloInstruction *instruction);

/* Bytes of its operands, of those that it only picks elements of no more than it picks, and of its results; of an
 * update in place twice what is updated.  0 as for instruction_seconds. */
double instruction_bytes(const HloInstruction *instruction);

/* Seconds of one run of |instruction| on such a core, likewise; 0 of what makes nothing (parameters, tuples) and of
 * control flow.  Contractions move their operands three times: they read, pack and read them. */
double instruction_seconds(const HloInstruction *instruction, const CoreRates *core);

/* Of one run of |module|; computations as often as hlo_execution_counts says. */
ModuleWork module_work(const HloModule *module, const CoreRates *core);

#endif
