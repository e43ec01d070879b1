/* The plans of all Kernels of a module, made once: for code, plan files, the Buffer map and totals. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_PLANS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_PLANS_H

#include "base/json_writer.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/emit/module_bound.h"
#include "codegen/oncore/emit/module_runs.h"
#include "codegen/oncore/emit/plan_space.h"
#include "codegen/oncore/plan/plan_check.h"
#include "codegen/oncore/run/residency.h"
#include "codegen/oncore/tiling/plan_advice.h"
#include "codegen/oncore/tiling/plan_alternatives.h"
#include "codegen/oncore/tiling/plan_choice.h"
#include "codegen/oncore/tiling/plan_schemes.h"
#include "hlo/analysis/buffer_assignment.h"
#include "hlo/analysis/fused_instruction.h"
#include "hlo/ir/hlo_module.h"

/* What is asked of each plan. */
typedef enum PlansDetail {
  PLANS_ALONE,    /* nothing */
  PLANS_PROVED,   /* that it be proved and priced: ModulePlan.verdict */
  PLANS_COMPARED, /* what other Buffers and depths would give, besides: ModulePlan.alternatives */
  PLANS_ADVISED   /* what other machines would give, besides, of the plans that take most: ModulePlan.advice */
} PlansDetail;

/* A plan and the instructions whose Kernels it serves. */
typedef struct ModulePlan {
  const Plan *plan;
  PlanVerdict verdict;
  PlanAlternatives alternatives;
  PlanAdvice advice;
  PlanSchemeCosts schemes; /* where one is asked for */
  int64_t use_count;
  const StringView *uses; /* names of instructions, the plan's own first */
  double runs;            /* of all of them in one run of the module (hlo_execution_counts) */
  bool is_resident;       /* it works in a space shared with others: something is in the Buffer before or after it, or
                             it is a file's and needs more memory than the plan that it stands for */
  bool is_move;           /* of no Kernel: a LoopMove's */
  int64_t base, limit;    /* RESIDENT: its own tiles lie between these bytes of the Buffer (PlanInterface) … */
  int64_t low;            /* … and might from here on, in all of its uses */
  const PlanInterface *interface; /* of module_plans_keep; NULL: nothing is resident around it */
} ModulePlan;

/* What is moved around a loop because it is resident in its body. */
typedef struct LoopMove {
  const HloInstruction *loop;
  bool is_after; /* it is stored after the loop, else loaded before it */
  int32_t plan;  /* of ModulePlans.plans; its Kernel's buffers are the leaves, in order */
  int32_t count;
  const int *leaves; /* of the loop's state */
} LoopMove;

/* One instruction's Kernel, in the order of the module's computations and schedules; moves around loops come last. */
typedef struct PlanUse {
  int32_t plan;    /* number */
  StringView name; /* of the instruction */
  double runs;     /* in one run of the module */
  const HloInstruction *instruction;
  const Kernel *kernel; /* its own, whose buffers are bound to its operands; NULL: of a move */
} PlanUse;

typedef struct ModulePlans {
  const MachineDescription *machine;
  PlansDetail detail;
  int32_t count;
  const ModulePlan *plans; /* in order of their first use */
  int64_t use_count;
  const PlanUse *uses;
  int32_t identity_count;
  const int32_t *plan_of_identity; /* by KernelUse.identity: a number of |plans|; without residents */
  IntMap plan_of_use;              /* KernelUse → number of |plans|; of module_plans_keep, empty before */
  int32_t move_count;
  const LoopMove *moves;                  /* of module_plans_keep, like the next */
  bool lacks_room, lacks_place, may_part; /* as Residency says of what was chosen of them, … */
  bool lacks_plan;                        /* … so that nothing was */
  bool has_residents;
  int64_t resident_bytes;  /* of the space that all plans with residents work in, one after the other */
  int64_t space_offset;    /* of that in the workspace */
  int64_t off_core;        /* instructions that run elsewhere */
  ModuleBound bound;       /* of the module, whatever the plans */
  ModuleRuns runs;         /* of module_runs_find; without launches before */
  const PlanSpace *spaces; /* by plan, of module_plans_find_tiles or module_plans_lay_out; NULL before */
  IntMap *known_spaces;    /* commands of plans → PlanSpace; what has been laid out, shared by copies */
} ModulePlans;

/* Plans of the Kernels of |planned|, equal ones once, by plan_for_kernel, |written| first (NULL: none), xlac's own
 * under the scheme that is asked for; in |arena|.  STATUS_EXHAUSTED ("oncore-scheme") where that takes more than the
 * Buffer.  With proofs, STATUS_INVALID when one has a fault (a bug of the tiler: reported as plan_verdict_report does);
 * other errors as those of tiler_plan and plan_check. */
MUST_USE Status module_plans_make(Arena *arena, const PlannedModule *planned, const WrittenPlans *written,
                                  PlansDetail detail, DiagSink *diag, ModulePlans *out_plans);

/* Whether |plan| works in the space that all plans with residents share. */
bool module_plans_is_resident(const ModulePlans *plans, int32_t plan);
/* Of one of the Kernels they were made for, the number of its plan; -1: it has none. */
int32_t module_plans_number(const ModulePlans *plans, const KernelUse *use);

/* Finds the tile Kernels of each plan (plan_space_make); those of plans which |plans|, or what it is a copy of, had
 * before are known. */
MUST_USE Status module_plans_find_tiles(Arena *arena, ModulePlans *plans, DiagSink *diag);

/* Finds the memory that code of each plan works in (plan_space_choose_code) as well, which has to be known before there
 * is code.  |targets| are the same each time. */
MUST_USE Status module_plans_lay_out(Arena *arena, ModulePlans *plans, const VecTarget *targets, int target_count,
                                     DiagSink *diag);

/* The plan of one of the Kernels they were made for; NULL: it has none. */
const Plan *module_plans_of(const ModulePlans *plans, const KernelUse *use);
/* The memory of that plan's code; NULL without a plan. */
const PlanSpace *module_plans_space(const ModulePlans *plans, const KernelUse *use);

/* A file with the plan of the kernel that plans call |name|, or the module's text what it stores (|fused|), as short as
 * it can be (plan_print_template).
 * STATUS_INVALID ("plan-kernel") with notes that say which kernels there are. */
MUST_USE Status module_plans_print_template(const ModulePlans *plans, const FusedInstructions *fused, StringView name,
                                            DiagSink *diag, StringBuilder *out);

/* Of proved plans: simulated cycles of all Kernels in a run of the module, those of runs as one. */
double module_plans_cycles(const ModulePlans *plans);

/* What the plans' own estimates are in a run of the module, in cycles, and what moves around loops are priced at; 0
 * where a plan has no estimate, as those written by hand. */
double module_plans_estimate(const ModulePlans *plans);

/* The Buffer map of all of them (oncore_map.h), proved ones, with totals first. */
void module_plans_map_text(StringBuilder *out, const ModulePlans *plans);
void module_plans_map_json(JsonWriter *json, const ModulePlans *plans);

#endif
