/* Conversions between all types, each rounded once; comparison, rounding, reduced precision and the other plain
 * operations of floats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/vec/vec_testing.h"
#include "hlo/type/float_types.h"

static const PrimitiveType types[] = {
    TYPE_PRED,          TYPE_S4,       TYPE_U4,         TYPE_S8,         TYPE_U8,       TYPE_S16,
    TYPE_U16,           TYPE_S32,      TYPE_U32,        TYPE_S64,        TYPE_U64,      TYPE_F16,
    TYPE_BF16,          TYPE_F32,      TYPE_F64,        TYPE_F8E5M2,     TYPE_F8E4M3,   TYPE_F8E4M3FN,
    TYPE_F8E4M3B11FNUZ, TYPE_F8E3M4,   TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F4E2M1FN, TYPE_F6E2M3FN,
    TYPE_F6E3M2FN,      TYPE_F8E8M0FNU};

enum { TYPES = sizeof types / sizeof *types, COUNT = 4096 };

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 32 | *state << 32;
}

/* long double holds every value of every type exactly. */
static long double value_of(PrimitiveType type, uint64_t bits) {
  if (type == TYPE_PRED) return bits & 1;
  if (type_is_float(type)) return (long double)float_decode(type, bits);
  int width = type_bits(type);
  uint64_t word = width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
  if (!type_is_signed(type)) return (long double)word;
  int64_t shifted = (int64_t)(word << (64 - width)) >> (64 - width);
  return (long double)shifted;
}

