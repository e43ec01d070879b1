/* The Kernels and plans of a module when some Kernels are cut into strips. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_STRIPS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_STRIPS_H

#include "codegen/oncore/emit/module_residency.h"
#include "codegen/oncore/run/run_strips.h"

/* How Kernels are cut: along points, sums as well (run_strips.h), or into strips that take turns (run_rounds.h), where
 * large Kernels begin sequences anew or do not. */
typedef enum PlansCutWay { PLANS_CUT_POINTS, PLANS_CUT_SUMS, PLANS_CUT_ROUNDS, PLANS_CUT_ROUNDS_ANEW } PlansCutWay;

typedef struct PlansCut {
  PlansCutWay way;
  const RunLeft *leaves_out; /* by row, what is not cut; NULL: all are */
  ResidencyPolicy policy;    /* by which arrays stay before and after */
} PlansCut;

/* What is cut together. */
typedef struct CutUnits {
  int64_t count;
  const RunUnit *units;
  bool has_begun_anew; /* by ROUNDS there are others */
} CutUnits;

/* What has become of Kernels that were cut. */
typedef struct CutPlans {
  KernelTable *kernels; /* some are strips */
  ModulePlans plans;    /* theirs, with nothing resident */
  CutUnits units;       /* also those that the cut leaves out */
} CutPlans;

/* Cuts Kernels of |placed| into strips by |cut|, so that parts of arrays may stay that |best|, what module_plans_keep
 * by the same policy has made of |before|, moves.  False: there is nothing to be cut, or a strip has no plan.
 * |out_cut|: for module_plans_keep with the same |cache|, in which strips that other cuts have had find their plans. */
bool module_plans_cut(KeptPlans *cache, const PlacedModule *placed, PlansCut cut, const ModulePlans *before,
                      const ModulePlans *best, CutPlans *out_cut);

#endif
