#include "codegen/oncore/plan/tile_cost.h"

#include "codegen/oncore/emit/oncore_testing.h"

/* All points of |stages|, on vp-ref: vectors of 64 bytes. */
static double stages_cycles(Fixture *fixture, TileStages stages, bool begins) {
  int64_t extents[KERNEL_MAX_DIMS];
  const TileWork *work;
  for (int32_t d = 0; d < stages.kernel->dim_count; d++) extents[d] = stages.kernel->dims[d].extent;
  assert_int_equal(tile_work_find(fixture->arena, stages, make_machine(fixture, "vp-ref"), &fixture->diag, &work),
                   STATUS_OK);
  return tile_work_cycles(work, extents, begins);
}

/* All of the Kernel at once. */
static double kernel_cycles(Fixture *fixture, const Kernel *kernel) {
  return stages_cycles(fixture, (TileStages){kernel, 0, kernel->stage_count - 1}, true);
}

static double whole_cycles(Fixture *fixture, const char *text) {
  return kernel_cycles(fixture, make_kernel(fixture, text));
}

static void tile_cost_is_cost_times_vectors(void **state) {
  assert_true(whole_cycles(*state, EXP("5000")) == 6 * 313); /* 312.5 vectors */
  assert_true(whole_cycles(*state, EXP("16")) == 6);
  assert_true(whole_cycles(*state,
                           "HloModule m\nENTRY e { x = bf16[5000] parameter(0)\n"
                           "  ROOT y = bf16[5000] add(x, x) }\n") == 0.5 * 157);
}

static void tile_cost_of_dot_is_products(void **state) {
  assert_true(whole_cycles(*state, MATMUL("64", "128", "32")) == 64 * 128 * 32 / 256.0);
}

/* Widened on their way into the unit, which takes 512 products of bf16 a cycle. */
static void tile_cost_of_dot_widens_for_nothing(void **state) {
  assert_true(whole_cycles(*state,
                           "HloModule m\nENTRY e { a = bf16[64,128] parameter(0) b = bf16[128,32] parameter(1)\n"
                           "  ROOT y = f32[64,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n") ==
              64 * 128 * 32 / 512.0);
}

/* |body| fused: parameters a and b of 64 x 128 and 128 x 32 elements. */
#define DOT_FUSION(first, second, body, result)                                                  \
  "HloModule m\n" SUM_REGION "c { a = " first " parameter(0) b = " second " parameter(1)\n" body \
  " }\n"                                                                                         \
  "ENTRY e { a = " first " parameter(0) b = " second                                             \
  " parameter(1)\n"                                                                              \
  "  ROOT f = " result " fusion(a, b), kind=kLoop, calls=c }\n"

