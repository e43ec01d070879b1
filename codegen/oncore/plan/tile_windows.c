/* Windows that tiles hold: which axes of a load step along others. */
#include <stdlib.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_access.h"

/* Whether |address| has only terms of dims. */
static bool is_of_dims(const Kernel *kernel, IndexExpr address) {
  for (int i = 0; i < address.term_count; i++)
    if (kernel->space.atoms.data[address.terms[i].atom].kind != INDEX_ATOM_DIM) return false;
  return true;
}

/* |expr| moves along dim |d| in |step| times the steps in which it does along |by|. */
static bool moves_in_steps(const Kernel *kernel, IndexExpr expr, int32_t d, int32_t by, int64_t step) {
  return tile_address_is_linear(kernel, expr) &&
         index_dim_coefficient(&kernel->space, expr, d) == step * index_dim_coefficient(&kernel->space, expr, by);
}

/* Whether |value| is a guard that holds where all dims are 0. */
static bool holds_at_first(const Kernel *kernel, const KernelValue *value) {
  int64_t first = value->address.constant;
  bool is_range = value->kind == KERNEL_IN_RANGE, is_divisible = value->kind == KERNEL_DIVISIBLE;
  if (!is_of_dims(kernel, value->address)) return false;
  return (is_range && first >= value->lower && first < value->upper) || (is_divisible && first % value->upper == 0);
}

/* What is no matter of |by| may say which taps there are (tile_guard_is_of_taps). */
static bool guard_moves_in_steps(const Kernel *kernel, int32_t predicate, int32_t d, int32_t by, int64_t step) {
  if (predicate < 0) return true;
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind == KERNEL_CONSTANT) return true;
  if (value->kind == KERNEL_IN_RANGE || value->kind == KERNEL_DIVISIBLE)
    return moves_in_steps(kernel, value->address, d, by, step) ||
           (holds_at_first(kernel, value) && index_dim_coefficient(&kernel->space, value->address, by) == 0);
  return value->kind == KERNEL_APPLY && value->opcode == HLO_AND &&
         guard_moves_in_steps(kernel, value->operands[0], d, by, step) &&
         guard_moves_in_steps(kernel, value->operands[1], d, by, step);
}

/* Positions of axis |along|, from 0 on, that a range among |predicate| leaves, which is of nothing but the axes that
 * step along it and of |axis|, in |step|s; 0: there is no such range. */
static int64_t positions_left(const Kernel *kernel, int32_t predicate, const TileWindows *windows, int32_t axis,
                              int32_t along, int64_t step) {
  if (predicate < 0) return 0;
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind == KERNEL_APPLY && value->opcode == HLO_AND) {
    int64_t left = positions_left(kernel, value->operands[0], windows, axis, along, step);
    return left > 0 ? left : positions_left(kernel, value->operands[1], windows, axis, along, step);
  }
  if (value->kind != KERNEL_IN_RANGE || !holds_at_first(kernel, value)) return 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int64_t expected = 0;
    for (int32_t i = 0; i < windows->axis_count; i++) {
      if (windows->axes[i] != d || (i != axis && windows->along[i] != along)) continue;
      expected = i == axis ? step : windows->steps[i];
    }
    if (index_dim_coefficient(&kernel->space, value->address, d) != expected) return 0;
  }
  return value->upper - value->address.constant;
}

/* Whether axis |axis|, inner, goes on where phases along the outer one |along| have ended, beyond the end of the array,
 * where a guard leaves it away. */
static bool continues_phases(const Kernel *kernel, int32_t load, const TileWindows *windows, int32_t axis,
                             int32_t along, int64_t step, const int64_t *whole) {
  int64_t reach = tile_window_extent(windows, along, whole);
  if (step != reach || kernel->dims[windows->axes[along]].stage != KERNEL_OUTER ||
      kernel->dims[windows->axes[axis]].stage == KERNEL_OUTER)
    return false;
  int64_t left = positions_left(kernel, tile_load_value(kernel, load)->predicate, windows, axis, along, step);
  return left > 0 && left < reach + step * (whole[windows->axes[axis]] - 1);
}

/* Axis |axis| of a load's tile, which stands before |along| or is as far apart, steps along it if some of their whole
 * dims' points are the same element, or it continues phases. */
static bool joins_window(const Kernel *kernel, int32_t load, const TileWindows *windows, int32_t axis, int32_t along,
                         const int64_t *whole) {
  const KernelValue *value = tile_load_value(kernel, load);
  int32_t d = windows->axes[axis], by = windows->axes[along];
  int64_t stride = index_dim_coefficient(&kernel->space, value->address, d);
  int64_t unit = index_dim_coefficient(&kernel->space, value->address, by);
  if (stride <= 0 || unit <= 0 || stride % unit != 0) return false;
  int64_t step = stride / unit;
  bool meets = step < tile_window_extent(windows, along, whole) ||
               continues_phases(kernel, load, windows, axis, along, step, whole);
  return whole[d] > 1 && meets && guard_moves_in_steps(kernel, value->predicate, d, by, step);
}

