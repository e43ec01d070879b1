#include "codegen/blocks/contraction.h"

#include "codegen/blocks/contraction_cost.h"
#include "codegen/blocks/contraction_internal.h"
#include "codegen/blocks/contraction_testing.h"
#include "codegen/target/cpu_level.h"

static void contraction_of_every_order_is_right(void **state) {
  (void)state;
  for (int bits = 0; bits < 8; bits++) {
    TestCase test =
        matrix_case(37, 45, 29, bits & 1 ? COLUMNS : ROWS, bits & 2 ? COLUMNS : ROWS, bits & 4 ? COLUMNS : ROWS);
    run_everywhere(&test);
  }
}

static void contraction_of_odd_sizes_is_right(void **state) {
  (void)state;
  static const int64_t sizes[] = {2, 7, 13, 33, 129};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  for (int i = 0; i < COUNT * COUNT; i++) {
    int64_t m = sizes[i % COUNT], n = sizes[i / COUNT], k = sizes[(i * 2 + 3) % COUNT];
    if (m * n * k < 4096 || n < 4 || k < 4 || m < 4) continue;
    TestCase test = matrix_case(m, n, k, ROWS, i % 2 == 0 ? ROWS : COLUMNS, ROWS);
    run_everywhere(&test);
  }
}

static void contraction_in_blocks_of_everything_is_right(void **state) {
  (void)state;
  TestCase test = matrix_case(701, 643, 701, ROWS, ROWS, ROWS);
  test.epilogue = BIAS_MAX;
  test.checked_each = 13;
  run_everywhere(&test);
  test = matrix_case(37, 1000, 643, COLUMNS, COLUMNS, ROWS);
  run_everywhere(&test);
}

/* What lies as the micro-kernel reads it is not packed: a tile of sums at a time is all, at most 32 registers of 64
 * bytes. */
static void contraction_of_small_plain_matrices_is_in_place(void **state) {
  (void)state;
  TestCase test = matrix_case(93, 64, 40, ROWS, ROWS, ROWS);
  test.epilogue = BIAS_MAX;
  test.most_scratch = 32 * 64 + 4096;
  run_everywhere(&test);
  /* the rhs of several blocks of the depth is packed, a panel at a time */
  test = matrix_case(37, 1000, 643, ROWS, ROWS, ROWS);
  test.most_scratch = 160 << 10;
  run_everywhere(&test);
}

/* Where the second-level cache has 2 MiB, a rhs of 1 MiB that stays there is read where it is for one tile of rows
 * after the other, without asking ahead; rows half a page apart are no reason for smaller tiles. */
static void contraction_with_a_rhs_that_passes_keeps_a_tile(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(512, 512, 512, ROWS, ROWS, ROWS);
  test.checked_each = 97;
  ContractionBlocking large = blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_true(large.rhs_in_place && large.lhs_in_place && !large.rhs_ahead);
  assert_int_equal(large.tile_rows, 14);
  assert_int_equal(large.tiles_per_block, 1);
  assert_true(contraction_scratch_bytes(&large) <= 2 << 10);
  assert_int_not_equal(blocking_on(&test, "sapphirerapids", LAST_CACHE, INT64_MAX, arena).tiles_per_block, 1);
  assert_int_not_equal(blocking_on(&test, "sapphirerapids", MEMORY, INT64_MAX, arena).tiles_per_block, 1);
  assert_int_not_equal(blocking_on(&test, "znver4", OWN_CACHE, INT64_MAX, arena).tiles_per_block, 1);
  if (has_matrix_unit()) run_limited(&test, expected_results(&test, arena), "sapphirerapids", INT64_MAX);
  test.rhs = (Affine){0, {0, 1, 1024}}; /* rows of twice the length: 2 MiB */
  assert_int_not_equal(blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena).tiles_per_block, 1);
  arena_destroy(arena);
}

/* A panel of 256 × 32 floats and fourteen rows stay in a first-level cache of 48 KiB: a product that deep is one block,
 * whose sums go through no memory from block to block.  So it is where one register is multiplied in a cycle, and what
 * the second-level cache gives comes meanwhile; elsewhere there are several. */
static void contraction_as_deep_as_a_large_cache_is_one_block(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(196, 1024, 256, ROWS, ROWS, ROWS);
  test.epilogue = RESIDUAL;
  test.bias = test.result;
  test.checked_each = 97;
  ContractionBlocking large = blocking_on(&test, "sapphirerapids", LAST_CACHE, INT64_MAX, arena);
  assert_true(large.block_count == 1 && large.lhs_in_place && !large.rhs_in_place);
  assert_int_equal(large.tiles_per_block, 14); /* all: each panel is packed once */
  assert_int_equal(blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena).block_count, 1);
  assert_true(blocking_on(&test, "cascadelake", LAST_CACHE, INT64_MAX, arena).block_count > 1);
  if (has_matrix_unit()) run_limited(&test, expected_results(&test, arena), "sapphirerapids", INT64_MAX);
  arena_destroy(arena);
}

