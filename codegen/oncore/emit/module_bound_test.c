#include "codegen/oncore/emit/module_bound.h"

#include <math.h>

#include "codegen/oncore/emit/oncore_testing.h"

static ModuleBound bound_of(Fixture *fixture, const char *text, const char *machine) {
  return module_bound_find(make_module(fixture, text), make_machine(fixture, machine));
}

static double work_of(Fixture *fixture, const char *text) {
  return bound_of(fixture, text, "vp-ref").work_cycles;
}

/* 2^22 elements: 16 MiB each way, 2^18 vectors of six cycles. */
static void module_bound_counts_elementwise_once(void **state) {
  ModuleBound bound = bound_of(*state, EXP("4194304"), "vp-ref");
  assert_int_equal(bound.argument_bytes, 16777216);
  assert_int_equal(bound.result_bytes, 16777216);
  assert_true(bound.work_cycles == 6 * 262144.0);
  assert_true(bound.launch_cycles == 16);
  assert_true(bound.limit.cycles == bound.work_cycles + 16);
  assert_true(bound.limit.kind == LIMIT_QUEUE);
}

/* Nothing to compute: 32 MiB at 48 bytes a cycle, more than 16 MiB at 32.  Rows, of which a store's have 256 elements
 * if a load's have (a Buffer of 2^16 of them, each there for half of the time that a tile is), leave a third of
 * memory's time for two cycles each, less what full rows save; so do 62 cycles for each 256 KiB. */
static void module_bound_of_transpose_is_memory(void **state) {
  ModuleBound bound = bound_of(*state, TRANSPOSE("2048", "2048"), "vp-ref");
  assert_true(bound.work_cycles == 0);
  assert_int_equal(bound.limit.kind, LIMIT_MEMORY);
  double bytes = 33554432.0 / 48, rows = 4194304 * sqrt(2) / 256 * 2 / 3, setups = 128 * 62 / 3.0;
  assert_true(bound.limit.cycles <= bytes + rows + setups);
  assert_true(bound.limit.cycles >= bytes + 0.93 * rows + setups);
}

static double cycles_of(Fixture *fixture, const char *text, const char *machine) {
  return bound_of(fixture, text, machine).limit.cycles;
}

/* Only what turns rows into columns: of 3 x 2048 x 2048 both, not three rows that change places; and none of what stays
 * in the Buffer whole.  One queue for both directions takes all of a row's two cycles. */
static void module_bound_of_turned_arrays_counts_rows(void **state) {
#define TURN(from, to, dims)                                                                                        \
  "HloModule m\nENTRY e { a = bf16[" from "] parameter(0)\n  ROOT y = bf16[" to "] transpose(a), dimensions={" dims \
  "} }\n"
  double bytes = 3 * 16777216.0 / 48, setups = 3 * 64 * 62 / 3.0, rows = 3 * 4194304 * sqrt(2.0 / 131072) * 2 / 3;
  double both = cycles_of(*state, TURN("3,2048,2048", "3,2048,2048", "0,2,1"), "vp-ref");
  assert_true(both <= bytes + setups + rows && both >= bytes + setups + 0.9 * rows);
  double halves = cycles_of(*state, TURN("3,2048,32,64", "3,32,64,2048", "0,2,3,1"), "vp-ref");
  assert_true(halves == both);
  double blocks = cycles_of(*state, TURN("3,2048,2048", "2048,3,2048", "1,0,2"), "vp-ref");
  assert_true(blocks < bytes + setups + 3 * 64);
  double small = cycles_of(*state, TURN("64,64", "64,64", "1,0"), "vp-ref");
  assert_true(small < 16384.0 / 48 + 3 * 64);
  const MachineDescription *one = make_machine(*state, "vtcm4m");
  double moved = 3 * 16777216.0 / one->queues[0].bytes_per_cycle;
  assert_true(cycles_of(*state, TURN("3,2048,2048", "3,2048,2048", "0,2,1"), "vtcm4m") > moved);
#undef TURN
}

