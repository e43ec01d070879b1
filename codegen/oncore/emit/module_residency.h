/* The plans of a module when arrays stay in the Buffer between its Kernels (codegen/oncore/run). */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_RESIDENCY_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_RESIDENCY_H

#include "codegen/oncore/emit/module_plans.h"
#include "codegen/oncore/tiling/tiling_memos.h"

/* Plans on |machine| that were made by |options| for arrays that stay, for the next policy; these and what is made with
 * them are in |arena|.  The caller ends them with kept_plans_destroy before the Kernels, |machine| and |options|; plans
 * that were taken go on. */
typedef struct KeptPlans KeptPlans;
KeptPlans *kept_plans_create(Arena *arena, const MachineDescription *machine, const TilerOptions *options);
void kept_plans_destroy(KeptPlans *cache);
Arena *kept_plans_arena(const KeptPlans *cache);
const TilerOptions *kept_plans_options(const KeptPlans *cache);
/* What is known of the tilings of the Kernels that they are of. */
TilingMemos *kept_plans_memos(KeptPlans *cache);
/* What is known of plans for strips, by what they are made of and for (module_strips.c). */
StringMap *kept_plans_strips(KeptPlans *cache);

/* The plan of a Kernel under an interface, proved. */
typedef struct KeptPlan {
  const Plan *plan; /* NULL: there is none */
  PlanVerdict verdict;
} KeptPlan;

/* |plan|, which has nothing resident and is as tiled (plan_as_tiled), under |interface|, with work for all queues and
 * loads ahead where that is faster.  In |arena|; refers to |plan|.  Status as that of plan_keep and plan_check. */
MUST_USE Status module_plan_under(Arena *arena, const Plan *plan, const MachineDescription *machine,
                                  const PlanInterface *interface, DiagSink *diag, KeptPlan *out_kept);

/* Whether another may take the place of |plan|, which has nothing resident. */
bool module_plan_may_change(const Plan *plan);
/* The plan of |use|, as tiled (plan_as_tiled), if another may take its place; NULL: none may, or there is none. */
const Plan *module_plans_to_change(const ModulePlans *plans, const KernelUse *use);
/* A plan of |kernel| in |room|, made with a third of the effort, or beside what is held by estimates alone; NULL: there
 * is none, or it is too long. */
const Plan *module_plan_within(KeptPlans *cache, const Kernel *kernel, StringView name, PlanRoom room, DiagSink *diag);

/* Lets arrays of |placed| stay in the Buffer from Kernel to Kernel (codegen/oncore/run/residency.h), by |policy|: plans
 * of |plans| become plans with residents, all proved.  Nothing where plans are written, or under a scheme, which place
 * Tensors by themselves, or with TilerOptions.no_residency.  What |plans| had may be priced meanwhile
 * (ModulePlan.verdict).  |cache|: of the same |plans|.  Status as that of residency_choose. */
MUST_USE Status module_plans_keep(KeptPlans *cache, const PlacedModule *placed, ResidencyPolicy policy, DiagSink *diag,
                                  ModulePlans *plans);

/* Whether |policy| makes a difference to |plans|, which have nothing resident: it asks about what some Kernel does. */
bool module_plans_policy_tells(const ModulePlans *plans, ResidencyPolicy policy);

typedef struct KeptCost {
  double cycles, bytes;
  double estimate; /* of all Kernels' cycles by themselves, whether they have a price or not */
} KeptCost;

/* Simulated cycles of |plans| and bytes that cross to and from memory, without Kernels that have no price: what was
 * made of |before| by several policies can be compared, after all of them. */
KeptCost module_plans_kept_cost(const ModulePlans *before, const ModulePlans *plans);

/* Of |written|, which have residents, those that stand where |plans|, which are laid out, have the same ones instead of
 * these; all are laid out again in |arena|, for which the shared space may have to be larger.  STATUS_INVALID
 * ("plan-resident") for those that stand nowhere. */
MUST_USE Status module_plans_take_written(Arena *arena, ModulePlans *plans, const WrittenPlans *written,
                                          const VecTarget *targets, int target_count, DiagSink *diag);

#endif
