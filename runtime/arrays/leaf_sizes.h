/* Leaves whose size is set at run time: in files they are as large as they are, in memory as large as they can be. */
#ifndef XLAC_RUNTIME_ARRAYS_LEAF_SIZES_H
#define XLAC_RUNTIME_ARRAYS_LEAF_SIZES_H

#include "runtime/arrays/npy.h"
#include "xlac/abi.h"

/* The sizes of one side of a descriptor. */
typedef struct LeafSizes {
  const XlacLeafSize *data;
  int64_t count;
} LeafSizes;

bool leaf_has_sizes(LeafSizes sizes, int64_t leaf);
/* Leaf |leaf| is the size of another one. */
bool leaf_is_size(LeafSizes sizes, int64_t leaf);

/* |array| at the front of one of the dimensions of |tensor|, which is leaf |leaf|, with zeroes after it.  |array|
 * itself where it is larger, or differs in another dimension than those that have sizes. */
NpyArray leaf_sizes_widen(Arena *arena, LeafSizes sizes, int64_t leaf, const XlacTensor *tensor, const NpyArray *array);
/* As much of |array|, which is leaf |leaf|, as the sizes in |storage|, by leaf, say is there. */
NpyArray leaf_sizes_crop(Arena *arena, LeafSizes sizes, int64_t leaf, void *const *storage, const NpyArray *array);

#endif
