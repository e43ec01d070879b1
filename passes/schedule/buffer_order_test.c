#include "passes/schedule/buffer_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Operations are custom calls, which make a buffer of their own and overwrite nothing. */

typedef struct Fixture {
  Arena *arena;
  HloModule *module;
  HloComputation *computation;
  IntMap peaks;
  int32_t count;
  const HloInstruction *order[32]; /* as they were made */
} Fixture;

static int set_up(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  fixture->module = hlo_module_create(arena, shape_table_create(arena), SV("m"));
  fixture->computation = hlo_module_add_computation(fixture->module, SV("main"));
  fixture->module->entry = fixture->computation;
  int_map_init(&fixture->peaks, arena);
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static const Shape *bytes(Fixture *fixture, int64_t count) {
  return shape_array(fixture->module->shapes, TYPE_U8, &count, 1);
}

static HloInstruction *parameter(Fixture *fixture, int64_t size) {
  HloInstruction *made = hlo_computation_add_parameter(fixture->computation, fixture->computation->parameters.count,
                                                       bytes(fixture, size), SV("p"));
  fixture->order[fixture->count++] = made;
  return made;
}

static HloInstruction *operation(Fixture *fixture, int64_t size, HloInstruction *a, HloInstruction *b) {
  HloInstruction *operands[2] = {a, b};
  HloInstruction *made = hlo_computation_add(fixture->computation, HLO_CUSTOM_CALL, bytes(fixture, size), operands,
                                             b != NULL ? 2 : 1, SV("c"));
  fixture->order[fixture->count++] = made;
  return made;
}

static const ScheduleModel *model_of(Fixture *fixture, HloInstruction *root) {
  hlo_computation_set_root(fixture->computation, root);
  return schedule_model_create(fixture->arena, fixture->computation, &fixture->peaks);
}

/* Operations in the order in which the test has made them. */
static int32_t *order_as_made(Fixture *fixture, const ScheduleModel *model) {
  int32_t *order = ARENA_NEW_ARRAY(fixture->arena, int32_t, model->node_count + 1), count = 0;
  for (int32_t i = 0; i < fixture->count; i++)
    for (int32_t n = 0; n < model->node_count; n++)
      if (model->nodes[n].instruction == fixture->order[i]) order[count++] = n;
  assert_int_equal(count, model->node_count);
  return order;
}

static void assert_is_schedule(Fixture *fixture, const ScheduleModel *model, const int32_t *order) {
  bool *done = ARENA_NEW_ARRAY(fixture->arena, bool, model->node_count + 1);
  for (int32_t i = 0; i < model->node_count; i++) {
    const ScheduleNode *node = &model->nodes[order[i]];
    assert_false(done[order[i]]);
    for (int32_t k = 0; k < node->predecessor_count; k++) assert_true(done[node->predecessors[k]]);
    done[order[i]] = true;
  }
}

/* --- what crosses --- */

static void made_array_is_stored_and_loaded_where_it_has_no_room(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *a = operation(fixture, 100, p, NULL);
  HloInstruction *between = operation(fixture, 1, operation(fixture, 80, p, NULL), NULL);
  const ScheduleModel *model = model_of(fixture, operation(fixture, 1, a, between));
  int32_t *order = order_as_made(fixture, model);
  assert_int_equal(schedule_crossing_bytes(model, 200, order), 0);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 200);
}

static void given_array_is_loaded_again(void **state) {
  Fixture *fixture = *state;
  HloInstruction *x = parameter(fixture, 100), *a = operation(fixture, 1, x, NULL);
  HloInstruction *b = operation(fixture, 1, operation(fixture, 80, a, NULL), NULL);
  const ScheduleModel *model = model_of(fixture, operation(fixture, 1, b, x));
  int32_t *order = order_as_made(fixture, model);
  assert_int_equal(schedule_crossing_bytes(model, 200, order), 0);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 100);
}

static void array_above_the_buffer_stays_in_part(void **state) {
  Fixture *fixture = *state;
  HloInstruction *x = parameter(fixture, 500), *a = operation(fixture, 10, x, NULL);
  const ScheduleModel *model = model_of(fixture, operation(fixture, 1, a, x));
  /* 10 of 150 bytes are the other array's until it is read */
  assert_int_equal(schedule_crossing_bytes(model, 150, order_as_made(fixture, model)), 360);
}

static void array_used_again_latest_goes_first(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1);
  HloInstruction *far = operation(fixture, 60, p, NULL), *near = operation(fixture, 70, p, NULL);
  HloInstruction *a = operation(fixture, 50, p, NULL), *b = operation(fixture, 1, a, near);
  const ScheduleModel *model = model_of(fixture, operation(fixture, 1, b, far));
  assert_int_equal(schedule_crossing_bytes(model, 150, order_as_made(fixture, model)), 120);
}

/* --- which order is found --- */

static void reader_goes_next_to_the_one_before_it(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *a = operation(fixture, 100, p, NULL), *sum;
  HloInstruction *first = operation(fixture, 1, a, NULL);
  HloInstruction *other = operation(fixture, 1, operation(fixture, 120, first, NULL), NULL);
  HloInstruction *again = operation(fixture, 1, a, NULL);
  sum = operation(fixture, 1, other, again);
  const ScheduleModel *model = model_of(fixture, sum);
  int32_t *order = order_as_made(fixture, model);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 200);
  schedule_for_buffer(model, 150, order);
  assert_is_schedule(fixture, model, order);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), 0);
}

/* As above, but what the reader makes is as large as what dies between, so that it cannot come earlier. */
static void peak_does_not_rise(void **state) {
  Fixture *fixture = *state;
  HloInstruction *p = parameter(fixture, 1), *a = operation(fixture, 100, p, NULL), *sum;
  HloInstruction *first = operation(fixture, 1, a, NULL);
  HloInstruction *other = operation(fixture, 1, operation(fixture, 1000, first, NULL), NULL);
  HloInstruction *again = operation(fixture, 1000, a, NULL);
  sum = operation(fixture, 1, other, again);
  const ScheduleModel *model = model_of(fixture, sum);
  int32_t *order = order_as_made(fixture, model);
  int64_t peak = schedule_model_peak(model, order), crossing = schedule_crossing_bytes(model, 150, order);
  assert_int_equal(peak, 1101);
  schedule_for_buffer(model, 150, order);
  assert_is_schedule(fixture, model, order);
  assert_int_equal(schedule_model_peak(model, order), peak);
  assert_int_equal(schedule_crossing_bytes(model, 150, order), crossing);
}

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

static HloInstruction *random_graph(Fixture *fixture, uint32_t seed, int count) {
  HloInstruction *nodes[24] = {parameter(fixture, 90), parameter(fixture, 40)};
  for (int i = 2; i < count; i++) {
    HloInstruction *a = nodes[next_random(&seed) % (uint32_t)i], *b = nodes[next_random(&seed) % (uint32_t)i];
    nodes[i] = operation(fixture, 1 + next_random(&seed) % 200, a, b);
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
      cmocka_unit_test(random_graphs_cross_less_at_no_higher_peak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
