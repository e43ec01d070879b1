/* AxisSharding: how an array is divided among the devices of a mesh, dimension by dimension, in axes.
 *
 * A module's partitions stand in one mesh, whose axes have prime sizes: an axis "x" of size 4 is two of size 2, the
 * half of it is one of them, and every number of tiles that divides the number of devices is a product of axes.  What
 * is divided along a list of axes has as many tiles as their product; the first one named is the slowest.  Devices
 * along axes that no dimension names hold copies.  Compare AxisRef and DimensionSharding of Shardy. */
#ifndef XLAC_PASSES_SPMD_AXIS_SHARDING_H
#define XLAC_PASSES_SPMD_AXIS_SHARDING_H

#include "base/diagnostic.h"
#include "hlo/ir/hlo_attribute.h"
#include "hlo/type/shape.h"

/* Sizes are at least 2, their product fits 63 bits: a set of axes is a mask. */
enum { SPMD_MOST_AXES = 63 };
typedef uint64_t AxisMask;

typedef struct SpmdMesh {
  int64_t device_count; /* partitions: the product of the sizes */
  int axis_count;
  const int64_t *sizes;   /* primes; the first axis is the slowest */
  const int64_t *strides; /* of positions */
  const int64_t *devices; /* the partition at each position; NULL: its number is the position */
} SpmdMesh;

typedef struct AxisList {
  int count;
  const uint8_t *axes; /* each once, the slowest first */
} AxisList;

/* Of one array; immutable, in an arena. */
typedef struct AxisSharding {
  int rank;
  const AxisList *dims;
  AxisMask manual;      /* axes along which the array's own shape is one device's part: it is in a manual region */
  const int64_t *order; /* what stands for SpmdMesh.devices where the text numbers tiles in another way; NULL: that */
} AxisSharding;

/* --- meshes --- */

/* Axes for |sizes|, each at least 1, split into primes; |devices| as in SpmdMesh. |out_first|, which may be NULL: the
 * first axis of each size; size i has the axes up to out_first[i + 1]. */
SpmdMesh *spmd_mesh_create(Arena *arena, const int64_t *sizes, int count, const int64_t *devices, int *out_first);
/* The product of the axes' sizes. */
int64_t axis_list_size(const SpmdMesh *mesh, AxisList axes);
int64_t axis_mask_size(const SpmdMesh *mesh, AxisMask axes);
AxisMask axis_list_mask(AxisList axes);
/* Which of these parts |position| is in. */
int64_t axis_list_index(const SpmdMesh *mesh, AxisList axes, int64_t position);
bool axis_lists_equal(AxisList a, AxisList b);
bool axis_list_starts_with(AxisList axes, AxisList prefix);
/* The axes of |mask|, slowest first, in |arena|. */
AxisList axis_mask_list(Arena *arena, AxisMask mask);
/* |a|, then |b|; axes [first, first + count) of |a|, which go on living there. */
AxisList axis_lists_join(Arena *arena, AxisList a, AxisList b);
AxisList axis_list_part(AxisList a, int first, int count);

/* --- shardings --- */

AxisSharding *axis_sharding_replicated(Arena *arena, int rank, AxisMask manual);
/* |sharding| with other axes in dimension |dim|. */
AxisSharding *axis_sharding_with(Arena *arena, const AxisSharding *sharding, int dim, AxisList axes);
bool axis_shardings_equal(const AxisSharding *a, const AxisSharding *b);
/* All axes that divide a dimension. */
AxisMask axis_sharding_mask(const AxisSharding *sharding);
bool axis_sharding_is_replicated(const AxisSharding *sharding); /* no dimension is divided */
int64_t axis_sharding_tiles(const SpmdMesh *mesh, const AxisSharding *sharding, int dim);
/* One device's part of |whole|: dimensions of ceil(size / tiles), those set at run time so as well, the default layout.
 */
const Shape *axis_sharding_local(const SpmdMesh *mesh, const AxisSharding *sharding, const Shape *whole,
                                 ShapeTable *shapes);
/* Whether all tiles along |dim| are full. */
bool axis_sharding_is_even(const SpmdMesh *mesh, const AxisSharding *sharding, const Shape *whole, int dim);

/* --- HLO's words --- */

/* |sharding|, which is no tuple, of an array of |rank|, or NULL, in axes.  What is on one device (maximal) is
 * everywhere; unknown and "unreduced" dimensions are replicated.  Where tiles are numbered in a way that the mesh has
 * no axes for, the result has an order of its own.  STATUS_INVALID (code "sharding") with a diagnostic at |loc| when
 * rank, tiles or devices do not fit. */
MUST_USE Status axis_sharding_from_hlo(Arena *arena, const SpmdMesh *mesh, const HloSharding *sharding, int rank,
                                       SourceLoc loc, DiagSink *diag, const AxisSharding **out_sharding);
/* The same in HLO's words: "replicated", or tiles as an iota where the mesh numbers devices by position, else as a
 * list. */
const HloSharding *axis_sharding_to_hlo(Arena *arena, const SpmdMesh *mesh, const AxisSharding *sharding);

#endif