/* 32 MiB in and 16 MiB out: both at half of 48 bytes a cycle for 2^24 / 24 cycles, then 16 MiB at the queue's 32. */
static void module_bound_of_unequal_streams_shares_memory(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[4194304] parameter(0) y = f32[4194304] parameter(1)\n"
                               "  ROOT s = f32[4194304] add(x, y) }\n",
                               "vp-ref");
  assert_int_equal(bound.limit.kind, LIMIT_MEMORY);
  assert_true(bound.limit.cycles == 16777216.0 / 24 + 16777216.0 / 32);
}

/* 2^30 products at 256 a cycle; 2 * 2^30 / 256 values less what the Buffer of 2^16 values holds twice. */
static void module_bound_of_dot_is_products(void **state) {
  ModuleBound bound = bound_of(*state, MATMUL("1024", "1024", "1024"), "vp-ref");
  assert_true(bound.work_cycles == 4194304.0);
  assert_true(bound.dot_bytes == (8388608.0 - 131072.0) * 4);
  assert_true(bound.limit.cycles == bound.work_cycles + 16);
  /* where everything fits no operand has to come twice */
  assert_true(bound_of(*state, MATMUL("16", "16", "16"), "vp-ref").dot_bytes == 0);
}

static void module_bound_computes_broadcasts_once(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[16] parameter(0)\n"
                               "  wide = f32[1000,16] broadcast(x), dimensions={1}\n"
                               "  ROOT y = f32[1000,16] exponential(wide) }\n",
                               "vp-ref");
  assert_true(bound.work_cycles == 6);
}

/* 3200 steps, not 3200 * 3201 / 2. */
static void module_bound_shares_steps_of_windows(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\n" SUM_REGION
                               "ENTRY e { x = f32[3200] parameter(0) z = f32[] constant(0)\n"
                               "  ROOT y = f32[3200] reduce-window(x, z), window={size=3200 pad=3199_0},\n"
                               "    to_apply=sum }\n",
                               "vp-ref");
  assert_true(bound.work_cycles == 3200 / 16);
}

/* Windows of 3 x 3 that share a row and a column with their neighbours: 25 elements become 4, and no window is without
 * a step.  Ones that share nothing take a step less than they have elements; at the border half of one is padding. */
static void module_bound_of_windows_is_their_elements(void **state) {
#define WINDOWS(size, windows, window)                 \
  "HloModule m\n" SUM_REGION "ENTRY e { x = f32[" size \
  "] parameter(0) z = f32[] constant(0)\n"             \
  "  ROOT y = f32[" windows "] reduce-window(x, z), window={" window "}, to_apply=sum }\n"
  assert_true(work_of(*state, WINDOWS("5,5,16", "2,2,16", "size=3x3x1 stride=2x2x1")) == 21);
  assert_true(work_of(*state, WINDOWS("8,16", "4,16", "size=2x1 stride=2x1")) == 4);
  assert_true(work_of(*state, WINDOWS("7,16", "4,16", "size=2x1 stride=2x1 pad=1_0x0_0")) == 3);
  /* every fourth element, and three in each window: at least a step for each of 8 windows */
  assert_true(work_of(*state, WINDOWS("37,16", "8,16", "size=3x1 stride=4x1 rhs_dilate=4x1")) == 8);
#undef WINDOWS
}

/* 512 vectors of bf16 become 1024 of f32, which are added up, and four results two vectors that are rounded: for
 * nothing where a conversion comes before or after. */
static void module_bound_sums_halves_in_f32(void **state) {
#define SUMS(body)                                                                                 \
  "HloModule m\ns { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT c = bf16[] add(a, b) }\n" \
  "h { z = bf16[] constant(0)\n" body " }\n"
  assert_true(work_of(*state, SUMS("  x = bf16[256,64] parameter(0)\n"
                                   "  ROOT y = bf16[64] reduce(x, z), dimensions={0}, to_apply=s }\n"
                                   "ENTRY e { x = bf16[256,64] parameter(0)\n"
                                   "  ROOT f = bf16[64] fusion(x), kind=kLoop, calls=h")) == 1024 + 1020 + 1);
  assert_true(work_of(*state, SUMS("  x = f32[256,64] parameter(0) n = bf16[256,64] convert(x)\n"
                                   "  r = bf16[64] reduce(n, z), dimensions={0}, to_apply=s\n"
                                   "  ROOT y = f32[64] convert(r) }\n"
                                   "ENTRY e { x = f32[256,64] parameter(0)\n"
                                   "  ROOT f = f32[64] fusion(x), kind=kLoop, calls=h")) <= 1020 + 512 + 4);
#undef SUMS
}

