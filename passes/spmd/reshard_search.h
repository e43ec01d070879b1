/* The cheapest way from one division of an array to another (reshard.h). */
#ifndef XLAC_PASSES_SPMD_RESHARD_SEARCH_H
#define XLAC_PASSES_SPMD_RESHARD_SEARCH_H

#include "passes/spmd/axis_sharding.h"

typedef enum ReshardKind {
  RESHARD_SLICE,          /* |axes| are put after those of |to| */
  RESHARD_GATHER,         /* |axes|, the last of |from|, go away */
  RESHARD_ALL_TO_ALL,     /* |axes|, the last of |from|, are put after those of |to| */
  RESHARD_PERMUTE,        /* axis a takes the place of axis axes.axes[a], of its size, for all a of the mesh */
  RESHARD_REDUCE_SCATTER, /* |axes|, along which there are partial results, are put after those of |to| */
  RESHARD_ALL_REDUCE      /* |axes|, along which there are partial results */
} ReshardKind;

typedef struct ReshardStep {
  ReshardKind kind;
  int from, to; /* dimensions */
  AxisList axes;
} ReshardStep;

typedef struct ReshardPlan {
  int count;
  const ReshardStep *steps;
  double bytes; /* that each device sends */
} ReshardPlan;

/* From |from| and |partial| to |to|, in |arena|; orders of their own are the caller's matter. */
ReshardPlan spmd_plan_reshard(Arena *arena, const SpmdMesh *mesh, const Shape *whole, const AxisSharding *from,
                              AxisMask partial, const AxisSharding *to);

/* The elements of a device's part of a dimension of |size| in |tiles|. */
static inline int64_t reshard_tile(int64_t size, int64_t tiles) {
  return size / tiles + (size % tiles != 0);
}

#endif
