/* What each unit of cuts, and each Kernel in it, has saved and cost, and which are better left out. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_UNITS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_UNITS_H

#include "codegen/oncore/emit/module_strips.h"

/* Kernels, their plans before anything was resident, and with what is, in runs. */
typedef struct PlansTrial {
  const KernelTable *kernels;
  const ModulePlans *before, *plans;
} PlansTrial;

/* What may be left out, and why. */
typedef struct UnitsWanted {
  double room;      /* cycles: so many more than whole Kernels all of it may take */
  bool parts_units; /* members as well, by themselves */
} UnitsWanted;

/* Of |units|, into which |whole| has been cut to make |cut|, what is better left out, by row of |whole|'s Kernels, in
 * |arena|: what does not save bytes, and what saves least for its cycles where all would take more than there is room
 * for.  NULL: nothing is, or all.  |out_more|: bytes that are moved more then, about, than by |cut|. */
const RunLeft *module_plans_choose_units(Arena *arena, const CutUnits *units, const PlansTrial *whole,
                                         const PlansTrial *cut, UnitsWanted wanted, double *out_more);

#endif
