/* Mathematical functions against C's, computed with more digits: bounds in units of the last place, special values, all
 * f16 and bf16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/vec/vec_testing.h"
#include "hlo/type/float_types.h"

typedef struct MathCase {
  HloOpcode opcode;
  double (*reference)(double);
  long double (*exact)(long double);
  double bound_f32, bound_f64; /* docs/numerics.md states the same */
} MathCase;

static double rsqrt_reference(double x) {
  return 1 / sqrt(x);
}

static long double rsqrt_exact(long double x) {
  return 1 / sqrtl(x);
}

static double logistic_reference(double x) {
  return 1 / (1 + exp(-x));
}

static long double logistic_exact(long double x) {
  return 1 / (1 + expl(-x));
}

static const MathCase cases[] = {
    {HLO_ACOS, acos, acosl, 0.52, 1.3},
    {HLO_ACOSH, acosh, acoshl, 0.52, 2.5},
    {HLO_ASIN, asin, asinl, 0.52, 1.3},
    {HLO_ASINH, asinh, asinhl, 0.52, 2.5},
    {HLO_ATANH, atanh, atanhl, 0.52, 2.5},
    {HLO_CBRT, cbrt, cbrtl, 0.52, 0.52},
    {HLO_COSH, cosh, coshl, 0.52, 2.5},
    {HLO_COSINE, cos, cosl, 1.6, 1},
    {HLO_ERF, erf, erfl, 2.15, 1.2},
    {HLO_ERFC, erfc, erfcl, 5, 8},
    {HLO_EXPONENTIAL, exp, expl, 1.1, 1},
    {HLO_EXPONENTIAL_MINUS_ONE, expm1, expm1l, 1.7, 2},
    {HLO_LOG, log, logl, 0.9, 0.8},
    {HLO_LOG_PLUS_ONE, log1p, log1pl, 0.9, 1.5},
    {HLO_LOGISTIC, logistic_reference, logistic_exact, 2, 2},
    {HLO_RSQRT, rsqrt_reference, rsqrt_exact, 1.5, 1.5},
    {HLO_SINE, sin, sinl, 1.6, 1},
    {HLO_SINH, sinh, sinhl, 0.52, 2.5},
    {HLO_SQRT, sqrt, sqrtl, 0.5, 0.5},
    {HLO_TAN, tan, tanl, 0.52, 2.2},
    {HLO_TANH, tanh, tanhl, 2.85, 1.5},
};

enum { CASE_COUNT = sizeof cases / sizeof *cases, BLOCK = 4096 };

