/* Contractions that are convolutions: patches of an image, guarded where it ends. */
#include "codegen/blocks/contraction_testing.h"

typedef struct ConvolutionShape {
  int64_t size, channels, features, window, stride, pad, dilation, base_dilation;
} ConvolutionShape;

/* NHWC, HWIO; square, batch 2: dims n, y, x, feature; window y, x, channel. */
static TestCase convolution_case(const ConvolutionShape *s) {
  int64_t span = (s->size - 1) * s->base_dilation + 1, reach = (s->window - 1) * s->dilation + 1;
  int64_t out = (span + 2 * s->pad - reach) / s->stride + 1, c = s->channels, f = s->features;
  TestCase test = {
      .name = "convolution", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 3};
  memcpy(test.extents, (int64_t[]){2, out, out, f, s->window, s->window, c}, 7 * sizeof(int64_t));
  test.lhs = (Affine){-s->pad * (s->size + 1) * c,
                      {s->size * s->size * c, s->stride * s->size * c, s->stride * c, 0, s->dilation * s->size * c,
                       s->dilation * c, 1}};
  test.lhs.steps[MAX_TEST_DIMS - 1] = 2 * s->size * s->size * c;
  test.rhs = (Affine){0, {0, 0, 0, 1, s->window * c * f, c * f, f}};
  test.result = (Affine){0, {out * out * f, out * f, f, 1}};
  test.guard_count = 2;
  test.guards[0] = (Guard){{-s->pad, {0, s->stride, 0, 0, s->dilation, 0, 0}}, span, 0};
  test.guards[1] = (Guard){{-s->pad, {0, 0, s->stride, 0, 0, s->dilation, 0}}, span, 0};
  return test;
}

/* The later ones: tiles are rows of the image, blocks of the depth lie in rows of the window; the last ones: tiles
 * whose rows overlap, with one and with several rows of the window in a block. */
static void contraction_of_convolutions_is_right(void **state) {
  (void)state;
  static const ConvolutionShape shapes[] = {
      {9, 16, 24, 3, 1, 1, 1, 1},  {12, 3, 20, 5, 2, 2, 1, 1},  {10, 40, 33, 3, 1, 2, 2, 1},
      {7, 130, 16, 3, 2, 1, 1, 1}, {6, 5, 7, 3, 1, 1, 1, 1},    {18, 3, 24, 7, 2, 3, 1, 1},
      {8, 2, 16, 3, 1, 3, 1, 1},   {14, 110, 9, 3, 1, 1, 1, 1}, {10, 110, 9, 3, 1, 3, 1, 1},
      {7, 110, 9, 3, 1, 2, 2, 1},  {28, 3, 40, 7, 2, 3, 1, 1},  {28, 20, 33, 3, 2, 1, 1, 1},
      {12, 33, 20, 5, 1, 2, 1, 1}, {14, 1, 40, 5, 1, 0, 1, 1},  {13, 8, 40, 7, 1, 6, 3, 1},
      {28, 3, 32, 3, 2, 1, 1, 1},  {28, 4, 24, 3, 1, 1, 1, 1},  {20, 96, 32, 3, 1, 1, 1, 1},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    TestCase test = convolution_case(&shapes[i]);
    test.checked_each = shapes[i].channels > 100 ? 11 : 0;
    run_everywhere(&test);
    test.epilogue = RESIDUAL;
    test.bias = test.result;
    run_everywhere(&test);
    test.epilogue = BIAS_MAX;
    test.bias = (Affine){0, {0, 0, 0, 1}};
    run_everywhere(&test);
    test.type = TYPE_S32;
    test.operand_type = TYPE_S8;
    run_everywhere(&test);
    test.type = TYPE_F32;
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
}

/* The micro-kernel walks the window where a processor multiplies one long register in a cycle: one, and several blocks
 * of the depth; windows that reach over the image on all sides, on none, by more than a column, with gaps. */
static void contraction_that_walks_a_window_is_right(void **state) {
  (void)state;
  static const struct {
    ConvolutionShape shape;
    int64_t blocks;
  } cases[] = {
      {{28, 32, 64, 3, 1, 1, 1, 1}, 1}, {{28, 128, 128, 3, 1, 1, 1, 1}, 3}, {{32, 64, 64, 3, 1, 0, 1, 1}, 1},
      {{28, 32, 64, 5, 1, 2, 1, 1}, 1}, {{28, 32, 64, 3, 1, 2, 2, 1}, 1},   {{28, 64, 128, 3, 2, 1, 1, 1}, 1},
  };
  Arena *arena = arena_create();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TestCase test = convolution_case(&cases[i].shape);
    test.checked_each = 13;
    ContractionBlocking blocking = blocking_on(&test, "znver4", OWN_CACHE, INT64_MAX, arena);
    assert_true(blocking.walks_window);
    assert_true(blocking_on(&test, "haswell", OWN_CACHE, INT64_MAX, arena).walks_window);
    assert_int_equal(blocking.block_count, cases[i].blocks);
    static const Epilogue epilogues[] = {PLAIN, RESIDUAL, BIAS_MAX};
    for (size_t e = 0; e < sizeof epilogues / sizeof *epilogues; e++) {
      test.epilogue = epilogues[e];
      test.bias = epilogues[e] == BIAS_MAX ? (Affine){0, {0, 0, 0, 1}} : test.result;
      run_on_long_registers(&test, "znver4");
    }
    test.type = test.operand_type = TYPE_F64;
    run_on_long_registers(&test, "znver4");
  }
  arena_destroy(arena);
}

