/* Integer operations against their definitions in C: all pairs of 8 bits and narrower, random and extreme ones of more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/vec/vec_testing.h"

/* Room for every product of 64 bits. */
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Wider;

typedef struct Number {
  Wide value; /* in the type's range */
  int width;
  bool is_signed;
} Number;

static Number wrapped(Wide value, int width, bool is_signed) {
  Wider modulus = (Wider)1 << width, bits = (Wider)value & (modulus - 1);
  Wide result = (Wide)bits;
  if (is_signed && bits >> (width - 1) != 0) result -= (Wide)modulus;
  return (Number){result, width, is_signed};
}

static Wide unsigned_value(Number x) {
  return wrapped(x.value, x.width, false).value;
}

static Wide definition_power(Number x, Number y) {
  if (y.value < 0) return x.value == 1 ? 1 : x.value == -1 ? (y.value % 2 != 0 ? -1 : 1) : 0;
  Number result = wrapped(1, x.width, x.is_signed), base = x;
  for (Wide n = y.value; n != 0; n >>= 1) {
    if (n % 2 != 0) result = wrapped((Wide)((Wider)result.value * (Wider)base.value), x.width, x.is_signed);
    base = wrapped((Wide)((Wider)base.value * (Wider)base.value), x.width, x.is_signed);
  }
  return result.value;
}

static int ones_of(Number x) {
  int count = 0;
  for (Wide bits = unsigned_value(x); bits != 0; bits >>= 1) count += (int)(bits & 1);
  return count;
}

static int leading_zeros_of(Number x) {
  int count = x.width;
  for (Wide bits = unsigned_value(x); bits != 0; bits >>= 1) count--;
  return count;
}

static Wide definition(HloOpcode opcode, Number x, Number y) {
  Wide a = x.value, b = y.value, amount = unsigned_value(y);
  switch (opcode) {
    case HLO_ADD: return a + b;
    case HLO_SUBTRACT: return a - b;
    case HLO_MULTIPLY: return (Wide)((Wider)a * (Wider)b);
    case HLO_DIVIDE: return b == 0 ? -1 : a / b;
    case HLO_REMAINDER: return b == 0 ? a : a % b;
    case HLO_MAXIMUM: return a > b ? a : b;
    case HLO_MINIMUM: return a < b ? a : b;
    case HLO_AND: return a & b;
    case HLO_OR: return a | b;
    case HLO_XOR: return a ^ b;
    case HLO_NOT: return ~a;
    case HLO_NEGATE: return -a;
    case HLO_ABS: return a < 0 ? -a : a;
    case HLO_SIGN: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case HLO_POPCNT: return ones_of(x);
    case HLO_COUNT_LEADING_ZEROS: return leading_zeros_of(x);
    case HLO_POWER: return definition_power(x, y);
    case HLO_SHIFT_LEFT: return amount >= x.width ? 0 : (Wide)((Wider)a << amount);
    case HLO_SHIFT_RIGHT_LOGICAL: return amount >= x.width ? 0 : unsigned_value(x) >> amount;
    case HLO_SHIFT_RIGHT_ARITHMETIC: {
      Wide bits = wrapped(a, x.width, true).value;
      return bits >> (amount >= x.width ? x.width - 1 : amount);
    }
    default: fail_msg("no definition of '%s'", hlo_opcode_text(opcode)); return 0;
  }
}

static const HloOpcode opcodes[] = {HLO_ADD,
                                    HLO_SUBTRACT,
                                    HLO_MULTIPLY,
                                    HLO_DIVIDE,
                                    HLO_REMAINDER,
                                    HLO_MAXIMUM,
                                    HLO_MINIMUM,
                                    HLO_AND,
                                    HLO_OR,
                                    HLO_XOR,
                                    HLO_NOT,
                                    HLO_NEGATE,
                                    HLO_ABS,
                                    HLO_SIGN,
                                    HLO_POPCNT,
                                    HLO_COUNT_LEADING_ZEROS,
                                    HLO_POWER,
                                    HLO_SHIFT_LEFT,
                                    HLO_SHIFT_RIGHT_LOGICAL,
                                    HLO_SHIFT_RIGHT_ARITHMETIC};
static const PrimitiveType types[] = {TYPE_S4,  TYPE_U4,  TYPE_S8,  TYPE_U8,  TYPE_S16,
                                      TYPE_U16, TYPE_S32, TYPE_U32, TYPE_S64, TYPE_U64};

enum { OPCODES = sizeof opcodes / sizeof *opcodes, TYPES = sizeof types / sizeof *types, COUNT = 1 << 16 };

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 32 | *state << 32;
}

/* All pairs up to 8 bits; else extremes, small numbers and random bits. */
static void operands_of(PrimitiveType type, int index, uint64_t *state, Number out[2]) {
  int width = type_bits(type);
  bool is_signed = type_is_signed(type);
  for (int k = 0; k < 2; k++) {
    uint64_t bits = k == 0 ? (uint64_t)index >> 8 : (uint64_t)index & 0xff;
    if (width > 8) {
      bits = next_random(state);
      uint64_t kind = next_random(state) % 4;
      if (kind == 0)
        bits = (uint64_t)(int64_t)((int)(bits % 7) - 3) ^ (bits >> 60 == 0 ? UINT64_C(1) << (width - 1) : 0);
      if (kind == 1) bits >>= 64 - width + (int)(next_random(state) % (uint64_t)width);
    }
    out[k] = wrapped((Wide)bits, width, is_signed);
  }
}

