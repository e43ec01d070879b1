#include "codegen/code_draft.h"

#include "base/checked_math.h"
#include "codegen/call/call_targets.h"
#include "codegen/kernel/kernel_sharing.h"
#include "codegen/lower/emit_family.h"
#include "codegen/lower/module_kernels.h"
#include "codegen/oncore/emit/resident_search.h"
#include "codegen/scratch_balance.h"
#include "hlo/analysis/factor_bytes.h"
#include "hlo/machine/description/machine_abilities.h"

static bool has_function(const Kernel *kernel) {
  return !kernel_is_tiny(kernel);
}

Status code_draft_make_kernels(CodeDraft *draft, const HloModule *module, DiagSink *diag) {
  if (draft->kernels != NULL) return STATUS_OK;
  KernelTable *kernels;
  const MachineDescription *machine = draft->target.machine;
  bool is_oncore = machine_has_buffer(machine);
  KernelTarget target = {
      .has_scalar_floats = machine_has_scalar_floats(machine),
      .row_bytes = machine_row_bytes(machine),
      .has_slow_doubles = machine_has_slow_doubles(machine),
      .joins_parts = is_oncore,
      .moves_bits = !is_oncore,
      .folds_positions = !is_oncore,
      .keeps_axes = is_oncore,
  };
  RETURN_IF_ERROR(module_kernels_build(draft->arena, module, &target, diag, &kernels));
  if (!is_oncore) RETURN_IF_ERROR(kernel_table_share(kernels, has_function, diag));
  draft->kernels = kernels;
  return STATUS_OK;
}

/* Instructions of |module| that no plan is of, since they call out of it. */
static Status find_off_core(const CodeDraft *draft, const HloModule *module, DiagSink *diag, int64_t *out_count) {
  Status status = STATUS_OK;
  *out_count = 0;
  Arena *scratch = arena_create();
  const bool *is_applied = hlo_module_applied(scratch, module, true); /* inside Kernels nothing is called */
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (is_applied[computation->id]) continue;
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      EmitFamily family = emit_family(instruction->opcode);
      if (family != EMIT_outside_call && family != EMIT_collective) continue;
      ++*out_count;
      if (!draft->is_strict) continue;
      status = diag_error(diag, STATUS_UNSUPPORTED, instruction->loc, "oncore-strict",
                          "'%.*s' would not run on the vector processor: '%s' calls out of the module",
                          SV_ARG(instruction->name), hlo_opcode_text(instruction->opcode));
    }
  }
  arena_destroy(scratch);
  return status;
}

Status code_draft_make_plans(CodeDraft *draft, const HloModule *module, DiagSink *diag) {
  if (draft->plans != NULL || !machine_has_buffer(draft->target.machine)) return STATUS_OK;
  RETURN_IF_ERROR(code_draft_make_kernels(draft, module, diag));
  ModulePlans *plans = ARENA_NEW(draft->arena, ModulePlans);
  int64_t off_core;
  RETURN_IF_ERROR(find_off_core(draft, module, diag, &off_core));
  const PlannedModule planned = {module, draft->kernels, draft->target.machine, &draft->tiler};
  RETURN_IF_ERROR(module_plans_make(draft->arena, &planned, &draft->written, draft->plans_detail, diag, plans));
  plans->off_core = off_core;
  draft->plans = plans;
  return STATUS_OK;
}

/* --- memory --- */

/* The first use of each Kernel, by identity. */
static const KernelUse **first_uses(Arena *arena, const KernelTable *kernels) {
  const KernelUse **uses = ARENA_NEW_ARRAY(arena, const KernelUse *, kernels->identity_count);
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      const KernelUse **use = &uses[row->uses[i].identity];
      if (*use == NULL) *use = &row->uses[i];
    }
  }
  return uses;
}

int64_t code_draft_kernel_count(const CodeDraft *draft, int64_t *out_distinct) {
  const KernelTable *kernels = draft->kernels;
  int64_t count = 0;
  Arena *scratch = arena_create();
  bool *is_known = ARENA_NEW_ARRAY(scratch, bool, kernels != NULL ? kernels->identity_count + 1 : 1);
  *out_distinct = 0;
  for (int64_t r = 0; kernels != NULL && r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    count += row->count;
    for (int32_t i = 0; i < row->count; i++) {
      bool *is_old = &is_known[row->uses[i].identity];
      if (*is_old) continue;
      *is_old = true;
      *out_distinct += draft->plans != NULL || !kernel_is_tiny(row->uses[i].kernel);
    }
  }
  arena_destroy(scratch);
  return count;
}

