#include "codegen/kernel/kernel.h"

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

void kernel_value_depends(const Kernel *kernel, KernelValue *value) {
  value->stage = KERNEL_OUTER;
  value->dims = 0;
  if (value->kind == KERNEL_ACCUMULATOR) add_accumulator(kernel, value);
  for (int i = 0; i < value->operand_count; i++) add_value(kernel, value->operands[i], value);
  add_value(kernel, value->predicate, value);
  add_index(kernel, value->address, value);
}

int64_t kernel_transform_length(const KernelTransform *transform) {
  int64_t length = 1;
  for (int32_t i = 0; i < transform->factor_count; i++) length *= transform->factors[i];
  return length;
}

int kernel_sorting_stage(const Kernel *kernel) {
  for (int s = 0; s < kernel->stage_count; s++) {
    if (kernel->stages[s].comparator != NULL) return s;
  }
  return -1;
}
