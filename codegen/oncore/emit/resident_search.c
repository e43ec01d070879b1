#include "codegen/oncore/emit/resident_search.h"

#include <math.h>

#include "base/checked_math.h"
#include "codegen/oncore/emit/module_savings.h"
#include "codegen/oncore/emit/module_units.h"
#include "codegen/oncore/tiling/tiler.h"

/* --- a trial --- */

/* The module of the search with |kernels|, some of which may be strips. */
static PlacedModule placed_with(const ResidentSearch *search, const KernelTable *kernels) {
  return (PlacedModule){search->module, search->assignment, kernels, search->plans->machine};
}

/* Finds what code of |plans| works in.  |out_bytes|: the workspace with the space of residents. */
static Status lay_out(const ResidentSearch *search, ModulePlans *plans, int64_t *out_bytes) {
  *out_bytes = search->assignment->workspace_bytes;
  if (!plans->has_residents) return STATUS_OK;
  RETURN_IF_ERROR(module_plans_lay_out(search->arena, plans, search->targets, search->target_count, search->diag));
  plans->space_offset = align_up(search->assignment->workspace_bytes, RESIDENT_SPACE_ALIGNMENT);
  *out_bytes = plans->space_offset + plans->resident_bytes;
  return STATUS_OK;
}

/* The runs of |plans|.  |out_bytes|: the workspace with the space of residents, 0 where that is not limited: then code
 * is only chosen for what is taken in the end. */
static Status find_runs(const ResidentSearch *search, const KernelTable *kernels, ModulePlans *plans,
                        int64_t *out_bytes) {
  *out_bytes = 0;
  if (search->most < INT64_MAX)
    RETURN_IF_ERROR(lay_out(search, plans, out_bytes));
  else if (plans->has_residents)
    RETURN_IF_ERROR(module_plans_find_tiles(search->arena, plans, search->diag));
  /* with residents there are others to weigh it against */
  PlacedModule placed = placed_with(search, kernels);
  return module_runs_find(search->arena, &placed, plans, plans->has_residents, search->diag, &plans->runs);
}

/* By |policy|, with runs. */
static Status try_residents(const ResidentSearch *search, const KernelTable *kernels, ResidencyPolicy policy,
                            ModulePlans *plans, int64_t *out_bytes) {
  PlacedModule placed = placed_with(search, kernels);
  RETURN_IF_ERROR(module_plans_keep(search->cache, &placed, policy, search->diag, plans));
  *out_bytes = INT64_MAX;
  return plans->lacks_plan ? STATUS_OK : find_runs(search, kernels, plans, out_bytes);
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
  int64_t bytes; /* of the workspace, 0 where that is not limited */
  bool is_saved; /* plans that move less have been looked for */
} KeepTrial;

static KeptCost trial_cost(const KeepTrial *trial) {
  return module_plans_kept_cost(&trial->before, &trial->plans);
}

/* What moves fewer bytes than plans of |cost| may take so many. */
static double most_cycles(KeptCost cost) {
  return cost.cycles + (MOST_CYCLES - 1) * cost.estimate;
}

/* --- plans that move less --- */

/* What saves bytes may take so many times the cycles, or as many more as TILER_TRANSFERS_WEIGHT says that the transfers
 * saved are worth: other plans of the same arrays do not change much else. */
static const double SAVING_CYCLES = 1.001, WORTH_CYCLES = 1.01;

/* Whether |cost|, of plans that move less than those of |known|, is worth its cycles. */
static bool is_saving(const MachineDescription *machine, KeptCost cost, KeptCost known) {
  double bytes = known.bytes - cost.bytes;
  if (bytes <= 0) return bytes == 0 && cost.cycles < known.cycles;
  double worth = residency_move_cycles(machine, (int64_t)bytes, true) * TILER_TRANSFERS_WEIGHT;
  return cost.cycles <= known.cycles * SAVING_CYCLES ||
         cost.cycles <= fmin(known.cycles + worth, known.cycles * WORTH_CYCLES);
}

static Status try_forms(const ResidentSearch *search, TilerForms forms, KeepTrial *best) {
  KeepTrial saving = *best;
  TilingMemos *memos = kept_plans_memos(search->cache);
  if (!module_plans_save(search->arena, search->tiler, memos, &best->before, forms, &saving.plans)) return STATUS_OK;
  RETURN_IF_ERROR(find_runs(search, saving.kernels, &saving.plans, &saving.bytes));
  KeptCost known = trial_cost(best), cost = trial_cost(&saving);
  if (is_saving(search->plans->machine, cost, known) && saving.bytes <= search->most) *best = saving;
  return STATUS_OK;
}

