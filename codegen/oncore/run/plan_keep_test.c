#include "codegen/oncore/run/plan_keep.h"

#include <string.h>

#include "base/checked_math.h"
#include "codegen/oncore/emit/oncore_testing.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/plan_split.h"
#include "codegen/oncore/tiling/tiling_memos.h"

enum { MOST_RESIDENTS = 8 };

/* All buffers of |plan| that may be resident, one after the other from the Buffer's beginning: operands are there. */
static PlanInterface all_resident(const Plan *plan, bool is_needed, PlanResident residents[MOST_RESIDENTS]) {
  PlanInterface interface = {.residents = residents};
  for (int32_t b = 0; b < plan->kernel->buffer_count && interface.count < MOST_RESIDENTS; b++) {
    const KernelBuffer *buffer = &plan->kernel->buffers[b];
    if (!plan_may_keep(plan, b, false)) continue;
    bool is_there = buffer->role != KERNEL_RESULT;
    residents[interface.count++] = (PlanResident){b, interface.base, is_there, !is_there && is_needed, 0};
    interface.base += align_up(buffer->element_count * type_storage_bytes(buffer->type), plan->alignment);
  }
  return interface;
}

static const Plan *keep(Fixture *fixture, const Plan *plan, const MachineDescription *machine,
                        const PlanInterface *interface) {
  const Plan *kept;
  assert_int_equal(plan_keep(fixture->arena, plan, machine, interface, &fixture->diag, &kept), STATUS_OK);
  return kept;
}

static PlanVerdict prove(Fixture *fixture, const Plan *plan, const MachineDescription *machine) {
  PlanVerdict verdict;
  assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
  return verdict;
}

static int32_t transfers_of(const Plan *plan, int32_t buffer) {
  int32_t count = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool loads = command->verb == PLAN_LOAD;
    if (!loads && command->verb != PLAN_STORE) continue;
    const PlanRef *side = loads ? &command->sources[0] : &command->targets[0];
    const PlanMemory *view = &plan->memories[side->number];
    count += view->kind != PLAN_TEMPORARY && view->number == buffer;
  }
  return count;
}

static MachineDescription *large_machine(Fixture *fixture) {
  MachineDescription *machine = make_machine(fixture, "vp-tiny");
  machine->buffer.size = 1 << 20;
  return machine;
}

/* Nothing of a resident crosses, nothing races, and no edge can be spared: what is made of plans for small tiles, with
 * loops, in a Buffer that has room for all arrays. */
static void plan_keep_moves_no_residents(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  int32_t kept_count = 0, removed = 0;
  tiny->buffer.size = 8192;
  for (int m = 0; m < TESTING_MODULES; m++) {
    PlanResident residents[MOST_RESIDENTS];
    Plan plan = *make_plan(fixture, testing_modules[m], tiny);
    plan.buffer_bytes = machine_buffer_usable(machine);
    PlanInterface interface = all_resident(&plan, false, residents);
    if (interface.count == 0) continue;
    const Plan *kept = keep(fixture, &plan, machine, &interface);
    assert_non_null(kept);
    PlanVerdict verdict = prove(fixture, kept, machine);
    assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
    for (int32_t r = 0; r < interface.count; r++) assert_int_equal(transfers_of(kept, residents[r].buffer), 0);
    int64_t begin, end;
    plan_own_bytes(kept, &begin, &end);
    assert_true(end == 0 || (begin >= interface.base && end <= plan.buffer_bytes));
    for (int32_t c = 0; c < kept->command_count; c++) {
      for (int32_t e = 0; e < kept->commands[c].edge_count; e++, removed++) {
        Plan broken = without_edge(fixture, kept, c, e);
        verdict = prove(fixture, &broken, machine);
        assert_true(hazard_report_faults(&verdict.hazards) > 0);
      }
    }
    kept_count++;
  }
  assert_true(kept_count > 5 && removed > 0);
}

