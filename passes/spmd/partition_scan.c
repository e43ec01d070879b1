/* Cumulative reductions, which are windows as long as the dimension (cumsum, cummax), along one that is divided: each
 * device's own, with the reduction of all parts before it put before. */
#include "base/checked_math.h"
#include "hlo/ir/collective_reducer.h"
#include "passes/spmd/partition_internal.h"

typedef struct CumulativeWindow {
  int dim;
  bool is_reversed; /* from the last element to the first */
  HloOpcode opcode;
} CumulativeWindow;

static bool is_cumulative(const WindowDimension *window, int64_t size, bool *out_is_reversed) {
  *out_is_reversed = window->pad_low == 0;
  int64_t padding = *out_is_reversed ? window->pad_high : window->pad_low;
  return window->size == size && padding == size - 1 && window->pad_low + window->pad_high == padding &&
         window->stride == 1 && window->base_dilation == 1 && window->window_dilation == 1 && size > 1;
}

/* |old| is cumulative along one dimension, by one operation that may be done in any order, and begins with what may
 * enter any number of times. */
static bool find_cumulative(Arena *arena, const HloInstruction *old, CumulativeWindow *out) {
  const Window *window = hlo_instruction_window(old);
  const HloComputation *reducer = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY);
  const Shape *shape = old->operands[0]->shape;
  out->dim = -1;
  if (old->operand_count != 2 || !hlo_reducer_opcode(reducer, &out->opcode) ||
      !hlo_opcode_has(out->opcode, OP_ASSOCIATIVE) || !spmd_begins_neutral(arena, old))
    return false;
  for (int d = 0; d < window->rank; d++) {
    if (window_dimension_is_trivial(&window->dims[d])) continue;
    if (out->dim >= 0 || !is_cumulative(&window->dims[d], shape->dims[d], &out->is_reversed)) return false;
    out->dim = d;
  }
  return out->dim >= 0;
}

/* One element of each line goes to all others. */
static double scan_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                         const void *context) {
  (void)context;
  CumulativeWindow scan;
  find_cumulative(partitioner->builder.arena, old, &scan);
  const AxisSharding *sharding = factor_axes_of_result(partitioner, old, factors);
  const Shape *local = spmd_local_shape(partitioner, sharding, old->shape);
  int64_t count = axis_sharding_tiles(partitioner->builder.mesh, sharding, scan.dim);
  return (double)shape_byte_size(local) / (double)max_i64(local->dims[scan.dim], 1) * (double)(count - 1);
}

/* The cumulative reduction of a device's own part. */
static HloInstruction *scan_part(Partitioner *partitioner, const HloInstruction *old, const CumulativeWindow *scan,
                                 HloInstruction *part, HloInstruction *init) {
  Arena *arena = partitioner->module->arena;
  const Window *whole = hlo_instruction_window(old);
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, whole->dims, whole->rank);
  int64_t size = part->shape->dims[scan->dim];
  dims[scan->dim].size = size;
  dims[scan->dim].pad_low = scan->is_reversed ? 0 : size - 1;
  dims[scan->dim].pad_high = scan->is_reversed ? size - 1 : 0;
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){whole->rank, dims};
  HloInstruction *made = spmd_clone(partitioner, old, part->shape, (HloInstruction *[]){part, init}, 2);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_WINDOW, .loc = old->loc, .value.window = window});
  return made;
}

/* The reduction of all parts that come before this device's, for each line, as large as its part. */
static HloInstruction *reduce_before(SpmdBuilder *builder, const CumulativeWindow *scan, HloInstruction *part,
                                     AxisList axes, HloInstruction *init) {
  GraphBuilder *graph = &builder->graph;
  int dim = scan->dim;
  int64_t last = scan->is_reversed ? 0 : part->shape->dims[dim] - 1;
  HloInstruction *totals = spmd_all_gather(builder, graph_slice(graph, part, dim, last, last + 1), axes, dim);
  const Shape *shape = totals->shape;
  HloInstruction *index = graph_iota(graph, TYPE_S32, shape->dims, shape->rank, dim);
  HloInstruction *own = graph_splat(graph, spmd_coordinate(builder, axes), index->shape);
  ComparisonDirection direction = scan->is_reversed ? COMPARISON_DIRECTION_GT : COMPARISON_DIRECTION_LT;
  totals = graph_select(graph, graph_compare(graph, direction, index, own), totals, graph_splat(graph, init, shape));
  totals = graph_reduce(graph, scan->opcode, totals, init, (int64_t[]){dim}, 1);
  int64_t at[SHAPE_MAX_RANK];
  for (int i = 0; i < totals->shape->rank; i++) at[i] = i < dim ? i : i + 1;
  return graph_broadcast(graph, totals, at, totals->shape->rank, part->shape->dims, part->shape->rank);
}

Status spmd_partition_reduce_window(Partitioner *partitioner, const HloInstruction *old) {
  CumulativeWindow scan;
  if (!find_cumulative(partitioner->builder.arena, old, &scan)) return spmd_partition_window(partitioner, old);
  SpmdBuilder *builder = &partitioner->builder;
  const ShardingRule *rule = sharding_rule(builder->arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, scan_bytes);
  const AxisSharding *sharding = factor_axes_of_result(partitioner, old, &factors);
  AxisList axes = sharding->dims[scan.dim];
  if (axes.count == 0) return spmd_partition_by_axes(partitioner, old, &factors);
  HloInstruction *init = spmd_fill(partitioner, old, 0);
  HloInstruction *part = spmd_value_as(partitioner, spmd_operand(partitioner, old, 0), sharding);
  part = spmd_mask(builder, part, scan.dim, axes, old->shape->dims[scan.dim], init);
  part = scan_part(partitioner, old, &scan, part, init);
  HloInstruction *before = reduce_before(builder, &scan, part, axes, init);
  HloInstruction *made = graph_binary(&builder->graph, scan.opcode, before, part);
  spmd_value_add(partitioner, spmd_result(partitioner, old, 0), sharding, (PartialResult){0}, made);
  return STATUS_OK;
}
