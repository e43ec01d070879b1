/* Operations whose result elements read a window of neighbours along a dimension that is divided: convolution and
 * reduce-window, and in the same way slice, pad and reverse, whose windows are single elements.
 *
 * Along such a dimension, of size d, with padding lo, base dilation B, window W and stride t, result element r reads
 * positions [r t - lo, r t - lo + W) of the dilated array, in which element e stands at e B.  A device computes results
 * [i p, (i + 1) p), and so needs one run of elements (runs.h); what lies outside of the array is filled with what the
 * operation pads with.
 *
 * A convolution's kernel may be divided as well: the gradient of a kernel is a convolution of the input with the large
 * gradient of the result.  Element m of the kernel, of dilation D, is multiplied with positions r t - lo + m D for each
 * result r; kernel elements and results change places, and so do D and t.  Devices then have partial sums.  Source:
 * SpatialPartitioner and WindowedInput of XLA; docs/distributed.md has the formulas. */
#include "base/checked_math.h"
#include "passes/spmd/partition_internal.h"
#include "passes/spmd/runs.h"

/* One dimension of an operand that a window moves along. */
typedef struct MovingWindow {
  int operand_dim, result_dim;
  int64_t low, stride, base, window; /* lo, t, B, W above */
  bool is_reversed;                  /* HLO_REVERSE: result element r is element d - 1 - r */
  bool is_summed;                    /* along the kernel: stride is D, window is (R - 1) t + 1 of all R results */
  AxisList axes;                     /* that results, or kernel elements, are divided along */
  int64_t count;                     /* of those */
} MovingWindow;

static MovingWindow window_of(const WindowDimension *window, int operand_dim, int result_dim) {
  return (MovingWindow){.operand_dim = operand_dim,
                        .result_dim = result_dim,
                        .low = window->pad_low,
                        .stride = window->stride,
                        .base = window->base_dilation,
                        .window = (window->size - 1) * window->window_dilation + 1};
}

/* The same with kernel elements in the place of |results|. */
static MovingWindow summed_window_of(const WindowDimension *window, int operand_dim, int result_dim, int64_t results) {
  return (MovingWindow){.operand_dim = operand_dim,
                        .result_dim = result_dim,
                        .low = window->pad_low,
                        .stride = window->window_dilation,
                        .base = window->base_dilation,
                        .window = (results - 1) * window->stride + 1,
                        .is_summed = true};
}

/* The number of the spatial dimension that is dimension |dim| of the result; -1: none. */
static int spatial_number(const ConvolutionDimensionNumbers *labels, int dim) {
  for (int i = 0; i < labels->spatial_rank; i++) {
    if (labels->output.spatial[i] == dim) return i;
  }
  return -1;
}

/* --- how dimension |dim| of the result reads the operand; false: element by element, or all of it --- */

typedef bool WindowFinder(const HloInstruction *old, int dim, MovingWindow *out);

static bool slice_window(const HloInstruction *old, int dim, MovingWindow *out) {
  const SliceDimension *slice = &hlo_instruction_slice(old)->dims[dim];
  *out = (MovingWindow){dim, dim, -slice->start, slice->stride, .base = 1, .window = 1};
  return true;
}

static bool pad_window(const HloInstruction *old, int dim, MovingWindow *out) {
  const PaddingDimension *padding = &hlo_instruction_padding(old)->dims[dim];
  *out = (MovingWindow){dim, dim, padding->low, .stride = 1, .base = padding->interior + 1, .window = 1};
  return true;
}

static bool reverse_window(const HloInstruction *old, int dim, MovingWindow *out) {
  (void)old;
  *out = (MovingWindow){dim, dim, .stride = 1, .base = 1, .window = 1, .is_reversed = true};
  return true;
}

static bool reduce_window(const HloInstruction *old, int dim, MovingWindow *out) {
  *out = window_of(&hlo_instruction_window(old)->dims[dim], dim, dim);
  return true;
}

static bool convolution_window(const HloInstruction *old, int dim, MovingWindow *out) {
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(old);
  int spatial = spatial_number(labels, dim);
  if (spatial < 0 || hlo_instruction_window(old) == NULL) return false;
  *out = window_of(&hlo_instruction_window(old)->dims[spatial], (int)labels->input.spatial[spatial], dim);
  return true;
}

