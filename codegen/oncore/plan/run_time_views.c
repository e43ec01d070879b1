#include "codegen/oncore/plan/run_time_views.h"

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
  const PlanMemory *memory = ref->is_memory ? &plan->memories[ref->number] : NULL;
  const PlanTensor *tensor = ref->is_memory ? NULL : &plan->tensors[ref->number];
  bool depends = memory != NULL && index_has_atom(&plan->space, memory->offset, INDEX_ATOM_VALUE);
  for (int32_t i = 0; i < ref->range_count && !depends; i++)
    depends = index_has_atom(&plan->space, ref->ranges[i].begin, INDEX_ATOM_VALUE);
  if (out_sum == NULL) return depends;
  IndexExpr sum = memory != NULL ? numbers_of(plan, memory->offset, space) : index_constant(0);
  int64_t dense = 1;
  for (int32_t i = ref->range_count - 1; i >= 0; i--) {
    IndexExpr begin = numbers_of(plan, ref->ranges[i].begin, space);
    sum = index_add(space, sum, index_scale(space, begin, memory != NULL ? memory->strides[i] : dense));
    if (tensor != NULL) dense *= tensor->extents[i];
  }
  *out_sum = sum;
  return depends;
}

/* Whether a quotient or remainder is of run-time numbers and iterations at once: it does not move with either. */
static bool is_entangled(const IndexSpace *space, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[expr.terms[i].atom];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (is_nested && index_has_atom(space, atom->inner, INDEX_ATOM_VALUE) &&
        index_has_atom(space, atom->inner, INDEX_ATOM_DIM))
      return true;
  }
  return false;
}

typedef struct ViewCheck {
  const Plan *plan;
  bool is_of_tensors;
  IndexSpace space;
  IndexExpr *sums; /* by view: of the first part that was met */
  bool *is_met, *is_anywhere, *is_written;
} ViewCheck;

/* The first Tensor that holds the array of which |tensor| is a part, -1: it is of none. */
static int32_t first_holder(const Plan *plan, int32_t tensor) {
  int32_t holder = plan_tensor_holder(plan, tensor);
  for (int32_t t = 0; t < holder; t++)
    if (plan->tensors[t].hold != PLAN_HOLDS_NOTHING && plan->tensors[t].begin == plan->tensors[holder].begin) return t;
  return holder;
}

/* The array that |ref| is a part of and that may be written; -1: it is of no interest. */
static int32_t array_of(const ViewCheck *check, const PlanRef *ref) {
  if (ref->is_memory == check->is_of_tensors) return -1;
  if (check->is_of_tensors) return first_holder(check->plan, ref->number);
  return check->plan->memories[ref->number].kind == PLAN_ARGUMENT ? -1 : plan_first_view(check->plan, ref->number);
}

static void meet(ViewCheck *check, const PlanRef *ref, bool is_target) {
  int32_t view = array_of(check, ref);
  if (view < 0) return;
  IndexExpr sum;
  run_time_sum(check->plan, ref, &check->space, &sum);
  bool is_entangled_here =
      ref->is_memory && is_entangled(&check->plan->space, check->plan->memories[ref->number].offset);
  check->is_written[view] = check->is_written[view] || is_target;
  for (int32_t i = 0; i < ref->range_count; i++)
    is_entangled_here = is_entangled_here || is_entangled(&check->plan->space, ref->ranges[i].begin);
  if (is_entangled_here || (check->is_met[view] && !index_equal(check->sums[view], sum)))
    check->is_anywhere[view] = true;
  if (!check->is_met[view]) check->sums[view] = sum;
  check->is_met[view] = true;
}

/* By number of the first view or Tensor of an array: whether it is met anywhere, and written. */
static void meet_all(ViewCheck *check, int32_t count) {
  const Plan *plan = check->plan;
  Arena *scratch = arena_create();
  index_space_init(&check->space, scratch);
  check->sums = ARENA_NEW_ARRAY(scratch, IndexExpr, count);
  check->is_met = ARENA_NEW_ARRAY(scratch, bool, count);
  check->is_written = ARENA_NEW_ARRAY(scratch, bool, count);
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    for (int32_t s = 0; s < command->source_count; s++) meet(check, &command->sources[s], false);
    for (int32_t t = 0; t < command->target_count; t++) meet(check, &command->targets[t], true);
  }
  for (int32_t i = 0; i < count && check->is_of_tensors; i++)
    check->is_anywhere[i] = check->is_anywhere[i] && check->is_written[i];
  arena_destroy(scratch);
}

const bool *run_time_views(Arena *arena, const Plan *plan) {
  bool *is_anywhere = ARENA_NEW_ARRAY(arena, bool, plan->memory_count);
  if (plan->scalar_count == 0) return is_anywhere;
  ViewCheck check = {.plan = plan, .is_anywhere = is_anywhere};
  meet_all(&check, plan->memory_count);
  for (int32_t m = 0; m < plan->memory_count; m++) is_anywhere[m] = is_anywhere[plan_first_view(plan, m)];
  return is_anywhere;
}

const bool *run_time_tensors(Arena *arena, const Plan *plan) {
  bool *is_anywhere = ARENA_NEW_ARRAY(arena, bool, plan->tensor_count);
  if (plan->scalar_count == 0) return is_anywhere;
  ViewCheck check = {.plan = plan, .is_of_tensors = true, .is_anywhere = is_anywhere};
  meet_all(&check, plan->tensor_count);
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    int32_t first = first_holder(plan, t);
    is_anywhere[t] = first >= 0 && is_anywhere[first];
  }
  return is_anywhere;
}