static void module_bound_reads_what_slices_read(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[1000] parameter(0) unread = f32[77] parameter(1)\n"
                               "  ROOT y = f32[10] slice(x), slice={[10:20]} }\n",
                               "vp-ref");
  assert_int_equal(bound.argument_bytes, 40);
  assert_int_equal(bound.result_bytes, 40);
}

static void module_bound_writes_what_updates_write(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[1000] parameter(0) u = f32[8] parameter(1)\n"
                               "  at = s32[] parameter(2) ROOT y = f32[1000] dynamic-update-slice(x, u, at) }\n",
                               "vp-ref");
  assert_int_equal(bound.result_bytes, 32);
  assert_int_equal(bound.argument_bytes, 32 + 4);
}

/* A vector of additions in each of 25 rounds, and a vector of exponentials after the loop; the counter is the scalar
 * unit's. */
static void module_bound_counts_rounds_of_loops(void **state) {
  ModuleBound bound =
      bound_of(*state,
               "HloModule m\n"
               "condition { s = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  n = s32[] constant(25) ROOT more = pred[] compare(i, n), direction=LT }\n"
               "body { s = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  x = f32[16] get-tuple-element(s), index=1 one = s32[] constant(1) next = s32[] add(i, one)\n"
               "  y = f32[16] add(x, x) ROOT t = (s32[], f32[16]) tuple(next, y) }\n"
               "ENTRY e { x = f32[16] parameter(0) zero = s32[] constant(0) t = (s32[], f32[16]) tuple(zero, x)\n"
               "  w = (s32[], f32[16]) while(t), condition=condition, body=body\n"
               "  z = f32[16] get-tuple-element(w), index=1 ROOT r = f32[16] exponential(z) }\n",
               "vp-ref");
  assert_true(bound.work_cycles == 25 + 6);
  assert_true(bound.launch_cycles == (25 + 1) * 16);
}

/* Weights of 512 KiB in a Buffer of 256: what there is beyond that comes again in all of 25 rounds but the first, also
 * where two leaves are the same weights, and not where the rounds change them. */
static void module_bound_loads_again_what_loops_cannot_keep(void **state) {
#define ROUNDS(second, next)                                                                            \
  "HloModule m\n"                                                                                       \
  "condition { s = (s32[], f32[8,512], f32[512,256], f32[256,512]) parameter(0)\n"                      \
  "  i = s32[] get-tuple-element(s), index=0\n"                                                         \
  "  n = s32[] constant(25) ROOT more = pred[] compare(i, n), direction=LT }\n"                         \
  "body { s = (s32[], f32[8,512], f32[512,256], f32[256,512]) parameter(0)\n"                           \
  "  i = s32[] get-tuple-element(s), index=0 x = f32[8,512] get-tuple-element(s), index=1\n"            \
  "  v = f32[512,256] get-tuple-element(s), index=2 w = f32[256,512] get-tuple-element(s), index=3\n"   \
  "  one = s32[] constant(1) j = s32[] add(i, one)\n"                                                   \
  "  y = f32[8,256] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                    \
  "  z = f32[8,512] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                    \
  "  u = f32[256,512] negate(w)\n"                                                                      \
  "  ROOT t = (s32[], f32[8,512], f32[512,256], f32[256,512]) tuple(j, z, v, " next                     \
  ") }\n"                                                                                               \
  "ENTRY e { x = f32[8,512] parameter(0) v = f32[512,256] parameter(1) w = f32[256,512] parameter(2)\n" \
  "  same = f32[256,512] bitcast(v) zero = s32[] constant(0)\n"                                         \
  "  t = (s32[], f32[8,512], f32[512,256], f32[256,512]) tuple(zero, x, v, " second                     \
  ")\n"                                                                                                 \
  "  o = (s32[], f32[8,512], f32[512,256], f32[256,512]) while(t), condition=condition, body=body\n"    \
  "  ROOT r = f32[8,512] get-tuple-element(o), index=1 }\n"
  int64_t weights = 512 * 256 * 4, buffer = 262144;
  ModuleBound both = bound_of(*state, ROUNDS("w", "w"), "vp-ref");
  assert_int_equal(both.again_bytes, 24 * (2 * weights - buffer));
  assert_true(both.limit.cycles >= (double)(both.again_bytes + 2 * weights) / 32);
  assert_int_equal(bound_of(*state, ROUNDS("same", "w"), "vp-ref").again_bytes, 24 * (weights - buffer));
  assert_int_equal(bound_of(*state, ROUNDS("w", "u"), "vp-ref").again_bytes, 24 * (weights - buffer));
  assert_int_equal(bound_of(*state, ROUNDS("w", "w"), "vtcm4m").again_bytes, 0);
#undef ROUNDS
}

