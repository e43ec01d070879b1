#include "hlo/machine/stream/last_uses_internal.h"
#include "hlo/machine/stream/stream_testing.h"

enum { READS = 1000, BYTES = 64 };

/* Reads of the same bytes of |object| on queues that promise no order, each after the one |distance| before it; then a
 * write of them.  Returns what the write depends on; |*out_kept|: reads that are known before it. */
static InstanceArray producers_of_write(StreamFixture *fixture, int32_t object, int32_t distance, int64_t *out_kept) {
  for (int i = 0; i < QUEUE_COUNT; i++) fixture->queues[i].complete = COMPLETE_UNORDERED;
  for (int32_t i = 0; i <= READS; i++) {
    command_stream_add_operation(&fixture->stream, i, EX, 1);
    if (i == READS)
      write_bytes(fixture, object, 0, BYTES);
    else
      read_bytes(fixture, object, 0, BYTES);
    if (i < READS && i >= distance) command_stream_add_edge(&fixture->stream, i - distance);
  }
  CommandOrder order;
  LastUses uses;
  command_order_init(&order, fixture->arena, &fixture->stream, &fixture->machine);
  assert_int_equal(last_uses_init(&uses, fixture->arena, &fixture->stream, &order, &fixture->diag), STATUS_OK);
  for (int32_t i = 0; i < READS; i++) {
    command_order_begin(&order);
    if (i >= distance) command_order_wait(&order, i - distance);
    assert_int_equal(command_order_end(&order, &fixture->diag), STATUS_OK);
    last_uses_note(&uses, i);
  }
  *out_kept = uses.reads.count;
  InstanceArray producers = {0};
  last_uses_find(&uses, READS, &producers);
  return producers;
}

static void reads_in_a_row_are_known_by_the_latest(void **state) {
  int64_t kept;
  InstanceArray producers = producers_of_write(*state, BUFFER_OBJECT, 1, &kept);
  assert_int_equal(kept, 1);
  assert_int_equal(producers.count, 1);
  assert_int_equal(producers.data[0], READS - 1);
}

/* As the loads of a ring are that takes a weight again and again: each waits for the slot that it fills. */
static void reads_of_a_ring_are_as_many_as_its_slots(void **state) {
  StreamFixture *fixture = *state;
  int32_t memory = command_stream_add_object(&fixture->stream, SV("weight"), BYTES, OBJECT_INITIALISED);
  int64_t kept;
  InstanceArray producers = producers_of_write(fixture, memory, 4, &kept);
  assert_int_equal(kept, 4);
  assert_int_equal(producers.count, 4);
  for (int32_t i = 0; i < 4; i++) assert_true(producers.data[i] >= READS - 4);
}

static void reads_without_order_are_all_waited_for(void **state) {
  int64_t kept;
  InstanceArray producers = producers_of_write(*state, BUFFER_OBJECT, READS, &kept);
  assert_int_equal(kept, READS);
  assert_int_equal(producers.count, READS);
}

/* A Buffer whose bytes are used again and again, by other tiles each time: about as long for each command, however many
 * there are, on queues of which one promises no order.  By classes the last command would look at one for each tile
 * before it. */
static void streams_with_many_tiles_are_practical(void **state) {
  StreamFixture *fixture = *state;
  enum { COMMANDS = 100000, BUFFER = 1 << 20, TILE = 1 << 18 };
  fixture->queues[EX].complete = COMPLETE_UNORDERED;
  command_stream_init(&fixture->stream, fixture->arena, BUFFER);
  for (int32_t i = 0; i < COMMANDS; i++) {
    ByteBox box = {.base = (int64_t)i * 7919 % (BUFFER - TILE), .bytes = TILE};
    command_stream_add_operation(&fixture->stream, i, i % QUEUE_COUNT, 1);
    command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &box);
  }
  CommandStream derived;
  assert_int_equal(hazards_derive_edges(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                        &fixture->diag, &derived),
                   STATUS_OK);
  assert_true(derived.edges.count > COMMANDS / 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(reads_in_a_row_are_known_by_the_latest),
      TEST(reads_of_a_ring_are_as_many_as_its_slots),
      TEST(reads_without_order_are_all_waited_for),
      TEST(streams_with_many_tiles_are_practical),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
