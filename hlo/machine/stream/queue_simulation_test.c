#include "hlo/machine/stream/queue_simulation.h"

#include <math.h>

#include "hlo/machine/stream/stream_testing.h"

static double simulate(StreamFixture *fixture, const CommandStream *stream) {
  QueueSimulation simulation = queue_simulation_run(fixture->arena, fixture->scratch, stream, &fixture->machine);
  QueueWork work = queue_work_of_stream(fixture->arena, stream, &fixture->machine);
  assert_true(queue_bound(&fixture->machine, &work).cycles <= simulation.cycles);
  return simulation.cycles;
}

static double simulate_loop(StreamFixture *fixture, TileLoop loop) {
  CommandStream stream = build_tile_loop(fixture, loop);
  HazardReport report = check_stream(fixture, &stream);
  assert_int_equal(hazard_report_faults(&report), 0);
  assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], 0);
  return simulate(fixture, &stream);
}

/* --- load and store of 576 cycles, operation of 784, 64 tiles of 16 KiB, worked out by hand --- */

static void simulation_meets_loops_worked_out_by_hand(void **state) {
  static const struct {
    bool in_place;
    int64_t depth;
    double cycles;
  } rows[] = {{false, 1, 87616}, {false, 2, 51328}, {false, 3, 51328}, {false, 4, 51328},
              {true, 1, 123904}, {true, 2, 62736},  {true, 3, 51328}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    TileLoop loop = {64, 16384, 768, rows[i].depth, rows[i].in_place, 0};
    assert_cycles(simulate_loop(*state, loop), rows[i].cycles);
  }
}

/* 262144 elements of f32, one cycle a vector, in tiles of 16384 and of 256. */
static void simulation_shows_what_setup_costs(void **state) {
  TileLoop large = {16, 65536, 1024, 2, true, 0}, small = {1024, 1024, 16, 2, false, 0};
  large.depth = 3;
  assert_cycles(simulate_loop(*state, large), 16 * 2112 + 1040 + 2112);
  assert_cycles(simulate_loop(*state, large), 36944);
  assert_cycles(simulate_loop(*state, small), 98432);
}

/* --- one queue for loads and stores --- */

static void share_transfers(StreamFixture *fixture) {
  fixture->queues[LD].kind = QUEUE_MOVE;
  fixture->queues[LD].name = SV("DMA");
}

static double simulate_shared(StreamFixture *fixture, TileLoop loop) {
  CommandStream stream = build_tile_loop(fixture, loop);
  for (int64_t i = 0; i < stream.commands.count; i++) {
    if (stream.commands.data[i].queue == ST) stream.commands.data[i].queue = LD;
  }
  return simulate(fixture, &stream);
}

/* Of the bound 64 * 1152: 59.5 %, 99.4 % and 100 %. */
static void shared_queue_needs_loads_ahead(void **state) {
  share_transfers(*state);
  assert_cycles(simulate_shared(*state, (TileLoop){64, 16384, 768, 2, false, 0}), 64 * (576 + 784 + 576));
  assert_cycles(simulate_shared(*state, (TileLoop){64, 16384, 768, 2, false, 1}), 73728 + 2 * 208);
  assert_cycles(simulate_shared(*state, (TileLoop){64, 16384, 768, 3, false, 2}), 73728);
}

/* --- the example of the plan language: 4096 rows of 1024 f32, 16 rows a tile, three operations on each --- */

enum { ROWS_BYTES = 65536, ROW_TILES = 256, ROW_SLOTS = 196608 };

typedef struct RowObjects {
  int32_t x, g, y;
} RowObjects;

static void add_row_load(StreamFixture *fixture, RowObjects objects, int64_t tile, int64_t depth) {
  command_stream_add_transfer(&fixture->stream, 1, LD, ROWS_BYTES, 1);
  read_bytes(fixture, objects.x, tile * ROWS_BYTES, ROWS_BYTES);
  write_bytes(fixture, BUFFER_OBJECT, tile % depth * ROWS_BYTES, ROWS_BYTES);
}

