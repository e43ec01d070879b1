/* Fourier transforms of lines in scratch (KernelTransform): one pass over all points for each factor.
 *
 * Stockham's order: with |s| results of the factors before it side by side, a pass of factor r over lines of length
 * r·m combines x[q + s·(p + m·j)], j < r, by a short transform and writes its k-th result, times exp(-2πi·pk/(r·m)), to
 * y[q + s·(r·p + k)].  Lanes walk q, or where |s| is less, q + s·p, whose results are shuffled into place.  Roots of
 * unity are constants, rounded from double; so the error of a line of length n is some log n roundings. */
#ifndef XLAC_CODEGEN_BLOCKS_FFT_H
#define XLAC_CODEGEN_BLOCKS_FFT_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* Emits the transform of stage |stage| at the builder's position, buffers being |buffers|; leaves the builder at the
 * end of the code. */
void fft_emit(const VecBuilder *vec, const Kernel *kernel, int stage, const LLVMValueRef *buffers);

/* Arithmetic operations of one transform. */
double fft_operation_count(const KernelTransform *transform);

#endif