/* By identity: what scratch a Kernel may need wherever it runs. */
static const ContractionScratch *scratch_limits(const CodeDraft *draft, const HloScratchLimit *plan) {
  const KernelTable *kernels = draft->kernels;
  ContractionScratch *limits = ARENA_NEW_ARRAY(draft->arena, ContractionScratch, kernels->identity_count + 1);
  for (int32_t k = 0; k < kernels->identity_count; k++) {
    limits[k] = KERNEL_SCRATCH_FREE;
    if (draft->has_scratch_limit) limits[k] = (ContractionScratch){draft->scratch_limit, draft->scratch_limit};
  }
  for (int64_t r = 0; r < kernels->rows.count && plan != NULL; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    int32_t id = row->instruction->id;
    int64_t most = plan->room == NULL ? plan->bytes : max_i64(plan->bytes, plan->room[id]);
    for (int32_t i = 0; i < row->count; i++) {
      ContractionScratch *limit = &limits[row->uses[i].identity];
      if (plan->bytes > 0) limit->most = min_i64(limit->most, most);
      if (plan->free != NULL && !draft->has_scratch_limit) limit->free = min_i64(limit->free, plan->free[id]);
    }
  }
  return limits;
}

/* Of the module's time, in products of narrow types: with less, code of its own for processors that multiply those
 * faster takes longer to compile than it saves soon. */
#define LEAST_NARROW_SHARE 0.05

static bool gains_by_narrow_products(const ScratchBalance *balance, const KernelStrategy *strategies) {
  double share = 0;
  for (int32_t k = 0; k < balance->count; k++) {
    const Kernel *kernel = balance->uses[k]->kernel;
    if (!kernel_is_tiny(kernel) && kernel_strategy_multiplies_narrow(kernel, &strategies[k]))
      share += balance->shares[k];
  }
  return share >= LEAST_NARROW_SHARE;
}

/* Of the largest kind of processor. */
static void measure_strategies(CodeDraft *draft, const HloModule *module, const KernelUse *const *uses,
                               const HloScratchLimit *limit, HloScratch *scratch) {
  VecTarget targets[LLVM_MOST_VARIANTS];
  int target_count = llvm_vec_targets(&draft->target, targets);
  ScratchBalance balance = {.arena = draft->arena,
                            .count = draft->kernels->identity_count,
                            .uses = uses,
                            .limits = scratch_limits(draft, limit),
                            .shares = scratch_balance_shares(draft->arena, module, draft->kernels)};
  double bytes = hlo_factor_bytes(module);
  for (int t = 0; t < target_count; t++) {
    KernelStrategy *strategies = ARENA_NEW_ARRAY(draft->arena, KernelStrategy, balance.count);
    draft->strategies[t] = strategies;
    VecTarget target = targets[t];
    target.streams_factors = bytes > LAST_CACHE_BYTES;
    target.leaves_own_cache = bytes > OWN_CACHE_BYTES;
    target.keeps_factors = bytes <= KEPT_CACHE_BYTES;
    scratch_balance_choose(&balance, &target, strategies);
    for (int32_t k = 0; k < balance.count; k++) {
      if (kernel_is_tiny(uses[k]->kernel)) continue; /* made in the control function itself, which needs none */
      KernelScratch needed = kernel_strategy_scratch(&strategies[k]);
      scratch[k].bytes = max_i64(scratch[k].bytes, needed.bytes);
      scratch[k].bytes_per_worker = max_i64(scratch[k].bytes_per_worker, needed.bytes_per_worker);
    }
    /* The best variant that every object has tells whether those for narrow products come after it. */
    bool may_be_more = t + 1 == target_count && t > 0 && !draft->target.multiplies_narrow;
    if (!may_be_more || !gains_by_narrow_products(&balance, strategies)) continue;
    draft->target.multiplies_narrow = true;
    target_count = llvm_vec_targets(&draft->target, targets);
  }
}

static void measure_plans(const CodeDraft *draft, const KernelUse *const *uses, HloScratch *scratch) {
  for (int32_t k = 0; k < draft->kernels->identity_count; k++) {
    const PlanSpace *space = module_plans_space(draft->plans, uses[k]);
    if (space != NULL) scratch[k].bytes = space->bytes;
  }
}

Status code_draft_measure(CodeDraft *draft, const HloModule *module, const HloScratchLimit *limit, DiagSink *diag) {
  if (draft->scratch_of_identity != NULL) return STATUS_OK;
  RETURN_IF_ERROR(code_draft_make_kernels(draft, module, diag));
  RETURN_IF_ERROR(code_draft_make_plans(draft, module, diag));
  const KernelUse *const *uses = first_uses(draft->arena, draft->kernels);
  HloScratch *scratch = ARENA_NEW_ARRAY(draft->arena, HloScratch, draft->kernels->identity_count + 1);
  if (draft->plans != NULL) {
    VecTarget targets[LLVM_MOST_VARIANTS];
    int count = llvm_vec_targets(&draft->target, targets);
    RETURN_IF_ERROR(module_plans_lay_out(draft->arena, draft->plans, targets, count, diag));
    measure_plans(draft, uses, scratch);
  } else {
    measure_strategies(draft, module, uses, limit, scratch);
  }
  draft->scratch_of_identity = scratch;
  return STATUS_OK;
}