/* Nine cycles a vector in all: 1 for the mean, 3 for the deviation, 5 for the rest; 1024 vectors. */
static void add_row_work(StreamFixture *fixture, RowObjects objects, int64_t tile, int64_t depth, int32_t store_queue) {
  int64_t slot = tile % depth * ROWS_BYTES, g = ROW_SLOTS, mean = g + 4096, rstd = mean + 64;
  CommandStream *stream = &fixture->stream;
  command_stream_add_operation(stream, 2, EX, 1 * 1024);
  read_bytes(fixture, BUFFER_OBJECT, slot, ROWS_BYTES);
  write_bytes(fixture, BUFFER_OBJECT, mean, 64);
  command_stream_add_operation(stream, 3, EX, 3 * 1024);
  read_bytes(fixture, BUFFER_OBJECT, slot, ROWS_BYTES);
  read_bytes(fixture, BUFFER_OBJECT, mean, 64);
  write_bytes(fixture, BUFFER_OBJECT, rstd, 64);
  command_stream_add_operation(stream, 4, EX, 5 * 1024);
  read_bytes(fixture, BUFFER_OBJECT, slot, ROWS_BYTES);
  read_bytes(fixture, BUFFER_OBJECT, g, 4096 + 128);
  write_bytes(fixture, BUFFER_OBJECT, slot, ROWS_BYTES);
  command_stream_add_transfer(stream, 5, store_queue, ROWS_BYTES, 1);
  read_bytes(fixture, BUFFER_OBJECT, slot, ROWS_BYTES);
  write_bytes(fixture, objects.y, tile * ROWS_BYTES, ROWS_BYTES);
}

static CommandStream build_rows(StreamFixture *fixture, int64_t depth, int64_t ahead, int32_t store_queue) {
  CommandStream *stream = &fixture->stream, derived;
  command_stream_init(stream, fixture->arena, fixture->machine.buffer.size);
  RowObjects objects;
  objects.x = command_stream_add_object(stream, SV("x"), ROW_TILES * ROWS_BYTES, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  objects.g = command_stream_add_object(stream, SV("g"), 4096, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  objects.y = command_stream_add_object(stream, SV("y"), ROW_TILES * ROWS_BYTES, OBJECT_WRITTEN_ONCE);
  command_stream_add_transfer(stream, 0, LD, 4096, 1);
  read_bytes(fixture, objects.g, 0, 4096);
  write_bytes(fixture, BUFFER_OBJECT, ROW_SLOTS, 4096);
  for (int64_t i = 0; i < ahead; i++) add_row_load(fixture, objects, i, depth);
  for (int64_t i = 0; i < ROW_TILES; i++) {
    if (i + ahead < ROW_TILES) add_row_load(fixture, objects, i + ahead, depth);
    add_row_work(fixture, objects, i, depth, store_queue);
  }
  assert_int_equal(
      hazards_derive_edges(fixture->arena, fixture->scratch, stream, &fixture->machine, &fixture->diag, &derived),
      STATUS_OK);
  return derived;
}

static void simulation_meets_example_worked_out_by_hand(void **state) {
  StreamFixture *fixture = *state;
  fixture->machine.memory_bytes_per_cycle = 48;
  CommandStream stream = build_rows(fixture, 3, 1, ST);
  assert_int_equal(stream.commands.count, 1281);
  HazardReport report = check_stream(fixture, &stream);
  assert_int_equal(hazard_report_faults(&report), 0);
  assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], 0);
  /* Load to mean, rest to store, store to load three tiles on; the load of g is implied by that of the first tile,
   * which is after it on its queue. */
  assert_int_equal(report.edges, 256 + 256 + 253);
  QueueWork work = queue_work_of_stream(fixture->arena, &stream, &fixture->machine);
  QueueLimit bound = queue_bound(&fixture->machine, &work);
  assert_string_equal(queue_limit_text(fixture->arena, &fixture->machine, &bound), "queue EX");
  assert_cycles(bound.cycles, 256 * (9 * 1024 + 3 * 16));
  assert_cycles(simulate(fixture, &stream), 2376000);
}

