#include "codegen/oncore/emit/tile_table.h"

#include "codegen/oncore/emit/oncore_testing.h"

/* Both Kernels load tiles of 5000 elements, whole and the last one, and store them; each computes something else. */
#define TWO_KERNELS                                                                  \
  "HloModule m\nENTRY e { x = f32[5000] parameter(0) y = f32[5000] exponential(x)\n" \
  "  z = f32[5000] negate(x) ROOT r = (f32[5000], f32[5000]) tuple(y, z) }\n"

typedef struct Made {
  const KernelTable *kernels;
  ModulePlans plans;
  TileTable table;
} Made;

static void make(Fixture *fixture, const char *text, Made *made) {
  const MachineDescription *machine = make_machine(fixture, "vp-tiny");
  const HloModule *module = make_module(fixture, text);
  const VecTarget target = {.vector_bits = 256};
  TilerOptions options = {0};
  made->kernels = make_kernels(fixture, module);
  const PlannedModule planned = {module, made->kernels, machine, &options};
  Status status = module_plans_make(fixture->arena, &planned, NULL, PLANS_ALONE, &fixture->diag, &made->plans);
  assert_int_equal(status, STATUS_OK);
  assert_int_equal(module_plans_lay_out(fixture->arena, &made->plans, &target, 1, &fixture->diag), STATUS_OK);
  made->table = tile_table_make(fixture->arena, &made->plans, made->kernels);
}

static bool is_transfer(const Made *made, int32_t plan, int32_t command) {
  return command_is_transfer(&made->plans.plans[plan].plan->commands[command]);
}

static void tile_table_has_tiles_that_do_the_same_once(void **state) {
  Made made;
  make(*state, TWO_KERNELS, &made);
  const TileTable *table = &made.table;
  assert_int_equal(made.plans.count, 2);
  const Plan *plan = made.plans.plans[0].plan;
  assert_int_equal(plan->command_count, made.plans.plans[1].plan->command_count);
  int32_t transfers = 0, others = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    int32_t variants = made.plans.spaces[0].variants[c].count;
    for (int32_t v = 0; v < variants; v++) {
      int32_t first = table->numbers[0][c][v], second = table->numbers[1][c][v];
      assert_true(table->tiles[first].is_transfer == is_transfer(&made, 0, c));
      assert_true((first == second) == is_transfer(&made, 0, c));
      if (!is_transfer(&made, 0, c))
        assert_ptr_equal(table->tiles[first].kernel, made.plans.spaces[0].variants[c].variants[v].tile.kernel);
    }
    *(is_transfer(&made, 0, c) ? &transfers : &others) += variants;
  }
  /* a load and a store of as many elements are the same copy */
  assert_true(transfers > 0 && others > 0);
  assert_int_equal(table->count, transfers / 2 + 2 * others);
}

/* A plan that no Kernel asks for has no code. */
static void tile_table_has_what_code_is_asked_for(void **state) {
  Fixture *fixture = *state;
  Made made;
  make(fixture, TWO_KERNELS, &made);
  KernelTable *kernels = kernel_table_create(fixture->arena);
  array_push(&kernels->rows, fixture->arena, made.kernels->rows.data[1]);
  TileTable table = tile_table_make(fixture->arena, &made.plans, kernels);
  assert_null(table.numbers[0]);
  assert_non_null(table.numbers[1]);
  assert_true(table.count < made.table.count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tile_table_has_tiles_that_do_the_same_once, create, destroy),
      cmocka_unit_test_setup_teardown(tile_table_has_what_code_is_asked_for, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
