#include "codegen/oncore/plan/run_time_views.h"

static bool has_atom(const IndexSpace *space, IndexExpr expr, IndexAtomKind kind) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[expr.terms[i].atom];
    if (atom->kind == kind) return true;
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (is_nested && has_atom(space, atom->inner, kind)) return true;
  }
  return false;
}

/* |expr| with all loops in their first iteration and without its constant. */
static IndexExpr numbers_of(const Plan *plan, IndexExpr expr, IndexSpace *space) {
  IndexExpr *dims = ARENA_NEW_ARRAY(space->arena, IndexExpr, plan->loop_count);
  int32_t *values = ARENA_NEW_ARRAY(space->arena, int32_t, plan->scalar_count);
  for (int32_t s = 0; s < plan->scalar_count; s++) values[s] = s;
  IndexExpr sum = index_substitute(space, &plan->space, expr, dims, values);
  sum.constant = 0;
  return sum;
}

bool run_time_sum(const Plan *plan, const PlanRef *ref, IndexSpace *space, IndexExpr *out_sum) {
  const PlanMemory *memory = &plan->memories[ref->number];
  bool depends = has_atom(&plan->space, memory->offset, INDEX_ATOM_VALUE);
  for (int32_t i = 0; i < ref->range_count && !depends; i++)
    depends = has_atom(&plan->space, ref->ranges[i].begin, INDEX_ATOM_VALUE);
  if (out_sum == NULL) return depends;
  IndexExpr sum = numbers_of(plan, memory->offset, space);
  for (int32_t i = 0; i < ref->range_count; i++) {
    IndexExpr begin = numbers_of(plan, ref->ranges[i].begin, space);
    sum = index_add(space, sum, index_scale(space, begin, memory->strides[i]));
  }
  *out_sum = sum;
  return depends;
}

/* Whether a quotient or remainder is of run-time numbers and iterations at once: it does not move with either. */
static bool is_entangled(const IndexSpace *space, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[expr.terms[i].atom];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (is_nested && has_atom(space, atom->inner, INDEX_ATOM_VALUE) && has_atom(space, atom->inner, INDEX_ATOM_DIM))
      return true;
  }
  return false;
}

typedef struct ViewCheck {
  const Plan *plan;
  IndexSpace space;
  IndexExpr *sums; /* by view: of the first part that was met */
  bool *is_met, *is_anywhere;
} ViewCheck;

/* The first view of the array that |memory| looks at. */
static int32_t first_view(const Plan *plan, int32_t memory) {
  const PlanMemory *view = &plan->memories[memory];
  for (int32_t m = 0; m < memory; m++)
    if (plan->memories[m].kind == view->kind && plan->memories[m].number == view->number) return m;
  return memory;
}

static void meet(ViewCheck *check, const PlanRef *ref) {
  if (!ref->is_memory || check->plan->memories[ref->number].kind == PLAN_ARGUMENT) return;
  int32_t view = first_view(check->plan, ref->number);
  IndexExpr sum;
  run_time_sum(check->plan, ref, &check->space, &sum);
  bool is_entangled_here = is_entangled(&check->plan->space, check->plan->memories[ref->number].offset);
  for (int32_t i = 0; i < ref->range_count; i++)
    is_entangled_here = is_entangled_here || is_entangled(&check->plan->space, ref->ranges[i].begin);
  if (is_entangled_here || (check->is_met[view] && !index_equal(check->sums[view], sum)))
    check->is_anywhere[view] = true;
  if (!check->is_met[view]) check->sums[view] = sum;
  check->is_met[view] = true;
}

const bool *run_time_views(Arena *arena, const Plan *plan) {
  bool *is_anywhere = ARENA_NEW_ARRAY(arena, bool, plan->memory_count);
  if (plan->scalar_count == 0) return is_anywhere;
  Arena *scratch = arena_create();
  ViewCheck check = {.plan = plan, .is_anywhere = is_anywhere};
  index_space_init(&check.space, scratch);
  check.sums = ARENA_NEW_ARRAY(scratch, IndexExpr, plan->memory_count);
  check.is_met = ARENA_NEW_ARRAY(scratch, bool, plan->memory_count);
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    for (int32_t s = 0; s < command->source_count; s++) meet(&check, &command->sources[s]);
    for (int32_t t = 0; t < command->target_count; t++) meet(&check, &command->targets[t]);
  }
  for (int32_t m = 0; m < plan->memory_count; m++) is_anywhere[m] = is_anywhere[first_view(plan, m)];
  arena_destroy(scratch);
  return is_anywhere;
}
