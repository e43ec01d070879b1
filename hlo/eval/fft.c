/* Fourier transforms along the last dimensions, in double: radix 2 for powers of two, the definition otherwise. */
#include <math.h>
#include <string.h>

#include "hlo/eval/eval_internal.h"

static LaneComplex unit_root(int64_t i, int64_t n, int sign) {
  double angle = sign * 2 * 3.14159265358979323846 * (double)i / (double)n;
  return (LaneComplex){cos(angle), sin(angle)};
}

static LaneComplex product(LaneComplex a, LaneComplex b) {
  return (LaneComplex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* out[k] = Σ in[j] roots[jk mod n] */
static void transform_directly(int64_t n, const LaneComplex *in, const LaneComplex *roots, LaneComplex *out) {
  for (int64_t k = 0; k < n; k++) {
    LaneComplex sum = {0, 0};
    for (int64_t j = 0, at = 0; j < n; j++, at = (at + k) % n) {
      LaneComplex term = product(in[j], roots[at]);
      sum.re += term.re;
      sum.im += term.im;
    }
    out[k] = sum;
  }
}

/* Decimation in time, recursively: |stride| apart in |in|, dense in |out|. */
static void transform_by_halves(int64_t n, const LaneComplex *in, int64_t stride, const LaneComplex *roots,
                                int64_t root_stride, LaneComplex *out) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  int64_t half = n / 2;
  transform_by_halves(half, in, 2 * stride, roots, 2 * root_stride, out);
  transform_by_halves(half, in + stride, 2 * stride, roots, 2 * root_stride, out + half);
  for (int64_t k = 0; k < half; k++) {
    LaneComplex even = out[k], odd = product(out[k + half], roots[k * root_stride]);
    out[k] = (LaneComplex){even.re + odd.re, even.im + odd.im};
    out[k + half] = (LaneComplex){even.re - odd.re, even.im - odd.im};
  }
}

/* One dimension of dense |values| of |dims| in place; |sign| -1: forwards. */
static void transform_dimension(Arena *arena, int rank, const int64_t *dims, int dimension, int sign,
                                LaneComplex *values) {
  int64_t n = dims[dimension], inner = 1, outer = 1;
  for (int i = 0; i < rank; i++) *(i < dimension ? &outer : &inner) *= i == dimension ? 1 : dims[i];
  LaneComplex *roots = ARENA_NEW_ARRAY(arena, LaneComplex, n), *line = ARENA_NEW_ARRAY(arena, LaneComplex, n);
  LaneComplex *done = ARENA_NEW_ARRAY(arena, LaneComplex, n);
  for (int64_t i = 0; i < n; i++) roots[i] = unit_root(i, n, sign);
  for (int64_t i = 0; i < outer * inner; i++) {
    LaneComplex *start = values + i / inner * n * inner + i % inner;
    for (int64_t j = 0; j < n; j++) line[j] = start[j * inner];
    if ((n & (n - 1)) == 0)
      transform_by_halves(n, line, 1, roots, 1, done);
    else
      transform_directly(n, line, roots, done);
    for (int64_t j = 0; j < n; j++) start[j * inner] = done[j];
  }
}

/* Rows of |half| numbers to rows of |n| whose second half is the first one's conjugate, backwards. */
static LaneComplex *complete_rows(Arena *arena, const LaneComplex *in, int64_t rows, int64_t half, int64_t n) {
  LaneComplex *out = ARENA_NEW_ARRAY(arena, LaneComplex, rows * n);
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t i = 0; i < n; i++) {
      bool is_given = i < half;
      LaneComplex value = in[row * half + (is_given ? i : n - i)];
      out[row * n + i] = is_given ? value : (LaneComplex){value.re, -value.im};
    }
    /* What the transform of real numbers has no imaginary part in. */
    out[row * n].im = 0;
    if (n % 2 == 0) out[row * n + n / 2].im = 0;
  }
  return out;
}

typedef struct Transform {
  Arena *arena;
  int rank, first; /* dimensions; the first one transformed */
  int64_t dims[EVAL_MAX_RANK];
  int64_t points; /* of one transform */
  LaneComplex *values;
} Transform;

static void run_inverse(Transform *transform, bool is_real, int64_t length) {
  int last = transform->rank - 1;
  for (int i = transform->first; i < transform->rank - (is_real ? 1 : 0); i++)
    transform_dimension(transform->arena, transform->rank, transform->dims, i, 1, transform->values);
  if (is_real) {
    int64_t rows = 1;
    for (int i = 0; i < last; i++) rows *= transform->dims[i];
    transform->values = complete_rows(transform->arena, transform->values, rows, transform->dims[last], length);
    transform->dims[last] = length;
    transform_dimension(transform->arena, transform->rank, transform->dims, last, 1, transform->values);
  }
  int64_t total = 1;
  for (int i = 0; i < transform->rank; i++) total *= transform->dims[i];
  for (int64_t i = 0; i < total; i++) {
    transform->values[i].re /= (double)transform->points;
    transform->values[i].im /= (double)transform->points;
  }
}

/* Stores complex results, the first part of each row for RFFT, or real ones. */
static void store_result(const Transform *transform, Literal *out) {
  const Shape *shape = out->shape;
  int64_t total = shape_element_count(shape), row = shape->dims[shape->rank - 1];
  for (int64_t i = 0; i < total; i++) {
    LaneComplex value = transform->values[i / row * transform->dims[transform->rank - 1] + i % row];
    literal_set_complex(out, i, value.re, value.im);
  }
}

Status eval_fft(EvalStep *step) {
  const HloInstruction *fft = step->instruction;
  const Shape *from = eval_operand_shape(step, 0);
  Int64List lengths = hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH);
  int64_t type = hlo_instruction_int(fft, HLO_ATTR_FFT_TYPE, 0);
  Literal *out = eval_result(step);
  if (shape_element_count(out->shape) == 0 || shape_element_count(from) == 0) return STATUS_OK;
  Transform transform = {
      .arena = arena_create(), .rank = from->rank, .first = from->rank - (int)lengths.count, .points = 1};
  int64_t total = shape_element_count(from);
  transform.values = ARENA_NEW_ARRAY(transform.arena, LaneComplex, total);
  for (int64_t i = 0; i < total; i++)
    literal_get_complex(eval_operand(step, 0), i, &transform.values[i].re, &transform.values[i].im);
  for (int i = 0; i < from->rank; i++) transform.dims[i] = from->dims[i];
  for (int64_t i = 0; i < lengths.count; i++) transform.points *= lengths.data[i];
  if (type == FFT_TYPE_FFT || type == FFT_TYPE_RFFT) {
    for (int i = transform.first; i < from->rank; i++)
      transform_dimension(transform.arena, from->rank, transform.dims, i, -1, transform.values);
  } else {
    run_inverse(&transform, type == FFT_TYPE_IRFFT, lengths.count > 0 ? lengths.data[lengths.count - 1] : 1);
  }
  store_result(&transform, out);
  arena_destroy(transform.arena);
  return STATUS_OK;
}
