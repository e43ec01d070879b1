#include "hlo/machine/oracle/byte_versions_testing.h"
#include "hlo/machine/stream/stream_testing.h"

static ByteVersions versions_of(StreamFixture *fixture, const CommandStream *stream) {
  ByteVersions versions;
  byte_versions_init(&versions, fixture->arena, stream, &fixture->machine);
  return versions;
}

static bool finds_difference(StreamFixture *fixture, const CommandStream *stream, VersionDifference *out_difference) {
  ByteVersions versions = versions_of(fixture, stream);
  return byte_versions_search(&versions, fixture->scratch, out_difference);
}

static void expect_none(StreamFixture *fixture) {
  VersionDifference difference;
  assert_false(finds_difference(fixture, &fixture->stream, &difference));
}

static void expect_difference(StreamFixture *fixture, VersionDifference expected) {
  VersionDifference difference;
  assert_true(finds_difference(fixture, &fixture->stream, &difference));
  assert_int_equal(difference.reader, expected.reader);
  assert_int_equal(difference.object, expected.object);
  assert_int_equal(difference.byte, expected.byte);
  assert_int_equal(difference.expected, expected.expected);
  assert_int_equal(difference.seen, expected.seen);
}

/* A command on |queue| that waits for |producer| (-1: for none). */
static void begin(StreamFixture *fixture, int32_t queue, int32_t producer) {
  command_stream_add_operation(&fixture->stream, 0, queue, 1);
  if (producer >= 0) command_stream_add_edge(&fixture->stream, producer);
}

/* A command as begin makes, which touches the Buffer's bytes from |base| on. */
static void add_write(StreamFixture *fixture, int32_t queue, int32_t producer, int64_t base, int64_t bytes) {
  begin(fixture, queue, producer);
  write_bytes(fixture, BUFFER_OBJECT, base, bytes);
}

static void add_read(StreamFixture *fixture, int32_t queue, int32_t producer, int64_t base, int64_t bytes) {
  begin(fixture, queue, producer);
  read_bytes(fixture, BUFFER_OBJECT, base, bytes);
}

static void add_update(StreamFixture *fixture, int32_t queue, int32_t producer, int64_t base, int64_t bytes) {
  ByteBox box = dense_box(base, bytes);
  begin(fixture, queue, producer);
  command_stream_add_update_read(&fixture->stream, BUFFER_OBJECT, &box);
  command_stream_add_update_write(&fixture->stream, BUFFER_OBJECT, &box);
}

/* --- streams by hand --- */

static void write_that_may_come_late_is_a_difference(void **state) {
  add_write(*state, LD, -1, 128, 64);
  add_read(*state, EX, -1, 136, 4);
  expect_difference(*state, (VersionDifference){1, BUFFER_OBJECT, 136, 0, FROM_BEFORE});
}

static void write_that_may_come_early_is_a_difference(void **state) {
  add_write(*state, LD, -1, 0, 64);
  add_read(*state, EX, 0, 0, 64);
  add_write(*state, LD, -1, 60, 64);
  expect_difference(*state, (VersionDifference){1, BUFFER_OBJECT, 60, 0, 2});
}

static void edge_orders(void **state) {
  add_write(*state, LD, -1, 128, 64);
  add_read(*state, EX, 0, 136, 4);
  expect_none(*state);
}

/* The load is complete before the store starts, by way of the operation, which touches other bytes. */
static void edges_order_transitively(void **state) {
  add_write(*state, LD, -1, 0, 64);
  add_write(*state, EX, 0, 64, 64);
  add_read(*state, ST, 1, 0, 128);
  expect_none(*state);
}

/* What waits for a later command of a queue that completes in order waits for the earlier ones too. */
static void later_command_of_a_queue_covers_earlier_ones(void **state) {
  StreamFixture *fixture = *state;
  add_write(fixture, LD, -1, 0, 64);
  add_write(fixture, LD, -1, 64, 64);
  add_read(fixture, EX, 1, 0, 128);
  expect_none(fixture);
  fixture->queues[LD].complete = COMPLETE_UNORDERED;
  expect_difference(fixture, (VersionDifference){2, BUFFER_OBJECT, 0, 0, FROM_BEFORE});
}

