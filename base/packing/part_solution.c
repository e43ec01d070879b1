/* One part by all means: dives, then the exact search at falling capacities. */
#include "base/checked_math.h"
#include "base/packing/part.h"

/* The orders that dives and searches take, the most promising first (see part_rank). */
static const char *const DIVE_ORDERS[] = {"TWA", "TAW", "WAT", "AWT", "ZTW", "TZW"};
static const char *const LARGE_DIVE_ORDERS[] = {"AWT", "TWA", "TAW", "TZW", "ZTW", "WAT"}; /* the cheap ones first */

/* And where a placement has cut time in two, between what meets equally much to come.  What met most at first may meet
 * little by then: for some problems it is no matter, for others all that matters. */
static const struct {
  const char *letters, *cut_letters;
} SEARCH_ORDERS[] = {{"TWA", "TWA"}, {"TW", "TW"}, {"TW", "W"}, {"TAW", "TAW"}, {"TWU", "TWU"}};

enum {
  DIVE_ORDER_COUNT = sizeof DIVE_ORDERS / sizeof DIVE_ORDERS[0],
  SEARCH_ORDER_COUNT = sizeof SEARCH_ORDERS / sizeof SEARCH_ORDERS[0],
  MOST_SEARCHED_PAIRS = 1 << 21
};

/* A round of searches: at the goal with GOAL_ORDERS, then below the solution with the first |sweep_orders|, by steps of
 * what lies between bound and solution over |divisor|, until |failures| in a row found nothing. */
typedef struct Round {
  int64_t goal_limit, sweep_limit; /* steps of one search */
  int sweep_orders, divisor, failures;
} Round;

/* Whether a capacity is found within some steps depends on luck more than on how low it is: many capacities with few
 * steps each find more than one with many. */
static const Round ROUNDS[] = {
    {3200000, 3000000, 2, 24, 6},     {9600000, 12000000, 2, 24, 8},     {28800000, 35000000, 2, 32, 8},
    {86400000, 120000000, 1, 64, 16}, {345600000, 480000000, 2, 64, 64},
};

enum { ROUND_COUNT = sizeof ROUNDS / sizeof ROUNDS[0] };

/* The orders that are good at the goal; the last one only where a goal above the bound leaves slack. */
static const int GOAL_ORDERS[] = {3, 0, 2, 4};

enum { GOAL_ORDER_COUNT = sizeof GOAL_ORDERS / sizeof GOAL_ORDERS[0] };

static const int32_t *rank_by(const Part *part, Arena *scratch, const char *letters) {
  int32_t *rank = ARENA_NEW_ARRAY(scratch, int32_t, part->item_count + 1);
  part_rank(part, scratch, letters, rank);
  return rank;
}

/* What a dive of |part| may take before it is given up for being quadratic. */
static int64_t dive_limit(const Part *part) {
  return INT64_C(6000) * part->item_count + 100000;
}

PartSolution part_solution_first(Arena *arena, const Part *part, int64_t goal, Work *work) {
  PartSolution solution = {.part = part, .bound = part->bound, .height = INT64_MAX};
  int64_t *offsets = ARENA_NEW_ARRAY(arena, int64_t, part->item_count + 1);
  solution.offsets = ARENA_NEW_ARRAY(arena, int64_t, part->item_count + 1);
  Arena *scratch = arena_create();
  bool is_large = part->item_count > 5000;
  for (int o = 0; o < DIVE_ORDER_COUNT && solution.height > goal; o++) {
    /* A large part may take seconds for a further dive: not for less than half a percent, and not often. */
    if (is_large && o > 0 && (o > 2 || solution.height - part->bound <= part->bound / 200)) break;
    arena_reset(scratch);
    const int32_t *rank = rank_by(part, scratch, is_large ? LARGE_DIVE_ORDERS[o] : DIVE_ORDERS[o]);
    Work limit = {dive_limit(part)};
    if (o > 0) limit.left = min_i64(limit.left, work->left);
    int64_t before = limit.left, height = part_dive(part, scratch, rank, &limit, offsets);
    work->left -= before - max_i64(0, limit.left);
    if (height < 0 && o == 0) height = part_stack(part, scratch, rank, offsets);
    if (height < 0) break;
    if (height >= solution.height) continue;
    solution.height = height;
    memcpy(solution.offsets, offsets, (size_t)part->item_count * sizeof(int64_t));
  }
  arena_destroy(scratch);
  return solution;
}

/* ---- the search at falling capacities ---- */

typedef struct Sweep {
  PartSolution *solution;
  Search *search;
  SearchOrder orders[SEARCH_ORDER_COUNT];
  int64_t *offsets;
  PartAim aim;
  Work *work;
} Sweep;

/* Searches in one order within |limit| steps; what is found or proved goes into the solution. */
static SearchResult sweep_try(Sweep *sweep, int order, int64_t capacity, int64_t limit) {
  PartSolution *solution = sweep->solution;
  Work work = {min_i64(limit, sweep->work->left)};
  int64_t before = work.left;
  SearchResult result = search_run(sweep->search, sweep->orders[order], capacity, &work, sweep->offsets);
  sweep->work->left -= before - work.left;
  if (result == SEARCH_NONE) {
    int64_t unit = search_unit(sweep->search);
    solution->bound = max_i64(solution->bound, (capacity / unit + 1) * unit);
  } else if (result == SEARCH_FOUND) {
    solution->height = part_height(solution->part, sweep->offsets);
    memcpy(solution->offsets, sweep->offsets, (size_t)solution->part->item_count * sizeof(int64_t));
  }
  return result;
}

