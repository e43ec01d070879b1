#include "codegen/oncore/plan/plan_stream.h"

#include <math.h>

#include "codegen/oncore/emit/oncore_testing.h"
#include "hlo/machine/stream/queue_simulation.h"

static CommandStream stream_of(Fixture *fixture, const Plan *plan, const MachineDescription *machine) {
  CommandStream stream;
  assert_int_equal(plan_stream_make(fixture->arena, plan, machine, &fixture->diag, &stream), STATUS_OK);
  return stream;
}

/* Every instance is there, ragged ends included: what is moved is the arrays, to the byte. */
static void plan_stream_moves_arrays_once(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vp-tiny");
  static const struct {
    const char *text;
    int64_t bytes;
  } cases[] = {{EXP("5000"), 2 * 5000 * 4}, {TRANSPOSE("90", "110"), 2 * 9900 * 4}, {ROW_SUM("70", "900"), 63070 * 4}};
  for (int i = 0; i < 3; i++) {
    const Plan *plan = make_plan(fixture, cases[i].text, machine);
    CommandStream stream = stream_of(fixture, plan, machine);
    assert_int_equal(stream.commands.count, plan_instance_count(plan));
    int64_t bytes = 0;
    for (int64_t c = 0; c < stream.commands.count; c++) {
      const StreamCommand *command = &stream.commands.data[c];
      if (machine->queues[command->queue].kind != QUEUE_EXEC) bytes += command->work.bytes;
    }
    assert_int_equal(bytes, cases[i].bytes);
  }
}

/* Nothing waits for what comes before the first instance, or for what comes later. */
static void plan_stream_edges_point_back(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vp-tiny");
  for (int m = 0; m < TESTING_MODULES; m++) {
    CommandStream stream = stream_of(fixture, make_plan(fixture, testing_modules[m], machine), machine);
    assert_int_equal(command_stream_edges(&stream, 0).count, 0);
    int64_t edges = 0;
    for (int32_t i = 0; i < stream.commands.count; i++) {
      InstanceRange range = command_stream_edges(&stream, i);
      for (int64_t e = 0; e < range.count; e++) assert_true(range.data[e] >= 0 && range.data[e] < i);
      edges += range.count;
    }
    assert_true(edges > 0);
  }
}

/* A pipeline that its computation limits takes the first load, all operations and the last store. */
static void plan_stream_simulates_as_closed_form(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vp-ref");
  static const char *const texts[] = {EXP("4194304"), SOFTMAX("4096", "1024"), MATMUL("512", "512", "512")};
  for (int i = 0; i < 3; i++) {
    const Plan *plan = make_plan(fixture, texts[i], machine);
    PlanVerdict verdict;
    assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
    assert_true(fabs(verdict.simulation.cycles - plan->estimate) < 0.05 * plan->estimate);
    assert_true(verdict.bound.cycles <= verdict.simulation.cycles);
  }
}

/* Without the bytes that commands touch they take as long. */
static void plan_stream_for_time_takes_as_long(void **state) {
  Fixture *fixture = *state;
  static const char *const machines[] = {"vp-ref", "vp-tiny", "vtcm4m"};
  for (int i = 0; i < 3; i++) {
    const MachineDescription *machine = make_machine(fixture, machines[i]);
    for (int m = 0; m < TESTING_MODULES; m++) {
      const Plan *plan = make_plan(fixture, testing_modules[m], machine);
      CommandStream whole = stream_of(fixture, plan, machine), timed;
      assert_int_equal(plan_stream_make_timed(fixture->arena, plan, machine, &fixture->diag, &timed), STATUS_OK);
      assert_int_equal(timed.accesses.count, 0);
      assert_int_equal(timed.edges.count, whole.edges.count);
      double cycles = queue_simulation_run(fixture->arena, fixture->arena, &whole, machine).cycles;
      assert_true(queue_simulation_run(fixture->arena, fixture->arena, &timed, machine).cycles == cycles);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plan_stream_moves_arrays_once, create, destroy),
      cmocka_unit_test_setup_teardown(plan_stream_edges_point_back, create, destroy),
      cmocka_unit_test_setup_teardown(plan_stream_simulates_as_closed_form, create, destroy),
      cmocka_unit_test_setup_teardown(plan_stream_for_time_takes_as_long, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
