/* Values that every device can make its part of from next to nothing: constants, iotas, broadcasts, masks made of
 * them.  Sent from device to device they would cost more than computed twice. */
#include "passes/spmd/partition_internal.h"

/* Operations one after the other that are computed again: random numbers, which begin with an iota as well, are not. */
enum { MOST_ANEW = 12 };

Status spmd_partition_anew(Partitioner *partitioner, const HloInstruction *old) {
  spmd_result(partitioner, old, 0)->old = old;
  return STATUS_OK;
}

Status spmd_partition_elementwise(Partitioner *partitioner, const HloInstruction *old) {
  int depth = 1;
  for (int i = 0; i < old->operand_count; i++) {
    const SpmdValue *value = spmd_operand(partitioner, old, i);
    if (value->old == NULL) return spmd_partition_by_factors(partitioner, old);
    if (value->anew_depth >= depth) depth = value->anew_depth + 1;
  }
  bool stays = hlo_opcode_has(old->opcode, OP_STAYS) || !shape_is_array(old->shape) || old->operand_count == 0;
  if (depth > MOST_ANEW || stays) return spmd_partition_by_factors(partitioner, old);
  SpmdValue *value = spmd_result(partitioner, old, 0);
  value->old = old;
  value->anew_depth = depth;
  return STATUS_OK;
}

/* What operand |index| of |old| has to be where the result is |to|: scalars are for all elements. */
static const AxisSharding *operand_for(Partitioner *partitioner, const HloInstruction *old, int index,
                                       const AxisSharding *to) {
  const HloInstruction *operand = old->operands[index];
  if (old->opcode != HLO_BROADCAST && operand->shape->rank == old->shape->rank) return to;
  AxisSharding *sharding = axis_sharding_replicated(partitioner->builder.arena, operand->shape->rank, to->manual);
  if (old->opcode != HLO_BROADCAST) return sharding;
  Int64List dimensions = hlo_instruction_ints(old, HLO_ATTR_DIMENSIONS);
  AxisList *dims = ARENA_NEW_ARRAY(partitioner->builder.arena, AxisList, operand->shape->rank);
  for (int i = 0; i < operand->shape->rank; i++) dims[i] = to->dims[dimensions.data[i]];
  sharding->dims = dims;
  return sharding;
}

double spmd_anew_bytes(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to) {
  double bytes = 0;
  for (int i = 0; i < value->old->operand_count; i++) {
    const AxisSharding *sharding = operand_for(partitioner, value->old, i, to);
    bytes += spmd_value_bytes(partitioner, spmd_operand(partitioner, value->old, i), sharding);
  }
  return bytes;
}

/* One that is the same everywhere is as small as its part; the part of any other is a slice of it. */
static HloInstruction *constant_part(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to) {
  const Literal *literal = hlo_instruction_literal(value->old);
  GraphBuilder *graph = &partitioner->builder.graph;
  if (!axis_sharding_is_replicated(to) && !literal->elided && literal_is_splat(literal)) {
    HloInstruction *scalar = graph_constant(graph, value->whole->type, literal->data);
    return graph_splat(graph, scalar, spmd_local_shape(partitioner, to, value->whole));
  }
  HloInstruction *whole = spmd_clone(partitioner, value->old, value->whole, NULL, 0);
  return spmd_reshard(&partitioner->builder, whole, value->whole, spmd_replicated(partitioner, value),
                      (PartialResult){0}, to);
}

/* A device counts from where its part begins. */
static HloInstruction *iota_part(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to) {
  SpmdBuilder *builder = &partitioner->builder;
  const Shape *local = spmd_local_shape(partitioner, to, value->whole);
  HloInstruction *made = spmd_clone(partitioner, value->old, local, NULL, 0);
  int dim = (int)hlo_instruction_int(value->old, HLO_ATTR_IOTA_DIMENSION, 0);
  if (to->dims[dim].count == 0) return made;
  HloInstruction *offset = spmd_offset(builder, to->dims[dim], local->dims[dim]);
  offset = graph_convert(&builder->graph, offset, local->type);
  return graph_binary(&builder->graph, HLO_ADD, made, graph_splat(&builder->graph, offset, local));
}

HloInstruction *spmd_make_anew(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to) {
  const HloInstruction *old = value->old;
  if (old->opcode == HLO_CONSTANT) return constant_part(partitioner, value, to);
  if (old->opcode == HLO_IOTA) return iota_part(partitioner, value, to);
  HloInstruction *operands[8];
  HloInstruction **list = old->operand_count <= 8
                              ? operands
                              : ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, old->operand_count);
  for (int i = 0; i < old->operand_count; i++) {
    const AxisSharding *sharding = operand_for(partitioner, old, i, to);
    list[i] = spmd_value_as(partitioner, spmd_operand(partitioner, old, i), sharding);
  }
  return spmd_clone(partitioner, old, spmd_local_shape(partitioner, to, value->whole), list, old->operand_count);
}
