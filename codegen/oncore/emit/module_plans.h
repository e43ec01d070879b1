/* The plans of all Kernels of a module, made once: for code, plan files, the Buffer map and totals. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_PLANS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_PLANS_H

#include "base/json_writer.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/emit/module_bound.h"
#include "codegen/oncore/emit/plan_space.h"
#include "codegen/oncore/plan/plan_check.h"
#include "codegen/oncore/tiling/plan_alternatives.h"
#include "codegen/oncore/tiling/plan_choice.h"
#include "codegen/oncore/tiling/plan_schemes.h"
#include "hlo/ir/hlo_module.h"

/* What is asked of each plan. */
typedef enum PlansDetail {
  PLANS_ALONE,   /* nothing */
  PLANS_PROVED,  /* that it be proved and priced: ModulePlan.verdict */
  PLANS_COMPARED /* what other Buffers and depths would give, besides: ModulePlan.alternatives */
} PlansDetail;

/* A plan and the instructions whose Kernels it serves. */
typedef struct ModulePlan {
  const Plan *plan;
  PlanVerdict verdict;
  PlanAlternatives alternatives;
  PlanSchemeCosts schemes; /* where one is asked for */
  int64_t use_count;
  const StringView *uses; /* names of instructions, the plan's own first */
  double runs;            /* of all of them in one run of the module (hlo_execution_counts) */
} ModulePlan;

typedef struct ModulePlans {
  const MachineDescription *machine;
  PlansDetail detail;
  int32_t count;
  const ModulePlan *plans; /* in order of their first use */
  int32_t identity_count;
  const int32_t *plan_of_identity; /* by KernelUse.identity: a number of |plans| */
  int64_t off_core;                /* instructions that run elsewhere */
  ModuleBound bound;               /* of the module, whatever the plans */
  const PlanSpace *spaces;         /* by plan, of module_plans_lay_out; NULL before */
} ModulePlans;

/* Plans of |kernels|, those of the scheduled |module|, equal ones once, by plan_for_kernel, |written| first (NULL:
 * none), xlac's own under options->scheme; in |arena|.  STATUS_EXHAUSTED ("oncore-scheme") where that takes more than
 * the Buffer.  With proofs, STATUS_INVALID when one has a fault (a bug of the tiler: reported as
 * plan_verdict_report does); other errors as those of tiler_plan and plan_check. */
MUST_USE Status module_plans_make(Arena *arena, const HloModule *module, const KernelTable *kernels,
                                  const MachineDescription *machine, const TilerOptions *options,
                                  const WrittenPlans *written, PlansDetail detail, DiagSink *diag,
                                  ModulePlans *out_plans);

/* Finds the memory that code of each plan works in (plan_space_make), which has to be known before there is code. */
MUST_USE Status module_plans_lay_out(Arena *arena, ModulePlans *plans, const VecTarget *targets, int target_count,
                                     DiagSink *diag);

/* The plan of one of the Kernels they were made for; NULL: it has none. */
const Plan *module_plans_of(const ModulePlans *plans, const KernelUse *use);
/* The memory of that plan's code; NULL without a plan. */
const PlanSpace *module_plans_space(const ModulePlans *plans, const KernelUse *use);

/* A file with the plan of the kernel that plans call |name|, as short as it can be (plan_print_template).
 * STATUS_INVALID ("plan-kernel") with notes that say which kernels there are. */
MUST_USE Status module_plans_print_template(const ModulePlans *plans, StringView name, DiagSink *diag,
                                            StringBuilder *out);

/* Of proved plans: simulated cycles of all Kernels in a run of the module. */
double module_plans_cycles(const ModulePlans *plans);

/* What the plans' own estimates are in a run of the module, in cycles; 0 where one has none, as plans written by hand.
 */
double module_plans_estimate(const ModulePlans *plans);

/* The Buffer map of all of them (oncore_map.h), proved ones, with totals first. */
void module_plans_map_text(StringBuilder *out, const ModulePlans *plans);
void module_plans_map_json(JsonWriter *json, const ModulePlans *plans);

#endif
