#include "hlo/machine/stream/queue_waits.h"

#include "hlo/machine/stream/stream_testing.h"

static QueueWaits find(StreamFixture *fixture, const CommandStream *stream, QueueSimulation *out_simulation) {
  *out_simulation = queue_simulation_run(fixture->arena, fixture->scratch, stream, &fixture->machine);
  return queue_waits_find(fixture->arena, stream, out_simulation);
}

static const QueueWait *row_of(QueueWaits waits, WaitKind kind, int32_t label, int32_t cause) {
  for (int64_t i = 0; i < waits.count; i++) {
    const QueueWait *row = &waits.rows[i];
    if (row->kind == kind && row->label == label && row->cause == cause) return row;
  }
  fail_msg("no wait of kind %d of %d for %d", kind, label, cause);
  return NULL;
}

/* Load and store of 576 cycles, operation of 784, two tiles, one slot each:
 *
 *   LD |ld0 576|....784....|ld1     |
 *   EX |..576..|ex0 784    |..576...|ex1     |
 *   ST |........1360.......|st0 576 |...784..|st1 */
static void waits_of_a_loop_worked_out_by_hand(void **state) {
  StreamFixture *fixture = *state;
  CommandStream stream = build_tile_loop(fixture, (TileLoop){2, 16384, 768, 1, false, 0});
  QueueSimulation simulation;
  QueueWaits waits = find(fixture, &stream, &simulation);
  const QueueWait *store = row_of(waits, WAIT_EDGE, LABEL_ST, LABEL_EX);
  assert_cycles(store->cycles, 1360 + 784);
  assert_cycles(store->longest, 1360);
  assert_int_equal(store->count, 2);
  assert_int_equal(store->edge, EDGE_READ_AFTER_WRITE);
  assert_ptr_equal(store, &waits.rows[0]); /* the longest comes first */
  const QueueWait *load = row_of(waits, WAIT_EDGE, LABEL_LD, LABEL_EX);
  assert_cycles(load->cycles, 784);
  assert_int_equal(load->edge, EDGE_WRITE_AFTER_READ);
  assert_int_equal(load->queue, LD);
  double operations = 0;
  for (int64_t i = 0; i < waits.count; i++) operations += waits.rows[i].label == LABEL_EX ? waits.rows[i].cycles : 0;
  assert_cycles(operations, 2 * 576);
}

/* What edges hold up is what the simulation calls a stall. */
static void waits_for_edges_are_the_stalls(void **state) {
  StreamFixture *fixture = *state;
  for (int64_t depth = 1; depth < 4; depth++) {
    CommandStream stream = build_tile_loop(fixture, (TileLoop){40, 4096, 300, depth, depth == 2, 0});
    QueueSimulation simulation;
    QueueWaits waits = find(fixture, &stream, &simulation);
    double stalls[QUEUE_COUNT] = {0};
    for (int64_t i = 0; i < waits.count; i++)
      if (waits.rows[i].kind == WAIT_EDGE) stalls[waits.rows[i].queue] += waits.rows[i].cycles;
    for (int q = 0; q < QUEUE_COUNT; q++) assert_cycles(stalls[q], simulation.queues[q].stall);
  }
}

/* The second store finds its queue full until the first one is complete, at 576 + 784 + 576; the third load, which
 * comes later, could have started at 2 · 576. */
static void what_comes_after_a_full_queue_waits_for_room(void **state) {
  StreamFixture *fixture = *state;
  CommandStream stream = build_tile_loop(fixture, (TileLoop){4, 16384, 768, 4, false, 0});
  fixture->queues[ST].depth = 1;
  QueueSimulation simulation;
  QueueWaits waits = find(fixture, &stream, &simulation);
  const QueueWait *room = row_of(waits, WAIT_ROOM, LABEL_LD, ST);
  assert_cycles(room->longest, 576 + 784 + 576 - 2 * 576);
  assert_int_equal(room->queue, LD);
}

static void what_comes_after_a_barrier_waits_for_it(void **state) {
  StreamFixture *fixture = *state;
  fixture->machine.sync.barrier = 20;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 16384, OBJECT_INITIALISED);
  command_stream_add_transfer(&fixture->stream, LABEL_LD, LD, 16384, 1);
  read_bytes(fixture, x, 0, 16384);
  write_bytes(fixture, BUFFER_OBJECT, 0, 16384);
  command_stream_add_barrier(&fixture->stream, 7, 1 << LD | 1 << EX);
  command_stream_add_operation(&fixture->stream, LABEL_EX, EX, 100);
  QueueSimulation simulation;
  QueueWaits waits = find(fixture, &fixture->stream, &simulation);
  assert_int_equal(waits.count, 1);
  assert_cycles(row_of(waits, WAIT_BARRIER, LABEL_EX, 7)->cycles, 576 + 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(waits_of_a_loop_worked_out_by_hand, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(waits_for_edges_are_the_stalls, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(what_comes_after_a_full_queue_waits_for_room, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(what_comes_after_a_barrier_waits_for_it, create_fixture, destroy_fixture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
