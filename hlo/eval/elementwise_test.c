/* Elementwise operations and conversions; numbers from the definitions. */
#include "hlo/eval/eval_testing.h"
#include "hlo/eval/lanes.h"
#include "hlo/ir/fold_identity.h"

#define UNARY(shape, values, op) "a = " shape " constant(" values ") ROOT r = " shape " " op "(a)"
#define BINARY(shape, a, b, op) \
  "a = " shape " constant(" a ") b = " shape " constant(" b ") ROOT r = " shape " " op "(a, b)"
#define CONVERT(from, values, to) "a = " from " constant(" values ") ROOT r = " to " convert(a)"
#define COMPARE(shape, result, a, b, how) \
  "a = " shape " constant(" a ") b = " shape " constant(" b ") ROOT r = " result " compare(a, b), " how

static void integers_wrap_and_divide_by_zero(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {BINARY("s8[3]", "{127, -128, 100}", "{1, -1, 100}", "add"), "{-128, 127, -56}"},
      {BINARY("u8[2]", "{0, 200}", "{1, 100}", "subtract"), "{255, 100}"},
      {BINARY("s32[2]", "{65536, -2147483648}", "{65536, -1}", "multiply"), "{0, -2147483648}"},
      {BINARY("s32[4]", "{7, -7, -2147483648, 5}", "{0, 2, -1, -2}", "divide"), "{-1, -3, -2147483648, -2}"},
      {BINARY("s32[4]", "{7, -7, -2147483648, 5}", "{0, 2, -1, -2}", "remainder"), "{7, -1, 0, 1}"},
      {BINARY("u16[2]", "{7, 9}", "{0, 2}", "divide"), "{65535, 4}"},
      {BINARY("u16[2]", "{7, 9}", "{0, 2}", "remainder"), "{7, 1}"},
      {BINARY("s4[3]", "{7, -8, 3}", "{1, 1, 3}", "add"), "{-8, -7, 6}"},
      {BINARY("s32[6]", "{2, 3, -2, 1, -1, 0}", "{10, -1, 3, -5, -3, -1}", "power"), "{1024, 0, -8, 1, -1, 0}"},
      {UNARY("s8[3]", "{-128, -5, 5}", "abs"), "{-128, 5, 5}"},
      {UNARY("u8[2]", "{1, 0}", "negate"), "{255, 0}"},
      {UNARY("s16[3]", "{-9, 0, 9}", "sign"), "{-1, 0, 1}"},
      {BINARY("u32[1]", "{4294967295}", "{4294967295}", "mulhi"), "{4294967294}"},
      {BINARY("s32[1]", "{-2147483648}", "{2}", "mulhi"), "{-1}"},
  };
  CHECK_CASES(cases);
}

static void bits_shift_count_and_combine(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {BINARY("s8[4]", "{1, 1, -1, 5}", "{7, 8, 1, -1}", "shift-left"), "{-128, 0, -2, 0}"},
      {BINARY("s8[4]", "{-128, -128, 64, -1}", "{7, 8, 3, 100}", "shift-right-arithmetic"), "{-1, -1, 8, -1}"},
      {BINARY("s8[3]", "{-128, -1, -1}", "{7, 8, 1}", "shift-right-logical"), "{1, 0, 127}"},
      {BINARY("u8[2]", "{128, 255}", "{7, 9}", "shift-right-arithmetic"), "{255, 255}"},
      {UNARY("s8[3]", "{-1, 0, 5}", "popcnt"), "{8, 0, 2}"},
      {UNARY("u16[3]", "{0, 1, 32768}", "count-leading-zeros"), "{16, 15, 0}"},
      {UNARY("s4[2]", "{-1, 1}", "count-leading-zeros"), "{0, 3}"},
      {UNARY("u8[1]", "{15}", "not"), "{240}"},
      {BINARY("s64[2]", "{12, -1}", "{10, 7}", "xor"), "{6, -8}"},
      {BINARY("pred[4]", "{1, 1, 0, 0}", "{1, 0, 1, 0}", "add"), "{1, 1, 1, 0}"},
      {BINARY("pred[4]", "{1, 1, 0, 0}", "{1, 0, 1, 0}", "multiply"), "{1, 0, 0, 0}"},
      {BINARY("pred[4]", "{1, 1, 0, 0}", "{1, 0, 1, 0}", "xor"), "{0, 1, 1, 0}"},
      {UNARY("pred[2]", "{1, 0}", "not"), "{0, 1}"},
  };
  CHECK_CASES(cases);
}

