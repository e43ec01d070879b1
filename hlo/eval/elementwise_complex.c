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

#define UNARY(opcode, expression)                                                                  \
  static void complex_##opcode(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                          \
      LaneComplex x = ((const LaneComplex *)a)[i];                                                 \
      ((LaneComplex *)out)[i] = (expression);                                                      \
    }                                                                                              \
  }

#define BINARY(opcode, expression)                                                                 \
  static void complex_##opcode(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits;                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                          \
      LaneComplex x = ((const LaneComplex *)a)[i], y = ((const LaneComplex *)b)[i];                \
      ((LaneComplex *)out)[i] = (expression);                                                      \
    }                                                                                              \
  }

#define PART(opcode, expression)                                                                   \
  static void complex_##opcode(int bits, int64_t count, void *out, const void *a, const void *b) { \
    (void)bits, (void)b;                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                          \
      LaneComplex x = ((const LaneComplex *)a)[i];                                                 \
      ((double *)out)[i] = (expression);                                                           \
    }                                                                                              \
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

/* Each operation once: its kernel and the row of the table are made of it. */
#define UNARY_KERNELS(KERNEL)                   \
  KERNEL(ACOS, of_z(cacos(to_z(x))))            \
  KERNEL(ACOSH, of_z(cacosh(to_z(x))))          \
  KERNEL(ASIN, of_z(casin(to_z(x))))            \
  KERNEL(ASINH, of_z(casinh(to_z(x))))          \
  KERNEL(ATANH, of_z(catanh(to_z(x))))          \
  KERNEL(COSH, of_z(ccosh(to_z(x))))            \
  KERNEL(COSINE, of_z(ccos(to_z(x))))           \
  KERNEL(EXPONENTIAL, of_z(cexp(to_z(x))))      \
  KERNEL(EXPONENTIAL_MINUS_ONE, expm1_of(x))    \
  KERNEL(LOG, of_z(clog(to_z(x))))              \
  KERNEL(LOGISTIC, logistic_of(x))              \
  KERNEL(LOG_PLUS_ONE, log1p_of(x))             \
  KERNEL(NEGATE, ((LaneComplex){-x.re, -x.im})) \
  KERNEL(RSQRT, of_z(1 / csqrt(to_z(x))))       \
  KERNEL(SIGN, sign(x))                         \
  KERNEL(SINE, of_z(csin(to_z(x))))             \
  KERNEL(SINH, of_z(csinh(to_z(x))))            \
  KERNEL(SQRT, of_z(csqrt(to_z(x))))            \
  KERNEL(TAN, of_z(ctan(to_z(x))))              \
  KERNEL(TANH, of_z(ctanh(to_z(x))))

#define PART_KERNELS(KERNEL)     \
  KERNEL(ABS, hypot(x.re, x.im)) \
  KERNEL(IMAG, x.im)             \
  KERNEL(REAL, x.re)

#define BINARY_KERNELS(KERNEL)                           \
  KERNEL(ADD, ((LaneComplex){x.re + y.re, x.im + y.im})) \
  KERNEL(ATAN2, atan2_of(x, y))                          \
  KERNEL(DIVIDE, of_z(to_z(x) / to_z(y)))                \
  KERNEL(MULTIPLY, multiply(bits, x, y))                 \
  KERNEL(POWER, power(x, y))                             \
  KERNEL(SUBTRACT, ((LaneComplex){x.re - y.re, x.im - y.im}))

UNARY_KERNELS(UNARY)
PART_KERNELS(PART)
BINARY_KERNELS(BINARY)

#define ROW(opcode, expression) [HLO_##opcode] = complex_##opcode,

static LaneKernel *const kernels[HLO_OPCODE_COUNT] = {UNARY_KERNELS(ROW) PART_KERNELS(ROW) BINARY_KERNELS(ROW)};

LaneKernel *lane_complex_kernel(HloOpcode opcode) {
  return kernels[opcode];
}