/* Of fourteen patches seven come to one set of a cache: they are read where they are at steps that take long, so that
 * what lies outside of the image costs nothing. */
static void contraction_reads_patches_that_nearly_meet(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = convolution_case(&(ConvolutionShape){28, 256, 256, 3, 2, 1, 1, 1});
  ContractionBlocking slow = blocking_on(&test, "znver4", OWN_CACHE, INT64_MAX, arena);
  assert_true(slow.cut && slow.tile_rows == 14);
  ContractionBlocking fast = blocking_on(&test, "x86-64-v4", OWN_CACHE, INT64_MAX, arena);
  assert_true(!fast.lhs_by_tiles || fast.tile_rows < 14);
  test.checked_each = 13;
  run_on_long_registers(&test, "znver4");
  arena_destroy(arena);
}

/* Results that no cache of the core's own keeps are asked for ahead, of weights that stay there nothing is, even in a
 * module that leaves these caches. */
static void contraction_of_few_channels_asks_for_results(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = convolution_case(&(ConvolutionShape){224, 3, 64, 7, 2, 3, 1, 1});
  ContractionBlocking blocking = blocking_on(&test, "znver4", MEMORY, INT64_MAX, arena);
  assert_true(contraction_strip_gap(&blocking) > 0 && !blocking.rhs_ahead);
  assert_true(blocking.result_lines > 0);
  arena_destroy(arena);
}

typedef struct ChannelMajorShape {
  int64_t size, channels, features, window, stride, pad, dilation;
} ChannelMajorShape;

/* NCHW, OIHW; square, batch 2: dims n, feature, y, x; window y, x, channel. */
static TestCase channel_major_case(const ChannelMajorShape *s) {
  int64_t size = s->size, window = s->window, stride = s->stride, plane = size * size, c = s->channels;
  int64_t out = (size + 2 * s->pad - (window - 1) * s->dilation - 1) / stride + 1, f = s->features;
  TestCase test = {
      .name = "channel-major", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 3};
  memcpy(test.extents, (int64_t[]){2, f, out, out, window, window, c}, 7 * sizeof(int64_t));
  test.lhs =
      (Affine){-s->pad * (size + 1), {plane * c, 0, stride * size, stride, s->dilation * size, s->dilation, plane}};
  test.lhs.steps[MAX_TEST_DIMS - 1] = 2 * plane * c;
  test.rhs = (Affine){0, {0, c * window * window, 0, 0, window, 1, window * window}};
  test.result = (Affine){0, {f * out * out, out * out, out, 1}};
  test.guard_count = window > 1 ? 2 : 0;
  test.guards[0] = (Guard){{-s->pad, {0, 0, stride, 0, s->dilation, 0, 0}}, size, 0};
  test.guards[1] = (Guard){{-s->pad, {0, 0, 0, stride, 0, s->dilation, 0}}, size, 0};
  return test;
}

