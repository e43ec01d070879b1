/* Fourier transforms as graphs. */
#ifndef XLAC_PASSES_EXPAND_FFT_INTERNAL_H
#define XLAC_PASSES_EXPAND_FFT_INTERNAL_H

#include "passes/expand/graph_builder.h"

typedef struct FftBuilder {
  GraphBuilder graph;
  PrimitiveType type; /* C64 or C128 */
} FftBuilder;

/* The longest transform that is expanded: constants grow with it. */
#define FFT_MAX_LENGTH (INT64_C(1) << 24)

/* Dimension 1 of |value|, complex of shape [a, n, b], transformed: Σ over j of value[a, j, b]·exp(sign·2πi·jk/n),
 * |sign| being -1 or 1; of the same shape.  1 <= n <= FFT_MAX_LENGTH.
 *
 * Lengths without a prime factor above 64: mixed radix after Cooley and Tukey in Stockham's order, one matrix product
 * with the matrix of a short transform and one product with roots of unity per factor.  Others: a convolution with
 * exp(πi·j²/n), after Bluestein, by transforms of a power of two. */
HloInstruction *fft_transform(FftBuilder *builder, HloInstruction *value, int sign);

HloInstruction *fft_multiply(FftBuilder *builder, HloInstruction *a, HloInstruction *b);

#endif
