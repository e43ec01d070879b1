/* concatenate along a dimension that is divided: a device fetches what its part of the result has of each operand. */
#include "base/checked_math.h"
#include "passes/spmd/partition_internal.h"
#include "passes/spmd/runs.h"

static int concatenate_dim(const HloInstruction *old) {
  return (int)hlo_instruction_ints(old, HLO_ATTR_DIMENSIONS).data[0];
}

/* The part of the result, from operand |index|, which begins at |offset| of it. */
static SpmdRuns runs_of(Partitioner *partitioner, const HloInstruction *old, int index, int64_t offset, AxisList axes) {
  int dim = concatenate_dim(old);
  int64_t count = axis_list_size(partitioner->builder.mesh, axes), size = old->shape->dims[dim];
  int64_t tile = size / count + (size % count != 0);
  return spmd_runs_affine(&partitioner->builder, axes, old->operands[index]->shape->dims[dim], tile, -offset, tile);
}

static AxisList divided_by(const HloInstruction *old, const FactorAxes *factors) {
  const FactorList *list = &factors->rule->results[0].dims[concatenate_dim(old)];
  return list->count == 1 ? factors->axes[list->factors[0]] : (AxisList){0};
}

static const AxisSharding *sharding_for(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                                        const FactorMapping *mapping) {
  return factor_axes_project(partitioner, factors, mapping, spmd_result(partitioner, old, 0)->wanted->manual);
}

static double concatenate_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors) {
  int dim = concatenate_dim(old);
  AxisList axes = divided_by(old, factors);
  double bytes = 0;
  int64_t offset = 0;
  if (axes.count == 0) return 0;
  for (int i = 0; i < old->operand_count; i++) {
    const AxisSharding *has = sharding_for(partitioner, old, factors, &factors->rule->operands[i]);
    if (!axis_lists_equal(has->dims[dim], axes)) return SPMD_IMPOSSIBLE;
    SpmdRuns runs = runs_of(partitioner, old, i, offset, axes);
    const Shape *local = spmd_local_shape(partitioner, has, old->operands[i]->shape);
    double line = (double)shape_byte_size(local) / (double)max_i64(local->dims[dim], 1);
    bytes += line * spmd_runs_sent(&partitioner->builder, &runs);
    offset += old->operands[i]->shape->dims[dim];
  }
  return bytes;
}

/* |index|, of the elements of the result, lies before |end|. */
static HloInstruction *is_before(GraphBuilder *graph, HloInstruction *index, int64_t end) {
  return graph_compare(graph, COMPARISON_DIRECTION_LT, index, graph_integer(graph, TYPE_S32, end, index->shape));
}

Status spmd_partition_concatenate(Partitioner *partitioner, const HloInstruction *old) {
  const ShardingRule *rule = sharding_rule(partitioner->builder.arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, concatenate_bytes);
  AxisList axes = divided_by(old, &factors);
  if (axes.count == 0) return spmd_partition_by_axes(partitioner, old, &factors);
  SpmdBuilder *builder = &partitioner->builder;
  GraphBuilder *graph = &builder->graph;
  int dim = concatenate_dim(old);
  const AxisSharding *result = sharding_for(partitioner, old, &factors, &rule->results[0]);
  const Shape *local = spmd_local_shape(partitioner, result, old->shape);
  HloInstruction *index = graph_iota(graph, TYPE_S32, local->dims, local->rank, dim);
  HloInstruction *first = spmd_offset(builder, axes, local->dims[dim]);
  index = graph_binary(graph, HLO_ADD, index, graph_splat(graph, first, index->shape));
  HloInstruction *made = NULL;
  int64_t offset = old->shape->dims[dim];
  /* From the last to the first: each stands before the end of its own elements. */
  for (int i = old->operand_count - 1; i >= 0; i--) {
    int64_t end = offset;
    offset -= old->operands[i]->shape->dims[dim];
    if (end == offset) continue;
    SpmdRuns runs = runs_of(partitioner, old, i, offset, axes);
    HloInstruction *part = spmd_value_as(partitioner, spmd_operand(partitioner, old, i),
                                         sharding_for(partitioner, old, &factors, &rule->operands[i]));
    part = spmd_fetch_runs(builder, part, dim, &runs, NULL);
    made = made == NULL ? part : graph_select(graph, is_before(graph, index, end), part, made);
  }
  if (made == NULL) return spmd_partition_whole(partitioner, old);
  spmd_value_add(partitioner, spmd_result(partitioner, old, 0), result, (PartialResult){0}, made);
  return STATUS_OK;
}