/* Three products of 2 x 2 parts (Gauss), of 32 numbers each; two where a factor is real. */
static void module_bound_counts_parts_of_complex_numbers(void **state) {
  assert_true(work_of(*state,
                      "HloModule m\nENTRY e { x = c64[32] parameter(0) y = c64[32] parameter(1)\n"
                      "  ROOT z = c64[32] multiply(x, y) }\n") == 3 * 2);
  assert_true(work_of(*state,
                      "HloModule m\nENTRY e { x = c64[32] parameter(0) y = f32[32] parameter(1)\n"
                      "  n = f32[] constant(0) zeros = f32[32] broadcast(n), dimensions={}\n"
                      "  w = c64[32] complex(y, zeros) ROOT z = c64[32] multiply(x, w) }\n") == 2 * 2);
}

/* Two squares, their sum and a root of each; both parts are chosen; of a sum of products three products each, which the
 * matrix unit does. */
static void module_bound_of_complex_numbers_is_their_parts(void **state) {
  assert_true(work_of(*state, "HloModule m\nENTRY e { x = c64[32] parameter(0) ROOT y = f32[32] abs(x) }\n") ==
              (2 + 1 + 4) * 2);
  assert_true(work_of(*state,
                      "HloModule m\nENTRY e { x = c64[32] parameter(0) y = f32[32] abs(x) c = f32[] constant(2)\n"
                      "  l = f32[32] broadcast(c), dimensions={} ROOT r = pred[32] compare(y, l), direction=LE }\n") ==
              (2 + 1 + 1) * 2); /* no root is compared */
  assert_true(work_of(*state,
                      "HloModule m\nENTRY e { p = pred[32] parameter(0) x = c64[32] parameter(1)\n"
                      "  y = c64[32] parameter(2) ROOT z = c64[32] select(p, x, y) }\n") == 2 * 2);
  assert_true(work_of(*state,
                      "HloModule m\nsum { a = c64[] parameter(0) b = c64[] parameter(1) ROOT s = c64[] add(a, b) }\n"
                      "ENTRY e { x = c64[32] parameter(0) y = c64[32] parameter(1) z = c64[] constant((0, 0))\n"
                      "  p = c64[32] multiply(x, y) ROOT r = c64[] reduce(p, z), dimensions={0}, to_apply=sum }\n") ==
              3 * 32 / 256.0);
}

/* log2 8! is 15.3, by Stirling more than 12; two lines are compared 24 times at least, in two vectors. */
static void module_bound_of_sort_is_comparisons(void **state) {
  assert_true(work_of(*state,
                      "HloModule m\nless { a = s32[] parameter(0) b = s32[] parameter(1)\n"
                      "  ROOT r = pred[] compare(a, b), direction=LT }\n"
                      "ENTRY e { x = s32[2,8] parameter(0)\n"
                      "  ROOT y = s32[2,8] sort(x), dimensions={1}, to_apply=less }\n") == 2);
}

