#include "codegen/oncore/tiling/plan_edges.h"

#include <string.h>

#include "codegen/oncore/emit/oncore_testing.h"

/* A reload waits for the spill of all rows although it reads some of them: with many tiles the rings alone keep the
 * order. */
static bool is_of_spill(const Plan *plan, const PlanEdge *edge) {
  const PlanCommand *producer = &plan->commands[edge->command];
  return producer->verb == PLAN_STORE && plan->memories[producer->targets[0].number].kind == PLAN_TEMPORARY;
}

/* Plans are free of races, and not one edge can be spared. */
static void plan_edges_are_enough_and_needed(void **state) {
  Fixture *fixture = *state;
  static const char *const machines[] = {"vp-tiny", "vtcm4m"};
  int removed = 0;
  for (int i = 0; i < 2; i++) {
    MachineDescription *machine = make_machine(fixture, machines[i]);
    machine->buffer.size = 8192;
    for (int m = 0; m < TESTING_MODULES; m++) {
      const Plan *plan = make_plan(fixture, testing_modules[m], machine);
      PlanVerdict verdict;
      assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
      assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
      assert_int_equal(verdict.hazards.counts[HAZARD_REDUNDANT_EDGE], 0);
      for (int32_t c = 0; c < plan->command_count; c++) {
        for (int32_t e = 0; e < plan->commands[c].edge_count; e++) {
          if (is_of_spill(plan, &plan->commands[c].edges[e])) continue;
          Plan broken = without_edge(fixture, plan, c, e);
          assert_int_equal(plan_check(fixture->arena, &broken, machine, &fixture->diag, &verdict), STATUS_OK);
          /* reading what no command has written yet is a fault of its own kind */
          assert_true(hazard_report_faults(&verdict.hazards) > 0);
          removed++;
        }
      }
    }
  }
  assert_true(removed > 50);
}

/* Queues that keep no order need more edges, and get them, or the plan is refused. */
static void plan_edges_hold_for_unordered_queues(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-tiny");
  MachineQueue queues[3];
  assert_int_equal(machine->queue_count, 3);
  memcpy(queues, machine->queues, sizeof queues);
  for (int q = 0; q < 3; q++) queues[q].complete = COMPLETE_UNORDERED;
  machine->queues = queues;
  int made = 0;
  for (int m = 0; m < TESTING_MODULES; m++) {
    const Plan *plan;
    PlanVerdict verdict;
    TilerOptions options = {0};
    const TilerRequest request = {make_kernel(fixture, testing_modules[m]), SV("k"), machine, &options, NULL};
    Status status = tiler_plan(fixture->arena, &request, &fixture->diag, &plan);
    if (status == STATUS_UNSUPPORTED) {
      assert_string_equal(fixture->diag.last->code, "plan-edge");
      continue;
    }
    assert_int_equal(status, STATUS_OK);
    made++;
    assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
    assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
  }
  assert_true(made >= 5);
}

/* What others imply takes no time: plans are priced without dropping it. */
static void plan_edges_that_are_implied_take_no_time(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  int more = 0;
  for (int m = 0; m < TESTING_MODULES; m++) {
    const Plan *plan = make_plan(fixture, testing_modules[m], machine);
    Plan all = *plan;
    PlanCommand *commands = ARENA_COPY_ARRAY(fixture->arena, PlanCommand, plan->commands, plan->command_count);
    all.commands = commands;
    assert_true(plan_edges_derive_all(&all, machine, commands));
    PlanVerdict few, many;
    assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &few), STATUS_OK);
    assert_int_equal(plan_check(fixture->arena, &all, machine, &fixture->diag, &many), STATUS_OK);
    if (hazard_report_faults(&many.hazards) > 0) continue; /* in place: several commands fill a ring */
    assert_true(few.simulation.cycles == many.simulation.cycles);
    more += many.hazards.counts[HAZARD_REDUNDANT_EDGE] > 0;
  }
  assert_true(more > 0);
  machine->sync.kind = SYNC_FLAG;
  assert_false(plan_edges_derive_all(&(Plan){0}, machine, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plan_edges_are_enough_and_needed, create, destroy),
      cmocka_unit_test_setup_teardown(plan_edges_hold_for_unordered_queues, create, destroy),
      cmocka_unit_test_setup_teardown(plan_edges_that_are_implied_take_no_time, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