/* Scratch by identity where strips have joined the first |before| identities: strips need none, since they work in the
 * space of the residents. */
static void extend_scratch(CodeDraft *draft, int32_t before) {
  if (draft->scratch_of_identity == NULL) return;
  HloScratch *scratch = ARENA_NEW_ARRAY(draft->arena, HloScratch, draft->kernels->identity_count + 1);
  for (int32_t k = 0; k < before; k++) scratch[k] = draft->scratch_of_identity[k];
  draft->scratch_of_identity = scratch;
}

static void add_workspace(BufferAssignment *assignment, int64_t more) {
  assignment->workspace_bytes += more;
  assignment->resident_bytes += more;
  assignment->lower_bound_bytes += more;
  if (more > 0) assignment->workspace_alignment = max_i64(assignment->workspace_alignment, RESIDENT_SPACE_ALIGNMENT);
}

static void take_choice(CodeDraft *draft, const ResidentChoice *choice, BufferAssignment *assignment) {
  int32_t identities = draft->kernels->identity_count;
  *draft->plans = choice->plans;
  draft->kernels = choice->kernels;
  extend_scratch(draft, identities);
  add_workspace(assignment, choice->bytes - assignment->workspace_bytes);
}

/* Plans of a file instead of those beside the same residents, where it has plans with residents. */
static Status take_written(CodeDraft *draft, BufferAssignment *assignment, DiagSink *diag) {
  ModulePlans *plans = draft->plans;
  if (!written_plans_have_residents(&draft->written)) return STATUS_OK;
  VecTarget targets[LLVM_MOST_VARIANTS];
  int count = llvm_vec_targets(&draft->target, targets);
  RETURN_IF_ERROR(module_plans_take_written(draft->arena, plans, &draft->written, targets, count, diag));
  if (plans->has_residents)
    add_workspace(assignment, max_i64(0, plans->space_offset + plans->resident_bytes - assignment->workspace_bytes));
  return STATUS_OK;
}

Status code_draft_keep(CodeDraft *draft, const HloModule *module, BufferAssignment *assignment, int64_t room,
                       DiagSink *diag) {
  if (draft->plans == NULL || draft->has_kept) return STATUS_OK;
  draft->has_kept = true;
  VecTarget targets[LLVM_MOST_VARIANTS];
  ResidentSearch search = {.arena = draft->arena,
                           .module = module,
                           .assignment = assignment,
                           .kernels = draft->kernels,
                           .plans = draft->plans,
                           .tiler = &draft->tiler,
                           .targets = targets,
                           .target_count = llvm_vec_targets(&draft->target, targets),
                           .diag = diag};
  search.most = assignment->workspace_bytes + min_i64(room, INT64_MAX - assignment->workspace_bytes);
  ResidentChoice choice;
  bool is_found;
  RETURN_IF_ERROR(resident_search_run(&search, &choice, &is_found));
  if (is_found) {
    take_choice(draft, &choice, assignment);
    bool is_proved = !draft->plans->has_residents || draft->plans->detail < PLANS_PROVED;
    if (is_proved && !written_plans_have_residents(&draft->written)) return STATUS_OK;
  }
  RETURN_IF_ERROR(take_written(draft, assignment, diag));
  const PlacedModule placed = {module, assignment, draft->kernels, draft->plans->machine};
  return module_runs_find(draft->arena, &placed, draft->plans, false, diag, &draft->plans->runs);
}

HloScratch code_draft_scratch(const CodeDraft *draft, const HloInstruction *instruction) {
  HloScratch most = {0};
  const KernelUses *row = kernel_table_find(draft->kernels, instruction);
  for (int32_t i = 0; row != NULL && i < row->count; i++) {
    const HloScratch *one = &draft->scratch_of_identity[row->uses[i].identity];
    most.bytes = max_i64(most.bytes, one->bytes);
    most.bytes_per_worker = max_i64(most.bytes_per_worker, one->bytes_per_worker);
  }
  most.bytes = max_i64(most.bytes, call_work_bytes(instruction));
  return most;
}

static Status begin_scratch(void *self, const HloModule *module, const HloScratchLimit *limit, DiagSink *diag) {
  return code_draft_measure(self, module, limit, diag);
}

static HloScratch scratch_of(void *self, const HloInstruction *instruction) {
  return code_draft_scratch(self, instruction);
}

HloScratchModel code_draft_scratch_model(CodeDraft *draft) {
  return (HloScratchModel){draft, begin_scratch, scratch_of};
}
