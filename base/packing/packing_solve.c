/* packing_solve: the problem as an instance, the search, the solution. */
#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/packing/packing_regions.h"

/* Steps by effort, some 3 ns each. */
static const int64_t STEPS[] = {0,         8000000,    30000000,   120000000,  400000000,
                                900000000, 1200000000, 1700000000, 2400000000, 3300000000};

/* What is pinned must agree among itself: that is a solution of its own. */
MUST_USE static Status check_pinned(Solver *solver) {
  const PackingProblem *problem = solver->problem;
  const Instance *instance = solver->instance;
  Arena *scratch = arena_create();
  PackingBuffer *buffers = ARENA_NEW_ARRAY(scratch, PackingBuffer, problem->count + 1);
  PackingSolution solution = {.offsets = ARENA_NEW_ARRAY(scratch, int64_t, problem->count + 1),
                              .regions = ARENA_NEW_ARRAY(scratch, int32_t, problem->count + 1)};
  PackingProblem pinned = *problem;
  pinned.buffers = buffers;
  pinned.count = 0;
  for (int64_t i = 0, slot = 0; i < problem->count; i++) {
    int32_t number = instance->item_of_slot[slot];
    slot += max_i64(1, problem->buffers[i].depth);
    if (number < 0 || instance->items[number].pin < 0) continue;
    const Item *item = &instance->items[number];
    buffers[pinned.count] = problem->buffers[i];
    buffers[pinned.count].regions = item->regions;
    solution.offsets[pinned.count] = item->pin;
    solution.regions[pinned.count] = __builtin_ctzll(item->regions);
    if (item->regions == 1) solution.height = max_i64(solution.height, item->pin + problem->buffers[i].size);
    pinned.count++;
  }
  solution.lower_bound = solution.height;
  Status status = pinned.count == 0 ? STATUS_OK : packing_verify(scratch, &pinned, &solution, solver->diag);
  arena_destroy(scratch);
  return status;
}

/* All offsets that any search may think of can be added without a check. */
static bool is_countable(const Solver *solver) {
  const Instance *instance = solver->instance;
  int64_t sum = 0;
  for (int64_t r = 0; r < solver->problem->region_count; r++) sum = max_i64(sum, solver->problem->regions[r].base);
  for (int32_t i = 0; i < instance->item_count; i++) {
    const Item *item = &instance->items[i];
    if (!checked_add(sum, item->size, &sum) || !checked_add(sum, item->alignment, &sum) ||
        !checked_add(sum, max_i64(0, item->pin), &sum))
      return false;
  }
  return sum < INT64_MAX / 4;
}

/* Whether best fit knows all that |problem| has. */
static bool is_plain(const PackingProblem *problem) {
  if ((problem->region_count > 0 && problem->regions[0].base != 0) || problem->loop.period > 0) return false;
  for (int64_t i = 0; i < problem->count; i++) {
    const PackingBuffer *buffer = &problem->buffers[i];
    if (buffer->gap_count > 0 || buffer->is_pinned || buffer->regions > 1 || buffer->depth > 0) return false;
  }
  return true;
}

MUST_USE static Status solve_searching(Solver *solver, PackingSolution *solution) {
  const Instance *instance = solver->instance;
  RETURN_IF_ERROR(check_pinned(solver));
  Layout layout;
  int64_t work = solver->work.left;
  RETURN_IF_ERROR(solve_layout(solver, &layout));
  solution->work = work - solver->work.left;
  for (int64_t slot = 0; slot < instance->slot_count; slot++) {
    int32_t i = instance->item_of_slot[slot];
    solution->offsets[slot] = i < 0 ? 0 : layout.offsets[i];
    solution->regions[slot] = i < 0 ? 0 : layout.regions[i];
  }
  solution->lower_bound = layout.bound;
  return STATUS_OK;
}

static int64_t solution_height(const PackingProblem *problem, const PackingSolution *solution) {
  int64_t height = 0;
  for (int64_t i = 0, slot = 0; i < problem->count; i++) {
    for (int64_t k = 0; k < max_i64(1, problem->buffers[i].depth); k++, slot++) {
      if (solution->regions[slot] == 0) height = max_i64(height, solution->offsets[slot] + problem->buffers[i].size);
    }
  }
  return height;
}

