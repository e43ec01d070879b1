#include "codegen/oncore/tiling/tiling_memos.h"

#include "codegen/oncore/emit/oncore_testing.h"
#include "codegen/oncore/plan/plan_printer.h"
#include "codegen/oncore/tiling/tiler.h"

static StringView text_of(Fixture *fixture, const Plan *plan, const MachineDescription *machine) {
  StringBuilder text;
  sb_init(&text, fixture->arena);
  plan_print(&text, plan, machine);
  return sb_view(&text);
}

/* In one room after another, also where they have been dropped meanwhile. */
static void tiling_memos_change_no_plan(void **state) {
  Fixture *fixture = *state;
  const size_t sizes[] = {0, (size_t)64 << 20};
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  for (int s = 0; s < 2; s++) {
    TilingMemos *memos = tiling_memos_create(machine, sizes[s]);
    for (int64_t bytes = machine->buffer.size; bytes > 16384; bytes /= 3) {
      MachineDescription *less = ARENA_NEW(fixture->arena, MachineDescription);
      *less = *machine;
      less->buffer.size = bytes;
      for (int m = 0; m < TESTING_MODULES; m++) {
        const Kernel *kernel = make_kernel(fixture, testing_modules[m]);
        TilerOptions options = {.effort = 2};
        const Plan *alone, *knowing;
        TilerRequest request = {kernel, SV("k"), less, &options, NULL}, with = request;
        with.memo = tiling_memos_find(memos, kernel, 0, 0);
        assert_int_equal(tiler_plan(fixture->arena, &request, &fixture->diag, &alone), STATUS_OK);
        assert_int_equal(tiler_plan(fixture->arena, &with, &fixture->diag, &knowing), STATUS_OK);
        assert_true(sv_equal(text_of(fixture, alone, machine), text_of(fixture, knowing, machine)));
        bool held[KERNEL_MAX_DIMS] = {true};
        int32_t count = tiler_plans_saving(fixture->arena, &request, held, TILER_FORMS_ALL, 1, &alone);
        with.memo = tiling_memos_find(memos, kernel, 1, 0);
        assert_int_equal(tiler_plans_saving(fixture->arena, &with, NULL, TILER_FORMS_ALL, 1, &knowing), count);
        if (count > 0) assert_true(sv_equal(text_of(fixture, alone, machine), text_of(fixture, knowing, machine)));
      }
    }
    tiling_memos_destroy(memos);
  }
}

/* The same search again finds nothing that is not known; what is held makes another memo. */
static void tiling_memos_know_what_was_found(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  const Kernel *kernel = make_kernel(fixture, testing_modules[3]), *other = make_kernel(fixture, testing_modules[4]);
  TilingMemos *memos = tiling_memos_create(machine, (size_t)64 << 20);
  TilerOptions options = {0};
  TilingMemo *memo = tiling_memos_find(memos, kernel, 0, 0);
  const TilerRequest request = {kernel, SV("k"), machine, &options, memo};
  double cycles = tiler_estimate(&request);
  size_t used = tiling_memo_used(memo);
  assert_ptr_not_equal(tiling_memos_find(memos, other, 0, 0), memo);
  assert_ptr_not_equal(tiling_memos_find(memos, kernel, 2, 0), memo);
  assert_ptr_equal(tiling_memos_find(memos, kernel, 0, 0), memo);
  assert_true(tiler_estimate(&request) == cycles);
  assert_int_equal(tiling_memo_used(memo), used);
  assert_true(tiling_memos_used(memos) > used);
  tiling_memos_destroy(memos);
}

/* Those that nobody has asked for longest go first. */
static void tiling_memos_have_a_limit(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  TilerOptions options = {0};
  const Kernel *kernels[TESTING_MODULES];
  size_t most = 0;
  for (int m = 0; m < TESTING_MODULES; m++) {
    kernels[m] = make_kernel(fixture, testing_modules[m]);
    TilingMemo *memo = tiling_memo_create(kernels[m], machine, machine_buffer_usable(machine));
    tiler_estimate(&(TilerRequest){kernels[m], SV("k"), machine, &options, memo});
    if (tiling_memo_used(memo) > most) most = tiling_memo_used(memo);
    tiling_memo_destroy(memo);
  }
  TilingMemos *memos = tiling_memos_create(machine, 2 * most);
  for (int m = 0; m < TESTING_MODULES; m++) {
    TilingMemo *memo = tiling_memos_find(memos, kernels[m], 0, 0);
    tiler_estimate(&(TilerRequest){kernels[m], SV("k"), machine, &options, memo});
    assert_true(tiling_memos_used(memos) <= 3 * most);
    if (m == 0) continue;
    size_t used = tiling_memo_used(tiling_memos_find(memos, kernels[m - 1], 0, 0));
    assert_true(used > tiling_memo_used(tiling_memos_find(memos, kernels[m], 8, 0)));
  }
  tiling_memos_destroy(memos);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tiling_memos_change_no_plan, create, destroy),
      cmocka_unit_test_setup_teardown(tiling_memos_know_what_was_found, create, destroy),
      cmocka_unit_test_setup_teardown(tiling_memos_have_a_limit, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
