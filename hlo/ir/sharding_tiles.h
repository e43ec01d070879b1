/* Which part of an array each device has by a sharding.
 *
 * A dimension of size d that is split in n has tiles of ceil(d / n) on every device; device i's holds [i·ceil(d/n),
 * (i+1)·ceil(d/n)) of the array, as far as that goes: what lies beyond is padding, in the last tiles all of it may be.
 * Devices along subgroups (replicated, manual) hold copies of one tile. */
#ifndef XLAC_HLO_IR_SHARDING_TILES_H
#define XLAC_HLO_IR_SHARDING_TILES_H

#include "base/diagnostic.h"
#include "hlo/ir/hlo_attribute.h"

typedef struct ShardingTiles {
  int rank;
  int64_t device_count;
  const int64_t *counts; /* of tiles, by dimension */
  const int64_t *places; /* of each device's tile: rank numbers for device 0, then those for device 1 … */
  int64_t owner;         /* the only device that has the value; -1: all have it, or a tile */
} ShardingTiles;

/* The sharding of leaf number |leaf| (tuples flattened depth first): a sharding that is no tuple holds for every leaf.
 */
const HloSharding *hlo_sharding_of_leaf(const HloSharding *sharding, int64_t leaf);

/* An array on partitions. */
typedef struct ShardedArray {
  int rank;
  int64_t device_count;
  SourceLoc loc;    /* where messages about it are */
  StringView label; /* what they begin with */
} ShardedArray;

/* The tiles of |array| by |sharding|, which is no tuple, in |arena|.  Without tiles (NULL, replicated, manual, unknown)
 * each device has all of it.  STATUS_INVALID (code "sharding") when rank or devices do not fit, STATUS_UNSUPPORTED when
 * devices hold partial sums. */
MUST_USE Status sharding_tiles_create(Arena *arena, const HloSharding *sharding, const ShardedArray *array,
                                      DiagSink *diag, ShardingTiles *out_tiles);

/* There is more than one tile. */
bool sharding_tiles_is_split(const ShardingTiles *tiles);
/* The dimensions of each tile of an array of |dims|. */
void sharding_tile_dims(const ShardingTiles *tiles, const int64_t *dims, int64_t *out_dims);

/* Row-major arrays of elements of |unit| bytes: |device|'s tile of the |whole|, which has |dims|, with zeroes in its
 * padding; and its tile back in its place, without the padding. */
void sharding_tile_take(const ShardingTiles *tiles, int64_t device, const int64_t *dims, size_t unit, const void *whole,
                        void *out_tile);
void sharding_tile_put(const ShardingTiles *tiles, int64_t device, const int64_t *dims, size_t unit, const void *tile,
                       void *whole);
/* The elements of |tile| that are not padding are those of the |whole| at its place, bit for bit. */
bool sharding_tile_equal(const ShardingTiles *tiles, int64_t device, const int64_t *dims, size_t unit, const void *tile,
                         const void *whole);

#endif
