/* Operations whose devices compute parts of the result from parts of the operands: most of them. */
#include "passes/spmd/partition_internal.h"

Status spmd_partition_whole(Partitioner *partitioner, const HloInstruction *old) {
  HloInstruction **operands = ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, old->operand_count + 1);
  for (int i = 0; i < old->operand_count; i++)
    operands[i] = spmd_value_whole(partitioner, spmd_operand(partitioner, old, i));
  HloInstruction *made = spmd_clone(partitioner, old, old->shape, operands, old->operand_count);
  int leaves = shape_leaf_count(old->shape);
  const AxisSharding **shardings = ARENA_NEW_ARRAY(partitioner->builder.arena, const AxisSharding *, leaves + 1);
  for (int i = 0; i < leaves; i++) shardings[i] = spmd_replicated(partitioner, spmd_result(partitioner, old, i));
  spmd_take_results(partitioner, old, made, shardings, (PartialResult){0});
  return STATUS_OK;
}

/* --- attributes that speak of sizes --- */

typedef struct LocalOperation {
  const HloInstruction *old;
  HloInstruction *made;
  const AxisSharding *const *results; /* by leaf */
  HloModule *module;
} LocalOperation;

/* A device's size of dimension |dim| of the result. */
static int64_t local_size(const LocalOperation *operation, int dim) {
  return operation->made->shape->dims[dim];
}

/* Dimensions that are divided are taken whole. */
static void fit_slice(const LocalOperation *operation) {
  const SliceRanges *ranges = hlo_instruction_slice(operation->old);
  Arena *arena = operation->module->arena;
  SliceDimension *dims = ARENA_COPY_ARRAY(arena, SliceDimension, ranges->dims, ranges->rank);
  for (int i = 0; i < ranges->rank; i++) {
    if (operation->results[0]->dims[i].count > 0) dims[i] = (SliceDimension){0, local_size(operation, i), 1};
  }
  SliceRanges *local = ARENA_NEW(arena, SliceRanges);
  *local = (SliceRanges){ranges->rank, dims};
  hlo_instruction_set_attr(operation->made,
                           &(HloAttr){.id = HLO_ATTR_SLICE, .loc = operation->old->loc, .value.slice = local});
}

static void fit_dynamic_slice(const LocalOperation *operation) {
  const Shape *shape = operation->made->shape;
  hlo_instruction_set_ints(operation->made, HLO_ATTR_DYNAMIC_SLICE_SIZES, shape->dims, shape->rank);
}

/* A window's sizes follow the operand's dimensions that they take whole. */
static void fit_gather(const LocalOperation *operation) {
  Int64List sizes = hlo_instruction_ints(operation->old, HLO_ATTR_SLICE_SIZES);
  const Shape *whole = operation->old->operands[0]->shape, *local = operation->made->operands[0]->shape;
  int64_t *fitted = ARENA_COPY_ARRAY(operation->module->arena, int64_t, sizes.data, sizes.count);
  for (int i = 0; i < whole->rank; i++) {
    if (local->dims[i] != whole->dims[i] && sizes.data[i] == whole->dims[i]) fitted[i] = local->dims[i];
  }
  hlo_instruction_set_ints(operation->made, HLO_ATTR_SLICE_SIZES, fitted, sizes.count);
}

/* Groups are divided where both their sides are. */
static void fit_convolution(const LocalOperation *operation) {
  const HloInstruction *old = operation->old, *made = operation->made;
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(old);
  const Shape *input = made->operands[0]->shape, *kernel = made->operands[1]->shape, *result = made->shape;
  if (hlo_instruction_int(old, HLO_ATTR_FEATURE_GROUP_COUNT, 1) > 1) {
    int64_t groups = input->dims[labels->input.feature] / kernel->dims[labels->kernel.input_feature];
    hlo_instruction_set_int(operation->made, HLO_ATTR_FEATURE_GROUP_COUNT, groups);
  }
  if (hlo_instruction_int(old, HLO_ATTR_BATCH_GROUP_COUNT, 1) > 1) {
    int64_t groups = input->dims[labels->input.batch] / result->dims[labels->output.batch];
    hlo_instruction_set_int(operation->made, HLO_ATTR_BATCH_GROUP_COUNT, groups);
  }
}