/* What others read is stored as before. */
static void plan_keep_stores_what_is_needed(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  PlanResident residents[MOST_RESIDENTS];
  const Plan *plan = make_plan(fixture, EXP("1000"), machine);
  PlanInterface interface = all_resident(plan, true, residents);
  assert_int_equal(interface.count, 2);
  const Plan *kept = keep(fixture, plan, machine, &interface);
  assert_int_equal(transfers_of(kept, residents[0].buffer), 0);
  assert_int_equal(transfers_of(kept, residents[1].buffer), transfers_of(plan, residents[1].buffer));
  PlanVerdict before = prove(fixture, plan, machine), after = prove(fixture, kept, machine);
  assert_int_equal(hazard_report_faults(&after.hazards), 0);
  assert_int_equal(before.simulation.memory_bytes - after.simulation.memory_bytes, 4000);
  assert_true(after.simulation.cycles < before.simulation.cycles);
}

/* An argument that is not there yet is loaded once, all of it, and left. */
static void plan_keep_loads_what_stays(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  Plan plan = *make_plan(fixture, EXP("5000"), tiny);
  plan.buffer_bytes = machine_buffer_usable(machine);
  PlanResident resident = {.buffer = 0};
  PlanInterface interface = {.base = 20032, .count = 1, .residents = &resident};
  const Plan *kept = keep(fixture, &plan, machine, &interface);
  PlanVerdict verdict = prove(fixture, kept, machine);
  assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
  assert_int_equal(verdict.simulation.memory_bytes, 40000);
  assert_int_equal(kept->tensors[0].hold, PLAN_LEAVES);
}

#define UPDATE                                                                      \
  "HloModule m\nENTRY e { x = f32[20,50] parameter(0) u = f32[1,50] parameter(1)\n" \
  "  i = s32[] parameter(2) z = s32[] constant(0)\n"                                \
  "  ROOT r = f32[20,50] dynamic-update-slice(x, u, i, z) }\n"

#define SCATTERED_ROWS                                                                            \
  "HloModule m\nsum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n" \
  "ENTRY e { x = f32[20,50] parameter(0) i = s32[9] parameter(1) u = f32[9,50] parameter(2)\n"    \
  "  ROOT r = f32[20,50] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},\n"   \
  "    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum }\n"

#define PART                                                                                     \
  "HloModule m\nf { x = f32[20,50] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2)\n" \
  "  s = f32[3,8] dynamic-slice(x, i, j), dynamic_slice_sizes={3,8}\n"                           \
  "  ROOT r = f32[3,8] tanh(s) }\n"                                                              \
  "ENTRY e { p = f32[20,50] parameter(0) q = s32[] parameter(1) o = s32[] parameter(2)\n"        \
  "  ROOT r = f32[3,8] fusion(p, q, o), kind=kLoop, calls=f }\n"

/* The Tensor that commands of |kept| see |buffer| as. */
static const PlanTensor *view_of(const Plan *kept, int32_t buffer) {
  for (int32_t t = 0; t < kept->tensor_count; t++) {
    int32_t holder = plan_tensor_holder(kept, t);
    if (holder >= 0 && holder != t && kept->tensors[holder].held == buffer) return &kept->tensors[t];
  }
  fail();
  return NULL;
}

/* |plan| with its two arrays in the Buffer, proved: nothing crosses to or from memory. */
static const Plan *keep_both(Fixture *fixture, const Plan *plan, const MachineDescription *machine,
                             PlanResident residents[MOST_RESIDENTS]) {
  PlanInterface interface = all_resident(plan, false, residents);
  assert_int_equal(interface.count, 2);
  const Plan *kept = keep(fixture, plan, machine, &interface);
  PlanVerdict verdict = prove(fixture, kept, machine);
  assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
  assert_int_equal(verdict.simulation.memory_bytes, 0);
  return kept;
}