static void barrier_separates(void **state) {
  StreamFixture *fixture = *state;
  add_write(fixture, LD, -1, 0, 64);
  add_write(fixture, ST, -1, 64, 64);
  command_stream_add_barrier(&fixture->stream, 0, UINT64_C(1) << LD);
  add_read(fixture, EX, -1, 0, 64);
  expect_none(fixture);
  read_bytes(fixture, BUFFER_OBJECT, 64, 64); /* the barrier did not wait for the other queue */
  expect_difference(fixture, (VersionDifference){3, BUFFER_OBJECT, 64, 1, FROM_BEFORE});
}

static void interleaved_runs_are_apart(void **state) {
  StreamFixture *fixture = *state;
  ByteBox even = {.base = 0, .bytes = 4, .level_count = 1, .levels = {{16, 8}}};
  ByteBox odd = {.base = 4, .bytes = 4, .level_count = 1, .levels = {{16, 8}}};
  begin(fixture, LD, -1);
  command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &even);
  begin(fixture, EX, -1);
  command_stream_add_write(&fixture->stream, BUFFER_OBJECT, &odd);
  begin(fixture, ST, 0);
  command_stream_add_read(&fixture->stream, BUFFER_OBJECT, &even);
  expect_none(fixture);
}

/* The order of writes to bytes that no command reads means nothing, unless they are a result. */
static void writes_that_are_not_read_have_no_order(void **state) {
  StreamFixture *fixture = *state;
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), 64, 0);
  add_write(fixture, LD, -1, 0, 64);
  add_write(fixture, EX, -1, 0, 64);
  expect_none(fixture);
  add_read(fixture, ST, 1, 32, 1);
  expect_difference(fixture, (VersionDifference){2, BUFFER_OBJECT, 32, 1, 0});
  command_stream_add_edge(&fixture->stream, 0); /* the store waits for both, and they are as before */
  expect_difference(fixture, (VersionDifference){2, BUFFER_OBJECT, 32, 1, 0});
  command_stream_init(&fixture->stream, fixture->arena, 64);
  y = command_stream_add_object(&fixture->stream, SV("y"), 64, 0);
  for (int32_t queue = LD; queue <= EX; queue++) {
    begin(fixture, queue, -1);
    write_bytes(fixture, y, 0, 64);
  }
  expect_difference(fixture, (VersionDifference){AT_THE_END, y, 0, 1, 0});
}

/* --- a command and its own bytes --- */

static void command_may_read_what_it_wrote(void **state) {
  add_write(*state, LD, -1, 0, 96);
  add_read(*state, EX, 0, 0, 64);
  write_bytes(*state, BUFFER_OBJECT, 32, 64);
  expect_difference(*state, (VersionDifference){1, BUFFER_OBJECT, 32, 0, 1});
}

static void update_reads_first(void **state) {
  StreamFixture *fixture = *state;
  add_write(fixture, LD, -1, 0, 64);
  add_update(fixture, EX, 0, 0, 64);
  expect_none(fixture);
  read_bytes(fixture, BUFFER_OBJECT, 63, 1); /* another operand, of which nothing is known */
  expect_difference(fixture, (VersionDifference){1, BUFFER_OBJECT, 63, 0, 1});
}

/* Two results in one place: which one stays? */
static void command_writes_a_byte_once(void **state) {
  StreamFixture *fixture = *state;
  add_write(fixture, EX, -1, 0, 64);
  write_bytes(fixture, BUFFER_OBJECT, 32, 64);
  expect_none(fixture); /* no command reads them */
  add_read(fixture, ST, 0, 0, 64);
  expect_difference(fixture, (VersionDifference){1, BUFFER_OBJECT, 32, 0, 0});
}

/* Both in the place of an operand, which is read once, before them. */
static void command_updates_a_byte_once(void **state) {
  StreamFixture *fixture = *state;
  ByteBox box = dense_box(0, 64);
  add_write(fixture, LD, -1, 0, 64);
  add_update(fixture, EX, 0, 0, 64);
  command_stream_add_update_write(&fixture->stream, BUFFER_OBJECT, &box);
  add_read(fixture, ST, 1, 0, 64);
  expect_difference(fixture, (VersionDifference){2, BUFFER_OBJECT, 0, 1, 1});
}

/* What a command keeps for itself is read back, though no other command reads it. */
static void scratch_is_its_own(void **state) {
  StreamFixture *fixture = *state;
  ByteBox rows = dense_box(0, 64);
  for (int32_t queue = EX; queue <= ST; queue++) {
    begin(fixture, queue, -1);
    command_stream_add_scratch(&fixture->stream, BUFFER_OBJECT, &rows);
  }
  expect_difference(fixture, (VersionDifference){1, BUFFER_OBJECT, 0, 1, 0});
  command_stream_add_edge(&fixture->stream, 0);
  expect_none(fixture);
}