/* 68.7 % of the bound: every tile alone, after the load of g. */
static void example_without_overlap_is_serial(void **state) {
  StreamFixture *fixture = *state;
  double serial = 192 + 256.0 * (2112 + 9264 + 2112);
  fixture->machine.memory_bytes_per_cycle = 48;
  CommandStream one_slot = build_rows(fixture, 1, 0, ST);
  assert_cycles(simulate(fixture, &one_slot), serial);
  share_transfers(fixture);
  CommandStream in_step = build_rows(fixture, 3, 0, LD);
  assert_cycles(simulate(fixture, &in_step), serial);
  CommandStream ahead = build_rows(fixture, 3, 1, LD);
  HazardReport report = check_stream(fixture, &ahead);
  assert_int_equal(hazard_report_faults(&report), 0);
  /* The second tile's load still comes before the first operation's end. */
  assert_cycles(simulate(fixture, &ahead), 2376000);
}

/* --- parts --- */

static void memory_is_shared_evenly(void **state) {
  StreamFixture *fixture = *state;
  CommandStream *stream = &fixture->stream;
  fixture->machine.memory_bytes_per_cycle = 48;
  command_stream_add_transfer(stream, 0, LD, 4800, 1);
  command_stream_add_transfer(stream, 1, ST, 2400, 1);
  QueueSimulation simulation = queue_simulation_run(fixture->arena, fixture->scratch, stream, &fixture->machine);
  /* 24 each for 100 cycles, then 2400 bytes at 32. */
  assert_cycles(simulation.ends[1], 64 + 100);
  assert_cycles(simulation.ends[0], 64 + 100 + 75);
  assert_cycles(simulation.memory_busy, 175);
  assert_int_equal(simulation.memory_bytes, 7200);
}

/* 24 bytes a cycle each while both move, 32 alone. */
static void two_queues_take_as_long_as_they_share(void **state) {
  StreamFixture *fixture = *state;
  MachineDescription *machine = &fixture->machine;
  machine->memory_bytes_per_cycle = 48;
  assert_cycles(queue_pair_cycles(machine, LD, 4800, ST, 0), 150);
  assert_cycles(queue_pair_cycles(machine, LD, 4800, ST, 4800), 200);
  assert_cycles(queue_pair_cycles(machine, LD, 2400, ST, 4800), 175);
  machine->memory_bytes_per_cycle = 0;
  assert_cycles(queue_pair_cycles(machine, LD, 2400, ST, 4800), 150);
  machine->memory_bytes_per_cycle = 16; /* slower than either queue */
  assert_cycles(queue_pair_cycles(machine, LD, 1600, ST, 3200), 300);
}

/* Both for 1000 cycles, then 24000 bytes at 32: more than 72000 / 48, and what is simulated but for the setup. */
static void bound_knows_shares_of_memory(void **state) {
  StreamFixture *fixture = *state;
  fixture->machine.memory_bytes_per_cycle = 48;
  command_stream_add_transfer(&fixture->stream, 0, LD, 48000, 1);
  command_stream_add_transfer(&fixture->stream, 1, ST, 24000, 1);
  QueueWork work = queue_work_of_stream(fixture->arena, &fixture->stream, &fixture->machine);
  QueueLimit bound = queue_bound(&fixture->machine, &work);
  assert_int_equal(bound.kind, LIMIT_MEMORY);
  assert_cycles(bound.cycles, 1750);
  assert_cycles(simulate(fixture, &fixture->stream), 64 + 1750);
}

static void slow_queue_leaves_its_share(void **state) {
  StreamFixture *fixture = *state;
  CommandStream *stream = &fixture->stream;
  fixture->machine.memory_bytes_per_cycle = 40;
  fixture->queues[LD].bytes_per_cycle = 10;
  command_stream_add_transfer(stream, 0, LD, 1000, 1);
  command_stream_add_transfer(stream, 1, ST, 3000, 1);
  QueueSimulation simulation = queue_simulation_run(fixture->arena, fixture->scratch, stream, &fixture->machine);
  assert_cycles(simulation.ends[0], 164);
  assert_cycles(simulation.ends[1], 164);
}

static void rows_cost_two_cycles_each(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_transfer(&fixture->stream, 0, LD, 3200, 11);
  assert_cycles(simulate(fixture, &fixture->stream), 64 + 100 + 20);
}