static uint64_t next_random(uint64_t *state) {
  *state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = *state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static void report(const MathCase *c, const char *type, const char *cpu, double ulps, double x, double got) {
  fail_msg("%s of %s (%s): %g ulp at %a, got %a", hlo_opcode_text(c->opcode), type, cpu, ulps, x, got);
}

/* Every |step|th bit pattern of f32: all exponents, both signs, NaN. */
static void check_f32(const MathCase *c, const char *cpu, VecTestFunction function, uint32_t step) {
  static float inputs[BLOCK], outputs[BLOCK];
  for (uint64_t at = 0; at < UINT64_C(1) << 32; at += (uint64_t)BLOCK * step) {
    for (int i = 0; i < BLOCK; i++) {
      uint32_t bits = (uint32_t)(at + (uint64_t)i * step);
      memcpy(&inputs[i], &bits, sizeof bits);
    }
    function(outputs, inputs, NULL, NULL, BLOCK);
    for (int i = 0; i < BLOCK; i++) {
      double ulps = vec_test_ulps_f32(outputs[i], c->reference((double)inputs[i]));
      if (ulps > c->bound_f32) report(c, "f32", cpu, ulps, (double)inputs[i], (double)outputs[i]);
    }
  }
}

/* Half of the inputs over all exponents, half where functions live. */
static void check_f64(const MathCase *c, const char *cpu, VecTestFunction function, int blocks) {
  static double inputs[BLOCK], outputs[BLOCK];
  uint64_t state = (uint64_t)c->opcode;
  for (int block = 0; block < blocks; block++) {
    for (int i = 0; i < BLOCK; i++) {
      uint64_t bits = next_random(&state), field = 1023 - 30 + next_random(&state) % 42;
      if (i % 2 == 0) bits = (bits & ~(UINT64_C(0x7ff) << 52)) | field << 52;
      memcpy(&inputs[i], &bits, sizeof bits);
    }
    function(outputs, inputs, NULL, NULL, BLOCK);
    for (int i = 0; i < BLOCK; i++) {
      double ulps = vec_test_ulps_f64(outputs[i], c->exact((long double)inputs[i]));
      if (ulps > c->bound_f64) report(c, "f64", cpu, ulps, inputs[i], outputs[i]);
    }
  }
}

/* All of them; the result is that of rounding the exact one, or a neighbour where that lies near the middle of two. */
static void check_16_bits(const MathCase *c, const char *cpu, PrimitiveType type, VecTestFunction function) {
  static uint16_t inputs[65536], outputs[65536];
  for (int i = 0; i < 65536; i++) inputs[i] = (uint16_t)i;
  function(outputs, inputs, NULL, NULL, 65536);
  for (int i = 0; i < 65536; i++) {
    double x = float_decode(type, inputs[i]), want = c->reference(x), got = float_decode(type, outputs[i]);
    if (isnan(want) && isnan(got)) continue;
    bool matches = false;
    for (int s = -1; s <= 1; s++) {
      double near = float_decode(type, float_encode(type, want * (1 + s * 0x1p-22)));
      matches = matches || near == got;
    }
    if (!matches) report(c, type_text(type), cpu, 1, x, got);
  }
}

static void check_level(const char *cpu) {
  static const PrimitiveType types[] = {TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16};
  VecTestModule module;
  int numbers[CASE_COUNT][4];
  vec_test_begin(&module, cpu);
  for (int c = 0; c < CASE_COUNT; c++) {
    for (int t = 0; t < 4; t++) {
      VecOp op = {cases[c].opcode, types[t], types[t], {0, 0}};
      numbers[c][t] = vec_test_add(&module, &op, &types[t], 1, vec_test_native_lanes(&module, &op) * (c % 2 + 1));
    }
  }
  vec_test_finish(&module);
  for (int c = 0; c < CASE_COUNT; c++) {
    check_f32(&cases[c], cpu, vec_test_function(&module, numbers[c][0]), 60013);
    check_f64(&cases[c], cpu, vec_test_function(&module, numbers[c][1]), 10);
    check_16_bits(&cases[c], cpu, TYPE_F16, vec_test_function(&module, numbers[c][2]));
    check_16_bits(&cases[c], cpu, TYPE_BF16, vec_test_function(&module, numbers[c][3]));
  }
  vec_test_end(&module);
}

static void math_functions_stay_within_bounds(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (level.is_available) check_level(level.cpu);
  }
}

/* --- the same bits in any number of lanes --- */

static const int lane_counts[] = {1, 2, 4, 8, 16, 32};
enum { LANES = sizeof lane_counts / sizeof *lane_counts };

/* Patterns of all exponents, and numbers where functions live for those that are NaN. */
static void make_inputs(PrimitiveType type, void *inputs) {
  for (int i = 0; i < BLOCK; i++) {
    uint32_t bits = (uint32_t)i * 1048573u;
    float x;
    memcpy(&x, &bits, sizeof x);
    if (isnan(x)) x = (float)i * 0.01f - 20;
    double wide = (double)x * 1.000000001;
    memcpy((char *)inputs + (size_t)i * (type == TYPE_F64 ? 8 : 4), type == TYPE_F64 ? (void *)&wide : (void *)&x,
           type == TYPE_F64 ? 8 : 4);
  }
}