static void floats_round_once(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {BINARY("f32[2]", "{16777216, 1}", "{1, 1e-8}", "add"), "{16777216, 1}"},
      {BINARY("f32[2]", "{1, -1}", "{3, 0}", "divide"), "{0.333333343, -inf}"},
      {BINARY("bf16[2]", "{256, 1}", "{1, 0.00390625}", "add"), "{256, 1}"},
      {BINARY("f16[2]", "{60000, 2048}", "{60000, 1}", "add"), "{inf, 2048}"},
      {UNARY("f32[2]", "{2, -0.0}", "sqrt"), "{1.41421354, -0.0}"},
      {BINARY("f32[4]", "{nan, 1, -0.0, 0}", "{1, nan, 0, -0.0}", "maximum"), "{nan, nan, 0, 0}"},
      {BINARY("f32[4]", "{nan, 1, -0.0, 0}", "{1, nan, 0, -0.0}", "minimum"), "{nan, nan, -0.0, -0.0}"},
      {BINARY("f32[4]", "{5.5, -5.5, 5.5, 1}", "{2, 2, -2, inf}", "remainder"), "{1.5, -1.5, 1.5, 1}"},
      {UNARY("f32[5]", "{2.5, -2.5, 3.5, 0.5, -0.5}", "round-nearest-even"), "{2, -2, 4, 0, -0.0}"},
      {UNARY("f32[4]", "{2.5, -2.5, 0.5, -0.2}", "round-nearest-afz"), "{3, -3, 1, -0.0}"},
      {UNARY("f32[4]", "{-0.0, 0, -3, nan}", "sign"), "{-0.0, 0, -1, nan}"},
      {BINARY("f64[3]", "{0, 2, -8}", "{0, 0.5, 3}", "power"), "{1, 1.4142135623730951, -512}"},
      {BINARY("f8e5m2[3]", "{nan(0x1), 1, nan}", "{0, nan(0x1), 0}", "power"), "{1, 1, 1}"},
      {UNARY("f32[2]", "{1e-30, 0}", "exponential-minus-one"), "{1e-30, 0}"},
      {UNARY("f32[2]", "{-50, 0}", "logistic"), "{1.92874989e-22, 0.5}"},
      {"a = f32[2] constant({1, nan}) ROOT r = pred[2] is-finite(a)", "{1, 0}"},
      {"m = f32[] constant(0) x = f32[4] constant({-1, 0.5, 2, nan}) n = f32[] constant(1) ROOT r = f32[4] clamp(m, x, "
       "n)",
       "{0, 0.5, 1, nan}"},
  };
  CHECK_CASES(cases);
}

static void compare_orders_partially_and_totally(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {COMPARE("f32[3]", "pred[3]", "{nan, -0.0, 1}", "{nan, 0, 2}", "direction=EQ"), "{0, 1, 0}"},
      {COMPARE("f32[3]", "pred[3]", "{nan, -0.0, 1}", "{nan, 0, 2}", "direction=NE"), "{1, 0, 1}"},
      {COMPARE("f32[3]", "pred[3]", "{inf, -0.0, -nan}", "{nan, 0, -inf}", "direction=LT, type=TOTALORDER"),
       "{1, 1, 1}"},
      {COMPARE("f32[2]", "pred[2]", "{nan, -0.0}", "{nan, 0}", "direction=EQ, type=TOTALORDER"), "{1, 0}"},
      {COMPARE("u8[2]", "pred[2]", "{200, 1}", "{100, 1}", "direction=GT"), "{1, 0}"},
      {COMPARE("s8[2]", "pred[2]", "{-56, 1}", "{100, 1}", "direction=GE"), "{0, 1}"},
      {COMPARE("c64[2]", "pred[2]", "{(1, 2), (1, 2)}", "{(1, 2), (1, 3)}", "direction=EQ"), "{1, 0}"},
      {"p = pred[2] constant({1, 0}) a = s32[2] constant({1, 2}) b = s32[2] constant({3, 4}) ROOT r = s32[2] select(p, "
       "a, b)",
       "{1, 4}"},
      {"p = pred[] constant(false) a = s32[2] constant({1, 2}) b = s32[2] constant({3, 4}) ROOT r = s32[2] select(p, "
       "a, b)",
       "{3, 4}"},
  };
  CHECK_CASES(cases);
}