/* Nearest, ties to even, by the definition: the neighbours of the f64 nearest to x decide. */
static uint64_t rounded_float(PrimitiveType type, long double x) {
  if (type == TYPE_F64) {
    double value = (double)x;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (type == TYPE_F32) {
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  /* to odd in f64, which keeps what matters for fewer than 50 bits */
  double near = (double)x;
  if ((long double)near != x && isfinite(near)) {
    uint64_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (fabsl((long double)near) > fabsl(x)) bits--;
    bits |= 1;
    memcpy(&near, &bits, sizeof bits);
  }
  return float_encode(type, near);
}

/* In storage, kept sign- or zero-extended. */
static uint64_t stored(PrimitiveType type, uint64_t bits) {
  int free_bits = 64 - type_bits(type);
  return type_is_signed(type) ? (uint64_t)((int64_t)(bits << free_bits) >> free_bits) : bits << free_bits >> free_bits;
}

static uint64_t converted(PrimitiveType from, PrimitiveType to, uint64_t bits) {
  long double x = value_of(from, bits);
  if (to == TYPE_PRED) return x != 0; /* NaN, too */
  if (type_is_float(to)) return rounded_float(to, x);
  int width = type_bits(to);
  bool is_signed = type_is_signed(to);
  if (!type_is_float(from)) return stored(to, x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x);
  if (isnan(x)) return 0;
  long double upper = ldexpl(1, is_signed ? width - 1 : width) - 1, lower = is_signed ? -ldexpl(1, width - 1) : 0;
  x = truncl(x);
  x = x < lower ? lower : x > upper ? upper : x;
  return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* Numbers near powers of two and their middles, small ones, any bits. */
static uint64_t sample(PrimitiveType type, uint64_t *state) {
  uint64_t random = next_random(state), kind = next_random(state) % 4;
  int width = type_bits(type);
  if (type == TYPE_PRED) return random & 1;
  if (type == TYPE_F64 && kind != 0) {
    double value = kind == 1   ? (double)(int64_t)random / 65536
                   : kind == 2 ? (double)(float)((int)(random % 4001) - 2000) / 16
                               : NAN;
    uint64_t step = next_random(state) % 3, bits;
    if (kind == 3) { /* around the middle of two f16 or bf16 */
      uint64_t field = 1023 - 20 + random % 40;
      bits = field << 52 | (next_random(state) % 256) << 44 | UINT64_C(1) << (next_random(state) % 2 ? 41 : 44);
      return bits + step - 1;
    }
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (type == TYPE_F32 && kind >= 2) {
    float value = (float)((int)(random % 40001) - 20000) / 16;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (!type_is_float(type)) {
    if (kind == 0) random = (UINT64_C(1) << next_random(state) % (uint64_t)width) + random % 3 - 1;
    if (kind == 1) random = (uint64_t)((int64_t)(random % 17) - 8);
    if (kind == 2) random = (random >> 56 | 1) << next_random(state) % (uint64_t)width | random % 3;
  }
  if (width < 8 && type_is_signed(type)) return (uint64_t)((int64_t)(random << (64 - width)) >> (64 - width));
  return width < 64 ? random & ((UINT64_C(1) << width) - 1) : random;
}

static void check_conversion(const char *cpu, PrimitiveType from, PrimitiveType to, VecTestFunction function) {
  static uint8_t in[COUNT * 8], out[COUNT * 8];
  int in_bytes = type_storage_bytes(from), out_bytes = type_storage_bytes(to);
  uint64_t state = from * 64u + to;
  for (int i = 0; i < COUNT; i++) {
    uint64_t bits = sample(from, &state);
    memcpy(in + i * in_bytes, &bits, (size_t)in_bytes);
  }
  function(out, in, NULL, NULL, COUNT);
  for (int i = 0; i < COUNT; i++) {
    uint64_t bits = 0, got = 0;
    memcpy(&bits, in + i * in_bytes, (size_t)in_bytes);
    memcpy(&got, out + i * out_bytes, (size_t)out_bytes);
    uint64_t want = converted(from, to, bits), mask = out_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << out_bytes * 8) - 1;
    if (type_is_float(to) && isnan(value_of(to, got)) && isnan(value_of(to, want))) continue;
    if (got != (want & mask)) {
      fail_msg("%s to %s (%s): %llx gives %llx, not %llx", type_text(from), type_text(to), cpu,
               (unsigned long long)bits, (unsigned long long)got, (unsigned long long)(want & mask));
    }
  }
}

static bool is_narrow(PrimitiveType type) {
  return type_is_float(type) && type_bits(type) <= 8;
}

/* Floats of a byte and less go through f32: a few partners show all there is. */
static bool is_tested(PrimitiveType from, PrimitiveType to) {
  if (!is_narrow(from) && !is_narrow(to)) return true;
  PrimitiveType other = is_narrow(from) ? to : from;
  return other == TYPE_F32 || other == TYPE_F64 || other == TYPE_U64 || (is_narrow(other) && to == from + 1);
}

static void conversions_round_once_and_saturate(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    for (int lanes = l == 0 ? 1 : 16; lanes <= 16; lanes *= 16) {
      VecTestModule module;
      int numbers[TYPES * TYPES];
      vec_test_begin(&module, level.cpu);
      for (int i = 0; i < TYPES * TYPES; i++) {
        PrimitiveType from = types[i / TYPES], to = types[i % TYPES];
        numbers[i] = -1;
        if (!is_tested(from, to)) continue;
        numbers[i] = vec_test_add(&module, &(VecOp){HLO_CONVERT, to, from, {0, 0}}, &from, 1, lanes);
      }
      vec_test_finish(&module);
      for (int i = 0; i < TYPES * TYPES; i++) {
        if (numbers[i] < 0) continue;
        check_conversion(level.cpu, types[i / TYPES], types[i % TYPES], vec_test_function(&module, numbers[i]));
      }
      vec_test_end(&module);
    }
  }
}

/* Memory to register and back, for every pattern. */
static void half_floats_survive_registers(void **state) {
  (void)state;
  static const PrimitiveType halves[] = {TYPE_F16, TYPE_BF16};
  static uint16_t in[65536], out[65536];
  for (int i = 0; i < 65536; i++) in[i] = (uint16_t)i;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    VecTestModule module;
    vec_test_begin(&module, level.cpu);
    for (int t = 0; t < 2; t++)
      vec_test_add(&module, &(VecOp){HLO_COPY, halves[t], halves[t], {0, 0}}, &halves[t], 1, 16);
    vec_test_finish(&module);
    for (int t = 0; t < 2; t++) {
      vec_test_function(&module, t)(out, in, NULL, NULL, 65536);
      for (int i = 0; i < 65536; i++) {
        bool both_nan = isnan(value_of(halves[t], in[i])) && isnan(value_of(halves[t], out[i]));
        assert_true(both_nan || in[i] == out[i]);
      }
    }
    vec_test_end(&module);
  }
}

/* --- rounding to whole numbers --- */

typedef struct RoundingCase {
  HloOpcode opcode;
  float (*reference)(float);
} RoundingCase;

static const RoundingCase roundings[] = {
    {HLO_FLOOR, floorf}, {HLO_CEIL, ceilf}, {HLO_ROUND_NEAREST_AFZ, roundf}, {HLO_ROUND_NEAREST_EVEN, rintf}};

static void rounding_follows_c(void **state) {
  (void)state;
  static const float values[] = {0.49999997f, -0.49999997f, 0.5f,       -0.5f,      1.5f,  2.5f,
                                 -2.5f,       0x1p23f,      8388609.0f, -0x1p22f,   -0.0f, 0,
                                 INFINITY,    -INFINITY,    0x1p-149f,  4194304.5f, -0.7f, 0.3f,
                                 1e30f,       -1e30f,       2097151.8f, -1.0f,      NAN,   0.99999994f};
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    VecTestModule module;
    PrimitiveType type = TYPE_F32;
    vec_test_begin(&module, level.cpu);
    for (int r = 0; r < 4; r++) vec_test_add(&module, &(VecOp){roundings[r].opcode, type, type, {0, 0}}, &type, 1, 8);
    vec_test_finish(&module);
    for (int r = 0; r < 4; r++) {
      float out[24];
      vec_test_function(&module, r)(out, values, NULL, NULL, 24);
      for (int i = 0; i < 24; i++) {
        float want = roundings[r].reference(values[i]);
        bool same = isnan(want) ? isnan(out[i]) : want == out[i] && signbit(want) == signbit(out[i]);
        if (!same)
          fail_msg("%s of %a (%s): %a", hlo_opcode_text(roundings[r].opcode), (double)values[i], level.cpu,
                   (double)out[i]);
      }
    }
    vec_test_end(&module);
  }
}

/* --- total order, precision --- */

static void total_order_ranks_zeros_and_nan(void **state) {
  (void)state;
  static const PrimitiveType floats[] = {TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16};
  /* ascending */
  static const double ranks[] = {-NAN, -INFINITY, -1, -0.0, 0, 1, INFINITY, NAN};
  for (int t = 0; t < 4; t++) {
    VecTestModule module;
    PrimitiveType pair[] = {floats[t], floats[t]};
    int bytes = type_storage_bytes(floats[t]), sign = type_bits(floats[t]) - 1;
    vec_test_begin(&module, "x86-64");
    VecOp op = {HLO_COMPARE, TYPE_PRED, floats[t], {COMPARISON_DIRECTION_LT, COMPARISON_TYPE_TOTALORDER}};
    vec_test_add(&module, &op, pair, 2, 4);
    vec_test_finish(&module);
    uint8_t a[64 * 8], b[64 * 8], out[64];
    for (int i = 0; i < 64; i++) {
      uint64_t words[2] = {float_encode(floats[t], ranks[i / 8]), float_encode(floats[t], ranks[i % 8])};
      for (int k = 0; k < 2; k++) {
        int rank = k == 0 ? i / 8 : i % 8;
        words[k] = (words[k] & ~(UINT64_C(1) << sign)) | (uint64_t)(rank < 4) << sign; /* NaN, too */
      }
      memcpy(a + i * bytes, &words[0], (size_t)bytes);
      memcpy(b + i * bytes, &words[1], (size_t)bytes);
    }
    vec_test_function(&module, 0)(out, a, b, NULL, 64);
    for (int i = 0; i < 64; i++) assert_int_equal(out[i], i / 8 < i % 8);
    vec_test_end(&module);
  }
}

/* To the precision of f16 and bf16; XLA flushes what is subnormal there. */
static void reduce_precision_rounds_to_the_type(void **state) {
  (void)state;
  static float in[COUNT], out[COUNT];
  uint64_t random = 3;
  for (int i = 0; i < COUNT; i++) {
    uint32_t bits = (uint32_t)next_random(&random);
    memcpy(&in[i], &bits, sizeof bits);
  }
  static const PrimitiveType targets[] = {TYPE_F16, TYPE_BF16};
  static const int64_t params[2][2] = {{5, 10}, {8, 7}};
  VecTestModule module;
  PrimitiveType type = TYPE_F32;
  vec_test_begin(&module, "x86-64");
  for (int t = 0; t < 2; t++)
    vec_test_add(&module, &(VecOp){HLO_REDUCE_PRECISION, type, type, {params[t][0], params[t][1]}}, &type, 1, 4);
  vec_test_finish(&module);
  for (int t = 0; t < 2; t++) {
    vec_test_function(&module, t)(out, in, NULL, NULL, COUNT);
    for (int i = 0; i < COUNT; i++) {
      double want = float_decode(targets[t], float_encode(targets[t], (double)in[i]));
      if (t == 0 && fabs(want) < 0x1p-14) want = copysign(0, (double)in[i]);
      assert_true(isnan(want) ? isnan(out[i]) : want == (double)out[i]);
    }
  }
  vec_test_end(&module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions_round_once_and_saturate),
      cmocka_unit_test(half_floats_survive_registers),
      cmocka_unit_test(rounding_follows_c),
      cmocka_unit_test(total_order_ranks_zeros_and_nan),
      cmocka_unit_test(reduce_precision_rounds_to_the_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