/* Of few features the positions are the columns, guarded lane by lane. */
static void contraction_of_channel_major_convolution_is_right(void **state) {
  (void)state;
  static const ChannelMajorShape shapes[] = {{14, 6, 10, 3, 1, 1, 1}, {14, 6, 10, 3, 2, 1, 1}, {27, 6, 10, 3, 2, 1, 1},
                                             {32, 6, 10, 7, 2, 3, 1}, {39, 6, 10, 5, 2, 2, 1}, {16, 6, 10, 3, 1, 1, 1},
                                             {24, 6, 10, 1, 2, 0, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    TestCase test = channel_major_case(&shapes[i]);
    run_everywhere(&test);
  }
}

/* Of more, features are the columns, and sums are transposed: patches that begin and end outside of the image on all
 * sides, windows as large as it is, tiles of all and of a part of a row. */
static void contraction_of_turned_convolution_is_right(void **state) {
  (void)state;
  static const ChannelMajorShape shapes[] = {
      {14, 40, 32, 3, 1, 1, 1}, {28, 33, 48, 3, 1, 1, 1}, {7, 64, 70, 3, 1, 1, 1},  {14, 20, 35, 5, 1, 2, 1},
      {28, 16, 64, 5, 2, 2, 1}, {56, 3, 64, 7, 2, 3, 1},  {13, 24, 40, 3, 1, 2, 2}, {9, 50, 33, 3, 1, 0, 1},
      {5, 40, 64, 5, 1, 4, 1},  {12, 30, 32, 2, 2, 0, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    TestCase test = channel_major_case(&shapes[i]);
    test.checked_each = 5;
    run_everywhere(&test);
    test.epilogue = BIAS_MAX;
    test.bias = (Affine){0, {0, 1}};
    run_everywhere(&test);
    test.type = test.operand_type = TYPE_F64;
    run_everywhere(&test);
  }
}

typedef struct WeightGradientShape {
  int64_t size, channels, features, window;
} WeightGradientShape;

/* The gradient of an NHWC convolution's weights, the image as large as the result, batch 2: dims window y, x, channel,
 * feature; n, y, x. */
static TestCase weight_gradient_case(const WeightGradientShape *s) {
  int64_t size = s->size, plane = size * size, window = s->window, pad = window / 2, c = s->channels, f = s->features;
  TestCase test = {
      .name = "weight gradient", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 3};
  memcpy(test.extents, (int64_t[]){window, window, c, f, 2, size, size}, 7 * sizeof(int64_t));
  test.lhs = (Affine){-pad * (size + 1) * c, {size * c, c, 1, 0, plane * c, size * c, c}};
  test.lhs.steps[MAX_TEST_DIMS - 1] = 2 * plane * c;
  test.rhs = (Affine){0, {0, 0, 0, 1, plane * f, size * f, f}};
  test.result = (Affine){0, {window * c * f, c * f, f, 1}};
  test.guard_count = 2;
  test.guards[0] = (Guard){{-pad, {1, 0, 0, 0, 0, 1, 0}}, size, 0};
  test.guards[1] = (Guard){{-pad, {0, 1, 0, 0, 0, 0, 1}}, size, 0};
  return test;
}

/* Rows are contiguous in parts, those of one place in the window, and begin anywhere in them in each piece. */
static void contraction_of_weight_gradients_is_right(void **state) {
  (void)state;
  static const WeightGradientShape shapes[] = {{10, 16, 24, 3}, {10, 8, 40, 3}, {10, 12, 16, 3}, {10, 32, 9, 3}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    TestCase test = weight_gradient_case(&shapes[i]);
    run_everywhere(&test);
  }
}

/* Rows that are packed in squares come in blocks of whole squares, with few bytes in smaller tiles: of a tile of 14
 * rows none would be packed in squares of 16. */
static void blocks_of_weight_gradients_are_whole_squares(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase test = weight_gradient_case(&(WeightGradientShape){32, 16, 32, 5});
  static const int64_t most_scratch[] = {INT64_MAX, 4096};
  for (size_t i = 0; i < sizeof most_scratch / sizeof *most_scratch; i++) {
    ContractionBlocking blocking = blocking_on(&test, "znver4", OWN_CACHE, most_scratch[i], arena);
    assert_true(blocking.lhs_transposes && contraction_scratch_bytes(&blocking) <= most_scratch[i]);
    assert_int_equal(blocking.tiles_per_block * blocking.tile_rows % blocking.lanes, 0);
  }
  arena_destroy(arena);
}

/* A phase of a dilated image, the second, meets only one of two taps: blocks of the depth are single taps, so that the
 * other one costs nothing.  Dims phase, position, feature; tap, channel. */
static void contraction_leaves_out_taps_of_a_phase(void **state) {
  (void)state;
  enum { POSITIONS = 392, C = 64, F = 32 };
  TestCase test = {.name = "phases", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 2};
  memcpy(test.extents, (int64_t[]){2, POSITIONS, F, 2, C}, 5 * sizeof(int64_t));
  test.lhs = (Affine){0, {C, C, 0, C, 1}};
  test.lhs.steps[MAX_TEST_DIMS - 1] = (POSITIONS + 2) * C;
  test.rhs = (Affine){0, {2 * C * F, 0, 1, C * F, F}};
  test.result = (Affine){0, {POSITIONS * F, F, 1}};
  test.guard_count = 1;
  test.guards[0] = (Guard){{0, {1, 0, 0, 2, 0}}, 3, 0};
  test.checked_each = 7;
  run_everywhere(&test);
  Arena *arena = arena_create();
  ContractionBlocking blocking = blocking_on(&test, "znver4", OWN_CACHE, INT64_MAX, arena);
  assert_int_equal(blocking.block_depth, C);
  assert_int_equal(blocking.common_guard_count, 1);
  assert_true(blocking.common_share == .75);
  arena_destroy(arena);
}

/* A few positions with many weights, or a few features of many positions, are no product of matrices of a few rows: on
 * a processor that multiplies one register in a cycle, they have the tiles that they have elsewhere. */
static void contraction_of_patches_has_usual_tiles(void **state) {
  (void)state;
  Arena *arena = arena_create();
  TestCase tests[] = {convolution_case(&(ConvolutionShape){3, 256, 256, 3, 1, 1, 1, 1}),
                      channel_major_case(&(ChannelMajorShape){120, 3, 18, 3, 1, 1, 1})};
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    ContractionBlocking slow = blocking_on(&tests[i], "znver4", LAST_CACHE, INT64_MAX, arena);
    ContractionBlocking fast = blocking_on(&tests[i], "znver5", LAST_CACHE, INT64_MAX, arena);
    assert_int_equal(slow.rows.size, 18);
    assert_int_equal(slow.tile_rows, fast.tile_rows);
    assert_int_equal(slow.panel_vectors, fast.panel_vectors);
    assert_int_equal(slow.block_depth, fast.block_depth);
    assert_int_equal(contraction_scratch_bytes(&slow), contraction_scratch_bytes(&fast));
  }
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contraction_of_convolutions_is_right),
      cmocka_unit_test(contraction_that_walks_a_window_is_right),
      cmocka_unit_test(contraction_reads_patches_that_nearly_meet),
      cmocka_unit_test(contraction_of_few_channels_asks_for_results),
      cmocka_unit_test(contraction_of_channel_major_convolution_is_right),
      cmocka_unit_test(contraction_of_turned_convolution_is_right),
      cmocka_unit_test(contraction_of_weight_gradients_is_right),
      cmocka_unit_test(blocks_of_weight_gradients_are_whole_squares),
      cmocka_unit_test(contraction_leaves_out_taps_of_a_phase),
      cmocka_unit_test(contraction_of_patches_has_usual_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