/* Smaller strides first, then smaller dims: positions before the taps that step along them. */
static int32_t ascending_axes(const Kernel *kernel, int32_t load, const TileWindows *windows, int32_t *out_order) {
  IndexExpr address = tile_load_value(kernel, load)->address;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    int64_t stride = llabs(index_dim_coefficient(&kernel->space, address, windows->axes[i]));
    int32_t at = i;
    for (; at > 0; at--) {
      int32_t before = windows->axes[out_order[at - 1]];
      if (llabs(index_dim_coefficient(&kernel->space, address, before)) <= stride) break;
      out_order[at] = out_order[at - 1];
    }
    out_order[at] = i;
  }
  return windows->axis_count;
}

/* Whether |guard| is the range that axes of |windows| end by. */
static bool is_end_of_windows(const Kernel *kernel, int32_t guard, const TileWindows *windows) {
  for (int32_t i = 0; i < windows->axis_count; i++) {
    if (windows->ends[i] > 0 && positions_left(kernel, guard, windows, i, i, 1) == windows->ends[i]) return true;
  }
  return false;
}

bool tile_guard_is_of_taps(const Kernel *kernel, int32_t guard, const TileWindows *windows) {
  const KernelValue *value = &kernel->values[guard];
  bool steps = false, is_apart = holds_at_first(kernel, value);
  if (is_end_of_windows(kernel, guard, windows)) return true;
  for (int32_t i = 0; i < windows->axis_count && is_apart; i++) {
    if (index_dim_coefficient(&kernel->space, value->address, windows->axes[i]) == 0) continue;
    steps = true;
    is_apart = windows->along[i] != i;
  }
  return steps && is_apart;
}

/* Whether all of guard |predicate| is known to the windows' positions, or to what reads them (|may_be_of_taps|). */
static bool windows_know_guard(const Kernel *kernel, int32_t predicate, const TileWindows *windows,
                               bool may_be_of_taps) {
  if (predicate < 0 || kernel->values[predicate].kind == KERNEL_CONSTANT) return true;
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind == KERNEL_APPLY)
    return windows_know_guard(kernel, value->operands[0], windows, may_be_of_taps) &&
           windows_know_guard(kernel, value->operands[1], windows, may_be_of_taps);
  if (tile_guard_is_of_taps(kernel, predicate, windows)) return may_be_of_taps;
  bool moves = true;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    if (windows->along[i] == i) continue;
    int32_t by = windows->axes[windows->along[i]];
    moves = moves && moves_in_steps(kernel, value->address, windows->axes[i], by, windows->steps[i]);
  }
  return moves;
}

/* Dims that only guards know, phases of a dilated input, step along the first axis that others step along: by nothing
 * (|steps|), or each along itself. */
static void place_phases(const Kernel *kernel, IndexExpr address, TileWindows *windows, bool steps) {
  int32_t first = 0;
  while (windows->along[first] == first || windows->steps[first] == 0) first++;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    if (index_dim_coefficient(&kernel->space, address, windows->axes[i]) != 0) continue;
    windows->along[i] = steps ? windows->along[first] : i;
    windows->steps[i] = steps ? 0 : 1;
  }
}

bool tile_load_windows(const Kernel *kernel, int32_t value, TileWindows *out_windows) {
  TileWindows *windows = out_windows;
  *windows = (TileWindows){0};
  int32_t order[KERNEL_MAX_DIMS];
  int64_t whole[KERNEL_MAX_DIMS];
  windows->axis_count = tile_load_axes(kernel, value, windows->axes);
  for (int32_t i = 0; i < windows->axis_count; i++) {
    windows->along[i] = i;
    windows->steps[i] = 1;
  }
  IndexExpr address = tile_load_value(kernel, value)->address;
  if (!tile_address_is_linear(kernel, address)) return false;
  for (int32_t d = 0; d < kernel->dim_count; d++) whole[d] = kernel->dims[d].extent;
  ascending_axes(kernel, value, windows, order);
  bool found = false;
  for (int32_t i = 1; i < windows->axis_count; i++) {
    int32_t axis = order[i];
    for (int32_t k = i - 1; k >= 0 && windows->along[axis] == axis; k--) {
      int32_t along = order[k];
      if (windows->along[along] != along || !joins_window(kernel, value, windows, axis, along, whole)) continue;
      int64_t step = index_dim_coefficient(&kernel->space, address, windows->axes[axis]) /
                     index_dim_coefficient(&kernel->space, address, windows->axes[along]);
      if (continues_phases(kernel, value, windows, axis, along, step, whole))
        windows->ends[along] =
            positions_left(kernel, tile_load_value(kernel, value)->predicate, windows, axis, along, step);
      windows->along[axis] = along;
      windows->steps[axis] = step;
      found = true;
    }
  }
  if (!found) return false;
  int32_t predicate = tile_load_value(kernel, value)->predicate;
  bool may_be_of_taps = tile_load_padding(kernel, value) < 0;
  place_phases(kernel, address, windows, true);
  if (windows_know_guard(kernel, predicate, windows, may_be_of_taps)) return true;
  place_phases(kernel, address, windows, false);
  return windows_know_guard(kernel, predicate, windows, may_be_of_taps);
}

