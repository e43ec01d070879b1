/* slice and dynamic-slice.
 *
 * A slice that is divided itself reads runs of elements (partition_windows.c).  One of few elements costs less in
 * another way: each device takes what lies in its part, with zeroes in the place of the rest, and the devices' results
 * are added up.  Which dimensions are *collected* so is what sends the fewest bytes. */
#include "passes/spmd/partition_internal.h"

/* |rule| with dimension |dim| of the operand summed over, and of the result whole. */
static const ShardingRule *collecting_rule(Arena *arena, const HloInstruction *old, const ShardingRule *rule, int dim) {
  SummedDim summed = {0, dim};
  return sharding_rule_with_sum(arena, rule, old->operands[0]->shape->dims[dim], &summed, 1, dim);
}

static bool is_sliced(const HloInstruction *old, int dim) {
  return old->operands[0]->shape->dims[dim] != old->shape->dims[dim];
}

/* The elements that a slice takes along a dimension. */
typedef struct SliceRun {
  HloInstruction *start; /* s64[], inside of the array */
  int64_t length;        /* from the first to the last of them */
  int64_t stride;
} SliceRun;

/* |old| itself for a slice, and with operands 1, 2, … in the new computation, |starts|, for a dynamic-slice. */
static SliceRun slice_run(GraphBuilder *graph, const HloInstruction *old, HloInstruction *const *starts, int dim) {
  int64_t size = old->operands[0]->shape->dims[dim], wanted = old->shape->dims[dim];
  if (starts != NULL) return (SliceRun){spmd_clamp_start(graph, starts[dim], size - wanted), wanted, 1};
  SliceDimension range = hlo_instruction_slice(old)->dims[dim];
  return (SliceRun){graph_integer(graph, TYPE_S64, range.start, NULL), (wanted - 1) * range.stride + 1, range.stride};
}

/* |run| of a dimension of which |part| is a device's part along |axes|: zeroes for what others have. */
static HloInstruction *run_of_part(SpmdBuilder *builder, HloInstruction *part, int dim, AxisList axes,
                                   const SliceRun *run) {
  GraphBuilder *graph = &builder->graph;
  const Shape *shape = part->shape;
  int64_t dims[SHAPE_MAX_RANK], tile = shape->dims[dim];
  for (int i = 0; i < shape->rank; i++) dims[i] = i == dim ? run->length : shape->dims[i];
  HloInstruction *margin =
      graph_zero(graph, shape->type, shape_array(graph_shapes(graph), shape->type, dims, shape->rank));
  HloInstruction *padded = graph_concatenate(graph, (HloInstruction *[]){margin, part, margin}, 3, dim);
  HloInstruction *first = graph_convert(graph, spmd_offset(builder, axes, tile), TYPE_S64);
  HloInstruction *at = graph_binary(graph, HLO_SUBTRACT, run->start, first);
  at = graph_binary(graph, HLO_ADD, at, graph_integer(graph, TYPE_S64, run->length, NULL));
  at = spmd_clamp_start(graph, at, tile + run->length);
  return graph_take_run(graph, padded, dim, at, run->length);
}

static HloInstruction *every(GraphBuilder *graph, HloInstruction *value, int dim, int64_t stride) {
  if (stride == 1) return value;
  const Shape *shape = value->shape;
  SliceRanges *ranges = ARENA_NEW(graph->computation->module->arena, SliceRanges);
  SliceDimension *all = ARENA_NEW_ARRAY(graph->computation->module->arena, SliceDimension, shape->rank);
  int64_t dims[SHAPE_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) {
    all[i] = (SliceDimension){0, shape->dims[i], i == dim ? stride : 1};
    dims[i] = i == dim ? (shape->dims[i] - 1) / stride + 1 : shape->dims[i];
  }
  *ranges = (SliceRanges){shape->rank, all};
  HloInstruction *made =
      graph_add(graph, HLO_SLICE, shape_array(graph_shapes(graph), shape->type, dims, shape->rank), &value, 1);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_SLICE, .loc = value->loc, .value.slice = ranges});
  return made;
}

static Status collect(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors) {
  SpmdBuilder *builder = &partitioner->builder;
  AxisMask manual = spmd_result(partitioner, old, 0)->wanted->manual;
  const AxisSharding *operand = factor_axes_project(partitioner, factors, &factors->rule->operands[0], manual),
                     *result = factor_axes_project(partitioner, factors, &factors->rule->results[0], manual);
  HloInstruction *part = spmd_operand_part(partitioner, old, factors, 0);
  HloInstruction **starts = ARENA_NEW_ARRAY(builder->arena, HloInstruction *, old->operand_count + 1);
  for (int i = 1; i < old->operand_count; i++) starts[i - 1] = spmd_operand_part(partitioner, old, factors, i);
  for (int d = 0; d < old->shape->rank; d++) {
    if (!is_sliced(old, d)) continue;
    SliceRun run = slice_run(&builder->graph, old, old->opcode == HLO_SLICE ? NULL : starts, d);
    part = operand->dims[d].count > 0 ? run_of_part(builder, part, d, operand->dims[d], &run)
                                      : graph_take_run(&builder->graph, part, d, run.start, run.length);
    part = every(&builder->graph, part, d, run.stride);
  }
  spmd_add_up(partitioner, old, part, result, factor_axes_partial(factors));
  return STATUS_OK;
}

Status spmd_partition_slice(Partitioner *partitioner, const HloInstruction *old) {
  Arena *arena = partitioner->builder.arena;
  const ShardingRule *rule = sharding_rule(arena, old);
  bool is_static = old->opcode == HLO_SLICE, collects = false;
  FactorAxes best = factor_axes_choose(partitioner, old, rule, is_static ? spmd_window_bytes : NULL);
  for (int d = 0; d < old->shape->rank && shape_byte_size(old->shape) > 0; d++) {
    if (!is_sliced(old, d)) continue;
    FactorAxes factors = factor_axes_choose(partitioner, old, collecting_rule(arena, old, best.rule, d), NULL);
    if (factors.bytes >= best.bytes) continue;
    best = factors;
    collects = true;
  }
  if (spmd_partition_view(partitioner, old, best.bytes)) return STATUS_OK;
  if (collects) return collect(partitioner, old, &best);
  return is_static ? spmd_partition_window_by_axes(partitioner, old, &best)
                   : spmd_partition_by_axes(partitioner, old, &best);
}