static void convert_saturates_truncates_and_wraps(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {CONVERT("f32[5]", "{1.9, -1.9, 1e10, -1e10, nan}", "s32[5]"), "{1, -1, 2147483647, -2147483648, 0}"},
      {CONVERT("f32[4]", "{-1, 255.5, 300, inf}", "u8[4]"), "{0, 255, 255, 255}"},
      {CONVERT("f64[2]", "{1e19, -1e19}", "s64[2]"), "{9223372036854775807, -9223372036854775808}"},
      {CONVERT("f64[2]", "{1e20, 1.5}", "u64[2]"), "{18446744073709551615, 1}"},
      {CONVERT("s32[3]", "{300, -1, 128}", "s8[3]"), "{44, -1, -128}"},
      {CONVERT("s32[2]", "{9, -9}", "s4[2]"), "{-7, 7}"},
      {CONVERT("s32[2]", "{0, -3}", "pred[2]"), "{0, 1}"},
      {CONVERT("f32[3]", "{0, 0.25, nan}", "pred[3]"), "{0, 1, 1}"},
      {CONVERT("s64[1]", "{16777217}", "f32[1]"), "{16777216}"},
      /* Once: 2⁶² + 2³⁸ + 1 is above the middle of two floats, its double is in it. */
      {CONVERT("s64[1]", "{4611686293305294849}", "f32[1]"), "{4.61168657e+18}"},
      {CONVERT("u64[1]", "{18446744073709551615}", "f64[1]"), "{1.8446744073709552e+19}"},
      {CONVERT("f64[1]", "{1.00390625001}", "bf16[1]"), "{1.008}"},
      {CONVERT("f32[2]", "{500, 0.001953125}", "f8e4m3fn[2]"), "{nan, 0.00195}"},
      {CONVERT("f32[1]", "{2}", "c64[1]"), "{(2, 0)}"},
      {"a = f32[2] constant({1, -2}) ROOT r = s32[2] bitcast-convert(a)", "{1065353216, -1073741824}"},
      {"a = u32[1] constant({67305985}) ROOT r = u8[1,4] bitcast-convert(a)", "{ { 1, 2, 3, 4 } }"},
      {"a = s4[2] constant({-1, 2}) ROOT r = u8[] bitcast-convert(a)", "47"},
      {"a = f32[3] constant({1.1, 1e30, 1e-30}) ROOT r = f32[3] reduce-precision(a), exponent_bits=5, mantissa_bits=10",
       "{1.09960938, inf, 0}"},
      {"a = f8e5m2[3] constant({1.5e-05, 4.6e-05, nan}) ROOT r = f8e5m2[3] reduce-precision(a), exponent_bits=5, "
       "mantissa_bits=2",
       "{1.5e-05, 4.6e-05, nan}"},
      {"a = f32[2] constant({-nan, 3.5}) ROOT r = f32[2] reduce-precision(a), exponent_bits=8, mantissa_bits=0",
       "{-nan, 4}"},
  };
  CHECK_CASES(cases);
}

static void complex_arithmetic(void **state) {
  (void)state;
  static const EvalCase cases[] = {
      {BINARY("c64[1]", "{(1, 2)}", "{(3, -1)}", "multiply"), "{(5, 5)}"},
      {BINARY("c128[1]", "{(6, 8)}", "{(2, 0)}", "divide"), "{(3, 4)}"},
      {"a = c64[1] constant({(3, -4)}) ROOT r = f32[1] abs(a)", "{5}"},
      {"a = c64[1] constant({(3, -4)}) ROOT r = f32[1] imag(a)", "{-4}"},
      {"a = f32[1] constant({3}) b = f32[1] constant({4}) ROOT r = c64[1] complex(a, b)", "{(3, 4)}"},
      {UNARY("c128[1]", "{(-1, 0)}", "sqrt"), "{(0, 1)}"},
      /* Beside -1, where |1 + z|² has no digit left in x·(2 + x) + y²: log(i·2⁻³⁰). */
      {UNARY("c128[1]", "{(-1, 9.313225746154785e-10)}", "log-plus-one"),
       "{(-20.794415416798358, 1.5707963267948966)}"},
      {UNARY("c64[1]", "{(-1, 9.313225746154785e-10)}", "log-plus-one"), "{(-20.7944145, 1.57079637)}"},
      /* Where e^710 overflows, e^-710 does not vanish. */
      {UNARY("c128[1]", "{(-710, 0)}", "logistic"), "{(4.47628622567513e-309, 0)}"},
      {BINARY("c64[1]", "{(1, 2)}", "{(3, -1)}", "maximum"), "!cannot be evaluated for c64"},
  };
  CHECK_CASES(cases);
}

/* --- tables of kernels --- */

