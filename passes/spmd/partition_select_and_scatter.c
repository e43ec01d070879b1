/* select-and-scatter along dimensions that are divided: a device gets all windows that reach into its part, with what
 * they read, does them, and keeps its part.
 *
 * Along such a dimension window j reads elements [j t - lo, j t - lo + W) of the operand.  Device i's part [i s, (i+1)
 * s) is reached by windows from ceil((i s + lo - W + 1) / t) to floor(((i+1) s - 1 + lo) / t); devices that have fewer
 * of them than others do some more after them, which reach beyond their part.  Elements outside of the array are such
 * as are never selected. */
#include <math.h>

#include "base/checked_math.h"
#include "hlo/ir/collective_reducer.h"
#include "passes/spmd/partition_internal.h"
#include "passes/spmd/runs.h"

/* What the selection prefers any other element to: the end of the type that it goes away from. */
static HloInstruction *never_selected(Partitioner *partitioner, const HloInstruction *old) {
  const HloComputation *select = hlo_instruction_computation(old, HLO_ATTR_SELECT_COMPUTATION);
  const HloInstruction *root = select->root;
  PrimitiveType type = old->shape->type;
  if (root->opcode != HLO_COMPARE || !type_is_float(type) || root->operands[0] != select->parameters.data[0] ||
      root->operands[1] != select->parameters.data[1])
    return NULL;
  int64_t direction = hlo_instruction_int(root, HLO_ATTR_DIRECTION, COMPARISON_DIRECTION_EQ);
  bool is_most = direction == COMPARISON_DIRECTION_GE || direction == COMPARISON_DIRECTION_GT;
  bool is_least = direction == COMPARISON_DIRECTION_LE || direction == COMPARISON_DIRECTION_LT;
  if (!is_most && !is_least) return NULL;
  return graph_real(&partitioner->builder.graph, type, is_most ? -INFINITY : INFINITY, NULL);
}

/* Windows that there are not are given a source of zero, which only a sum does not notice. */
static bool adds_up(const HloInstruction *old) {
  HloOpcode opcode;
  return hlo_reducer_opcode(hlo_instruction_computation(old, HLO_ATTR_SCATTER_COMPUTATION), &opcode) &&
         opcode == HLO_ADD;
}

/* What a device needs along one dimension. */
typedef struct SelectRuns {
  SpmdRuns windows, elements;
  const int64_t *offsets; /* of its part in its run of elements, by device */
  int64_t tile;
} SelectRuns;

static bool find_runs(Partitioner *partitioner, const HloInstruction *old, int dim, AxisList axes, SelectRuns *out) {
  Arena *arena = partitioner->builder.arena;
  const WindowDimension *window = &hlo_instruction_window(old)->dims[dim];
  int64_t count = axis_list_size(partitioner->builder.mesh, axes), size = old->shape->dims[dim];
  int64_t tile = size / count + (size % count != 0), stride = window->stride, low = window->pad_low, most = 1;
  if (window->base_dilation != 1 || window->window_dilation != 1 || size == 0) return false;
  int64_t *firsts = ARENA_NEW_ARRAY(arena, int64_t, count), *begins = ARENA_NEW_ARRAY(arena, int64_t, count),
          *offsets = ARENA_NEW_ARRAY(arena, int64_t, count), *window_ends = ARENA_NEW_ARRAY(arena, int64_t, count),
          *element_ends = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int64_t i = 0; i < count; i++) {
    int64_t begin = i * tile + low;
    /* where windows lie apart, that before the part, so that the run begins no later than the part */
    firsts[i] = min_i64(floor_div(begin - window->size + stride, stride), floor_div(begin, stride));
    begins[i] = firsts[i] * stride - low;
    offsets[i] = i * tile - begins[i];
    window_ends[i] = floor_div((i + 1) * tile - 1 + low, stride) + 1;
    element_ends[i] = (window_ends[i] - 1) * stride + window->size - low;
    most = max_i64(most, window_ends[i] - firsts[i]);
  }
  int64_t length = (most - 1) * stride + window->size;
  /* which ends before the part does only where windows lie apart: no further window begins before it */
  for (int64_t i = 0; i < count; i++) length = max_i64(length, offsets[i] + tile);
  out->tile = tile;
  out->windows = (SpmdRuns){axes, count, old->operands[1]->shape->dims[dim], most, firsts, firsts, window_ends};
  out->elements = (SpmdRuns){axes, count, size, length, begins, begins, element_ends};
  out->offsets = offsets;
  return true;
}