/* The layouts that a call wants its operands in: those of the whole operands, for the parts. */
static void fit_custom_call(const LocalOperation *operation) {
  const HloAttr *whole = hlo_instruction_attr(operation->old, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  if (whole == NULL) return;
  HloAttr local = *whole;
  int64_t count = whole->value.shapes.count;
  const Shape **shapes = ARENA_COPY_ARRAY(operation->module->arena, const Shape *, whole->value.shapes.data, count);
  for (int64_t i = 0; i < count; i++) {
    const Shape *part = operation->made->operands[i]->shape;
    if (shape_is_array(part)) shapes[i] = shape_with_layout(operation->module->shapes, part, &shapes[i]->layout);
  }
  local.value.shapes.data = shapes;
  hlo_instruction_set_attr(operation->made, &local);
}

static const struct {
  HloOpcode opcode;
  void (*fit)(const LocalOperation *operation);
} fits[] = {
    {HLO_SLICE, fit_slice},
    {HLO_DYNAMIC_SLICE, fit_dynamic_slice},
    {HLO_GATHER, fit_gather},
    {HLO_CONVOLUTION, fit_convolution},
    {HLO_CUSTOM_CALL, fit_custom_call},
};

/* --- by factors --- */

/* Sums over what is divided unevenly must not see the padding; all that are divided by factors are sums of products. */
static HloInstruction *hide_padding(Partitioner *partitioner, const FactorAxes *factors, const FactorMapping *mapping,
                                    const SpmdValue *value, const AxisSharding *sharding, HloInstruction *local) {
  for (int d = 0; d < mapping->rank; d++) {
    if (mapping->dims[d].count != 1 || sharding->dims[d].count == 0) continue;
    if (factors->rule->factors[mapping->dims[d].factors[0]].kind != FACTOR_REDUCTION) continue;
    if (axis_sharding_is_even(partitioner->builder.mesh, sharding, value->whole, d)) continue;
    local = spmd_mask(&partitioner->builder, local, d, sharding->dims[d], value->whole->dims[d],
                      spmd_zero(partitioner, value->whole->type));
  }
  return local;
}

static const AxisSharding *const *project_results(Partitioner *partitioner, const HloInstruction *old,
                                                  const FactorAxes *factors) {
  const ShardingRule *rule = factors->rule;
  const AxisSharding **results =
      ARENA_NEW_ARRAY(partitioner->builder.arena, const AxisSharding *, rule->result_count + 1);
  for (int i = 0; i < rule->result_count; i++) {
    const SpmdValue *value = spmd_result(partitioner, old, i);
    if (value->wanted == NULL) continue;
    results[i] = factor_axes_project(partitioner, factors, &rule->results[i], value->wanted->manual);
  }
  return results;
}

Status spmd_partition_by_factors(Partitioner *partitioner, const HloInstruction *old) {
  return spmd_partition_by_rule(partitioner, old, sharding_rule(partitioner->builder.arena, old));
}

Status spmd_partition_by_rule(Partitioner *partitioner, const HloInstruction *old, const ShardingRule *rule) {
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, NULL);
  return spmd_partition_by_axes(partitioner, old, &factors);
}

Status spmd_partition_by_axes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors) {
  HloInstruction *made,
      **operands = ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, old->operand_count + 1);
  return spmd_emit_by_axes(partitioner, old, factors, operands, 0, &made);
}

HloInstruction *spmd_operand_part(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                                  int index) {
  SpmdValue *value = spmd_operand(partitioner, old, index);
  if (value->wanted == NULL) return spmd_value_as(partitioner, value, NULL);
  const FactorMapping *mapping = &factors->rule->operands[index];
  const AxisSharding *sharding = factor_axes_project(partitioner, factors, mapping, value->wanted->manual);
  HloInstruction *local = spmd_value_as(partitioner, value, sharding);
  return hide_padding(partitioner, factors, mapping, value, sharding, local);
}

HloInstruction *spmd_clone_fitted(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                                  const Shape *shape, HloInstruction *const *parts, int count) {
  HloInstruction *made = spmd_clone(partitioner, old, shape, parts, count);
  LocalOperation operation = {old, made, project_results(partitioner, old, factors), partitioner->module};
  for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
    if (fits[i].opcode == old->opcode) fits[i].fit(&operation);
  }
  return made;
}

Status spmd_emit_by_axes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                         HloInstruction **operands, int given, HloInstruction **out_made) {
  for (int i = given; i < old->operand_count; i++) operands[i] = spmd_operand_part(partitioner, old, factors, i);
  const AxisSharding *const *results = project_results(partitioner, old, factors);
  int leaf = 0;
  const Shape *shape = spmd_local_tree(partitioner, old->shape, results, &leaf);
  *out_made = spmd_clone_fitted(partitioner, old, factors, shape, operands, old->operand_count);
  PartialResult partial = {factor_axes_partial(factors), NULL};
  if (partial.axes != 0) partial.reducer = spmd_reducer(&partitioner->builder, HLO_ADD, shape->type);
  spmd_take_results(partitioner, old, *out_made, results, partial);
  return STATUS_OK;
}