/* |best| with plans that move less in the room that residents leave, where that is worth what all of it takes then.
 * Those in which results take the place of sums make the Kernels after them wait, so that they are weighed alone. */
static Status try_savings(const ResidentSearch *search, KeepTrial *best) {
  bool is_meant = best->plans.has_residents && !best->is_saved;
  best->is_saved = true;
  if (!is_meant) return STATUS_OK;
  RETURN_IF_ERROR(try_forms(search, TILER_FORMS_PLAIN, best));
  return try_forms(search, TILER_FORMS_OVER_FOLDS, best);
}

/* Kernels that are as they were are priced in both trials, or in none. */
static void share_prices(KeepTrial *left, KeepTrial *right, int32_t count) {
  for (int32_t p = 0; p < count; p++) {
    ModulePlan *a = (ModulePlan *)&left->before.plans[p], *b = (ModulePlan *)&right->before.plans[p];
    if (a->verdict.machine == NULL) a->verdict = b->verdict;
    if (b->verdict.machine == NULL) b->verdict = a->verdict;
  }
}

/* --- cuts --- */

/* Cuts of sums, or into strips that take turns, move so many times the bytes of others at most: they make more Kernels.
 * What others load again may hide the gain: up to so many times the bytes both are compared with plans that save that.
 * Where strips that take turns move so many times the bytes of whole Kernels at most, others are looked for beside
 * them; and some of what is cut is left out where so many times the bytes of all of it are expected then.
 * Where Kernels are left out by themselves no more cycles than those of whole ones are expected: they are known less
 * well. */
static const double SUMS_BYTES = 0.99, CLOSE_BYTES = 1.03, ROUNDS_BYTES = 0.95, PART_BYTES = 0.97;

/* Kernels are left out by themselves where cuts make at most so many times as many: what is tried takes longer with
 * each. */
enum { MOST_PARTED = 8 };

/* How Kernels are cut: |base|, which is |whole|, or that with some that take turns, where that moves fewer bytes than
 * |best| in not many more cycles than |whole|. */
typedef struct CutTrials {
  KeepTrial whole, base;
  KeepTrial *best;
  bool has_rounds;
} CutTrials;

/* What of |units| is better left out of |cut|, NULL: nothing, or what is left is not worth it.  Members by themselves
 * where fewer bytes are expected of that. */
static const RunLeft *find_part(const ResidentSearch *search, const CutTrials *trials, const CutUnits *units,
                                const KeepTrial *cut) {
  const KeepTrial *base = &trials->base;
  PlansTrial from = {base->kernels, &base->before, &base->plans}, to = {cut->kernels, &cut->before, &cut->plans};
  KeptCost whole = trial_cost(&trials->whole), cost = trial_cost(cut);
  double limits[] = {most_cycles(whole), whole.cycles}, least = trial_cost(trials->best).bytes, more;
  const RunLeft *part = NULL;
  if (cost.cycles <= limits[0]) least = fmin(least, cost.bytes);
  bool may_part = cut->plans.use_count <= MOST_PARTED * base->plans.use_count;
  for (int i = 0; i < 1 + may_part; i++) {
    UnitsWanted wanted = {.room = limits[i] - trial_cost(base).cycles, .parts_units = i > 0};
    const RunLeft *leaves_out = module_plans_choose_units(search->arena, units, &from, &to, wanted, &more);
    if (leaves_out == NULL || cost.bytes + more >= PART_BYTES * least) continue;
    part = leaves_out;
    least = cost.bytes + more;
  }
  return part;
}

/* Takes |cut| as the best if it is better; what others load again is compared where that is close. */
static Status weigh_cut(const ResidentSearch *search, PlansCutWay way, const CutTrials *trials, KeepTrial *cut) {
  KeepTrial *best = trials->best;
  double limit = most_cycles(trial_cost(&trials->whole));
  KeptCost known = trial_cost(best), cost = trial_cost(cut);
  bool is_close = cost.bytes < known.bytes * CLOSE_BYTES && cost.cycles <= limit;
  if (cost.bytes >= known.bytes && (cost.cycles < known.cycles || is_close)) {
    RETURN_IF_ERROR(try_savings(search, cut));
    RETURN_IF_ERROR(try_savings(search, best));
    known = trial_cost(best);
    cost = trial_cost(cut);
  }
  double share = way != PLANS_CUT_POINTS ? SUMS_BYTES : 1;
  bool is_better = cost.bytes < share * known.bytes && cost.cycles <= limit;
  if (is_better && cut->plans.has_residents && cut->bytes <= search->most) *best = *cut;
  return STATUS_OK;
}

