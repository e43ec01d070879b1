/* Few rows with a rhs that comes from memory. */
#include "codegen/blocks/contraction_internal.h"
#include "codegen/blocks/contraction_testing.h"
#include "codegen/target/cpu_level.h"

/* Columns that are no multiple of registers, a depth that is none of sweeps, enough of both to come from memory. */
enum { COLUMN_COUNT = 1037, DEPTH = 77 };

static TestCase far_case(int64_t rows, Order lhs) {
  TestCase test = matrix_case(rows, COLUMN_COUNT, DEPTH, lhs, ROWS, ROWS);
  test.is_far = true;
  return test;
}

static bool is_swept(const TestCase *test, FactorPlace place) {
  Arena *arena = arena_create();
  bool is = blocking_on(test, "znver4", place, INT64_MAX, arena).is_swept;
  arena_destroy(arena);
  return is;
}

static void sweeps_of_every_type_are_right(void **state) {
  (void)state;
  static const PrimitiveType types[][2] = {
      {TYPE_F32, TYPE_F32}, {TYPE_F32, TYPE_BF16}, {TYPE_F32, TYPE_F16}, {TYPE_F64, TYPE_F64}, {TYPE_S32, TYPE_S32}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    for (int64_t rows = 1; rows <= 5; rows++) {
      TestCase test = far_case(rows, ROWS);
      test.extents[2] = i == 1 ? 2 * DEPTH : DEPTH; /* bf16 of as many bytes */
      test.lhs.steps[0] = test.extents[2];
      test.type = types[i][0];
      test.operand_type = types[i][1];
      run_everywhere(&test);
    }
  }
}

/* Sums lie in the result, where rows are longer than the sums of a chunk, or in the scratch. */
static void sweeps_are_finished(void **state) {
  (void)state;
  static const Epilogue epilogues[] = {PLAIN, BIAS_MAX, RESIDUAL, NARROW};
  for (int64_t rows = 1; rows <= 4; rows++) {
    for (size_t i = 0; i < sizeof epilogues / sizeof *epilogues; i++) {
      TestCase test = far_case(rows, i % 2 == 0 ? ROWS : COLUMNS);
      test.epilogue = epilogues[i];
      test.result.steps[0] = COLUMN_COUNT + 6;
      if (test.epilogue == RESIDUAL) test.bias = test.result;
      assert_true(is_swept(&test, MEMORY));
      run_everywhere(&test);
    }
  }
}

/* Of a batch, with a depth of two dims that only the rhs walks as one, and a lhs that is guarded. */
static void sweeps_of_a_packed_lhs_are_right(void **state) {
  (void)state;
  enum { B = 2, M = 2, N = 1024, H = 5, K = 19 };
  TestCase test = {.name = "heads", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 2};
  memcpy(test.extents, (int64_t[]){B, M, N, H, K}, 5 * sizeof(int64_t));
  test.lhs = (Affine){0, {H * M * K, K, 0, M * K, 1}};
  test.rhs = (Affine){0, {H * K * N, 0, 1, K * N, N}};
  test.result = (Affine){0, {M * N, N, 1}};
  test.is_far = true;
  assert_true(is_swept(&test, MEMORY));
  run_everywhere(&test);
  test.guard_count = 1;
  test.guards[0] = (Guard){{-3, {0, 0, 0, 0, 1}}, K - 5, 0};
  test.lhs.steps[MAX_TEST_DIMS - 1] = B * H * M * K;
  run_everywhere(&test);
}

/* A row times some matrices, each read in four runs of the depth: a sweep takes a row of each run. */
static void sweeps_of_runs_are_right(void **state) {
  (void)state;
  enum { B = 4, N = COLUMN_COUNT, K = 64 };
  TestCase test = {.name = "runs", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, 1, N, K}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {K, B * K, 0, 1}};
  test.rhs = (Affine){0, {K * N, 0, 1, N}};
  test.result = (Affine){0, {N, B * N, 1}};
  test.is_far = true;
  for (int i = 0; i < 2; i++) {
    Arena *arena = arena_create();
    ContractionBlocking blocking = blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena);
    assert_true(blocking.is_swept && blocking.depth_runs == 4);
    arena_destroy(arena);
    run_everywhere(&test);
    test.epilogue = BIAS_MAX;
  }
}

/* Where caches have the rhs the micro-kernel is as fast, and with more rows faster; a single panel keeps its sums in
 * registers. */
static void contraction_is_swept_where_that_pays(void **state) {
  (void)state;
  for (int64_t rows = 1; rows <= 8; rows++) {
    TestCase test = far_case(rows, ROWS);
    assert_int_equal(is_swept(&test, MEMORY), rows <= 4);
    assert_false(is_swept(&test, LAST_CACHE));
  }
  TestCase narrow = matrix_case(1, 32, 4096, ROWS, ROWS, ROWS);
  assert_false(is_swept(&narrow, MEMORY));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sweeps_of_every_type_are_right),       cmocka_unit_test(sweeps_are_finished),
      cmocka_unit_test(sweeps_of_a_packed_lhs_are_right),     cmocka_unit_test(sweeps_of_runs_are_right),
      cmocka_unit_test(contraction_is_swept_where_that_pays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
