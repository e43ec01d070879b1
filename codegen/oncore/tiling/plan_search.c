#include <math.h>

#include "codegen/oncore/plan/plan_stream.h"
#include "codegen/oncore/tiling/plan_spread.h"
#include "codegen/oncore/tiling/tiler_internal.h"
#include "codegen/oncore/tiling/tiling_memo.h"
#include "hlo/machine/stream/queue_simulation.h"

/* Which of all plans of a Kernel: the tilings of each form that are best by estimate, then steps from the best of them,
 * priced by simulation. */

/* --- what has a rule --- */

static Status refuse(const Kernel *kernel, DiagSink *diag, const char *what) {
  return diag_error(diag, STATUS_UNSUPPORTED, kernel->source->loc, "unsupported-oncore",
                    "'%.*s': %s no rule on a vector processor yet", SV_ARG(kernel->source->name), what);
}

static Status check_rules(const Kernel *kernel, DiagSink *diag) {
  if (kernel->part_count > 0) return refuse(kernel, diag, "fusions of fusions have");
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (tile_is_updated(kernel, store->buffer)) continue;
      if (store->predicate >= 0) return refuse(kernel, diag, "results stored under a condition have");
      if (!tile_address_is_linear(kernel, store->address))
        return refuse(kernel, diag, "results stored at computed places have");
    }
  }
  return STATUS_OK;
}

/* --- tilings by estimate --- */

/* Tilings whose estimates are this close to the best one's are compared by simulation, so many at most. */
#define CLOSE_ENOUGH 1.3
enum { MOST_COMPARED = 10, DEEPEST = 3 };

/* Less than the estimate's error is no reason to take another depth, nor less than a percent of the simulation to take
 * a tiling of another form; a step is taken for less. */
static const double WORTHWHILE = 0.98, FASTER = 0.99, STEP_FASTER = 0.998;

/* No search goes on this close to what the commands of any plan take. */
static const double GOOD_ENOUGH = 1.02;

/* Plans with more command instances are not compared by simulation; all that are may have so many in all, for each unit
 * of effort. */
#define MOST_COMPARED_INSTANCES (INT64_C(1) << 14)
#define INSTANCES_BY_EFFORT (INT64_C(1) << 14)
enum { LEAST_PRICE = 256 }; /* instances that making a plan is worth */

typedef struct TilingList {
  int32_t count;
  Tiling tilings[DEEPEST * TILING_CHOICES];
} TilingList;

/* Cut positions are for windows that are too large for anything else: those of neighbouring parts share elements, which
 * are loaded again.  They stay where that moves so many times the bytes of the best other tiling at most. */
static const double CUT_TRANSFERS = 0.75;

static void drop_cut_positions(TilingList *list) {
  int32_t other = 0, kept = 0;
  while (other < list->count && list->tilings[other].cuts_positions) other++;
  double most = other < list->count ? CUT_TRANSFERS * list->tilings[other].transfers : INFINITY;
  for (int32_t i = 0; i < list->count; i++) {
    if (list->tilings[i].cuts_positions && list->tilings[i].transfers > most) continue;
    list->tilings[kept++] = list->tilings[i];
  }
  list->count = kept;
}

static TilingScope scope_of(const TilerRequest *request, int32_t depth) {
  TilingScope scope = tiler_scope(request->kernel, request->machine, request->options, depth);
  scope.memo = request->memo;
  return scope;
}

/* By estimate, the best first.  Two slots let transfers and operations overlap; one has larger tiles and fewer
 * transfers; three are for commands that take unequal times, and for tiles in place. */
static Status list_tilings(Arena *arena, const TilerRequest *request, DiagSink *diag, TilingList *out_list) {
  static const int32_t depths[DEEPEST] = {2, 1, 3};
  int32_t given = request->options->pipeline_depth;
  Arena *scratch = arena_create();
  DiagSink quiet;
  diag_sink_init(&quiet, scratch);
  *out_list = (TilingList){0};
  for (int32_t i = 0; i < (given > 0 ? 1 : DEEPEST); i++) {
    TilingScope scope = scope_of(request, given > 0 ? given : depths[i]);
    TilingChoices choices;
    if (tiling_search_forms(scratch, &scope, &quiet, &choices) != STATUS_OK) continue;
    for (int32_t c = 0; c < choices.count; c++) {
      int32_t at = out_list->count++;
      for (; at > 0 && choices.tilings[c].cycles < WORTHWHILE * out_list->tilings[at - 1].cycles; at--)
        out_list->tilings[at] = out_list->tilings[at - 1];
      out_list->tilings[at] = choices.tilings[c];
    }
  }
  arena_destroy(scratch);
  drop_cut_positions(out_list);
  if (out_list->count > 0) return STATUS_OK;
  TilingScope scope = scope_of(request, given > 0 ? given : 1);
  return tiling_search(arena, &scope, diag, &out_list->tilings[0]);
}

/* |request|, with a memo of its own where it has none; to be ended by end_memo. */
static TilerRequest begin_memo(const TilerRequest *request) {
  TilerRequest own = *request;
  if (own.memo == NULL) own.memo = tiling_memo_create(own.kernel, own.machine, machine_buffer_usable(own.machine));
  return own;
}

