/* Where the elements of a part of an array or a Tensor are. */
#include "base/checked_math.h"
#include "codegen/oncore/language/plan_content_internal.h"
#include "codegen/oncore/plan/run_time_views.h"

bool content_is_array(const Follower *f, const PlanRef *ref) {
  return ref->is_memory && f->plan->memories[ref->number].kind != PLAN_TEMPORARY;
}

const PlanTensor *content_held(const Follower *f, const PlanRef *ref) {
  int32_t holder = ref->is_memory ? -1 : plan_tensor_holder(f->plan, ref->number);
  if (holder < 0) return NULL;
  const PlanTensor *tensor = &f->plan->tensors[holder];
  bool is_open = f->is_updated[f->array_of[tensor->held]] || run_time_sum(f->plan, ref, NULL, NULL);
  return is_open ? tensor : NULL;
}

int64_t content_element_bytes(const Follower *f, const PlanRef *ref) {
  return type_storage_bytes(ref->is_memory ? f->plan->memories[ref->number].type : f->plan->tensors[ref->number].type);
}

/* The form of a part of an array's place, which may be any; of all else there is none. */
static void add_place(Follower *f, int32_t command, IndexExpr expr, int64_t stride, bool may_vary, CellWalk *walk) {
  Place place = {0};
  if (!may_vary) {
    place.constant = content_number(f, command, expr);
  } else {
    place = place_in_plan(&f->forms, expr, f->iterations);
  }
  walk->at += place.constant * stride;
  if (place.form != 0) walk->form = place_form_add(&f->forms, walk->form, place.form, stride);
}

/* Adds an axis that those so far are inside of: one with them where it goes on. */
static void add_axis(CellWalk *walk, int64_t extent, int64_t stride) {
  int32_t last = walk->axis_count - 1;
  walk->total *= extent;
  if (extent == 1) return;
  if (last >= 0 && stride == walk->strides[last] * walk->extents[last]) {
    walk->extents[last] *= extent;
    return;
  }
  walk->extents[walk->axis_count] = extent;
  walk->strides[walk->axis_count++] = stride;
}

/* Axes of the walk are numbered from the innermost. */
CellWalk cell_walk_over(Follower *f, int32_t command, const PlanRef *ref, const PlanTensor *held) {
  const PlanTensor *tensor = ref->is_memory ? NULL : &f->plan->tensors[ref->number];
  const PlanMemory *memory = ref->is_memory ? &f->plan->memories[ref->number] : NULL;
  bool is_of_array = held != NULL || content_is_array(f, ref);
  int64_t unit = is_of_array ? 1 : content_element_bytes(f, ref), dense = unit;
  CellWalk walk = {.total = 1, .step = unit, .at = tensor != NULL ? tensor->begin : 0};
  if (held != NULL) walk.at = (tensor->begin - held->begin) / content_element_bytes(f, ref);
  if (memory != NULL) add_place(f, command, memory->offset, unit, is_of_array, &walk);
  for (int32_t i = ref->range_count - 1; i >= 0; i--) {
    int64_t stride = memory != NULL ? memory->strides[i] * unit : dense;
    if (tensor != NULL && tensor->kind == PLAN_RING && i == 0) stride = tensor->slot_stride;
    if (tensor != NULL) dense *= tensor->extents[i];
    add_place(f, command, ref->ranges[i].begin, stride, is_of_array, &walk);
    add_axis(&walk, max_i64(content_extent(f, command, &ref->ranges[i]), 0), stride);
  }
  if (walk.axis_count > 0) walk.step = walk.strides[0];
  walk.left = walk.total > 0 && walk.axis_count > 0 ? walk.extents[0] : walk.total;
  return walk;
}

CellWalk cell_walk(Follower *f, int32_t command, const PlanRef *ref) {
  return cell_walk_over(f, command, ref, NULL);
}

void cell_walk_advance(CellWalk *walk, int64_t n) {
  walk->total -= n;
  walk->left -= n;
  walk->at += n * walk->step;
  if (walk->left > 0 || walk->total == 0) return;
  walk->at -= walk->extents[0] * walk->strides[0];
  walk->left = walk->extents[0];
  for (int32_t i = 1; i < walk->axis_count; i++) {
    walk->at += walk->strides[i];
    if (++walk->index[i] < walk->extents[i]) return;
    walk->at -= walk->extents[i] * walk->strides[i];
    walk->index[i] = 0;
  }
}

int64_t cell_walk_dense_count(const CellWalk *walk, int64_t bytes) {
  return walk->step == bytes ? walk->left : 1;
}