/* What the table of opcodes says: who evaluates each, and of which classes code computes it. */
#define NONE
#define PRED(name, placement) | 1 << LANE_PRED
#define INTEGER(name, placement) | 1 << LANE_SIGNED | 1 << LANE_UNSIGNED
#define FLOAT(name, placement) | 1 << LANE_FLOAT
#define COMPLEX(name, place) | 1 << LANE_COMPLEX
static const struct {
  const char *eval;
  unsigned classes;
} opcode_rows[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = {#eval, 0 lanes},
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

static void elementwise_evaluates_what_code_computes(void **state) {
  (void)state;
  int count = 0;
  for (int opcode = 0; opcode < HLO_OPCODE_COUNT; opcode++) {
    if (strcmp(opcode_rows[opcode].eval, "elementwise") != 0) continue;
    for (int lane = 0; lane < LANE_CLASS_COUNT; lane++) {
      if ((opcode_rows[opcode].classes >> lane & 1) == 0) continue;
      if (lane_kernel((HloOpcode)opcode, (LaneClass)lane) == NULL)
        fail_msg("'%s' has no kernel for lanes of class %d", hlo_opcode_text((HloOpcode)opcode), lane);
      count++;
    }
  }
  assert_true(count > 100);
}

/* --- identities of folds, by what the operations mean here --- */

enum { SAMPLES = 256 };

/* Elements of every byte, or of bits as different as the odd multiples of a large number. */
static void store_sample(PrimitiveType type, int sample, void *element) {
  size_t size = (size_t)type_storage_bytes(type);
  uint64_t bits[2] = {(uint64_t)sample, (uint64_t)sample << 56};
  if (size > 1 && sample > 2) bits[0] = (uint64_t)sample * UINT64_C(0x9e3779b97f4a7c15);
  memcpy(element, bits, size);
  if (type == TYPE_PRED) *(uint8_t *)element &= 1;
}

static bool is_nan(PrimitiveType type, const void *element) {
  LaneBlock lanes;
  lanes_load(type, element, 1, 1, &lanes);
  if (lane_class(type) == LANE_COMPLEX) return lanes.c[0].re != lanes.c[0].re || lanes.c[0].im != lanes.c[0].im;
  return lane_class(type) == LANE_FLOAT && lanes.f[0] != lanes.f[0];
}

static void check_identity(HloOpcode opcode, PrimitiveType type, LaneKernel *kernel, const void *identity) {
  LaneBlock a, b, lanes;
  size_t size = (size_t)type_storage_bytes(type);
  lanes_load(type, identity, 1, 1, &a);
  for (int i = 0; i < SAMPLES; i++) {
    uint64_t element[2] = {0}, again[2] = {0}, result[2] = {0};
    store_sample(type, i, element);
    lanes_load(type, element, 1, 1, &b);
    lanes_store(type, again, 1, &b);
    if (is_nan(type, element) || memcmp(element, again, size) != 0) continue; /* no element of the type */
    kernel(type_bits(type), 1, &lanes, &a, &b);
    lanes_store(type, result, 1, &lanes);
    if (memcmp(element, result, size) != 0)
      fail_msg("%s of %s changes sample %d", hlo_opcode_text(opcode), type_text(type), i);
  }
}

static void fold_identity_changes_no_element(void **state) {
  (void)state;
  for (int t = TYPE_INVALID + 1; t < PRIMITIVE_TYPE_COUNT; t++) {
    PrimitiveType type = (PrimitiveType)t;
    if (!type_is_array(type)) continue;
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
      HloOpcode opcode = (HloOpcode)op;
      uint64_t identity[FOLD_IDENTITY_BYTES / sizeof(uint64_t)] = {0};
      LaneKernel *kernel = hlo_opcode_has(opcode, OP_ASSOCIATIVE) ? lane_kernel(opcode, lane_class(type)) : NULL;
      bool has_none = kernel == NULL || (type == TYPE_F8E8M0FNU && opcode == HLO_ADD) ||
                      (type_is_complex(type) && opcode == HLO_MULTIPLY);
      if (hlo_fold_identity(opcode, type, identity) == has_none)
        fail_msg("whether %s of %s has an identity", hlo_opcode_text(opcode), type_text(type));
      if (!has_none) check_identity(opcode, type, kernel, identity);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_wrap_and_divide_by_zero),
      cmocka_unit_test(bits_shift_count_and_combine),
      cmocka_unit_test(floats_round_once),
      cmocka_unit_test(compare_orders_partially_and_totally),
      cmocka_unit_test(convert_saturates_truncates_and_wraps),
      cmocka_unit_test(complex_arithmetic),
      cmocka_unit_test(elementwise_evaluates_what_code_computes),
      cmocka_unit_test(fold_identity_changes_no_element),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
