/* Which Fourier transforms are computed in one piece: all dimensions of one transform together, by short factors.
 *
 * Passes leave those as they are, spell others as several of them, and code generation takes no others. */
#ifndef XLAC_HLO_ANALYSIS_FFT_LINES_H
#define XLAC_HLO_ANALYSIS_FFT_LINES_H

#include "hlo/ir/hlo_module.h"

/* Of one transform: it is done in the cache, and its roots of unity are constants. */
#define FFT_MOST_POINTS (INT64_C(1) << 15)
/* Of the length of a dimension. */
#define FFT_MOST_FACTOR 31
#define FFT_MOST_DIMENSIONS 8

/* Static shapes, few enough points, lengths of short prime factors. */
bool hlo_fft_is_in_one_piece(const HloInstruction *fft);
bool hlo_fft_length_has_short_factors(int64_t length);

#endif
