/* Fourier transforms as graphs. */
#ifndef XLAC_PASSES_EXPAND_FFT_INTERNAL_H
#define XLAC_PASSES_EXPAND_FFT_INTERNAL_H

#include "passes/expand/graph_builder.h"

typedef struct FftBuilder {
  GraphBuilder graph;
  PrimitiveType type; /* C64 or C128 */
  bool takes_pieces;  /* transforms in one piece may stand in the result */
} FftBuilder;

/* The longest transform that is expanded: constants grow with it. */
#define FFT_MAX_LENGTH (INT64_C(1) << 24)

/* Dimension 1 of |value|, complex of shape [a, n, b], transformed: Σ over j of value[a, j, b]·exp(sign·2πi·jk/n),
 * |sign| being -1 or 1; of the same shape.  1 <= n <= FFT_MAX_LENGTH.
 *
 * Lengths without a prime factor above 64: mixed radix after Cooley and Tukey in Stockham's order, one matrix product
 * with the matrix of a short transform and one product with roots of unity per factor.  Others: a convolution with
 * exp(πi·j²/n), after Bluestein, by transforms of a length of factors 2, 3 and 5. */
HloInstruction *fft_transform(FftBuilder *builder, HloInstruction *value, int sign);

/* The same, with sign 1 divided by n, of dimension |dimension| of a value of any rank by transforms in one piece
 * (hlo/analysis/fft_lines.h): long lengths as two shorter ones with roots of unity between them, prime ones by the
 * convolution. */
HloInstruction *fft_by_pieces(FftBuilder *builder, HloInstruction *value, int dimension, int sign);

/* The first dimension, not before |first|, from which on all dimensions of |shape| are one piece; its rank where the
 * last one alone is none. */
int fft_piece_begin(const Shape *shape, int first);
/* The dimensions from |begin| on transformed in one piece; with sign 1 divided by their points. */
HloInstruction *fft_last_dimensions(FftBuilder *builder, HloInstruction *value, int begin, int sign);

/* exp(sign·2πi·j·k/n) along dimensions 1 (j < n/radix) and 2 (k < radix) of the 4 |dims|.  A long table is the product
 * of two short ones, j being h·part + l. */
HloInstruction *fft_twiddles(FftBuilder *builder, int64_t n, int64_t radix, int sign, const int64_t *dims);

/* jk = (j² + k² - (k-j)²)/2, so with w(j) = exp(sign·πi·j²/n) result k is w(k)·Σ value(j)·w(j)·conj w(k-j): a
 * convolution, done by transforms of a length with room for both ends, of factors 2, 3 and 5.
 * |*out_waves|: w(j), j < n; |*out_spectrum|: what is multiplied with between a transform and the opposite one, |scale|
 * times; 0: as often as makes up for an opposite one that is not scaled. */
void fft_chirps(FftBuilder *builder, int64_t n, int sign, double scale, int64_t *out_length, HloInstruction **out_waves,
                HloInstruction **out_spectrum);

HloInstruction *fft_multiply(FftBuilder *builder, HloInstruction *a, HloInstruction *b);

#endif