/* Guards that no data makes, as of padding, and what a slice leaves out: 32 exponentials of 1000. */
static void module_bound_forgets_what_nobody_asks_for(void **state) {
  assert_true(work_of(*state,
                      "HloModule m\nf { x = f32[1000] parameter(0) at = s32[1000] iota(), iota_dimension=0\n"
                      "  n = s32[] constant(7) ns = s32[1000] broadcast(n), dimensions={}\n"
                      "  low = pred[1000] compare(at, ns), direction=LT\n"
                      "  z = f32[] constant(0) zs = f32[1000] broadcast(z), dimensions={}\n"
                      "  padded = f32[1000] select(low, zs, x) e = f32[1000] exponential(padded)\n"
                      "  ROOT s = f32[32] slice(e), slice={[0:32]} }\n"
                      "ENTRY e { x = f32[1000] parameter(0)\n"
                      "  ROOT y = f32[32] fusion(x), kind=kLoop, calls=f }\n") == 6 * 2);
}

/* A sum of products may be the matrix unit's, one of squares may not; nor does that multiply with zeros between the
 * elements of a dilated image: 4 positions see 2 elements each of 3, 2 of which are there. */
static void module_bound_of_products_is_the_matrix_units(void **state) {
  assert_true(work_of(*state,
                      "HloModule m\n" SUM_REGION "ENTRY e { x = f32[64,256] parameter(0) y = f32[64,256] parameter(1)\n"
                      "  p = f32[64,256] multiply(x, y) z = f32[] constant(0)\n"
                      "  ROOT s = f32[64] reduce(p, z), dimensions={1}, to_apply=sum }\n") == 64);
  assert_true(work_of(*state,
                      "HloModule m\n" SUM_REGION "ENTRY e { x = f32[64,256] parameter(0)\n"
                      "  p = f32[64,256] multiply(x, x) z = f32[] constant(0)\n"
                      "  ROOT s = f32[64] reduce(p, z), dimensions={1}, to_apply=sum }\n") == 1024 + 64 * 255 / 16);
  assert_true(work_of(*state,
                      "HloModule m\nENTRY e { x = f32[1,3,32] parameter(0) w = f32[2,32,32] parameter(1)\n"
                      "  ROOT y = f32[1,4,32] convolution(x, w), window={size=2 lhs_dilate=2},\n"
                      "    dim_labels=b0f_0io->b0f }\n") == 4 * 32 * 32 / 256.0);
}

/* 64 cycles to set up a load for each of two arrays, 64 bytes each at 32 a cycle. */
static void module_bound_sets_up_a_transfer_for_each_array(void **state) {
  ModuleBound bound = bound_of(*state,
                               "HloModule m\nENTRY e { x = f32[16] parameter(0) y = f32[16] parameter(1)\n"
                               "  n = s32[] parameter(2) ROOT z = f32[16] add(x, y) }\n",
                               "vp-ref");
  assert_int_equal(bound.argument_count, 2);
  assert_int_equal(bound.result_count, 1);
  assert_true(bound.limit.cycles == 2 * (64 + 2));
}

#define WEIGHTS_AFTER(width, columns)                                                              \
  "HloModule m\n" SUM_REGION "ENTRY e { x = f32[8,131072] parameter(0) w = f32[" width "," columns \
  "] parameter(1)\n"                                                                               \
  "  a = f32[8,131072] exponential(x) b = f32[8,131072] exponential(a) z = f32[] constant(0)\n"    \
  "  s = f32[8] reduce(b, z), dimensions={1}, to_apply=sum\n"                                      \
  "  rows = f32[8," width                                                                          \
  "] broadcast(s), dimensions={0}\n"                                                               \
  "  ROOT y = f32[8," columns "] dot(rows, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"

/* 2 * 6 * 65536 cycles of exponentials and 65536 of additions; the last sum is multiplied with all of 8 MiB, of which
 * the Buffer may hold 256 KiB before; then 4 bytes at least are stored.  Queues by themselves: all work, 65536 of
 * products and four commands more. */
static void module_bound_loads_weights_after_what_they_meet(void **state) {
  ModuleBound bound = bound_of(*state, WEIGHTS_AFTER("512", "4096"), "vp-ref");
  assert_true(bound.order_cycles == 13 * 65536 + (8388608 - 262144) / 32.0 + 4 / 32.0);
  assert_int_equal(bound.limit.kind, LIMIT_ORDER);
  assert_true(bound.limit.cycles == bound.order_cycles);
  /* what fits the Buffer may be there before */
  bound = bound_of(*state, WEIGHTS_AFTER("128", "512"), "vp-ref");
  assert_true(bound.limit.cycles == bound.work_cycles + bound.launch_cycles);
}

