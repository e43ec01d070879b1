#include "cli/literal_leaves.h"

#include "runtime/tensor_values.h"

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
