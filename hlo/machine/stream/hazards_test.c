#include "hlo/machine/stream/hazards.h"

#include <string.h>

#include "hlo/machine/stream/command_order.h"
#include "hlo/machine/stream/stream_testing.h"

/* --- loops of load, operation and store over 64 tiles --- */

static const TileLoop IN_OUT = {.tiles = 64, .tile_bytes = 1024, .exec = 768, .depth = 2};
static const TileLoop IN_PLACE = {.tiles = 64, .tile_bytes = 1024, .exec = 768, .depth = 3, .in_place = true};

static void make_unordered(StreamFixture *fixture) {
  for (int i = 0; i < QUEUE_COUNT; i++) fixture->queues[i].complete = COMPLETE_UNORDERED;
}

static void check_is_clean(StreamFixture *fixture, const CommandStream *stream, int64_t edges) {
  HazardReport report = check_stream(fixture, stream);
  assert_true(report.complete);
  assert_int_equal(hazard_report_faults(&report), 0);
  assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], 0);
  assert_int_equal(report.edges, edges);
  assert_int_equal(stream->edges.count, edges);
}

static void derived_edges_of_loops_are_the_fewest(void **state) {
  CommandStream in_out = build_tile_loop(*state, IN_OUT);
  check_is_clean(*state, &in_out, 252);
  CommandStream in_place = build_tile_loop(*state, IN_PLACE);
  check_is_clean(*state, &in_place, 189);
}

static void derived_edges_of_unordered_queues_are_the_same(void **state) {
  make_unordered(*state);
  CommandStream in_out = build_tile_loop(*state, IN_OUT);
  check_is_clean(*state, &in_out, 252);
  CommandStream in_place = build_tile_loop(*state, IN_PLACE);
  check_is_clean(*state, &in_place, 189);
}

typedef bool EdgeFilter(int32_t producer_label, int32_t consumer_label);

static CommandStream filter_edges(StreamFixture *fixture, const CommandStream *stream, EdgeFilter *keeps,
                                  bool adds_loads) {
  int64_t count = stream->commands.count, kept = 0;
  int32_t *first = ARENA_NEW_ARRAY(fixture->arena, int32_t, count + 1);
  int32_t *edges = ARENA_NEW_ARRAY(fixture->arena, int32_t, stream->edges.count + count);
  for (int32_t i = 0; i < count; i++) {
    InstanceRange range = command_stream_edges(stream, i);
    int32_t label = stream->commands.data[i].label;
    for (int64_t k = 0; k < range.count; k++) {
      if (keeps(stream->commands.data[range.data[k]].label, label)) edges[kept++] = range.data[k];
    }
    if (adds_loads && label == LABEL_LD && i >= 6) edges[kept++] = i - 6; /* the load two tiles before */
    first[i + 1] = (int32_t)kept;
  }
  return command_stream_with_edges(fixture->arena, stream, first, edges);
}

static bool keep_all(int32_t producer, int32_t consumer) {
  return producer != consumer || producer < 0;
}
static bool drop_load_exec(int32_t producer, int32_t consumer) {
  return !(producer == LABEL_LD && consumer == LABEL_EX);
}
static bool drop_exec_store(int32_t producer, int32_t consumer) {
  return !(producer == LABEL_EX && consumer == LABEL_ST);
}
static bool drop_exec_load(int32_t producer, int32_t consumer) {
  return !(producer == LABEL_EX && consumer == LABEL_LD);
}
static bool drop_store_exec(int32_t producer, int32_t consumer) {
  return !(producer == LABEL_ST && consumer == LABEL_EX);
}

/* Strict NCS: each load waits for the one that wrote its slot before, which is implied by load, exec, load. */
static void redundant_edges_are_counted(void **state) {
  StreamFixture *fixture = *state;
  make_unordered(fixture);
  CommandStream derived = build_tile_loop(fixture, IN_OUT);
  CommandStream strict = filter_edges(fixture, &derived, keep_all, true);
  HazardReport report = check_stream(fixture, &strict);
  assert_int_equal(report.edges, 314);
  assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], 62);
  assert_int_equal(hazard_report_faults(&report), 0);
  assert_int_equal(report.hazards[0].first, 0);
  assert_int_equal(report.hazards[0].second, 6);
  CommandStream again;
  assert_int_equal(
      hazards_derive_edges(fixture->arena, fixture->scratch, &strict, &fixture->machine, &fixture->diag, &again),
      STATUS_OK);
  assert_int_equal(again.edges.count, 314); /* those given stay, none is added */
}