static Number read_number(PrimitiveType type, const uint8_t *at) {
  uint64_t bits = 0;
  memcpy(&bits, at, (size_t)type_storage_bytes(type));
  int storage_bits = type_storage_bytes(type) * 8;
  Number stored = wrapped((Wide)bits, storage_bits, type_is_signed(type));
  return (Number){stored.value, type_bits(type), stored.is_signed};
}

static void check_type(const char *cpu, PrimitiveType type, const VecTestFunction *functions) {
  static uint8_t a[COUNT * 8], b[COUNT * 8], out[COUNT * 8];
  static Number pairs[COUNT][2];
  int bytes = type_storage_bytes(type);
  uint64_t state = type;
  int count = type_bits(type) > 8 ? 1 << 13 : COUNT;
  for (int i = 0; i < count; i++) {
    operands_of(type, i, &state, pairs[i]);
    int64_t words[2] = {(int64_t)pairs[i][0].value, (int64_t)pairs[i][1].value};
    memcpy(a + i * bytes, &words[0], (size_t)bytes);
    memcpy(b + i * bytes, &words[1], (size_t)bytes);
  }
  for (int o = 0; o < OPCODES; o++) {
    functions[o](out, a, b, NULL, count);
    for (int i = 0; i < count; i++) {
      Wide want =
          wrapped(definition(opcodes[o], pairs[i][0], pairs[i][1]), type_bits(type), type_is_signed(type)).value;
      Wide got = read_number(type, out + i * bytes).value;
      if (got != want) {
        fail_msg("%s of %s (%s): %lld %lld gives %lld, not %lld", hlo_opcode_text(opcodes[o]), type_text(type), cpu,
                 (long long)pairs[i][0].value, (long long)pairs[i][1].value, (long long)got, (long long)want);
      }
    }
  }
}

static void check_level(const char *cpu, bool wide) {
  VecTestModule module;
  vec_test_begin(&module, cpu);
  for (int t = 0; t < TYPES; t++) {
    for (int o = 0; o < OPCODES; o++) {
      VecOp op = {opcodes[o], types[t], types[t], {0, 0}};
      PrimitiveType operand_types[] = {types[t], types[t]};
      int count = hlo_opcode_info(opcodes[o])->min_operands;
      vec_test_add(&module, &op, operand_types, count, wide ? vec_test_native_lanes(&module, &op) : 1);
    }
  }
  vec_test_finish(&module);
  for (int t = 0; t < TYPES; t++) {
    VecTestFunction functions[OPCODES];
    for (int o = 0; o < OPCODES; o++) functions[o] = vec_test_function(&module, t * OPCODES + o);
    check_type(cpu, types[t], functions);
  }
  vec_test_end(&module);
}

static void integer_operations_follow_their_definitions(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    check_level(level.cpu, true);
    if (l == 0) check_level(level.cpu, false);
  }
}

static void mulhi_takes_the_upper_half(void **state) {
  (void)state;
  for (int l = 0; l < VEC_TEST_LEVELS; l++) {
    VecTestLevel level = vec_test_level(l);
    if (!level.is_available) continue;
    VecTestModule module;
    PrimitiveType narrow[] = {TYPE_S32, TYPE_S32}, wide[] = {TYPE_U64, TYPE_U64}, tiny[] = {TYPE_S4, TYPE_S4},
                  least[] = {TYPE_U2, TYPE_U2};
    vec_test_begin(&module, level.cpu);
    vec_test_add(&module, &(VecOp){HLO_MULHI, TYPE_S32, TYPE_S32, {0, 0}}, narrow, 2, 4);
    vec_test_add(&module, &(VecOp){HLO_MULHI, TYPE_U64, TYPE_U64, {0, 0}}, wide, 2, 4);
    vec_test_add(&module, &(VecOp){HLO_MULHI, TYPE_S4, TYPE_S4, {0, 0}}, tiny, 2, 4);
    vec_test_add(&module, &(VecOp){HLO_MULHI, TYPE_U2, TYPE_U2, {0, 0}}, least, 2, 4);
    vec_test_finish(&module);
    int8_t p[] = {-8, -8, 7, -3}, q[] = {-8, 7, 7, 5}, upper[4];
    uint8_t r[] = {3, 3, 2, 1}, s[] = {3, 2, 2, 3}, upper_of_2[4];
    vec_test_function(&module, 2)(upper, p, q, NULL, 4);
    vec_test_function(&module, 3)(upper_of_2, r, s, NULL, 4);
    for (int i = 0; i < 4; i++) {
      assert_int_equal(upper[i], p[i] * q[i] >> 4);
      assert_int_equal(upper_of_2[i], r[i] * s[i] >> 2);
    }
    int32_t a[] = {INT32_MIN, INT32_MIN, 123456789, -7}, b[] = {INT32_MIN, INT32_MAX, -987654321, 3}, out[4];
    uint64_t c[] = {UINT64_MAX, 1, UINT64_C(1) << 63, 12345678901234567890u},
             d[] = {UINT64_MAX, UINT64_MAX, 6, 9876543210987654321u}, high[4];
    vec_test_function(&module, 0)(out, a, b, NULL, 4);
    vec_test_function(&module, 1)(high, c, d, NULL, 4);
    for (int i = 0; i < 4; i++) {
      assert_int_equal(out[i], (int32_t)(((int64_t)a[i] * b[i]) >> 32));
      assert_true(high[i] == (uint64_t)(((Wider)c[i] * d[i]) >> 64));
    }
    vec_test_end(&module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integer_operations_follow_their_definitions),
      cmocka_unit_test(mulhi_takes_the_upper_half),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