/* A few operations with what lies in memory as registers take it follow the last step; edges go through memory, and so
 * does what is stored in another type. */
static void contraction_of_whole_tiles_is_finished_in_registers(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(196, 1024, 256, ROWS, ROWS, ROWS);
  test.epilogue = BIAS_MAX;
  ContractionBlocking biased = blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_int_equal(biased.register_step_count, 2);
  assert_true(contraction_all_in_registers(&biased));
  assert_false(blocking_on(&test, "x86-64", OWN_CACHE, INT64_MAX, arena).in_registers);
  test.epilogue = RESIDUAL;
  test.bias = test.result;
  ContractionBlocking residual = blocking_on(&test, "haswell", OWN_CACHE, INT64_MAX, arena);
  assert_true(residual.in_registers && residual.register_steps[0].source == SOURCE_BESIDE);
  test = matrix_case(196, 1000, 128, ROWS, ROWS, ROWS);
  test.epilogue = BIAS_MAX;
  ContractionBlocking edges = blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_true(edges.in_registers && !contraction_all_in_registers(&edges));
  test.epilogue = NARROW;
  assert_false(blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena).in_registers);
  arena_destroy(arena);
}

/* A rhs of 256 KiB, read in place by several tiles, is asked for a panel ahead where a module's other products have
 * driven it out of the core's cache meanwhile. */
static void contraction_with_a_small_rhs_from_afar_asks_ahead(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(196, 256, 256, ROWS, ROWS, ROWS);
  static const char *const processors[] = {"sapphirerapids", "znver4", "haswell"};
  for (int i = 0; i < 3; i++) {
    ContractionBlocking near = blocking_on(&test, processors[i], OWN_CACHE, INT64_MAX, arena);
    ContractionBlocking far = blocking_on(&test, processors[i], LAST_CACHE, INT64_MAX, arena);
    assert_true(near.rhs_in_place && !near.rhs_ahead);
    assert_true(far.rhs_in_place && far.rhs_ahead);
    assert_true(contraction_scratch_bytes(&far) <= contraction_scratch_bytes(&near));
  }
  arena_destroy(arena);
}

/* Rows that meet in the first-level cache are packed, a piece of each for every block of the depth.  The pieces of the
 * next block are asked for ahead, unless the core's cache keeps the lhs, or nothing else is asked for either. */
static void contraction_that_packs_a_large_lhs_asks_ahead(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(304, 416, 1024, ROWS, ROWS, ROWS);
  test.checked_each = 97;
  ContractionBlocking large = blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena);
  assert_true(!large.lhs_in_place && large.block_count > 1 && large.lhs_ahead);
  run_everywhere(&test);
  test.extents[0] = 96;
  assert_false(blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena).lhs_ahead);
  test = matrix_case(304, 416, 1040, ROWS, ROWS, ROWS);
  ContractionBlocking in_place = blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena);
  assert_true(in_place.lhs_in_place && !in_place.lhs_ahead);
  arena_destroy(arena);
}

/* The first tile of a block of rows reads a panel where it lies, and packs it for the others on the way: of one block
 * of rows and of several, with an epilogue in registers, with a last tile of fewer rows.  Columns that fill no panel
 * and a rhs contiguous the other way are packed before. */
static void contraction_packs_panels_by_its_first_tile(void **state) {
  (void)state;
  Arena *arena = arena_create();
  static const int64_t rows[] = {20, 43, 300};
  static const PrimitiveType types[] = {TYPE_F32, TYPE_F32, TYPE_F32, TYPE_S32, TYPE_F32, TYPE_F64};
  for (int i = 0; i < 6; i++) {
    TestCase test = matrix_case(rows[i % 3], 1024, 512, ROWS, ROWS, ROWS);
    if (i >= 3) test.epilogue = BIAS_MAX;
    test.type = test.operand_type = types[i];
    test.checked_each = 97;
    ContractionBlocking blocking = blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena);
    assert_true(blocking.packed_by_tile && !blocking.rhs_in_place && blocking.tile_count > 1);
    run_everywhere(&test);
  }
  TestCase others[] = {matrix_case(20, 1020, 512, ROWS, ROWS, ROWS), matrix_case(20, 1024, 512, ROWS, COLUMNS, ROWS)};
  for (int i = 0; i < 2; i++)
    assert_false(blocking_on(&others[i], "znver4", LAST_CACHE, INT64_MAX, arena).packed_by_tile);
  arena_destroy(arena);
}

