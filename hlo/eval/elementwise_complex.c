/* Elementwise operations on complex types: sums and products in the type's own precision, step by step as in compiled
 * code, the rest in double. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "hlo/eval/lanes.h"

typedef double complex Z;

static Z to_z(LaneComplex value) {
  Z result;
  memcpy(&result, &value, sizeof result);
  return result;
}

static LaneComplex of_z(Z value) {
  return (LaneComplex){creal(value), cimag(value)};
}

#define UNARY(name, expression)                                                        \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                               \
    for (int64_t i = 0; i < count; i++) {                                              \
      LaneComplex x = ((const LaneComplex *)a)[i];                                     \
      ((LaneComplex *)out)[i] = (expression);                                          \
    }                                                                                  \
  }

#define BINARY(name, expression)                                                       \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits;                                                                        \
    for (int64_t i = 0; i < count; i++) {                                              \
      LaneComplex x = ((const LaneComplex *)a)[i], y = ((const LaneComplex *)b)[i];    \
      ((LaneComplex *)out)[i] = (expression);                                          \
    }                                                                                  \
  }

#define PART(name, expression)                                                         \
  static void name(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                               \
    for (int64_t i = 0; i < count; i++) {                                              \
      LaneComplex x = ((const LaneComplex *)a)[i];                                     \
      ((double *)out)[i] = (expression);                                               \
    }                                                                                  \
  }

static double rounded(int bits, double value) {
  return bits == 64 ? (double)(float)value : value;
}

static LaneComplex multiply(int bits, LaneComplex x, LaneComplex y) {
  return (LaneComplex){rounded(bits, x.re * y.re) - rounded(bits, x.im * y.im),
                       rounded(bits, x.re * y.im) + rounded(bits, x.im * y.re)};
}

static LaneComplex sign(LaneComplex x) {
  double size = hypot(x.re, x.im);
  return size == 0 ? x : (LaneComplex){x.re / size, x.im / size};
}

/* Without cancellation near 0. */
static LaneComplex expm1_of(LaneComplex x) {
  double s = sin(x.im / 2);
  return (LaneComplex){expm1(x.re) * cos(x.im) - 2 * s * s, x.im == 0 ? x.im : exp(x.re) * sin(x.im)};
}

/* |1 + x|² - 1 keeps its digits but near -1, where 1 + x is exact; where squares overflow, 1 is nothing. */
static LaneComplex log1p_of(LaneComplex x) {
  double t = x.re * (2 + x.re) + x.im * x.im;
  if (t < -0.5 || fmax(fabs(x.re), fabs(x.im)) > 0x1p500) return of_z(clog(to_z((LaneComplex){1 + x.re, x.im})));
  return (LaneComplex){log1p(t) / 2, atan2(x.im, 1 + x.re)};
}

/* By the exponential that does not overflow. */
static LaneComplex logistic_of(LaneComplex x) {
  Z power = cexp(x.re < 0 ? to_z(x) : -to_z(x));
  return of_z((x.re < 0 ? power : 1) / (1 + power));
}

static LaneComplex power(LaneComplex x, LaneComplex y) {
  if (x.re == 0 && x.im == 0) {
    if (y.re == 0 && y.im == 0) return (LaneComplex){1, 0};
    if (y.im == 0 && y.re > 0) return (LaneComplex){0, 0};
  }
  return of_z(cpow(to_z(x), to_z(y)));
}

/* -i log((x + iy) / sqrt(x² + y²)), y being the first operand. */
static LaneComplex atan2_of(LaneComplex y, LaneComplex x) {
  Z zx = to_z(x), zy = to_z(y);
  Z up = zx + to_z((LaneComplex){-y.im, y.re});
  Z result = clog(up / csqrt(zx * zx + zy * zy));
  return (LaneComplex){cimag(result), -creal(result)};
}

UNARY(complex_acos, of_z(cacos(to_z(x))))
UNARY(complex_acosh, of_z(cacosh(to_z(x))))
UNARY(complex_asin, of_z(casin(to_z(x))))
UNARY(complex_asinh, of_z(casinh(to_z(x))))
UNARY(complex_atanh, of_z(catanh(to_z(x))))
UNARY(complex_cos, of_z(ccos(to_z(x))))
UNARY(complex_cosh, of_z(ccosh(to_z(x))))
UNARY(complex_exp, of_z(cexp(to_z(x))))
UNARY(complex_expm1, expm1_of(x))
UNARY(complex_log, of_z(clog(to_z(x))))
UNARY(complex_log1p, log1p_of(x))
UNARY(complex_logistic, logistic_of(x))
UNARY(complex_negate, ((LaneComplex){-x.re, -x.im}))
UNARY(complex_rsqrt, of_z(1 / csqrt(to_z(x))))
UNARY(complex_sign, sign(x))
UNARY(complex_sin, of_z(csin(to_z(x))))
UNARY(complex_sinh, of_z(csinh(to_z(x))))
UNARY(complex_sqrt, of_z(csqrt(to_z(x))))
UNARY(complex_tan, of_z(ctan(to_z(x))))
UNARY(complex_tanh, of_z(ctanh(to_z(x))))

PART(complex_abs, hypot(x.re, x.im))
PART(complex_real, x.re)
PART(complex_imag, x.im)

BINARY(complex_add, ((LaneComplex){x.re + y.re, x.im + y.im}))
BINARY(complex_atan2, atan2_of(x, y))
BINARY(complex_divide, of_z(to_z(x) / to_z(y)))
BINARY(complex_multiply, multiply(bits, x, y))
BINARY(complex_power, power(x, y))
BINARY(complex_subtract, ((LaneComplex){x.re - y.re, x.im - y.im}))

static LaneKernel *const kernels[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = complex_abs,
    [HLO_ACOS] = complex_acos,
    [HLO_ACOSH] = complex_acosh,
    [HLO_ADD] = complex_add,
    [HLO_ASIN] = complex_asin,
    [HLO_ASINH] = complex_asinh,
    [HLO_ATAN2] = complex_atan2,
    [HLO_ATANH] = complex_atanh,
    [HLO_COSH] = complex_cosh,
    [HLO_COSINE] = complex_cos,
    [HLO_DIVIDE] = complex_divide,
    [HLO_EXPONENTIAL] = complex_exp,
    [HLO_EXPONENTIAL_MINUS_ONE] = complex_expm1,
    [HLO_IMAG] = complex_imag,
    [HLO_LOG] = complex_log,
    [HLO_LOGISTIC] = complex_logistic,
    [HLO_LOG_PLUS_ONE] = complex_log1p,
    [HLO_MULTIPLY] = complex_multiply,
    [HLO_NEGATE] = complex_negate,
    [HLO_POWER] = complex_power,
    [HLO_REAL] = complex_real,
    [HLO_RSQRT] = complex_rsqrt,
    [HLO_SIGN] = complex_sign,
    [HLO_SINE] = complex_sin,
    [HLO_SINH] = complex_sinh,
    [HLO_SQRT] = complex_sqrt,
    [HLO_SUBTRACT] = complex_subtract,
    [HLO_TAN] = complex_tan,
    [HLO_TANH] = complex_tanh,
};

LaneKernel *lane_complex_kernel(HloOpcode opcode) {
  return kernels[opcode];
}
