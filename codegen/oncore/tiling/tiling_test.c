#include "codegen/oncore/tiling/tiling.h"

#include <stdio.h>
#include <string.h>

#include "codegen/oncore/emit/oncore_testing.h"
#include "codegen/oncore/tiling/tiling_memo.h"

/* The footprint that the search believes in, and the one of its outline. */
static TilingCost cost_of(Fixture *fixture, const Kernel *kernel, const MachineDescription *machine,
                          const Tiling *tiling) {
  TileOutline outline;
  TilingCost cost;
  tile_outline_make(fixture->arena, kernel, machine, tiling, &outline);
  assert_int_equal(tile_outline_cost(&outline, &fixture->diag, &cost), STATUS_OK);
  return cost;
}

static void tiling_fits_whatever_the_buffer(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  for (int m = 0; m < TESTING_MODULES; m++) {
    const Kernel *kernel = make_kernel(fixture, testing_modules[m]);
    for (int64_t bytes = 2500; bytes < 300000; bytes = bytes * 7 / 3) {
      for (int32_t depth = 1; depth <= 3; depth++) {
        TilingScope scope = {.kernel = kernel, .machine = machine, .buffer_bytes = bytes, .depth = depth, .effort = 5};
        Tiling tiling;
        if (tiling_search(fixture->arena, &scope, &fixture->diag, &tiling) != STATUS_OK) continue;
        TilingCost cost = cost_of(fixture, kernel, machine, &tiling);
        assert_true(cost.footprint <= bytes);
        assert_true(cost.cycles == tiling.cycles);
      }
    }
  }
}

/* Searches that know what others have found, in other Buffers and with other slots, find what they would by themselves.
 */
static void tiling_memo_changes_nothing(void **state) {
  Fixture *fixture = *state;
  enum { MOST = 1 << 18 };
  static const int32_t depths[] = {1, 3, TILING_KNOWN_DEPTHS, TILING_KNOWN_DEPTHS + 1, TILING_KNOWN_DEPTHS + 257};
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  for (int m = 0; m < TESTING_MODULES; m++) {
    const Kernel *kernel = make_kernel(fixture, testing_modules[m]);
    TilingMemo *memo = tiling_memo_create(kernel, machine, MOST);
    for (int64_t bytes = 4096; bytes <= MOST; bytes *= 8) {
      for (int d = 0; d < 5; d++) {
        TilingScope scope = {
            .kernel = kernel, .machine = machine, .buffer_bytes = bytes, .depth = depths[d], .effort = 5};
        TilingScope knowing = scope;
        knowing.memo = memo;
        TilingChoices alone, with;
        Status status = tiling_search_forms(fixture->arena, &scope, &fixture->diag, &alone);
        assert_int_equal(tiling_search_forms(fixture->arena, &knowing, &fixture->diag, &with), status);
        assert_int_equal(with.count, alone.count);
        for (int32_t c = 0; c < alone.count; c++) {
          const Tiling *a = &alone.tilings[c], *b = &with.tilings[c];
          assert_true(a->cycles == b->cycles && a->outer_count == b->outer_count);
          assert_memory_equal(a->extents, b->extents, sizeof a->extents);
          assert_memory_equal(a->outer, b->outer, sizeof *a->outer * (size_t)a->outer_count);
        }
      }
    }
    tiling_memo_destroy(memo);
  }
}

/* Twice the Buffer, memory twice as fast, free setups: never a longer estimate, but for descents among all extents,
 * which may end half a percent apart. */
static void tiling_estimate_falls_with_better_machines(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  TilerOptions options = {0};
  for (int m = 0; m < TESTING_MODULES; m++) {
    TilerRequest request = {make_kernel(fixture, testing_modules[m]), SV("k"), machine, &options, NULL};
    double before = 1e300;
    for (machine->buffer.size = 4096; machine->buffer.size <= 1 << 20; machine->buffer.size *= 2) {
      double cycles = tiler_estimate(&request);
      assert_true(cycles <= before * 1.005);
      before = cycles;
    }
    machine->buffer.size = 1 << 16;
    double plain = tiler_estimate(&request);
    MachineDescription faster = *machine;
    MachineQueue queues[3];
    assert_int_equal(machine->queue_count, 3);
    memcpy(queues, machine->queues, sizeof queues);
    for (int q = 0; q < 3; q++) queues[q].bytes_per_cycle *= 2;
    faster.memory_bytes_per_cycle *= 2;
    faster.queues = queues;
    request.machine = &faster;
    assert_true(tiler_estimate(&request) <= plain * (1 + 1e-9));
  }
}