/* With in-order queues: an operation that runs ahead of its load meets all loads of its slot up to its own (32 * 33 / 2
 * for each of two slots); a load that does not wait for the operation meets all later ones (32 * 31 / 2). */
static void each_kind_of_edge_is_needed(void **state) {
  static const struct {
    EdgeFilter *keeps;
    int64_t races;
    HazardKind kind;
  } rows[] = {{drop_load_exec, 1056, HAZARD_READ_AFTER_WRITE},
              {drop_exec_store, 1056, HAZARD_READ_AFTER_WRITE},
              {drop_exec_load, 992, HAZARD_WRITE_AFTER_READ},
              {drop_store_exec, 992, HAZARD_WRITE_AFTER_READ}};
  StreamFixture *fixture = *state;
  CommandStream derived = build_tile_loop(fixture, IN_OUT);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CommandStream broken = filter_edges(fixture, &derived, rows[i].keeps, false);
    HazardReport report = check_stream(fixture, &broken);
    assert_int_equal(hazard_report_races(&report), rows[i].races);
    assert_true(report.counts[rows[i].kind] > 0);
    assert_int_equal(report.hazards[0].end - report.hazards[0].start, 1024);
  }
}

/* 64 tiles in rings of two: results wait for loads and stores for results, and each for the slot's last reader. */
static void edges_are_counted_by_kind(void **state) {
  static const EdgeCount expected[] = {{LD, EX, EDGE_READ_AFTER_WRITE, 64},
                                       {EX, ST, EDGE_READ_AFTER_WRITE, 64},
                                       {EX, LD, EDGE_WRITE_AFTER_READ, 62},
                                       {ST, EX, EDGE_WRITE_AFTER_READ, 62}};
  StreamFixture *fixture = *state;
  CommandStream derived = build_tile_loop(fixture, IN_OUT);
  HazardReport report = check_stream(fixture, &derived);
  assert_int_equal(report.edge_count_count, 4);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(report.edge_counts[i].from, expected[i].from);
    assert_int_equal(report.edge_counts[i].to, expected[i].to);
    assert_int_equal(report.edge_counts[i].kind, expected[i].kind);
    assert_int_equal(report.edge_counts[i].count, expected[i].count);
  }
}

static void edges_between_strangers_are_order(void **state) {
  StreamFixture *fixture = *state;
  for (int32_t queue = LD; queue <= ST; queue++) {
    command_stream_add_operation(&fixture->stream, queue, queue, 1);
    write_bytes(fixture, BUFFER_OBJECT, queue == EX ? 64 : 0, 64);
    if (queue > LD) command_stream_add_edge(&fixture->stream, queue - 1);
  }
  command_stream_add_edge(&fixture->stream, 0);
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(report.edge_count_count, 3);
  for (int i = 0; i < 3; i++) {
    const EdgeCount *count = &report.edge_counts[i];
    bool is_apart = count->from == EX || count->to == EX;
    assert_int_equal(count->kind, is_apart ? EDGE_ORDER : EDGE_WRITE_AFTER_WRITE);
  }
}

/* Executes the loop: the wrong tiles that come out. */
static int execute(const CommandStream *stream, const int32_t *order, int64_t depth) {
  int64_t in[4] = {-1, -1, -1, -1}, out[4] = {-1, -1, -1, -1}, y[64];
  for (int64_t i = 0; i < stream->commands.count; i++) {
    int64_t tile = order[i] / 3, slot = tile % depth;
    switch (stream->commands.data[order[i]].label) {
      case LABEL_LD: in[slot] = tile; break;
      case LABEL_EX: out[slot] = in[slot]; break;
      default: y[tile] = out[slot];
    }
  }
  int wrong = 0;
  for (int64_t i = 0; i < 64; i++) wrong += y[i] != i;
  return wrong;
}

static int count_wrong_runs(StreamFixture *fixture, const CommandStream *stream) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const int32_t *order =
        command_stream_legal_order(fixture->arena, fixture->scratch, stream, &fixture->machine, seed);
    wrong += execute(stream, order, 2) > 0;
  }
  return wrong;
}

static void random_orders_show_a_missing_edge(void **state) {
  EdgeFilter *const filters[] = {drop_load_exec, drop_exec_store, drop_exec_load, drop_store_exec};
  CommandStream derived = build_tile_loop(*state, IN_OUT);
  assert_int_equal(count_wrong_runs(*state, &derived), 0);
  for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
    CommandStream broken = filter_edges(*state, &derived, filters[i], false);
    assert_true(count_wrong_runs(*state, &broken) >= 18);
  }
}