static bool sweep_is_done(const Sweep *sweep) {
  const PartSolution *solution = sweep->solution;
  return solution->height <= sweep->aim.goal || solution->height <= solution->bound || sweep->work->left <= 0 ||
         (sweep->aim.is_capacity && solution->bound > sweep->aim.goal);
}

/* The least height that is neither excluded nor more than enough. */
static int64_t sweep_goal(const Sweep *sweep) {
  return max_i64(sweep->aim.goal, sweep->solution->bound);
}

static void sweep_at_goal(Sweep *sweep, int64_t limit) {
  int order_count = GOAL_ORDER_COUNT - (sweep->aim.goal <= sweep->solution->bound);
  for (int o = 0; o < order_count && !sweep_is_done(sweep); o++) {
    /* Each proof moves the goal up: cheap while proofs are. */
    while (!sweep_is_done(sweep) && sweep_try(sweep, GOAL_ORDERS[o], sweep_goal(sweep), limit) == SEARCH_NONE) continue;
  }
}

/* From the solution down. */
static void sweep_down(Sweep *sweep, const Round *round) {
  const PartSolution *solution = sweep->solution;
  int64_t unit = search_unit(sweep->search), capacity = solution->height;
  for (int failures = 0; failures < round->failures && !sweep_is_done(sweep);) {
    int64_t goal = sweep_goal(sweep), step = max_i64(unit, (solution->height - goal) / round->divisor);
    capacity -= step;
    if (capacity <= goal) return;
    SearchResult result = SEARCH_LIMIT;
    for (int o = 0; o < round->sweep_orders && result == SEARCH_LIMIT && !sweep_is_done(sweep); o++)
      result = sweep_try(sweep, o, capacity, round->sweep_limit);
    failures = result == SEARCH_FOUND ? 0 : failures + 1;
    if (result == SEARCH_FOUND) capacity = solution->height;
    if (result == SEARCH_NONE) return;
  }
}

/* Halves what lies between bound and solution while searches end: most small problems are settled so. */
static void sweep_bisect(Sweep *sweep) {
  const PartSolution *solution = sweep->solution;
  for (int64_t low = sweep_goal(sweep); !sweep_is_done(sweep) && low < solution->height;) {
    int64_t capacity = low + (solution->height - low) / 2;
    if (sweep_try(sweep, 0, capacity, ROUNDS[0].sweep_limit / 8) == SEARCH_LIMIT) return;
    low = sweep_goal(sweep);
  }
}

/* Ejection with |share| sixteenths of the work that is left. */
static void eject(PartSolution *solution, PartAim aim, int share, Work *work) {
  Work portion = {work->left / 16 * share};
  int64_t before = portion.left;
  solution->height =
      part_eject(solution->part, max_i64(aim.goal, solution->bound), &portion, solution->height, solution->offsets);
  work->left -= before - portion.left;
}

/* Ejection for as long as it lowers the solution by half a percent with a sixteenth of the work. */
static void eject_while_good(PartSolution *solution, PartAim aim, Work *work) {
  int64_t before;
  do {
    before = solution->height;
    eject(solution, aim, 1, work);
  } while (before - solution->height > solution->height / 200);
}

/* Searches and ejection in turn: searches are for what is small or has slack, ejection for the rest. */
void part_solution_improve(PartSolution *solution, PartAim aim, Work *work) {
  if (solution->height <= aim.goal || solution->height <= solution->bound || work->left <= 0) return;
  Arena *scratch = arena_create();
  Sweep sweep = {.solution = solution, .aim = aim, .work = work};
  sweep.search = search_create(scratch, solution->part, MOST_SEARCHED_PAIRS);
  if (sweep.search == NULL) {
    eject(solution, aim, 16, work);
    arena_destroy(scratch);
    return;
  }
  int64_t whole = work->left;
  bool is_large = solution->part->item_count > PART_LARGE;
  sweep.offsets = ARENA_NEW_ARRAY(scratch, int64_t, solution->part->item_count + 1);
  for (int o = 0; o < SEARCH_ORDER_COUNT; o++) {
    sweep.orders[o] = (SearchOrder){rank_by(solution->part, scratch, SEARCH_ORDERS[o].letters),
                                    rank_by(solution->part, scratch, SEARCH_ORDERS[o].cut_letters)};
  }
  if (is_large && !aim.is_capacity) eject_while_good(solution, aim, work); /* before what searches would cost */
  sweep_at_goal(&sweep, ROUNDS[0].goal_limit);
  if (!aim.is_capacity) sweep_bisect(&sweep);
  for (int r = 0; r < ROUND_COUNT && !sweep_is_done(&sweep); r++) {
    if (r > 0) sweep_at_goal(&sweep, ROUNDS[r].goal_limit);
    /* Within a capacity the searches of the first rounds are what it takes, mostly. */
    if (!sweep_is_done(&sweep) && r == (aim.is_capacity ? 2 : 0)) eject_while_good(solution, aim, work);
    if (!sweep_is_done(&sweep) && r == 1 && is_large) eject(solution, aim, 12, work);
    if (!aim.is_capacity) sweep_down(&sweep, &ROUNDS[r]);
  }
  while (!sweep_is_done(&sweep)) {
    int64_t before = work->left;
    sweep_at_goal(&sweep, whole);
    if (work->left == before) break;
  }
  arena_destroy(scratch);
}
