/* power, atan2 and remainder of floats against C's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/vec/vec_testing.h"
#include "hlo/type/float_types.h"

enum { COUNT = 1 << 15 };

static uint64_t next_random(uint64_t *state) {
  *state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = *state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static const double special_values[] = {
    0,   -0.0, 1,     -1,    0.5,      -0.5,      2,   -2,     3,          -3, INFINITY, -INFINITY,
    NAN, 1e30, -1e30, 1e-30, 0x1p-149, -0x1p-149, 1.5, 0x1p24, 0x1p24 + 2, 7,  -7,       0x1.fffffep+127};

enum { SPECIALS = sizeof special_values / sizeof *special_values };

/* Pairs of special values first, then random ones: any bits, or exponents near 0. */
static void fill(double *a, double *b, bool narrow) {
  uint64_t state = 7;
  for (int i = 0; i < COUNT; i++) {
    double values[2];
    for (int k = 0; k < 2; k++) {
      uint64_t bits = next_random(&state), span = i % 3 == 0 ? 16 : 80;
      if (i % 3 != 2) bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (1023 - span / 2 + next_random(&state) % span) << 52;
      memcpy(&values[k], &bits, sizeof bits);
      if (narrow && i % 3 == 2) {
        float word;
        memcpy(&word, &bits, sizeof word);
        values[k] = (double)word;
      }
    }
    if (i < SPECIALS * SPECIALS) {
      values[0] = special_values[i / SPECIALS];
      values[1] = special_values[i % SPECIALS];
    }
    a[i] = narrow ? (double)(float)values[0] : values[0];
    b[i] = narrow ? (double)(float)values[1] : values[1];
  }
}

typedef struct BinaryCase {
  HloOpcode opcode;
  double (*reference)(double, double);
  long double (*exact)(long double, long double);
  double bound_f32, bound_f64;
} BinaryCase;

static const BinaryCase cases[] = {
    {HLO_POWER, pow, powl, 0.52, 1.2},
    {HLO_ATAN2, atan2, atan2l, 0.52, 2},
    {HLO_REMAINDER, fmod, fmodl, 0, 0},
};

enum { CASE_COUNT = sizeof cases / sizeof *cases };

static void check(const BinaryCase *c, const char *cpu, VecTestFunction single, VecTestFunction full) {
  static double a[COUNT], b[COUNT], out[COUNT];
  static float a32[COUNT], b32[COUNT], out32[COUNT];
  fill(a, b, true);
  for (int i = 0; i < COUNT; i++) {
    a32[i] = (float)a[i];
    b32[i] = (float)b[i];
  }
  single(out32, a32, b32, NULL, COUNT);
  for (int i = 0; i < COUNT; i++) {
    double want = c->reference(a[i], b[i]), ulps = vec_test_ulps_f32(out32[i], want);
    bool wrong_zero = want == 0 && (bool)signbit(want) != (bool)signbit(out32[i]);
    if (ulps > c->bound_f32 || wrong_zero) {
      fail_msg("%s of f32 (%s): %g ulp at %a %a, got %a", hlo_opcode_text(c->opcode), cpu, ulps, a[i], b[i],
               (double)out32[i]);
    }
  }
  fill(a, b, false);
  full(out, a, b, NULL, COUNT);
  for (int i = 0; i < COUNT; i++) {
    long double want = c->exact((long double)a[i], (long double)b[i]);
    double ulps = vec_test_ulps_f64(out[i], want);
    bool wrong_zero = want == 0 && (bool)signbit(want) != (bool)signbit(out[i]);
    if (ulps > c->bound_f64 || wrong_zero) {
      fail_msg("%s of f64 (%s): %g ulp at %a %a, got %a", hlo_opcode_text(c->opcode), cpu, ulps, a[i], b[i], out[i]);
    }
  }
}

static void binary_functions_stay_within_bounds(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    for (int wide = 0; wide < 2; wide++) {
      VecTestModule module;
      vec_test_begin(&module, level.cpu);
      for (int c = 0; c < CASE_COUNT; c++) {
        for (int t = 0; t < 2; t++) {
          PrimitiveType type = t == 0 ? TYPE_F32 : TYPE_F64, types[] = {type, type};
          VecOp op = {cases[c].opcode, type, type, {0, 0}};
          vec_test_add(&module, &op, types, 2, wide ? vec_test_native_lanes(&module, &op) * 2 : 1);
        }
      }
      vec_test_finish(&module);
      for (int c = 0; c < CASE_COUNT; c++) {
        check(&cases[c], level.cpu, vec_test_function(&module, 2 * c), vec_test_function(&module, 2 * c + 1));
      }
      vec_test_end(&module);
    }
  }
}

/* --- maximum, minimum, clamp --- */

static double maximum(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}

static double minimum(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? a : b;
  return a < b ? a : b;
}

