/* The plans of all Kernels of a module, proved and priced: for plan files, the Buffer map and totals. */
#ifndef XLAC_CODEGEN_ONCORE_MODULE_PLANS_H
#define XLAC_CODEGEN_ONCORE_MODULE_PLANS_H

#include "base/json_writer.h"
#include "codegen/oncore/module_bound.h"
#include "codegen/plan/plan_check.h"
#include "codegen/tiling/plan_alternatives.h"
#include "codegen/tiling/tiler.h"
#include "hlo/ir/hlo_module.h"

/* A plan and the instructions whose Kernels it serves. */
typedef struct ModulePlan {
  const Plan *plan;
  PlanVerdict verdict;
  PlanAlternatives alternatives; /* TilerOptions.compares */
  int64_t use_count;
  const StringView *uses; /* names of instructions, the plan's own first */
} ModulePlan;

typedef struct ModulePlans {
  const MachineDescription *machine;
  int32_t count;
  const ModulePlan *plans; /* in order of their first use */
  ModuleBound bound;       /* of the module, whatever the plans */
} ModulePlans;

/* Plans of the scheduled |module|'s Kernels, equal ones once, by plan_for_kernel.  STATUS_INVALID when one has a fault
 * (a bug of the tiler: reported as plan_verdict_report does); other errors as those of kernel_build, tiler_plan and
 * plan_check. */
MUST_USE Status module_plans_make(Arena *arena, const HloModule *module, const MachineDescription *machine,
                                  const TilerOptions *options, DiagSink *diag, ModulePlans *out_plans);

/* The Buffer map of all of them (oncore_map.h), with totals first. */
void module_plans_map_text(StringBuilder *out, const ModulePlans *plans);
void module_plans_map_json(JsonWriter *json, const ModulePlans *plans);

#endif