/* --- single hazards --- */

static void expect_one(StreamFixture *fixture, HazardKind kind, const char *text) {
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(report.counts[kind], 1);
  assert_int_equal(report.hazard_count, 1);
  assert_string_equal(hazard_text(fixture->arena, &fixture->stream, &report.hazards[0], NULL), text);
}

static void race_names_commands_and_bytes(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_transfer(&fixture->stream, 3, LD, 64, 1);
  write_bytes(fixture, BUFFER_OBJECT, 128, 64);
  command_stream_add_operation(&fixture->stream, 5, EX, 1);
  ByteBox column = {.base = 136, .bytes = 4, .level_count = 1, .levels = {{2, 16}}};
  command_stream_add_read(&fixture->stream, BUFFER_OBJECT, &column);
  expect_one(
      fixture, HAZARD_READ_AFTER_WRITE,
      "command 1 (label 5) reads bytes [136, 140) of 'Buffer', command 0 (label 3) writes them, and nothing orders "
      "the two");
}

static void strided_boxes_that_interleave_do_not_race(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  ByteBox even = {.base = 0, .bytes = 4, .level_count = 1, .levels = {{16, 8}}};
  command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &even);
  command_stream_add_operation(&fixture->stream, 1, EX, 1);
  ByteBox odd = {.base = 4, .bytes = 4, .level_count = 1, .levels = {{16, 8}}};
  command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &odd);
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(hazard_report_faults(&report), 0);
}

/* A thousand runs each: one that begins where the written ones end is apart from them, one that begins in them is not.
 */
static void many_runs_are_kept_apart(void **state) {
  StreamFixture *fixture = *state;
  int32_t matrix = command_stream_add_object(&fixture->stream, SV("matrix"), 1 << 16, OBJECT_INITIALISED);
  static const int64_t bases[] = {0, 4, 2};
  for (int i = 0; i < 3; i++) {
    ByteBox column = {.base = bases[i], .bytes = 4, .level_count = 1, .levels = {{1000, 64}}};
    command_stream_add_transfer(&fixture->stream, i, i == 0 ? ST : LD, 4000, 1000);
    if (i == 0)
      command_stream_add_write(&fixture->stream, matrix, &column);
    else
      command_stream_add_read(&fixture->stream, matrix, &column);
  }
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(hazard_report_faults(&report), 1);
  assert_int_equal(report.hazards[0].kind, HAZARD_READ_AFTER_WRITE);
  assert_int_equal(report.hazards[0].second, 2);
  assert_int_equal(report.hazards[0].start, 2);
  assert_int_equal(report.hazards[0].end, 4);
}

static void memory_races_too(void **state) {
  StreamFixture *fixture = *state;
  int32_t given = command_stream_add_object(&fixture->stream, SV("donated"), 256, OBJECT_INITIALISED);
  command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  read_bytes(fixture, given, 64, 64);
  write_bytes(fixture, BUFFER_OBJECT, 0, 64);
  command_stream_add_transfer(&fixture->stream, 1, ST, 64, 1);
  write_bytes(fixture, given, 96, 64);
  expect_one(
      fixture, HAZARD_WRITE_AFTER_READ,
      "command 1 (label 1) writes bytes [96, 128) of 'donated', command 0 (label 0) reads them, and nothing orders "
      "the two");
}

static void barrier_orders_all_queues(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  write_bytes(fixture, BUFFER_OBJECT, 0, 64);
  command_stream_add_barrier(&fixture->stream, 1, 1 << LD);
  command_stream_add_operation(&fixture->stream, 2, EX, 1);
  read_bytes(fixture, BUFFER_OBJECT, 0, 64);
  command_stream_add_edge(&fixture->stream, 0);
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(hazard_report_faults(&report), 0);
  assert_int_equal(report.barriers, 1);
  assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], 1);
}

static void reads_need_writes(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_operation(&fixture->stream, 0, EX, 1);
  write_bytes(fixture, BUFFER_OBJECT, 0, 64);
  command_stream_add_operation(&fixture->stream, 1, EX, 1);
  read_bytes(fixture, BUFFER_OBJECT, 32, 64);
  expect_one(fixture, HAZARD_UNINITIALISED,
             "command 1 (label 1) reads bytes [64, 96) of 'Buffer', which nothing has written");
}

static void temporaries_in_memory_need_writes(void **state) {
  StreamFixture *fixture = *state;
  int32_t spill = command_stream_add_object(&fixture->stream, SV("spill"), 128, 0);
  command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  read_bytes(fixture, spill, 0, 64);
  expect_one(fixture, HAZARD_UNINITIALISED,
             "command 0 (label 0) reads bytes [0, 64) of 'spill', which nothing has written");
}