typedef struct LocalWindow LocalWindow;
static void fit_slice_runs(const LocalWindow *local);
static void fit_padding(const LocalWindow *local);
static void fit_window(const LocalWindow *local);

static const struct {
  HloOpcode opcode;
  WindowFinder *find;
  void (*fit)(const LocalWindow *local); /* attributes of the local operation; NULL: none speak of sizes */
} window_kinds[] = {
    {HLO_SLICE, slice_window, fit_slice_runs},
    {HLO_PAD, pad_window, fit_padding},
    {HLO_REVERSE, reverse_window, NULL},
    {HLO_REDUCE_WINDOW, reduce_window, fit_window},
    {HLO_CONVOLUTION, convolution_window, fit_window},
};

enum { WINDOW_KIND_COUNT = sizeof window_kinds / sizeof *window_kinds };

static bool moving_window(const HloInstruction *old, int dim, MovingWindow *out) {
  for (int i = 0; i < WINDOW_KIND_COUNT; i++) {
    if (window_kinds[i].opcode == old->opcode) return window_kinds[i].find(old, dim, out);
  }
  return false;
}

/* The runs that devices need of operand |operand|, and what is left for the operation itself to pad and dilate. */
typedef struct WindowRuns {
  MovingWindow window;
  SpmdRuns runs;
  int64_t low, high; /* dilated positions that the run does not cover, before and after it */
} WindowRuns;

/* False when devices would need padding or dilation that differ. */
static bool window_runs(Partitioner *partitioner, const HloInstruction *old, int operand, const MovingWindow *window,
                        WindowRuns *out) {
  int64_t size = old->operands[operand]->shape->dims[window->operand_dim];
  AxisList axes = window->axes;
  int64_t count = axis_list_size(partitioner->builder.mesh, axes), wanted = window->count;
  int64_t tile = wanted / count + (wanted % count != 0), step = tile * window->stride, base = window->base;
  if (size == 0 || wanted == 0 || step % base != 0) return false;
  *out = (WindowRuns){.window = *window};
  if (window->is_reversed) {
    out->runs = spmd_runs_affine(&partitioner->builder, axes, size, tile, size - tile, -tile);
    return true;
  }
  int64_t begin = -window->low, end = begin + (tile - 1) * window->stride + window->window;
  int64_t first = begin >= 0 ? (begin + base - 1) / base : -(-begin / base);
  int64_t last = end - 1 >= 0 ? (end - 1) / base : -((-(end - 1) + base - 1) / base);
  if (last < first) return false;
  out->runs = spmd_runs_affine(&partitioner->builder, axes, size, last - first + 1, first, step / base);
  out->low = first * base - begin;
  out->high = end - 1 - last * base;
  return true;
}

static int moved_operands(const HloInstruction *old) {
  return old->opcode == HLO_REDUCE_WINDOW ? old->operand_count / 2 : 1;
}

static const AxisSharding *operand_sharding(Partitioner *partitioner, const HloInstruction *old,
                                            const FactorAxes *factors, int operand) {
  AxisMask manual = spmd_operand(partitioner, old, operand)->wanted->manual;
  return factor_axes_project(partitioner, factors, &factors->rule->operands[operand], manual);
}

/* The window along dimension |dim| of the result, where devices have neighbours to read for it. */
static bool divided_window(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                           const AxisSharding *result, int dim, MovingWindow *out) {
  const FactorList *list = &factors->rule->results[0].dims[dim];
  const Shape *shape = shape_result(old->shape, 0);
  bool moves = result->dims[dim].count > 0 && list->count == 1 &&
               factors->rule->factors[list->factors[0]].kind == FACTOR_PERMUTATION && moving_window(old, dim, out);
  if (moves) {
    out->axes = result->dims[dim];
    out->count = shape->dims[dim];
    return true;
  }
  if (old->opcode != HLO_CONVOLUTION || hlo_instruction_window(old) == NULL) return false;
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(old);
  int spatial = spatial_number(labels, dim);
  if (spatial < 0) return false;
  int kernel_dim = (int)labels->kernel.spatial[spatial];
  *out = summed_window_of(&hlo_instruction_window(old)->dims[spatial], (int)labels->input.spatial[spatial], dim,
                          shape->dims[dim]);
  out->axes = operand_sharding(partitioner, old, factors, 1)->dims[kernel_dim];
  out->count = old->operands[1]->shape->dims[kernel_dim];
  return out->axes.count > 0;
}