bool tile_axis_is_windowed(const TileWindows *windows, int32_t axis) {
  bool is_windowed = windows->along[axis] != axis;
  for (int32_t i = 0; i < windows->axis_count; i++)
    is_windowed = is_windowed || (i != axis && windows->along[i] == axis);
  return is_windowed;
}

bool tile_axis_is_position(const Kernel *kernel, const TileWindows *windows, int32_t axis) {
  const KernelDim *dims = kernel->dims;
  int64_t taps = INT64_MAX;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    bool is_other = i != axis && windows->along[i] == windows->along[axis];
    if (is_other && dims[windows->axes[i]].stage == KERNEL_OUTER) taps = min_i64(taps, dims[windows->axes[i]].extent);
  }
  return dims[windows->axes[axis]].stage != KERNEL_OUTER && taps < dims[windows->axes[axis]].extent;
}

int64_t tile_window_extent(const TileWindows *windows, int32_t axis, const int64_t *extents) {
  int64_t reach = 1;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    if (windows->along[axis] == axis && windows->along[i] == axis)
      reach += windows->steps[i] * (extents[windows->axes[i]] - 1);
  }
  return windows->ends[axis] > 0 ? min_i64(reach, windows->ends[axis]) : reach;
}

bool tile_windows_end(const TileWindows *windows, uint64_t *out_dims) {
  *out_dims = 0;
  for (int32_t i = 0; i < windows->axis_count; i++)
    if (windows->ends[windows->along[i]] > 0) *out_dims |= UINT64_C(1) << windows->axes[i];
  return *out_dims != 0;
}

static bool is_of_ends(const Kernel *kernel, int32_t predicate, const TileWindows *windows) {
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_AND) return is_end_of_windows(kernel, predicate, windows);
  return is_of_ends(kernel, value->operands[0], windows) && is_of_ends(kernel, value->operands[1], windows);
}

bool tile_windows_are_box(const Kernel *kernel, int32_t value, const TileWindows *windows) {
  int32_t predicate = tile_load_value(kernel, value)->predicate;
  return predicate < 0 || is_of_ends(kernel, predicate, windows);
}

PlanRange tile_window_range(IndexSpace *space, const TileWindows *windows, int32_t axis, const PlanRange *points) {
  if (windows->along[axis] != axis) return plan_range_index(index_constant(0));
  PlanRange range = {.begin = index_constant(0), .extent = 1, .left = index_constant(1)};
  for (int32_t i = 0; i < windows->axis_count; i++) {
    if (windows->along[i] != axis || windows->steps[i] == 0) continue;
    const PlanRange *of = &points[windows->axes[i]];
    int64_t step = windows->steps[i];
    range.begin = index_add(space, range.begin, index_scale(space, of->begin, step));
    range.extent += step * (of->extent - 1);
    IndexExpr more = of->is_ragged ? index_add_constant(space, of->left, -1) : index_constant(of->extent - 1);
    range.left = index_add(space, range.left, index_scale(space, more, step));
    XLAC_CHECK(!range.is_ragged || !of->is_ragged);
    range.is_ragged = range.is_ragged || of->is_ragged;
  }
  if (!range.is_ragged) range.left = index_constant(0);
  if (windows->ends[axis] > 0) range.extent = min_i64(range.extent, windows->ends[axis]); /* all that there are */
  return range;
}

bool tile_ref_is_window(const TileWindows *windows, const PlanRange *points, const PlanRef *ref) {
  int32_t first = ref->range_count - windows->axis_count;
  for (int32_t i = 0; i < windows->axis_count && first >= 0; i++) {
    bool is_folded = windows->along[i] != i && points[windows->axes[i]].extent > 1;
    if (is_folded && ref->ranges[first + i].extent == 1) return true;
  }
  return false;
}
