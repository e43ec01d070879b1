/* Fourier transforms as graphs. */
#ifndef XLAC_PASSES_EXPAND_FFT_INTERNAL_H
#define XLAC_PASSES_EXPAND_FFT_INTERNAL_H

#include "passes/pipeline/hlo_pass.h"

typedef struct FftBuilder {
  HloComputation *computation;
  const HloInstruction *fft; /* whose metadata new instructions inherit */
  PrimitiveType type;        /* C64 or C128 */
  Arena *scratch;
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

/* --- making instructions (fft_expander.c) --- */

HloInstruction *fft_add(FftBuilder *builder, HloOpcode opcode, const Shape *shape, HloInstruction *const *operands,
                        int count);
HloInstruction *fft_multiply(FftBuilder *builder, HloInstruction *a, HloInstruction *b);
HloInstruction *fft_reshape(FftBuilder *builder, HloInstruction *value, const int64_t *dims, int rank);
/* [start, limit) of |dimension|. */
HloInstruction *fft_slice(FftBuilder *builder, HloInstruction *value, int dimension, int64_t start, int64_t limit);
/* |value| along the given dimensions of an array of |dims|. */
HloInstruction *fft_broadcast(FftBuilder *builder, HloInstruction *value, const int64_t *dimensions, int count,
                              const int64_t *dims, int rank);

#endif