static void accesses_stay_inside(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_operation(&fixture->stream, 0, EX, 1);
  write_bytes(fixture, BUFFER_OBJECT, fixture->machine.buffer.size - 64, 65);
  expect_one(fixture, HAZARD_BOUNDS, "command 0 (label 0) leaves its object with bytes [262080, 262145) of 'Buffer'");
}

static void accesses_before_the_object_are_outside(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_operation(&fixture->stream, 0, EX, 1);
  ByteBox box = {.base = 8, .bytes = 4, .level_count = 1, .levels = {{4, -4}}};
  command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &box);
  expect_one(fixture, HAZARD_BOUNDS, "command 0 (label 0) leaves its object with bytes [-4, 12) of 'Buffer'");
}

static void bases_are_aligned(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_operation(&fixture->stream, 0, EX, 1);
  ByteBox box = {.base = 96, .bytes = 64, .align = 64};
  command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &box);
  expect_one(fixture, HAZARD_ALIGNMENT,
             "command 0 (label 0) begins bytes [96, 160) of 'Buffer' at a place that is not aligned");
}

static void arguments_are_only_read(void **state) {
  StreamFixture *fixture = *state;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 64, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  command_stream_add_transfer(&fixture->stream, 0, ST, 64, 1);
  write_bytes(fixture, x, 0, 64);
  expect_one(fixture, HAZARD_READ_ONLY, "command 0 (label 0) writes bytes [0, 64) of 'x', which may only be read");
}

static void results_are_written_once(void **state) {
  StreamFixture *fixture = *state;
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), 128, OBJECT_WRITTEN_ONCE);
  command_stream_add_operation(&fixture->stream, 9, EX, 1);
  write_bytes(fixture, BUFFER_OBJECT, 0, 64);
  for (int i = 0; i < 2; i++) {
    command_stream_add_transfer(&fixture->stream, i, ST, 64, 1);
    write_bytes(fixture, y, 32 * i, 64);
  }
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(report.hazard_count, 2);
  assert_string_equal(hazard_text(fixture->arena, &fixture->stream, &report.hazards[0], NULL),
                      "command 2 (label 1) writes bytes [32, 64) of 'y', which command 1 (label 0) writes too");
  assert_string_equal(hazard_text(fixture->arena, &fixture->stream, &report.hazards[1], NULL),
                      "nothing writes bytes [96, 128) of 'y'");
}

static void untouched_result_is_not_written(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_object(&fixture->stream, SV("y"), 128, OBJECT_WRITTEN_ONCE);
  expect_one(fixture, HAZARD_NOT_WRITTEN, "nothing writes bytes [0, 128) of 'y'");
}

/* All operations wait for the one load of what they share; only the first has to. */
static void repeated_waits_are_one_edge(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  write_bytes(fixture, BUFFER_OBJECT, 0, 64);
  for (int i = 0; i < 10; i++) {
    command_stream_add_operation(&fixture->stream, 1, EX, 1);
    read_bytes(fixture, BUFFER_OBJECT, 0, 64);
    command_stream_add_edge(&fixture->stream, 0);
  }
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(report.edges, 1);
  assert_int_equal(report.hazard_count, 0);
  command_stream_add_operation(&fixture->stream, 2, EX, 1);
  command_stream_add_edge(&fixture->stream, 0);
  expect_one(fixture, HAZARD_REDUNDANT_EDGE,
             "command 11 (label 2) waits for command 0 (label 0), which is complete anyway");
}

static void edges_name_earlier_commands(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_operation(&fixture->stream, 0, EX, 1);
  command_stream_add_edge(&fixture->stream, 1);
  command_stream_add_transfer(&fixture->stream, 1, LD, 64, 1);
  expect_one(fixture, HAZARD_FORWARD_EDGE,
             "command 0 (label 0) waits for command 1 (label 1), which does not come before it");
}

/* A load that waits for the store of what is in its slot, on the queue on which that store stands after it; and with
 * queues of their own, when the load's queue is full of loads that wait. */
static void full_queues_deadlock(void **state) {
  StreamFixture *fixture = *state;
  for (int32_t depth = 1; depth <= 3; depth++) {
    command_stream_init(&fixture->stream, fixture->arena, 1024);
    fixture->queues[LD].depth = depth;
    for (int i = 0; i < 2; i++) {
      command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
      command_stream_add_edge(&fixture->stream, 3);
    }
    command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
    command_stream_add_transfer(&fixture->stream, 1, ST, 64, 1);
    HazardReport report = check_stream(fixture, &fixture->stream);
    assert_int_equal(report.counts[HAZARD_FORWARD_EDGE], 2);
    assert_int_equal(report.counts[HAZARD_DEADLOCK], depth < 3);
  }
}

