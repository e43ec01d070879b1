/* What each unit of cuts has saved and cost, and which are better left out. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_UNITS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_UNITS_H

#include "codegen/oncore/emit/module_strips.h"

/* Kernels, their plans before anything was resident, and with what is, in runs. */
typedef struct PlansTrial {
  const KernelTable *kernels;
  const ModulePlans *before, *plans;
} PlansTrial;

/* Of |units|, into which |whole| has been cut to make |cut|, those that are better left out, by unit, in |arena|: what
 * does not save bytes, and what saves least for its cycles where all would take more than |room| cycles more than
 * |whole|.  NULL: none are, or all.  |out_more|: bytes that are moved more then, about, than by |cut|. */
const bool *module_plans_choose_units(Arena *arena, const CutUnits *units, const PlansTrial *whole,
                                      const PlansTrial *cut, double room, double *out_more);

#endif
