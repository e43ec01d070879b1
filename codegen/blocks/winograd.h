/* Convolutions of 3x3 windows by minimal filtering, F(4x4, 3x3), where floats may be computed as if they were real
 * numbers (--fast-math).
 *
 * The result is cut into tiles of 4x4 positions, each of which depends on 6x6 positions of the image.  With B, G and A
 * of winograd_transform.c
 *
 *   Y = Aᵀ [ (G w Gᵀ) · (Bᵀ d B) ] A
 *
 * where · multiplies elements: 36 products for 16 results instead of 144.  Over all features these are 36 products of
 * matrices, [tiles, features] by [features, filters].  Source: A. Lavin, S. Gray, "Fast algorithms for convolutional
 * neural networks" (2015), after S. Winograd, "Arithmetic complexity of computations" (1980). */
#ifndef XLAC_CODEGEN_BLOCKS_WINOGRAD_H
#define XLAC_CODEGEN_BLOCKS_WINOGRAD_H

#include "codegen/blocks/contraction.h"
#include "codegen/blocks/phase_share.h"

/* How one convolution is computed so on one target: a function of both and of the limit of scratch alone. */
typedef struct WinogradBlocking WinogradBlocking;

/* The blocking of |kernel|, in |arena|, where that is estimated to take less than |plain|, by which it is computed
 * otherwise; else NULL.  Taken are f32 sums over a window of 3x3 in steps of one, whatever surrounds the image, of
 * images and results with features last, whose features and filters are multiples of eight.  More scratch than is free
 * must buy time as that of other contractions must. */
const WinogradBlocking *winograd_blocking_choose(Arena *arena, const Kernel *kernel, const VecTarget *target,
                                                 ContractionScratch limit, const ContractionBlocking *plain);

/* Phases, in turn: some filters' weights are transformed; all tiles are multiplied with them.  Chunks share features,
 * then tiles. */
typedef struct WinogradNeeds {
  int64_t scratch_bytes; /* multiples of 64 both: of the weights, which chunks share, and the first chunk */
  int64_t chunk_bytes;   /* of each further chunk */
  int64_t chunk_limit;   /* more chunks are not worthwhile */
  int64_t phase_count;
} WinogradNeeds;
WinogradNeeds winograd_needs(const WinogradBlocking *blocking);

/* Times the time, estimated, that the plain way would take. */
double winograd_bought_time(const WinogradBlocking *blocking);

/* Emits the body of a function at the builder's position, buffers being |buffer_pointers|, |scratch| 64-byte aligned;
 * leaves the builder at the end of the code, without a terminator.  It does |share|, with the same bits however many
 * chunks there are. */
void winograd_emit(const VecBuilder *vec, const Kernel *kernel, const WinogradBlocking *blocking, LLVMValueRef function,
                   const LLVMValueRef *buffer_pointers, LLVMValueRef scratch, const PhaseShare *share);

#endif
