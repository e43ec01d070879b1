/* Which plan a Kernel gets: one that a person wrote for an equal Kernel, or the tiler's. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_CHOICE_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_CHOICE_H

#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/plan/plan_check.h"
#include "codegen/oncore/tiling/tiler.h"

/* A scheduled module, whose Kernels get plans on |machine|, xlac's own by |options|. */
typedef struct PlannedModule {
  const HloModule *module;
  const KernelTable *kernels;
  const MachineDescription *machine;
  const TilerOptions *options;
} PlannedModule;

/* A plan that was read from a file (codegen/oncore/language), proved and priced. */
typedef struct WrittenPlan {
  const Plan *plan;
  PlanVerdict verdict;
  double own_cycles;      /* of the plan that the tiler makes for the Kernel; 0: it makes none */
  StringView kernel_text; /* what makes Kernels equal (kernel_text) */
} WrittenPlan;

typedef struct WrittenPlans {
  int32_t count;
  const WrittenPlan *plans;
} WrittenPlans;

/* Whether any of them finds or leaves arrays in the Buffer.  Then they are the plans of a whole module, which are taken
 * where each stands, once it is known what stays there (codegen/oncore/emit/module_residency.c). */
bool written_plans_have_residents(const WrittenPlans *written);

/* The plan of |written| for a Kernel equal to that of |request|, else tiler_plan's.  |written| may be NULL: there are
 * none, or they have residents, and are not looked at.  Errors are those of tiler_plan. */
MUST_USE Status plan_for_kernel(Arena *arena, const TilerRequest *request, const WrittenPlans *written, DiagSink *diag,
                                const Plan **out_plan);

#endif