static bool is_moving(const HloInstruction *old, const AxisSharding *result, int dim) {
  const WindowDimension *window = &hlo_instruction_window(old)->dims[dim];
  return result->dims[dim].count > 0 &&
         (window->size > 1 || window->stride > 1 || window->pad_low != 0 || window->pad_high != 0);
}

static double select_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                           const void *context) {
  (void)context;
  const AxisSharding *result = factor_axes_of_result(partitioner, old, factors);
  double bytes = 0;
  for (int d = 0; d < result->rank; d++) {
    if (!is_moving(old, result, d)) continue;
    SelectRuns runs;
    if (!find_runs(partitioner, old, d, result->dims[d], &runs) || never_selected(partitioner, old) == NULL ||
        !adds_up(old))
      return SPMD_IMPOSSIBLE;
    for (int k = 0; k < 2; k++) {
      const AxisSharding *has = factor_axes_beside_result(partitioner, old, factors, &factors->rule->operands[k]);
      if (!axis_lists_equal(has->dims[d], result->dims[d])) return SPMD_IMPOSSIBLE;
      const Shape *local = spmd_local_shape(partitioner, has, old->operands[k]->shape);
      double line = (double)shape_byte_size(local) / (double)max_i64(local->dims[d], 1);
      bytes += line * spmd_runs_sent(&partitioner->builder, k == 0 ? &runs.elements : &runs.windows);
    }
  }
  return bytes;
}

Status spmd_partition_select_and_scatter(Partitioner *partitioner, const HloInstruction *old) {
  SpmdBuilder *builder = &partitioner->builder;
  GraphBuilder *graph = &builder->graph;
  const ShardingRule *rule = sharding_rule(builder->arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, select_bytes);
  const AxisSharding *result = factor_axes_of_result(partitioner, old, &factors);
  HloInstruction *parts[3];
  for (int i = 0; i < 3; i++) parts[i] = spmd_operand_part(partitioner, old, &factors, i);
  Arena *arena = partitioner->module->arena;
  const Window *whole = hlo_instruction_window(old);
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, whole->dims, whole->rank);
  SelectRuns runs[SHAPE_MAX_RANK];
  bool moves = false;
  for (int d = 0; d < result->rank; d++) {
    if (!is_moving(old, result, d) || !find_runs(partitioner, old, d, result->dims[d], &runs[d])) continue;
    moves = true;
    parts[0] = spmd_fetch_runs(builder, parts[0], d, &runs[d].elements, never_selected(partitioner, old));
    /* What windows that there are not would add: nothing. */
    parts[1] = spmd_fetch_runs(builder, parts[1], d, &runs[d].windows, spmd_zero(partitioner, old->shape->type));
    dims[d].pad_low = dims[d].pad_high = 0;
  }
  if (!moves) return spmd_partition_by_axes(partitioner, old, &factors);
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){whole->rank, dims};
  HloInstruction *made = spmd_clone(partitioner, old, parts[0]->shape, parts, 3);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_WINDOW, .loc = old->loc, .value.window = window});
  for (int d = 0; d < result->rank; d++) {
    if (!is_moving(old, result, d)) continue;
    HloInstruction *offset = spmd_by_device(builder, result->dims[d], runs[d].offsets);
    made = graph_take_run(graph, made, d, offset, runs[d].tile);
  }
  spmd_value_add(partitioner, spmd_result(partitioner, old, 0), result, (PartialResult){0}, made);
  return STATUS_OK;
}
