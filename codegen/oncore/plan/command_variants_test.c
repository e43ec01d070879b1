#include "codegen/oncore/plan/command_variants.h"

#include "codegen/oncore/emit/oncore_testing.h"

/* Whether the one variant of the command |label| reads (writes) a stretch of |bytes| of the Buffer. */
static bool has_access(Fixture *fixture, const Plan *plan, const MachineDescription *machine, const char *label,
                       bool writes, int64_t bytes) {
  bool found = false;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    CommandVariants variants;
    if (!sv_equal_cstring(command->label, label)) continue;
    assert_int_equal(command_variants_build(fixture->arena, plan, command, machine, &fixture->diag, &variants),
                     STATUS_OK);
    for (int32_t a = 0; a < variants.variants[0].access_count; a++) {
      const CommandAccess *access = &variants.variants[0].accesses[a];
      bool is_buffer = command_pointer_object(plan, &variants.variants[0].tile, access->pointer) == COMMAND_BUFFER;
      if (!is_buffer || access->is_write != writes) continue;
      assert_false(access->is_anywhere);
      found = found || access->bytes == bytes;
    }
  }
  return found;
}

/* Where its updates go only the values tell: to any element of the table that is in the Buffer. */
static void variants_of_scatters_touch_the_whole_table(void **state) {
  Fixture *fixture = *state;
  const MachineDescription *machine = make_machine(fixture, "vp-tiny");
  const Plan *plan = make_plan(fixture, SCATTER, machine);
  int64_t table = 19 * 23 * (int64_t)sizeof(float);
  assert_true(has_access(fixture, plan, machine, "ex0", true, table));
  assert_true(has_access(fixture, plan, machine, "ex0", false, table));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(variants_of_scatters_touch_the_whole_table, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