static void load_behind_its_own_store_deadlocks(void **state) {
  StreamFixture *fixture = *state;
  command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  command_stream_add_edge(&fixture->stream, 1);
  command_stream_add_transfer(&fixture->stream, 1, LD, 64, 1);
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(report.counts[HAZARD_DEADLOCK], 1);
  assert_string_equal(hazard_text(fixture->arena, &fixture->stream, &report.hazards[1], NULL),
                      "command 0 (label 0) waits for command 1 (label 1) for ever");
}

/* Pairs of queues in a ring of D slots have D edges between them that are up at once. */
static void rings_need_a_flag_for_each_slot(void **state) {
  StreamFixture *fixture = *state;
  for (int64_t depth = 1; depth <= 4; depth++) {
    CommandStream derived = build_tile_loop(fixture, (TileLoop){20, 64, 1, depth, false, 0});
    fixture->machine.sync = (MachineSync){.kind = SYNC_FLAG, .ids = depth};
    HazardReport report = check_stream(fixture, &derived);
    assert_int_equal(report.counts[HAZARD_FLAGS], 0);
    assert_int_equal(report.flags, depth);
    if (depth == 1) continue;
    fixture->machine.sync.ids = depth - 1;
    report = check_stream(fixture, &derived);
    assert_true(report.counts[HAZARD_FLAGS] > 0);
    assert_string_equal(hazard_text(fixture->arena, &derived, &report.hazards[0], NULL),
                        arena_printf(fixture->arena,
                                     "command %d (label 1) waits for command %d (label 0) when all flags between their "
                                     "queues are up",
                                     (int)depth * 3 - 2, (int)depth * 3 - 3));
  }
}

/* A flag is free again once its consumer has started, which a command that waits for the consumer knows. */
static void flags_are_used_again(void **state) {
  StreamFixture *fixture = *state;
  fixture->machine.sync = (MachineSync){.kind = SYNC_FLAG, .ids = 1};
  for (int32_t i = 0; i < 6; i++) {
    if (i % 2 == 0)
      command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
    else
      command_stream_add_operation(&fixture->stream, 1, EX, 1);
    if (i > 0) command_stream_add_edge(&fixture->stream, i - 1);
  }
  HazardReport report = check_stream(fixture, &fixture->stream);
  assert_int_equal(report.counts[HAZARD_FLAGS], 0);
  assert_int_equal(report.flags, 1);
  /* the second load is complete before anything has taken down the flag of the first */
  command_stream_init(&fixture->stream, fixture->arena, 1024);
  for (int i = 0; i < 2; i++) command_stream_add_transfer(&fixture->stream, 0, LD, 64, 1);
  for (int32_t i = 0; i < 2; i++) {
    command_stream_add_operation(&fixture->stream, 1 + i, EX, 1);
    command_stream_add_edge(&fixture->stream, i);
  }
  expect_one(fixture, HAZARD_FLAGS,
             "command 3 (label 2) waits for command 1 (label 0) when all flags between their queues are up");
}

static void search_ends_at_its_limit(void **state) {
  StreamFixture *fixture = *state;
  CommandStream derived = build_tile_loop(fixture, IN_OUT),
                broken = filter_edges(fixture, &derived, drop_load_exec, false);
  HazardReport report;
  HazardLimits limits = {.kept = 2, .races = 100};
  assert_int_equal(
      hazards_check(fixture->arena, fixture->scratch, &broken, &fixture->machine, limits, &fixture->diag, &report),
      STATUS_OK);
  assert_false(report.complete);
  assert_true(hazard_report_races(&report) > 100 && hazard_report_races(&report) < 200);
  assert_int_equal(report.hazard_count, 2);
}

/* --- random streams against the definitions, byte for byte --- */

enum { RANDOM_COMMANDS = 24, RANDOM_BYTES = 48 };

typedef struct Oracle {
  int count;
  bool before[RANDOM_COMMANDS][RANDOM_COMMANDS];
  unsigned char reads[RANDOM_COMMANDS][RANDOM_BYTES], writes[RANDOM_COMMANDS][RANDOM_BYTES];
} Oracle;