/* A processor that multiplies one register in a cycle, not two, reads a deeper panel from the second-level cache
 * meanwhile, and moves sums less often.  A large rhs is read in panels of two registers, whatever has fewest loads. */
static void contraction_of_slow_multiplications_has_deep_blocks(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(1024, 1024, 1024, ROWS, ROWS, ROWS);
  ContractionBlocking slow = blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena);
  ContractionBlocking fast = blocking_on(&test, "znver5", LAST_CACHE, INT64_MAX, arena);
  assert_true(slow.packed_by_tile && fast.packed_by_tile);
  assert_true(slow.block_depth > fast.block_depth);
  assert_true(slow.block_depth * slow.panel_width * 4 >= 32 << 10);
  test = matrix_case(18, 4096, 1024, ROWS, ROWS, ROWS);
  slow = blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena);
  fast = blocking_on(&test, "znver5", LAST_CACHE, INT64_MAX, arena);
  assert_true(slow.packed_by_tile && slow.panel_vectors == 2);
  assert_true(!fast.packed_by_tile && fast.panel_vectors == 3);
  test.checked_each = 997;
  run_everywhere(&test);
  arena_destroy(arena);
}

/* Weights that come from memory are read in whole rows, unless the sums of so many columns do not stay in the
 * second-level cache; there is no more scratch for it. */
static void contraction_with_few_rows_streams_whole_rows(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(1, 32000, 1024, ROWS, ROWS, ROWS);
  ContractionBlocking whole = blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena);
  assert_true(whole.rhs_in_place && whole.block_count > 1);
  assert_int_equal(whole.panels_per_chunk, whole.panel_count);
  assert_true(contraction_scratch_bytes(&whole) <= 4 << 10);
  test = matrix_case(7, 32000, 1024, ROWS, ROWS, ROWS);
  ContractionBlocking chunks = blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena);
  assert_true(chunks.panels_per_chunk < chunks.panel_count);
  arena_destroy(arena);
}

typedef struct FewRows {
  const char *cpu;
  int64_t rows;
  bool by_panels, is_deep;
} FewRows;

/* Weights that stay in the last-level cache are read panel by panel, over a depth that is limited by scratch alone,
 * where the multiplications of a step take as long as their lines: of three rows and more where a register is a line
 * and takes a cycle, of six where it is half a line.  Those that come from further away are read in blocks that are
 * deeper than streams, and asked for, where they have too many rows to be swept.  As many rows as a tile has are then
 * one, whatever has fewer loads. */
static void contraction_with_few_rows_moves_sums_rarely(void **state) {
  (void)state;
  Arena *arena = arena_create();
  static const FewRows cases[] = {{"znver4", 2, false, false},  {"znver4", 3, true, false}, {"znver4", 5, true, true},
                                  {"znver4", 8, true, true},    {"znver4", 14, true, true}, {"znver5", 8, false, false},
                                  {"haswell", 5, false, false}, {"haswell", 6, true, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TestCase test = matrix_case(cases[i].rows, 1024, 512, ROWS, ROWS, ROWS);
    test.checked_each = 97;
    ContractionBlocking kept = blocking_on(&test, cases[i].cpu, SMALL_PART, INT64_MAX, arena);
    ContractionBlocking other = blocking_on(&test, cases[i].cpu, LAST_CACHE, INT64_MAX, arena);
    ContractionBlocking far = blocking_on(&test, cases[i].cpu, MEMORY, INT64_MAX, arena);
    assert_int_equal(kept.block_depth > STREAMED_DEPTH, cases[i].by_panels);
    assert_false(kept.rhs_ahead);
    assert_int_equal(other.block_depth > STREAMED_DEPTH, cases[i].is_deep);
    assert_int_equal(other.rhs_ahead, cases[i].is_deep);
    assert_int_equal(far.block_depth > STREAMED_DEPTH, cases[i].is_deep);
    if (cases[i].by_panels) assert_true(kept.rhs_in_place && kept.tile_count == 1);
    if (cases[i].is_deep) assert_true(other.rhs_in_place && other.tile_count == 1);
    assert_true(contraction_scratch_bytes(&other) <= 8 << 10);
    run_everywhere(&test);
  }
  arena_destroy(arena);
}

/* A row times matrices that come from memory: each is read in four runs of whole rows, and threads share matrices, not
 * columns; not where sums leave the first-level cache, nor where there is one matrix alone. */
static void contraction_of_a_row_reads_runs_of_the_depth(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = matrix_case(1, 1024, 1024, ROWS, ROWS, ROWS);
  assert_int_equal(blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena).depth_runs, 0);
  test.outer_count = 3;
  test.extents[0] = 4;
  memcpy(test.extents + 1, (int64_t[]){1, 1024, 1024}, 3 * sizeof(int64_t));
  test.lhs = (Affine){0, {1024, 4096, 0, 1}};
  test.rhs = (Affine){0, {1 << 20, 0, 1, 1024}};
  test.result = (Affine){0, {1024, 4096, 1}};
  ContractionBlocking runs = blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena);
  assert_int_equal(runs.depth_runs, 4);
  assert_int_equal(runs.block_count, 256);
  assert_true(runs.lhs_in_place && runs.split == ROLE_BATCH);
  assert_int_equal(contraction_pieces(&runs).count, 4);
  assert_int_equal(blocking_on(&test, "znver4", LAST_CACHE, INT64_MAX, arena).depth_runs, 0);
  test.extents[2] = 16384;
  test.rhs = (Affine){0, {1 << 24, 0, 1, 16384}};
  test.result = (Affine){0, {16384, 65536, 1}};
  assert_int_equal(blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena).depth_runs, 0);
  arena_destroy(arena);
}

