#include "passes/schedule/memory_scheduler.h"

#include "passes/schedule/schedule_testing.h"

static Schedule schedule(Fixture *fixture, HloInstruction *root, const ScheduleModel **out_model) {
  *out_model = model_of(fixture, root);
  return schedule_for_memory(*out_model, NULL, false, 0);
}

/* --- what an order costs --- */

static void peak_of_chain_counts_two_neighbours(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *a = unary(fixture, 100, parameter(fixture, 1000));
  HloInstruction *c = unary(fixture, 7, unary(fixture, 30, a));
  assert_int_equal(schedule(fixture, c, &model).peak, 130); /* the parameter costs nothing */
}

static void peak_counts_unread_results_while_they_are_made(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *p = parameter(fixture, 10);
  unary(fixture, 500, p);
  assert_int_equal(schedule(fixture, unary(fixture, 20, p), &model).peak, 500);
}

static void peak_passes_buffers_through_tuples(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *p = parameter(fixture, 10);
  HloInstruction *pair[2] = {unary(fixture, 100, p), unary(fixture, 40, p)};
  const Shape *shapes[2] = {pair[0]->shape, pair[1]->shape};
  HloInstruction *tuple = hlo_computation_add(fixture->computation, HLO_TUPLE,
                                              shape_tuple(fixture->module->shapes, shapes, 2), pair, 2, SV("t"));
  HloInstruction *small =
      hlo_computation_add(fixture->computation, HLO_GET_TUPLE_ELEMENT, pair[1]->shape, &tuple, 1, SV("e"));
  hlo_instruction_set_int(small, HLO_ATTR_INDEX, 1);
  /* Nobody reads the large element: it is gone at once, before the last operation runs. */
  assert_int_equal(schedule(fixture, unary(fixture, 50, small), &model).peak, 100);
}

static void peak_lets_elementwise_results_overwrite(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *a = unary(fixture, 100, parameter(fixture, 100));
  HloInstruction *n = hlo_computation_add(fixture->computation, HLO_NOT, a->shape, &a, 1, SV("n"));
  assert_int_equal(schedule(fixture, n, &model).peak, 100);
}

static void peak_adds_largest_called_computation(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloComputation *callee = hlo_module_add_computation(fixture->module, SV("callee"));
  int_map_set(&fixture->peaks, (uint64_t)callee->id, 1000);
  HloInstruction *p = parameter(fixture, 10);
  HloInstruction *call = hlo_computation_add(fixture->computation, HLO_CALL, bytes(fixture, 10), &p, 1, SV("call"));
  hlo_instruction_set_computation(call, HLO_ATTR_TO_APPLY, callee);
  assert_int_equal(schedule(fixture, call, &model).peak, 1010);
}

static void peak_saturates(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *p = parameter(fixture, 1);
  HloInstruction *a = unary(fixture, INT64_MAX - 1, p), *b = unary(fixture, INT64_MAX - 1, p);
  assert_int_equal(schedule(fixture, binary(fixture, 1, a, b), &model).peak, INT64_MAX);
}

/* --- which order is found --- */

static void schedule_finishes_one_branch_before_the_next(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *p = parameter(fixture, 1), *sum = NULL;
  for (int i = 0; i < 5; i++) {
    HloInstruction *small = unary(fixture, 10, unary(fixture, 1000, p));
    sum = sum == NULL ? small : binary(fixture, 10, sum, small);
  }
  Schedule best = schedule(fixture, sum, &model);
  assert_is_schedule(fixture, model, best.order);
  assert_int_equal(best.peak, 1020); /* one large, its small one, and one small sum so far */
}

static void schedule_obeys_control_predecessors(void **state) {
  Fixture *fixture = *state;
  const ScheduleModel *model;
  HloInstruction *p = parameter(fixture, 1);
  HloInstruction *first = unary(fixture, 10, p), *second = unary(fixture, 10, p);
  HloInstruction *predecessors[1] = {second};
  HloAttr control = {.id = HLO_ATTR_CONTROL_PREDECESSORS};
  control.value.instructions.count = 1;
  control.value.instructions.data = predecessors;
  hlo_instruction_set_attr(first, &control);
  Schedule best = schedule(fixture, binary(fixture, 1, first, second), &model);
  assert_is_schedule(fixture, model, best.order);
  int place_of_first = -1, place_of_second = -1;
  for (int32_t i = 0; i < model->node_count; i++) {
    if (model->nodes[best.order[i]].instruction == first) place_of_first = i;
    if (model->nodes[best.order[i]].instruction == second) place_of_second = i;
  }
  assert_true(place_of_second < place_of_first);
}

/* The least peak over all orders, by trying them. */
static void search(const ScheduleModel *model, int32_t *order, int32_t count, uint32_t done, int64_t *best) {
  if (count == model->node_count) {
    int64_t peak = schedule_model_peak(model, order);
    if (peak < *best) *best = peak;
    return;
  }
  for (int32_t n = 0; n < model->node_count; n++) {
    bool ready = !(done >> n & 1);
    for (int32_t k = 0; k < model->nodes[n].predecessor_count; k++)
      ready &= done >> model->nodes[n].predecessors[k] & 1;
    if (!ready) continue;
    order[count] = n;
    search(model, order, count + 1, done | 1u << n, best);
  }
}

static HloInstruction *random_graph(Fixture *fixture, uint32_t seed, int count) {
  HloInstruction *nodes[16] = {parameter(fixture, 1)};
  for (int i = 1; i < count; i++) {
    HloInstruction *a = nodes[next_random(&seed) % (uint32_t)i], *b = nodes[next_random(&seed) % (uint32_t)i];
    nodes[i] = binary(fixture, 1 + next_random(&seed) % 100, a, b);
  }
  return nodes[count - 1];
}