static void add_random_box(StreamFixture *fixture, int32_t object, uint64_t *random, bool writes) {
  ByteBox box = {.base = (int64_t)draw(random, 20)};
  box.bytes = 1 + (int64_t)draw(random, 8);
  box.level_count = (int)draw(random, 3);
  for (int i = 0; i < box.level_count; i++) {
    box.levels[i].count = 1 + (int64_t)draw(random, 2);
    box.levels[i].stride = (int64_t)draw(random, 10);
  }
  if (writes) {
    command_stream_add_write(&fixture->stream, object, &box);
  } else {
    command_stream_add_read(&fixture->stream, object, &box);
  }
}

static void add_random_command(StreamFixture *fixture, int32_t object, uint64_t *random, int edge_percent) {
  int64_t number = fixture->stream.commands.count;
  if (draw(random, 20) == 0) {
    command_stream_add_barrier(&fixture->stream, (int32_t)number, draw(random, 8));
    return;
  }
  int32_t queue = (int32_t)draw(random, QUEUE_COUNT);
  command_stream_add_operation(&fixture->stream, (int32_t)number, queue, 1);
  for (uint64_t i = draw(random, 3); i > 0; i--) add_random_box(fixture, object, random, false);
  for (uint64_t i = draw(random, 2); i > 0; i--) add_random_box(fixture, object, random, true);
  for (int32_t i = 0; i < number; i++) {
    bool is_barrier = fixture->stream.commands.data[i].queue == BARRIER_QUEUE;
    if (!is_barrier && (int)draw(random, 100) < edge_percent) command_stream_add_edge(&fixture->stream, i);
  }
}

static void build_random_stream_of(StreamFixture *fixture, int32_t object, uint64_t seed) {
  uint64_t random = seed * 1000;
  command_stream_init(&fixture->stream, fixture->arena, RANDOM_BYTES);
  command_stream_add_object(&fixture->stream, SV("memory"), RANDOM_BYTES, 0);
  for (int i = 0; i < QUEUE_COUNT; i++) {
    fixture->queues[i].complete = draw(&random, 3) == 0 ? COMPLETE_UNORDERED : COMPLETE_IN_ORDER;
  }
  int edge_percent = (int)draw(&random, 100);
  for (int i = 0; i < RANDOM_COMMANDS; i++) add_random_command(fixture, object, &random, edge_percent);
}

static void build_random_stream(StreamFixture *fixture, uint64_t seed) {
  build_random_stream_of(fixture, BUFFER_OBJECT, seed);
}

static bool separates(const CommandStream *stream, int a, int b) {
  for (int i = a + 1; i < b; i++) {
    const StreamCommand *command = &stream->commands.data[i];
    if (command->queue == BARRIER_QUEUE && stream_barrier_covers(command, stream->commands.data[a].queue)) return true;
  }
  return false;
}

static bool is_direct(StreamFixture *fixture, const CommandStream *stream, int a, int b) {
  int32_t from = stream->commands.data[a].queue, to = stream->commands.data[b].queue;
  if (from == BARRIER_QUEUE || to == BARRIER_QUEUE) return false;
  if (from == to && fixture->queues[from].complete == COMPLETE_IN_ORDER) return true;
  InstanceRange edges = command_stream_edges(stream, b);
  for (int64_t i = 0; i < edges.count; i++) {
    if (edges.data[i] == a) return true;
  }
  return separates(stream, a, b);
}

static void fill_oracle(StreamFixture *fixture, const CommandStream *stream, Oracle *oracle) {
  memset(oracle, 0, sizeof(*oracle));
  oracle->count = (int)stream->commands.count;
  for (int b = 0; b < oracle->count; b++) {
    for (int a = b - 1; a >= 0; a--) {
      bool before = is_direct(fixture, stream, a, b);
      for (int c = a + 1; c < b; c++) before = before || (oracle->before[a][c] && oracle->before[c][b]);
      oracle->before[a][b] = before;
    }
    InstanceRange accesses = command_stream_accesses(stream, b);
    for (int64_t i = 0; i < accesses.count; i++) {
      ByteBox box = command_stream_box(stream, stream_access_box(accesses.data[i]));
      unsigned char *bytes = stream_access_writes(accesses.data[i]) ? oracle->writes[b] : oracle->reads[b];
      for (int64_t k = 0; k < byte_box_run_count(&box); k++) {
        memset(bytes + byte_box_run(&box, k), 1, (size_t)box.bytes);
      }
    }
  }
}

static bool conflicts(const Oracle *oracle, int a, int b) {
  for (int i = 0; i < RANDOM_BYTES; i++) {
    if ((oracle->writes[a][i] && (oracle->reads[b][i] || oracle->writes[b][i])) ||
        (oracle->reads[a][i] && oracle->writes[b][i])) {
      return true;
    }
  }
  return false;
}