/* Where the Buffer is small, one slot of larger tiles may be faster than two; where there is room, three. */
static void tiler_takes_the_faster_depth(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  int fastest[4] = {0};
  for (int m = 0; m < TESTING_MODULES; m++) {
    TilerOptions options = {0};
    const TilerRequest request = {make_kernel(fixture, testing_modules[m]), SV("k"), machine, &options, NULL};
    for (machine->buffer.size = 4096; machine->buffer.size <= 1 << 18; machine->buffer.size *= 8) {
      options.pipeline_depth = 0;
      double chosen = tiler_estimate(&request);
      for (int depth = 1; depth <= 3; depth++) {
        options.pipeline_depth = depth;
        double cycles = tiler_estimate(&request);
        assert_true(chosen <= cycles * 1.05);
        fastest[depth] += chosen == cycles;
      }
    }
  }
  assert_true(fastest[1] > 0 && fastest[2] > 0 && fastest[3] > 0);
}

/* The same tiles with more slots. */
static void tiling_estimate_falls_with_depth(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  for (int m = 0; m < TESTING_MODULES; m++) {
    const Kernel *kernel = make_kernel(fixture, testing_modules[m]);
    TilingScope scope = {.kernel = kernel, .machine = machine, .buffer_bytes = 16384, .depth = 1, .effort = 5};
    Tiling tiling;
    assert_int_equal(tiling_search(fixture->arena, &scope, &fixture->diag, &tiling), STATUS_OK);
    double before = 1e300;
    for (tiling.depth = 1; tiling.depth < 5; tiling.depth++) {
      double cycles = cost_of(fixture, kernel, machine, &tiling).cycles;
      assert_true(cycles <= before);
      before = cycles;
    }
  }
}

/* The number after "a Buffer of" in the last note. */
static int64_t buffer_that_would_do(const DiagSink *diag) {
  const Diagnostic *note = diag->last->notes;
  while (note->next != NULL) note = note->next;
  long long bytes = -1;
  char text[200] = {0};
  assert_true(note->message.size < sizeof text);
  memcpy(text, note->message.data, note->message.size);
  assert_int_equal(sscanf(text, "a Buffer of %lld bytes would do", &bytes), 1);
  return bytes;
}

/* Down to where nothing fits: then the error names the Buffer that does, one alignment less does not. */
static void tiling_shortage_names_least_buffer(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-ref");
  TilerOptions options = {0};
  for (int m = 0; m < TESTING_MODULES; m++) {
    const TilerRequest request = {make_kernel(fixture, testing_modules[m]), SV("k"), machine, &options, NULL};
    const Plan *plan;
    Status status = STATUS_OK;
    for (int64_t size = 8192; size > 0 && status == STATUS_OK; size -= size > 1024 ? 1024 : 64) {
      machine->buffer.size = size;
      status = tiler_plan(fixture->arena, &request, &fixture->diag, &plan);
      for (int32_t t = 0; status == STATUS_OK && t < plan->tensor_count; t++) assert_true(plan->tensors[t].end <= size);
    }
    if (m == 0 && status == STATUS_OK) continue; /* in place an element at a time fits any Buffer */
    assert_int_equal(status, STATUS_EXHAUSTED);
    int64_t least = buffer_that_would_do(&fixture->diag);
    assert_true(least > machine->buffer.size);
    machine->buffer.size = least;
    assert_int_equal(tiler_plan(fixture->arena, &request, &fixture->diag, &plan), STATUS_OK);
    machine->buffer.size = least - machine->buffer.align;
    assert_int_equal(tiler_plan(fixture->arena, &request, &fixture->diag, &plan), STATUS_EXHAUSTED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tiling_fits_whatever_the_buffer, create, destroy),
      cmocka_unit_test_setup_teardown(tiling_memo_changes_nothing, create, destroy),
      cmocka_unit_test_setup_teardown(tiling_estimate_falls_with_better_machines, create, destroy),
      cmocka_unit_test_setup_teardown(tiler_takes_the_faster_depth, create, destroy),
      cmocka_unit_test_setup_teardown(tiling_estimate_falls_with_depth, create, destroy),
      cmocka_unit_test_setup_teardown(tiling_shortage_names_least_buffer, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