static int64_t least_peak_of_all_orders(const ScheduleModel *model) {
  int32_t order[16];
  int64_t least = INT64_MAX;
  search(model, order, 0, 0, &least);
  return least;
}

static const ScheduleModel *random_model(Fixture *fixture, uint32_t seed) {
  return model_of(fixture, random_graph(fixture, seed, 8));
}

static void schedule_of_random_graphs_is_an_optimum(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    void *local;
    set_up(&local);
    const ScheduleModel *model = random_model(local, seed);
    Schedule best = schedule_for_memory(model, NULL, false, 0);
    assert_is_schedule(local, model, best.order);
    assert_int_equal(schedule_model_peak(model, best.order), best.peak);
    assert_int_equal(best.peak, least_peak_of_all_orders(model));
    tear_down(&local);
  }
}

/* Each heuristic is beaten by another one somewhere, and all of them by the search; none claims less than is possible.
 */
static void schedule_needs_every_candidate(void **state) {
  bool is_beaten[SCHEDULE_HEURISTIC_COUNT] = {false};
  int beaten_by_search = 0;
  (void)state;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    void *local;
    set_up(&local);
    const ScheduleModel *model = random_model(local, seed);
    int64_t peaks[SCHEDULE_HEURISTIC_COUNT], lowest = INT64_MAX;
    for (int h = 0; h < SCHEDULE_HEURISTIC_COUNT; h++) {
      Schedule schedule = schedule_by_heuristic(model, (ScheduleHeuristic)h);
      assert_is_schedule(local, model, schedule.order);
      peaks[h] = schedule.peak;
      if (peaks[h] < lowest) lowest = peaks[h];
    }
    for (int h = 0; h < SCHEDULE_HEURISTIC_COUNT; h++) is_beaten[h] |= peaks[h] > lowest;
    int64_t least = least_peak_of_all_orders(model);
    assert_true(lowest >= least);
    const int32_t *found = schedule_search(model, lowest, 0);
    assert_int_equal(found != NULL, least < lowest);
    if (found != NULL) assert_int_equal(schedule_model_peak(model, found), least);
    beaten_by_search += found != NULL;
    tear_down(&local);
  }
  for (int h = 0; h < SCHEDULE_HEURISTIC_COUNT; h++) assert_true(is_beaten[h]);
  assert_true(beaten_by_search > 0);
}

/* Two branches of which neither should be finished first: each has a valley between two hills. */
static void search_alternates_between_branches(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *ends[2];
  for (int i = 0; i < 2; i++)
    ends[i] = unary(fixture, 40, unary(fixture, 90, unary(fixture, 10, unary(fixture, 100, p))));
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, ends[0], ends[1]));
  /* 100 + 10 twice, beside the other's 10; then 10 + 90 + 40 where the other one waits with 10 or is done with 40 */
  assert_int_equal(least_peak_of_all_orders(model), 170);
  assert_int_equal(schedule_for_memory(model, NULL, false, 0).peak, 170);
}

static void search_obeys_control_predecessors(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 20; seed++) {
    void *local;
    set_up(&local);
    Fixture *fixture = local;
    HloInstruction *root = random_graph(fixture, seed, 8);
    HloInstruction *p = fixture->computation->parameters.data[0];
    HloInstruction *first = unary(fixture, 50, p), *second = unary(fixture, 60, p);
    HloAttr control = {.id = HLO_ATTR_CONTROL_PREDECESSORS};
    control.value.instructions.count = 1;
    control.value.instructions.data = &second;
    hlo_instruction_set_attr(first, &control);
    hlo_computation_set_root(fixture->computation, binary(fixture, 1, root, first));
    const ScheduleModel *model = schedule_model_create(fixture->arena, fixture->computation, &fixture->peaks);
    const int32_t *found = schedule_search(model, INT64_MAX, 0);
    assert_non_null(found);
    assert_is_schedule(fixture, model, found);
    assert_int_equal(schedule_model_peak(model, found), least_peak_of_all_orders(model));
    tear_down(&local);
  }
}

static void search_gives_up_on_what_is_large(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *sum = p;
  for (int i = 0; i < 300; i++) sum = binary(fixture, 10, sum, unary(fixture, 20, p));
  hlo_computation_set_root(fixture->computation, sum);
  const ScheduleModel *model = schedule_model_create(fixture->arena, fixture->computation, &fixture->peaks);
  assert_null(schedule_search(model, INT64_MAX, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(peak_of_chain_counts_two_neighbours, set_up, tear_down),
      cmocka_unit_test_setup_teardown(peak_counts_unread_results_while_they_are_made, set_up, tear_down),
      cmocka_unit_test_setup_teardown(peak_passes_buffers_through_tuples, set_up, tear_down),
      cmocka_unit_test_setup_teardown(peak_lets_elementwise_results_overwrite, set_up, tear_down),
      cmocka_unit_test_setup_teardown(peak_adds_largest_called_computation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(peak_saturates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(schedule_finishes_one_branch_before_the_next, set_up, tear_down),
      cmocka_unit_test_setup_teardown(schedule_obeys_control_predecessors, set_up, tear_down),
      cmocka_unit_test(schedule_of_random_graphs_is_an_optimum),
      cmocka_unit_test(schedule_needs_every_candidate),
      cmocka_unit_test_setup_teardown(search_alternates_between_branches, set_up, tear_down),
      cmocka_unit_test(search_obeys_control_predecessors),
      cmocka_unit_test_setup_teardown(search_gives_up_on_what_is_large, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