/* A lhs whose numbers lie apart along the depth (a transposed one, and one that is neither) is read where it is. */
static void contraction_of_a_lhs_across_its_grain_is_in_place(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    TestCase test = matrix_case(51, 64, 47 + 96 * (i % 2), COLUMNS, ROWS, ROWS);
    if (i % 3 == 0) test.epilogue = BIAS_MAX;
    if (i % 3 == 1) test.lhs = (Affine){7, {2, 0, 103}};
    test.type = test.operand_type = i < 4 ? TYPE_F32 : TYPE_S32;
    test.most_scratch = 32 * 64 + 64;
    run_everywhere(&test);
  }
}

/* The sums of several blocks of the depth are added up in the result, but for those of tiles that reach beyond it: the
 * scratch does not grow with the rows.  With an epilogue such tiles go to the result and back without it. */
static void contraction_of_many_blocks_adds_up_in_the_result(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    TestCase test = matrix_case(i == 0 ? 252 : 253, i == 0 ? 1568 : 1549, 400, ROWS, ROWS, ROWS);
    if (i == 2) test.epilogue = BIAS_MAX;
    test.checked_each = 97;
    test.most_scratch = 24 << 10;
    run_everywhere(&test);
  }
}

/* Where other threads store the same elements no sums lie in the result that are not finished. */
static void contraction_with_an_overlapped_result_stores_it_once(void **state) {
  (void)state;
  static const struct {
    int64_t depth;
    Epilogue epilogue;
    bool lies_in_result;
  } cases[] = {{1400, PLAIN, false}, {80, PLAIN, true}, {80, BIAS_MAX, false}};
  for (int i = 0; i < 3; i++) {
    TestCase test = matrix_case(66, 640, cases[i].depth, ROWS, ROWS, ROWS);
    test.epilogue = cases[i].epilogue;
    test.is_overlapped = true;
    run_everywhere(&test);
    Arena *arena = arena_create();
    ContractionBlocking blocking = blocking_on(&test, "x86-64-v4", OWN_CACHE, INT64_MAX, arena);
    assert_int_equal(blocking.sums_in_result, cases[i].lies_in_result);
    test.is_overlapped = false;
    blocking = blocking_on(&test, "x86-64-v4", OWN_CACHE, INT64_MAX, arena);
    assert_true(blocking.sums_in_result);
    arena_destroy(arena);
  }
}

/* The last panel of a run begins early, so that it ends with the run: nothing is packed, whatever the columns; what it
 * computes again it does not store again. */
static void contraction_of_cut_panels_is_in_place(void **state) {
  (void)state;
  static const int64_t columns[] = {65, 67, 77, 100};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    TestCase test = matrix_case(51, columns[i], 47, ROWS, ROWS, ROWS);
    test.epilogue = i % 2 == 0 ? RESIDUAL : BIAS_MAX;
    test.bias = test.epilogue == RESIDUAL ? test.result : test.bias;
    test.most_scratch = 32 * 64 + 64;
    run_everywhere(&test);
  }
  /* one row: the depth in one block, which used to be packed for the last panel */
  TestCase test = matrix_case(3, 65, 129, ROWS, ROWS, ROWS);
  test.most_scratch = 4 << 10;
  run_everywhere(&test);
}

/* A small rhs is packed once, rows of the lhs a few at a time: less than all rows would take. */
static void contraction_of_many_rows_packs_few_at_a_time(void **state) {
  (void)state;
  TestCase test = matrix_case(300, 40, 60, COLUMNS, COLUMNS, ROWS);
  test.epilogue = BIAS_MAX;
  test.most_scratch = 48 << 10;
  run_everywhere(&test);
  enum { B = 3, M = 200, N = 21, K = 33 };
  test = (TestCase){.name = "batches", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, M, N, K}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {M * K, 1, 0, M}};
  test.rhs = (Affine){0, {K * N, 0, K, 1}};
  test.result = (Affine){0, {M * N, N, 1}};
  test.most_scratch = 32 << 10;
  run_everywhere(&test);
}

