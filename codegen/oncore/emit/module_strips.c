#include "codegen/oncore/emit/module_strips.h"

#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/run_rounds.h"
#include "codegen/oncore/run/run_strips.h"
#include "hlo/analysis/execution_counts.h"

typedef struct StripPlan {
  const Plan *plan; /* NULL: there is none */
} StripPlan;

typedef struct StripPlanner {
  Arena *arena;
  const ModulePlans *before, *best;
  KeptPlans *cache;
  DiagSink *diag;
  const KernelTable *whole; /* before, … */
  KernelTable *kernels;     /* … and after */
  RunCuts cuts;
  RunRoom *rooms; /* by identity of a strip, less those of |whole|: the least that one of them has */
  bool sees;      /* the policy's */
  ARRAY(ModulePlan) plans;
  ARRAY(PlanUse) uses;
} StripPlanner;

static const Plan *plan_to_cut(void *self, const KernelUse *use) {
  const StripPlanner *planner = self;
  return module_plans_to_change(planner->before, use);
}

static bool keeps_buffer(void *self, const KernelUse *use, int32_t buffer) {
  const StripPlanner *planner = self;
  const Plan *plan = module_plans_of(planner->best, use);
  for (int32_t t = 0; t < plan->tensor_count; t++)
    if (plan->tensors[t].hold != PLAN_HOLDS_NOTHING && plan->tensors[t].held == buffer) return true;
  return false;
}

/* The number in |kernel| of what is |buffer| of |whole|, of which it is a strip. */
static int32_t strip_buffer(const Kernel *kernel, const Kernel *whole, int32_t buffer) {
  const KernelBuffer *of = &whole->buffers[buffer];
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *other = &kernel->buffers[b];
    if (other->role == of->role && other->operand == of->operand && other->node == of->node) return b;
  }
  XLAC_BUG("a strip without the array of which a part stays");
}

static void find_rooms(StripPlanner *planner) {
  int32_t count = planner->kernels->identity_count - planner->whole->identity_count;
  planner->rooms = ARENA_NEW_ARRAY(planner->arena, RunRoom, count + 1);
  for (int32_t i = 0; i < count; i++) planner->rooms[i].bytes = INT64_MAX;
  for (int64_t r = 0; r < planner->whole->rows.count; r++) {
    const KernelUses *row = &planner->whole->rows.data[r];
    const KernelUse *made = planner->kernels->rows.data[r].uses;
    for (int32_t i = 0; i < row->count; i++) {
      const KernelCut *cut = kernel_cut_of(planner->cuts.cuts, planner->cuts.count, &row->uses[i]);
      for (int32_t s = 0; cut != NULL && s < cut->count; s++) {
        const RunRoom *room = &planner->cuts.rooms[cut - planner->cuts.cuts].strips[s];
        RunRoom *least = &planner->rooms[made[s].identity - planner->whole->identity_count];
        if (room->bytes >= least->bytes) continue;
        *least = *room;
        if (room->part >= 0) least->part = strip_buffer(made[s].kernel, row->uses[i].kernel, room->part);
      }
      made += cut != NULL ? cut->count : 1;
    }
  }
}

/* A plan whose tiles, without copies of the part, have |room|; NULL: there is none. */
static const Plan *plan_beside(StripPlanner *planner, const Kernel *kernel, StringView name, const RunRoom *room) {
  const Plan *plan = NULL;
  int64_t begin, end;
  if (room->plan_bytes > room->bytes) {
    plan = module_plan_within(planner->cache, kernel, name, (PlanRoom){.bytes = room->plan_bytes}, planner->diag);
    if (plan != NULL) plan_own_bytes(plan, &begin, &end);
    if (plan != NULL && end - begin - plan_copied_bytes(plan, room->part, planner->sees) <= room->bytes) return plan;
  }
  return module_plan_within(planner->cache, kernel, name, (PlanRoom){.bytes = room->bytes}, planner->diag);
}

/* The same, made once for equal strips with as much room, those of other cuts as well. */
static const Plan *known_plan_beside(StripPlanner *planner, const Kernel *kernel, StringView name,
                                     const RunRoom *room) {
  StringView text = kernel_text(planner->arena, kernel);
  StringView key = sv_from_cstring(arena_printf(planner->arena, "%.*s in %" PRId64 " and %" PRId64 " beside %d",
                                                SV_ARG(text), room->bytes, room->plan_bytes, room->part));
  StringMap *strips = kept_plans_strips(planner->cache);
  StripPlan *known = string_map_get(strips, key);
  if (known == NULL) {
    known = ARENA_NEW(planner->arena, StripPlan);
    known->plan = plan_beside(planner, kernel, name, room);
    string_map_set(strips, key, known);
  }
  return known->plan;
}

