#include "codegen/code_draft.h"

#include "base/checked_math.h"
#include "codegen/emit/kernel_strategy.h"
#include "codegen/lower/module_kernels.h"
#include "hlo/machine/description/machine_abilities.h"

Status code_draft_make_kernels(CodeDraft *draft, const HloModule *module, DiagSink *diag) {
  if (draft->kernels != NULL) return STATUS_OK;
  KernelTable *kernels;
  RETURN_IF_ERROR(
      module_kernels_build(draft->arena, module, machine_has_scalar_floats(draft->target.machine), diag, &kernels));
  draft->kernels = kernels;
  return STATUS_OK;
}

Status code_draft_make_plans(CodeDraft *draft, const HloModule *module, DiagSink *diag) {
  if (draft->plans != NULL || !machine_has_buffer(draft->target.machine)) return STATUS_OK;
  RETURN_IF_ERROR(code_draft_make_kernels(draft, module, diag));
  ModulePlans *plans = ARENA_NEW(draft->arena, ModulePlans);
  RETURN_IF_ERROR(module_plans_make(draft->arena, module, draft->kernels, draft->target.machine, &draft->tiler,
                                    &draft->written, draft->plans_detail, diag, plans));
  draft->plans = plans;
  return STATUS_OK;
}

/* --- memory --- */

static HloScratch measure(const CodeDraft *draft, const KernelUse *use, const VecTarget *targets, int target_count) {
  if (draft->plans != NULL) {
    const PlanSpace *space = module_plans_space(draft->plans, use);
    return (HloScratch){.bytes = space != NULL ? space->bytes : 0};
  }
  KernelScratch needed = kernel_scratch(use->kernel, targets, target_count, true);
  return (HloScratch){needed.bytes, needed.bytes_per_worker};
}

static const HloScratch *measure_all(CodeDraft *draft, const VecTarget *targets, int target_count) {
  const KernelTable *kernels = draft->kernels;
  HloScratch *scratch = ARENA_NEW_ARRAY(draft->arena, HloScratch, kernels->identity_count);
  int32_t known = 0; /* identities are dense in order of their first use */
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      if (row->uses[i].identity == known) scratch[known++] = measure(draft, &row->uses[i], targets, target_count);
    }
  }
  return scratch;
}

Status code_draft_measure(CodeDraft *draft, const HloModule *module, DiagSink *diag) {
  if (draft->scratch_of_identity != NULL) return STATUS_OK;
  RETURN_IF_ERROR(code_draft_make_kernels(draft, module, diag));
  RETURN_IF_ERROR(code_draft_make_plans(draft, module, diag));
  VecTarget targets[LLVM_MOST_VARIANTS];
  int count = llvm_vec_targets(&draft->target, targets);
  if (draft->plans != NULL) RETURN_IF_ERROR(module_plans_lay_out(draft->arena, draft->plans, targets, count, diag));
  draft->scratch_of_identity = measure_all(draft, targets, count);
  return STATUS_OK;
}

HloScratch code_draft_scratch(const CodeDraft *draft, const HloInstruction *instruction) {
  HloScratch most = {0};
  const KernelUses *row = kernel_table_find(draft->kernels, instruction);
  for (int32_t i = 0; row != NULL && i < row->count; i++) {
    const HloScratch *one = &draft->scratch_of_identity[row->uses[i].identity];
    most.bytes = max_i64(most.bytes, one->bytes);
    most.bytes_per_worker = max_i64(most.bytes_per_worker, one->bytes_per_worker);
  }
  return most;
}

static Status begin_scratch(void *self, const HloModule *module, DiagSink *diag) {
  return code_draft_measure(self, module, diag);
}

static HloScratch scratch_of(void *self, const HloInstruction *instruction) {
  return code_draft_scratch(self, instruction);
}

HloScratchModel code_draft_scratch_model(CodeDraft *draft) {
  return (HloScratchModel){draft, begin_scratch, scratch_of};
}
