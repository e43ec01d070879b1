/* f16: what is computed in f16 itself, where the processor can, has the bits of exact results that are rounded once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/vec/vec_testing.h"
#include "hlo/type/float_types.h"

enum { PATTERNS = 1 << 16, PAIRS = 1 << 19, UNARY_COUNT = 9, BINARY_COUNT = 6, DIRECTION_COUNT = 6 };

static double decode(uint16_t bits) {
  return float_decode(TYPE_F16, bits);
}

static double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double negative(double x) {
  return -x;
}

typedef struct UnaryCase {
  HloOpcode opcode;
  double (*reference)(double);
} UnaryCase;

static const UnaryCase unary_cases[UNARY_COUNT] = {
    {HLO_SQRT, sqrt},  {HLO_ABS, fabs},     {HLO_NEGATE, negative},         {HLO_FLOOR, floor},
    {HLO_CEIL, ceil},  {HLO_SIGN, sign_of}, {HLO_ROUND_NEAREST_AFZ, round}, {HLO_ROUND_NEAREST_EVEN, rint},
    {HLO_COSINE, cos}, /* in f32, as it is elsewhere */
};

static double add(double a, double b) {
  return a + b;
}
static double subtract(double a, double b) {
  return a - b;
}
static double multiply(double a, double b) {
  return a * b;
}
static double divide(double a, double b) {
  return a / b; /* rounding to 53 bits first changes nothing: no quotient of two f16 is that near to a middle */
}
static double maximum(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}
static double minimum(double a, double b) {
  return -maximum(-a, -b);
}

typedef struct BinaryCase {
  HloOpcode opcode;
  double (*reference)(double, double);
} BinaryCase;

static const BinaryCase binary_cases[BINARY_COUNT] = {
    {HLO_ADD, add},       {HLO_SUBTRACT, subtract}, {HLO_MULTIPLY, multiply},
    {HLO_DIVIDE, divide}, {HLO_MAXIMUM, maximum},   {HLO_MINIMUM, minimum},
};

typedef struct Pairs {
  uint16_t *a, *b, *out;
} Pairs;

/* All patterns with all patterns would be 2^32: each with 8 others, all of which are with each other pattern in turn;
 * half of these are near. */
static Pairs make_pairs(void) {
  Pairs pairs = {malloc(2 * PAIRS), malloc(2 * PAIRS), malloc(2 * PAIRS)};
  assert_non_null(pairs.a);
  assert_non_null(pairs.b);
  assert_non_null(pairs.out);
  uint64_t state = 1;
  for (int i = 0; i < PAIRS; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint16_t random = (uint16_t)(state >> 40);
    pairs.a[i] = (uint16_t)i;
    pairs.b[i] = (state >> 63) != 0 ? random : (uint16_t)((i & 0xfc00) ^ (random & 0x87ff));
  }
  for (int i = 0; i < PAIRS; i++) { /* what is no number is quiet, as it becomes on the way through f32 */
    if (isnan(decode(pairs.a[i]))) pairs.a[i] |= 0x200;
    if (isnan(decode(pairs.b[i]))) pairs.b[i] |= 0x200;
  }
  static const uint16_t specials[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,
                                      0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
  enum { COUNT = sizeof specials / sizeof *specials };
  for (int i = 0; i < COUNT * COUNT; i++) {
    pairs.a[i] = specials[i / COUNT];
    pairs.b[i] = specials[i % COUNT];
  }
  return pairs;
}

static void free_pairs(Pairs *pairs) {
  free(pairs->a);
  free(pairs->b);
  free(pairs->out);
}

static bool is_value(uint16_t bits, double wanted) {
  if (isnan(wanted)) return isnan(decode(bits));
  return bits == float_encode(TYPE_F16, wanted);
}

static void check_unary(const UnaryCase *c, const char *cpu, int lanes, VecTestFunction function) {
  static uint16_t in[PATTERNS], out[PATTERNS];
  for (int i = 0; i < PATTERNS; i++) in[i] = (uint16_t)i;
  function(out, in, NULL, NULL, PATTERNS);
  for (int i = 0; i < PATTERNS; i++) {
    double x = decode(in[i]), wanted = c->reference(x);
    bool is_right = c->opcode == HLO_COSINE ? isnan(wanted) || fabs(decode(out[i]) - wanted) <= 0x1.002p-12
                                            : is_value(out[i], wanted);
    if (!is_right)
      fail_msg("%s (%s, %d lanes) of %a: %a, not %a", hlo_opcode_text(c->opcode), cpu, lanes, x, decode(out[i]),
               wanted);
  }
}

static void check_binary(const BinaryCase *c, const char *cpu, int lanes, const Pairs *pairs,
                         VecTestFunction function) {
  function(pairs->out, pairs->a, pairs->b, NULL, PAIRS);
  for (int i = 0; i < PAIRS; i++) {
    double a = decode(pairs->a[i]), b = decode(pairs->b[i]), wanted = c->reference(a, b);
    if (!is_value(pairs->out[i], wanted))
      fail_msg("%s (%s, %d lanes) of %a and %a: %a, not %a", hlo_opcode_text(c->opcode), cpu, lanes, a, b,
               decode(pairs->out[i]), wanted);
  }
}

/* Bits as an integer that orders as the total order does. */
static int order_of(uint16_t bits) {
  return (bits & 0x8000) != 0 ? -1 - (bits & 0x7fff) : bits;
}

static bool holds(int direction, double a, double b) {
  switch (direction) {
    case COMPARISON_DIRECTION_EQ: return a == b;
    case COMPARISON_DIRECTION_NE: return a != b;
    case COMPARISON_DIRECTION_GE: return a >= b;
    case COMPARISON_DIRECTION_GT: return a > b;
    case COMPARISON_DIRECTION_LE: return a <= b;
    default: return a < b;
  }
}

static void check_comparison(int direction, bool is_total, const char *cpu, const Pairs *pairs,
                             VecTestFunction function) {
  const unsigned char *out = (const unsigned char *)pairs->out;
  function(pairs->out, pairs->a, pairs->b, NULL, PAIRS);
  for (int i = 0; i < PAIRS; i++) {
    double a = decode(pairs->a[i]), b = decode(pairs->b[i]);
    if (is_total) {
      a = order_of(pairs->a[i]);
      b = order_of(pairs->b[i]);
    }
    if (out[i] != holds(direction, a, b))
      fail_msg("comparison %d%s (%s) of %a and %a", direction, is_total ? ", total order" : "", cpu, a, b);
  }
}

static void operations_round_once(void **state) {
  (void)state;
  static const PrimitiveType types[] = {TYPE_F16, TYPE_F16};
  static const int lanes[] = {1, 16, 64};
  Pairs pairs = make_pairs();
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    for (int n = 0; n < 3; n++) {
      VecTestModule module;
      vec_test_begin(&module, level.cpu);
      for (int c = 0; c < UNARY_COUNT; c++)
        vec_test_add(&module, &(VecOp){unary_cases[c].opcode, TYPE_F16, TYPE_F16, {0, 0}}, types, 1, lanes[n]);
      for (int c = 0; c < BINARY_COUNT; c++)
        vec_test_add(&module, &(VecOp){binary_cases[c].opcode, TYPE_F16, TYPE_F16, {0, 0}}, types, 2, lanes[n]);
      vec_test_finish(&module);
      for (int c = 0; c < UNARY_COUNT; c++)
        check_unary(&unary_cases[c], level.cpu, lanes[n], vec_test_function(&module, c));
      for (int c = 0; c < BINARY_COUNT; c++)
        check_binary(&binary_cases[c], level.cpu, lanes[n], &pairs, vec_test_function(&module, UNARY_COUNT + c));
      vec_test_end(&module);
    }
  }
  free_pairs(&pairs);
}