static int64_t count_races(const Oracle *oracle) {
  int64_t races = 0;
  for (int b = 0; b < oracle->count; b++) {
    for (int a = 0; a < b; a++) races += !oracle->before[a][b] && conflicts(oracle, a, b);
  }
  return races;
}

/* Commands that read a byte which no command before them in program order has written. */
static int64_t count_uninitialised(const Oracle *oracle) {
  int64_t count = 0;
  for (int b = 0; b < oracle->count; b++) {
    bool found = false;
    for (int i = 0; i < RANDOM_BYTES; i++) {
      bool is_written = false;
      for (int a = 0; a < b; a++) is_written = is_written || oracle->writes[a][i];
      found = found || (oracle->reads[b][i] && !is_written);
    }
    count += found;
  }
  return count;
}

/* The bytes of a hazard are bytes that its commands share. */
static void check_interval(const Oracle *oracle, const Hazard *hazard) {
  for (int64_t i = hazard->start; i < hazard->end; i++) {
    switch (hazard->kind) {
      case HAZARD_READ_AFTER_WRITE:
        assert_true(oracle->writes[hazard->first][i] && oracle->reads[hazard->second][i]);
        break;
      case HAZARD_WRITE_AFTER_READ:
        assert_true(oracle->reads[hazard->first][i] && oracle->writes[hazard->second][i]);
        break;
      case HAZARD_WRITE_AFTER_WRITE:
        assert_true(oracle->writes[hazard->first][i] && oracle->writes[hazard->second][i]);
        break;
      default: break;
    }
  }
}

static void random_streams_meet_the_definition(void **state) {
  StreamFixture *fixture = *state;
  int64_t races = 0, clean = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    arena_reset(fixture->scratch);
    Oracle oracle;
    build_random_stream(fixture, seed);
    fill_oracle(fixture, &fixture->stream, &oracle);
    HazardReport report = check_stream(fixture, &fixture->stream);
    assert_int_equal(hazard_report_races(&report), count_races(&oracle));
    assert_int_equal(report.counts[HAZARD_UNINITIALISED] > 0, count_uninitialised(&oracle) > 0);
    for (int64_t i = 0; i < report.hazard_count; i++) check_interval(&oracle, &report.hazards[i]);
    races += hazard_report_races(&report);
    clean += hazard_report_races(&report) == 0;
  }
  assert_true(races > 1000 && clean > 10);
}

/* A stream with all edges but one. */
static CommandStream without_edge(StreamFixture *fixture, const CommandStream *stream, int64_t dropped) {
  int64_t count = stream->commands.count, kept = 0;
  int32_t *first = ARENA_NEW_ARRAY(fixture->scratch, int32_t, count + 1);
  int32_t *edges = ARENA_NEW_ARRAY(fixture->scratch, int32_t, stream->edges.count);
  for (int64_t i = 0, at = 0; i < count; i++) {
    for (int64_t k = 0; k < command_stream_edges(stream, (int32_t)i).count; k++, at++) {
      if (at != dropped) edges[kept++] = stream->edges.data[at];
    }
    first[i + 1] = (int32_t)kept;
  }
  return command_stream_with_edges(fixture->scratch, stream, first, edges);
}

static void strip_edges(CommandStream *stream) {
  for (int64_t i = 0; i < stream->commands.count; i++) stream->commands.data[i].first_edge = 0;
  stream->edges.count = 0;
}

/* Derived edges leave no race, and each of them is needed. */
static void derived_edges_are_enough_and_needed(void **state) {
  StreamFixture *fixture = *state;
  int64_t edges = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    arena_reset(fixture->scratch);
    Oracle oracle;
    CommandStream derived;
    build_random_stream(fixture, seed);
    strip_edges(&fixture->stream);
    assert_int_equal(hazards_derive_edges(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                          &fixture->diag, &derived),
                     STATUS_OK);
    fill_oracle(fixture, &derived, &oracle);
    assert_int_equal(count_races(&oracle), 0);
    HazardReport report = check_stream(fixture, &derived);
    assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], 0);
    for (int64_t i = 0; i < derived.edges.count; i++) {
      CommandStream broken = without_edge(fixture, &derived, i);
      fill_oracle(fixture, &broken, &oracle);
      assert_true(count_races(&oracle) > 0);
    }
    edges += derived.edges.count;
  }
  assert_true(edges > 1000);
}