static double number_at(PrimitiveType type, const void *numbers, int i) {
  return type == TYPE_F64 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static void check_lanes(const char *cpu, PrimitiveType type) {
  static double inputs[BLOCK], first[BLOCK], other[BLOCK];
  size_t bytes = type == TYPE_F64 ? 8 : 4;
  VecTestModule module;
  int numbers[CASE_COUNT][LANES];
  vec_test_begin(&module, cpu);
  for (int c = 0; c < CASE_COUNT; c++) {
    VecOp op = {cases[c].opcode, type, type, {0, 0}};
    for (int i = 0; i < LANES; i++) numbers[c][i] = vec_test_add(&module, &op, &type, 1, lane_counts[i]);
  }
  vec_test_finish(&module);
  make_inputs(type, inputs);
  for (int c = 0; c < CASE_COUNT; c++) {
    vec_test_function(&module, numbers[c][0])(first, inputs, NULL, NULL, BLOCK);
    for (int i = 1; i < LANES; i++) {
      vec_test_function(&module, numbers[c][i])(other, inputs, NULL, NULL, BLOCK);
      for (int k = 0; k < BLOCK; k++) {
        size_t at = (size_t)k * bytes;
        double want = number_at(type, first, k), got = number_at(type, other, k);
        bool same = memcmp((char *)first + at, (char *)other + at, bytes) == 0 || (isnan(want) && isnan(got));
        if (!same) report(&cases[c], type_text(type), cpu, lane_counts[i], number_at(type, inputs, k), got);
      }
    }
  }
  vec_test_end(&module);
}

static void math_functions_do_not_depend_on_lanes(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    check_lanes(level.cpu, TYPE_F32);
    check_lanes(level.cpu, TYPE_F64);
  }
}

/* --- special values --- */

typedef struct SpecialCase {
  HloOpcode opcode;
  double x, want;
} SpecialCase;

static const SpecialCase specials[] = {
    {HLO_EXPONENTIAL, INFINITY, INFINITY},
    {HLO_EXPONENTIAL, -INFINITY, 0},
    {HLO_EXPONENTIAL, 0, 1},
    {HLO_EXPONENTIAL, -0.0, 1},
    {HLO_EXPONENTIAL, NAN, NAN},
    {HLO_EXPONENTIAL, 1e4, INFINITY},
    {HLO_EXPONENTIAL, -1e4, 0},
    {HLO_EXPONENTIAL, 1e30, INFINITY},
    {HLO_EXPONENTIAL, -1e30, 0},
    {HLO_EXPONENTIAL_MINUS_ONE, -0.0, -0.0},
    {HLO_EXPONENTIAL_MINUS_ONE, INFINITY, INFINITY},
    {HLO_EXPONENTIAL_MINUS_ONE, -INFINITY, -1},
    {HLO_EXPONENTIAL_MINUS_ONE, NAN, NAN},
    {HLO_LOG, 0, -INFINITY},
    {HLO_LOG, -0.0, -INFINITY},
    {HLO_LOG, 1, 0},
    {HLO_LOG, -1, NAN},
    {HLO_LOG, -INFINITY, NAN},
    {HLO_LOG, INFINITY, INFINITY},
    {HLO_LOG, NAN, NAN},
    {HLO_LOG_PLUS_ONE, -0.0, -0.0},
    {HLO_LOG_PLUS_ONE, -1, -INFINITY},
    {HLO_LOG_PLUS_ONE, -2, NAN},
    {HLO_LOG_PLUS_ONE, INFINITY, INFINITY},
    {HLO_TANH, -0.0, -0.0},
    {HLO_TANH, INFINITY, 1},
    {HLO_TANH, -INFINITY, -1},
    {HLO_TANH, NAN, NAN},
    {HLO_LOGISTIC, INFINITY, 1},
    {HLO_LOGISTIC, -INFINITY, 0},
    {HLO_LOGISTIC, 0, 0.5},
    {HLO_LOGISTIC, NAN, NAN},
    {HLO_SINE, -0.0, -0.0},
    {HLO_SINE, INFINITY, NAN},
    {HLO_SINE, NAN, NAN},
    {HLO_COSINE, -INFINITY, NAN},
    {HLO_COSINE, 0, 1},
    {HLO_TAN, -0.0, -0.0},
    {HLO_TAN, INFINITY, NAN},
    {HLO_ASIN, -0.0, -0.0},
    {HLO_ASIN, 1.5, NAN},
    {HLO_ACOS, 1, 0},
    {HLO_ACOS, -1.5, NAN},
    {HLO_SINH, -0.0, -0.0},
    {HLO_SINH, -INFINITY, -INFINITY},
    {HLO_COSH, -INFINITY, INFINITY},
    {HLO_ASINH, -0.0, -0.0},
    {HLO_ASINH, -INFINITY, -INFINITY},
    {HLO_ACOSH, 1, 0},
    {HLO_ACOSH, 0.5, NAN},
    {HLO_ACOSH, INFINITY, INFINITY},
    {HLO_ATANH, -0.0, -0.0},
    {HLO_ATANH, 1, INFINITY},
    {HLO_ATANH, -1, -INFINITY},
    {HLO_ATANH, 2, NAN},
    {HLO_CBRT, -0.0, -0.0},
    {HLO_CBRT, -INFINITY, -INFINITY},
    {HLO_CBRT, -27, -3},
    {HLO_ERF, -0.0, -0.0},
    {HLO_ERF, INFINITY, 1},
    {HLO_ERF, -INFINITY, -1},
    {HLO_ERF, NAN, NAN},
    {HLO_ERFC, -0.0, 1},
    {HLO_ERFC, INFINITY, 0},
    {HLO_ERFC, -INFINITY, 2},
    {HLO_ERFC, NAN, NAN},
    {HLO_SQRT, -0.0, -0.0},
    {HLO_SQRT, -1, NAN},
    {HLO_RSQRT, 0, INFINITY},
    {HLO_RSQRT, INFINITY, 0},
};