static bool same_value(double a, double b) {
  return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* |lacks_floats|: as where functions compute floats. */
static void check_extrema(bool lacks_floats) {
  static const PrimitiveType types[] = {TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16};
  static const double values[] = {0, -0.0, 1, -1, 2, INFINITY, -INFINITY, NAN};
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    VecTestModule module;
    vec_test_begin(&module, level.cpu);
    module.target.variants[0].vec.lacks_f32 = module.target.variants[0].vec.lacks_f64 = lacks_floats;
    for (int i = 0; i < 8; i++) {
      PrimitiveType pair[] = {types[i / 2], types[i / 2]};
      VecOp op = {i % 2 == 0 ? HLO_MAXIMUM : HLO_MINIMUM, pair[0], pair[0], {0, 0}};
      vec_test_add(&module, &op, pair, 2, 16);
    }
    vec_test_finish(&module);
    for (int i = 0; i < 8; i++) {
      PrimitiveType type = types[i / 2];
      int bytes = type_storage_bytes(type);
      uint8_t a[64 * 8], b[64 * 8], out[64 * 8];
      for (int k = 0; k < 64; k++) {
        uint64_t x = float_encode(type, values[k / 8]), y = float_encode(type, values[k % 8]);
        memcpy(a + k * bytes, &x, (size_t)bytes);
        memcpy(b + k * bytes, &y, (size_t)bytes);
      }
      vec_test_function(&module, i)(out, a, b, NULL, 64);
      for (int k = 0; k < 64; k++) {
        uint64_t bits = 0;
        memcpy(&bits, out + k * bytes, (size_t)bytes);
        double want = (i % 2 == 0 ? maximum : minimum)(values[k / 8], values[k % 8]), got = float_decode(type, bits);
        if (!same_value(got, want))
          fail_msg("%s of %g %g: %g", i % 2 == 0 ? "maximum" : "minimum", values[k / 8], values[k % 8], got);
      }
    }
    vec_test_end(&module);
  }
}

static void extrema_order_zeros_and_pass_nan_on(void **state) {
  (void)state;
  check_extrema(false);
}

static void extrema_without_registers_for_floats_do_so_too(void **state) {
  (void)state;
  check_extrema(true);
}

/* Of every payload: rounding to bf16 adds to the bits below it. */
static void arithmetic_of_bf16_passes_every_nan_on(void **state) {
  (void)state;
  static const HloOpcode opcodes[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_DIVIDE, HLO_REMAINDER, HLO_ATAN2};
  static const uint16_t others[] = {0, 0x3f80, 0xc0a0, 0x7f80, 0xff80, 0x7fff, 0xffff, 0x7f81};
  enum { OPCODES = sizeof opcodes / sizeof *opcodes, OTHERS = sizeof others / sizeof *others, NANS = 256 };
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    VecTestModule module;
    vec_test_begin(&module, level.cpu);
    PrimitiveType pair[] = {TYPE_BF16, TYPE_BF16};
    for (int i = 0; i < OPCODES; i++)
      vec_test_add(&module, &(VecOp){opcodes[i], TYPE_BF16, TYPE_BF16, {0, 0}}, pair, 2, 16);
    vec_test_finish(&module);
    for (int i = 0; i < OPCODES * OTHERS; i++) {
      uint16_t nan[NANS], other[NANS], results[2][NANS];
      for (int k = 0; k < NANS; k++) {
        int payload = k % 128 == 0 ? 1 : k % 128;
        nan[k] = (uint16_t)((k < 128 ? 0x7f80 : 0xff80) | payload);
        other[k] = others[i / OPCODES];
      }
      VecTestFunction function = vec_test_function(&module, i % OPCODES);
      function(results[0], nan, other, NULL, NANS);
      function(results[1], other, nan, NULL, NANS);
      for (int k = 0; k < 2 * NANS; k++) {
        uint16_t got = results[k / NANS][k % NANS];
        if (isnan(float_decode(TYPE_BF16, got))) continue;
        fail_msg("%s of %#x and %#x (%s): %#x", hlo_opcode_text(opcodes[i % OPCODES]), (unsigned)nan[k % NANS],
                 (unsigned)other[0], level.cpu, (unsigned)got);
      }
    }
    vec_test_end(&module);
  }
}

static void clamp_passes_nan_on(void **state) {
  (void)state;
  VecTestModule module;
  PrimitiveType types[] = {TYPE_F32, TYPE_F32, TYPE_F32};
  vec_test_begin(&module, "x86-64");
  vec_test_add(&module, &(VecOp){HLO_CLAMP, TYPE_F32, TYPE_F32, {0, 0}}, types, 3, 4);
  vec_test_finish(&module);
  float lower[] = {0, 0, 0, NAN}, x[] = {NAN, -2, 7, 1}, upper[] = {1, 1, 1, 1}, out[4];
  vec_test_function(&module, 0)(out, lower, x, upper, 4);
  assert_true(isnan(out[0]) && out[1] == 0 && out[2] == 1 && isnan(out[3]));
  vec_test_end(&module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(binary_functions_stay_within_bounds),
      cmocka_unit_test(extrema_order_zeros_and_pass_nan_on),
      cmocka_unit_test(extrema_without_registers_for_floats_do_so_too),
      cmocka_unit_test(arithmetic_of_bf16_passes_every_nan_on),
      cmocka_unit_test(clamp_passes_nan_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
