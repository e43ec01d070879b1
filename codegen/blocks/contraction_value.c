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

int contraction_operation_count(const Kernel *kernel, const ValueSet *set) {
  int count = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) count += set->has[v] && kernel->values[v].kind == KERNEL_APPLY;
  return count;
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

/* --- what is kept of columns --- */

static bool depends_on_columns_alone(const ContractionBlocking *blocking, const KernelValue *value) {
  uint64_t columns = 0;
  for (int i = 0; i < blocking->columns.count; i++) columns |= UINT64_C(1) << blocking->columns.dims[i];
  int last = blocking->columns.dims[blocking->columns.count - 1];
  return (value->dims >> last & 1) != 0 && (value->dims & ~columns) == 0;
}

static bool is_of_columns(const Kernel *kernel, const ContractionBlocking *blocking, int32_t number) {
  const KernelValue *value = &kernel->values[number];
  return blocking->epilogue_set.has[number] && value->kind == KERNEL_APPLY && depends_on_columns_alone(blocking, value);
}

/* Something that other dims matter for as well, or a store, reads |number|. */
static bool is_read_elsewhere(const Kernel *kernel, const ContractionBlocking *blocking, int32_t number) {
  for (int32_t v = number + 1; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!blocking->epilogue_set.has[v] || is_of_columns(kernel, blocking, v)) continue;
    for (int i = 0; i < value->operand_count; i++) {
      if (value->operands[i] == number) return true;
    }
  }
  const KernelStage *stage = &kernel->stages[1];
  for (int i = 0; i < stage->store_count; i++) {
    if (stage->stores[i].value == number) return true;
  }
  return false;
}

void contraction_choose_kept(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  if (blocking->rows.size < 2) return;
  for (int32_t v = 0; v < kernel->value_count && blocking->kept_count < MOST_KEPT; v++) {
    if (kernel->values[v].type == TYPE_PRED || !is_of_columns(kernel, blocking, v)) continue;
    if (is_read_elsewhere(kernel, blocking, v)) blocking->kept[blocking->kept_count++] = v;
  }
  int64_t columns = blocking->panel_width + target->vector_bits / 8; /* the last step may reach beyond the panel */
  blocking->kept_stride = columns * 8;
}
