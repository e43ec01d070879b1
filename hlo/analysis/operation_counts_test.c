/* Counts against XLA's cost analysis of the same modules (jax.jit(f).lower(...).cost_analysis()), and against formulas
 * where they differ by design. */
#include "hlo/analysis/operation_counts.h"

#include "hlo/analysis/analysis_testing.h"

#define ADDITION "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
#define LARGER "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] maximum(a, b)\n}\n"

static OperationCounts counts_of(Fixture *fixture, const char *text, int64_t *out_unknown_loops) {
  return module_operation_counts(read_module(fixture, text), out_unknown_loops);
}

static void one_instruction_counts_as_xla_says(void **state) {
  static const struct {
    const char *entry;
    double flops, transcendentals, bytes;
  } cases[] = {
      /* 2·64·32·128 */
      {"a = f32[64,128] parameter(0)\n  b = f32[128,32] parameter(1)\n  ROOT r = f32[64,32] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
       524288, 0, 57344},
      {"a = f32[64,32] parameter(0)\n  ROOT r = f32[64,32] tanh(a)", 0, 2048, 16384},
      /* 2·(2·32·14·14)·(8·3·3) */
      {"a = f32[2,8,16,16] parameter(0)\n  b = f32[32,8,3,3] parameter(1)\n  ROOT r = f32[2,32,14,14] convolution(a, "
       "b), "
       "window={size=3x3}, dim_labels=bf01_oi01->bf01",
       1806336, 0, 75776},
      /* 16·(1000 − 1) */
      {"a = f32[16,1000] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[16] reduce(a, z), dimensions={1}, "
       "to_apply=add",
       15984, 0, 64068},
      /* 1·16·16·4 windows of 4 */
      {"a = f32[1,32,32,4] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[1,16,16,4] reduce-window(a, z), "
       "window={size=1x2x2x1 stride=1x2x2x1}, to_apply=max",
       3072, 0, 20484},
      /* moves of data */
      {"a = f32[64,32] parameter(0)\n  ROOT r = f32[32,64] transpose(a), dimensions={1,0}", 0, 0, 16384},
      /* 2.5·1024·10: one side is real */
      {"a = f32[1024] parameter(0)\n  ROOT r = c64[513] fft(a), fft_type=RFFT, fft_length={1024}", 25600, 0, 8200},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Fixture *fixture = *state;
    int64_t unknown;
    const char *text =
        sv_printf(fixture->arena, "HloModule m\n" ADDITION LARGER "ENTRY e {\n  %s\n}\n", cases[i].entry).data;
    OperationCounts counts = counts_of(fixture, text, &unknown);
    assert_true(counts.flops == cases[i].flops);
    assert_true(counts.transcendentals == cases[i].transcendentals);
    assert_true(counts.bytes == cases[i].bytes);
    assert_int_equal(unknown, 0);
  }
}

#define LOOP(bound, config)                                                                                    \
  "HloModule m\ncond {\n  s = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = " \
  "s32[] " bound                                                                                               \
  "\n  ROOT c = pred[] compare(i, n), direction=LT\n}\nbody {\n  s = (s32[], f32[8]) parameter(0)\n"           \
  "  i = s32[] get-tuple-element(s), index=0\n  x = f32[8] get-tuple-element(s), index=1\n"                    \
  "  one = s32[] constant(1)\n  k = s32[] add(i, one)\n  y = f32[8] multiply(x, x)\n"                          \
  "  ROOT t = (s32[], f32[8]) tuple(k, y)\n}\nENTRY e {\n  p = f32[8] parameter(0)\n  z = s32[] constant(0)\n" \
  "  s = (s32[], f32[8]) tuple(z, p)\n  w = (s32[], f32[8]) while(s), condition=cond, body=body" config        \
  "\n  ROOT r = f32[8] get-tuple-element(w), index=1\n}\n"

/* Each round: an addition and 8 products; each test, one more than there are rounds: a comparison. */
static void a_loop_counts_its_rounds(void **state) {
  int64_t unknown;
  assert_true(counts_of(*state, LOOP("constant(5)", ""), &unknown).flops == 5 * 9 + 6);
  assert_int_equal(unknown, 0);
  assert_true(counts_of(*state, LOOP("get-tuple-element(s), index=0", ""), &unknown).flops == 9 + 2);
  assert_int_equal(unknown, 1);
  const char *said = LOOP("get-tuple-element(s), index=0", ", backend_config={\"known_trip_count\":{\"n\":\"7\"}}");
  assert_true(counts_of(*state, said, &unknown).flops == 7 * 9 + 8);
  assert_int_equal(unknown, 0);
}

/* Its bytes are its operands and its result. */
static void a_fusion_is_what_is_in_it(void **state) {
  int64_t unknown;
  OperationCounts counts = counts_of(*state,
                                     "HloModule m\nf {\n  p = f32[8] parameter(0)\n  s = f32[8] sine(p)\n  ROOT r = "
                                     "f32[8] multiply(s, p)\n}\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = "
                                     "f32[8] fusion(p), kind=kLoop, calls=f\n}\n",
                                     &unknown);
  assert_true(counts.flops == 8 && counts.transcendentals == 8 && counts.bytes == 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(one_instruction_counts_as_xla_says, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_loop_counts_its_rounds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_fusion_is_what_is_in_it, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