/* A part at a computed place is read where it is: rows by the first number, columns by the second. */
static void plan_keep_reads_at_computed_places(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  PlanResident residents[MOST_RESIDENTS];
  const Plan *plan = make_plan(fixture, PART, machine);
  const Plan *kept = keep_both(fixture, plan, machine, residents);
  const PlanTensor *view = view_of(kept, residents[0].buffer);
  assert_int_equal(view->rank, 2);
  assert_int_equal(view->extents[0], 20);
  assert_int_equal(view->extents[1], 50);
}

/* What |text| updates, of 4000 bytes, is found, or loaded as a whole before, and in neither case stored. */
static void expect_updates(Fixture *fixture, const char *text) {
  MachineDescription *machine = large_machine(fixture);
  PlanResident residents[MOST_RESIDENTS];
  const Plan *plan = make_plan(fixture, text, machine);
  PlanInterface interface = all_resident(plan, false, residents);
  int32_t updated = 0;
  while (updated < interface.count && plan->kernel->buffers[residents[updated].buffer].role != KERNEL_IN_PLACE)
    updated++;
  assert_true(updated < interface.count);
  for (int is_there = 0; is_there < 2; is_there++) {
    residents[updated].is_there = is_there != 0;
    const Plan *kept = keep(fixture, plan, machine, &interface);
    PlanVerdict verdict = prove(fixture, kept, machine);
    assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
    assert_int_equal(verdict.simulation.memory_bytes, is_there != 0 ? 0 : 4000);
    assert_int_equal(view_of(kept, residents[updated].buffer)->kind, PLAN_RESIDENT);
  }
}

static void plan_keep_updates_at_computed_places(void **state) {
  expect_updates(*state, UPDATE);
  expect_updates(*state, SCATTERED_ROWS);
}

/* A table that is scattered into slice by slice is in no tile as a whole. */
static void plan_keep_refuses_slices_of_a_scatter(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-tiny");
  const Plan *plan = make_plan(fixture, SCATTERED_ROWS, machine);
  for (int32_t b = 0; b < plan->kernel->buffer_count; b++)
    assert_true(plan_may_keep(plan, b, false) == (plan->kernel->buffers[b].role != KERNEL_IN_PLACE));
}

#define COLUMNS                                                             \
  "HloModule m\nf { x = f32[24,40] parameter(0) zero = f32[] constant(0)\n" \
  "  c = f32[24,1] slice(x), slice={[0:24], [39:40]}\n"                     \
  "  w = f32[24] reshape(c) v = f32[24,40] broadcast(w), dimensions={0}\n"  \
  "  p = f32[24,42] pad(x, zero), padding=0_0x1_1\n"                        \
  "  s = f32[24,40] slice(p), slice={[0:24], [0:40]}\n"                     \
  "  ROOT r = f32[24,40] add(s, v) }\n"                                     \
  "ENTRY e { p = f32[24,40] parameter(0)\n"                                 \
  "  ROOT r = f32[24,40] fusion(p), kind=kLoop, calls=f }\n"

/* What is padded, and a column, are no boxes of the array's rows: operations bring them from where it is. */
static void plan_keep_brings_what_is_no_box(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  PlanResident residents[MOST_RESIDENTS];
  const Plan *plan = make_plan(fixture, COLUMNS, machine);
  const Plan *kept = keep_both(fixture, plan, machine, residents);
  int32_t brought = 0;
  for (int32_t c = 0; c < kept->command_count; c++) brought += plan_brings_held(&kept->commands[c]);
  assert_int_equal(brought, 2);
  /* 960 elements that lie side by side are 60 vectors, the column 2 vectors of a gather, and both start */
  bool is_at_run_time = true;
  assert_true(plan_brought_cycles(plan, machine, residents[0].buffer, false, &is_at_run_time) == 60 + 2 * 8 + 2 * 16);
  assert_false(is_at_run_time);
}

#define CONVOLUTION                                                                        \
  "HloModule m\nENTRY e { x = f32[2,24,24,4] parameter(0) w = f32[3,3,4,8] parameter(1)\n" \
  "  ROOT y = f32[2,24,24,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }\n"

