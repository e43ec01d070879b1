/* Elementwise operations on real floating types, in double. */
#include <math.h>
#include <string.h>

#include "hlo/eval/lanes.h"

#define UNARY(name, expression)                                                        \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                               \
    for (int64_t i = 0; i < count; i++) {                                              \
      double x = ((const double *)a)[i];                                               \
      ((double *)out)[i] = (expression);                                               \
    }                                                                                  \
  }

#define BINARY(name, expression)                                                       \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits;                                                                        \
    for (int64_t i = 0; i < count; i++) {                                              \
      double x = ((const double *)a)[i], y = ((const double *)b)[i];                   \
      ((double *)out)[i] = (expression);                                               \
    }                                                                                  \
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

UNARY(float_abs, fabs(x))
UNARY(float_acos, acos(x))
UNARY(float_acosh, acosh(x))
UNARY(float_asin, asin(x))
UNARY(float_asinh, asinh(x))
UNARY(float_atanh, atanh(x))
UNARY(float_cbrt, cbrt(x))
UNARY(float_ceil, ceil(x))
UNARY(float_cos, cos(x))
UNARY(float_cosh, cosh(x))
UNARY(float_erf, erf(x))
UNARY(float_exp, exp(x))
UNARY(float_expm1, expm1(x))
UNARY(float_floor, floor(x))
UNARY(float_log, log(x))
UNARY(float_log1p, log1p(x))
UNARY(float_logistic, logistic(x))
UNARY(float_negate, -x)
UNARY(float_real, x)
UNARY(float_round, round(x))
UNARY(float_round_even, rint(x))
UNARY(float_rsqrt, 1 / sqrt(x))
UNARY(float_sign, sign(x))
UNARY(float_sin, sin(x))
UNARY(float_sinh, sinh(x))
UNARY(float_sqrt, sqrt(x))
UNARY(float_tan, tan(x))
UNARY(float_tanh, tanh(x))

BINARY(float_add, x + y)
BINARY(float_atan2, atan2(x, y))
BINARY(float_divide, x / y)
BINARY(float_maximum, maximum(x, y))
BINARY(float_minimum, minimum(x, y))
BINARY(float_multiply, x *y)
BINARY(float_power, power(x, y))
BINARY(float_remainder, fmod(x, y))
BINARY(float_subtract, x - y)

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

static LaneKernel *const kernels[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = float_abs,
    [HLO_ACOS] = float_acos,
    [HLO_ACOSH] = float_acosh,
    [HLO_ADD] = float_add,
    [HLO_ASIN] = float_asin,
    [HLO_ASINH] = float_asinh,
    [HLO_ATAN2] = float_atan2,
    [HLO_ATANH] = float_atanh,
    [HLO_CBRT] = float_cbrt,
    [HLO_CEIL] = float_ceil,
    [HLO_COMPLEX] = float_complex,
    [HLO_COSH] = float_cosh,
    [HLO_COSINE] = float_cos,
    [HLO_DIVIDE] = float_divide,
    [HLO_ERF] = float_erf,
    [HLO_EXPONENTIAL] = float_exp,
    [HLO_EXPONENTIAL_MINUS_ONE] = float_expm1,
    [HLO_FLOOR] = float_floor,
    [HLO_IMAG] = float_imag,
    [HLO_IS_FINITE] = float_is_finite,
    [HLO_LOG] = float_log,
    [HLO_LOGISTIC] = float_logistic,
    [HLO_LOG_PLUS_ONE] = float_log1p,
    [HLO_MAXIMUM] = float_maximum,
    [HLO_MINIMUM] = float_minimum,
    [HLO_MULTIPLY] = float_multiply,
    [HLO_NEGATE] = float_negate,
    [HLO_POWER] = float_power,
    [HLO_REAL] = float_real,
    [HLO_REMAINDER] = float_remainder,
    [HLO_ROUND_NEAREST_AFZ] = float_round,
    [HLO_ROUND_NEAREST_EVEN] = float_round_even,
    [HLO_RSQRT] = float_rsqrt,
    [HLO_SIGN] = float_sign,
    [HLO_SINE] = float_sin,
    [HLO_SINH] = float_sinh,
    [HLO_SQRT] = float_sqrt,
    [HLO_SUBTRACT] = float_subtract,
    [HLO_TAN] = float_tan,
    [HLO_TANH] = float_tanh,
};

LaneKernel *lane_float_kernel(HloOpcode opcode) {
  return kernels[opcode];
}
