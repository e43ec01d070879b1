#include "codegen/oncore/plan/tile_kernel.h"

#include <string.h>

#include "codegen/oncore/emit/oncore_testing.h"

/* Points of all dims, and how often buffers are read and written. */
typedef struct TileFacts {
  int64_t points;
  int loads, guarded_loads, stores, in_place;
} TileFacts;

static TileFacts facts_of(const Kernel *kernel) {
  TileFacts facts = {.points = 1};
  for (int32_t d = 0; d < kernel->dim_count; d++) facts.points *= kernel->dims[d].extent;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind != KERNEL_LOAD) continue;
    facts.loads++;
    facts.guarded_loads += kernel->values[v].predicate >= 0;
  }
  for (int32_t s = 0; s < kernel->stage_count; s++) facts.stores += kernel->stages[s].store_count;
  for (int32_t b = 0; b < kernel->buffer_count; b++) facts.in_place += kernel->buffers[b].role == KERNEL_IN_PLACE;
  return facts;
}

static TileFacts build(Fixture *fixture, const Plan *plan, const PlanCommand *command, uint32_t variant) {
  TileKernel tile;
  assert_int_equal(tile_kernel_build(fixture->arena, plan, command, variant, &fixture->diag, &tile), STATUS_OK);
  assert_int_equal(tile.parameter_count > 0, tile.parameter_buffer >= 0);
  return facts_of(tile.kernel);
}

static const PlanCommand *find_command(const Plan *plan, PlanVerb verb) {
  for (int32_t c = 0; c < plan->command_count; c++) {
    if (plan->commands[c].verb == verb) return &plan->commands[c];
  }
  fail_msg("no command of the verb");
  return NULL;
}

static int32_t ragged_count(Fixture *fixture, const Plan *plan, const PlanCommand *command) {
  PlanRange ranges[TILE_MAX_RAGGED];
  int32_t count;
  assert_int_equal(tile_ragged_ranges(plan, command, &fixture->diag, ranges, &count), STATUS_OK);
  return count;
}

/* Every variant of every command is a Kernel that verifies, and the last tile is smaller than the others. */
static void tile_kernel_builds_all_variants(void **state) {
  Fixture *fixture = *state;
  static const char *const machines[] = {"vp-tiny", "vp-ref"};
  int ragged = 0;
  for (int i = 0; i < 2; i++) {
    const MachineDescription *machine = make_machine(fixture, machines[i]);
    for (int m = 0; m < TESTING_MODULES; m++) {
      const Plan *plan = make_plan(fixture, testing_modules[m], machine);
      for (int32_t c = 0; c < plan->command_count; c++) {
        const PlanCommand *command = &plan->commands[c];
        int32_t count = ragged_count(fixture, plan, command);
        for (uint32_t v = 0; v < 1u << count; v++) {
          TileFacts facts = build(fixture, plan, command, v);
          if (v == 0) continue;
          assert_true(facts.points < build(fixture, plan, command, v & (v - 1)).points);
          ragged++;
        }
      }
    }
  }
  assert_true(ragged > 10);
}

/* 5000 elements in equal tiles and one last: together all of them. */
static void tile_kernel_covers_ragged_end(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, EXP("5000"), make_machine(fixture, "vp-tiny"));
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    int64_t tiles = plan_loop_instances(plan, command->loop), full = build(fixture, plan, command, 0).points;
    int64_t last = ragged_count(fixture, plan, command) > 0 ? build(fixture, plan, command, 1).points : full;
    assert_int_equal((tiles - 1) * full + last, 5000);
  }
}

static void tile_kernel_of_transfer_is_copy(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, TRANSPOSE("90", "110"), make_machine(fixture, "vp-tiny"));
  static const PlanVerb verbs[] = {PLAN_LOAD, PLAN_STORE};
  for (int i = 0; i < 2; i++) {
    TileFacts facts = build(fixture, plan, find_command(plan, verbs[i]), 0);
    assert_int_equal(facts.loads, 1);
    assert_int_equal(facts.stores, 1);
  }
}

/* The first command of a sum does not look at its Tensor, the others add to it. */
static void tile_kernel_starts_accumulators_once(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, MATMUL("65", "130", "70"), make_machine(fixture, "vp-tiny"));
  const PlanCommand *dot = find_command(plan, PLAN_DOT);
  assert_true(dot->keeps_accumulators);
  TileFacts begins = build(fixture, plan, dot, TILE_VARIANT_INIT), goes_on = build(fixture, plan, dot, 0);
  assert_int_equal(begins.in_place, 1);
  assert_int_equal(begins.loads, 2);
  assert_int_equal(goes_on.loads, 3);
}

static void tile_kernel_of_gather_reads_index(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, GATHER, make_machine(fixture, "vp-tiny"));
  TileFacts rows = build(fixture, plan, find_command(plan, PLAN_GATHERM), 0);
  assert_int_equal(rows.loads, 2); /* the index and the row */
  const PlanCommand *index = find_command(plan, PLAN_OP);
  assert_true(index->index_value >= 0);
  assert_int_equal(build(fixture, plan, index, 0).stores, 1);
}

/* Where only a later stage reads by an index, it is computed by its own, once for each place. */
static void tile_kernel_of_gather_in_later_stage(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, GATHER_TWICE, make_machine(fixture, "vp-tiny"));
  int indices = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    if (plan->commands[c].index_value < 0 || plan->commands[c].verb != PLAN_OP) continue;
    assert_int_equal(build(fixture, plan, &plan->commands[c], 0).points, 70);
    indices++;
  }
  assert_int_equal(indices, 2);
}

/* What lies outside is 0: its load has a predicate. */
static void tile_kernel_of_padding_guards(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, PAD, make_machine(fixture, "vp-tiny"));
  bool found = false;
  for (int32_t c = 0; c < plan->command_count; c++) {
    if (plan->commands[c].verb != PLAN_LOAD || plan->commands[c].value < 0) continue;
    assert_int_equal(build(fixture, plan, &plan->commands[c], 0).guarded_loads, 1);
    found = true;
  }
  assert_true(found);
}

/* Reads and writes the whole result, where its predicate says so. */
static void tile_kernel_of_scatter_updates_in_place(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, SCATTER, make_machine(fixture, "vp-tiny"));
  TileFacts facts = build(fixture, plan, find_command(plan, PLAN_OP), 0);
  assert_int_equal(facts.in_place, 1);
  assert_int_equal(facts.guarded_loads, 1);
  assert_int_equal(facts.stores, 1);
}

/* A plan written by hand may have too few operands. */
static void tile_kernel_refuses_missing_operand(void **state) {
  Fixture *fixture = *state;
  const Plan *plan = make_plan(fixture, MATMUL("65", "130", "70"), make_machine(fixture, "vp-tiny"));
  PlanCommand command = *find_command(plan, PLAN_DOT);
  TileKernel tile;
  command.source_count--;
  assert_int_equal(tile_kernel_build(fixture->arena, plan, &command, 0, &fixture->diag, &tile), STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, "plan-operands");
  command.source_count++;
  command.target_count = 0;
  assert_int_equal(tile_kernel_build(fixture->arena, plan, &command, 0, &fixture->diag, &tile), STATUS_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tile_kernel_builds_all_variants, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_covers_ragged_end, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_of_transfer_is_copy, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_starts_accumulators_once, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_of_gather_reads_index, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_of_gather_in_later_stage, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_of_padding_guards, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_of_scatter_updates_in_place, create, destroy),
      cmocka_unit_test_setup_teardown(tile_kernel_refuses_missing_operand, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
