#include "hlo/machine/stream/buffer_stretches.h"

#include "hlo/machine/stream/stream_testing.h"

/* Load and store of 576 cycles, operation of 784, two tiles, one slot each: see queue_waits_test.c. */
static void stretches_of_a_loop_worked_out_by_hand(void **state) {
  StreamFixture *fixture = *state;
  CommandStream stream = build_tile_loop(fixture, (TileLoop){2, 16384, 768, 1, false, 0});
  QueueSimulation simulation = queue_simulation_run(fixture->arena, fixture->scratch, &stream, &fixture->machine);
  BufferStretches found = buffer_stretches_find(fixture->arena, &stream, &simulation);
  static const struct {
    int64_t begin, end;
    int first, last;
    double from, to;
  } expected[] = {{0, 16384, 0, 1, 0, 1360},
                  {16384, 32768, 1, 2, 576, 1936},
                  {0, 16384, 3, 4, 1360, 2720},
                  {16384, 32768, 4, 5, 1936, 3296}};
  assert_int_equal(found.count, 4);
  for (int i = 0; i < 4; i++) {
    const BufferStretch *stretch = &found.stretches[i];
    assert_int_equal(stretch->begin, expected[i].begin);
    assert_int_equal(stretch->end, expected[i].end);
    assert_int_equal(stretch->first, expected[i].first);
    assert_int_equal(stretch->last, expected[i].last);
    assert_cycles(stretch->from, expected[i].from);
    assert_cycles(stretch->to, expected[i].to);
  }
}

/* Two loads fill the halves of what an operation reads as one. */
static void stretches_join_what_one_command_touches(void **state) {
  StreamFixture *fixture = *state;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 2048, OBJECT_INITIALISED);
  for (int half = 0; half < 2; half++) {
    command_stream_add_transfer(&fixture->stream, LABEL_LD, LD, 1024, 1);
    read_bytes(fixture, x, half * 1024, 1024);
    write_bytes(fixture, BUFFER_OBJECT, half * 1024, 1024);
  }
  command_stream_add_operation(&fixture->stream, LABEL_EX, EX, 100);
  read_bytes(fixture, BUFFER_OBJECT, 0, 2048);
  command_stream_add_edge(&fixture->stream, 1);
  QueueSimulation simulation =
      queue_simulation_run(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine);
  BufferStretches found = buffer_stretches_find(fixture->arena, &fixture->stream, &simulation);
  assert_int_equal(found.stretches[0].begin, 0);
  assert_int_equal(found.stretches[0].end, 2048);
  assert_int_equal(found.stretches[found.count - 1].last, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(stretches_of_a_loop_worked_out_by_hand, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(stretches_join_what_one_command_touches, create_fixture, destroy_fixture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
