/* Sums: reductions, windows, products, convolutions, scans. */
#include "hlo/eval/eval_testing.h"

#define REGION(type, op) \
  "to_apply={ x = " type "[] parameter(0) y = " type "[] parameter(1) ROOT s = " type "[] " op "(x, y) }"
#define VECTOR "a = s32[5] constant({1,2,3,4,5}) z = s32[] constant(10) "
#define MATRIX "a = s32[2,3] constant({{1,2,3},{4,5,6}}) "

static void reduce_folds_in_order(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {VECTOR "ROOT r = s32[] reduce(a, z), dimensions={0}, " REGION("s32", "add"), "25"},
      {VECTOR "ROOT r = s32[] reduce(a, z), dimensions={0}, " REGION("s32", "subtract"), "-5"},
      {MATRIX "z = s32[] constant(0) ROOT r = s32[3] reduce(a, z), dimensions={0}, " REGION("s32", "add"), "{5, 7, 9}"},
      {MATRIX "z = s32[] constant(0) ROOT r = s32[2] reduce(a, z), dimensions={1}, " REGION("s32", "maximum"),
       "{3, 6}"},
      {"a = s32[0,2] constant({}) z = s32[] constant(3) ROOT r = s32[2] reduce(a, z), dimensions={0}, " REGION("s32",
                                                                                                               "add"),
       "{3, 3}"},
      /* Rounded after every step it would stay at 256. */
      {"a = bf16[] constant(1) b = bf16[512] broadcast(a), dimensions={} z = bf16[] constant(0) "
       "ROOT r = bf16[] reduce(b, z), dimensions={0}, " REGION("bf16", "add"),
       "512"},
      /* Narrower floats are: 8 + 1 lies between 8 and 10, and 8 is even (XLA:CPU, too). */
      {"a = f8e5m2[] constant(1) b = f8e5m2[17] broadcast(a), dimensions={} z = f8e5m2[] constant(0) "
       "ROOT r = f8e5m2[] reduce(b, z), dimensions={0}, " REGION("f8e5m2", "add"),
       "8"},
      {"a = pred[3] constant({1, 1, 0}) z = pred[] constant(true) ROOT r = pred[] reduce(a, z), "
       "dimensions={0}, " REGION("pred", "and"),
       "false"},
      {VECTOR "i = s32[5] iota(), iota_dimension=0 ROOT r = (s32[], s32[]) reduce(a, i, z, z), dimensions={0}, "
              "to_apply={ x = s32[] parameter(0) p = s32[] parameter(1) y = s32[] parameter(2) q = s32[] parameter(3) "
              "m = s32[] minimum(x, y) n = s32[] add(p, q) ROOT t = (s32[], s32[]) tuple(m, n) }",
       "( 1, 20 )"},
  };
  CHECK_CASES(cases);
}

static void windows_leave_padding_out(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {VECTOR "ROOT r = s32[5] reduce-window(a, z), window={size=3 pad=1_1}, " REGION("s32", "add"),
       "{13, 16, 19, 22, 19}"},
      {VECTOR "ROOT r = s32[5] reduce-window(a, z), window={size=5 pad=4_0}, " REGION("s32", "add"),
       "{11, 13, 16, 20, 25}"},
      {VECTOR "ROOT r = s32[5] reduce-window(a, z), window={size=5 pad=0_4}, " REGION("s32", "add"),
       "{25, 24, 22, 19, 15}"},
      {VECTOR "ROOT r = s32[3] reduce-window(a, z), window={size=2 rhs_dilate=2}, " REGION("s32", "add"),
       "{14, 16, 18}"},
      {VECTOR "ROOT r = s32[8] reduce-window(a, z), window={size=2 lhs_dilate=2}, " REGION("s32", "add"),
       "{11, 12, 12, 13, 13, 14, 14, 15}"},
      {VECTOR "s = s32[2] constant({7, 8}) ROOT r = s32[5] select-and-scatter(a, s, z), window={size=2 stride=2}, "
              "select={ x = s32[] parameter(0) y = s32[] parameter(1) ROOT g = pred[] compare(x, y), direction=GE }, "
              "scatter={ x = s32[] parameter(0) y = s32[] parameter(1) ROOT s = s32[] add(x, y) }",
       "{10, 17, 10, 18, 10}"},
  };
  CHECK_CASES(cases);
}

