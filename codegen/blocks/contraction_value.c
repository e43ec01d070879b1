/* What the values of contractions may be evaluated in, and what loops need not repeat. */
#include "codegen/blocks/contraction_internal.h"

void contraction_hoist(KernelPoint *point, const ValueSet *set, uint64_t later) {
  const Kernel *kernel = point->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_ACCUMULATOR) continue;
    if ((value->dims & later) == 0) {
      point_value(point, v);
    } else if (value->kind == KERNEL_LOAD) {
      point_hoist_address(point, v, later);
    }
  }
}

static bool mask_is_cheap(const VecTarget *target, PrimitiveType type, bool gathers) {
  if (target->has_masks) return true;
  return target->has_masks_32 && !gathers && type_storage_bytes(type) >= 4;
}

int contraction_lanes(const Kernel *kernel, const VecTarget *target, const ValueSet *set, int dim, int lanes,
                      bool masked) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_APPLY) continue;
    int64_t stride;
    if (!kernel_plain_stride(kernel, value->address, dim, &stride)) return 1;
    if (value->kind != KERNEL_LOAD || (value->dims >> dim & 1) == 0) continue;
    bool is_guarded = value->predicate >= 0,
         lanes_differ = is_guarded && (kernel->values[value->predicate].dims >> dim & 1) != 0;
    if ((masked || lanes_differ) && !mask_is_cheap(target, value->type, stride != 1)) return 1;
    if (is_guarded && kernel->buffers[value->buffer].element_count < lanes) return 1;
  }
  return lanes;
}

bool contraction_contiguous(const Kernel *kernel, const ValueSet *set, int dim) {
  bool found = false;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind != KERNEL_LOAD || (value->dims >> dim & 1) == 0) continue;
    int64_t stride;
    if (!kernel_plain_stride(kernel, value->address, dim, &stride) || stride != 1) return false;
    found = true;
  }
  return found;
}