/* The image of a convolution is padded, and its windows overlap.  Where it is in the Buffer the products see it as it
 * is: nothing brings tiles of it, which take no room, and nothing else takes more time. */
static void plan_keep_lets_products_see_windows(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  tiny->buffer.size = 8192;
  Plan plan = *make_plan(fixture, CONVOLUTION, tiny);
  plan.buffer_bytes = machine_buffer_usable(machine);
  PlanResident image = {.buffer = 0, .is_there = true};
  PlanInterface interface = {.base = align_up(2 * 24 * 24 * 4 * 4, plan.alignment), .count = 1, .residents = &image};
  interface.sees = true;
  assert_true(plan_may_keep(&plan, 0, true) && plan_sees(&plan, 0) && plan_copied_bytes(&plan, 0, true) > 0);
  assert_false(plan_brings_stream(&plan, 0, true));
  bool is_at_run_time;
  assert_true(plan_brought_cycles(&plan, machine, 0, true, &is_at_run_time) == 0);
  const Plan *kept = keep(fixture, &plan, machine, &interface);
  assert_non_null(kept);
  PlanVerdict before = prove(fixture, &plan, machine), after = prove(fixture, kept, machine);
  assert_int_equal(hazard_report_faults(&after.hazards), 0);
  assert_int_equal(transfers_of(kept, 0), 0);
  int32_t seen = 0;
  for (int32_t c = 0; c < kept->command_count; c++) {
    assert_false(plan_brings_held(&kept->commands[c]));
    for (int32_t i = 0; kept->commands[c].verb == PLAN_DOT && i < kept->commands[c].source_count; i++)
      seen += kept->tensors[kept->commands[c].sources[i].number].hold == PLAN_FINDS;
  }
  assert_true(seen > 0);
  assert_true(after.simulation.cycles < before.simulation.cycles);
  assert_true(before.simulation.memory_bytes - after.simulation.memory_bytes >= 2 * 24 * 24 * 4 * 4);
}

static void plan_keep_refuses_residents_beyond_the_end(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = large_machine(fixture);
  PlanResident residents[MOST_RESIDENTS];
  const Plan *plan = make_plan(fixture, testing_modules[0], machine);
  PlanInterface interface = all_resident(plan, false, residents);
  assert_true(interface.count > 0);
  assert_non_null(keep(fixture, plan, machine, &interface));
  residents[0].begin = machine_buffer_usable(machine) - 64;
  assert_null(keep(fixture, plan, machine, &interface));
}

static void plan_keep_says_when_tiles_do_not_fit(void **state) {
  Fixture *fixture = *state;
  MachineDescription *machine = make_machine(fixture, "vp-tiny");
  const Plan *plan = make_plan(fixture, EXP("5000"), machine);
  PlanInterface interface = {.base = machine_buffer_usable(machine) - 64};
  assert_null(keep(fixture, plan, machine, &interface));
}

/* Of an argument of which the first elements are there the others are loaded, each once; a part that is not there yet
 * is loaded as well, tile by tile. */
static void plan_keep_loads_the_rest_of_a_part(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  for (int is_there = 0; is_there < 2; is_there++) {
    Plan plan = *make_plan(fixture, EXP("5000"), tiny);
    plan.buffer_bytes = machine_buffer_usable(machine);
    int64_t step = plan_split_step(&plan, 0);
    assert_true(step > 0 && 2 * step < 5000);
    PlanResident resident = {.buffer = 0, .is_there = is_there, .elements = 2 * step};
    PlanInterface interface = {.base = 20032, .count = 1, .residents = &resident};
    const Plan *kept = keep(fixture, &plan, machine, &interface);
    assert_non_null(kept);
    PlanVerdict verdict = prove(fixture, kept, machine);
    assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
    assert_int_equal(verdict.simulation.memory_bytes, 40000 - (is_there ? 4 * resident.elements : 0));
    assert_int_equal(kept->tensors[0].end - kept->tensors[0].begin, 4 * resident.elements);
    assert_int_equal(kept->tensors[0].hold, is_there ? PLAN_FINDS : PLAN_LEAVES);
  }
}

