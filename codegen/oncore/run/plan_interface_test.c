#include "codegen/oncore/run/plan_interface.h"

#include "base/checked_math.h"
#include "codegen/oncore/emit/oncore_testing.h"
#include "codegen/oncore/run/plan_copies.h"

enum { MOST_RESIDENTS = 8, BUFFER = 1 << 20, GAP = 192 };

static MachineDescription *large_machine(Fixture *fixture) {
  MachineDescription *machine = make_machine(fixture, "vp-tiny");
  machine->buffer.size = BUFFER;
  return machine;
}

/* All buffers of |plan| that may be resident, the last one lowest, gaps between them, below the tiles or above. */
static PlanInterface scattered(const Plan *plan, bool is_above, PlanResident residents[MOST_RESIDENTS]) {
  int64_t begin = GAP;
  PlanInterface interface = {.residents = residents};
  for (int32_t b = 0; b < plan->kernel->buffer_count && interface.count < MOST_RESIDENTS; b++)
    if (plan_may_keep(plan, b, false)) residents[interface.count++] = (PlanResident){.buffer = b};
  for (int32_t r = interface.count - 1; r >= 0; r--) {
    const KernelBuffer *buffer = &plan->kernel->buffers[residents[r].buffer];
    residents[r].begin = begin;
    residents[r].is_there = buffer->role != KERNEL_RESULT && r % 2 == 0;
    residents[r].is_needed = buffer->role == KERNEL_RESULT && r % 2 == 1;
    begin += align_up(buffer->element_count * type_storage_bytes(buffer->type), plan->alignment) + GAP;
  }
  interface.base = is_above ? 0 : begin;
  interface.limit = BUFFER;
  if (!is_above) return interface;
  for (int32_t r = 0; r < interface.count; r++) residents[r].begin += BUFFER - begin;
  interface.limit = BUFFER - begin + GAP;
  return interface;
}

static double cycles_under(Fixture *fixture, const Plan *plan, const MachineDescription *machine,
                           const PlanInterface *interface, int64_t *out_tiles) {
  const Plan *kept;
  PlanVerdict verdict;
  assert_int_equal(plan_keep(fixture->arena, plan, machine, interface, &fixture->diag, &kept), STATUS_OK);
  assert_non_null(kept);
  assert_int_equal(plan_check(fixture->arena, kept, machine, &fixture->diag, &verdict), STATUS_OK);
  assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
  *out_tiles = plan_own_tile_bytes(kept);
  return verdict.simulation.cycles;
}

/* Wherever residents and tiles lie, the plan takes as long, and finds room in as many bytes. */
static void plan_interface_pack_keeps_the_price(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  tiny->buffer.size = 8192;
  int32_t count = 0;
  for (int i = 0; i < 2 * TESTING_MODULES; i++) {
    PlanResident residents[MOST_RESIDENTS];
    Plan plan = *make_plan(fixture, testing_modules[i / 2], tiny);
    plan.buffer_bytes = machine_buffer_usable(machine);
    PlanInterface interface = scattered(&plan, i % 2 == 1, residents), packed;
    if (interface.count == 0) continue;
    assert_true(plan_interface_pack(fixture->arena, plan.kernel, machine, &interface, &packed));
    int64_t packed_tiles, tiles;
    double cycles = cycles_under(fixture, &plan, machine, &packed, &packed_tiles);
    assert_true(cycles == cycles_under(fixture, &plan, machine, &interface, &tiles));
    assert_int_equal(packed_tiles, tiles);
    PlanInterface tight = interface;
    tight.limit = align_up(interface.base, plan.alignment) + tiles;
    assert_true(tiles == 0 || plan_interface_has_room(&tight, machine, tiles));
    tight.limit -= plan.alignment;
    assert_false(tight.limit > tight.base && plan_interface_has_room(&tight, machine, tiles));
    count++;
  }
  assert_true(count > 10);
}

#define SUM                                                                      \
  "HloModule m\nENTRY e { x = f32[100] parameter(0) y = f32[100] parameter(1)\n" \
  "  ROOT r = f32[100] add(x, y) }\n"

/* 400 bytes are 448 with their alignment to 64. */
static void plan_interface_pack_puts_residents_side_by_side(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  const Plan *plan = make_plan(fixture, SUM, machine);
  assert_int_equal(plan->alignment, 64);
  PlanResident residents[] = {{.buffer = 0, .begin = 6400, .is_there = true}, {.buffer = 2, .begin = 1280}};
  PlanInterface interface = {.base = 1728, .limit = 6400, .count = 2, .residents = residents, .room = {.bytes = 4096}},
                packed;
  assert_true(plan_interface_pack(fixture->arena, plan->kernel, machine, &interface, &packed));
  assert_int_equal(packed.residents[0].begin, 0);
  assert_true(packed.residents[0].is_there);
  assert_int_equal(packed.residents[1].begin, 448);
  assert_int_equal(packed.base, 896);
  assert_int_equal(packed.limit, 0);
  assert_int_equal(packed.room.bytes, 4096);
}

/* A result in its operand's place stays there, and what comes after the two comes after the longer one. */
static void plan_interface_pack_leaves_together_what_is(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  const Plan *plan = make_plan(fixture, SUM, machine);
  PlanResident residents[] = {
      {.buffer = 0, .begin = 6400, .elements = 16}, {.buffer = 1, .begin = 1280}, {.buffer = 2, .begin = 6400}};
  PlanInterface interface = {.base = 1728, .limit = 6400, .count = 3, .residents = residents}, packed;
  assert_true(plan_interface_pack(fixture->arena, plan->kernel, machine, &interface, &packed));
  assert_int_equal(packed.residents[0].begin, 0);
  assert_int_equal(packed.residents[2].begin, 0);
  assert_int_equal(packed.residents[1].begin, 448);
  assert_int_equal(packed.base, 896);
}

static void plan_interface_pack_refuses_what_meets(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  const Plan *plan = make_plan(fixture, SUM, machine);
  struct {
    int64_t begin, other, base, limit;
  } cases[] = {
      {0, 384, 1024, 2048},            /* one another */
      {0, 448, 832, 2048},             /* the second, and the tiles' first bytes */
      {4096, 448, 1024, 4160},         /* the tiles' last bytes */
      {4096, 448, 1024, 0},            /* tiles that go on to the Buffer's end */
      {BUFFER - 384, 448, 1024, 2048}, /* the Buffer's end */
      {32, 448, 1024, 2048},           /* between two places */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    PlanResident residents[] = {{.buffer = 0, .begin = cases[i].begin}, {.buffer = 1, .begin = cases[i].other}};
    PlanInterface interface = {.base = cases[i].base, .limit = cases[i].limit, .count = 2, .residents = residents};
    PlanInterface packed;
    assert_false(plan_interface_pack(fixture->arena, plan->kernel, machine, &interface, &packed));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plan_interface_pack_keeps_the_price, create, destroy),
      cmocka_unit_test_setup_teardown(plan_interface_pack_puts_residents_side_by_side, create, destroy),
      cmocka_unit_test_setup_teardown(plan_interface_pack_leaves_together_what_is, create, destroy),
      cmocka_unit_test_setup_teardown(plan_interface_pack_refuses_what_meets, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