static void scratch_is_not_written_by_others(void **state) {
  StreamFixture *fixture = *state;
  ByteBox rows = dense_box(0, 64);
  begin(fixture, EX, -1);
  command_stream_add_scratch(&fixture->stream, BUFFER_OBJECT, &rows);
  add_write(fixture, LD, -1, 60, 64);
  expect_difference(fixture, (VersionDifference){0, BUFFER_OBJECT, 60, 0, 1});
}

/* --- legal executions --- */

static void executions_are_held_to_the_rules(void **state) {
  StreamFixture *fixture = *state;
  add_write(fixture, LD, -1, 0, 64);
  add_update(fixture, EX, 0, 0, 64);
  ByteVersions versions = versions_of(fixture, &fixture->stream);
  enum { STEPS = 7 };
  static const struct {
    ExecutionStep steps[STEPS];
    int count;
    bool is_legal;
  } rows[] = {
      {{{0, STEP_START}, {0, 0}, {0, STEP_COMPLETE}, {1, STEP_START}, {1, 0}, {1, 1}, {1, STEP_COMPLETE}}, 7, true},
      {{{0, STEP_START}, {0, 0}, {1, STEP_START}, {0, STEP_COMPLETE}, {1, 0}, {1, 1}, {1, STEP_COMPLETE}}, 7, false},
      {{{0, STEP_START}, {0, STEP_COMPLETE}, {0, 0}, {1, STEP_START}, {1, 0}, {1, 1}, {1, STEP_COMPLETE}}, 7, false},
      {{{0, STEP_START}, {0, 0}, {0, STEP_COMPLETE}, {1, STEP_START}, {1, 1}, {1, 0}, {1, STEP_COMPLETE}}, 7, false},
      {{{0, STEP_START}, {0, 0}, {0, 0}, {0, STEP_COMPLETE}}, 4, false},
      {{{0, STEP_START}, {0, 0}, {0, STEP_COMPLETE}, {1, STEP_START}, {1, 0}, {1, 1}}, 6, false},
      {{{0, 0}}, 1, false},
      {{{0, STEP_START}, {0, 1}}, 2, false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    Execution execution = {rows[i].steps, rows[i].count};
    assert_int_equal(byte_versions_allow(&versions, fixture->scratch, execution), rows[i].is_legal);
  }
}

/* --- loops --- */

static CommandStream without_labels(StreamFixture *fixture, const CommandStream *stream, int32_t from, int32_t to) {
  int64_t count = stream->commands.count, kept = 0;
  int32_t *first = ARENA_NEW_ARRAY(fixture->arena, int32_t, count + 1);
  int32_t *edges = ARENA_NEW_ARRAY(fixture->arena, int32_t, stream->edges.count);
  for (int32_t i = 0; i < count; i++) {
    InstanceRange range = command_stream_edges(stream, i);
    for (int64_t k = 0; k < range.count; k++) {
      bool drops = stream->commands.data[range.data[k]].label == from && stream->commands.data[i].label == to;
      if (!drops) edges[kept++] = range.data[k];
    }
    first[i + 1] = (int32_t)kept;
  }
  return command_stream_with_edges(fixture->arena, stream, first, edges);
}

static void each_kind_of_edge_of_a_loop_is_needed(void **state) {
  StreamFixture *fixture = *state;
  TileLoop loop = {.tiles = 12, .tile_bytes = 64, .exec = 64, .depth = 2};
  CommandStream derived = build_tile_loop(fixture, loop);
  VersionDifference difference;
  assert_false(finds_difference(fixture, &derived, &difference));
  static const int32_t edges[][2] = {
      {LABEL_LD, LABEL_EX}, {LABEL_EX, LABEL_ST}, {LABEL_EX, LABEL_LD}, {LABEL_ST, LABEL_EX}};
  for (int i = 0; i < 4; i++) {
    CommandStream broken = without_labels(fixture, &derived, edges[i][0], edges[i][1]);
    assert_true(finds_difference(fixture, &broken, &difference));
  }
}

/* --- provenance --- */

/* y = f(x), half by half, in the Buffer's part at |base|; the second half first if |swaps|. */
static uint64_t halves_provenance(StreamFixture *fixture, int64_t base, bool swaps, uint64_t function,
                                  uint64_t *out_inputs) {
  ProvenanceCommand commands[] = {{true, 0}, {false, function}, {true, 0}, {true, 0}, {false, function}, {true, 0}};
  command_stream_init(&fixture->stream, fixture->arena, 256);
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 64, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), 64, OBJECT_WRITTEN_ONCE);
  for (int half = 0; half < 2; half++) {
    int64_t at = (half == 1) != swaps ? 32 : 0;
    begin(fixture, LD, -1);
    read_bytes(fixture, x, at, 32);
    write_bytes(fixture, BUFFER_OBJECT, base, 32);
    add_read(fixture, EX, -1, base, 32);
    write_bytes(fixture, BUFFER_OBJECT, base + 32, 32);
    add_read(fixture, ST, -1, base + 32, 32);
    write_bytes(fixture, y, at, 32);
  }
  return byte_versions_provenance(fixture->scratch, &fixture->stream, commands, out_inputs);
}