enum { SPECIAL_COUNT = sizeof specials / sizeof *specials };

static bool same_value(double a, double b) {
  return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void check_specials(const char *cpu, PrimitiveType type, int lanes) {
  VecTestModule module;
  vec_test_begin(&module, cpu);
  for (int i = 0; i < SPECIAL_COUNT; i++) {
    vec_test_add(&module, &(VecOp){specials[i].opcode, type, type, {0, 0}}, &type, 1, lanes);
  }
  vec_test_finish(&module);
  for (int i = 0; i < SPECIAL_COUNT; i++) {
    double x[16], got[16];
    float narrow[16], narrow_got[16];
    for (int k = 0; k < 16; k++) narrow[k] = (float)(x[k] = specials[i].x);
    bool is_double = type == TYPE_F64;
    void *out = is_double ? (void *)got : narrow_got;
    vec_test_function(&module, i)(out, is_double ? (void *)x : narrow, NULL, NULL, 16);
    for (int k = 0; k < 16; k++) {
      double value = is_double ? got[k] : (double)narrow_got[k];
      if (!same_value(value, specials[i].want)) {
        fail_msg("%s(%g) of %s (%s): %g", hlo_opcode_text(specials[i].opcode), x[k], type_text(type), cpu, value);
      }
    }
  }
  vec_test_end(&module);
}

static void math_functions_keep_special_values(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    for (int lanes = 1; lanes <= 16; lanes *= 4) {
      check_specials(level.cpu, TYPE_F32, lanes);
      check_specials(level.cpu, TYPE_F64, lanes);
    }
  }
}

/* Arguments next to multiples of π/2, where all digits of a plain reduction cancel, and large ones; results computed
 * with 2000 bits. */
typedef struct AngleCase {
  double angle, sine, cosine;
} AngleCase;

static const AngleCase angles[] = {
    {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -1},
    {0x1.921fb54442d18p+0, 1, 0x1.1a62633145c07p-54},
    {-0x1.921fb54442d18p+20, 0x1.1a62633145c07p-34, 1},
    {0x1.6ac5b262ca1ffp+849, 1, -0x1.14ae72e6ba22fp-61},
    {-0x1.ac5b262ca1ffap+849, -0x1.a52f1814332a3p-1, -0x1.231d7f019f84cp-1},
    {0x1.921fb54442d18p+500, 0x1.7df6db2d7b59bp-3, 0x1.f7042ff9c45fep-1},
    {0x1.fffffffffffffp+1023, 0x1.452fc98b34e97p-8, -0x1.fffe62ecfab75p-1},
};

