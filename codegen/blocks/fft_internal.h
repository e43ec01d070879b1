/* The pieces of a Fourier transform. */
#ifndef XLAC_CODEGEN_BLOCKS_FFT_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_FFT_INTERNAL_H

#include "codegen/blocks/fft.h"

#define FFT_MAX_RADIX 31

typedef struct FftComplex {
  LLVMValueRef re, im; /* lanes of floats */
} FftComplex;

/* Arithmetic on so many lanes. */
typedef struct FftLanes {
  const VecBuilder *vec;
  PrimitiveType type; /* F32, F64 */
  int lanes;
} FftLanes;

/* a·b */
FftComplex fft_product(const FftLanes *lanes, FftComplex a, FftComplex b);

/* Σ over j of values[j]·exp(-2πi·jk/radix), in place: 2, 4, 8, and odd radices up to FFT_MAX_RADIX. */
void fft_short_transform(const FftLanes *lanes, FftComplex *values, int64_t radix);

/* --- roots of unity as constants of the module (fft_roots.c) --- */

/* How a pass reads exp(-2πi·pk/(radix·m)), 0 < k < radix, p < m. */
typedef enum FftRootsOrder {
  FFT_ROOTS_BY_POINT, /* [m][radix - 1][2] */
  FFT_ROOTS_IN_LANES, /* [radix - 1][2][m·repeat]: each p |repeat| times */
  FFT_ROOTS_ACROSS    /* [m][2][radix - 1] */
} FftRootsOrder;

/* A pointer to them; equal ones are shared in a module. */
LLVMValueRef fft_roots(const VecBuilder *vec, PrimitiveType type, int64_t radix, int64_t m, FftRootsOrder order,
                       int64_t repeat);

#endif
