/* Calls, loops, order, random bits, linear algebra, what cannot be evaluated. */
#include "hlo/eval/eval_testing.h"

#define LOOP_STATE "(s32[], s32[], s32[])"

/* Fibonacci: the body hands the second number on as the first one. */
#define FIBONACCI                                                                                        \
  "i = s32[] constant(0) a = s32[] constant(0) b = s32[] constant(1) s = " LOOP_STATE                    \
  " tuple(i, a, b) "                                                                                     \
  "w = " LOOP_STATE " while(s), condition={ s = " LOOP_STATE                                             \
  " parameter(0) i = s32[] get-tuple-element(s), index=0 "                                               \
  "n = s32[] constant(10) ROOT c = pred[] compare(i, n), direction=LT }, body={ s = " LOOP_STATE         \
  " parameter(0) "                                                                                       \
  "i = s32[] get-tuple-element(s), index=0 o = s32[] constant(1) j = s32[] add(i, o) "                   \
  "a = s32[] get-tuple-element(s), index=1 b = s32[] get-tuple-element(s), index=2 c = s32[] add(a, b) " \
  "ROOT t = " LOOP_STATE " tuple(j, b, c) } ROOT r = s32[] get-tuple-element(w), index=1"

static void control_flow(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {FIBONACCI, "55"},
      {"a = s32[2] constant({1,2}) b = s32[2] constant({3,4}) ROOT r = s32[2] map(a, b), dimensions={0}, "
       "to_apply={ x = s32[] parameter(0) y = s32[] parameter(1) m = s32[] multiply(x, y) ROOT s = s32[] add(m, x) }",
       "{4, 10}"},
      {"x = f32[4,2] iota(), iota_dimension=0 c = f32[2] constant({1, 10}) s = (f32[4,2], f32[2]) scan(x, c), "
       "dimensions={0}, "
       "num_carries=1, to_apply={ x = f32[2] parameter(0) c = f32[2] parameter(1) s = f32[2] add(x, c) "
       "ROOT t = (f32[2], f32[2]) tuple(c, s) } ROOT r = f32[4,2] get-tuple-element(s), index=0",
       "{ { 1, 10 }, { 1, 10 }, { 2, 11 }, { 4, 13 } }"},
      {"x = f32[] constant(1) t = token[] after-all() y = f32[] add-dependency(x, t) ROOT z = f32[] opt-barrier(y)",
       "1"},
  };
  CHECK_CASES(cases);
}

static void conditional_takes_the_last_branch_out_of_range(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {"HloModule m\nn { x = s32[] parameter(0) ROOT n = s32[] negate(x) }\nd { x = s32[] parameter(0) ROOT d = s32[] "
       "add(x, x) }\n"
       "ENTRY e { i = s32[] constant(-1) x = s32[] constant(5) "
       "ROOT r = s32[] conditional(i, x, x), branch_computations={n, d} }",
       "10"},
      {"HloModule m\nn { x = s32[] parameter(0) ROOT n = s32[] negate(x) }\nd { x = s32[] parameter(0) ROOT d = s32[] "
       "add(x, x) }\n"
       "ENTRY e { i = pred[] constant(true) x = s32[] constant(5) "
       "ROOT r = s32[] conditional(i, x, x), true_computation=n, false_computation=d }",
       "-5"},
  };
  CHECK_CASES(cases);
}

#define BEFORE(type, how) \
  "to_apply={ x = " type "[] parameter(0) y = " type "[] parameter(1) ROOT c = pred[] compare(x, y), " how " }"

static void sort_is_stable_and_total(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {"a = s32[5] constant({3, 1, 2, 1, 5}) ROOT r = s32[5] sort(a), dimensions={0}, " BEFORE("s32", "direction=LT"),
       "{1, 1, 2, 3, 5}"},
      {"a = s32[2,2] constant({{1, 2}, {0, 3}}) ROOT r = s32[2,2] sort(a), dimensions={0}, " BEFORE("s32",
                                                                                                    "direction=LT"),
       "{ { 0, 2 }, { 1, 3 } }"},
      {"a = f32[6] constant({nan, 0, -0.0, -nan, inf, -inf}) ROOT r = f32[6] sort(a), dimensions={0}, " BEFORE(
           "f32", "direction=LT, type=TOTALORDER"),
       "{-nan, -inf, -0.0, 0, inf, nan}"},
      {"a = s32[4] constant({1, 0, 1, 0}) i = s32[4] iota(), iota_dimension=0 s = (s32[4], s32[4]) sort(a, i), "
       "dimensions={0}, "
       "is_stable=true, to_apply={ x = s32[] parameter(0) y = s32[] parameter(1) p = s32[] parameter(2) "
       "q = s32[] parameter(3) ROOT c = pred[] compare(x, y), direction=GT } ROOT r = s32[4] get-tuple-element(s), "
       "index=1",
       "{0, 2, 1, 3}"},
      {"a = f32[5] constant({1, 9, 3, 9, 4}) t = (f32[2], s32[2]) topk(a), k=2, largest=true "
       "ROOT r = s32[2] get-tuple-element(t), index=1",
       "{1, 3}"},
  };
  CHECK_CASES(cases);
}

