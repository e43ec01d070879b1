/* CodeDraft: what is known of a module's code before a line of it is emitted: its Kernels, for a machine with an
 * on-core Buffer their plans, and how much memory each instruction's code needs while it runs.  Made in the middle of a
 * compilation, between copy insertion and placement: schedule → copies → Kernels → plans → places → code. */
#ifndef XLAC_CODEGEN_CODE_DRAFT_H
#define XLAC_CODEGEN_CODE_DRAFT_H

#include "codegen/emit/kernel_strategy.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/llvm/llvm_options.h"
#include "codegen/oncore/emit/module_plans.h"
#include "hlo/analysis/buffer_assignment.h"

typedef struct CodeDraft {
  Arena *arena;             /* of all that is made */
  LlvmOptions target;       /* its machine NULL: the host, without plans */
  TilerOptions tiler;       /* how plans are made */
  WrittenPlans written;     /* those that are taken first */
  PlansDetail plans_detail; /* what is asked of them */
  bool is_strict;           /* what would not run on the machine is an error ("oncore-strict") */
  bool has_scratch_limit;
  int64_t scratch_limit; /* of a Kernel (kernel_strategy_choose); on the host */
  /* --- made; NULL before --- */
  KernelTable *kernels;
  ModulePlans *plans;
  bool has_kept;                         /* code_draft_keep was there */
  const HloScratch *scratch_of_identity; /* by identity of a Kernel, like the next */
  /* By kind of processor that an object is for (llvm_vec_targets): how each Kernel's code is made.  Of the host. */
  const KernelStrategy *strategies[LLVM_MOST_VARIANTS];
} CodeDraft;

/* Each makes what is not there yet, of the scheduled |module|, which must be the same every time; errors are those of
 * module_kernels_build and module_plans_make. */
MUST_USE Status code_draft_make_kernels(CodeDraft *draft, const HloModule *module, DiagSink *diag);
MUST_USE Status code_draft_make_plans(CodeDraft *draft, const HloModule *module, DiagSink *diag);
/* And what the code needs (plan_space_make), of all kinds of processors that an object is for the most.  |limit| holds
 * beside the draft's own; NULL: there is none.  What was measured before stays. */
MUST_USE Status code_draft_measure(CodeDraft *draft, const HloModule *module, const HloScratchLimit *limit,
                                   DiagSink *diag);

/* Once values have places: lets arrays stay in the on-core Buffer (module_plans_keep), and makes the workspace of
 * |assignment| as much larger as that takes, if it is at most |room| bytes; else nothing stays.  Later calls do
 * nothing; errors are those of module_plans_keep and module_plans_lay_out. */
MUST_USE Status code_draft_keep(CodeDraft *draft, const HloModule *module, BufferAssignment *assignment, int64_t room,
                                DiagSink *diag);

/* The Kernels that run, a use each; none before they are made.  |out_distinct|: the functions that code has for them,
 * equal ones once; on the host tiny ones have none (kernel_is_tiny). */
int64_t code_draft_kernel_count(const CodeDraft *draft, int64_t *out_distinct);

/* After code_draft_measure: what the Kernels of |instruction| need, which run one after the other. */
HloScratch code_draft_scratch(const CodeDraft *draft, const HloInstruction *instruction);
/* What passes that plan memory ask: code_draft_measure, then code_draft_scratch. */
HloScratchModel code_draft_scratch_model(CodeDraft *draft);

#endif
