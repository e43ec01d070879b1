/* Reductions over dimensions that are divided: each device reduces its part, and the parts are reduced among devices.
 *
 * What a reduction begins with counts once, however many devices there are.  Where the reducer leaves it as it is when
 * it meets itself (0 among sums), that is what all parts begin with, and what padding holds.  Otherwise parts begin
 * with what changes nothing, which a reducer has that is one operation, and the beginning is combined with the result.
 */
#include "hlo/eval/hlo_evaluator.h"
#include "hlo/ir/collective_reducer.h"
#include "hlo/ir/fold_identity.h"
#include "passes/spmd/partition_internal.h"

typedef struct SpmdReduce {
  Partitioner *partitioner;
  const HloInstruction *old;
  HloComputation *reducer;
  int count; /* arrays, and as many scalars to begin with */
  FactorAxes factors;
  AxisMask axes;             /* along which the reduced dimensions are divided */
  HloInstruction *fills[64]; /* by array: what changes nothing */
} SpmdReduce;

enum { MOST_REDUCED = 64 };

/* The operation that the reducer is has an element that changes nothing. */
static bool has_identity(const HloInstruction *old, const HloComputation *reducer, HloOpcode *out_opcode,
                         uint8_t *out_identity) {
  return old->operand_count == 2 && hlo_reducer_opcode(reducer, out_opcode) &&
         reducer->root->shape->type == old->operands[0]->shape->type &&
         hlo_fold_identity(*out_opcode, old->operands[0]->shape->type, out_identity);
}

/* The literal that |value| is, up to reshapes; NULL: it is computed. */
static const Literal *spmd_constant_under(const HloInstruction *value) {
  while (value->opcode == HLO_COPY || value->opcode == HLO_RESHAPE) value = value->operands[0];
  return value->opcode == HLO_CONSTANT ? hlo_instruction_literal(value) : NULL;
}

bool spmd_begins_neutral(Arena *arena, const HloInstruction *old) {
  const HloComputation *reducer = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY);
  const Literal *arguments[2 * MOST_REDUCED];
  int count = old->operand_count / 2;
  if (count > MOST_REDUCED) return false;
  for (int i = 0; i < count; i++) {
    const Literal *init = spmd_constant_under(old->operands[count + i]);
    if (init == NULL || init->elided) return false;
    arguments[i] = arguments[count + i] = init;
  }
  Literal *result;
  DiagSink ignored;
  diag_sink_init(&ignored, arena);
  if (hlo_evaluate_computation(arena, reducer, arguments, &ignored, &result) != STATUS_OK) return false;
  for (int i = 0; i < count; i++) {
    const Literal *leaf = shape_is_tuple(result->shape) ? &result->tuple[i] : result;
    if (!literal_equal(leaf, arguments[i])) return false;
  }
  return true;
}

bool spmd_can_fill(Arena *arena, const HloInstruction *old) {
  const HloComputation *reducer = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY);
  HloOpcode opcode;
  uint8_t identity[FOLD_IDENTITY_BYTES];
  return has_identity(old, reducer, &opcode, identity) || spmd_begins_neutral(arena, old);
}

HloInstruction *spmd_fill(Partitioner *partitioner, const HloInstruction *old, int index) {
  const HloComputation *reducer = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY);
  HloOpcode opcode;
  uint8_t identity[FOLD_IDENTITY_BYTES];
  if (!spmd_begins_neutral(partitioner->builder.arena, old) && has_identity(old, reducer, &opcode, identity))
    return graph_constant(&partitioner->builder.graph, old->operands[index]->shape->type, identity);
  return spmd_value_whole(partitioner, spmd_operand(partitioner, old, old->operand_count / 2 + index));
}

/* What has to be whole when parts cannot be reduced apart. */
static const ShardingRule *without_reductions(Arena *arena, const ShardingRule *rule) {
  ShardingRule *whole = ARENA_NEW(arena, ShardingRule);
  Factor *factors = ARENA_COPY_ARRAY(arena, Factor, rule->factors, rule->factor_count);
  for (int f = 0; f < rule->factor_count; f++) {
    if (factors[f].kind == FACTOR_REDUCTION) factors[f].kind = FACTOR_REPLICATED;
  }
  *whole = *rule;
  whole->factors = factors;
  return whole;
}

/* A device's part of array |index|, with what changes nothing in the padding of reduced dimensions. */
static HloInstruction *part_of(const SpmdReduce *reduce, int index) {
  Partitioner *partitioner = reduce->partitioner;
  SpmdValue *value = spmd_operand(partitioner, reduce->old, index);
  const AxisSharding *sharding =
      factor_axes_project(partitioner, &reduce->factors, &reduce->factors.rule->operands[index], value->wanted->manual);
  HloInstruction *local = spmd_value_as(partitioner, value, sharding);
  Int64List reduced = hlo_instruction_ints(reduce->old, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < reduced.count; i++) {
    int d = (int)reduced.data[i];
    if (axis_sharding_is_even(partitioner->builder.mesh, sharding, value->whole, d)) continue;
    local = spmd_mask(&partitioner->builder, local, d, sharding->dims[d], value->whole->dims[d], reduce->fills[index]);
  }
  return local;
}