static void edge_is_seen_after_set_and_wait(void **state) {
  StreamFixture *fixture = *state;
  fixture->machine.sync = (MachineSync){.set = 3, .wait = 4, .barrier = 20};
  command_stream_add_transfer(&fixture->stream, 0, LD, 3200, 1);
  command_stream_add_operation(&fixture->stream, 1, EX, 84);
  command_stream_add_edge(&fixture->stream, 0);
  command_stream_add_operation(&fixture->stream, 2, EX, 84); /* long after: the edge costs nothing */
  command_stream_add_edge(&fixture->stream, 0);
  QueueSimulation simulation =
      queue_simulation_run(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine);
  assert_cycles(simulation.starts[1], 164 + 7);
  assert_cycles(simulation.cycles, 164 + 7 + 200);
  assert_cycles(simulation.queues[EX].busy, 200);
  assert_cycles(simulation.queues[EX].stall, 171);
}

static void barrier_stops_every_queue(void **state) {
  StreamFixture *fixture = *state;
  fixture->machine.sync = (MachineSync){.set = 1, .wait = 1, .barrier = 20};
  command_stream_add_transfer(&fixture->stream, 0, LD, 3200, 1);
  command_stream_add_operation(&fixture->stream, 1, EX, 984);
  command_stream_add_barrier(&fixture->stream, 2, 1 << LD);
  command_stream_add_transfer(&fixture->stream, 3, ST, 3200, 1);
  QueueSimulation simulation =
      queue_simulation_run(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine);
  assert_cycles(simulation.starts[3], 164 + 20);
  assert_cycles(simulation.barriers, 184);
  assert_cycles(simulation.cycles, 1000);
}

/* Two loads fit the queue, the third and the operation after it have to wait for the first to end. */
static void full_queue_stalls_issue(void **state) {
  StreamFixture *fixture = *state;
  fixture->queues[LD].depth = 2;
  for (int i = 0; i < 3; i++) command_stream_add_transfer(&fixture->stream, 0, LD, 3200, 1);
  command_stream_add_operation(&fixture->stream, 1, EX, 84);
  QueueSimulation simulation =
      queue_simulation_run(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine);
  assert_cycles(simulation.starts[3], 164);
  assert_cycles(simulation.issue_stall, 164);
}

static void unordered_queue_takes_what_is_ready(void **state) {
  StreamFixture *fixture = *state;
  for (int unordered = 0; unordered < 2; unordered++) {
    command_stream_init(&fixture->stream, fixture->arena, 1024);
    fixture->queues[EX].complete = unordered ? COMPLETE_UNORDERED : COMPLETE_IN_ORDER;
    command_stream_add_transfer(&fixture->stream, 0, LD, 3200, 1);
    command_stream_add_operation(&fixture->stream, 1, EX, 84);
    command_stream_add_edge(&fixture->stream, 0);
    command_stream_add_operation(&fixture->stream, 2, EX, 84);
    assert_cycles(simulate(fixture, &fixture->stream), unordered ? 264 : 364);
  }
}

static void more_of_anything_never_costs(void **state) {
  StreamFixture *fixture = *state;
  for (int64_t depth = 1; depth < 4; depth++) {
    double slots = simulate_loop(fixture, (TileLoop){20, 4096, 300, depth, true, 0});
    assert_true(simulate_loop(fixture, (TileLoop){20, 4096, 300, depth + 1, true, 0}) <= slots);
    double before = INFINITY;
    for (double cap = 8; cap <= 64; cap += 8) {
      fixture->machine.memory_bytes_per_cycle = cap;
      double cycles = simulate_loop(fixture, (TileLoop){20, 4096, 300, depth, false, 0});
      assert_true(cycles <= before);
      before = cycles;
    }
    fixture->machine.memory_bytes_per_cycle = 0;
  }
}