/* Folds go on from the part to the rest, and the result stays where they are summed up. */
static void plan_keep_sums_up_a_part_and_the_rest(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  tiny->buffer.size = 8192;
  Plan plan = *make_plan(fixture, MATMUL("4", "256", "32"), tiny);
  plan.buffer_bytes = machine_buffer_usable(machine);
  int64_t step = plan_split_step(&plan, 1);
  assert_true(step > 0 && step < 256 * 32);
  PlanResident resident = {.buffer = 1, .is_there = true, .elements = step};
  PlanInterface interface = {.base = 65536, .count = 1, .residents = &resident};
  const Plan *kept = keep(fixture, &plan, machine, &interface);
  assert_non_null(kept);
  PlanVerdict before = prove(fixture, &plan, machine), after = prove(fixture, kept, machine);
  assert_int_equal(hazard_report_faults(&after.hazards), 0);
  assert_int_equal(before.simulation.memory_bytes - after.simulation.memory_bytes, 4 * step);
}

/* A part ends where a tile does. */
static void plan_keep_refuses_a_part_that_ends_in_a_tile(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  Plan plan = *make_plan(fixture, EXP("5000"), tiny);
  plan.buffer_bytes = machine_buffer_usable(machine);
  PlanResident resident = {.buffer = 0, .is_there = true, .elements = plan_split_step(&plan, 0) + 1};
  PlanInterface interface = {.base = 20032, .count = 1, .residents = &resident};
  assert_null(keep(fixture, &plan, machine, &interface));
}

/* The product [M,K] x [K,N] where all of the first factor is in the Buffer: plans that know that load each element of
 * the other one once, in tiles that have 8 KiB for themselves, though the first one alone has 32 KiB. */
static void plan_keep_moves_least_where_the_tiler_knows_what_is_held(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  const Kernel *kernel = make_kernel(fixture, MATMUL("64", "128", "784"));
  PlanResident resident = {.buffer = 0, .is_there = true};
  PlanInterface interface = {.base = 32768, .limit = 32768 + 8192, .count = 1, .residents = &resident};
  int64_t least[2] = {INT64_MAX, INT64_MAX}, once = 4 * (128 * 784 + 64 * 784);
  tiny->buffer.size = 8192;
  for (int knows = 0; knows < 2; knows++) {
    const bool held[] = {knows, false, false};
    const Plan *plans[2];
    const TilerRequest request = {kernel, SV("k"), tiny, &(TilerOptions){0}, NULL};
    int32_t count = tiler_plans_saving(fixture->arena, &request, held, TILER_FORMS_ALL, 2, plans);
    assert_true(count > 0);
    for (int32_t p = 0; p < count; p++) {
      Plan plan = *plans[p];
      plan.buffer_bytes = machine_buffer_usable(machine);
      const Plan *kept = keep(fixture, &plan, machine, &interface);
      assert_non_null(kept);
      PlanVerdict verdict = prove(fixture, kept, machine);
      assert_int_equal(hazard_report_faults(&verdict.hazards), 0);
      least[knows] = min_i64(least[knows], verdict.simulation.memory_bytes);
    }
  }
  assert_int_equal(least[1], once);
  assert_true(least[0] > once);
}

/* w - a·b: what a training step does to weights. */
#define WEIGHT_UPDATE                                                                                   \
  "HloModule m\n"                                                                                       \
  "f { a = f32[96,400] parameter(0) b = f32[400,112] parameter(1) w = f32[96,112] parameter(2)\n"       \
  "  d = f32[96,112] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                   \
  "  ROOT r = f32[96,112] subtract(w, d) }\n"                                                           \
  "ENTRY e { x = f32[96,400] parameter(0) y = f32[400,112] parameter(1) z = f32[96,112] parameter(2)\n" \
  "  ROOT o = f32[96,112] fusion(x, y, z), kind=kOutput, calls=f }\n"