static void provenance_is_that_of_results(void **state) {
  uint64_t inputs[6], others[6];
  uint64_t left = halves_provenance(*state, 0, false, 7, inputs);
  assert_true(left == halves_provenance(*state, 128, false, 7, others));
  assert_memory_equal(inputs, others, sizeof inputs);
  assert_true(left == halves_provenance(*state, 0, true, 7, others));
  assert_true(inputs[1] == others[4] && inputs[5] == others[2]);
  assert_true(left != halves_provenance(*state, 0, false, 8, others));
}

/* y = x + x, the operands two copies or one, or one of them of the array's other half. */
static uint64_t sum_provenance(StreamFixture *fixture, int64_t first, int64_t second, int64_t second_at) {
  static const ProvenanceCommand commands[] = {{true, 0}, {true, 0}, {false, 9}, {true, 0}};
  command_stream_init(&fixture->stream, fixture->arena, 256);
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 64, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), 32, OBJECT_WRITTEN_ONCE);
  const int64_t places[] = {first, second}, parts[] = {0, second_at};
  for (int i = 0; i < 2; i++) {
    begin(fixture, LD, -1);
    read_bytes(fixture, x, parts[i], 32);
    write_bytes(fixture, BUFFER_OBJECT, places[i], 32);
  }
  add_read(fixture, EX, -1, first, 32);
  read_bytes(fixture, BUFFER_OBJECT, second, 32);
  write_bytes(fixture, BUFFER_OBJECT, 128, 32);
  add_read(fixture, ST, -1, 128, 32);
  write_bytes(fixture, y, 0, 32);
  return byte_versions_provenance(fixture->scratch, &fixture->stream, commands, NULL);
}

static void provenance_is_that_of_values(void **state) {
  uint64_t left = sum_provenance(*state, 0, 32, 0);
  assert_true(left == sum_provenance(*state, 0, 0, 0)); /* one overwrites the other with the same */
  assert_true(left != sum_provenance(*state, 0, 32, 32));
  assert_true(left != sum_provenance(*state, 0, 0, 32));
  assert_true(left != sum_provenance(*state, 0, 31, 0)); /* a byte is not at its place */
}

static void bytes_never_written_are_found(void **state) {
  StreamFixture *fixture = *state;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 64, OBJECT_INITIALISED);
  begin(fixture, LD, -1);
  read_bytes(fixture, x, 0, 64);
  write_bytes(fixture, BUFFER_OBJECT, 0, 63);
  add_read(fixture, ST, 0, 0, 63);
  ByteVersions versions = versions_of(fixture, &fixture->stream);
  VersionDifference difference;
  assert_false(byte_versions_uninitialised(&versions, &difference));
  read_bytes(fixture, BUFFER_OBJECT, 32, 32);
  versions = versions_of(fixture, &fixture->stream);
  assert_true(byte_versions_uninitialised(&versions, &difference));
  assert_int_equal(difference.reader, 1);
  assert_int_equal(difference.byte, 63);
}

/* --- against all executions, and against hazards.h --- */

enum { SMALL_BYTES = 6 };