/* Commands with random costs, edges and barriers. */
static void build_random_work(StreamFixture *fixture, uint64_t *random) {
  command_stream_init(&fixture->stream, fixture->arena, 1024);
  for (int i = 0; i < QUEUE_COUNT; i++) {
    fixture->queues[i].depth = 1 + (int64_t)draw(random, 4);
    fixture->queues[i].complete = draw(random, 2) ? COMPLETE_UNORDERED : COMPLETE_IN_ORDER;
  }
  fixture->machine.memory_bytes_per_cycle = (double)draw(random, 70);
  fixture->machine.sync = (MachineSync){.set = 1, .wait = 2, .barrier = (int64_t)draw(random, 30)};
  for (int32_t i = 0; i < 60; i++) {
    int32_t queue = (int32_t)draw(random, QUEUE_COUNT + 1) - 1;
    int64_t work = (int64_t)draw(random, 4000);
    if (queue == BARRIER_QUEUE && draw(random, 4) > 0) continue;
    if (queue == BARRIER_QUEUE) command_stream_add_barrier(&fixture->stream, i, draw(random, 8));
    if (queue == EX) command_stream_add_operation(&fixture->stream, i, EX, (double)work);
    if (queue == LD || queue == ST) command_stream_add_transfer(&fixture->stream, i, queue, work, 1 + work / 100);
    if (queue == BARRIER_QUEUE) continue;
    for (int32_t k = 0; k + 1 < fixture->stream.commands.count; k++) {
      bool is_barrier = fixture->stream.commands.data[k].queue == BARRIER_QUEUE;
      if (!is_barrier && draw(random, 20) == 0) command_stream_add_edge(&fixture->stream, k);
    }
  }
}

/* What the header says of the machine, asked of the times that came out. */
static void check_times(StreamFixture *fixture, const QueueSimulation *simulation) {
  const CommandStream *stream = &fixture->stream;
  double barrier = 0;
  for (int32_t b = 0; b < stream->commands.count; b++) {
    const StreamCommand *command = &stream->commands.data[b];
    double start = simulation->starts[b], end = simulation->ends[b];
    assert_true(start >= barrier && end <= simulation->cycles);
    InstanceRange edges = command_stream_edges(stream, b);
    for (int64_t i = 0; i < edges.count; i++) assert_true(start >= simulation->ends[edges.data[i]] + 3);
    if (command->queue == BARRIER_QUEUE) {
      for (int32_t a = 0; a < b; a++) {
        int32_t queue = stream->commands.data[a].queue;
        if (queue != BARRIER_QUEUE && stream_barrier_covers(command, queue)) assert_true(simulation->ends[a] <= end);
      }
      barrier = end;
      continue;
    }
    const MachineQueue *queue = &fixture->queues[command->queue];
    assert_true(end - start >= queue_command_cycles(&fixture->machine, command) - 1e-6);
    int64_t together = 0;
    for (int32_t a = 0; a < b; a++) {
      if (stream->commands.data[a].queue != command->queue) continue;
      assert_true(simulation->ends[a] <= start || simulation->starts[a] >= end); /* one at a time */
      if (queue->complete == COMPLETE_IN_ORDER) assert_true(simulation->ends[a] <= start);
      together += simulation->ends[a] > start;
    }
    assert_true(together < queue->depth);
  }
}

static void simulated_times_obey_the_machine(void **state) {
  StreamFixture *fixture = *state;
  uint64_t random = 0;
  for (int i = 0; i < 500; i++) {
    build_random_work(fixture, &random);
    QueueSimulation simulation =
        queue_simulation_run(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine);
    check_times(fixture, &simulation);
    QueueWork work = queue_work_of_stream(fixture->arena, &fixture->stream, &fixture->machine);
    assert_true(queue_bound(&fixture->machine, &work).cycles <= simulation.cycles + 1e-6);
    assert_int_equal(work.bytes, simulation.memory_bytes);
    for (int q = 0; q < QUEUE_COUNT; q++) {
      assert_true(simulation.queues[q].stall >= 0);
      assert_true(simulation.queues[q].busy + simulation.queues[q].stall <= simulation.cycles + 1e-6);
    }
  }
}

/* --- legal orders --- */

static void legal_orders_keep_the_order(void **state) {
  StreamFixture *fixture = *state;
  CommandStream stream = build_tile_loop(fixture, (TileLoop){64, 256, 10, 2, false, 0});
  int64_t count = stream.commands.count, moved = 0;
  int32_t *place = ARENA_NEW_ARRAY(fixture->arena, int32_t, count);
  for (uint64_t seed = 0; seed < 20; seed++) {
    const int32_t *order =
        command_stream_legal_order(fixture->arena, fixture->scratch, &stream, &fixture->machine, seed);
    for (int32_t i = 0; i < count; i++) place[i] = -1;
    for (int32_t i = 0; i < count; i++) place[order[i]] = i;
    for (int32_t i = 0; i < count; i++) {
      assert_true(place[i] >= 0);
      if (i >= 3) assert_true(place[i - 3] < place[i]); /* the same queue */
      InstanceRange edges = command_stream_edges(&stream, i);
      for (int64_t k = 0; k < edges.count; k++) assert_true(place[edges.data[k]] < place[i]);
      moved += place[i] != i;
    }
    const int32_t *again =
        command_stream_legal_order(fixture->arena, fixture->scratch, &stream, &fixture->machine, seed);
    assert_memory_equal(order, again, (size_t)count * sizeof(int32_t));
  }
  assert_true(moved > count);
}

