/* Axes of a mesh that stay together in a resharding, as one axis each: what a search has to look at grows much faster
 * than their number. */
#ifndef XLAC_PASSES_SPMD_RESHARD_BUNDLES_H
#define XLAC_PASSES_SPMD_RESHARD_BUNDLES_H

#include "passes/spmd/reshard_search.h"

/* A resharding among fewer axes. */
typedef struct ReshardBundles {
  const SpmdMesh *mesh; /* of bundles; without devices and strides */
  AxisSharding from, to;
  AxisMask partial;
  const SpmdMesh *whole_mesh;
  const AxisList *axes; /* of each bundle in |whole_mesh| */
} ReshardBundles;

/* Where the resharding has few axes, or two bundles of one size would have axes of different ones, each axis is one of
 * its own.  A bundle is moved as a whole, so that ways which move a part of one are not found then.  In |arena|. */
ReshardBundles reshard_bundles_create(Arena *arena, const SpmdMesh *mesh, const AxisSharding *from, AxisMask partial,
                                      const AxisSharding *to);

/* |plan|, of bundles, among the axes of the whole mesh, all of it in |arena|. */
ReshardPlan reshard_bundles_expand(Arena *arena, const ReshardBundles *bundles, const ReshardPlan *plan);

#endif