double spmd_window_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                         const void *context) {
  (void)context;
  const AxisSharding *result = factor_axes_of_result(partitioner, old, factors);
  double bytes = 0;
  MovingWindow window;
  for (int d = 0; d < result->rank; d++) {
    if (!divided_window(partitioner, old, factors, result, d, &window)) continue;
    if (old->opcode == HLO_REDUCE_WINDOW && !spmd_can_fill(partitioner->builder.arena, old)) return SPMD_IMPOSSIBLE;
    for (int k = 0; k < moved_operands(old); k++) {
      const Shape *whole = old->operands[k]->shape;
      const AxisSharding *has = operand_sharding(partitioner, old, factors, k);
      WindowRuns runs;
      if (!axis_lists_equal(has->dims[window.operand_dim], window.axes) ||
          !window_runs(partitioner, old, k, &window, &runs))
        return SPMD_IMPOSSIBLE;
      const Shape *local = spmd_local_shape(partitioner, has, whole);
      double line = (double)shape_byte_size(local) / (double)max_i64(local->dims[window.operand_dim], 1);
      bytes += line * spmd_runs_sent(&partitioner->builder, &runs.runs);
    }
  }
  return bytes;
}

/* --- the local operation --- */

struct LocalWindow {
  Partitioner *partitioner;
  const HloInstruction *old;
  HloInstruction *made;
  WindowRuns runs[SHAPE_MAX_RANK];
  int count;
};

/* What an operation fills the outside of operand |index| with; NULL: nobody reads it. */
static HloInstruction *outside_of(Partitioner *partitioner, const HloInstruction *old, int index) {
  if (old->opcode == HLO_CONVOLUTION) return spmd_zero(partitioner, old->operands[index]->shape->type);
  if (old->opcode == HLO_PAD) return spmd_value_whole(partitioner, spmd_operand(partitioner, old, 1));
  if (old->opcode == HLO_REDUCE_WINDOW) return spmd_fill(partitioner, old, index);
  return NULL;
}

static void fit_window(const LocalWindow *local) {
  Arena *arena = local->partitioner->module->arena;
  const Window *old = hlo_instruction_window(local->old);
  const ConvolutionDimensionNumbers *labels =
      local->old->opcode == HLO_CONVOLUTION ? hlo_instruction_dim_labels(local->old) : NULL;
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, old->dims, old->rank);
  for (int i = 0; i < local->count; i++) {
    int dim = local->runs[i].window.result_dim;
    WindowDimension *fitted = &dims[labels != NULL ? spatial_number(labels, dim) : dim];
    fitted->pad_low = local->runs[i].low;
    fitted->pad_high = local->runs[i].high;
    if (local->runs[i].window.is_summed)
      fitted->size = local->made->operands[1]->shape->dims[labels->kernel.spatial[spatial_number(labels, dim)]];
  }
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){old->rank, dims};
  hlo_instruction_set_attr(local->made,
                           &(HloAttr){.id = HLO_ATTR_WINDOW, .loc = local->old->loc, .value.window = window});
}

static void fit_padding(const LocalWindow *local) {
  Arena *arena = local->partitioner->module->arena;
  const PaddingConfig *old = hlo_instruction_padding(local->old);
  PaddingDimension *dims = ARENA_COPY_ARRAY(arena, PaddingDimension, old->dims, old->rank);
  for (int i = 0; i < local->count; i++) {
    PaddingDimension *fitted = &dims[local->runs[i].window.result_dim];
    fitted->low = local->runs[i].low;
    fitted->high = local->runs[i].high;
  }
  PaddingConfig *padding = ARENA_NEW(arena, PaddingConfig);
  *padding = (PaddingConfig){old->rank, dims};
  hlo_instruction_set_attr(local->made,
                           &(HloAttr){.id = HLO_ATTR_PADDING, .loc = local->old->loc, .value.padding = padding});
}

