#include "codegen/kernel/kernel_internal.h"

/* What follows from a Kernel by its structure: on which dims and which stage each value depends, how long a
 * transform is, which stage sorts. */

static void add_value(const Kernel *kernel, int32_t operand, KernelValue *value) {
  if (operand < 0) return;
  const KernelValue *from = &kernel->values[operand];
  value->dims |= from->dims;
  if (from->stage > value->stage) value->stage = from->stage;
}

static void add_index(const Kernel *kernel, IndexExpr expr, KernelValue *value) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_DIM) {
      value->dims |= UINT64_C(1) << atom->number;
      int32_t stage = kernel->dims[atom->number].stage;
      if (stage > value->stage) value->stage = stage;
    } else if (atom->kind == INDEX_ATOM_VALUE) {
      add_value(kernel, atom->number, value);
    } else {
      add_index(kernel, atom->inner, value);
    }
  }
}

/* An accumulator varies with all outer dims and, within its stage, with that one's. */
static void add_accumulator(const Kernel *kernel, KernelValue *value) {
  const KernelFold *fold = &kernel->folds[value->fold];
  bool final = value->params[0] != 0;
  value->stage = fold->stage + (final ? 1 : 0);
  for (int d = 0; d < kernel->dim_count; d++) {
    int32_t stage = kernel->dims[d].stage;
    if (stage == KERNEL_OUTER || (!final && stage == fold->stage)) value->dims |= UINT64_C(1) << d;
  }
}

/* What is read where a Kernel writes is another value after each step of the dims that are walked in order, also where
 * the address stands still. */
static void add_steps(const Kernel *kernel, KernelValue *value) {
  if (value->kind != KERNEL_LOAD || kernel->buffers[value->buffer].role != KERNEL_IN_PLACE) return;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].kind != KERNEL_SEQUENTIAL) continue;
    value->dims |= UINT64_C(1) << d;
    if (kernel->dims[d].stage > value->stage) value->stage = kernel->dims[d].stage;
  }
}

/* By buffer: the stage from which on it may be read, which follows all that write it; KERNEL_OUTER where it is no
 * scratch. */
static int32_t *scratch_stages(const Kernel *kernel) {
  int32_t *stages = ARENA_NEW_ARRAY(kernel->arena, int32_t, kernel->buffer_count);
  for (int b = 0; b < kernel->buffer_count; b++) stages[b] = KERNEL_OUTER;
  for (int s = 0; s < kernel->stage_count; s++) {
    const KernelStage *stage = &kernel->stages[s];
    for (int i = 0; i < stage->store_count; i++) {
      int32_t buffer = stage->stores[i].buffer;
      if (kernel->buffers[buffer].role == KERNEL_SCRATCH) stages[buffer] = s + 1;
    }
    for (int i = 0; stage->transform != NULL && i < 4; i++) stages[stage->transform->buffers[i / 2][i % 2]] = s + 1;
  }
  return stages;
}

/* What a stage has stored in scratch is read after it, also where the address does not move. */
static void value_depends(const Kernel *kernel, const int32_t *ready, KernelValue *value) {
  value->stage = value->kind == KERNEL_LOAD ? ready[value->buffer] : KERNEL_OUTER;
  value->dims = 0;
  if (value->kind == KERNEL_ACCUMULATOR) add_accumulator(kernel, value);
  add_steps(kernel, value);
  for (int i = 0; i < value->operand_count; i++) add_value(kernel, value->operands[i], value);
  add_value(kernel, value->predicate, value);
  add_index(kernel, value->address, value);
}

void kernel_values_depend(const Kernel *kernel, KernelValue *values) {
  const int32_t *ready = scratch_stages(kernel);
  for (int32_t v = 0; v < kernel->value_count; v++) value_depends(kernel, ready, &values[v]);
}

int64_t kernel_transform_length(const KernelTransform *transform) {
  int64_t length = 1;
  for (int32_t i = 0; i < transform->factor_count; i++) length *= transform->factors[i];
  return length;
}

int64_t kernel_transform_elements(const KernelTransform *transform) {
  int64_t length = kernel_transform_length(transform);
  const int64_t lines[] = {[KERNEL_NO_REALS] = length, [KERNEL_OF_REALS] = length + 1, [KERNEL_TO_REALS] = 2 * length};
  return transform->outer * lines[transform->reals] * transform->inner;
}

int32_t kernel_transform_passes(const KernelTransform *transform) {
  static const int32_t more[] = {[KERNEL_NO_REALS] = 0, [KERNEL_OF_REALS] = 1, [KERNEL_TO_REALS] = 2};
  return transform->factor_count + more[transform->reals];
}

int kernel_sorting_stage(const Kernel *kernel) {
  for (int s = 0; s < kernel->stage_count; s++) {
    if (kernel->stages[s].comparator != NULL) return s;
  }
  return -1;
}

bool kernel_dim_is_innermost(const Kernel *kernel, int dim) {
  return dim + 1 == kernel->dim_count || kernel->dims[dim + 1].stage != kernel->dims[dim].stage;
}

uint64_t kernel_stage_dims(const Kernel *kernel, int stage) {
  uint64_t dims = 0;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER || kernel->dims[d].stage == stage) dims |= UINT64_C(1) << d;
  }
  return dims;
}

double kernel_point_count(const Kernel *kernel, uint64_t dims) {
  double points = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (dims >> d & 1) points *= (double)kernel->dims[d].extent;
  }
  return points;
}
