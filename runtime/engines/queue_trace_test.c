#include "runtime/engines/queue_trace.h"

#include "runtime/engines/queue_engines_testing.h"

typedef struct TraceFixture {
  Arena *arena;
  HandKernel hand;
  QueueTrace trace;
} TraceFixture;

static int create_fixture(void **state) {
  Arena *arena = arena_create();
  TraceFixture *fixture = ARENA_NEW(arena, TraceFixture);
  fixture->arena = arena;
  hand_prepare(&fixture->hand);
  *state = fixture;
  return 0;
}

static int destroy_fixture(void **state) {
  arena_destroy(((TraceFixture *)*state)->arena);
  return 0;
}

static TracedAccess access_of(const TraceFixture *fixture, int64_t number, int64_t access) {
  TracedAccess traced;
  assert_true(queue_trace_access(&fixture->trace, number, access, &traced));
  return traced;
}

static void trace_has_commands_in_program_order(void **state) {
  TraceFixture *fixture = *state;
  queue_trace_record(&fixture->trace, fixture->arena, &fixture->hand.kernel, &fixture->hand.context);
  assert_int_equal(fixture->trace.commands.count, TILES * QUEUE_COUNT);
  for (int64_t i = 0; i < TILES; i++) {
    assert_ptr_equal(queue_trace_command(&fixture->trace, QUEUE_COUNT * i + STORES), &fixture->hand.commands[STORES]);
    TracedAccess read = access_of(fixture, QUEUE_COUNT * i + STORES, 0);
    assert_int_equal(read.object, XLAC_ONCORE_BUFFER);
    assert_false(read.is_write);
    assert_ptr_equal(read.begin, out_slot(&fixture->hand.context, i));
    TracedAccess write = access_of(fixture, QUEUE_COUNT * i + STORES, 1);
    assert_int_equal(write.object, 1);
    assert_true(write.is_write);
    assert_ptr_equal(write.begin, fixture->hand.y + i * TILE);
    assert_int_equal(write.bytes, TILE_BYTES);
  }
  assert_int_equal(fixture->hand.y[0], 0); /* nothing was done */
}

static void trace_takes_accesses_anywhere_for_all_of_the_object(void **state) {
  TraceFixture *fixture = *state;
  static const XlacOncoreLevel levels[] = {{3, 32}};
  static const XlacOncoreAccess accesses[] = {
      {.pointer = 0, .flags = XLAC_ONCORE_ANYWHERE, .bytes = 4},
      {.pointer = 1, .flags = XLAC_ONCORE_WRITES, .offset = 8, .bytes = 4, .level_count = 1, .levels = levels}};
  static const XlacOncoreVariant variant = {copy_tile, 0, TILE_BYTES, 1, 2, accesses};
  fixture->hand.commands[LOADS].variants = &variant;
  queue_trace_record(&fixture->trace, fixture->arena, &fixture->hand.kernel, &fixture->hand.context);
  TracedAccess anywhere = access_of(fixture, QUEUE_COUNT, 0), rows = access_of(fixture, QUEUE_COUNT, 1);
  assert_ptr_equal(anywhere.begin, fixture->hand.x);
  assert_int_equal(anywhere.bytes, sizeof fixture->hand.x);
  assert_int_equal(anywhere.level_count, 0);
  assert_ptr_equal(rows.begin, (char *)in_slot(&fixture->hand.context, 1) + 8);
  assert_int_equal(rows.level_count, 1);
  assert_int_equal(rows.levels[0].stride, 32);
}

static void trace_leaves_parameters_out(void **state) {
  TraceFixture *fixture = *state;
  static const int64_t objects[] = {XLAC_ONCORE_PARAMETERS, XLAC_ONCORE_BUFFER};
  TracedAccess access;
  fixture->hand.commands[LOADS].objects = objects;
  queue_trace_record(&fixture->trace, fixture->arena, &fixture->hand.kernel, &fixture->hand.context);
  assert_false(queue_trace_access(&fixture->trace, 0, 0, &access));
  assert_true(queue_trace_access(&fixture->trace, 0, 1, &access));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(trace_has_commands_in_program_order, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(trace_takes_accesses_anywhere_for_all_of_the_object, create_fixture,
                                      destroy_fixture),
      cmocka_unit_test_setup_teardown(trace_leaves_parameters_out, create_fixture, destroy_fixture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