static void end_memo(const TilerRequest *request, const TilerRequest *own) {
  if (request->memo == NULL) tiling_memo_destroy(own->memo);
}

double tiler_estimate(const TilerRequest *request) {
  TilerRequest own = begin_memo(request);
  Arena *scratch = arena_create();
  DiagSink quiet;
  diag_sink_init(&quiet, scratch);
  TilingList *list = ARENA_NEW(scratch, TilingList);
  double cycles = INFINITY;
  Status status = check_rules(request->kernel, &quiet);
  if (status == STATUS_OK) status = list_tilings(scratch, &own, &quiet, list);
  for (int32_t i = 0; status == STATUS_OK && i < list->count; i++) cycles = fmin(cycles, list->tilings[i].cycles);
  arena_destroy(scratch);
  end_memo(request, &own);
  return cycles;
}

/* --- plans by simulation --- */

typedef struct PlanSearch {
  Arena *arena;
  const TilerRequest *request; /* with a memo */
  const MachineDescription *machine;
  DiagSink quiet; /* what others cannot do is no matter */
  int64_t budget; /* instances that may be simulated yet */
  double enough;  /* cycles: what is as fast need not be improved */
  const Plan *best;
  double least;  /* its cycles */
  Tiling tiling; /* its own */
} PlanSearch;

/* All dims in one tile. */
static Tiling whole_tiling(const Kernel *kernel) {
  Tiling whole = {.depth = 1, .holds_windows = true};
  for (int32_t d = 0; d < kernel->dim_count; d++) whole.extents[d] = kernel->dims[d].extent;
  return whole;
}

/* What every plan has to move and compute. */
static double least_cycles(const PlanSearch *search) {
  Arena *scratch = arena_create();
  Tiling whole = whole_tiling(search->request->kernel);
  TileOutline outline;
  TilingCost cost;
  DiagSink quiet;
  diag_sink_init(&quiet, scratch);
  tile_outline_make(scratch, search->request->kernel, search->machine, &whole, &outline);
  Status status = tile_outline_cost(&outline, &quiet, &cost);
  double cycles = status == STATUS_OK ? cost.busiest : 0;
  arena_destroy(scratch);
  return cycles;
}

/* Makes the plan of |tiling| and keeps it if it takes less than |share| of the best one's cycles. */
static Status price(PlanSearch *search, const Tiling *tiling, double share, bool *out_better) {
  const Plan *plan;
  double cycles;
  *out_better = false;
  Arena *arena = arena_create();
  Status status = tiler_plan_tiling(arena, search->request, tiling, true, &search->quiet, &plan);
  bool is_short = status == STATUS_OK && plan_instance_count(plan) <= MOST_COMPARED_INSTANCES;
  if (!is_short) {
    arena_destroy(arena);
    return STATUS_OK;
  }
  search->budget -= LEAST_PRICE + plan_instance_count(plan);
  status = tiler_simulate(plan, search->machine, &search->quiet, &cycles);
  *out_better = status == STATUS_OK && cycles < share * search->least;
  arena_destroy(arena);
  if (!*out_better) return status;
  status = tiler_plan_tiling(search->arena, search->request, tiling, false, &search->quiet, &plan);
  *out_better = status == STATUS_OK;
  if (!*out_better) return STATUS_OK;
  search->least = cycles;
  search->tiling = *tiling;
  search->best = plan;
  return STATUS_OK;
}

static bool goes_on(const PlanSearch *search) {
  return search->budget > 0 && search->least > search->enough;
}

/* Steps from the best tiling while one is faster, those first that should be by estimate. */
static Status step_on(PlanSearch *search) {
  TilingScope scope = scope_of(search->request, search->tiling.depth);
  for (bool moved = true; moved && goes_on(search);) {
    TilingChoices choices;
    Arena *scratch = arena_create();
    Status status = tiling_neighbours(scratch, &scope, &search->tiling, search->request->options->pipeline_depth > 0,
                                      &search->quiet, &choices);
    arena_destroy(scratch);
    RETURN_IF_ERROR(status);
    moved = false;
    for (int32_t c = 0; c < choices.count && !moved && goes_on(search); c++)
      RETURN_IF_ERROR(price(search, &choices.tilings[c], STEP_FASTER, &moved));
  }
  return STATUS_OK;
}

/* The plans of tilings that are about as good by estimate, compared by simulation, then steps from the best. */
static Status find_better(PlanSearch *search, const TilingList *list) {
  bool better;
  if (machine_has_spare_queues(search->machine) || plan_instance_count(search->best) > MOST_COMPARED_INSTANCES)
    return STATUS_OK;
  RETURN_IF_ERROR(tiler_simulate(search->best, search->machine, &search->quiet, &search->least));
  search->enough = GOOD_ENOUGH * least_cycles(search);
  for (int32_t i = 1; i < list->count && i < MOST_COMPARED && goes_on(search); i++) {
    if (list->tilings[i].cycles > CLOSE_ENOUGH * list->tilings[0].cycles) continue;
    RETURN_IF_ERROR(price(search, &list->tilings[i], FASTER, &better));
  }
  return step_on(search);
}