static void products_sum_and_wrap(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {MATRIX
       "b = s32[3] constant({1, 0, -1}) ROOT r = s32[2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
       "{-2, -2}"},
      {MATRIX "ROOT r = s32[2,2] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
       "{ { 14, 32 }, { 32, 77 } }"},
      {MATRIX "ROOT r = s32[2] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
              "rhs_contracting_dims={1}",
       "{14, 77}"},
      {"a = s8[2] constant({100, 100}) ROOT r = s32[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
       "20000"},
      {"a = s8[2] constant({100, 100}) ROOT r = s8[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
       "32"},
      {"a = c64[1] constant({(0, 1)}) ROOT r = c64[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
       "(-1, 0)"},
      {"a = f32[3,1] constant({{1},{2},{3}}) b = f32[2,1,1] constant({{{10}},{{100}}}) g = s32[2] constant({1, 2}) "
       "ROOT r = f32[3,1] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
       "lhs_ragged_dims={0}, "
       "rhs_group_dims={0}",
       "{ {10}, {200}, {300} }"},
  };
  CHECK_CASES(cases);
}

#define PRODUCT " lhs_contracting_dims={0}, rhs_contracting_dims={0}"

/* Factors become the widest of the three types, the sum is rounded to it and then converted: XLA:CPU's numbers. */
static void products_have_the_widest_type(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {"a = bf16[2] constant({1.5, 2.5}) ROOT r = s32[] dot(a, a)," PRODUCT, "8"},
      {"a = f32[1,2] constant({{1.5, 2.5}}) b = f32[2,1] constant({{1.5}, {2.5}}) "
       "ROOT r = s32[1,1] convolution(a, b), dim_labels=bf_io->bf",
       "{ {8} }"},
      {"a = bf16[2] constant({16, 1}) b = bf16[2] constant({16, 1}) ROOT r = s32[] dot(a, b)," PRODUCT, "256"},
      {"a = f32[2] constant({1.5, 2.5}) b = s32[2] constant({3, -1}) ROOT r = pred[] dot(a, b)," PRODUCT, "true"},
      {"a = f32[2] constant({1.5, 2.5}) b = s32[2] constant({3, -1}) ROOT r = u8[] dot(a, b)," PRODUCT, "2"},
      {"a = s32[2] constant({100000, 0}) b = s32[2] constant({1, 0}) ROOT r = f16[] dot(a, b)," PRODUCT, "inf"},
      {"a = s32[2] constant({300, 1}) b = pred[2] constant({true, true}) ROOT r = s8[] dot(a, b)," PRODUCT, "45"},
      {"a = c64[2] constant({(1, 2), (0, 1)}) b = s8[2] constant({2, 3}) ROOT r = f32[] dot(a, b)," PRODUCT, "2"},
      {"a = c64[2] constant({(1, 2), (0, 1)}) b = f64[2] constant({2, 3}) ROOT r = c128[] dot(a, b)," PRODUCT,
       "(2, 7)"},
  };
  CHECK_CASES(cases);
}

#define SIGNAL "a = s32[1,5,1] constant({{{1},{2},{3},{4},{5}}}) k = s32[2,1,1] constant({{{1}},{{10}}}) "
#define AS_ROW(count) " s = s32[" count "] reshape(c) ROOT r = s32[" count "] negate(s)"

static void convolution_slides_dilates_and_groups(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {SIGNAL "c = s32[1,4,1] convolution(a, k), window={size=2}, dim_labels=b0f_0io->b0f" AS_ROW("4"),
       "{-21, -32, -43, -54}"},
      {SIGNAL "c = s32[1,3,1] convolution(a, k), window={size=2 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f" AS_ROW("3"),
       "{-10, -32, -54}"},
      {SIGNAL "c = s32[1,3,1] convolution(a, k), window={size=2 rhs_dilate=2}, dim_labels=b0f_0io->b0f" AS_ROW("3"),
       "{-31, -42, -53}"},
      {SIGNAL "c = s32[1,8,1] convolution(a, k), window={size=2 lhs_dilate=2}, dim_labels=b0f_0io->b0f" AS_ROW("8"),
       "{-1, -20, -2, -30, -3, -40, -4, -50}"},
      {SIGNAL "c = s32[1,4,1] convolution(a, k), window={size=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f" AS_ROW("4"),
       "{-12, -23, -34, -45}"},
      {"a = s32[1,2,2] constant({{{1,2},{3,4}}}) k = s32[1,1,2] constant({{{10,100}}}) c = s32[1,2,2] convolution(a, "
       "k), "
       "window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=2" AS_ROW("4"),
       "{-10, -200, -30, -400}"},
      {"a = s32[2,1,1] constant({{{1}},{{2}}}) k = s32[1,1,2] constant({{{10,100}}}) c = s32[1,1,2] convolution(a, k), "
       "window={size=1}, dim_labels=b0f_0io->b0f, batch_group_count=2" AS_ROW("2"),
       "{-10, -200}"},
  };
  CHECK_CASES(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reduce_folds_in_order),
      cmocka_unit_test(windows_leave_padding_out),
      cmocka_unit_test(products_sum_and_wrap),
      cmocka_unit_test(products_have_the_widest_type),
      cmocka_unit_test(convolution_slides_dilates_and_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
