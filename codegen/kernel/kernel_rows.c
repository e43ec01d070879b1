#include "codegen/kernel/kernel_rows.h"

#include "codegen/kernel/kernel_internal.h"

enum {
  MOST_ROW = 15,       /* longer rows fill registers well enough */
  LEAST_ELEMENTS = 32, /* shorter ones have no lanes to fill */
};

/* The number of outer dims, which are the first ones. */
static int outer_count(const Kernel *kernel) {
  int count = 0;
  while (count < kernel->dim_count && kernel->dims[count].stage == KERNEL_OUTER) count++;
  return count;
}

/* Whether all that is stored along dims |rows| and |rows| + 1 is one contiguous stretch. */
static bool stores_rows(const Kernel *kernel, int rows) {
  for (int s = 0; s < kernel->stage_count; s++) {
    const KernelStage *stage = &kernel->stages[s];
    if (stage->comparator != NULL || stage->transform != NULL) return false;
    for (int i = 0; i < stage->store_count; i++) {
      IndexExpr address = stage->stores[i].address;
      if (!index_is_linear(&kernel->space, address)) return false;
      if (index_dim_coefficient(&kernel->space, address, rows + 1) != 1) return false;
      if (index_dim_coefficient(&kernel->space, address, rows) != kernel->dims[rows + 1].extent) return false;
    }
  }
  return true;
}

static bool has_scratch(const Kernel *kernel) {
  for (int b = 0; b < kernel->buffer_count; b++) {
    if (kernel->buffers[b].role == KERNEL_SCRATCH) return true;
  }
  return false;
}

static bool may_join(const Kernel *kernel, int rows) {
  if (kernel->part_count > 0 || rows < 0 || has_scratch(kernel)) return false;
  const KernelDim *outer = &kernel->dims[rows], *row = &kernel->dims[rows + 1];
  if (outer->kind != KERNEL_PARALLEL || row->kind != KERNEL_PARALLEL) return false;
  if (row->extent > MOST_ROW || outer->extent * row->extent < LEAST_ELEMENTS) return false;
  return stores_rows(kernel, rows);
}

/* The dims of the new Kernel, and what those of |kernel| are of them. */
static const KernelDim *joined_dims(const Kernel *kernel, int rows, IndexSpace *space, IndexExpr *out_index) {
  KernelDim *dims = ARENA_NEW_ARRAY(space->arena, KernelDim, kernel->dim_count);
  for (int d = 0, made = 0; d < kernel->dim_count; d++) {
    dims[made] = kernel->dims[d];
    if (d == rows) dims[made].extent *= kernel->dims[rows + 1].extent;
    IndexExpr index = index_dim(space, made, dims[made].extent);
    out_index[d] = index;
    made++;
    if (d != rows) continue;
    int64_t row = kernel->dims[++d].extent;
    out_index[rows] = index_div(space, index, row);
    out_index[d] = index_mod(space, index, row);
  }
  return dims;
}

const Kernel *kernel_join_rows(Arena *arena, const Kernel *kernel) {
  int rows = outer_count(kernel) - 2;
  if (!may_join(kernel, rows)) return NULL;
  Kernel *made = ARENA_NEW(arena, Kernel);
  *made = *kernel;
  made->arena = arena;
  index_space_init(&made->space, arena);
  IndexExpr *index = ARENA_NEW_ARRAY(arena, IndexExpr, kernel->dim_count);
  made->dims = joined_dims(kernel, rows, &made->space, index);
  made->dim_count--;
  int32_t *numbers = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count + 1);
  KernelValue *values = ARENA_NEW_ARRAY(arena, KernelValue, kernel->value_count + 1);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    numbers[v] = v;
    values[v] = kernel->values[v];
    values[v].address = index_substitute(&made->space, &kernel->space, values[v].address, index, numbers);
  }
  KernelStage *stages = ARENA_NEW_ARRAY(arena, KernelStage, kernel->stage_count);
  for (int s = 0; s < kernel->stage_count; s++) {
    stages[s] = kernel->stages[s];
    KernelStore *stores = ARENA_NEW_ARRAY(arena, KernelStore, stages[s].store_count + 1);
    for (int i = 0; i < stages[s].store_count; i++) {
      stores[i] = kernel->stages[s].stores[i];
      stores[i].address = index_substitute(&made->space, &kernel->space, stores[i].address, index, numbers);
    }
    stages[s].stores = stores;
  }
  made->values = values;
  made->stages = stages;
  kernel_values_depend(made, values);
  return made;
}
