/* Data movement: fixed, computed and indexed places. */
#include "hlo/eval/eval_testing.h"

#define MATRIX "a = s32[2,3] constant({{1,2,3},{4,5,6}}) "
#define VECTOR "a = s32[5] constant({1,2,3,4,5}) "

static void fixed_places(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {MATRIX "ROOT r = s32[3,2] reshape(a)", "{ { 1, 2 }, { 3, 4 }, { 5, 6 } }"},
      {MATRIX "ROOT r = s32[3,2] transpose(a), dimensions={1,0}", "{ { 1, 4 }, { 2, 5 }, { 3, 6 } }"},
      {"a = s32[2] constant({1,2}) ROOT r = s32[2,3] broadcast(a), dimensions={0}", "{ { 1, 1, 1 }, { 2, 2, 2 } }"},
      {"a = s32[] constant(7) ROOT r = s32[2,0] broadcast(a), dimensions={}", "{ {}, {} }"},
      {MATRIX "ROOT r = s32[2,3] reverse(a), dimensions={1}", "{ { 3, 2, 1 }, { 6, 5, 4 } }"},
      {VECTOR "ROOT r = s32[2] slice(a), slice={[1:5:3]}", "{2, 5}"},
      {VECTOR "p = s32[] constant(0) ROOT r = s32[9] pad(a, p), padding=1_-1_1", "{0, 1, 0, 2, 0, 3, 0, 4, 0}"},
      {VECTOR "p = s32[] constant(0) ROOT r = s32[3] pad(a, p), padding=-2_0", "{3, 4, 5}"},
      {VECTOR "p = s32[] constant(9) ROOT r = s32[6] pad(a, p), padding=-3_-1_1", "{9, 3, 9, 4, 9, 5}"},
      {MATRIX "b = s32[2,1] constant({{7},{8}}) ROOT r = s32[2,4] concatenate(a, b), dimensions={1}",
       "{ { 1, 2, 3, 7 }, { 4, 5, 6, 8 } }"},
      {"ROOT r = f32[2,3] iota(), iota_dimension=1", "{ { 0, 1, 2 }, { 0, 1, 2 } }"},
      {"ROOT r = s4[10] iota(), iota_dimension=0", "{0, 1, 2, 3, 4, 5, 6, 7, -8, -7}"},
  };
  CHECK_CASES(cases);
}

static void layouts_matter_to_bitcast_alone(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {MATRIX "c = s32[2,3]{0,1} copy(a) ROOT r = s32[2,3]{0,1} negate(c)", "{ { -1, -2, -3 }, { -4, -5, -6 } }"},
      {MATRIX "c = s32[2,3]{0,1} copy(a) ROOT r = s32[3,2]{1,0} bitcast(c)", "{ { 1, 4 }, { 2, 5 }, { 3, 6 } }"},
      {MATRIX "ROOT r = s32[3,2]{0,1} bitcast(a)", "{ { 1, 4 }, { 2, 5 }, { 3, 6 } }"},
      {MATRIX "ROOT r = s32[6] bitcast(a)", "{1, 2, 3, 4, 5, 6}"},
      {"a = f32[2,2] constant({{1, 2}, {3, 4}}) ROOT r = s32[2,2]{0,1} bitcast(a)",
       "{ { 1065353216, 1077936128 }, { 1073741824, 1082130432 } }"},
  };
  CHECK_CASES(cases);
}

static void computed_places_are_clamped(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {VECTOR "i = s32[] constant(4) ROOT r = s32[2] dynamic-slice(a, i), dynamic_slice_sizes={2}", "{4, 5}"},
      {VECTOR "i = s32[] constant(-9) ROOT r = s32[2] dynamic-slice(a, i), dynamic_slice_sizes={2}", "{1, 2}"},
      {VECTOR "i = u64[] constant(18446744073709551615) ROOT r = s32[2] dynamic-slice(a, i), dynamic_slice_sizes={2}",
       "{4, 5}"},
      {VECTOR "u = s32[2] constant({8,9}) i = u8[] constant(200) ROOT r = s32[5] dynamic-update-slice(a, u, i)",
       "{1, 2, 3, 8, 9}"},
      {VECTOR "n = s32[] constant(3) d = s32[<=5] set-dimension-size(a, n), dimensions={0} z = s32[] constant(0) "
              "ROOT r = s32[] reduce(d, z), dimensions={0}, "
              "to_apply={ x = s32[] parameter(0) y = s32[] parameter(1) ROOT s = s32[] add(x, y) }",
       "6"},
  };
  CHECK_CASES(cases);
}

#define GATHER_ROWS \
  "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}"
#define SCATTER_ROWS                                                                                         \
  "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, " \
  "to_apply={ x = s32[] parameter(0) y = s32[] parameter(1) ROOT s = s32[] subtract(x, y) }"

static void indexed_places_are_clamped_or_dropped(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {MATRIX "i = s32[3,1] constant({{1},{-5},{9}}) ROOT r = s32[3,3] gather(a, i), " GATHER_ROWS,
       "{ { 4, 5, 6 }, { 1, 2, 3 }, { 4, 5, 6 } }"},
      {MATRIX "i = s32[2,2] constant({{0,0},{1,2}}) ROOT r = s32[2,2] gather(a, i), offset_dims={1}, "
              "collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2}",
       "{ { 1, 2 }, { 5, 6 } }"},
      {MATRIX
       "i = s32[2,1] constant({{2},{0}}) ROOT r = s32[2] gather(a, i), offset_dims={}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
       "slice_sizes={1,1}",
       "{3, 4}"},
      {MATRIX "i = s32[3,1] constant({{1},{2},{1}}) u = s32[3,3] constant({{1,1,1},{5,5,5},{2,2,2}}) "
              "ROOT r = s32[2,3] scatter(a, i, u), " SCATTER_ROWS,
       "{ { 1, 2, 3 }, { 1, 2, 3 } }"},
      /* A window of two that begins at the last element goes as a whole. */
      {VECTOR "i = s32[2,1] constant({{4},{0}}) u = s32[2,2] constant({{10,10},{20,20}}) "
              "ROOT r = s32[5] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={}, "
              "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
              "to_apply={ x = s32[] parameter(0) ROOT y = s32[] parameter(1) }",
       "{20, 20, 3, 4, 5}"},
  };
  CHECK_CASES(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_places),
      cmocka_unit_test(layouts_matter_to_bitcast_alone),
      cmocka_unit_test(computed_places_are_clamped),
      cmocka_unit_test(indexed_places_are_clamped_or_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