static void fit_slice_runs(const LocalWindow *local) {
  Arena *arena = local->partitioner->module->arena;
  const SliceRanges *old = hlo_instruction_slice(local->made);
  SliceDimension *dims = ARENA_COPY_ARRAY(arena, SliceDimension, old->dims, old->rank);
  for (int i = 0; i < local->count; i++) {
    const WindowRuns *runs = &local->runs[i];
    dims[runs->window.result_dim] = (SliceDimension){0, runs->runs.length, runs->window.stride};
  }
  SliceRanges *slice = ARENA_NEW(arena, SliceRanges);
  *slice = (SliceRanges){old->rank, dims};
  hlo_instruction_set_attr(local->made, &(HloAttr){.id = HLO_ATTR_SLICE, .loc = local->old->loc, .value.slice = slice});
}

/* Operand |index| with all that the device's results read of it. */
static HloInstruction *with_neighbours(LocalWindow *local, int index, const AxisSharding *result,
                                       const FactorAxes *factors, HloInstruction *part) {
  Partitioner *partitioner = local->partitioner;
  HloInstruction *outside = NULL;
  local->count = 0;
  for (int d = 0; d < result->rank; d++) {
    MovingWindow window;
    if (!divided_window(partitioner, local->old, factors, result, d, &window)) continue;
    WindowRuns *runs = &local->runs[local->count++];
    window_runs(partitioner, local->old, index, &window, runs);
    if (outside == NULL) outside = outside_of(partitioner, local->old, index);
    part = spmd_fetch_runs(&partitioner->builder, part, window.operand_dim, &runs->runs, outside);
  }
  return part;
}

/* |rule| with spatial dimension |spatial| of input and kernel summed over, and of the result whole. */
static const ShardingRule *summing_rule(Arena *arena, const HloInstruction *old, const ShardingRule *rule,
                                        int spatial) {
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(old);
  int64_t kernel = labels->kernel.spatial[spatial];
  SummedDim operands[2] = {{0, (int)labels->input.spatial[spatial]}, {1, (int)kernel}};
  return sharding_rule_with_sum(arena, rule, old->operands[1]->shape->dims[kernel], operands, 2,
                                (int)labels->output.spatial[spatial]);
}

Status spmd_partition_convolution(Partitioner *partitioner, const HloInstruction *old) {
  Arena *arena = partitioner->builder.arena;
  FactorAxes best = factor_axes_choose(partitioner, old, sharding_rule(arena, old), spmd_window_bytes);
  const Window *windows = hlo_instruction_window(old);
  for (int i = 0; windows != NULL && i < windows->rank; i++) {
    if (windows->dims[i].size <= 1 || windows->dims[i].reversal) continue;
    FactorAxes factors =
        factor_axes_choose(partitioner, old, summing_rule(arena, old, best.rule, i), spmd_window_bytes);
    if (factors.bytes < best.bytes) best = factors;
  }
  return spmd_partition_window_by_axes(partitioner, old, &best);
}

Status spmd_partition_window(Partitioner *partitioner, const HloInstruction *old) {
  const ShardingRule *rule = sharding_rule(partitioner->builder.arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, spmd_window_bytes);
  return spmd_partition_window_by_axes(partitioner, old, &factors);
}

Status spmd_partition_window_by_axes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors) {
  const AxisSharding *result = factor_axes_of_result(partitioner, old, factors);
  LocalWindow local = {.partitioner = partitioner, .old = old};
  HloInstruction **operands = ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, old->operand_count + 1);
  for (int i = 0; i < moved_operands(old); i++) {
    HloInstruction *part = spmd_operand_part(partitioner, old, factors, i);
    operands[i] = with_neighbours(&local, i, result, factors, part);
  }
  if (local.count == 0) return spmd_partition_by_axes(partitioner, old, factors);
  RETURN_IF_ERROR(spmd_emit_by_axes(partitioner, old, factors, operands, moved_operands(old), &local.made));
  for (int i = 0; i < WINDOW_KIND_COUNT; i++) {
    if (window_kinds[i].opcode == old->opcode && window_kinds[i].fit != NULL) window_kinds[i].fit(&local);
  }
  return STATUS_OK;
}