static void legal_orders_keep_barriers(void **state) {
  StreamFixture *fixture = *state;
  fixture->queues[EX].complete = COMPLETE_UNORDERED;
  for (int i = 0; i < 5; i++) command_stream_add_operation(&fixture->stream, 0, EX, 1);
  command_stream_add_transfer(&fixture->stream, 1, LD, 32, 1);
  command_stream_add_barrier(&fixture->stream, 2, 1 << EX);
  command_stream_add_transfer(&fixture->stream, 3, ST, 32, 1);
  for (uint64_t seed = 0; seed < 20; seed++) {
    const int32_t *order =
        command_stream_legal_order(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine, seed);
    int before = 0;
    for (int i = 0; order[i] != 7; i++) before += order[i] < 5 || order[i] == 6;
    assert_int_equal(before, 6);
  }
}

static void order_that_breaks_a_rule_is_not_legal(void **state) {
  StreamFixture *fixture = *state;
  fixture->queues[EX].complete = COMPLETE_UNORDERED;
  command_stream_add_transfer(&fixture->stream, 0, LD, 32, 1);
  command_stream_add_transfer(&fixture->stream, 0, LD, 32, 1);
  command_stream_add_operation(&fixture->stream, 1, EX, 1);
  command_stream_add_edge(&fixture->stream, 0);
  command_stream_add_operation(&fixture->stream, 1, EX, 1);
  command_stream_add_barrier(&fixture->stream, 2, 1 << EX);
  command_stream_add_transfer(&fixture->stream, 3, ST, 32, 1);
  static const struct {
    int32_t order[6];
    bool is_legal;
    int32_t early, late;
  } rows[] = {
      {{0, 1, 2, 3, 4, 5}, true, 0, 0},  {{3, 0, 2, 4, 5, 1}, true, 0, 0},
      {{1, 0, 2, 3, 4, 5}, false, 1, 0}, /* one queue */
      {{3, 2, 0, 1, 4, 5}, false, 2, 0}, /* an edge */
      {{0, 2, 4, 3, 1, 5}, false, 4, 3}, /* a barrier before what it covers */
      {{0, 1, 2, 3, 5, 4}, false, 5, 4}, /* and after what it holds back */
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int32_t early, late;
    bool is_legal = command_stream_order_is_legal(fixture->scratch, &fixture->stream, &fixture->machine, rows[i].order,
                                                  &early, &late);
    assert_int_equal(is_legal, rows[i].is_legal);
    if (is_legal) continue;
    assert_int_equal(early, rows[i].early);
    assert_int_equal(late, rows[i].late);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)
  const struct CMUnitTest tests[] = {
      TEST(simulation_meets_loops_worked_out_by_hand),
      TEST(simulation_shows_what_setup_costs),
      TEST(shared_queue_needs_loads_ahead),
      TEST(simulation_meets_example_worked_out_by_hand),
      TEST(example_without_overlap_is_serial),
      TEST(memory_is_shared_evenly),
      TEST(two_queues_take_as_long_as_they_share),
      TEST(bound_knows_shares_of_memory),
      TEST(slow_queue_leaves_its_share),
      TEST(rows_cost_two_cycles_each),
      TEST(edge_is_seen_after_set_and_wait),
      TEST(barrier_stops_every_queue),
      TEST(full_queue_stalls_issue),
      TEST(unordered_queue_takes_what_is_ready),
      TEST(more_of_anything_never_costs),
      TEST(simulated_times_obey_the_machine),
      TEST(legal_orders_keep_the_order),
      TEST(legal_orders_keep_barriers),
      TEST(order_that_breaks_a_rule_is_not_legal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