/* Factors that are computed on their way: 64 x 128 exponentials, each once although 32 products take it. */
static void tile_cost_of_dot_computes_factors_once(void **state) {
  double cycles = whole_cycles(
      *state, DOT_FUSION("f32[64,128]", "f32[128,32]",
                         "  x = f32[64,128] exponential(a)\n"
                         "  ROOT y = f32[64,32] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                         "f32[64,32]"));
  assert_true(cycles == 6 * 64 * 128 / 16 + 64 * 128 * 32 / 256.0);
}

/* Rounded to bf16 before the unit widens them: as many conversions, and products of bf16. */
static void tile_cost_of_dot_narrows_in_lanes(void **state) {
  double cycles = whole_cycles(
      *state, DOT_FUSION("bf16[64,128]", "f32[128,32]",
                         "  c = bf16[128,32] convert(b)\n"
                         "  ROOT y = f32[64,32] dot(a, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                         "f32[64,32]"));
  double products = 64 * 128 * 32 / 512.0, vectors = 128 * 32 / 16;
  assert_true(cycles > products && cycles <= products + vectors);
}

/* What each product has of its own is no matrix: 64 x 128 exponentials and products, 64 x 127 sums, and 64 sums with
 * what they start from. */
static void tile_cost_of_sum_of_products_is_lane_work(void **state) {
  double cycles = whole_cycles(*state, DOT_FUSION("f32[64,128]", "f32[64,128]",
                                                  "  x = f32[64,128] exponential(a) p = f32[64,128] multiply(x, b)\n"
                                                  "  z = f32[] constant(0)\n"
                                                  "  ROOT y = f32[64] reduce(p, z), dimensions={1}, to_apply=sum",
                                                  "f32[64]"));
  assert_true(cycles == (6 + 1) * 64 * 128 / 16 + 64 * 127 / 16 + 64 / 16);
}

/* Four products of parts for each of two numbers.  Besides, parts are taken out of the factors' tiles and put into the
 * result's, and those of the result are negated. */
static void tile_cost_of_complex_dot_is_products(void **state) {
  double cycles =
      whole_cycles(*state, DOT_FUSION("c64[64,128]", "c64[128,32]",
                                      "  d = c64[64,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                                      "  ROOT y = c64[64,32] negate(d)",
                                      "c64[64,32]"));
  double products = 4 * 64 * 128 * 32 / 256.0, parts = 2 * (64 * 128 + 128 * 32 + 64 * 32) / 16;
  assert_true(cycles == products + 2 * parts + 2 * 64 * 32 / 16);
}

/* The same products with another sign are not those of complex numbers: lanes multiply and add. */
static void tile_cost_of_other_sums_of_two_products_is_lane_work(void **state) {
  double cycles =
      whole_cycles(*state, DOT_FUSION("c64[64,128]", "c64[64,128]",
                                      "  ar = f32[64,128] real(a) ai = f32[64,128] imag(a)\n"
                                      "  br = f32[64,128] real(b) bi = f32[64,128] imag(b)\n"
                                      "  p = f32[64,128] multiply(ar, br) q = f32[64,128] multiply(ai, bi)\n"
                                      "  s = f32[64,128] add(p, q) z = f32[] constant(0)\n"
                                      "  ROOT y = f32[64] reduce(s, z), dimensions={1}, to_apply=sum",
                                      "f32[64]"));
  assert_true(cycles >= 4 * 64 * 128 / 16);
}

/* 640 windows of 3 elements: two maxima each, or three where an earlier part of the window has left one; padding comes
 * with the tile, and the last maximum is the result. */
static void tile_cost_of_pooling_is_its_steps(void **state) {
  const Kernel *kernel = make_kernel(*state, PADDED_POOL);
  Fixture *fixture = *state;
  assert_true(stages_cycles(fixture, (TileStages){kernel, 0, 0}, false) == 3 * 640 / 16);
  assert_true(whole_cycles(fixture, PADDED_POOL) == 2 * 640 / 16);
}

static void tile_cost_of_movement(void **state) {
  assert_true(whole_cycles(*state, TRANSPOSE("90", "110")) == 2 * 619); /* permute, 618.75 vectors */
  assert_true(whole_cycles(*state, PAD) >= 110);                        /* move, 109.3 vectors */
}

/* Each update is read, added and written: rows of 23 values fill two vectors. */
static void tile_cost_of_scatter_is_row_by_row(void **state) {
  double cycles = whole_cycles(*state, SCATTER);
  assert_true(cycles >= 99 * 2 * 2);
  assert_true(cycles <= 99 * 2 * 4);
}

/* Rows are walked by a dim of the stage that updates them: as many updates as if that dim were an outer one. */
static void tile_cost_of_updates_counts_inner_dims(void **state) {
  const Kernel *kernel = make_kernel(*state, SCATTER);
  Kernel inner = *kernel;
  KernelDim dims[KERNEL_MAX_DIMS];
  memcpy(dims, kernel->dims, sizeof *dims * (size_t)kernel->dim_count);
  inner.dims = dims;
  int32_t row = kernel->dim_count - 1;
  assert_true(dims[row].extent == 23 && dims[row].kind == KERNEL_APART && dims[row].stage == KERNEL_OUTER);
  dims[row].stage = kernel->stage_count - 1;
  assert_true(kernel_cycles(*state, &inner) == kernel_cycles(*state, kernel));
}

/* 16 elements: 10 rounds of a network.  A round of 4 lines: 2 vectors of keys compared, 2 of positions compared, 4 of
 * keys and 4 of positions selected; what is stored is moved, 4 vectors. */
static void tile_cost_of_sort_is_a_network(void **state) {
  double cycles = whole_cycles(*state,
                               "HloModule m\n"
                               "less { a = s32[] parameter(0) b = s32[] parameter(1)\n"
                               "  ROOT r = pred[] compare(a, b), direction=LT }\n"
                               "ENTRY e { x = s32[4,16] parameter(0)\n"
                               "  ROOT y = s32[4,16] sort(x), dimensions={1}, to_apply=less }\n");
  assert_true(cycles == 10 * (2 + 2 + 4 + 4) + 4);
}

static void tile_transfer_rows_are_runs(void **state) {
  (void)state;
  assert_int_equal(tile_transfer_rows((int64_t[]){4, 8}, (int64_t[]){8, 1}, 2), 1);
  assert_int_equal(tile_transfer_rows((int64_t[]){4, 8}, (int64_t[]){100, 1}, 2), 4);
  assert_int_equal(tile_transfer_rows((int64_t[]){4, 8}, (int64_t[]){1, 100}, 2), 32);
  assert_int_equal(tile_transfer_rows((int64_t[]){4, 1, 8}, (int64_t[]){8, 777, 1}, 3), 1);
  assert_int_equal(tile_transfer_rows((int64_t[]){3, 4, 8}, (int64_t[]){1000, 8, 1}, 3), 3);
}

static void tile_transfer_descriptors_walk_so_many_levels(void **state) {
  (void)state;
  const int64_t extents[] = {3, 4, 8}, apart[] = {1000, 100, 1}, dense[] = {32, 8, 1};
  for (int64_t dims = 1; dims <= 3; dims++) assert_int_equal(tile_transfer_descriptors(extents, dense, 3, dims), 1);
  assert_int_equal(tile_transfer_descriptors(extents, apart, 3, 3), 1);
  assert_int_equal(tile_transfer_descriptors(extents, apart, 3, 2), 3);
  assert_int_equal(tile_transfer_descriptors(extents, apart, 3, 1), 12);
  /* axes that continue one another are one level, whatever their strides */
  assert_int_equal(tile_transfer_descriptors(extents, (int64_t[]){400, 100, 1}, 3, 2), 1);
  assert_int_equal(tile_transfer_descriptors(extents, (int64_t[]){64, 16, 2}, 3, 1), 1);
  assert_int_equal(tile_transfer_descriptors((int64_t[]){5, 1, 8}, (int64_t[]){-8, 0, 1}, 3, 1), 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tile_cost_is_cost_times_vectors, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_dot_is_products, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_dot_widens_for_nothing, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_dot_computes_factors_once, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_dot_narrows_in_lanes, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_sum_of_products_is_lane_work, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_complex_dot_is_products, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_other_sums_of_two_products_is_lane_work, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_pooling_is_its_steps, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_movement, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_scatter_is_row_by_row, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_updates_counts_inner_dims, create, destroy),
      cmocka_unit_test_setup_teardown(tile_cost_of_sort_is_a_network, create, destroy),
      cmocka_unit_test(tile_transfer_rows_are_runs),
      cmocka_unit_test(tile_transfer_descriptors_walk_so_many_levels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
