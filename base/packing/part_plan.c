/* One part by all means: dives, then the exact search at falling capacities. */
#include "base/checked_math.h"
#include "base/packing/part.h"

/* The orders that dives and searches take, the most promising first (see part_rank). */
static const char *const DIVE_ORDERS[] = {"TWA", "TAW", "WAT", "AWT", "ZTW", "TZW"};
static const char *const SEARCH_ORDERS[] = {"TWA", "TAW", "TWU", "WAT"};

enum {
  DIVE_ORDER_COUNT = sizeof DIVE_ORDERS / sizeof DIVE_ORDERS[0],
  SEARCH_ORDER_COUNT = sizeof SEARCH_ORDERS / sizeof SEARCH_ORDERS[0],
  MOST_SEARCHED_PAIRS = 1 << 21,
  FIRST_LIMIT = 1 << 20 /* steps of the first searches */
};

/* What a dive of |part| may take before it is given up for being quadratic. */
static int64_t dive_limit(const Part *part) {
  return INT64_C(2000) * part->item_count + 100000;
}

PartPlan part_plan_first(Arena *arena, const Part *part, int64_t goal, Work *work) {
  PartPlan plan = {.part = part, .bound = part->bound, .height = INT64_MAX};
  int64_t *offsets = ARENA_NEW_ARRAY(arena, int64_t, part->item_count + 1);
  plan.offsets = ARENA_NEW_ARRAY(arena, int64_t, part->item_count + 1);
  Arena *scratch = arena_create();
  for (int o = 0; o < DIVE_ORDER_COUNT && plan.height > goal; o++) {
    arena_reset(scratch);
    int32_t *rank = ARENA_NEW_ARRAY(scratch, int32_t, part->item_count + 1);
    part_rank(part, scratch, DIVE_ORDERS[o], rank);
    Work limit = {dive_limit(part)};
    if (o > 0) limit.left = min_i64(limit.left, work->left);
    int64_t before = limit.left, height = part_dive(part, scratch, rank, &limit, offsets);
    work->left -= before - max_i64(0, limit.left);
    if (height < 0 && o == 0) height = part_stack(part, scratch, rank, offsets);
    if (height < 0) break;
    if (height >= plan.height) continue;
    plan.height = height;
    memcpy(plan.offsets, offsets, (size_t)part->item_count * sizeof(int64_t));
  }
  arena_destroy(scratch);
  return plan;
}

/* ---- the search at falling capacities ---- */

typedef struct Sweep {
  PartPlan *plan;
  Search *search;
  int32_t *ranks[SEARCH_ORDER_COUNT];
  int64_t *offsets;
  PartAim aim;
  Work *work;
} Sweep;

/* Tries each order within |limit| steps; what is found or proved goes into the plan. */
static SearchResult sweep_try(Sweep *sweep, int64_t capacity, int64_t limit) {
  PartPlan *plan = sweep->plan;
  for (int o = 0; o < SEARCH_ORDER_COUNT && sweep->work->left > 0; o++) {
    Work work = {min_i64(limit, sweep->work->left)};
    int64_t before = work.left;
    SearchResult result = search_run(sweep->search, sweep->ranks[o], capacity, &work, sweep->offsets);
    sweep->work->left -= before - work.left;
    if (result == SEARCH_LIMIT) continue;
    if (result == SEARCH_NONE) {
      int64_t unit = search_unit(sweep->search);
      plan->bound = max_i64(plan->bound, (capacity / unit + 1) * unit);
    } else {
      plan->height = part_height(plan->part, sweep->offsets);
      memcpy(plan->offsets, sweep->offsets, (size_t)plan->part->item_count * sizeof(int64_t));
    }
    return result;
  }
  return SEARCH_LIMIT;
}

static bool sweep_is_done(const Sweep *sweep) {
  const PartPlan *plan = sweep->plan;
  return plan->height <= sweep->aim.goal || plan->height <= plan->bound || sweep->work->left <= 0 ||
         (sweep->aim.is_capacity && plan->bound > sweep->aim.goal);
}

/* Halves what lies between the bound and the plan: what was not found within |limit| counts as not there for now. */
static void sweep_bisect(Sweep *sweep, int64_t limit) {
  PartPlan *plan = sweep->plan;
  int64_t low = max_i64(sweep->aim.goal, plan->bound) - 1, step = max_i64(1, plan->bound / 512);
  for (int64_t capacity = low + 1; !sweep_is_done(sweep) && capacity < plan->height;) {
    SearchResult result = sweep_try(sweep, capacity, limit);
    if (result != SEARCH_FOUND) low = capacity;
    if (result == SEARCH_NONE) step = 1;
    low = max_i64(low, plan->bound - 1);
    if (plan->height - low <= step) break;
    capacity = low + (plan->height - low) / 2;
  }
}

void part_plan_improve(PartPlan *plan, PartAim aim, Work *work) {
  if (plan->height <= aim.goal || plan->height <= plan->bound) return;
  Arena *scratch = arena_create();
  Sweep sweep = {.plan = plan, .aim = aim, .work = work};
  sweep.search = search_create(scratch, plan->part, MOST_SEARCHED_PAIRS);
  if (sweep.search != NULL) {
    sweep.offsets = ARENA_NEW_ARRAY(scratch, int64_t, plan->part->item_count + 1);
    for (int o = 0; o < SEARCH_ORDER_COUNT; o++) {
      sweep.ranks[o] = ARENA_NEW_ARRAY(scratch, int32_t, plan->part->item_count + 1);
      part_rank(plan->part, scratch, SEARCH_ORDERS[o], sweep.ranks[o]);
    }
    for (int64_t limit = FIRST_LIMIT; !sweep_is_done(&sweep); limit *= 4) sweep_bisect(&sweep, limit);
  }
  arena_destroy(scratch);
}