static void sine_next_to_multiples_of_half_pi_keeps_its_digits(void **state) {
  (void)state;
  VecTestModule module;
  PrimitiveType type = TYPE_F64;
  vec_test_begin(&module, "x86-64");
  int sine = vec_test_add(&module, &(VecOp){HLO_SINE, type, type, {0, 0}}, &type, 1, 1);
  int cosine = vec_test_add(&module, &(VecOp){HLO_COSINE, type, type, {0, 0}}, &type, 1, 1);
  vec_test_finish(&module);
  for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
    double results[2];
    vec_test_function(&module, sine)(&results[0], &angles[i].angle, NULL, NULL, 1);
    vec_test_function(&module, cosine)(&results[1], &angles[i].angle, NULL, NULL, 1);
    double ulps[] = {vec_test_ulps_f64(results[0], (long double)angles[i].sine),
                     vec_test_ulps_f64(results[1], (long double)angles[i].cosine)};
    if (ulps[0] > 1 || ulps[1] > 1) fail_msg("angle %a: sine %a, cosine %a", angles[i].angle, results[0], results[1]);
  }
  vec_test_end(&module);
}

/* Those of f32 that are nearest to multiples of π/2 beyond 2^15, by continued fractions, and the largest one; results
 * as above. */
static const AngleCase single_angles[] = {
    {0x1.f37c8ap+95, 1, -0x1.bbdd52a58eafbp-30},  {0x1.47d0fep+34, 1, -0x1.149dafd6b8987p-29},
    {0x1.f37c8ap+96, -0x1.bbdd52a58eafbp-29, -1}, {-0x1.47d0fep+35, 0x1.149dafd6b8987p-28, -1},
    {0x1.32ede2p+85, 1, -0x1.bc77be4e3b960p-28},  {0x1.fffffep+127, -0x1.0b33665089575p-1, 0x1.b4bf2c79bdfcep-1},
};

static void single_sine_next_to_multiples_of_half_pi_keeps_its_digits(void **state) {
  (void)state;
  PrimitiveType type = TYPE_F32;
  static const char *const processors[] = {"x86-64", "x86-64-v3"};
  for (int p = 0; p < 2; p++) {
    VecTestModule module;
    vec_test_begin(&module, processors[p]);
    int sine = vec_test_add(&module, &(VecOp){HLO_SINE, type, type, {0, 0}}, &type, 1, 1);
    int cosine = vec_test_add(&module, &(VecOp){HLO_COSINE, type, type, {0, 0}}, &type, 1, 1);
    vec_test_finish(&module);
    for (size_t i = 0; i < sizeof single_angles / sizeof *single_angles; i++) {
      const AngleCase *angle = &single_angles[i];
      float x = (float)angle->angle, results[2];
      vec_test_function(&module, sine)(&results[0], &x, NULL, NULL, 1);
      vec_test_function(&module, cosine)(&results[1], &x, NULL, NULL, 1);
      if (vec_test_ulps_f32(results[0], angle->sine) > 0.51 || vec_test_ulps_f32(results[1], angle->cosine) > 0.51)
        fail_msg("%s, angle %a: sine %a, cosine %a", processors[p], angle->angle, (double)results[0],
                 (double)results[1]);
    }
    vec_test_end(&module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(math_functions_stay_within_bounds),
      cmocka_unit_test(math_functions_do_not_depend_on_lanes),
      cmocka_unit_test(math_functions_keep_special_values),
      cmocka_unit_test(sine_next_to_multiples_of_half_pi_keeps_its_digits),
      cmocka_unit_test(single_sine_next_to_multiples_of_half_pi_keeps_its_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
