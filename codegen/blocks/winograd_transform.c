/* The transforms of F(4x4, 3x3), at the points 0, 1, -1, 2, -2 and infinity:
 *
 *        4  0 -5  0  1  0             1/4     0    0
 *        0 -4 -4  1  1  0            -1/6  -1/6 -1/6           1  1  1  1  1  0
 *   Bᵀ = 0  4 -4 -1  1  0       G =  -1/6   1/6 -1/6     Aᵀ =  0  1 -1  2 -2  0
 *        0 -2 -1  2  1  0            1/24  1/12  1/6           0  1  1  4  4  0
 *        0  2 -1 -2  1  0            1/24 -1/12  1/6           0  1 -1  8 -8  1
 *        0  4  0 -5  0  1               0     0    1
 *
 * Rows that differ in signs alone share what they have in common. */
#include "codegen/blocks/winograd_internal.h"

typedef struct Lanes {
  const VecBuilder *vec;
  int count;
} Lanes;

static LLVMValueRef plus(const Lanes *lanes, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(lanes->vec->builder, a, b, "");
}

static LLVMValueRef minus(const Lanes *lanes, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(lanes->vec->builder, a, b, "");
}

static LLVMValueRef times(const Lanes *lanes, double factor, LLVMValueRef a) {
  return LLVMBuildFMul(lanes->vec->builder, a, vec_constant_double(lanes->vec, TYPE_F32, factor, lanes->count), "");
}

/* |factor| · a + b */
static LLVMValueRef times_plus(const Lanes *lanes, double factor, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef constant = vec_constant_double(lanes->vec, TYPE_F32, factor, lanes->count);
  return vec_multiply_add(lanes->vec, TYPE_F32, a, constant, b);
}

/* Of a column d: Bᵀ d. */
static void transform_patch(const Lanes *lanes, LLVMValueRef *d) {
  LLVMValueRef even = times_plus(lanes, -4, d[2], d[4]), odd = times_plus(lanes, -4, d[1], d[3]);
  LLVMValueRef last = minus(lanes, d[4], d[2]), difference = minus(lanes, d[3], d[1]);
  LLVMValueRef first = times_plus(lanes, 4, d[0], times_plus(lanes, -5, d[2], d[4]));
  LLVMValueRef sixth = times_plus(lanes, 4, d[1], times_plus(lanes, -5, d[3], d[5]));
  d[0] = first;
  d[1] = plus(lanes, even, odd);
  d[2] = minus(lanes, even, odd);
  d[3] = times_plus(lanes, 2, difference, last);
  d[4] = times_plus(lanes, -2, difference, last);
  d[5] = sixth;
}

/* Of a column w of three: G w, of six. */
static void transform_taps(const Lanes *lanes, LLVMValueRef *w) {
  LLVMValueRef ends = times(lanes, -1.0 / 6, plus(lanes, w[0], w[2])), middle = times(lanes, 1.0 / 6, w[1]);
  LLVMValueRef even = times_plus(lanes, 1.0 / 6, w[2], times(lanes, 1.0 / 24, w[0])), odd = times(lanes, 0.5, middle);
  LLVMValueRef last = w[2];
  w[0] = times(lanes, 1.0 / 4, w[0]);
  w[1] = minus(lanes, ends, middle);
  w[2] = plus(lanes, ends, middle);
  w[3] = plus(lanes, even, odd);
  w[4] = minus(lanes, even, odd);
  w[5] = last;
}

/* Of a column m of six: Aᵀ m, of four. */
static void transform_products(const Lanes *lanes, LLVMValueRef *m) {
  LLVMValueRef sum = plus(lanes, m[1], m[2]), difference = minus(lanes, m[1], m[2]);
  LLVMValueRef sum_of_twos = plus(lanes, m[3], m[4]), difference_of_twos = minus(lanes, m[3], m[4]);
  m[0] = plus(lanes, plus(lanes, m[0], sum), sum_of_twos);
  m[3] = plus(lanes, times_plus(lanes, 8, difference_of_twos, difference), m[5]);
  m[1] = times_plus(lanes, 2, difference_of_twos, difference);
  m[2] = times_plus(lanes, 4, sum_of_twos, sum);
}

typedef void Transform(const Lanes *lanes, LLVMValueRef *column);

/* |transform|, from |from| to |to| values, along columns and then along rows. */
static void transform_both(const Lanes *lanes, Transform *transform, int from, int to, LLVMValueRef *values) {
  LLVMValueRef half[WINOGRAD_PRODUCTS], line[WINOGRAD_PATCH];
  for (int j = 0; j < from; j++) {
    for (int i = 0; i < from; i++) line[i] = values[i * from + j];
    transform(lanes, line);
    for (int i = 0; i < to; i++) half[i * from + j] = line[i];
  }
  for (int i = 0; i < to; i++) {
    for (int j = 0; j < from; j++) line[j] = half[i * from + j];
    transform(lanes, line);
    for (int j = 0; j < to; j++) values[i * to + j] = line[j];
  }
}

void winograd_transform_input(const VecBuilder *vec, int lanes, LLVMValueRef *values) {
  transform_both(&(Lanes){vec, lanes}, transform_patch, WINOGRAD_PATCH, WINOGRAD_PATCH, values);
}

void winograd_transform_weights(const VecBuilder *vec, int lanes, LLVMValueRef *values) {
  transform_both(&(Lanes){vec, lanes}, transform_taps, WINOGRAD_TAPS, WINOGRAD_PATCH, values);
}

void winograd_transform_sums(const VecBuilder *vec, int lanes, LLVMValueRef *values) {
  transform_both(&(Lanes){vec, lanes}, transform_products, WINOGRAD_PATCH, WINOGRAD_TILE, values);
}