/* Boxes of some bytes; |commands| of them, an access or two each. */
static void build_small_stream(StreamFixture *fixture, uint64_t seed, int commands) {
  uint64_t random = seed * 1000;
  command_stream_init(&fixture->stream, fixture->arena, SMALL_BYTES);
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), SMALL_BYTES, OBJECT_INITIALISED);
  for (int i = 0; i < QUEUE_COUNT; i++)
    fixture->queues[i].complete = draw(&random, 3) == 0 ? COMPLETE_UNORDERED : COMPLETE_IN_ORDER;
  int edge_percent = 20 + (int)draw(&random, 80);
  for (int i = 0; i < commands; i++) {
    if (draw(&random, 12) == 0) {
      command_stream_add_barrier(&fixture->stream, 0, draw(&random, 8));
      continue;
    }
    begin(fixture, (int32_t)draw(&random, QUEUE_COUNT), -1);
    for (int k = (int)draw(&random, 2); k >= 0; k--) {
      ByteBox box = {.bytes = 1 + (int64_t)draw(&random, 2), .level_count = 1, .levels = {{2, 3}}};
      box.levels[0].count = 1 + (int64_t)draw(&random, 2);
      box.base = (int64_t)draw(&random, 2);
      int32_t object = draw(&random, 3) == 0 ? y : BUFFER_OBJECT;
      uint64_t kind = draw(&random, 6);
      if (kind == 4) {
        command_stream_add_update_read(&fixture->stream, object, &box);
        command_stream_add_update_write(&fixture->stream, object, &box);
        break;
      }
      if (kind == 5)
        command_stream_add_scratch(&fixture->stream, object, &box);
      else if (kind < 2)
        command_stream_add_write(&fixture->stream, object, &box);
      else
        command_stream_add_read(&fixture->stream, object, &box);
    }
    for (int32_t producer = 0; producer < i; producer++) {
      bool is_barrier = fixture->stream.commands.data[producer].queue == BARRIER_QUEUE;
      if (!is_barrier && (int)draw(&random, 100) < edge_percent) command_stream_add_edge(&fixture->stream, producer);
    }
  }
}

/* All executions, except that starts are as late as can be, and so are completions as early as can be where no scratch
 * is read back: nothing depends on them but who may start. */
typedef struct Enumeration {
  StreamFixture *fixture;
  const ByteVersions *versions;
  ExecutionStep steps[64];
  int count;
  unsigned made[8]; /* by instance: bit k for access k; bit 31: complete */
  bool differs;
  int64_t executions;
} Enumeration;

static bool is_complete(const Enumeration *all, int32_t instance) {
  return (all->made[instance] >> 31) != 0;
}

static bool is_ready(const Enumeration *all, int32_t instance) {
  const ByteVersions *versions = all->versions;
  if (is_complete(all, instance)) return false;
  for (int32_t n = versions->first_need[instance]; n < versions->first_need[instance + 1]; n++)
    if (!is_complete(all, versions->needs.data[n])) return false;
  return true;
}

static void enumerate(Enumeration *all);

static bool has_scratch(InstanceRange accesses) {
  for (int64_t k = 0; k < accesses.count; k++)
    if (stream_access_is_scratch(accesses.data[k])) return true;
  return false;
}

/* |access|: one of the command's, or STEP_COMPLETE. */
static void enumerate_step(Enumeration *all, int32_t instance, int32_t access) {
  const CommandStream *stream = all->versions->stream;
  InstanceRange accesses = command_stream_accesses(stream, instance);
  unsigned before = all->made[instance], whole = (1u << accesses.count) - 1;
  int count = all->count;
  if (before == 0) all->steps[all->count++] = (ExecutionStep){instance, STEP_START};
  if (access >= 0) {
    bool is_late_half = access > 0 && stream_accesses_are_update(accesses.data[access - 1], accesses.data[access]);
    if (is_late_half && !(before >> (access - 1) & 1)) {
      all->count = count;
      return;
    }
    all->steps[all->count++] = (ExecutionStep){instance, access};
    all->made[instance] |= 1u << access;
  }
  if (access == STEP_COMPLETE || (all->made[instance] == whole && !has_scratch(accesses))) {
    all->steps[all->count++] = (ExecutionStep){instance, STEP_COMPLETE};
    all->made[instance] |= 1u << 31;
  }
  enumerate(all);
  all->made[instance] = before;
  all->count = count;
}

