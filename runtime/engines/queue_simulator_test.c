#include "runtime/engines/queue_simulator.h"

#include "hlo/machine/description/presets.h"
#include "runtime/engines/queue_engines_testing.h"

typedef struct SimulatorFixture {
  Arena *arena;
  DiagSink diag;
  MachineDescription machine;
  QueueSimulator simulator;
  HandKernel hand;
} SimulatorFixture;

static int create_fixture(void **state) {
  Arena *arena = arena_create();
  SimulatorFixture *fixture = ARENA_NEW(arena, SimulatorFixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  assert_int_equal(machine_preset_parse(arena, machine_preset_find(SV("vp-ref")), &fixture->diag, &fixture->machine),
                   STATUS_OK);
  queue_simulator_init(&fixture->simulator, arena, &fixture->machine, 10, &fixture->diag);
  hand_prepare(&fixture->hand);
  *state = fixture;
  return 0;
}

static int destroy_fixture(void **state) {
  SimulatorFixture *fixture = *state;
  arena_destroy(fixture->arena);
  return 0;
}

static int launch(SimulatorFixture *fixture) {
  return queue_simulator_launch(&fixture->simulator, &fixture->hand.kernel, &fixture->hand.context);
}

static void simulator_finds_nothing_wrong(void **state) {
  SimulatorFixture *fixture = *state;
  assert_int_equal(launch(fixture), 0);
  hand_check(&fixture->hand);
  assert_int_equal(launch(fixture), 0);
  assert_int_equal(fixture->simulator.kernels.count, 1);
  const SimulatedKernel *row = &fixture->simulator.kernels.data[0];
  assert_int_equal(row->launches, 2);
  assert_int_equal(row->commands, 2 * TILES * QUEUE_COUNT);
  /* ld→ex and ex→st always, ex→ld and st→ex but for the first SLOTS tiles. */
  assert_int_equal(row->edges, 2 * (2 * TILES + 2 * (TILES - SLOTS)));
  assert_int_equal(row->redundant, 0);
  assert_true(row->bound > 0 && row->bound <= row->cycles);
}

static void expect_hazard(SimulatorFixture *fixture, const char *text) {
  assert_int_not_equal(launch(fixture), 0);
  assert_int_not_equal(fixture->simulator.status, STATUS_OK);
  assert_true(fixture->diag.first != NULL);
  assert_string_equal(fixture->diag.first->code, "oncore-hazard");
  assert_true(sv_contains(fixture->diag.first->message, sv_from_cstring(text)));
}

static void simulator_finds_races_for_each_edge_left_out(void **state) {
  SimulatorFixture *fixture = *state;
  for (int c = 0; c < QUEUE_COUNT; c++) {
    for (int64_t e = 0; e < hand_commands[c].edge_count; e++) {
      XlacOncoreEdge kept[2];
      int64_t count = 0;
      for (int64_t k = 0; k < hand_commands[c].edge_count; k++)
        if (k != e) kept[count++] = hand_commands[c].edges[k];
      memcpy(fixture->hand.commands, hand_commands, sizeof hand_commands);
      fixture->hand.commands[c].edge_count = count;
      fixture->hand.commands[c].edges = kept;
      diag_sink_init(&fixture->diag, fixture->arena);
      expect_hazard(fixture, "nothing orders the two");
    }
  }
}

static void simulator_finds_what_leaves_an_array(void **state) {
  SimulatorFixture *fixture = *state;
  XlacOncoreObject objects[2] = {hand_objects[0], hand_objects[1]};
  objects[1].bytes -= TILE_BYTES;
  fixture->hand.kernel.objects = objects;
  expect_hazard(fixture, "'y'");
}

/* y begins one tile after x: what is loaded is, in program order, what the store before has left. */
static void simulator_sees_arrays_that_share_bytes(void **state) {
  SimulatorFixture *fixture = *state;
  fixture->hand.objects[1] = fixture->hand.x + TILE;
  XlacOncoreObject objects[2] = {hand_objects[0], hand_objects[1]};
  objects[0].flags = XLAC_ONCORE_INITIALISED;
  objects[1].flags = 0;
  fixture->hand.kernel.objects = objects;
  expect_hazard(fixture, "of 'x', command");
}

/* Bytes of the Buffer after the kernel's own are somebody else's. */
static void simulator_finds_what_leaves_its_own_bytes(void **state) {
  SimulatorFixture *fixture = *state;
  fixture->hand.kernel.own_end -= TILE_BYTES;
  expect_hazard(fixture, "that are not the kernel's");
}

/* The slots of results are written again and again: no array of which each byte is written once lies there. */
static void simulator_judges_what_outlives_a_kernel(void **state) {
  SimulatorFixture *fixture = *state;
  XlacOncoreResident resident = {"rows", SLOTS * TILE_BYTES, SLOTS * TILE_BYTES, XLAC_ONCORE_WRITTEN_ONCE};
  fixture->hand.kernel.own_end = SLOTS * TILE_BYTES;
  fixture->hand.kernel.resident_count = 1;
  fixture->hand.kernel.residents = &resident;
  expect_hazard(fixture, "'rows'");
  resident.flags = XLAC_ONCORE_INITIALISED;
  diag_sink_init(&fixture->diag, fixture->arena);
  assert_int_equal(launch(fixture), 0);
  hand_check(&fixture->hand);
}

/* Orders begin with what is there, and nothing but the kernel's own bytes is poisoned. */
static void simulator_leaves_others_bytes_alone(void **state) {
  SimulatorFixture *fixture = *state;
  struct {
    float buffer[2 * SLOTS * TILE], others[TILE];
  } room = {.others = {7}};
  fixture->hand.context.buffer = room.buffer;
  fixture->hand.kernel.buffer_bytes = sizeof room;
  assert_int_equal(launch(fixture), 0);
  hand_check(&fixture->hand);
  assert_true(room.others[0] == 7);
}

/* The second of two launches may begin when its slots are free: each load then follows the one before. */
enum { LINK_COUNT = 2 * SLOTS };

static void launch_twice(SimulatorFixture *fixture, const XlacOncoreLink *links, int64_t count, int expected) {
  XlacOncoreRun run = {sizeof run, 2, count, links};
  queue_simulator_begin_run(&fixture->simulator);
  queue_simulator_run(&fixture->simulator, &run);
  assert_int_equal(launch(fixture), 0);
  assert_int_equal(launch(fixture), expected);
}

static void free_slots(XlacOncoreLink *links) {
  for (int i = 0; i < SLOTS; i++) {
    links[2 * i] = (XlacOncoreLink){1, LOADS, i, 1, ADDITIONS, TILES - SLOTS + i};
    links[2 * i + 1] = (XlacOncoreLink){1, ADDITIONS, i, 1, STORES, TILES - SLOTS + i};
  }
}

static void simulator_times_launches_of_a_run_together(void **state) {
  SimulatorFixture *fixture = *state;
  assert_int_equal(launch(fixture), 0);
  double alone = fixture->simulator.kernels.data[0].cycles;
  int64_t edges = fixture->simulator.kernels.data[0].edges;
  XlacOncoreLink links[LINK_COUNT];
  free_slots(links);
  launch_twice(fixture, links, LINK_COUNT, 0);
  hand_check(&fixture->hand);
  const SimulatedKernel *row = &fixture->simulator.kernels.data[0];
  assert_int_equal(row->launches, 2);
  assert_int_equal(row->edges, 2 * edges + LINK_COUNT);
  assert_int_equal(row->redundant, 0);
  assert_int_equal(row->races, 0);
  /* a load: 64 cycles before it does anything, then 32 bytes a cycle */
  double loads = TILES * (64 + TILE_BYTES / 32.0);
  assert_true(row->cycles >= alone + loads);
  assert_true(row->cycles < 2 * alone);
  assert_true(row->queues[LOADS].busy >= 2 * loads && row->queues[LOADS].commands == 2 * TILES);
}

static void simulator_finds_races_for_each_link_left_out(void **state) {
  SimulatorFixture *fixture = *state;
  for (int without = 0; without < LINK_COUNT; without++) {
    XlacOncoreLink links[LINK_COUNT];
    free_slots(links);
    for (int i = without; i + 1 < LINK_COUNT; i++) links[i] = links[i + 1];
    diag_sink_init(&fixture->diag, fixture->arena);
    launch_twice(fixture, links, LINK_COUNT - 1, 1);
    assert_string_equal(fixture->diag.first->code, "oncore-hazard");
    assert_true(sv_contains(fixture->diag.first->message, SV("nothing orders the two")));
  }
}

static void simulator_counts_links_that_say_nothing_new(void **state) {
  SimulatorFixture *fixture = *state;
  XlacOncoreLink links[LINK_COUNT + 1];
  free_slots(links);
  links[LINK_COUNT] = (XlacOncoreLink){1, STORES, SLOTS - 1, 1, ADDITIONS, 0};
  launch_twice(fixture, links, LINK_COUNT + 1, 0);
  assert_int_equal(fixture->simulator.kernels.data[0].redundant, 1);
}

static void simulator_refuses_links_to_nothing(void **state) {
  SimulatorFixture *fixture = *state;
  XlacOncoreLink to_nothing = {1, LOADS, 0, 1, STORES, TILES}, to_itself = {1, LOADS, 0, 0, STORES, 0},
                 of_nothing = {1, LOADS, TILES, 1, STORES, 0}, before = {1, LOADS, 0, 2, STORES, 0};
  const XlacOncoreLink *wrong[] = {&to_nothing, &to_itself, &of_nothing, &before};
  for (int i = 0; i < 4; i++) {
    diag_sink_init(&fixture->diag, fixture->arena);
    launch_twice(fixture, wrong[i], 1, 1);
    assert_true(sv_contains(fixture->diag.first->message, SV("that it has not")));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(simulator_finds_nothing_wrong, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_finds_races_for_each_edge_left_out, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_finds_what_leaves_an_array, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_sees_arrays_that_share_bytes, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_finds_what_leaves_its_own_bytes, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_judges_what_outlives_a_kernel, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_leaves_others_bytes_alone, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_times_launches_of_a_run_together, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_finds_races_for_each_link_left_out, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_counts_links_that_say_nothing_new, create_fixture, destroy_fixture),
      cmocka_unit_test_setup_teardown(simulator_refuses_links_to_nothing, create_fixture, destroy_fixture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