/* Results in the place of sums make what comes next wait until they have gone out, which only overlaps of Kernels show:
 * a plan with them takes such a share of another's cycles at most. */
static const double OVER_FOLDS_FASTER = 0.95;

/* Plans in which results take the place of sums, where the best loads much again. */
static Status try_over_folds(PlanSearch *search) {
  static const int32_t depths[] = {2, 1};
  int32_t given = search->request->options->pipeline_depth;
  bool better = false;
  if (!tiling_loads_again(search->request->kernel, search->machine, &search->tiling)) return STATUS_OK;
  for (int d = 0; d < (given > 0 ? 1 : 2) && goes_on(search); d++) {
    TilingScope scope = scope_of(search->request, given > 0 ? given : depths[d]);
    TilingChoices choices;
    Arena *scratch = arena_create();
    Status status = tiling_search_over_folds(scratch, &scope, &search->quiet, &choices);
    arena_destroy(scratch);
    if (status != STATUS_OK || choices.count == 0 || choices.tilings[0].cycles > OVER_FOLDS_FASTER * search->least)
      continue;
    bool is_faster;
    RETURN_IF_ERROR(price(search, &choices.tilings[0], OVER_FOLDS_FASTER, &is_faster));
    better = better || is_faster;
  }
  return better ? step_on(search) : STATUS_OK;
}

static Status search_plan(Arena *arena, const TilerRequest *request, DiagSink *diag, const Plan **out_plan) {
  TilingList *list = ARENA_NEW(arena, TilingList);
  RETURN_IF_ERROR(list_tilings(arena, request, diag, list));
  PlanSearch search = {.arena = arena, .request = request, .machine = request->machine};
  diag_sink_init(&search.quiet, arena);
  search.tiling = list->tilings[0];
  search.budget = scope_of(request, 1).effort * INSTANCES_BY_EFFORT;
  RETURN_IF_ERROR(tiler_plan_tiling(arena, request, &search.tiling, false, diag, &search.best));
  RETURN_IF_ERROR(find_better(&search, list));
  RETURN_IF_ERROR(try_over_folds(&search));
  *out_plan = search.best;
  return STATUS_OK;
}

Status tiler_plan(Arena *arena, const TilerRequest *request, DiagSink *diag, const Plan **out_plan) {
  RETURN_IF_ERROR(check_rules(request->kernel, diag));
  TilerRequest own = begin_memo(request);
  Status status = search_plan(arena, &own, diag, out_plan);
  end_memo(request, &own);
  return status;
}

const Plan *tiler_plan_whole(Arena *arena, const TilerRequest *request) {
  Tiling whole = whole_tiling(request->kernel);
  TileOutline outline;
  DiagSink quiet;
  const Plan *plan;
  diag_sink_init(&quiet, arena);
  if (check_rules(request->kernel, &quiet) != STATUS_OK) return NULL;
  tile_outline_make(arena, request->kernel, request->machine, &whole, &outline);
  if (tile_outline_footprint(&outline) > machine_buffer_usable(request->machine)) return NULL;
  Status status = tiler_plan_tiling(arena, request, &whole, false, &quiet, &plan);
  return status == STATUS_OK ? plan : NULL;
}

/* --- plans that move less --- */

static int32_t search_saving(Arena *arena, const TilerRequest *request, TilerForms forms, int32_t most,
                             const Plan **out_plans) {
  DiagSink quiet;
  diag_sink_init(&quiet, arena);
  int32_t count = 0, given = request->options->pipeline_depth;
  TilingScope scope = scope_of(request, given > 0 ? given : 2);
  TilingChoices choices = {0};
  scope.transfers = TILER_TRANSFERS_WEIGHT;
  scope.over_folds = forms != TILER_FORMS_PLAIN;
  Status status = forms == TILER_FORMS_OVER_FOLDS ? tiling_search_over_folds(arena, &scope, &quiet, &choices)
                                                  : tiling_search_forms(arena, &scope, &quiet, &choices);
  for (int32_t c = 0; status == STATUS_OK && c < choices.count && count < most; c++) {
    if (choices.tilings[c].cycles > CLOSE_ENOUGH * choices.tilings[0].cycles) break;
    Status made = tiler_plan_tiling(arena, request, &choices.tilings[c], false, &quiet, &out_plans[count]);
    count += made == STATUS_OK;
  }
  return count;
}

int32_t tiler_plans_saving(Arena *arena, const TilerRequest *request, const bool *held, TilerForms forms, int32_t most,
                           const Plan **out_plans) {
  DiagSink quiet;
  diag_sink_init(&quiet, arena);
  if (machine_has_spare_queues(request->machine) || check_rules(request->kernel, &quiet) != STATUS_OK) return 0;
  TilerRequest own = begin_memo(request);
  if (held != NULL) tiling_memo_hold(own.memo, held);
  int32_t count = search_saving(arena, &own, forms, most, out_plans);
  end_memo(request, &own);
  return count;
}
