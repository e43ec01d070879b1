/* Transforms of a dimension by those that code generation does in one piece: of rows, the last of two dimensions. */
#include "hlo/analysis/fft_lines.h"
#include "passes/expand/fft_internal.h"

static HloInstruction *rows_of(FftBuilder *builder, HloInstruction *value, int64_t rows, int64_t columns) {
  return graph_reshape(&builder->graph, value, (int64_t[]){rows, columns}, 2);
}

/* [a, b, c] → [a, c, b] */
static HloInstruction *turned(FftBuilder *builder, HloInstruction *value, int64_t a, int64_t b, int64_t c) {
  HloInstruction *blocks = graph_reshape(&builder->graph, value, (int64_t[]){a, b, c}, 3);
  if (b == 1 || c == 1) return graph_reshape(&builder->graph, blocks, (int64_t[]){a, c, b}, 3);
  return graph_transpose(&builder->graph, blocks, (int64_t[]){0, 2, 1});
}

int fft_piece_begin(const Shape *shape, int first) {
  int begin = shape->rank;
  int64_t points = 1;
  for (int d = shape->rank - 1; d >= first; d--) {
    int64_t n = shape->dims[d];
    if (!hlo_fft_length_has_short_factors(n) || n > FFT_MOST_POINTS / points) break;
    points *= n;
    begin = d;
  }
  return shape->rank - begin <= FFT_MOST_DIMENSIONS ? begin : shape->rank - FFT_MOST_DIMENSIONS;
}

HloInstruction *fft_last_dimensions(FftBuilder *builder, HloInstruction *value, int begin, int sign) {
  const Shape *shape = value->shape;
  HloInstruction *fft = graph_add(&builder->graph, HLO_FFT, shape, &value, 1);
  hlo_instruction_set_int(fft, HLO_ATTR_FFT_TYPE, sign < 0 ? FFT_TYPE_FFT : FFT_TYPE_IFFT);
  hlo_instruction_set_ints(fft, HLO_ATTR_FFT_LENGTH, shape->dims + begin, shape->rank - begin);
  return fft;
}

/* The divisor of |n| next to its square root from below. */
static int64_t even_divisor(int64_t n) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= n; d++) {
    if (n % d == 0) best = d;
  }
  return best;
}

static HloInstruction *transform_rows(FftBuilder *builder, HloInstruction *rows, int sign);

/* n = first·rest: transforms of what is |rest| apart, roots of unity, and transforms of those, whose results have the
 * first ones' place as their last digit. */
static HloInstruction *by_two(FftBuilder *builder, HloInstruction *rows, int sign) {
  int64_t a = rows->shape->dims[0], n = rows->shape->dims[1], first = even_divisor(n), rest = n / first;
  HloInstruction *value = rows_of(builder, turned(builder, rows, a, first, rest), a * rest, first);
  value = transform_rows(builder, value, sign);
  const int64_t dims[4] = {a, rest, first, 1};
  HloInstruction *roots = fft_twiddles(builder, n, first, sign, dims);
  value = fft_multiply(builder, value, rows_of(builder, roots, a * rest, first));
  value = rows_of(builder, turned(builder, value, a, rest, first), a * first, rest);
  value = transform_rows(builder, value, sign);
  return rows_of(builder, turned(builder, value, a, first, rest), a, n);
}

static HloInstruction *by_convolution(FftBuilder *builder, HloInstruction *rows, int sign) {
  int64_t a = rows->shape->dims[0], n = rows->shape->dims[1], length;
  HloInstruction *waves, *spectrum;
  fft_chirps(builder, n, sign, sign < 0 ? 1 : 1.0 / (double)n, &length, &waves, &spectrum);
  const int64_t one = 1, long_dims[2] = {a, length};
  waves = graph_broadcast(&builder->graph, waves, &one, 1, rows->shape->dims, 2);
  spectrum = graph_broadcast(&builder->graph, spectrum, &one, 1, long_dims, 2);
  HloInstruction *padded = graph_pad(&builder->graph, fft_multiply(builder, rows, waves),
                                     graph_zero(&builder->graph, builder->type, NULL), 1, length - n);
  HloInstruction *product = fft_multiply(builder, transform_rows(builder, padded, -1), spectrum);
  HloInstruction *convolved = graph_slice(&builder->graph, transform_rows(builder, product, 1), 1, 0, n);
  return fft_multiply(builder, convolved, waves);
}

static HloInstruction *transform_rows(FftBuilder *builder, HloInstruction *rows, int sign) {
  int64_t n = rows->shape->dims[1];
  if (n == 1) return rows;
  if (!hlo_fft_length_has_short_factors(n)) return by_convolution(builder, rows, sign);
  return n <= FFT_MOST_POINTS ? fft_last_dimensions(builder, rows, 1, sign) : by_two(builder, rows, sign);
}

HloInstruction *fft_by_pieces(FftBuilder *builder, HloInstruction *value, int dimension, int sign) {
  const Shape *shape = value->shape;
  int64_t outer = shape_extent(shape, 0, dimension), inner = shape_extent(shape, dimension + 1, shape->rank);
  int64_t n = shape->dims[dimension];
  HloInstruction *rows = rows_of(builder, turned(builder, value, outer, n, inner), outer * inner, n);
  rows = transform_rows(builder, rows, sign);
  return graph_reshape(&builder->graph, turned(builder, rows, outer, inner, n), shape->dims, shape->rank);
}
