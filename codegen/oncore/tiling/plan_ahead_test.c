#include "codegen/oncore/tiling/plan_ahead.h"

#include "codegen/oncore/emit/oncore_testing.h"
#include "codegen/oncore/plan/plan_stream.h"

static PlanVerdict verdict_of(Fixture *fixture, const Plan *plan, const MachineDescription *machine) {
  PlanVerdict verdict;
  assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
  return verdict;
}

/* How often each byte of memory is read and written does not depend on when. */
static void check_same_transfers(const PlanVerdict *before, const PlanVerdict *after) {
  assert_int_equal(after->stream.commands.count, before->stream.commands.count);
  assert_int_equal(after->simulation.memory_bytes, before->simulation.memory_bytes);
}

static void ahead_is_for_queues_that_store_as_well(void **state) {
  assert_true(machine_shares_queue(make_machine(*state, "vtcm4m")));
  assert_false(machine_shares_queue(make_machine(*state, "vp-ref")));
}

/* Also of machines that gain nothing, and with loops in loops: as many commands, no fault, no edge too many. */
static void ahead_computes_the_same(void **state) {
  Fixture *fixture = *state;
  static const char *const machines[] = {"vtcm4m", "vp-tiny", "ub192"};
  int changed = 0;
  for (int i = 0; i < 3; i++) {
    MachineDescription *machine = make_machine(fixture, machines[i]);
    for (int m = 0; m < TESTING_MODULES; m++) {
      for (machine->buffer.size = 4096; machine->buffer.size <= 1 << 16; machine->buffer.size *= 4) {
        const Plan *plan = make_plan(fixture, testing_modules[m], machine);
        Plan *ahead;
        assert_int_equal(plan_ahead(fixture->arena, plan, machine, &fixture->diag, &ahead), STATUS_OK);
        PlanVerdict before = verdict_of(fixture, plan, machine), after = verdict_of(fixture, ahead, machine);
        assert_int_equal(hazard_report_faults(&after.hazards), after.hazards.counts[HAZARD_FLAGS]);
        assert_int_equal(after.hazards.counts[HAZARD_REDUNDANT_EDGE], 0);
        check_same_transfers(&before, &after);
        changed += ahead->command_count > plan->command_count;
      }
    }
  }
  assert_true(changed > 0);
}

/* 4 MiB in and 4 MiB out at 32 bytes a cycle, and the setups of as many transfers: the queue is never idle but at the
 * beginning, for the first operation, and at the end. */
static void ahead_keeps_the_queue_at_work(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vtcm4m");
  const Plan *plan = make_plan(fixture, EXP("1048576"), machine);
  PlanVerdict verdict = verdict_of(fixture, plan, machine);
  double moves = 2 * 4194304.0 / 32;
  assert_true(verdict.simulation.cycles >= moves);
  assert_true(verdict.simulation.cycles < 1.05 * moves);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(ahead_is_for_queues_that_store_as_well, create, destroy),
      cmocka_unit_test_setup_teardown(ahead_computes_the_same, create, destroy),
      cmocka_unit_test_setup_teardown(ahead_keeps_the_queue_at_work, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