static void comparisons_are_those_of_numbers_or_of_the_total_order(void **state) {
  (void)state;
  static const PrimitiveType types[] = {TYPE_F16, TYPE_F16};
  Pairs pairs = make_pairs();
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    VecTestModule module;
    vec_test_begin(&module, level.cpu);
    for (int d = 0; d < 2 * DIRECTION_COUNT; d++) {
      int64_t kind = d < DIRECTION_COUNT ? COMPARISON_TYPE_FLOAT : COMPARISON_TYPE_TOTALORDER;
      vec_test_add(&module, &(VecOp){HLO_COMPARE, TYPE_PRED, TYPE_F16, {d % DIRECTION_COUNT, kind}}, types, 2, 32);
    }
    vec_test_finish(&module);
    for (int d = 0; d < 2 * DIRECTION_COUNT; d++)
      check_comparison(d % DIRECTION_COUNT, d >= DIRECTION_COUNT, level.cpu, &pairs, vec_test_function(&module, d));
    vec_test_end(&module);
  }
  free_pairs(&pairs);
}

static void only_what_has_other_bits_is_widened(void **state) {
  (void)state;
  VecTarget half = {.has_f16_arithmetic = true}, none = {0};
  VecOp quotient = {HLO_DIVIDE, TYPE_F16, TYPE_F16, {0, 0}}, sum = {HLO_ADD, TYPE_F16, TYPE_F16, {0, 0}},
        root = {HLO_RSQRT, TYPE_F16, TYPE_F16, {0, 0}};
  VecOp wide = {HLO_ADD, TYPE_F32, TYPE_F32, {0, 0}}, from = {HLO_CONVERT, TYPE_F16, TYPE_S32, {0, 0}};
  assert_true(vec_is_widened(&none, &sum, 1));
  assert_false(vec_is_widened(&half, &sum, 32));
  assert_false(vec_is_widened(&half, &quotient, 1));
  assert_true(vec_is_widened(&half, &quotient, 8)); /* which takes less time */
  assert_true(vec_is_widened(&half, &root, 1));     /* of a root that is not rounded */
  assert_true(vec_is_widened(&half, &from, 1));
  assert_false(vec_is_widened(&none, &wide, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operations_round_once),
      cmocka_unit_test(comparisons_are_those_of_numbers_or_of_the_total_order),
      cmocka_unit_test(only_what_has_other_bits_is_widened),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
