/* What the values of contractions may be evaluated in, and what loops need not repeat. */
#include "codegen/blocks/contraction_internal.h"

#define MOST_PLACES 4096 /* of batch entries and blocks, that are counted */

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

bool contraction_mask_is_cheap(const VecTarget *target, PrimitiveType type, bool gathers) {
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
    if ((masked || lanes_differ) && !contraction_mask_is_cheap(target, value->type, stride != 1)) return 1;
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

/* --- the inside of an image --- */

/* |address| grows along all the |dims| (bits) that it depends on, or falls along them all. */
static bool is_monotonic(const Kernel *kernel, IndexExpr address, uint64_t dims) {
  bool grows = false, falls = false;
  for (int d = 0; d < kernel->dim_count; d++) {
    if ((dims >> d & 1) == 0) continue;
    if (index_depends_nonlinearly(&kernel->space, address, d)) return false;
    int64_t step = index_dim_coefficient(&kernel->space, address, d);
    grows |= step > 0;
    falls |= step < 0;
  }
  return !(grows && falls);
}

/* Over |dims| the predicate is that several indices are in ranges. */
static bool is_of_ranges(const Kernel *kernel, int32_t predicate, uint64_t dims) {
  const KernelValue *value = &kernel->values[predicate];
  if ((value->dims & dims) == 0) return true;
  if (value->kind == KERNEL_IN_RANGE) return is_monotonic(kernel, value->address, dims);
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_AND) return false;
  return is_of_ranges(kernel, value->operands[0], dims) && is_of_ranges(kernel, value->operands[1], dims);
}

bool contraction_is_guarded_by_ranges(const Kernel *kernel, int32_t factor, int dim) {
  const KernelValue *value = &kernel->values[factor];
  if (value->kind != KERNEL_LOAD || value->predicate < 0) return false;
  uint64_t dims = UINT64_C(1) << dim;
  return (kernel->values[value->predicate].dims & dims) != 0 && is_of_ranges(kernel, value->predicate, dims);
}

int contraction_inside_suffix(const Kernel *kernel, const ContractionBlocking *blocking, int most, int64_t least) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  const DimList *depth = &blocking->depth;
  if (lhs->kind != KERNEL_LOAD || lhs->predicate < 0 || blocking->group > 1) return 0;
  int count = 1;
  int64_t run = kernel->dims[depth->dims[depth->count - 1]].extent;
  uint64_t dims = UINT64_C(1) << depth->dims[depth->count - 1];
  for (; count < most; count++) {
    int outer = depth->dims[depth->count - count - 1], inner = depth->dims[depth->count - count];
    if (!contraction_address_merges(kernel, lhs->address, outer, inner)) break;
    if (!is_of_ranges(kernel, lhs->predicate, dims | UINT64_C(1) << outer)) break;
    dims |= UINT64_C(1) << outer;
    run *= kernel->dims[outer].extent;
  }
  if (run < least) return 0;
  return count > contraction_merged_suffix(kernel, &blocking->lhs_set, depth) ? count : 0;
}

/* --- guards that tiles and blocks have in common --- */

uint64_t contraction_common_dims(const Kernel *kernel, const ContractionBlocking *blocking) {
  const DimList *rows = &blocking->rows, *depth = &blocking->depth;
  uint64_t dims = 0;
  for (int i = 0; i < blocking->batch.count; i++) dims |= UINT64_C(1) << blocking->batch.dims[i];
  int64_t inside = 1;
  for (int i = rows->count - 1; i > 0; i--) {
    inside *= kernel->dims[rows->dims[i]].extent;
    if (inside % blocking->tile_rows == 0) dims |= UINT64_C(1) << rows->dims[i - 1];
  }
  int outside_count = blocking->chunk_dim + (blocking->chunk_size == 1 ? 1 : 0);
  for (int i = 0; i < outside_count; i++) dims |= UINT64_C(1) << depth->dims[i];
  return dims;
}

static void add_common_guards(const Kernel *kernel, int32_t predicate, uint64_t dims, ContractionBlocking *blocking) {
  const KernelValue *value = &kernel->values[predicate];
  if ((value->dims & ~dims) == 0) {
    if (blocking->common_guard_count < MOST_COMMON_GUARDS)
      blocking->common_guards[blocking->common_guard_count++] = predicate;
  } else if (value->kind == KERNEL_APPLY && value->opcode == HLO_AND) {
    for (int i = 0; i < 2; i++) add_common_guards(kernel, value->operands[i], dims, blocking);
  }
}

void contraction_choose_common_guards(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  if (lhs->kind != KERNEL_LOAD || lhs->predicate < 0 || blocking->is_turned || blocking->walks_window) return;
  add_common_guards(kernel, lhs->predicate, contraction_common_dims(kernel, blocking), blocking);
}

static bool holds_at(const Kernel *kernel, const ContractionBlocking *blocking, const int64_t *dims) {
  for (int i = 0; i < blocking->common_guard_count; i++) {
    const KernelValue *guard = &kernel->values[blocking->common_guards[i]];
    bool is_range = guard->kind == KERNEL_IN_RANGE && !index_has_atom(&kernel->space, guard->address, INDEX_ATOM_VALUE);
    if (!is_range) continue;
    int64_t position = index_evaluate(&kernel->space, guard->address, dims, NULL);
    if (position < guard->lower || position >= guard->upper) return false;
  }
  return true;
}

/* The next place in row-major order over |dims| (bits); false after the last. */
static bool next_place(const Kernel *kernel, uint64_t dims, int64_t *place) {
  for (int d = kernel->dim_count - 1; d >= 0; d--) {
    if ((dims >> d & 1) == 0) continue;
    if (++place[d] < kernel->dims[d].extent) return true;
    place[d] = 0;
  }
  return false;
}

double contraction_common_share(const Kernel *kernel, const ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  if (lhs->kind != KERNEL_LOAD || lhs->predicate < 0 || blocking->is_turned) return 1;
  uint64_t dims = contraction_common_dims(kernel, blocking), asked = 0;
  for (int i = 0; i < blocking->rows.count; i++) dims &= ~(UINT64_C(1) << blocking->rows.dims[i]);
  ContractionBlocking found = *blocking;
  found.common_guard_count = 0;
  add_common_guards(kernel, lhs->predicate, dims, &found);
  for (int i = 0; i < found.common_guard_count; i++) asked |= kernel->values[found.common_guards[i]].dims;
  int64_t place[KERNEL_MAX_DIMS] = {0}, count = 0, held = 0;
  do {
    held += holds_at(kernel, &found, place);
    if (++count > MOST_PLACES) return 1;
  } while (next_place(kernel, asked, place));
  return (double)held / (double)count;
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
