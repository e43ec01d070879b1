/* Kernels of tiles: a chain of Kernels cut into tiles of rows, so that what one hands on to the next stays in the
 * processor's cache.
 *
 * A fusion of fusions (passes/fusion, tile-fusion) is such a chain: each member becomes a Kernel of its own, of the
 * rows of one tile.  What members hand on are *links*, arrays that all of them walk row by row in the same order; a
 * tile is some neighbouring rows of each link. */
#ifndef XLAC_CODEGEN_LOWER_KERNEL_TILES_H
#define XLAC_CODEGEN_LOWER_KERNEL_TILES_H

#include "codegen/lower/kernel_builder.h"

/* The fusion is one of fusions. */
bool kernel_is_tiled(const HloInstruction *instruction);

/* The Kernel of tiles of such a fusion.  Tiles are as many whole rows as TILE_BYTES hold of the largest link and divide
 * the rows of one matrix, or more where these are only a few; where a member does not walk its links row by row, there
 * is one tile.  |out_kernel| is NULL when there is nothing to do. */
MUST_USE Status kernel_build_tiled(Arena *arena, const HloInstruction *fusion, DiagSink *diag,
                                   const Kernel **out_kernel);

#endif
