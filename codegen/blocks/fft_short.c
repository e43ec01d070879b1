/* Short transforms in registers. */
#include "base/unit_root.h"
#include "codegen/blocks/fft_internal.h"

static LLVMValueRef add(const FftLanes *lanes, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(lanes->vec->builder, a, b, "");
}

static LLVMValueRef subtract(const FftLanes *lanes, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(lanes->vec->builder, a, b, "");
}

static LLVMValueRef multiply(const FftLanes *lanes, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(lanes->vec->builder, a, b, "");
}

static LLVMValueRef multiply_add(const FftLanes *lanes, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return vec_multiply_add(lanes->vec, lanes->type, a, b, c);
}

static LLVMValueRef negate(const FftLanes *lanes, LLVMValueRef a) {
  return LLVMBuildFNeg(lanes->vec->builder, a, "");
}

static LLVMValueRef constant(const FftLanes *lanes, double value) {
  return vec_constant_double(lanes->vec, lanes->type, value, lanes->lanes);
}

static FftComplex sum(const FftLanes *lanes, FftComplex a, FftComplex b) {
  return (FftComplex){add(lanes, a.re, b.re), add(lanes, a.im, b.im)};
}

static FftComplex difference(const FftLanes *lanes, FftComplex a, FftComplex b) {
  return (FftComplex){subtract(lanes, a.re, b.re), subtract(lanes, a.im, b.im)};
}

FftComplex fft_product(const FftLanes *lanes, FftComplex a, FftComplex b) {
  LLVMValueRef im = multiply(lanes, a.im, b.im);
  return (FftComplex){multiply_add(lanes, a.re, b.re, negate(lanes, im)),
                      multiply_add(lanes, a.re, b.im, multiply(lanes, a.im, b.re))};
}

/* a + i·b and a - i·b */
static void turned(const FftLanes *lanes, FftComplex a, FftComplex b, FftComplex *out_plus, FftComplex *out_minus) {
  *out_plus = (FftComplex){subtract(lanes, a.re, b.im), add(lanes, a.im, b.re)};
  *out_minus = (FftComplex){add(lanes, a.re, b.im), subtract(lanes, a.im, b.re)};
}

static void transform_2(const FftLanes *lanes, FftComplex *x) {
  FftComplex a = x[0], b = x[1];
  x[0] = sum(lanes, a, b);
  x[1] = difference(lanes, a, b);
}

static void transform_4(const FftLanes *lanes, FftComplex *x) {
  FftComplex even = sum(lanes, x[0], x[2]), even_rest = difference(lanes, x[0], x[2]);
  FftComplex odd = sum(lanes, x[1], x[3]), odd_rest = difference(lanes, x[1], x[3]);
  x[0] = sum(lanes, even, odd);
  x[2] = difference(lanes, even, odd);
  turned(lanes, even_rest, odd_rest, &x[3], &x[1]);
}

/* Times exp(-πi/4) and exp(-3πi/4). */
static FftComplex times_eighth(const FftLanes *lanes, FftComplex a) {
  LLVMValueRef half = constant(lanes, 0.70710678118654752440);
  return (FftComplex){multiply(lanes, add(lanes, a.re, a.im), half),
                      multiply(lanes, subtract(lanes, a.im, a.re), half)};
}

static FftComplex times_three_eighths(const FftLanes *lanes, FftComplex a) {
  LLVMValueRef half = constant(lanes, 0.70710678118654752440);
  return (FftComplex){multiply(lanes, subtract(lanes, a.im, a.re), half),
                      multiply(lanes, negate(lanes, add(lanes, a.re, a.im)), half)};
}

static void transform_8(const FftLanes *lanes, FftComplex *x) {
  FftComplex even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  transform_4(lanes, even);
  transform_4(lanes, odd);
  odd[1] = times_eighth(lanes, odd[1]);
  odd[3] = times_three_eighths(lanes, odd[3]);
  x[0] = sum(lanes, even[0], odd[0]);
  x[4] = difference(lanes, even[0], odd[0]);
  x[1] = sum(lanes, even[1], odd[1]);
  x[5] = difference(lanes, even[1], odd[1]);
  turned(lanes, even[2], odd[2], &x[6], &x[2]);
  x[3] = sum(lanes, even[3], odd[3]);
  x[7] = difference(lanes, even[3], odd[3]);
}

/* Values j and radix - j meet the same cosines and opposite sines: results k and radix - k are a ± i·b with
 * a = x0 + Σ cos(2πjk/radix)·(xj + x-j), b = -Σ sin(2πjk/radix)·(xj - x-j). */
static void transform_odd(const FftLanes *lanes, FftComplex *x, int64_t radix) {
  FftComplex sums[FFT_MAX_RADIX / 2], rests[FFT_MAX_RADIX / 2], first = x[0];
  int64_t half = radix / 2;
  for (int64_t j = 1; j <= half; j++) {
    sums[j - 1] = sum(lanes, x[j], x[radix - j]);
    rests[j - 1] = difference(lanes, x[j], x[radix - j]);
    x[0] = sum(lanes, x[0], sums[j - 1]);
  }
  for (int64_t k = 1; k <= half; k++) {
    FftComplex a = first, b = {0};
    for (int64_t j = 1; j <= half; j++) {
      UnitRoot root = unit_root(j * k, radix, -1);
      LLVMValueRef c = constant(lanes, root.re), s = constant(lanes, root.im);
      a = (FftComplex){multiply_add(lanes, sums[j - 1].re, c, a.re), multiply_add(lanes, sums[j - 1].im, c, a.im)};
      b = j == 1 ? (FftComplex){multiply(lanes, rests[0].re, s), multiply(lanes, rests[0].im, s)}
                 : (FftComplex){multiply_add(lanes, rests[j - 1].re, s, b.re),
                                multiply_add(lanes, rests[j - 1].im, s, b.im)};
    }
    turned(lanes, a, b, &x[k], &x[radix - k]);
  }
}

void fft_short_transform(const FftLanes *lanes, FftComplex *values, int64_t radix) {
  switch (radix) {
    case 2: transform_2(lanes, values); break;
    case 4: transform_4(lanes, values); break;
    case 8: transform_8(lanes, values); break;
    default: transform_odd(lanes, values, radix);
  }
}