static const AxisSharding *const *result_shardings(const SpmdReduce *reduce) {
  Partitioner *partitioner = reduce->partitioner;
  const AxisSharding **results = ARENA_NEW_ARRAY(partitioner->builder.arena, const AxisSharding *, reduce->count);
  for (int i = 0; i < reduce->count; i++) {
    AxisMask manual = spmd_result(partitioner, reduce->old, i)->wanted->manual;
    results[i] = factor_axes_project(partitioner, &reduce->factors, &reduce->factors.rule->results[i], manual);
  }
  return results;
}

/* Each device's own result: the reduction of its part, from what changes nothing. */
static HloInstruction *reduce_parts(const SpmdReduce *reduce, const AxisSharding *const *results) {
  Partitioner *partitioner = reduce->partitioner;
  HloInstruction **operands = ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, 2 * reduce->count);
  for (int i = 0; i < reduce->count; i++) {
    operands[i] = part_of(reduce, i);
    operands[reduce->count + i] = reduce->fills[i];
  }
  int leaf = 0;
  const Shape *shape = spmd_local_tree(partitioner, reduce->old->shape, results, &leaf);
  return spmd_clone(partitioner, reduce->old, shape, operands, 2 * reduce->count);
}

/* By one operation. */
static Status reduce_by_operation(SpmdReduce *reduce, HloOpcode opcode) {
  Partitioner *partitioner = reduce->partitioner;
  GraphBuilder *graph = &partitioner->builder.graph;
  PrimitiveType type = reduce->old->operands[0]->shape->type;
  reduce->fills[0] = spmd_fill(partitioner, reduce->old, 0);
  const AxisSharding *const *results = result_shardings(reduce);
  HloInstruction *local = reduce_parts(reduce, results);
  PartialResult partial = {reduce->axes, spmd_reducer(&partitioner->builder, opcode, type)};
  SpmdValue *value = spmd_result(partitioner, reduce->old, 0), *init = spmd_operand(partitioner, reduce->old, 1);
  if (spmd_begins_neutral(partitioner->builder.arena, reduce->old)) {
    spmd_value_add(partitioner, value, results[0], partial, local);
    return STATUS_OK;
  }
  HloInstruction *sum = spmd_reshard(&partitioner->builder, local, value->whole, results[0], partial, value->wanted);
  HloInstruction *first = graph_splat(graph, spmd_value_whole(partitioner, init), sum->shape);
  spmd_value_add(partitioner, value, value->wanted, (PartialResult){0}, graph_binary(graph, opcode, first, sum));
  return STATUS_OK;
}

/* |local| as the one element of a new first dimension, of all devices along |axes|. */
static HloInstruction *gather_results(Partitioner *partitioner, HloInstruction *local, AxisList axes) {
  int64_t dims[SHAPE_MAX_RANK];
  dims[0] = 1;
  for (int d = 0; d < local->shape->rank; d++) dims[d + 1] = local->shape->dims[d];
  HloInstruction *row = graph_reshape(&partitioner->builder.graph, local, dims, local->shape->rank + 1);
  return spmd_all_gather(&partitioner->builder, row, axes, 0);
}

/* By a computation: devices gather one another's results and reduce these. */
static Status reduce_by_computation(SpmdReduce *reduce) {
  Partitioner *partitioner = reduce->partitioner;
  Arena *arena = partitioner->builder.arena;
  for (int i = 0; i < reduce->count; i++) reduce->fills[i] = spmd_fill(partitioner, reduce->old, i);
  const AxisSharding *const *results = result_shardings(reduce);
  HloInstruction *local = reduce_parts(reduce, results);
  AxisList axes = axis_mask_list(arena, reduce->axes);
  HloInstruction **operands = ARENA_NEW_ARRAY(arena, HloInstruction *, 2 * reduce->count);
  for (int i = 0; i < reduce->count; i++) {
    bool is_tuple = shape_is_tuple(local->shape);
    HloInstruction *leaf = is_tuple ? graph_element(&partitioner->builder.graph, local, i) : local;
    operands[i] = gather_results(partitioner, leaf, axes);
    operands[reduce->count + i] = reduce->fills[i];
  }
  HloInstruction *made = spmd_clone(partitioner, reduce->old, local->shape, operands, 2 * reduce->count);
  hlo_instruction_set_ints(made, HLO_ATTR_DIMENSIONS, (int64_t[]){0}, 1);
  spmd_take_results(partitioner, reduce->old, made, results, (PartialResult){0});
  return STATUS_OK;
}

Status spmd_partition_reduce(Partitioner *partitioner, const HloInstruction *old) {
  const ShardingRule *rule = sharding_rule(partitioner->builder.arena, old);
  SpmdReduce reduce = {.partitioner = partitioner,
                       .old = old,
                       .reducer = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY),
                       .count = old->operand_count / 2};
  HloOpcode opcode;
  uint8_t identity[FOLD_IDENTITY_BYTES];
  bool is_operation = has_identity(old, reduce.reducer, &opcode, identity);
  if (!is_operation && !spmd_begins_neutral(partitioner->builder.arena, old))
    return spmd_partition_by_rule(partitioner, old, without_reductions(partitioner->builder.arena, rule));
  reduce.factors = factor_axes_choose(partitioner, old, rule, NULL);
  reduce.axes = factor_axes_partial(&reduce.factors);
  if (reduce.axes == 0) return spmd_partition_by_axes(partitioner, old, &reduce.factors);
  return is_operation ? reduce_by_operation(&reduce, opcode) : reduce_by_computation(&reduce);
}
