/* Elementwise operations on integers and pred, in 64 bits; what is stored afterwards wraps to the type. */
#include "hlo/eval/lanes.h"

#define UNARY(name, Type, expression)                                                  \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                               \
    for (int64_t i = 0; i < count; i++) {                                              \
      Type x = ((const Type *)a)[i];                                                   \
      ((Type *)out)[i] = (Type)(expression);                                           \
    }                                                                                  \
  }

#define BINARY(name, Type, expression)                                                 \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits;                                                                        \
    for (int64_t i = 0; i < count; i++) {                                              \
      Type x = ((const Type *)a)[i], y = ((const Type *)b)[i];                         \
      ((Type *)out)[i] = (Type)(expression);                                           \
    }                                                                                  \
  }

static uint64_t mask(int bits) {
  return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* x / 0 is -1 (all ones), and the least number over -1 itself. */
static int64_t divide_signed(int64_t x, int64_t y) {
  if (y == 0) return -1;
  return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static int64_t remainder_signed(int64_t x, int64_t y) {
  if (y == 0) return x;
  return y == -1 ? 0 : x % y;
}

static uint64_t power_unsigned(uint64_t x, uint64_t y) {
  uint64_t result = 1;
  for (; y != 0; y >>= 1, x *= x)
    if (y & 1) result *= x;
  return result;
}

/* A negative power is the fraction truncated, 0 to a negative power 0. */
static int64_t power_signed(int64_t x, int64_t y) {
  if (y >= 0) return (int64_t)power_unsigned((uint64_t)x, (uint64_t)y);
  if (x == 1) return 1;
  if (x == -1) return y & 1 ? -1 : 1;
  return 0;
}

/* The shift's operand counts as unsigned of the type's width. */
static uint64_t shift_left(int bits, uint64_t x, uint64_t y) {
  return (y & mask(bits)) >= (uint64_t)bits ? 0 : x << (y & mask(bits));
}

static uint64_t shift_logical(int bits, uint64_t x, uint64_t y) {
  return (y & mask(bits)) >= (uint64_t)bits ? 0 : (x & mask(bits)) >> (y & mask(bits));
}

static int64_t shift_arithmetic(int bits, int64_t x, uint64_t y) {
  /* Unsigned numbers carry their sign bit at the type's width. */
  int64_t value = (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
  return value >> ((y & mask(bits)) >= (uint64_t)bits ? 63 : (int)(y & mask(bits)));
}

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

UNARY(signed_abs, int64_t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
UNARY(unsigned_abs, uint64_t, x)
UNARY(integer_negate, uint64_t, 0 - x)
UNARY(integer_not, uint64_t, ~x)
UNARY(pred_not, uint64_t, !x)
UNARY(signed_sign, int64_t, (x > 0) - (x < 0))
UNARY(unsigned_sign, uint64_t, x != 0)
UNARY(integer_popcnt, uint64_t, __builtin_popcountll(x &mask(bits)))
UNARY(integer_clz, uint64_t, (x & mask(bits)) == 0 ? bits : __builtin_clzll(x & mask(bits)) - (64 - bits))

BINARY(integer_add, uint64_t, x + y)
BINARY(integer_subtract, uint64_t, x - y)
BINARY(integer_multiply, uint64_t, x *y)
BINARY(integer_and, uint64_t, x &y)
BINARY(integer_or, uint64_t, x | y)
BINARY(integer_xor, uint64_t, x ^ y)
BINARY(integer_shift_left, uint64_t, shift_left(bits, x, y))
BINARY(integer_shift_logical, uint64_t, shift_logical(bits, x, y))
BINARY(integer_shift_arithmetic, uint64_t, shift_arithmetic(bits, (int64_t)x, y))
BINARY(signed_divide, int64_t, divide_signed(x, y))
BINARY(signed_remainder, int64_t, remainder_signed(x, y))
BINARY(signed_power, int64_t, power_signed(x, y))
BINARY(signed_maximum, int64_t, x > y ? x : y)
BINARY(signed_minimum, int64_t, x < y ? x : y)
BINARY(signed_mulhi, int64_t, (Int128)x *y >> bits)
BINARY(unsigned_divide, uint64_t, y == 0 ? UINT64_MAX : x / y)
BINARY(unsigned_remainder, uint64_t, y == 0 ? x : x % y)
BINARY(unsigned_power, uint64_t, power_unsigned(x, y))
BINARY(unsigned_maximum, uint64_t, x > y ? x : y)
BINARY(unsigned_minimum, uint64_t, x < y ? x : y)
BINARY(unsigned_mulhi, uint64_t, (Uint128)x *y >> bits)

/* What signs make no difference to. */
#define SHARED                                                                                                \
  [HLO_NEGATE] = integer_negate, [HLO_NOT] = integer_not, [HLO_POPCNT] = integer_popcnt,                      \
  [HLO_COUNT_LEADING_ZEROS] = integer_clz, [HLO_ADD] = integer_add, [HLO_SUBTRACT] = integer_subtract,        \
  [HLO_MULTIPLY] = integer_multiply, [HLO_AND] = integer_and, [HLO_OR] = integer_or, [HLO_XOR] = integer_xor, \
  [HLO_SHIFT_LEFT] = integer_shift_left, [HLO_SHIFT_RIGHT_LOGICAL] = integer_shift_logical,                   \
  [HLO_SHIFT_RIGHT_ARITHMETIC] = integer_shift_arithmetic

static LaneKernel *const signed_kernels[HLO_OPCODE_COUNT] = {
    SHARED,
    [HLO_ABS] = signed_abs,
    [HLO_DIVIDE] = signed_divide,
    [HLO_MAXIMUM] = signed_maximum,
    [HLO_MINIMUM] = signed_minimum,
    [HLO_MULHI] = signed_mulhi,
    [HLO_POWER] = signed_power,
    [HLO_REMAINDER] = signed_remainder,
    [HLO_SIGN] = signed_sign,
};

static LaneKernel *const unsigned_kernels[HLO_OPCODE_COUNT] = {
    SHARED,
    [HLO_ABS] = unsigned_abs,
    [HLO_DIVIDE] = unsigned_divide,
    [HLO_MAXIMUM] = unsigned_maximum,
    [HLO_MINIMUM] = unsigned_minimum,
    [HLO_MULHI] = unsigned_mulhi,
    [HLO_POWER] = unsigned_power,
    [HLO_REMAINDER] = unsigned_remainder,
    [HLO_SIGN] = unsigned_sign,
};

/* The sum of truths is 'or', their product 'and'. */
static LaneKernel *const pred_kernels[HLO_OPCODE_COUNT] = {
    [HLO_ADD] = integer_or,       [HLO_AND] = integer_and, [HLO_MAXIMUM] = integer_or, [HLO_MINIMUM] = integer_and,
    [HLO_MULTIPLY] = integer_and, [HLO_NOT] = pred_not,    [HLO_OR] = integer_or,      [HLO_XOR] = integer_xor,
};

LaneKernel *lane_integer_kernel(HloOpcode opcode, LaneClass lane) {
  if (lane == LANE_PRED) return pred_kernels[opcode];
  return lane == LANE_SIGNED ? signed_kernels[opcode] : unsigned_kernels[opcode];
}