#define TWO_RESULTS                                                                  \
  "HloModule m\nENTRY e { x = f32[64,64] parameter(0)\n"                             \
  "  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" \
  "  n = f32[64,64] negate(d) a = f32[64,64] add(d, d) c = f32[64,64] copy(x)\n"     \
  "  ROOT r = (f32[64,64], f32[64,64], f32[64,64]) tuple(n, a, c) }\n"

/* A dot of 64^3 products at 256 a cycle, and its command; then a command, and stores of two arrays of 16384 bytes at 32
 * a cycle.  The third one needs no operation: it may be stored before. */
static void module_bound_stores_results_after_what_is_scheduled_before(void **state) {
  ModuleBound bound = bound_of(*state, TWO_RESULTS, "vp-ref");
  assert_true(bound.order_cycles == 1024 + 16 + 16 + 2 * (64 + 512));
  assert_int_equal(bound.limit.kind, LIMIT_ORDER);
}

/* Where a queue promises no order its commands may be done in any. */
static void module_bound_knows_no_order_where_none_is_promised(void **state) {
  Fixture *fixture = *state;
  MachineDescription machine = *make_machine(fixture, "vp-ref");
  machine.queues = ARENA_COPY_ARRAY(fixture->arena, MachineQueue, machine.queues, machine.queue_count);
  for (int32_t q = 0; q < machine.queue_count; q++) ((MachineQueue *)machine.queues)[q].complete = COMPLETE_UNORDERED;
  assert_true(module_bound_find(make_module(fixture, TWO_RESULTS), &machine).order_cycles < 2000);
}

static void hold_plan(Fixture *fixture, const char *text, const MachineDescription *machine,
                      const TilerOptions *options, double bound) {
  PlanVerdict verdict;
  const Plan *plan;
  DiagSink quiet; /* not all fits half a Buffer */
  diag_sink_init(&quiet, fixture->arena);
  const TilerRequest request = {make_kernel(fixture, text), SV("k"), machine, options, NULL};
  Status status = tiler_plan(fixture->arena, &request, &quiet, &plan);
  if (status != STATUS_OK) return;
  assert_int_equal(plan_check(fixture->arena, plan, machine, &fixture->diag, &verdict), STATUS_OK);
  assert_true(bound <= verdict.simulation.cycles);
}

/* No plan is faster: of any depth, whatever the tiler knows of the Buffer. */
static void module_bound_is_below_all_plans(void **state) {
  Fixture *fixture = *state;
  static const char *const machines[] = {"vp-tiny", "vp-ref", "vtcm4m"};
  for (int i = 0; i < 3; i++) {
    const MachineDescription *machine = make_machine(fixture, machines[i]);
    for (int m = 0; m < TESTING_MODULES; m++) {
      double bound = module_bound_find(make_module(fixture, testing_modules[m]), machine).limit.cycles;
      assert_true(bound > 0);
      hold_plan(fixture, testing_modules[m], machine, &(TilerOptions){0}, bound);
      hold_plan(fixture, testing_modules[m], machine, &(TilerOptions){.pipeline_depth = 1}, bound);
      hold_plan(fixture, testing_modules[m], machine, &(TilerOptions){.pipeline_depth = 3}, bound);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(module_bound_counts_elementwise_once, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_transpose_is_memory, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_turned_arrays_counts_rows, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_unequal_streams_shares_memory, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_dot_is_products, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_computes_broadcasts_once, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_shares_steps_of_windows, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_windows_is_their_elements, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_sums_halves_in_f32, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_reads_what_slices_read, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_writes_what_updates_write, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_counts_rounds_of_loops, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_loads_again_what_loops_cannot_keep, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_counts_parts_of_complex_numbers, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_complex_numbers_is_their_parts, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_sort_is_comparisons, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_forgets_what_nobody_asks_for, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_of_products_is_the_matrix_units, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_sets_up_a_transfer_for_each_array, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_loads_weights_after_what_they_meet, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_stores_results_after_what_is_scheduled_before, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_knows_no_order_where_none_is_promised, create, destroy),
      cmocka_unit_test_setup_teardown(module_bound_is_below_all_plans, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
