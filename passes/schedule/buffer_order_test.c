#include "passes/schedule/buffer_order.h"

#include "passes/schedule/schedule_testing.h"

/* Operations in the order in which the test has made them. */
static int32_t *order_as_made(Fixture *fixture, const ScheduleModel *model) {
  int32_t *order = ARENA_NEW_ARRAY(fixture->arena, int32_t, model->node_count + 1), count = 0;
  for (int64_t i = 0; i < fixture->computation->instructions.count; i++)
    for (int32_t n = 0; n < model->node_count; n++)
      if (model->nodes[n].instruction == fixture->computation->instructions.data[i]) order[count++] = n;
  assert_int_equal(count, model->node_count);
  return order;
}

/* --- what crosses --- */

static void made_array_is_stored_and_loaded_where_it_has_no_room(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *a = unary(fixture, 100, p);
  HloInstruction *between = unary(fixture, 1, unary(fixture, 80, p));
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, a, between));
  int32_t *order = order_as_made(fixture, model);
  assert_int_equal(schedule_crossing_bytes(model, 200, order), 0);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 200);
}

static void given_array_is_loaded_again(void **state) {
  Fixture *fixture = *state;
  HloInstruction *x = parameter(fixture, 100), *a = unary(fixture, 1, x);
  HloInstruction *b = unary(fixture, 1, unary(fixture, 80, a));
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, b, x));
  int32_t *order = order_as_made(fixture, model);
  assert_int_equal(schedule_crossing_bytes(model, 200, order), 0);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 100);
}

static void array_above_the_buffer_stays_in_part(void **state) {
  Fixture *fixture = *state;
  HloInstruction *x = parameter(fixture, 500), *a = unary(fixture, 10, x);
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, a, x));
  /* 10 of 150 bytes are the other array's until it is read */
  assert_int_equal(schedule_crossing_bytes(model, 150, order_as_made(fixture, model)), 360);
}

static void array_used_again_latest_goes_first(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1);
  HloInstruction *far = unary(fixture, 60, p), *near = unary(fixture, 70, p);
  HloInstruction *a = unary(fixture, 50, p), *b = binary(fixture, 1, a, near);
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, b, far));
  assert_int_equal(schedule_crossing_bytes(model, 150, order_as_made(fixture, model)), 120);
}

/* --- which order is found --- */

static void reader_goes_next_to_the_one_before_it(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *a = unary(fixture, 100, p);
  HloInstruction *first = unary(fixture, 1, a);
  HloInstruction *other = unary(fixture, 1, unary(fixture, 120, first));
  HloInstruction *again = unary(fixture, 1, a);
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, other, again));
  int32_t *order = order_as_made(fixture, model);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 200);
  schedule_for_buffer(model, 150, order);
  assert_is_schedule(fixture, model, order);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 0);
}

/* As above, but what the reader makes is as large as what dies between, so that it cannot come earlier. */
static void peak_does_not_rise(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *a = unary(fixture, 100, p);
  HloInstruction *first = unary(fixture, 1, a);
  HloInstruction *other = unary(fixture, 1, unary(fixture, 1000, first));
  HloInstruction *again = unary(fixture, 1000, a);
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, other, again));
  int32_t *order = order_as_made(fixture, model);
  int64_t peak = schedule_model_peak(model, order), crossing = schedule_crossing_bytes(model, 150, order);
  assert_int_equal(peak, 1101);
  schedule_for_buffer(model, 150, order);
  assert_is_schedule(fixture, model, order);
  assert_int_equal(schedule_model_peak(model, order), peak);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), crossing);
}

/* Nothing crosses either way, but what waits would take room meanwhile. */
static void what_given_arrays_make_is_made_before_its_reader(void **state) {
  Fixture *fixture = *state;
  HloInstruction *x = parameter(fixture, 100), *y = parameter(fixture, 80), *waits = unary(fixture, 100, x);
  HloInstruction *other = unary(fixture, 1, unary(fixture, 80, y));
  const ScheduleModel *model = model_of(fixture, binary(fixture, 1, other, waits));
  int32_t *order = order_as_made(fixture, model);
  schedule_for_buffer(model, 800, order);
  assert_is_schedule(fixture, model, order);
  assert_ptr_equal(model->nodes[order[model->node_count - 2]].instruction, waits);
}

static HloInstruction *random_graph(Fixture *fixture, uint32_t seed, int count) {
  HloInstruction *nodes[24] = {parameter(fixture, 90), parameter(fixture, 40)};
  for (int i = 2; i < count; i++) {
    HloInstruction *a = nodes[next_random(&seed) % (uint32_t)i], *b = nodes[next_random(&seed) % (uint32_t)i];
    nodes[i] = binary(fixture, 1 + next_random(&seed) % 200, a, b);
  }
  return nodes[count - 1];
}

static void random_graphs_cross_less_at_no_higher_peak(void **state) {
  int better = 0;
  (void)state;
  for (uint32_t seed = 1; seed <= 100; seed++) {
    void *local;
    set_up(&local);
    const ScheduleModel *model = model_of(local, random_graph(local, seed, 20));
    int32_t *order = ARENA_NEW_ARRAY(((Fixture *)local)->arena, int32_t, model->node_count + 1);
    for (int32_t n = 0; n < model->node_count; n++) order[n] = n;
    int64_t peak = schedule_model_peak(model, order), crossing = schedule_crossing_bytes(model, 150, order);
    schedule_for_buffer(model, 150, order);
    assert_is_schedule(local, model, order);
    assert_true(schedule_model_peak(model, order) <= peak);
    assert_true(schedule_crossing_bytes(model, 150, order) <= crossing);
    better += schedule_crossing_bytes(model, 150, order) < crossing;
    tear_down(&local);
  }
  assert_true(better > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(made_array_is_stored_and_loaded_where_it_has_no_room, set_up, tear_down),
      cmocka_unit_test_setup_teardown(given_array_is_loaded_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(array_above_the_buffer_stays_in_part, set_up, tear_down),
      cmocka_unit_test_setup_teardown(array_used_again_latest_goes_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reader_goes_next_to_the_one_before_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(peak_does_not_rise, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_given_arrays_make_is_made_before_its_reader, set_up, tear_down),
      cmocka_unit_test(random_graphs_cross_less_at_no_higher_peak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