static void enumerate(Enumeration *all) {
  const CommandStream *stream = all->versions->stream;
  bool is_end = true;
  for (int32_t i = 0; i < stream->commands.count && !all->differs; i++) {
    is_end = is_end && is_complete(all, i);
    if (!is_ready(all, i)) continue;
    int64_t count = command_stream_accesses(stream, i).count;
    if (all->made[i] == (1u << count) - 1) enumerate_step(all, i, STEP_COMPLETE);
    for (int32_t k = 0; k < count && !all->differs; k++)
      if (!(all->made[i] >> k & 1)) enumerate_step(all, i, k);
  }
  if (!is_end || all->differs) return;
  VersionDifference difference;
  Execution execution = {all->steps, all->count};
  arena_reset(all->fixture->scratch);
  assert_true(byte_versions_allow(all->versions, all->fixture->scratch, execution));
  all->differs = byte_versions_execute(all->versions, all->fixture->scratch, execution, NULL, &difference);
  all->executions++;
}

static void search_finds_what_all_executions_have(void **state) {
  StreamFixture *fixture = *state;
  int64_t executions = 0;
  int found = 0, clean = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    arena_reset(fixture->scratch);
    build_small_stream(fixture, seed, 4);
    ByteVersions versions = versions_of(fixture, &fixture->stream);
    VersionDifference difference;
    bool differs = byte_versions_search(&versions, fixture->scratch, &difference);
    Enumeration all = {.fixture = fixture, .versions = &versions};
    enumerate(&all);
    assert_int_equal(differs, all.differs);
    executions += all.executions;
    found += differs;
    clean += !differs && all.executions > 1;
  }
  assert_true(found > 300 && clean > 300 && executions > 10000);
}

/* Nothing random is found that the search does not find, and nothing random is illegal. */
static void random_executions_find_no_more(void **state) {
  StreamFixture *fixture = *state;
  int found = 0, missed = 0;
  for (uint64_t seed = 0; seed < 1500; seed++) {
    arena_reset(fixture->scratch);
    build_small_stream(fixture, seed, 12);
    ByteVersions versions = versions_of(fixture, &fixture->stream);
    VersionDifference difference;
    bool differs = byte_versions_search(&versions, fixture->scratch, &difference), is_seen = false;
    for (uint64_t run = 0; run < 4; run++) {
      Execution execution = byte_versions_random_execution(&versions, fixture->scratch, fixture->scratch, run);
      assert_true(byte_versions_allow(&versions, fixture->scratch, execution));
      is_seen = is_seen || byte_versions_execute(&versions, fixture->scratch, execution, NULL, &difference);
    }
    assert_true(differs || !is_seen);
    found += is_seen;
    missed += differs && !is_seen;
  }
  assert_true(found > 100 && missed < found);
}

/* hazards.h names all there is, and besides that only writes that no command reads. */
static void differences_are_hazards(void **state) {
  StreamFixture *fixture = *state;
  int found = 0, clean = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    arena_reset(fixture->scratch);
    build_small_stream(fixture, seed, 5);
    HazardReport report = check_stream(fixture, &fixture->stream);
    hazards_check_operands(fixture->arena, fixture->scratch, &fixture->stream, HAZARD_LIMITS_DEFAULT, &report);
    VersionDifference difference;
    bool differs = finds_difference(fixture, &fixture->stream, &difference);
    int64_t own = report.counts[HAZARD_OWN_OPERANDS];
    if (report.counts[HAZARD_READ_AFTER_WRITE] + report.counts[HAZARD_WRITE_AFTER_READ] > 0) assert_true(differs);
    if (hazard_report_races(&report) + own == 0) assert_false(differs);
    found += differs;
    clean += !differs;
  }
  assert_true(found > 300 && clean > 300);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)
  const struct CMUnitTest tests[] = {
      TEST(write_that_may_come_late_is_a_difference),
      TEST(write_that_may_come_early_is_a_difference),
      TEST(edge_orders),
      TEST(edges_order_transitively),
      TEST(later_command_of_a_queue_covers_earlier_ones),
      TEST(barrier_separates),
      TEST(interleaved_runs_are_apart),
      TEST(writes_that_are_not_read_have_no_order),
      TEST(command_may_read_what_it_wrote),
      TEST(update_reads_first),
      TEST(command_writes_a_byte_once),
      TEST(command_updates_a_byte_once),
      TEST(scratch_is_its_own),
      TEST(scratch_is_not_written_by_others),
      TEST(executions_are_held_to_the_rules),
      TEST(each_kind_of_edge_of_a_loop_is_needed),
      TEST(provenance_is_that_of_results),
      TEST(provenance_is_that_of_values),
      TEST(bytes_never_written_are_found),
      TEST(search_finds_what_all_executions_have),
      TEST(random_executions_find_no_more),
      TEST(differences_are_hazards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