/* Known answers of Random123 (kat_vectors), and XLA's order of the outputs. */
static void random_bits_are_exact(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {"s = u64[2] constant({0, 0}) g = (u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_three_fry "
       "ROOT r = u32[2] get-tuple-element(g), index=1",
       "{1797259609, 2579123966}"}, /* 6b200159 99ba4efe */
      {"s = u64[2] constant({0, 0}) g = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_philox "
       "ROOT r = u32[4] get-tuple-element(g), index=1",
       "{1713891541, 3781805453, 3159862348, 2600524760}"}, /* 6627e8d5 e169c58d bc57ac4c 9b00dbd8 */
      {"s = u64[2] constant({7, 5}) g = (u64[2], u32[3,3]) rng-bit-generator(s), algorithm=rng_three_fry "
       "ROOT r = u64[2] get-tuple-element(g), index=0",
       "{7, 11}"},
      {"s = u64[2] constant({7, 5}) g = (u64[2], u64[3]) rng-bit-generator(s), algorithm=rng_philox "
       "ROOT r = u64[2] get-tuple-element(g), index=0",
       "{7, 7}"},
  };
  CHECK_CASES(cases);
}

static void transforms_and_factors(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {"a = c64[4] constant({(1, 0), (0, 0), (0, 0), (0, 0)}) ROOT r = c64[4] fft(a), fft_type=FFT, fft_length={4}",
       "{(1, 0), (1, 0), (1, 0), (1, 0)}"},
      {"a = f32[4] constant({1, 2, 3, 4}) ROOT r = c64[3] fft(a), fft_type=RFFT, fft_length={4}",
       "{(10, 0), (-2, 2), (-2, 0)}"},
      {"a = c64[3] constant({(10, 0), (-2, 2), (-2, 0)}) ROOT r = f32[4] fft(a), fft_type=IRFFT, fft_length={4}",
       "{1, 2, 3, 4}"},
      {"a = f32[2,2] constant({{4, 2}, {2, 10}}) ROOT r = f32[2,2] cholesky(a), lower=true", "{ { 2, 0 }, { 1, 3 } }"},
      {"a = f32[2,2] constant({{4, 2}, {2, 10}}) ROOT r = f32[2,2] cholesky(a), lower=false", "{ { 2, 1 }, { 0, 3 } }"},
      {"a = f32[2,2] constant({{4, 8}, {2, 0}}) c = (f32[2,2], s32[]) custom-call(a), "
       "custom_call_target=\"lapack_spotrf_ffi\", "
       "api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8} ROOT i = s32[] get-tuple-element(c), "
       "index=1",
       "2"},
      {"a = f32[2,2] constant({{2, 7}, {1, 3}}) b = f32[2,1] constant({{4}, {8}}) ROOT r = f32[2,1] "
       "triangular-solve(a, b), "
       "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE",
       "{ {2}, {2} }"},
      {"a = f32[2,2] constant({{2, 7}, {1, 3}}) b = f32[1,2] constant({{4, 6}}) ROOT r = f32[1,2] triangular-solve(a, "
       "b), "
       "left_side=false, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE",
       "{ { 1, 2 } }"},
      {"a = f32[2,1] constant({{1}, {3}}) s = f32[1] constant({2}) o = f32[1] constant({5}) "
       "b = (f32[2,1], f32[1], f32[1]) batch-norm-training(a, s, o), epsilon=0, feature_index=1 "
       "ROOT r = f32[2,1] get-tuple-element(b), index=0",
       "{ {3}, {7} }"},
  };
  CHECK_CASES(cases);
}

static void one_device_talks_to_itself(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {"a = f32[2] constant({1, 2}) ROOT r = f32[2] all-reduce(a), to_apply={ x = f32[] parameter(0) y = f32[] "
       "parameter(1) "
       "ROOT s = f32[] add(x, y) }",
       "{1, 2}"},
      {"a = f32[2] constant({1, 2}) ROOT r = f32[2] collective-permute(a), source_target_pairs={}", "{0, 0}"},
      {"a = f32[2] constant({1, 2}) ROOT r = f32[2] collective-permute(a), source_target_pairs={{0,1}}",
       "!on more than one device"},
      {"ROOT r = u32[] replica-id()", "0"},
      {"HloModule m, replica_count=2\nENTRY e { ROOT r = u32[] replica-id() }", "!on more than one device"},
      {"a = f32[2] constant({1, 2}) ROOT r = f32[2] custom-call(a), custom_call_target=\"unheard_of\", "
       "api_version=API_VERSION_TYPED_FFI",
       "!'unheard_of'"},
      {"ROOT r = f32[2] constant({...})", "!has no value"},
      {"a = f32[9000000000,9] iota(), iota_dimension=0 ROOT r = f32[] constant(1)", "!too large"},
  };
  CHECK_CASES(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(control_flow),
      cmocka_unit_test(conditional_takes_the_last_branch_out_of_range),
      cmocka_unit_test(sort_is_stable_and_total),
      cmocka_unit_test(random_bits_are_exact),
      cmocka_unit_test(transforms_and_factors),
      cmocka_unit_test(one_device_talks_to_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