/* Where a queue promises no order, bytes of the Buffer are known by segments, bytes of memory by classes. */
static void derived_edges_of_memory_are_those_of_the_buffer(void **state) {
  StreamFixture *fixture = *state;
  int64_t edges = 0;
  for (uint64_t seed = 0; seed < 4000; seed++) {
    arena_reset(fixture->scratch);
    CommandStream derived[2];
    for (int32_t object = 0; object < 2; object++) {
      build_random_stream_of(fixture, object, seed);
      strip_edges(&fixture->stream);
      assert_int_equal(hazards_derive_edges(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                            &fixture->diag, &derived[object]),
                       STATUS_OK);
    }
    for (int32_t i = 0; i < RANDOM_COMMANDS; i++) {
      InstanceRange own = command_stream_edges(&derived[0], i), others = command_stream_edges(&derived[1], i);
      assert_int_equal(own.count, others.count);
      for (int64_t e = 0; e < own.count; e++) assert_int_equal(own.data[e], others.data[e]);
    }
    edges += derived[0].edges.count;
  }
  assert_true(edges > 10000);
}

/* An edge is redundant exactly when the order without it is the same. */
static void redundant_edges_meet_the_definition(void **state) {
  StreamFixture *fixture = *state;
  int64_t redundant = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    arena_reset(fixture->scratch);
    Oracle with, without;
    build_random_stream(fixture, seed);
    const CommandStream *stream = &fixture->stream;
    fill_oracle(fixture, stream, &with);
    int64_t expected = 0;
    for (int64_t i = 0; i < stream->edges.count; i++) {
      CommandStream less = without_edge(fixture, stream, i);
      fill_oracle(fixture, &less, &without);
      expected += memcmp(with.before, without.before, sizeof(with.before)) == 0;
    }
    HazardReport report = check_stream(fixture, stream);
    assert_int_equal(report.counts[HAZARD_REDUNDANT_EDGE], expected);
    redundant += expected;
  }
  assert_true(redundant > 1000);
}

/* --- size --- */

/* 300 000 commands of a pipeline: linear work, or the test does not end. */
static void long_streams_are_practical(void **state) {
  StreamFixture *fixture = *state;
  TileLoop loop = {.tiles = 100000, .tile_bytes = 64, .exec = 1, .depth = 3, .in_place = true};
  CommandStream stream = build_tile_loop(fixture, loop);
  check_is_clean(fixture, &stream, 100000 + 100000 + 99997);
}

static void orders_without_order_are_refused(void **state) {
  StreamFixture *fixture = *state;
  make_unordered(fixture);
  for (int i = 0; i < 20000; i++) command_stream_add_operation(&fixture->stream, 0, EX, 1);
  HazardReport report;
  assert_int_equal(hazards_check(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                 HAZARD_LIMITS_DEFAULT, &fixture->diag, &report),
                   STATUS_EXHAUSTED);
  assert_string_equal(fixture->diag.first->code, "stream-order");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)
  const struct CMUnitTest tests[] = {
      TEST(derived_edges_of_loops_are_the_fewest),
      TEST(derived_edges_of_unordered_queues_are_the_same),
      TEST(redundant_edges_are_counted),
      TEST(each_kind_of_edge_is_needed),
      TEST(edges_are_counted_by_kind),
      TEST(edges_between_strangers_are_order),
      TEST(random_orders_show_a_missing_edge),
      TEST(race_names_commands_and_bytes),
      TEST(strided_boxes_that_interleave_do_not_race),
      TEST(many_runs_are_kept_apart),
      TEST(memory_races_too),
      TEST(barrier_orders_all_queues),
      TEST(reads_need_writes),
      TEST(temporaries_in_memory_need_writes),
      TEST(accesses_stay_inside),
      TEST(accesses_before_the_object_are_outside),
      TEST(bases_are_aligned),
      TEST(arguments_are_only_read),
      TEST(results_are_written_once),
      TEST(untouched_result_is_not_written),
      TEST(repeated_waits_are_one_edge),
      TEST(edges_name_earlier_commands),
      TEST(full_queues_deadlock),
      TEST(load_behind_its_own_store_deadlocks),
      TEST(rings_need_a_flag_for_each_slot),
      TEST(flags_are_used_again),
      TEST(search_ends_at_its_limit),
      TEST(random_streams_meet_the_definition),
      TEST(derived_edges_are_enough_and_needed),
      TEST(derived_edges_of_memory_are_those_of_the_buffer),
      TEST(redundant_edges_meet_the_definition),
      TEST(long_streams_are_practical),
      TEST(orders_without_order_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
