#include "cli/literal_leaves.h"

#include <string.h>

#include "base/checked_math.h"
#include "runtime/arrays/tensor_values.h"

void literal_leaves_load(Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next) {
  if (shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->tuple_size; i++)
      literal_leaves_load(&literal->tuple[i], tensors, storage, next);
    return;
  }
  if (shape_is_array(literal->shape)) tensor_load_logical(&tensors[*next], storage[*next], literal->data);
  ++*next;
}

void literal_leaves_store(const Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next) {
  if (shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->tuple_size; i++)
      literal_leaves_store(&literal->tuple[i], tensors, storage, next);
    return;
  }
  if (shape_is_array(literal->shape)) tensor_store_logical(&tensors[*next], literal->data, storage[*next]);
  ++*next;
}

/* NULL when there are not so many; |*number| is then less by those that there are. */
static Literal *leaf_at(Literal *literal, int64_t *number) {
  if (!shape_is_tuple(literal->shape)) return (*number)-- == 0 ? literal : NULL;
  Literal *found = NULL;
  for (int i = 0; i < literal->shape->tuple_size && !found; i++) found = leaf_at(&literal->tuple[i], number);
  return found;
}

void literal_leaves_load_sizes(Arena *arena, Literal *literal, int64_t first, const XlacLeafSize *sizes, int64_t count,
                               void *const *storage) {
  for (int64_t i = 0; i < count; i++) {
    int64_t number = sizes[i].leaf - first;
    Literal *leaf = number < 0 ? NULL : leaf_at(literal, &number);
    if (!leaf) continue;
    int32_t size;
    memcpy(&size, storage[sizes[i].size_leaf], sizeof size);
    int64_t *own = leaf->sizes ? (int64_t *)(uintptr_t)leaf->sizes
                               : ARENA_COPY_ARRAY(arena, int64_t, leaf->shape->dims, leaf->shape->rank);
    own[sizes[i].dimension] = max_i64(0, min_i64(size, leaf->shape->dims[sizes[i].dimension]));
    leaf->sizes = own;
  }
}

void literal_leaves_store_sizes(const Literal *literal, const XlacLeafSize *sizes, int64_t count,
                                void *const *storage) {
  for (int64_t i = 0; i < count; i++) {
    int64_t number = sizes[i].leaf;
    const Literal *leaf = leaf_at((Literal *)(uintptr_t)literal, &number);
    if (!leaf) continue;
    int32_t size = (int32_t)(leaf->sizes ? leaf->sizes : leaf->shape->dims)[sizes[i].dimension];
    memcpy(storage[sizes[i].size_leaf], &size, sizeof size);
  }
}