static void contraction_of_few_rows_is_right(void **state) {
  (void)state;
  for (int64_t m = 1; m <= 9; m += 4) {
    TestCase test = matrix_case(m, 131, 77, ROWS, ROWS, ROWS);
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
  /* of bf16 the matrix unit takes six and more */
  for (int64_t m = 5; m <= 11; m += 2) {
    TestCase test = matrix_case(m, 67, 133, ROWS, m % 4 == 1 ? COLUMNS : ROWS, ROWS);
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
}

/* Weights that lie row by row for each column; a depth that is no multiple of lanes; columns that are none of tiles. */
static void contraction_along_the_depth_is_right(void **state) {
  (void)state;
  for (int64_t m = 1; m <= 4; m++) {
    static const PrimitiveType operand_types[] = {TYPE_F32, TYPE_BF16, TYPE_F16};
    for (int i = 0; i < 3; i++) {
      TestCase test = matrix_case(m, 61, m == 1 ? 192 : 203, ROWS, COLUMNS, ROWS);
      test.operand_type = operand_types[i];
      run_everywhere(&test);
      test.epilogue = BIAS_MAX;
      run_everywhere(&test);
    }
    TestCase wide = matrix_case(m, 16, 64, ROWS, COLUMNS, ROWS);
    wide.type = wide.operand_type = TYPE_F64;
    run_everywhere(&wide);
  }
  /* columns that are finished in lanes, those that cannot fill them, and as little depth as there may be */
  for (int64_t n = 8; n <= 15; n++) {
    for (int64_t m = 1; m <= 5; m += 2) {
      TestCase test = matrix_case(m, n, m == 1 ? 16 : 64, ROWS, COLUMNS, ROWS);
      test.epilogue = BIAS_MAX;
      run_everywhere(&test);
      test.type = TYPE_F32;
      test.operand_type = TYPE_BF16;
      test.epilogue = NARROW;
      run_everywhere(&test);
    }
  }
  /* columns of two dims, the last of which is a multiple of a tile's or not */
  for (int64_t inner = 3; inner <= 16; inner += inner == 3 ? 5 : 8) {
    enum { K = 80 };
    TestCase test = {.name = "two dims of columns", .type = TYPE_F32, .operand_type = TYPE_F32};
    test.outer_count = 2;
    test.inner_count = 1;
    memcpy(test.extents, (int64_t[]){5, inner, K}, 3 * sizeof(int64_t));
    test.lhs = (Affine){0, {0, 0, 1}};
    test.rhs = (Affine){0, {inner * K, K, 1}};
    test.result = test.bias = (Affine){0, {inner + 2, 1}};
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
  }
  TestCase vector = matrix_case(300, 1, 304, ROWS, ROWS, ROWS);
  vector.rhs = (Affine){0, {0, 0, 1}};
  vector.result = (Affine){0, {1, 0}};
  run_everywhere(&vector);
}

/* Every second or third element, as a phase of a dilated convolution stores. */
static void contraction_with_gaps_in_the_result_is_right(void **state) {
  (void)state;
  for (int64_t step = 2; step <= 3; step++) {
    TestCase test = matrix_case(19, 37, 45, ROWS, ROWS, ROWS);
    test.result = (Affine){1, {37 * step, step}};
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
  }
}

/* The rows become the columns. */
static void contraction_of_few_columns_is_right(void **state) {
  (void)state;
  for (int64_t n = 2; n <= 3; n++) {
    TestCase test = matrix_case(173, n, 33, ROWS, ROWS, ROWS);
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
  }
}

static void contraction_of_other_types_is_right(void **state) {
  (void)state;
  static const PrimitiveType types[][2] = {
      {TYPE_F64, TYPE_F64}, {TYPE_S32, TYPE_S32}, {TYPE_S32, TYPE_S8}, {TYPE_F32, TYPE_BF16}};
  for (int i = 0; i < 4; i++) {
    TestCase test = matrix_case(19, 37, 45, ROWS, ROWS, ROWS);
    test.type = types[i][0];
    test.operand_type = types[i][1];
    if (test.operand_type == TYPE_BF16) test.epilogue = NARROW;
    run_everywhere(&test);
  }
}

/* 106 rows are 7 tiles of 14 and one of 8 with 32 registers: in every order, with the types that have instructions for
 * it, and with sums that go through memory. */
static void contraction_with_a_last_tile_of_fewer_rows_is_right(void **state) {
  (void)state;
  static const PrimitiveType types[][2] = {{TYPE_F32, TYPE_F32}, {TYPE_S32, TYPE_S32},  {TYPE_S32, TYPE_S8},
                                           {TYPE_S32, TYPE_U8},  {TYPE_F32, TYPE_BF16}, {TYPE_F64, TYPE_F64}};
  enum { COUNT = sizeof types / sizeof *types };
  for (int i = 0; i < 8 * COUNT; i++) {
    TestCase test = matrix_case(106, 67 + i % 3, 60 + i % 5, i & 1 ? COLUMNS : ROWS, i & 2 ? COLUMNS : ROWS,
                                i & 4 ? COLUMNS : ROWS);
    test.type = types[i / 8][0];
    test.operand_type = types[i / 8][1];
    if (test.type == TYPE_F32 && i % 2 == 0) test.epilogue = BIAS_MAX;
    run_everywhere(&test);
  }
  TestCase deep = matrix_case(106, 96, 1203, ROWS, ROWS, ROWS);
  run_everywhere(&deep);
  deep.epilogue = BIAS_MAX;
  run_everywhere(&deep);
}

/* Groups of two or four to a lane, in every order, with depths that are no multiple of them. */
static void contraction_of_narrow_integers_is_right(void **state) {
  (void)state;
  static const PrimitiveType types[][2] = {
      {TYPE_S8, TYPE_S8}, {TYPE_U8, TYPE_S8}, {TYPE_S8, TYPE_U8}, {TYPE_U8, TYPE_U8}, {TYPE_S16, TYPE_S8}};
  for (int i = 0; i < 16; i++) {
    TestCase test = matrix_case(33, 37 + i / 5, 129 + i % 6, i & 1 ? COLUMNS : ROWS, i & 2 ? COLUMNS : ROWS,
                                i & 4 ? COLUMNS : ROWS);
    test.type = TYPE_S32;
    test.operand_type = types[i % 5][0];
    test.rhs_type = types[i % 5][1];
    run_everywhere(&test);
  }
  TestCase deep = matrix_case(40, 70, 1500, ROWS, ROWS, ROWS);
  deep.type = TYPE_S32;
  deep.operand_type = TYPE_S8;
  run_everywhere(&deep);
}

/* Pairs to a lane, in every order; depths of several blocks, and odd ones. */
static void contraction_of_bf16_is_right(void **state) {
  (void)state;
  for (int i = 0; i < 16; i++) {
    TestCase test = matrix_case(33, 37 + i / 5, 126 + i % 7, i & 1 ? COLUMNS : ROWS, i & 2 ? COLUMNS : ROWS,
                                i & 4 ? COLUMNS : ROWS);
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
  for (int64_t depth = 1501; depth <= 1502; depth++) {
    TestCase deep = matrix_case(40, 70, depth, ROWS, ROWS, ROWS);
    deep.operand_type = TYPE_BF16;
    run_everywhere(&deep);
  }
  TestCase mixed = matrix_case(40, 70, 66, ROWS, ROWS, ROWS);
  mixed.rhs_type = TYPE_F32;
  mixed.operand_type = TYPE_BF16;
  run_everywhere(&mixed);
}

static TestCase narrow_case(PrimitiveType type, int64_t m, int64_t n, int64_t k) {
  TestCase test = matrix_case(m, n, k, ROWS, ROWS, ROWS);
  test.operand_type = type;
  if (type != TYPE_BF16) test.type = TYPE_S32;
  return test;
}

/* Rows that are whole steps of the matrix unit are read where they are, the last tile's too; others are packed. */
static void contraction_in_the_matrix_unit_reads_rows_in_place(void **state) {
  (void)state;
  static const PrimitiveType types[] = {TYPE_S8, TYPE_U8, TYPE_BF16};
  Arena *arena = arena_create();
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    TestCase whole = narrow_case(types[i], 75, 100, 320), rest = narrow_case(types[i], 75, 100, 330);
    ContractionBlocking in_place = blocking_on(&whole, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
    assert_true(in_place.in_matrix_unit && in_place.lhs_in_place);
    assert_int_equal(in_place.row_stride, 320 / in_place.group);
    assert_false(blocking_on(&rest, "sapphirerapids", OWN_CACHE, INT64_MAX, arena).lhs_in_place);
    run_everywhere(&whole);
    run_everywhere(&rest);
  }
  arena_destroy(arena);
}

/* One factor stays in the first-level cache while the other passes it by; there is nothing to pass where all of it
 * stays. */
static void contraction_in_the_matrix_unit_lets_one_factor_pass(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = narrow_case(TYPE_S8, 1024, 1024, 1024);
  ContractionBlocking blocking = blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_int_equal(blocking.tiles_per_block, 1);
  assert_true(blocking.rhs_kept && blocking.rhs_passes_by && !blocking.lhs_passes_by);
  /* a whole row of tiles is larger than that cache, and all panels than the second: blocks of the depth of some panels,
   * packed before all rows go by them */
  TestCase deep = narrow_case(TYPE_BF16, 1024, 1024, 1024);
  blocking = blocking_on(&deep, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_true(blocking.tiles_per_block == 1 && blocking.block_count == 2 && blocking.rhs_kept);
  assert_true(blocking.rhs_passes_by && !blocking.lhs_passes_by);
  assert_in_range(blocking.panels_per_chunk * blocking.block_count * blocking.rhs_slot, 512 << 10, 1 << 20);
  TestCase small = narrow_case(TYPE_S8, 64, 64, 256);
  blocking = blocking_on(&small, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_true(!blocking.rhs_passes_by && !blocking.lhs_passes_by);
  test.checked_each = deep.checked_each = 997;
  if (has_matrix_unit()) run_limited(&test, expected_results(&test, arena), "sapphirerapids", INT64_MAX);
  if (has_matrix_unit()) run_limited(&deep, expected_results(&deep, arena), "sapphirerapids", INT64_MAX);
  arena_destroy(arena);
}

/* Panels that are kept are packed some rows of the rhs at a time, as many as end with a whole step of the matrix unit
 * where there are zeros after the last; others, and what is transposed, whole. */
static void contraction_packs_kept_panels_in_rows(void **state) {
  (void)state;
  static const struct {
    PrimitiveType type;
    int64_t depth, packed;
    bool transposed;
  } cases[] = {
      {TYPE_S8, 1024, 16, false}, {TYPE_S8, 1000, 64, false}, {TYPE_BF16, 488, 32, false}, {TYPE_S8, 1024, 1024, true}};
  Arena *arena = arena_create();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TestCase test = narrow_case(cases[i].type, 512, 512, cases[i].depth);
    if (cases[i].transposed) test.rhs = (Affine){0, {0, cases[i].depth, 1}};
    ContractionBlocking blocking = blocking_on(&test, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
    Builder builder;
    build_kernel(&builder, &test, arena);
    assert_true(blocking.rhs_kept);
    assert_int_equal(contraction_depth_packed(&builder.kernel, &blocking), cases[i].packed);
    test.checked_each = 97;
    if (has_matrix_unit()) run_limited(&test, expected_results(&test, arena), "sapphirerapids", INT64_MAX);
  }
  arena_destroy(arena);
}

/* Nearly as many chunks of rows as of columns: of bytes, each of rows would pack the rhs, while those of columns read
 * the lhs where it is.  What chunks repeat is nothing for 64 rows, so threads take several to be done at the same time;
 * of bytes they take one, and of 49 rows of a deep product from further away, whose panels are much to wait for. */
static void contraction_is_cut_where_chunks_repeat_little(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase bytes = narrow_case(TYPE_S8, 1024, 992, 1024), rows = matrix_case(64, 3072, 768, ROWS, ROWS, ROWS);
  TestCase deep = matrix_case(49, 512, 4608, ROWS, ROWS, ROWS);
  ContractionBlocking blocking = blocking_on(&bytes, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_true(blocking.lhs_in_place && !blocking.rhs_in_place);
  assert_int_equal(blocking.split, ROLE_COLUMNS);
  assert_int_equal(contraction_pieces(&blocking).count, blocking.panel_count);
  assert_int_equal(contraction_pieces(&blocking).chunks_per_worker, 1);
  blocking = blocking_on(&rows, "sapphirerapids", OWN_CACHE, INT64_MAX, arena);
  assert_int_equal(blocking.split, ROLE_COLUMNS);
  assert_int_equal(contraction_pieces(&blocking).chunks_per_worker, 4);
  blocking = blocking_on(&deep, "sapphirerapids", MEMORY, INT64_MAX, arena);
  assert_true(blocking.split == ROLE_COLUMNS && blocking.rhs_ahead);
  assert_int_equal(contraction_pieces(&blocking).chunks_per_worker, 1);
  bytes.checked_each = 997;
  if (has_matrix_unit()) run_limited(&bytes, expected_results(&bytes, arena), "sapphirerapids", INT64_MAX);
  arena_destroy(arena);
}

static void contraction_with_residual_is_right(void **state) {
  (void)state;
  TestCase test = matrix_case(33, 50, 40, ROWS, ROWS, ROWS);
  test.epilogue = RESIDUAL;
  test.bias = (Affine){0, {50, 1}};
  run_everywhere(&test);
}

/* result[b][h][m][d] = Σ lhs[b][m][k] × rhs[k][h][d]: rows and columns of several dims, transposed on the way out. */
static void contraction_with_split_columns_is_right(void **state) {
  (void)state;
  enum { B = 3, M = 11, H = 4, D = 20, K = 30 };
  TestCase test = {
      .name = "split columns", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, H, M, D, K}, 5 * sizeof(int64_t));
  test.lhs = (Affine){0, {M * K, 0, K, 0, 1}};
  test.rhs = (Affine){0, {0, D, 0, 1, H * D}};
  test.result = (Affine){0, {H * M * D, M * D, D, 1}};
  run_everywhere(&test);
}

static void contraction_in_batches_is_right(void **state) {
  (void)state;
  enum { B = 5, M = 17, N = 21, K = 33 };
  TestCase test = {.name = "batches", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, M, N, K}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {M * K, K, 0, 1}};
  test.rhs = (Affine){0, {K * N, 0, K, 1}};
  test.result = (Affine){0, {M * N, N, 1}};
  run_everywhere(&test);
}

/* Two contracted dims that no operand walks as one. */
static void contraction_over_two_dims_is_right(void **state) {
  (void)state;
  enum { M = 25, N = 40, P = 9, Q = 50 };
  TestCase test = {.name = "two dims", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 2, .inner_count = 2};
  memcpy(test.extents, (int64_t[]){M, N, P, Q}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {P * Q, 0, Q, 1}};
  test.rhs = (Affine){0, {0, 1, N, P * N}};
  test.result = (Affine){0, {N, 1}};
  run_everywhere(&test);
}

/* --- what is left to plain loops --- */

static void contraction_too_small_does_not_match(void **state) {
  (void)state;
  TestCase few = matrix_case(4, 4, 4, ROWS, ROWS, ROWS), vector = matrix_case(300, 1, 3, ROWS, ROWS, ROWS);
  vector.rhs = (Affine){0, {0, 0, 1}};
  vector.extents[1] = 1;
  vector.result = (Affine){0, {1, 0}};
  few.too_small = vector.too_small = true;
  run_everywhere(&few);
  run_everywhere(&vector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contraction_of_every_order_is_right),
      cmocka_unit_test(contraction_of_odd_sizes_is_right),
      cmocka_unit_test(contraction_in_blocks_of_everything_is_right),
      cmocka_unit_test(contraction_of_small_plain_matrices_is_in_place),
      cmocka_unit_test(contraction_with_a_rhs_that_passes_keeps_a_tile),
      cmocka_unit_test(contraction_as_deep_as_a_large_cache_is_one_block),
      cmocka_unit_test(contraction_with_a_small_rhs_from_afar_asks_ahead),
      cmocka_unit_test(contraction_that_packs_a_large_lhs_asks_ahead),
      cmocka_unit_test(contraction_packs_panels_by_its_first_tile),
      cmocka_unit_test(contraction_of_slow_multiplications_has_deep_blocks),
      cmocka_unit_test(contraction_with_few_rows_streams_whole_rows),
      cmocka_unit_test(contraction_with_few_rows_moves_sums_rarely),
      cmocka_unit_test(contraction_of_a_row_reads_runs_of_the_depth),
      cmocka_unit_test(contraction_of_a_lhs_across_its_grain_is_in_place),
      cmocka_unit_test(contraction_of_many_blocks_adds_up_in_the_result),
      cmocka_unit_test(contraction_with_an_overlapped_result_stores_it_once),
      cmocka_unit_test(contraction_of_whole_tiles_is_finished_in_registers),
      cmocka_unit_test(contraction_of_cut_panels_is_in_place),
      cmocka_unit_test(contraction_of_many_rows_packs_few_at_a_time),
      cmocka_unit_test(contraction_of_few_rows_is_right),
      cmocka_unit_test(contraction_along_the_depth_is_right),
      cmocka_unit_test(contraction_with_gaps_in_the_result_is_right),
      cmocka_unit_test(contraction_of_few_columns_is_right),
      cmocka_unit_test(contraction_of_other_types_is_right),
      cmocka_unit_test(contraction_with_a_last_tile_of_fewer_rows_is_right),
      cmocka_unit_test(contraction_of_narrow_integers_is_right),
      cmocka_unit_test(contraction_of_bf16_is_right),
      cmocka_unit_test(contraction_in_the_matrix_unit_reads_rows_in_place),
      cmocka_unit_test(contraction_in_the_matrix_unit_lets_one_factor_pass),
      cmocka_unit_test(contraction_packs_kept_panels_in_rows),
      cmocka_unit_test(contraction_is_cut_where_chunks_repeat_little),
      cmocka_unit_test(contraction_with_residual_is_right),
      cmocka_unit_test(contraction_with_split_columns_is_right),
      cmocka_unit_test(contraction_in_batches_is_right),
      cmocka_unit_test(contraction_over_two_dims_is_right),
      cmocka_unit_test(contraction_too_small_does_not_match),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