/* What has come of Kernels that were cut. */
typedef struct CutOutcome {
  bool is_cut;               /* some were */
  bool is_over;              /* in too many cycles */
  bool has_begun_anew;       /* as CutUnits says */
  const RunLeft *leaves_out; /* what of them to try without, by row; NULL: nothing */
} CutOutcome;

/* With some Kernels cut into strips. */
static Status try_cut(const ResidentSearch *search, PlansCut by, CutTrials *trials, CutOutcome *out) {
  KeepTrial *base = &trials->base, cut = {.policy = base->policy};
  PlacedModule placed = placed_with(search, base->kernels);
  CutPlans made;
  *out = (CutOutcome){0};
  out->is_cut = module_plans_cut(search->cache, &placed, by, &base->before, &base->plans, &made);
  if (!out->is_cut) return STATUS_OK;
  out->has_begun_anew = made.units.has_begun_anew;
  cut.kernels = made.kernels;
  cut.before = cut.plans = made.plans;
  RETURN_IF_ERROR(try_residents(search, cut.kernels, cut.policy, &cut.plans, &cut.bytes));
  if (cut.plans.lacks_plan) return STATUS_OK;
  share_prices(&cut, &trials->whole, trials->whole.before.count);
  share_prices(&cut, base, base->before.count);
  share_prices(&cut, trials->best, (int32_t)min_i64(trials->best->before.count, base->before.count));
  out->is_over = trial_cost(&cut).cycles > most_cycles(trial_cost(&trials->whole));
  if (by.leaves_out == NULL) out->leaves_out = find_part(search, trials, &made.units, &cut);
  return weigh_cut(search, by.way, trials, &cut);
}

/* |way|, and where less of it takes fewer cycles or moves fewer bytes, that as well.  |out|: of all of it. */
static Status try_way(const ResidentSearch *search, PlansCutWay way, CutTrials *trials, CutOutcome *out) {
  PlansCut cut = {way, NULL, trials->base.policy};
  RETURN_IF_ERROR(try_cut(search, cut, trials, out));
  if (out->leaves_out == NULL) return STATUS_OK;
  cut.leaves_out = out->leaves_out;
  return try_cut(search, cut, trials, &(CutOutcome){.is_cut = false});
}

/* In sequences that do not begin anew, where all of those that do take too many cycles: instead of what is best of
 * these, where fewer bytes move, or not many more in fewer cycles. */
static Status try_shorter(const ResidentSearch *search, const CutTrials *anew) {
  CutOutcome outcome;
  KeepTrial shorter = anew->whole, *best = anew->best;
  CutTrials trials = {.whole = anew->whole, .base = anew->whole, .best = &shorter};
  RETURN_IF_ERROR(try_way(search, PLANS_CUT_ROUNDS, &trials, &outcome));
  share_prices(&shorter, best, anew->whole.before.count);
  KeptCost cost = trial_cost(&shorter), known = trial_cost(best);
  bool is_faster = cost.cycles * MOST_CYCLES < known.cycles && cost.bytes < known.bytes * CLOSE_BYTES;
  if (cost.bytes < known.bytes * SUMS_BYTES || is_faster) *best = shorter;
  return STATUS_OK;
}

/* |best| with some Kernels cut into strips that take turns, where that pays. */
static Status try_rounds(const ResidentSearch *search, KeepTrial *best, CutTrials *out_trials) {
  CutOutcome outcome;
  *out_trials = (CutTrials){.whole = *best, .base = *best, .best = best};
  RETURN_IF_ERROR(try_way(search, PLANS_CUT_ROUNDS_ANEW, out_trials, &outcome));
  if (outcome.is_over && outcome.has_begun_anew) RETURN_IF_ERROR(try_shorter(search, out_trials));
  out_trials->has_rounds = trial_cost(best).bytes <= trial_cost(&out_trials->whole).bytes * ROUNDS_BYTES;
  if (out_trials->has_rounds) out_trials->base = *best;
  return STATUS_OK;
}

/* With others cut, beside those that take turns or instead of them; those that fold as well where that pays more. */
static Status try_others(const ResidentSearch *search, CutTrials *trials) {
  CutOutcome outcome;
  if (!trials->has_rounds) RETURN_IF_ERROR(try_way(search, PLANS_CUT_POINTS, trials, &outcome));
  RETURN_IF_ERROR(try_way(search, PLANS_CUT_SUMS, trials, &outcome));
  if (!trials->has_rounds || outcome.is_cut) return STATUS_OK;
  return try_way(search, PLANS_CUT_POINTS, trials, &outcome);
}

