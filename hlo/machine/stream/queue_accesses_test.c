#include "hlo/machine/stream/last_uses_internal.h"
#include "hlo/machine/stream/queue_accesses_internal.h"
#include "hlo/machine/stream/stream_testing.h"

enum { COMMANDS = 40, BYTES = 1 << 10 };

/* Up to three levels, some of them with strides that others have too, so that boxes interleave without meeting. */
static ByteBox random_box(uint64_t *random) {
  static const int64_t strides[] = {256, 64, 48, 16, 8};
  ByteBox box = {.bytes = 1 + (int64_t)draw(random, 6)};
  int64_t first = (int64_t)draw(random, 3), end = box.bytes;
  box.level_count = (int)draw(random, 3);
  for (int i = 0; i < box.level_count; i++) {
    box.levels[i] = (ByteLevel){1 + (int64_t)draw(random, 3), strides[first + i]};
    end += (box.levels[i].count - 1) * box.levels[i].stride;
  }
  box.base = (int64_t)draw(random, (uint64_t)(BYTES - end));
  return box;
}

/* Commands that read and write such boxes of memory, with some edges. */
static void build_random_stream(StreamFixture *fixture, uint64_t seed) {
  uint64_t random = seed * 1000;
  command_stream_init(&fixture->stream, fixture->arena, BYTES);
  int32_t object = command_stream_add_object(&fixture->stream, SV("memory"), BYTES, 0);
  uint64_t edge_percent = draw(&random, 100);
  for (int32_t i = 0; i < COMMANDS; i++) {
    ByteBox read = random_box(&random), write = random_box(&random);
    command_stream_add_operation(&fixture->stream, i, (int32_t)draw(&random, QUEUE_COUNT), 1);
    if (draw(&random, 3) > 0) command_stream_add_read(&fixture->stream, object, &read);
    if (draw(&random, 3) > 0) command_stream_add_write(&fixture->stream, object, &write);
    if (i > 0 && draw(&random, 100) < edge_percent)
      command_stream_add_edge(&fixture->stream, (int32_t)draw(&random, (uint64_t)i));
  }
}

/* The edges of the command that |order| has begun. */
static InstanceArray edges_of(StreamFixture *fixture, CommandOrder *order, int32_t instance, InstanceArray *producers) {
  InstanceArray edges = {0};
  instances_wait_for(order, producers, fixture->scratch, &edges);
  assert_int_equal(command_order_end(order, &fixture->diag), STATUS_OK);
  assert_int_equal(order->count, instance + 1);
  return edges;
}

/* What is derived is the same by queues and by classes of bytes. */
static void edges_are_those_of_last_uses(void **state) {
  StreamFixture *fixture = *state;
  int64_t count = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    arena_reset(fixture->scratch);
    build_random_stream(fixture, seed);
    CommandOrder orders[2];
    QueueAccesses accesses;
    LastUses uses;
    for (int i = 0; i < 2; i++) command_order_init(&orders[i], fixture->scratch, &fixture->stream, &fixture->machine);
    assert_true(queue_accesses_suit(&fixture->stream, &fixture->machine));
    queue_accesses_init(&accesses, fixture->scratch, &fixture->stream, &fixture->machine, &orders[0]);
    assert_int_equal(last_uses_init(&uses, fixture->scratch, &fixture->stream, &orders[1], &fixture->diag), STATUS_OK);
    for (int32_t i = 0; i < COMMANDS; i++) {
      InstanceArray producers = {0}, others = {0};
      InstanceRange given = command_stream_edges(&fixture->stream, i);
      for (int k = 0; k < 2; k++) {
        command_order_begin(&orders[k]);
        for (int64_t e = 0; e < given.count; e++) command_order_wait(&orders[k], given.data[e]);
      }
      queue_accesses_find(&accesses, i, &producers);
      last_uses_find(&uses, i, &others);
      InstanceArray edges = edges_of(fixture, &orders[0], i, &producers);
      InstanceArray expected = edges_of(fixture, &orders[1], i, &others);
      assert_int_equal(edges.count, expected.count);
      for (int64_t e = 0; e < edges.count; e++) assert_int_equal(edges.data[e], expected.data[e]);
      count += edges.count;
      queue_accesses_note(&accesses, i);
      last_uses_note(&uses, i);
    }
  }
  assert_true(count > 10000);
}

/* Where bytes need not be written before they are read, races are looked for by queues; else by classes of bytes. */
static void races_are_those_of_classes(void **state) {
  StreamFixture *fixture = *state;
  int64_t races = 0, clean = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    arena_reset(fixture->scratch);
    build_random_stream(fixture, seed);
    CommandStream derived;
    assert_int_equal(hazards_derive_edges(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                          &fixture->diag, &derived),
                     STATUS_OK);
    CommandStream *streams[] = {&fixture->stream, &derived};
    for (int s = 0; s < 2; s++) {
      HazardReport by_classes = check_stream(fixture, streams[s]);
      int64_t expected = hazard_report_races(&by_classes);
      command_stream_free_objects(streams[s]);
      HazardReport report = check_stream(fixture, streams[s]);
      assert_int_equal(hazard_report_races(&report), expected);
      assert_int_equal(report.counts[HAZARD_UNINITIALISED], 0);
      for (int64_t o = 0; o < streams[s]->objects.count; o++)
        streams[s]->objects.data[o].flags &= ~(unsigned)OBJECT_INITIALISED;
      races += expected;
      clean += expected == 0;
    }
  }
  assert_true(races > 10000 && clean >= 3000);
}

/* What would be looked at by classes is known too little of by queues. */
static void queues_without_order_do_not_suit(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_operation(&fixture->stream, 0, EX, 1);
  fixture->queues[EX].complete = COMPLETE_UNORDERED;
  assert_true(queue_accesses_suit(&fixture->stream, &fixture->machine));
  write_bytes(fixture, BUFFER_OBJECT, 0, 1);
  assert_false(queue_accesses_suit(&fixture->stream, &fixture->machine));
  fixture->queues[EX].complete = COMPLETE_IN_ORDER;
  assert_true(queue_accesses_suit(&fixture->stream, &fixture->machine));
}

/* Memory that is used again and again, cut into other rows each time: by classes each command would look at some for
 * every command before it. */
static void memory_that_is_used_again_is_practical(void **state) {
  StreamFixture *fixture = *state;
  enum { MANY = 100000, MEMORY = 1 << 20, ROWS = 64 };
  int32_t object = command_stream_add_object(&fixture->stream, SV("memory"), MEMORY, OBJECT_INITIALISED);
  for (int32_t i = 0; i < MANY; i++) {
    ByteBox box = {.bytes = 1000, .level_count = 1, .levels = {{ROWS, 2000 + i / 1000}}};
    box.base = (int64_t)i * 7919 % (MEMORY - ROWS * (2000 + MANY / 1000));
    command_stream_add_operation(&fixture->stream, i, i % QUEUE_COUNT, 1);
    command_stream_add_write(&fixture->stream, object, &box);
  }
  CommandStream derived;
  assert_int_equal(hazards_derive_edges(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                        &fixture->diag, &derived),
                   STATUS_OK);
  assert_true(derived.edges.count > MANY / 2);
  HazardReport report = check_stream(fixture, &derived);
  assert_int_equal(hazard_report_races(&report), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(edges_are_those_of_last_uses),
      TEST(races_are_those_of_classes),
      TEST(queues_without_order_do_not_suit),
      TEST(memory_that_is_used_again_is_practical),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
