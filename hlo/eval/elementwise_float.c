/* Elementwise operations on real floating types, in double. */
#include <math.h>
#include <string.h>

#include "hlo/eval/lanes.h"

#define UNARY(opcode, expression)                                                                \
  static void float_##opcode(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                                         \
    for (int64_t i = 0; i < count; i++) {                                                        \
      double x = ((const double *)a)[i];                                                         \
      ((double *)out)[i] = (expression);                                                         \
    }                                                                                            \
  }

#define BINARY(opcode, expression)                                                               \
  static void float_##opcode(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits;                                                                                  \
    for (int64_t i = 0; i < count; i++) {                                                        \
      double x = ((const double *)a)[i], y = ((const double *)b)[i];                             \
      ((double *)out)[i] = (expression);                                                         \
    }                                                                                            \
  }

/* Both operands NaN-free: the larger, +0 above -0; NaN otherwise (IEEE 754 maximum). */
static double maximum(double x, double y) {
  if (isnan(x) || isnan(y)) return x + y;
  if (x == y) return signbit(x) ? y : x;
  return x > y ? x : y;
}

static double minimum(double x, double y) {
  if (isnan(x) || isnan(y)) return x + y;
  if (x == y) return signbit(x) ? x : y;
  return x < y ? x : y;
}

static double sign(double x) {
  return isnan(x) || x == 0 ? x : copysign(1, x);
}

/* 1 / (1 + e^-x) loses nothing at either end. */
static double logistic(double x) {
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* C's pow gives NaN for a signalling NaN even where every other operand gives 1. */
static double power(double x, double y) {
  return x == 1 || y == 0 ? 1 : pow(x, y);
}

static void float_imag(int bits, int64_t count, void *out, const void *a, const void *b) {
  (void)bits, (void)a, (void)b;
  for (int64_t i = 0; i < count; i++) ((double *)out)[i] = 0;
}

static void float_is_finite(int bits, int64_t count, void *out, const void *a, const void *b) {
  (void)bits, (void)b;
  for (int64_t i = 0; i < count; i++) ((uint64_t *)out)[i] = isfinite(((const double *)a)[i]) != 0;
}

static void float_complex(int bits, int64_t count, void *out, const void *a, const void *b) {
  (void)bits;
  for (int64_t i = 0; i < count; i++)
    ((LaneComplex *)out)[i] = (LaneComplex){((const double *)a)[i], ((const double *)b)[i]};
}

/* Each operation once: its kernel and the row of the table are made of it. */
#define UNARY_KERNELS(KERNEL)             \
  KERNEL(ABS, fabs(x))                    \
  KERNEL(ACOS, acos(x))                   \
  KERNEL(ACOSH, acosh(x))                 \
  KERNEL(ASIN, asin(x))                   \
  KERNEL(ASINH, asinh(x))                 \
  KERNEL(ATANH, atanh(x))                 \
  KERNEL(CBRT, cbrt(x))                   \
  KERNEL(CEIL, ceil(x))                   \
  KERNEL(COSH, cosh(x))                   \
  KERNEL(COSINE, cos(x))                  \
  KERNEL(ERF, erf(x))                     \
  KERNEL(ERFC, erfc(x))                   \
  KERNEL(EXPONENTIAL, exp(x))             \
  KERNEL(EXPONENTIAL_MINUS_ONE, expm1(x)) \
  KERNEL(FLOOR, floor(x))                 \
  KERNEL(LOG, log(x))                     \
  KERNEL(LOGISTIC, logistic(x))           \
  KERNEL(LOG_PLUS_ONE, log1p(x))          \
  KERNEL(NEGATE, -x)                      \
  KERNEL(REAL, x)                         \
  KERNEL(ROUND_NEAREST_AFZ, round(x))     \
  KERNEL(ROUND_NEAREST_EVEN, rint(x))     \
  KERNEL(RSQRT, 1 / sqrt(x))              \
  KERNEL(SIGN, sign(x))                   \
  KERNEL(SINE, sin(x))                    \
  KERNEL(SINH, sinh(x))                   \
  KERNEL(SQRT, sqrt(x))                   \
  KERNEL(TAN, tan(x))                     \
  KERNEL(TANH, tanh(x))

#define BINARY_KERNELS(KERNEL)   \
  KERNEL(ADD, x + y)             \
  KERNEL(ATAN2, atan2(x, y))     \
  KERNEL(DIVIDE, x / y)          \
  KERNEL(MAXIMUM, maximum(x, y)) \
  KERNEL(MINIMUM, minimum(x, y)) \
  KERNEL(MULTIPLY, x *y)         \
  KERNEL(POWER, power(x, y))     \
  KERNEL(REMAINDER, fmod(x, y))  \
  KERNEL(SUBTRACT, x - y)

UNARY_KERNELS(UNARY)
BINARY_KERNELS(BINARY)

#define ROW(opcode, expression) [HLO_##opcode] = float_##opcode,

static LaneKernel *const kernels[HLO_OPCODE_COUNT] = {[HLO_COMPLEX] = float_complex,
                                                      [HLO_IMAG] = float_imag,
                                                      [HLO_IS_FINITE] = float_is_finite,
                                                      UNARY_KERNELS(ROW) BINARY_KERNELS(ROW)};

LaneKernel *lane_float_kernel(HloOpcode opcode) {
  return kernels[opcode];
}