static Status try_strips(const ResidentSearch *search, KeepTrial *best) {
  CutTrials trials;
  RETURN_IF_ERROR(try_rounds(search, best, &trials));
  return try_others(search, &trials);
}

/* --- policies --- */

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
static Status try_adding(const ResidentSearch *search, Addition addition, KeepTrial *best) {
  KeepTrial other = {best->kernels, best->before, best->before, best->policy, 0, false};
  bool is_cut = best->kernels != search->kernels; /* what is too large stays in parts of it already */
  if (!add_to_policy(&best->plans, addition, &other.policy) || (is_cut && other.policy.takes_parts)) return STATUS_OK;
  RETURN_IF_ERROR(try_residents(search, other.kernels, other.policy, &other.plans, &other.bytes));
  KeptCost known = trial_cost(best), cost = trial_cost(&other);
  if (cost.bytes < known.bytes && cost.cycles <= known.cycles && other.bytes <= search->most) *best = other;
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
static Status cut_both(const ResidentSearch *search, KeepTrial *rest, KeepTrial *best) {
  int32_t count = best->before.count;
  KeptCost cost = trial_cost(rest), known = trial_cost(best);
  CutTrials trials, rest_trials;
  bool is_promising = cost.cycles <= known.cycles * MOST_CYCLES && rest->bytes <= search->most &&
                      (cost.bytes < known.bytes || cost.cycles < known.cycles);
  RETURN_IF_ERROR(try_rounds(search, best, &trials));
  if (!is_promising) return try_others(search, &trials);
  RETURN_IF_ERROR(try_adding(search, ADD_REFILLS, rest));
  RETURN_IF_ERROR(try_rounds(search, rest, &rest_trials));
  if (trials.has_rounds && rest_trials.has_rounds) {
    rest_trials.best = best;
    bool is_rest = take_rest(rest, best, count);
    return try_others(search, is_rest ? &rest_trials : &trials);
  }
  RETURN_IF_ERROR(try_others(search, &trials));
  RETURN_IF_ERROR(try_others(search, &rest_trials));
  RETURN_IF_ERROR(try_savings(search, rest));
  RETURN_IF_ERROR(try_savings(search, best));
  take_rest(rest, best, count);
  return STATUS_OK;
}

/* By the policies that tell something of |before|.  The last of |out_trials| is by policy_beside if |*out_lacks|. */
static Status try_policies(const ResidentSearch *search, const ModulePlans *before, KeepTrial *out_trials,
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
    *trial = (KeepTrial){search->kernels, *before, *before, policy, 0, false};
    RETURN_IF_ERROR(try_residents(search, trial->kernels, trial->policy, &trial->plans, &trial->bytes));
    *out_lacks = policy.knows_held;
  }
  *out_count = count;
  return STATUS_OK;
}

/* What of all trials is best; |*out_found| false: none has so few bytes of workspace. */
static Status find_best(const ResidentSearch *search, ResidentChoice *out_choice, bool *out_found) {
  ModulePlans before = *search->plans;
  KeepTrial tried[POLICIES + 1];
  int32_t count;
  bool lacks_room;
  before.plans = ARENA_COPY_ARRAY(search->arena, ModulePlan, before.plans, before.count);
  RETURN_IF_ERROR(try_policies(search, &before, tried, &count, &lacks_room));
  KeepTrial *best = choose_trial(tried, lacks_room ? count - 1 : count, search->most);
  *out_found = best != NULL;
  if (best == NULL) return STATUS_OK;
  RETURN_IF_ERROR(try_adding(search, ADD_REFILLS, best));
  RETURN_IF_ERROR(lacks_room ? cut_both(search, &tried[count - 1], best) : try_strips(search, best));
  RETURN_IF_ERROR(try_adding(search, ADD_PARTS, best));
  RETURN_IF_ERROR(try_adding(search, ADD_PARTS_BESIDE, best));
  RETURN_IF_ERROR(try_savings(search, best));
  RETURN_IF_ERROR(lay_out(search, &best->plans, &best->bytes));
  *out_choice = (ResidentChoice){best->kernels, best->plans, best->bytes};
  return STATUS_OK;
}

Status resident_search_run(ResidentSearch *search, ResidentChoice *out_choice, bool *out_found) {
  search->cache = kept_plans_create(search->arena, search->plans->machine, search->tiler);
  Status status = find_best(search, out_choice, out_found);
  kept_plans_destroy(search->cache);
  search->cache = NULL;
  return status;
}
