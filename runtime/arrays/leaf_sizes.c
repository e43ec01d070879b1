#include "runtime/arrays/leaf_sizes.h"

#include <string.h>

#include "base/checked_math.h"

bool leaf_has_sizes(LeafSizes sizes, int64_t leaf) {
  for (int64_t i = 0; i < sizes.count; i++)
    if (sizes.data[i].leaf == leaf) return true;
  return false;
}

bool leaf_is_size(LeafSizes sizes, int64_t leaf) {
  for (int64_t i = 0; i < sizes.count; i++)
    if (sizes.data[i].size_leaf == leaf) return true;
  return false;
}

/* Rows of the least of both dimensions, from the front of |from| to that of |to|. */
static void copy_front(const NpyArray *from, const NpyArray *to, int dimension, int64_t from_at, int64_t to_at) {
  size_t unit = (size_t)from->type.bytes;
  if (dimension == from->rank) {
    memcpy((char *)(uintptr_t)to->data + (size_t)to_at * unit, (const char *)from->data + (size_t)from_at * unit, unit);
    return;
  }
  for (int64_t i = 0; i < min_i64(from->dims[dimension], to->dims[dimension]); i++)
    copy_front(from, to, dimension + 1, from_at * from->dims[dimension] + i, to_at * to->dims[dimension] + i);
}

static NpyArray resized(Arena *arena, const NpyArray *array, const int64_t *dims) {
  NpyArray result = *array;
  result.dims = dims;
  result.count = 1;
  for (int i = 0; i < result.rank; i++) result.count *= dims[i];
  result.data = arena_alloc_array(arena, (size_t)max_i64(result.count, 1), (size_t)array->type.bytes);
  copy_front(array, &result, 0, 0, 0);
  return result;
}

NpyArray leaf_sizes_widen(Arena *arena, LeafSizes sizes, int64_t leaf, const XlacTensor *tensor,
                          const NpyArray *array) {
  bool fits = array->rank == tensor->rank;
  for (int i = 0; i < array->rank && fits; i++) {
    bool may_be_less = false;
    for (int64_t k = 0; k < sizes.count; k++)
      may_be_less = may_be_less || (sizes.data[k].leaf == leaf && sizes.data[k].dimension == i);
    fits = array->dims[i] == tensor->dims[i] || (may_be_less && array->dims[i] < tensor->dims[i]);
  }
  return fits ? resized(arena, array, tensor->dims) : *array;
}

NpyArray leaf_sizes_crop(Arena *arena, LeafSizes sizes, int64_t leaf, void *const *storage, const NpyArray *array) {
  if (!leaf_has_sizes(sizes, leaf)) return *array;
  int64_t *dims = ARENA_COPY_ARRAY(arena, int64_t, array->dims, array->rank);
  for (int64_t i = 0; i < sizes.count; i++) {
    const XlacLeafSize *size = &sizes.data[i];
    int32_t value;
    memcpy(&value, storage[size->size_leaf], sizeof value);
    if (size->leaf == leaf) dims[size->dimension] = max_i64(0, min_i64(value, array->dims[size->dimension]));
  }
  return resized(arena, array, dims);
}