/* A result in the place of its sums is summed up where it stays, but not where the weights are in the same bytes: sums
 * would overwrite them. */
static void plan_keep_sums_up_where_the_result_stays(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny"), *machine = large_machine(fixture);
  const Kernel *kernel = make_kernel(fixture, WEIGHT_UPDATE);
  const int64_t bytes = 4 * 96 * 112;
  const Plan *tiled, *none;
  tiny->buffer.size = 16384;
  TilerRequest request = {kernel, SV("k"), tiny, &(TilerOptions){0}, NULL};
  assert_int_equal(tiler_plans_saving(fixture->arena, &request, NULL, TILER_FORMS_OVER_FOLDS, 1, &tiled), 1);
  Plan plan = *tiled;
  plan.buffer_bytes = machine_buffer_usable(machine);
  PlanResident residents[] = {{.buffer = 3, .begin = 16384},
                              {.buffer = 0, .begin = 16384, .is_there = true}}; /* 0: the weights */
  PlanVerdict before = prove(fixture, &plan, machine);
  for (int count = 1; count <= 2; count++) {
    PlanInterface interface = {.base = 16384 + bytes, .count = count, .residents = residents};
    const Plan *kept = keep(fixture, &plan, machine, &interface);
    assert_non_null(kept);
    PlanVerdict after = prove(fixture, kept, machine);
    assert_int_equal(hazard_report_faults(&after.hazards), 0);
    assert_int_equal(before.simulation.memory_bytes - after.simulation.memory_bytes, count * bytes);
    bool sums_there = false;
    for (int32_t t = 0; t < kept->tensor_count; t++) sums_there = sums_there || plan_sums_held(kept, t);
    assert_int_equal(sums_there, count == 1);
    assert_int_equal(plan_copied_bytes(&plan, 3, false), plan_summed_bytes(&plan, 3));
  }
  request.kernel = make_kernel(fixture, MATMUL("96", "400", "112"));
  assert_int_equal(tiler_plans_saving(fixture->arena, &request, NULL, TILER_FORMS_OVER_FOLDS, 1, &none), 0);
}

/* The product [16,128] x [128,512] in 32 KiB: the fastest tiles of the second factor are columns, after which nothing
 * can be split; where it is to be walked they are rows. */
static void plan_keep_splits_what_the_tiler_walks(void **state) {
  Fixture *fixture = *state;
  MachineDescription *tiny = make_machine(fixture, "vp-tiny");
  tiny->buffer.size = 32768;
  const Kernel *kernel = make_kernel(fixture, MATMUL("16", "128", "512"));
  TilingMemos *memos = tiling_memos_create(tiny, SIZE_MAX);
  for (uint64_t walked = 0; walked <= 2; walked += 2) {
    const Plan *plan;
    const TilerRequest request = {kernel, SV("k"), tiny, &(TilerOptions){0},
                                  tiling_memos_find(memos, kernel, 0, walked)};
    assert_int_equal(tiler_plan(fixture->arena, &request, &fixture->diag, &plan), STATUS_OK);
    int64_t step = plan_split_step(plan, 1);
    assert_true(walked == 0 ? step == 0 : step > 0 && step % 512 == 0);
  }
  tiling_memos_destroy(memos);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plan_keep_moves_no_residents, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_stores_what_is_needed, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_loads_what_stays, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_reads_at_computed_places, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_updates_at_computed_places, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_refuses_slices_of_a_scatter, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_brings_what_is_no_box, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_lets_products_see_windows, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_refuses_residents_beyond_the_end, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_says_when_tiles_do_not_fit, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_loads_the_rest_of_a_part, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_sums_up_a_part_and_the_rest, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_refuses_a_part_that_ends_in_a_tile, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_splits_what_the_tiler_walks, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_sums_up_where_the_result_stays, create, destroy),
      cmocka_unit_test_setup_teardown(plan_keep_moves_least_where_the_tiler_knows_what_is_held, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
