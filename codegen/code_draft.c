#include "codegen/code_draft.h"

#include <math.h>

#include "base/checked_math.h"
#include "codegen/call/call_targets.h"
#include "codegen/kernel/kernel_sharing.h"
#include "codegen/lower/emit_family.h"
#include "codegen/lower/module_kernels.h"
#include "codegen/oncore/tiling/tiler.h"
#include "codegen/scratch_balance.h"
#include "hlo/machine/description/machine_abilities.h"

enum { SPACE_ALIGNMENT = 64 };

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
  RETURN_IF_ERROR(module_plans_make(draft->arena, module, draft->kernels, draft->target.machine, &draft->tiler,
                                    &draft->written, draft->plans_detail, diag, plans));
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

#define LAST_CACHE_BYTES (32 << 20)
#define OWN_CACHE_BYTES (2 << 20)

/* What the products of |module| read.  Of each the larger factor counts: the weights. */
static double factor_bytes(const HloModule *module) {
  double bytes = 0;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (!hlo_opcode_has(instruction->opcode, OP_CONTRACTION)) continue;
      bytes += (double)max_i64(shape_byte_size(instruction->operands[0]->shape),
                               shape_byte_size(instruction->operands[1]->shape));
    }
  }
  return bytes;
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
  double bytes = factor_bytes(module);
  for (int t = 0; t < target_count; t++) {
    KernelStrategy *strategies = ARENA_NEW_ARRAY(draft->arena, KernelStrategy, balance.count);
    draft->strategies[t] = strategies;
    VecTarget target = targets[t];
    target.streams_factors = bytes > LAST_CACHE_BYTES;
    target.leaves_own_cache = bytes > OWN_CACHE_BYTES;
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

/* The runs of |plans|.  |out_bytes|: the workspace with the space of residents. */
static Status find_runs(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment,
                        const KernelTable *kernels, ModulePlans *plans, DiagSink *diag, int64_t *out_bytes) {
  *out_bytes = assignment->workspace_bytes;
  if (plans->has_residents) {
    VecTarget targets[LLVM_MOST_VARIANTS];
    int count = llvm_vec_targets(&draft->target, targets);
    RETURN_IF_ERROR(module_plans_lay_out(draft->arena, plans, targets, count, diag));
    plans->space_offset = align_up(assignment->workspace_bytes, SPACE_ALIGNMENT);
    *out_bytes = plans->space_offset + plans->resident_bytes;
  }
  /* with residents there are others to weigh it against */
  return module_runs_find(draft->arena, module, assignment, kernels, plans, plans->has_residents, diag, &plans->runs);
}

/* By |policy|, with runs. */
static Status try_residents(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment,
                            const KernelTable *kernels, ResidencyPolicy policy, KeptPlans *cache, ModulePlans *plans,
                            DiagSink *diag, int64_t *out_bytes) {
  RETURN_IF_ERROR(
      module_plans_keep(draft->arena, module, assignment, kernels, &draft->tiler, policy, cache, diag, plans));
  *out_bytes = INT64_MAX;
  return plans->lacks_plan ? STATUS_OK : find_runs(draft, module, assignment, kernels, plans, diag, out_bytes);
}

/* Policies, each of which knows more than those before it; what is tried where the first has lacked room; and how
 * many times the cycles of others plans may take that move fewer bytes. */
static const ResidencyPolicy policies[] = {
    {0}, {.brings_streams = true}, {.brings_streams = true, .counts_again = true, .sees_windows = true}};
static const ResidencyPolicy policy_beside = {.knows_held = true, .sees_windows = true};
enum { POLICIES = sizeof policies / sizeof *policies };
static const double MOST_CYCLES = 1.0075;

/* What is tried: Kernels and their plans without and with residents. */
typedef struct KeepTrial {
  KernelTable *kernels;
  ModulePlans before, plans;
  ResidencyPolicy policy;
  int64_t bytes; /* of the workspace */
  bool is_saved; /* plans that move less have been looked for */
} KeepTrial;

static KeptCost trial_cost(const KeepTrial *trial) {
  return module_plans_kept_cost(&trial->before, &trial->plans);
}

/* What moves fewer bytes than plans of |cost| may take so many. */
static double most_cycles(KeptCost cost) {
  return cost.cycles + (MOST_CYCLES - 1) * cost.estimate;
}

/* What saves bytes may take so many times the cycles, or as many more as TILER_TRANSFERS_WEIGHT says that the transfers
 * saved are worth: other plans of the same arrays do not change much else. */
static const double SAVING_CYCLES = 1.001, WORTH_CYCLES = 1.01;

/* Whether |cost|, of plans that move less than those of |known|, is worth its cycles. */
static bool is_saving(const MachineDescription *machine, KeptCost cost, KeptCost known) {
  double bytes = known.bytes - cost.bytes;
  if (bytes <= 0) return false;
  double worth = residency_move_cycles(machine, (int64_t)bytes, true) * TILER_TRANSFERS_WEIGHT;
  return cost.cycles <= known.cycles * SAVING_CYCLES ||
         cost.cycles <= fmin(known.cycles + worth, known.cycles * WORTH_CYCLES);
}

/* |best| with plans that move less in the room that residents leave, where that is worth what all of it takes then. */
static Status try_savings(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                          DiagSink *diag, KeepTrial *best) {
  KeepTrial saving = *best;
  bool is_meant = best->plans.has_residents && !best->is_saved;
  best->is_saved = saving.is_saved = true;
  if (!is_meant || !module_plans_save(draft->arena, &draft->tiler, &best->before, &saving.plans)) return STATUS_OK;
  RETURN_IF_ERROR(find_runs(draft, module, assignment, saving.kernels, &saving.plans, diag, &saving.bytes));
  KeptCost known = trial_cost(best), cost = trial_cost(&saving);
  if (is_saving(draft->target.machine, cost, known) && saving.bytes <= most) *best = saving;
  return STATUS_OK;
}

/* Kernels that are as they were are priced in both trials, or in none. */
static void share_prices(KeepTrial *left, KeepTrial *right, int32_t count) {
  for (int32_t p = 0; p < count; p++) {
    ModulePlan *a = (ModulePlan *)&left->before.plans[p], *b = (ModulePlan *)&right->before.plans[p];
    if (a->verdict.machine == NULL) a->verdict = b->verdict;
    if (b->verdict.machine == NULL) b->verdict = a->verdict;
  }
}

/* Cuts of sums, or into strips that take turns, move so many times the bytes of others at most: they make more Kernels.
 * What others load again may hide the gain: up to so many times the bytes both are compared with plans that save that.
 * Where strips that take turns move so many times the bytes of whole Kernels at most, others are looked for beside
 * them; and some of what is cut is left out where so many times the bytes of all of it are expected then. */
static const double SUMS_BYTES = 0.99, CLOSE_BYTES = 1.03, ROUNDS_BYTES = 0.95, PART_BYTES = 0.97;

/* How Kernels are cut: |base|, which is |whole|, or that with some that take turns, where that moves fewer bytes than
 * |best| in not many more cycles than |whole|. */
typedef struct CutTrials {
  KeepTrial whole, base;
  KeepTrial *best;
  bool has_rounds;
} CutTrials;

/* What of |units| is better left out of |cut|, NULL: nothing, or what is left is not worth it. */
static const bool *find_part(const CodeDraft *draft, const CutTrials *trials, const CutUnits *units,
                             const KeepTrial *cut) {
  const KeepTrial *base = &trials->base;
  PlansTrial from = {base->kernels, &base->before, &base->plans}, to = {cut->kernels, &cut->before, &cut->plans};
  double limit = most_cycles(trial_cost(&trials->whole)), more;
  double room = limit - trial_cost(base).cycles, least = trial_cost(trials->best).bytes;
  KeptCost cost = trial_cost(cut);
  const bool *leaves_out = module_plans_choose_units(draft->arena, units, &from, &to, room, &more);
  if (cost.cycles <= limit) least = fmin(least, cost.bytes);
  return leaves_out != NULL && cost.bytes + more < PART_BYTES * least ? leaves_out : NULL;
}

/* Takes |cut| as the best if it is better; what others load again is compared where that is close. */
static Status weigh_cut(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                        DiagSink *diag, PlansCutWay way, const CutTrials *trials, KeepTrial *cut) {
  KeepTrial *best = trials->best;
  double limit = most_cycles(trial_cost(&trials->whole));
  KeptCost known = trial_cost(best), cost = trial_cost(cut);
  bool is_close = cost.bytes < known.bytes * CLOSE_BYTES && cost.cycles <= limit;
  if (cost.bytes >= known.bytes && (cost.cycles < known.cycles || is_close)) {
    RETURN_IF_ERROR(try_savings(draft, module, assignment, most, diag, cut));
    RETURN_IF_ERROR(try_savings(draft, module, assignment, most, diag, best));
    known = trial_cost(best);
    cost = trial_cost(cut);
  }
  double share = way != PLANS_CUT_POINTS ? SUMS_BYTES : 1;
  bool is_better = cost.bytes < share * known.bytes && cost.cycles <= limit;
  if (is_better && cut->plans.has_residents && cut->bytes <= most) *best = *cut;
  return STATUS_OK;
}

/* With some Kernels cut into strips.  |*out_cut|: some were; |*out_leaves_out|, NULL: what of them to try without. */
static Status try_cut(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                      KeptPlans *cache, DiagSink *diag, PlansCut by, CutTrials *trials, bool *out_cut,
                      const bool **out_leaves_out) {
  KeepTrial *base = &trials->base, cut = {.policy = base->policy};
  CutUnits units;
  cut.kernels = module_plans_cut(draft->arena, module, assignment, base->kernels, &draft->tiler, base->policy, by,
                                 &base->before, &base->plans, cache, &cut.before, &units);
  *out_cut = cut.kernels != NULL;
  *out_leaves_out = NULL;
  if (cut.kernels == NULL) return STATUS_OK;
  cut.plans = cut.before;
  RETURN_IF_ERROR(
      try_residents(draft, module, assignment, cut.kernels, cut.policy, cache, &cut.plans, diag, &cut.bytes));
  if (cut.plans.lacks_plan) return STATUS_OK;
  share_prices(&cut, &trials->whole, trials->whole.before.count);
  share_prices(&cut, base, base->before.count);
  share_prices(&cut, trials->best, (int32_t)min_i64(trials->best->before.count, base->before.count));
  if (by.leaves_out == NULL) *out_leaves_out = find_part(draft, trials, &units, &cut);
  return weigh_cut(draft, module, assignment, most, diag, by.way, trials, &cut);
}

/* |way|, and where less of it takes fewer cycles or moves fewer bytes, that as well.  |*out_cut|: some were cut. */
static Status try_way(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                      KeptPlans *cache, DiagSink *diag, PlansCutWay way, CutTrials *trials, bool *out_cut) {
  PlansCut cut = {way, NULL};
  const bool *leaves_out;
  RETURN_IF_ERROR(try_cut(draft, module, assignment, most, cache, diag, cut, trials, out_cut, &cut.leaves_out));
  if (cut.leaves_out == NULL) return STATUS_OK;
  return try_cut(draft, module, assignment, most, cache, diag, cut, trials, &(bool){false}, &leaves_out);
}

/* |best| with some Kernels cut into strips that take turns, where that pays. */
static Status try_rounds(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                         KeptPlans *cache, DiagSink *diag, KeepTrial *best, CutTrials *out_trials) {
  bool is_cut;
  *out_trials = (CutTrials){.whole = *best, .base = *best, .best = best};
  RETURN_IF_ERROR(try_way(draft, module, assignment, most, cache, diag, PLANS_CUT_ROUNDS, out_trials, &is_cut));
  out_trials->has_rounds = trial_cost(best).bytes <= trial_cost(&out_trials->whole).bytes * ROUNDS_BYTES;
  if (out_trials->has_rounds) out_trials->base = *best;
  return STATUS_OK;
}

/* With others cut, beside those that take turns or instead of them; those that fold as well where that pays more. */
static Status try_others(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                         KeptPlans *cache, DiagSink *diag, CutTrials *trials) {
  bool is_cut = false;
  if (!trials->has_rounds)
    RETURN_IF_ERROR(try_way(draft, module, assignment, most, cache, diag, PLANS_CUT_POINTS, trials, &is_cut));
  RETURN_IF_ERROR(try_way(draft, module, assignment, most, cache, diag, PLANS_CUT_SUMS, trials, &is_cut));
  if (!trials->has_rounds || is_cut) return STATUS_OK;
  return try_way(draft, module, assignment, most, cache, diag, PLANS_CUT_POINTS, trials, &is_cut);
}

static Status try_strips(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                         KeptPlans *cache, DiagSink *diag, KeepTrial *best) {
  CutTrials trials;
  RETURN_IF_ERROR(try_rounds(draft, module, assignment, most, cache, diag, best, &trials));
  return try_others(draft, module, assignment, most, cache, diag, &trials);
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
  if (more > 0) assignment->workspace_alignment = max_i64(assignment->workspace_alignment, SPACE_ALIGNMENT);
}

static void take_trial(CodeDraft *draft, const KeepTrial *trial, BufferAssignment *assignment) {
  int32_t identities = draft->kernels->identity_count;
  *draft->plans = trial->plans;
  draft->kernels = trial->kernels;
  extend_scratch(draft, identities);
  add_workspace(assignment, trial->bytes - assignment->workspace_bytes);
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

/* Of |count| |trials| by policies the one that moves the fewest bytes in not many more cycles than the first; NULL: the
 * workspace of none is within |most| bytes. */
static KeepTrial *choose_trial(KeepTrial *trials, int32_t count, int64_t most) {
  KeptCost first = trial_cost(&trials[0]), least = first;
  KeepTrial *best = NULL;
  for (int32_t t = 0; t < count; t++) {
    KeptCost cost = trial_cost(&trials[t]);
    bool is_less = cost.bytes < least.bytes && cost.cycles <= first.cycles * MOST_CYCLES;
    bool is_alike = trials[t].policy.sees_windows && cost.bytes == least.bytes && cost.cycles <= least.cycles;
    bool is_better = best == NULL || is_less || is_alike;
    if (!is_better || trials[t].bytes > most) continue;
    best = &trials[t];
    least = cost;
  }
  return best;
}

/* What |best| may be chosen again by, besides its own policy: what its room leaves is filled again, parts of arrays
 * stay that have found none, or where such do, they do so beside plans that know what the Buffer has. */
typedef enum Addition { ADD_REFILLS, ADD_PARTS, ADD_PARTS_BESIDE } Addition;

/* Adds that to |policy|.  False: it makes no difference to |plans|. */
static bool add_to_policy(const ModulePlans *plans, Addition addition, ResidencyPolicy *policy) {
  bool has_parts = policy->takes_parts, is_known = policy->knows_held;
  switch (addition) {
    case ADD_REFILLS: policy->refills = true; return plans->lacks_place;
    case ADD_PARTS: policy->takes_parts = true; return plans->may_part;
    case ADD_PARTS_BESIDE: policy->knows_held = true; return has_parts && !is_known;
  }
  XLAC_BUG("unknown addition to a policy");
}

/* |best|, cut into strips or not, with |addition| where that moves fewer bytes in no more cycles. */
static Status try_adding(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                         KeptPlans *cache, DiagSink *diag, Addition addition, KeepTrial *best) {
  KeepTrial other = {best->kernels, best->before, best->before, best->policy, 0, false};
  bool is_cut = best->kernels != draft->kernels; /* what is too large stays in parts of it already */
  if (!add_to_policy(&best->plans, addition, &other.policy) || (is_cut && other.policy.takes_parts)) return STATUS_OK;
  RETURN_IF_ERROR(
      try_residents(draft, module, assignment, other.kernels, other.policy, cache, &other.plans, diag, &other.bytes));
  KeptCost known = trial_cost(best), cost = trial_cost(&other);
  if (cost.bytes < known.bytes && cost.cycles <= known.cycles && other.bytes <= most) *best = other;
  return STATUS_OK;
}

/* Takes |rest| instead of |best|, of which |count| plans are of the same Kernels, where it moves fewer bytes in not
 * many more cycles, or takes fewer where that one takes many more.  Whether it does. */
static bool take_rest(KeepTrial *rest, KeepTrial *best, int32_t count) {
  share_prices(rest, best, count);
  KeptCost cost = trial_cost(rest), known = trial_cost(best);
  bool is_better =
      cost.cycles <= most_cycles(known) && (cost.bytes < known.bytes || cost.cycles * MOST_CYCLES < known.cycles);
  if (is_better) *best = *rest;
  return is_better;
}

/* The better of |best| and |rest|, by policy_beside, both cut into strips.  Where both have such as take turns, others
 * are only looked for beside those of the better one. */
static Status cut_both(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                       KeptPlans *cache, DiagSink *diag, KeepTrial *rest, KeepTrial *best) {
  int32_t count = best->before.count;
  KeptCost cost = trial_cost(rest), known = trial_cost(best);
  CutTrials trials, rest_trials;
  bool is_promising = cost.cycles <= known.cycles * MOST_CYCLES && rest->bytes <= most &&
                      (cost.bytes < known.bytes || cost.cycles < known.cycles);
  RETURN_IF_ERROR(try_rounds(draft, module, assignment, most, cache, diag, best, &trials));
  if (!is_promising) return try_others(draft, module, assignment, most, cache, diag, &trials);
  RETURN_IF_ERROR(try_adding(draft, module, assignment, most, cache, diag, ADD_REFILLS, rest));
  RETURN_IF_ERROR(try_rounds(draft, module, assignment, most, cache, diag, rest, &rest_trials));
  if (trials.has_rounds && rest_trials.has_rounds) {
    rest_trials.best = best;
    bool is_rest = take_rest(rest, best, count);
    return try_others(draft, module, assignment, most, cache, diag, is_rest ? &rest_trials : &trials);
  }
  RETURN_IF_ERROR(try_others(draft, module, assignment, most, cache, diag, &trials));
  RETURN_IF_ERROR(try_others(draft, module, assignment, most, cache, diag, &rest_trials));
  RETURN_IF_ERROR(try_savings(draft, module, assignment, most, diag, rest));
  RETURN_IF_ERROR(try_savings(draft, module, assignment, most, diag, best));
  take_rest(rest, best, count);
  return STATUS_OK;
}

/* By the policies that tell something of |before|.  The last of |out_trials| is by policy_beside if |*out_lacks|. */
static Status try_policies(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment,
                           const ModulePlans *before, KeptPlans *cache, DiagSink *diag, KeepTrial *out_trials,
                           int32_t *out_count, bool *out_lacks) {
  int32_t count = 0;
  *out_lacks = false;
  for (int32_t p = 0; p <= POLICIES; p++) {
    ResidencyPolicy policy = p < POLICIES ? policies[p] : policy_beside;
    const ModulePlans *first = &out_trials[0].plans;
    bool is_meant = p == POLICIES ? first->lacks_room
                                  : p == 0 || (first->has_residents && module_plans_policy_tells(before, policy));
    if (!is_meant) continue;
    KeepTrial *trial = &out_trials[count++];
    *trial = (KeepTrial){draft->kernels, *before, *before, policy, 0, false};
    RETURN_IF_ERROR(try_residents(draft, module, assignment, trial->kernels, trial->policy, cache, &trial->plans, diag,
                                  &trial->bytes));
    *out_lacks = policy.knows_held;
  }
  *out_count = count;
  return STATUS_OK;
}

/* What of all trials is best in at most |most| bytes of workspace; |*out_found| false: none has as few. */
static Status find_best(CodeDraft *draft, const HloModule *module, const BufferAssignment *assignment, int64_t most,
                        KeptPlans *cache, DiagSink *diag, KeepTrial *out_best, bool *out_found) {
  ModulePlans before = *draft->plans;
  KeepTrial tried[POLICIES + 1];
  int32_t count;
  bool lacks_room;
  before.plans = ARENA_COPY_ARRAY(draft->arena, ModulePlan, before.plans, before.count);
  RETURN_IF_ERROR(try_policies(draft, module, assignment, &before, cache, diag, tried, &count, &lacks_room));
  KeepTrial *best = choose_trial(tried, lacks_room ? count - 1 : count, most);
  *out_found = best != NULL;
  if (best == NULL) return STATUS_OK;
  RETURN_IF_ERROR(try_adding(draft, module, assignment, most, cache, diag, ADD_REFILLS, best));
  RETURN_IF_ERROR(lacks_room ? cut_both(draft, module, assignment, most, cache, diag, &tried[count - 1], best)
                             : try_strips(draft, module, assignment, most, cache, diag, best));
  RETURN_IF_ERROR(try_adding(draft, module, assignment, most, cache, diag, ADD_PARTS, best));
  RETURN_IF_ERROR(try_adding(draft, module, assignment, most, cache, diag, ADD_PARTS_BESIDE, best));
  RETURN_IF_ERROR(try_savings(draft, module, assignment, most, diag, best));
  *out_best = *best;
  return STATUS_OK;
}

Status code_draft_keep(CodeDraft *draft, const HloModule *module, BufferAssignment *assignment, int64_t room,
                       DiagSink *diag) {
  if (draft->plans == NULL || draft->has_kept) return STATUS_OK;
  draft->has_kept = true;
  int64_t most = assignment->workspace_bytes + min_i64(room, INT64_MAX - assignment->workspace_bytes);
  KeptPlans *cache = kept_plans_create(draft->arena, draft->plans->machine);
  KeepTrial best;
  bool is_found;
  Status status = find_best(draft, module, assignment, most, cache, diag, &best, &is_found);
  kept_plans_destroy(cache);
  RETURN_IF_ERROR(status);
  if (is_found) {
    take_trial(draft, &best, assignment);
    bool is_proved = !draft->plans->has_residents || draft->plans->detail < PLANS_PROVED;
    if (is_proved && !written_plans_have_residents(&draft->written)) return STATUS_OK;
  }
  RETURN_IF_ERROR(take_written(draft, assignment, diag));
  return module_runs_find(draft->arena, module, assignment, draft->kernels, draft->plans, false, diag,
                          &draft->plans->runs);
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
