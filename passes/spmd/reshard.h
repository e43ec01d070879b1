/* Resharding: from one division of an array to another, in the steps that send the fewest bytes.
 *
 * A state is the list of axes of each dimension, and the axes along which devices hold partial results.  Steps are:
 * to slice (one more axis, nothing is sent), to gather, to move axes from one dimension to another (all-to-all), to
 * exchange parts among devices (collective-permute: other axes of the same sizes), to reduce and to reduce and scatter.
 * Dijkstra's algorithm finds the cheapest way; of equal ones that with the fewest steps, then the first in a fixed
 * order.  Tiles of ceil(size / tiles) that are not full make some steps impossible, in which case a dimension is
 * gathered whole and trimmed.  Padding holds anything. */
#ifndef XLAC_PASSES_SPMD_RESHARD_H
#define XLAC_PASSES_SPMD_RESHARD_H

#include "passes/spmd/spmd_builder.h"

/* What devices hold before partial results are reduced; {0, NULL}: whole values. */
typedef struct PartialResult {
  AxisMask axes;
  HloComputation *reducer; /* of two scalars of the value's type */
} PartialResult;

/* |local| is a device's part of |whole| by |from|; the result is its part by |to|.  Manual axes are alike. */
HloInstruction *spmd_reshard(SpmdBuilder *builder, HloInstruction *local, const Shape *whole, const AxisSharding *from,
                             PartialResult partial, const AxisSharding *to);

/* Bytes that each device has to send for it in the best algorithms of each step: an all-reduce of n bytes in a group of
 * g sends 2n(g-1)/g, a reduce-scatter or all-to-all of n bytes, and an all-gather to n, n(g-1)/g, a permute all. */
double spmd_reshard_bytes(Arena *scratch, const SpmdMesh *mesh, const Shape *whole, const AxisSharding *from,
                          AxisMask partial, const AxisSharding *to);

#endif
