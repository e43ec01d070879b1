#include "codegen/oncore/plan/load_box.h"

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_access.h"

/* Points first … last along each dim, inclusive: one guard after the other takes some away. */
typedef struct PointBox {
  const Kernel *kernel;
  int64_t first[KERNEL_MAX_DIMS], last[KERNEL_MAX_DIMS];
  bool is_empty;
} PointBox;

/* Leaves the points with lower <= |expr| <= upper; false where that is no box: it moves along several dims. */
static bool clip(PointBox *box, IndexExpr expr, int64_t lower, int64_t upper) {
  int64_t rest = expr.constant, step = 0;
  int32_t along = -1;
  if (!index_is_linear(&box->kernel->space, expr)) return false;
  for (int i = 0; i < expr.term_count; i++) {
    int32_t dim = box->kernel->space.atoms.data[expr.terms[i].atom].number;
    if (box->first[dim] == box->last[dim]) {
      rest += expr.terms[i].coefficient * box->first[dim];
      continue;
    }
    if (along >= 0) return false;
    along = dim;
    step = expr.terms[i].coefficient;
  }
  if (along < 0) {
    box->is_empty = box->is_empty || rest < lower || rest > upper;
    return true;
  }
  int64_t low = step > 0 ? lower - rest : rest - upper, high = step > 0 ? upper - rest : rest - lower;
  if (step < 0) step = -step;
  box->first[along] = max_i64(box->first[along], -floor_div(-low, step));
  box->last[along] = min_i64(box->last[along], floor_div(high, step));
  box->is_empty = box->is_empty || box->first[along] > box->last[along];
  return true;
}

static bool clip_by_guard(PointBox *box, int32_t predicate) {
  if (predicate < 0 || box->is_empty) return true;
  const KernelValue *value = &box->kernel->values[predicate];
  if (value->kind == KERNEL_IN_RANGE) return clip(box, value->address, value->lower, value->upper - 1);
  if (value->kind == KERNEL_CONSTANT) {
    box->is_empty = (value->bits[0] & 1) == 0;
    return true;
  }
  return value->kind == KERNEL_APPLY && value->opcode == HLO_AND && clip_by_guard(box, value->operands[0]) &&
         clip_by_guard(box, value->operands[1]);
}

bool load_box_find(const Kernel *kernel, int32_t value, const int64_t *begins, const int64_t *extents,
                   ByteBox *out_box) {
  const KernelValue *load = tile_load_value(kernel, value);
  const KernelBuffer *buffer = &kernel->buffers[load->buffer];
  int64_t element = type_storage_bytes(buffer->type);
  PointBox box = {.kernel = kernel};
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    box.first[d] = begins[d];
    box.last[d] = begins[d] + max_i64(extents[d], 1) - 1;
  }
  if (!index_is_linear(&kernel->space, load->address) || !clip_by_guard(&box, load->predicate)) return false;
  *out_box = (ByteBox){.align = element};
  if (box.is_empty) return true;
  *out_box = (ByteBox){.base = load->address.constant * element, .bytes = element, .align = element};
  for (int i = 0; i < load->address.term_count; i++) {
    int32_t dim = kernel->space.atoms.data[load->address.terms[i].atom].number;
    int64_t stride = load->address.terms[i].coefficient * element;
    out_box->base += box.first[dim] * stride;
    if (box.first[dim] == box.last[dim]) continue;
    if (out_box->level_count == BYTE_BOX_MAX_LEVELS) return false;
    out_box->levels[out_box->level_count++] = (ByteLevel){box.last[dim] - box.first[dim] + 1, stride};
  }
  byte_box_normalise(out_box);
  return out_box->base >= 0 && byte_box_end(out_box) <= buffer->element_count * element;
}