static int64_t capacity_of(const PackingProblem *problem) {
  return problem->region_count > 0 ? problem->regions[0].capacity : INT64_MAX;
}

/* Whether nothing lower is wanted or possible. */
static bool is_low_enough(const PackingProblem *problem, const PackingSolution *solution) {
  int64_t capacity = capacity_of(problem);
  return solution->height <= solution->lower_bound || (capacity != INT64_MAX && solution->height <= capacity);
}

/* Best fit in XLA's two orders: never worse than that, and enough for most problems. */
MUST_USE static Status solve_by_best_fit(Arena *arena, const PackingProblem *problem, DiagSink *diag,
                                         PackingSolution *solution) {
  PackingSolution other;
  RETURN_IF_ERROR(packing_best_fit_by(arena, problem->buffers, problem->count, false, diag, solution));
  if (is_low_enough(problem, solution)) return STATUS_OK;
  RETURN_IF_ERROR(packing_best_fit_by(arena, problem->buffers, problem->count, true, diag, &other));
  if (other.height < solution->height) *solution = other;
  return STATUS_OK;
}

/* By search, from |solution| on if it |has_solution|. */
MUST_USE static Status solve_by_search(Arena *arena, const PackingProblem *problem, int64_t steps, DiagSink *diag,
                                       bool has_solution, PackingSolution *solution) {
  Instance instance;
  int64_t capacity = capacity_of(problem);
  Solver solver = {.arena = arena_create(),
                   .problem = problem,
                   .instance = &instance,
                   .diag = diag,
                   .aim = {capacity == INT64_MAX ? 0 : capacity, capacity != INT64_MAX},
                   .standing = has_solution ? solution->height : INT64_MAX,
                   .work = {steps}};
  Status status = instance_build(solver.arena, problem, diag, &instance);
  if (status == STATUS_OK && is_countable(&solver)) {
    PackingSolution found = {.offsets = ARENA_NEW_ARRAY(arena, int64_t, instance.slot_count + 1),
                             .regions = ARENA_NEW_ARRAY(arena, int32_t, instance.slot_count + 1)};
    status = solve_searching(&solver, &found);
    if (status == STATUS_OK) {
      found.height = solution_height(problem, &found);
      if (!has_solution || found.height < solution->height) *solution = found;
      solution->lower_bound = max_i64(found.lower_bound, has_solution ? solution->lower_bound : 0);
      solution->work = found.work;
    }
  } else if (status == STATUS_OK && !has_solution) {
    status = is_plain(problem)
                 ? packing_best_fit(arena, problem->buffers, problem->count, diag, solution)
                 : diag_error(diag, STATUS_INVALID, NO_LOC, "packing-overflow", "the sizes of all buffers overflow");
  }
  arena_destroy(solver.arena);
  return status;
}

Status packing_solve(Arena *arena, const PackingProblem *problem, DiagSink *diag, PackingSolution *out_solution) {
  enum {
    MANY = 20000,
    BEST_FIT_STEPS = 4000
  }; /* of many buffers so many steps for each, or a budget of the caller's own */
  int effort = problem->effort < 1 ? PACKING_DEFAULT_EFFORT : problem->effort > 9 ? 9 : problem->effort;
  int64_t steps = problem->most_steps > 0 ? min_i64(problem->most_steps, STEPS[effort]) : STEPS[effort];
  bool has_steps = problem->most_steps > 0 || problem->count <= MANY || steps / BEST_FIT_STEPS >= problem->count;
  bool has_solution = has_steps && is_plain(problem);
  PackingSolution solution = {0};
  if (has_solution) RETURN_IF_ERROR(solve_by_best_fit(arena, problem, diag, &solution));
  if (!has_solution || !is_low_enough(problem, &solution))
    RETURN_IF_ERROR(solve_by_search(arena, problem, steps, diag, has_solution, &solution));
  if (solution.regions == NULL) solution.regions = ARENA_NEW_ARRAY(arena, int32_t, packing_slot_count(problem) + 1);
  solution.lower_bound = min_i64(solution.lower_bound, solution.height);
  solution.is_optimal = solution.height == solution.lower_bound;
  *out_solution = solution;
  return STATUS_OK;
}