/* The plan of strip |use|, a number; -1: it has none. */
static int32_t strip_plan(StripPlanner *planner, int32_t *plan_of_identity, const KernelUse *use, StringView name) {
  int32_t *number = &plan_of_identity[use->identity];
  if (*number >= 0) return *number;
  const RunRoom *room = &planner->rooms[use->identity - planner->whole->identity_count];
  ModulePlan made = {.plan = known_plan_beside(planner, use->kernel, name, room)};
  if (made.plan == NULL) return -1;
  *number = (int32_t)planner->plans.count;
  array_push(&planner->plans, planner->arena, made);
  return *number;
}

/* Kernels that are cut have a price, which is compared with that of their strips. */
static Status price_whole(StripPlanner *planner) {
  for (int64_t c = 0; c < planner->cuts.count; c++) {
    ModulePlan *plan = &planner->plans.data[module_plans_number(planner->before, planner->cuts.cuts[c].use)];
    if (plan->verdict.machine != NULL) continue;
    RETURN_IF_ERROR(plan_check(planner->arena, plan->plan, planner->before->machine, planner->diag, &plan->verdict));
  }
  return STATUS_OK;
}

/* False: a strip has no plan. */
static bool plan_strips(StripPlanner *planner, const double *times, int32_t *plan_of_identity) {
  for (int64_t r = 0; r < planner->kernels->rows.count; r++) {
    const KernelUses *row = &planner->kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      const KernelUse *use = &row->uses[i];
      StringView name = kernel_use_name(planner->arena, use);
      bool is_strip = use->identity >= planner->whole->identity_count; /* others were there before */
      int32_t number =
          !is_strip ? module_plans_number(planner->before, use) : strip_plan(planner, plan_of_identity, use, name);
      if (number < 0 && is_strip) return false;
      array_push(&planner->uses, planner->arena,
                 ((PlanUse){number, name, times[row->instruction->parent->id], use->instruction, use->kernel}));
    }
  }
  return true;
}

/* |before| with the plans of strips. */
static ModulePlans plans_with_strips(const StripPlanner *planner, const int32_t *plan_of_identity) {
  ModulePlans plans = *planner->before;
  plans.count = (int32_t)planner->plans.count;
  plans.plans = planner->plans.data;
  plans.use_count = planner->uses.count;
  plans.uses = planner->uses.data;
  plans.identity_count = planner->kernels->identity_count;
  plans.plan_of_identity = plan_of_identity;
  return plans;
}

bool module_plans_cut(KeptPlans *cache, const PlacedModule *placed, PlansCut cut, const ModulePlans *before,
                      const ModulePlans *best, CutPlans *out_cut) {
  Arena *arena = kept_plans_arena(cache);
  const TilerOptions *options = kept_plans_options(cache);
  if (options->no_residency || options->scheme != SCHEME_NONE) return false;
  DiagSink quiet; /* what does not work is left as it is */
  diag_sink_init(&quiet, arena);
  StripPlanner planner = {.arena = arena, .before = before, .best = best, .cache = cache, .diag = &quiet};
  ResidencyModel model = {.self = &planner, .policy = cut.policy, .plan = plan_to_cut, .keeps = keeps_buffer};
  planner.whole = placed->kernels;
  planner.sees = cut.policy.sees_windows;
  if (cut.way == PLANS_CUT_ROUNDS || cut.way == PLANS_CUT_ROUNDS_ANEW)
    planner.cuts = run_rounds_find(arena, placed, &model, cut.leaves_out, cut.way == PLANS_CUT_ROUNDS_ANEW);
  else
    planner.cuts = run_strips_find(arena, placed, &model, cut.leaves_out, cut.way == PLANS_CUT_SUMS);
  if (planner.cuts.count == 0) return false;
  planner.kernels = kernel_table_cut(arena, planner.whole, planner.cuts.cuts, planner.cuts.count);
  find_rooms(&planner);
  for (int64_t t = 0; t < planner.cuts.turns_count; t++)
    kernel_table_take_turns(planner.kernels, &planner.cuts.turns[t]);
  int32_t count = planner.kernels->identity_count;
  int32_t *plan_of_identity = ARENA_NEW_ARRAY(arena, int32_t, count);
  for (int32_t i = 0; i < count; i++)
    plan_of_identity[i] = i < before->identity_count ? before->plan_of_identity[i] : -1;
  for (int32_t p = 0; p < before->count; p++) array_push(&planner.plans, arena, before->plans[p]);
  if (price_whole(&planner) != STATUS_OK) return false;
  if (!plan_strips(&planner, hlo_execution_counts(arena, placed->module, 1), plan_of_identity)) return false;
  *out_cut = (CutPlans){planner.kernels,
                        plans_with_strips(&planner, plan_of_identity),
                        {planner.cuts.unit_count, planner.cuts.units, planner.cuts.has_begun_anew}};
  return true;
}
