/* packing_solve: the problem as an instance, the search, the plan. */
#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/packing/packing_regions.h"

/* Steps by effort, some 3 ns each. */
static const int64_t STEPS[] = {0,         8000000,    30000000,   120000000,  350000000,
                                900000000, 1200000000, 1700000000, 2400000000, 3300000000};

/* What is pinned must agree among itself: that is a plan of its own. */
MUST_USE static Status check_pinned(Solver *solver) {
  const PackingProblem *problem = solver->problem;
  const Instance *instance = solver->instance;
  Arena *scratch = arena_create();
  PackingBuffer *buffers = ARENA_NEW_ARRAY(scratch, PackingBuffer, problem->count + 1);
  PackingPlan plan = {.offsets = ARENA_NEW_ARRAY(scratch, int64_t, problem->count + 1),
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
    plan.offsets[pinned.count] = item->pin;
    plan.regions[pinned.count] = __builtin_ctzll(item->regions);
    if (item->regions == 1) plan.height = max_i64(plan.height, item->pin + problem->buffers[i].size);
    pinned.count++;
  }
  plan.lower_bound = plan.height;
  Status status = pinned.count == 0 ? STATUS_OK : packing_verify(scratch, &pinned, &plan, solver->diag);
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
  if (problem->region_count > 0 && problem->regions[0].base != 0) return false;
  for (int64_t i = 0; i < problem->count; i++) {
    const PackingBuffer *buffer = &problem->buffers[i];
    if (buffer->gap_count > 0 || buffer->is_pinned || buffer->regions > 1 || buffer->depth > 0) return false;
  }
  return true;
}

MUST_USE static Status solve_searching(Solver *solver, PackingPlan *plan) {
  const Instance *instance = solver->instance;
  RETURN_IF_ERROR(check_pinned(solver));
  Layout layout;
  int64_t work = solver->work.left;
  RETURN_IF_ERROR(solve_layout(solver, &layout));
  plan->work = work - solver->work.left;
  for (int64_t slot = 0; slot < instance->slot_count; slot++) {
    int32_t i = instance->item_of_slot[slot];
    plan->offsets[slot] = i < 0 ? 0 : layout.offsets[i];
    plan->regions[slot] = i < 0 ? 0 : layout.regions[i];
  }
  plan->lower_bound = layout.bound;
  return STATUS_OK;
}

static int64_t plan_height(const PackingProblem *problem, const PackingPlan *plan) {
  int64_t height = 0;
  for (int64_t i = 0, slot = 0; i < problem->count; i++) {
    for (int64_t k = 0; k < max_i64(1, problem->buffers[i].depth); k++, slot++) {
      if (plan->regions[slot] == 0) height = max_i64(height, plan->offsets[slot] + problem->buffers[i].size);
    }
  }
  return height;
}

Status packing_solve(Arena *arena, const PackingProblem *problem, DiagSink *diag, PackingPlan *out_plan) {
  int effort = problem->effort < 1 ? PACKING_DEFAULT_EFFORT : problem->effort > 9 ? 9 : problem->effort;
  int64_t capacity = problem->region_count > 0 ? problem->regions[0].capacity : INT64_MAX;
  Instance instance;
  Solver solver = {.arena = arena_create(),
                   .problem = problem,
                   .instance = &instance,
                   .diag = diag,
                   .aim = {capacity == INT64_MAX ? 0 : capacity, capacity != INT64_MAX},
                   .work = {STEPS[effort]}};
  Status status = instance_build(solver.arena, problem, diag, &instance);
  if (status == STATUS_OK) {
    PackingPlan plan = {.offsets = ARENA_NEW_ARRAY(arena, int64_t, instance.slot_count + 1),
                        .regions = ARENA_NEW_ARRAY(arena, int32_t, instance.slot_count + 1)};
    if (is_countable(&solver))
      status = solve_searching(&solver, &plan);
    else if (is_plain(problem))
      status = packing_best_fit(arena, problem->buffers, problem->count, diag, &plan);
    else
      status = diag_error(diag, STATUS_INVALID, NO_LOC, "packing-overflow", "the sizes of all buffers overflow");
    if (plan.regions == NULL) plan.regions = ARENA_NEW_ARRAY(arena, int32_t, instance.slot_count + 1);
    if (status == STATUS_OK) {
      plan.height = plan_height(problem, &plan);
      plan.lower_bound = min_i64(plan.lower_bound, plan.height);
      plan.is_optimal = plan.height == plan.lower_bound;
      *out_plan = plan;
    }
  }
  arena_destroy(solver.arena);
  return status;
}
