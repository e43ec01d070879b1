#include "codegen/oncore/emit/module_units.h"

#include "codegen/oncore/emit/oncore_testing.h"

enum { ROWS = 4, UNITS = 3 };

/* Four Kernels with a row and a plan each. */
typedef struct Trial {
  KernelUse uses[ROWS];
  KernelUses rows[ROWS];
  KernelTable table;
  ModulePlan plans[ROWS];
  PlanUse plan_uses[ROWS];
  ModulePlans before, kept;
} Trial;

static const MachineDescription machine;

static PlansTrial make_trial(Trial *trial, const double *cycles, const int64_t *bytes) {
  *trial = (Trial){0};
  for (int32_t r = 0; r < ROWS; r++) {
    trial->rows[r] = (KernelUses){.count = 1, .uses = &trial->uses[r]};
    trial->plan_uses[r] = (PlanUse){.plan = r, .runs = 2};
    trial->plans[r].is_resident = true;
    trial->plans[r].verdict.machine = &machine;
    trial->plans[r].verdict.simulation = (QueueSimulation){.cycles = cycles[r], .memory_bytes = bytes[r]};
  }
  trial->table.rows.count = ROWS;
  trial->table.rows.data = trial->rows;
  trial->before = (ModulePlans){.count = ROWS, .plans = trial->plans, .use_count = ROWS, .uses = trial->plan_uses};
  trial->kept = trial->before;
  return (PlansTrial){&trial->table, &trial->before, &trial->kept};
}

/* Units: the first Kernel saves 200 bytes for 20 cycles, the next two 2000 for 100, the last one takes 2 bytes. */
static const RunLeft *choose(Arena *arena, double room, double *out_more) {
  static const RunUnit ranges[UNITS] = {{.first = 0, .last = 0}, {.first = 1, .last = 2}, {.first = 3, .last = 3}};
  const CutUnits units = {.count = UNITS, .units = ranges};
  Trial whole, cut;
  PlansTrial from = make_trial(&whole, (double[]){100, 100, 100, 100}, (int64_t[]){500, 500, 500, 500});
  PlansTrial to = make_trial(&cut, (double[]){110, 160, 90, 100}, (int64_t[]){400, 0, 0, 501});
  return module_plans_choose_units(arena, &units, &from, &to, (UnitsWanted){.room = room}, out_more);
}

/* What saves nothing is left out, whatever room there is. */
static void units_that_save_nothing_are_left_out(void **state) {
  (void)state;
  Arena *arena = arena_create();
  double more;
  const RunLeft *leaves_out = choose(arena, 1000, &more);
  assert_non_null(leaves_out);
  assert_int_equal(leaves_out[0], RUN_LEAVES_NOTHING);
  assert_int_equal(leaves_out[1], RUN_LEAVES_NOTHING);
  assert_int_equal(leaves_out[3], RUN_LEAVES_UNIT);
  assert_int_equal((int)more, -2);
  arena_destroy(arena);
}

/* Of the others those come first that save most for their cycles. */
static void units_that_save_most_for_their_cycles_come_first(void **state) {
  (void)state;
  Arena *arena = arena_create();
  double more;
  const RunLeft *leaves_out = choose(arena, 110, &more);
  assert_non_null(leaves_out);
  assert_int_equal(leaves_out[0], RUN_LEAVES_UNIT);
  assert_int_equal(leaves_out[1], RUN_LEAVES_NOTHING);
  assert_int_equal((int)more, 198);
  leaves_out = choose(arena, 50, &more);
  assert_non_null(leaves_out);
  assert_int_equal(leaves_out[0], RUN_LEAVES_NOTHING);
  assert_int_equal(leaves_out[1], RUN_LEAVES_UNIT);
  assert_null(choose(arena, 10, &more)); /* nothing is left */
  arena_destroy(arena);
}

/* A unit of three Kernels of which the middle one, which costs most, may be whole: 80 bytes more are moved then. */
static void members_are_left_out_by_themselves(void **state) {
  (void)state;
  Arena *arena = arena_create();
  static const RunMember members[] = {{.row = 1, .bytes = 80}, {.row = 2, .bytes = 10}};
  static const RunUnit unit = {.first = 0, .last = 2, .member_count = 2, .members = members};
  static const HloInstruction instructions[ROWS];
  const CutUnits units = {.count = 1, .units = &unit};
  Trial whole, cut;
  PlansTrial from = make_trial(&whole, (double[]){100, 100, 100, 100}, (int64_t[]){500, 500, 500, 500});
  PlansTrial to = make_trial(&cut, (double[]){110, 160, 90, 100}, (int64_t[]){400, 300, 400, 500});
  for (int32_t r = 0; r < ROWS; r++) {
    whole.rows[r].instruction = whole.uses[r].instruction = &instructions[r];
    cut.rows[r].instruction = cut.uses[r].instruction = &instructions[r];
  }
  double more;
  UnitsWanted wanted = {.room = 50, .parts_units = true};
  const RunLeft *leaves_out = module_plans_choose_units(arena, &units, &from, &to, wanted, &more);
  assert_non_null(leaves_out);
  assert_int_equal(leaves_out[0], RUN_LEAVES_NOTHING);
  assert_int_equal(leaves_out[1], RUN_LEAVES_KERNEL);
  assert_int_equal(leaves_out[2], RUN_LEAVES_NOTHING); /* it saves both */
  assert_int_equal((int)more, 2 * 200 + 80);
  wanted.room = 150; /* for all of it */
  assert_null(module_plans_choose_units(arena, &units, &from, &to, wanted, &more));
  wanted = (UnitsWanted){.room = 50};
  assert_null(module_plans_choose_units(arena, &units, &from, &to, wanted, &more)); /* nothing is left of the unit */
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(units_that_save_nothing_are_left_out),
      cmocka_unit_test(units_that_save_most_for_their_cycles_come_first),
      cmocka_unit_test(members_are_left_out_by_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
