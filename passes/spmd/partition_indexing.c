/* gather, scatter, dynamic-slice and dynamic-update-slice: elements at places that are data.
 *
 * Where the dimension that is indexed is divided, each device does what falls into its part: what it gathers from
 * elsewhere is zero and the devices' results are added up, bit by bit; what it would write elsewhere is dropped. */
#include "base/checked_math.h"
#include "hlo/ir/collective_reducer.h"
#include "hlo/ir/fold_identity.h"
#include "passes/spmd/partition_internal.h"

/* --- sums of values of which all but one are zero --- */

/* A real number as an integer of its bits, so that adding zeroes changes none of them, not the sign of a zero. */
static HloInstruction *as_bits(GraphBuilder *graph, HloInstruction *value) {
  PrimitiveType type = value->shape->type;
  if (!type_is_float(type)) return value;
  switch (type_bits(type)) {
    case 8: return graph_bitcast_convert(graph, value, TYPE_U8);
    case 16: return graph_bitcast_convert(graph, value, TYPE_U16);
    case 32: return graph_bitcast_convert(graph, value, TYPE_U32);
    case 64: return graph_bitcast_convert(graph, value, TYPE_U64);
    default: return value;
  }
}

void spmd_add_up(Partitioner *partitioner, const HloInstruction *old, HloInstruction *local,
                 const AxisSharding *sharding, AxisMask axes) {
  SpmdBuilder *builder = &partitioner->builder;
  GraphBuilder *graph = &builder->graph;
  SpmdValue *value = spmd_result(partitioner, old, 0);
  HloInstruction *bits = as_bits(graph, local);
  PrimitiveType type = bits->shape->type;
  PartialResult partial = {axes, spmd_reducer(builder, type == TYPE_PRED ? HLO_OR : HLO_ADD, type)};
  if (bits == local) {
    spmd_value_add(partitioner, value, sharding, partial, local);
    return;
  }
  const Shape *whole = shape_with_type(partitioner->module->shapes, value->whole, type);
  bits = spmd_reshard(builder, bits, whole, sharding, partial, value->wanted);
  spmd_value_add(partitioner, value, value->wanted, (PartialResult){0},
                 graph_bitcast_convert(graph, bits, local->shape->type));
}

/* --- indices --- */

/* Places in a divided dimension, as this device sees them. */
typedef struct LocalIndex {
  HloInstruction *index;   /* from where its part begins, moved into it */
  HloInstruction *is_here; /* pred: it was there before */
} LocalIndex;

/* |index|, of any shape, at most |most| before it counts, in a part of |tile| elements along |axes|. */
static LocalIndex local_index(SpmdBuilder *builder, HloInstruction *index, int64_t most, AxisList axes, int64_t tile) {
  GraphBuilder *graph = &builder->graph;
  index = graph_convert(graph, index, TYPE_S64);
  HloInstruction *zero = graph_integer(graph, TYPE_S64, 0, index->shape);
  if (most >= 0) {
    HloInstruction *last = graph_integer(graph, TYPE_S64, most, index->shape);
    index = graph_binary(graph, HLO_MAXIMUM, graph_binary(graph, HLO_MINIMUM, index, last), zero);
  }
  HloInstruction *first = graph_convert(graph, spmd_offset(builder, axes, tile), TYPE_S64);
  HloInstruction *from = graph_binary(graph, HLO_SUBTRACT, index, graph_splat(graph, first, index->shape));
  HloInstruction *end = graph_integer(graph, TYPE_S64, tile, index->shape);
  HloInstruction *is_here = graph_binary(graph, HLO_AND, graph_compare(graph, COMPARISON_DIRECTION_GE, from, zero),
                                         graph_compare(graph, COMPARISON_DIRECTION_LT, from, end));
  return (LocalIndex){graph_select(graph, is_here, from, zero), is_here};
}

/* Column |k| of index vectors along |vector_dim|; the whole of |indices| where they are scalars. */
static HloInstruction *index_column(GraphBuilder *graph, HloInstruction *indices, int64_t vector_dim, int64_t k) {
  if (vector_dim >= indices->shape->rank) return indices;
  return graph_slice(graph, indices, (int)vector_dim, k, k + 1);
}

/* What a gather and a scatter have in common. */
typedef struct IndexedOperation {
  Partitioner *partitioner;
  const HloInstruction *old;
  const FactorAxes *factors;
  const AxisSharding *operand; /* operand 0's */
  Int64List map;               /* the operand's dimension of each entry of an index vector */
  int64_t vector_dim;
} IndexedOperation;

/* The entries of index vectors whose dimension is divided count from where a device's part begins; |out_is_here|, which
 * is NULL where none is, says of each vector whether it points there. |most|: by dimension, the largest index that
 * counts, or NULL: all that is inside. */
static HloInstruction *localise(const IndexedOperation *operation, HloInstruction *indices, const int64_t *most,
                                HloInstruction **out_is_here) {
  SpmdBuilder *builder = &operation->partitioner->builder;
  GraphBuilder *graph = &builder->graph;
  const Shape *whole = operation->old->operands[0]->shape;
  HloInstruction **columns = ARENA_NEW_ARRAY(builder->arena, HloInstruction *, operation->map.count + 1);
  *out_is_here = NULL;
  for (int64_t k = 0; k < operation->map.count; k++) {
    int64_t dim = operation->map.data[k];
    AxisList axes = operation->operand->dims[dim];
    columns[k] = graph_convert(graph, index_column(graph, indices, operation->vector_dim, k), TYPE_S64);
    bool is_whole_window = most != NULL && most[dim] == 0; /* of which each device takes its part */
    if (axes.count == 0 || is_whole_window) continue;
    int64_t count = axis_list_size(builder->mesh, axes),
            tile = whole->dims[dim] / count + (whole->dims[dim] % count != 0);
    LocalIndex local = local_index(builder, columns[k], most == NULL ? -1 : most[dim], axes, tile);
    columns[k] = local.index;
    *out_is_here = *out_is_here == NULL ? local.is_here : graph_binary(graph, HLO_AND, *out_is_here, local.is_here);
  }
  if (operation->map.count == 1) return columns[0];
  return graph_concatenate(graph, columns, (int)operation->map.count, operation->vector_dim);
}

/* |is_here|, one element for each index vector, for the dimensions of |shape| that are not in |windows|, in order. */
static HloInstruction *for_each_window(GraphBuilder *graph, HloInstruction *is_here, int64_t vector_dim,
                                       const Shape *shape, Int64List windows) {
  int64_t dims[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK];
  int rank = 0, outer = 0;
  for (int i = 0; i < is_here->shape->rank; i++) {
    if (i != vector_dim) dims[rank++] = is_here->shape->dims[i];
  }
  for (int i = 0; i < shape->rank; i++) {
    if (!int64_list_has(windows, i)) at[outer++] = i;
  }
  is_here = graph_reshape(graph, is_here, dims, rank);
  return graph_broadcast(graph, is_here, at, outer, shape->dims, shape->rank);
}

static bool any_divided(const AxisSharding *sharding, Int64List dims) {
  for (int64_t i = 0; i < dims.count; i++) {
    if (sharding->dims[dims.data[i]].count > 0) return true;
  }
  return false;
}

/* --- gather --- */

Status spmd_partition_gather(Partitioner *partitioner, const HloInstruction *old) {
  const ShardingRule *rule = sharding_rule(partitioner->builder.arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, NULL);
  const AxisSharding *operand = factor_axes_beside_result(partitioner, old, &factors, &rule->operands[0]);
  Int64List map = hlo_instruction_ints(old, HLO_ATTR_START_INDEX_MAP);
  AxisMask axes = factor_axes_partial(&factors);
  if (axes == 0 || !any_divided(operand, map)) return spmd_partition_by_axes(partitioner, old, &factors);
  GraphBuilder *graph = &partitioner->builder.graph;
  Int64List sizes = hlo_instruction_ints(old, HLO_ATTR_SLICE_SIZES);
  int64_t most[SHAPE_MAX_RANK];
  for (int64_t i = 0; i < sizes.count; i++) most[i] = old->operands[0]->shape->dims[i] - sizes.data[i];
  IndexedOperation operation = {partitioner, old, &factors,
                                operand,     map, hlo_instruction_int(old, HLO_ATTR_INDEX_VECTOR_DIM, 0)};
  HloInstruction *is_here,
      *parts[2] = {spmd_operand_part(partitioner, old, &factors, 0), spmd_operand_part(partitioner, old, &factors, 1)};
  parts[1] = localise(&operation, parts[1], most, &is_here);
  const AxisSharding *result = factor_axes_of_result(partitioner, old, &factors);
  const Shape *shape = spmd_local_shape(partitioner, result, old->shape);
  HloInstruction *made = spmd_clone_fitted(partitioner, old, &factors, shape, parts, 2);
  is_here =
      for_each_window(graph, is_here, operation.vector_dim, shape, hlo_instruction_ints(old, HLO_ATTR_OFFSET_DIMS));
  made = graph_select(graph, is_here, made, graph_zero(graph, shape->type, shape));
  spmd_add_up(partitioner, old, made, result, axes);
  return STATUS_OK;
}

/* --- scatter --- */

/* Where no result has factor |f|, updates along it are combined by the scatter's own computation: possible where that
 * is one operation, whose identity is what all but one device begin with. */
static bool combines(const HloInstruction *old, HloOpcode *out_opcode, uint8_t *out_identity) {
  const HloComputation *reducer = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY);
  return old->operand_count == 3 && hlo_reducer_opcode(reducer, out_opcode) &&
         hlo_fold_identity(*out_opcode, old->operands[0]->shape->type, out_identity);
}

static const ShardingRule *scatter_rule(Partitioner *partitioner, const HloInstruction *old) {
  Arena *arena = partitioner->builder.arena;
  const ShardingRule *given = sharding_rule(arena, old);
  HloOpcode opcode;
  uint8_t identity[FOLD_IDENTITY_BYTES];
  bool can_combine = combines(old, &opcode, identity);
  ShardingRule *rule = ARENA_NEW(arena, ShardingRule);
  Factor *factors = ARENA_COPY_ARRAY(arena, Factor, given->factors, given->factor_count);
  for (int f = 0; f < given->factor_count; f++) {
    int dim, place;
    bool is_written = factor_find(&given->results[0], f, &dim, &place);
    /* What is written where indices point can be divided: others' elements are dropped. */
    if (is_written && factors[f].kind != FACTOR_PASS) factors[f].kind = FACTOR_PERMUTATION;
    if (!is_written && factors[f].kind == FACTOR_REDUCTION && !can_combine) factors[f].kind = FACTOR_REPLICATED;
  }
  *rule = *given;
  rule->factors = factors;
  return rule;
}

/* Windows reach over the border of a part: only single elements can be dropped. */
static double scatter_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                            const void *context) {
  (void)context;
  const AxisSharding *result = factor_axes_of_result(partitioner, old, factors);
  Int64List map = hlo_instruction_ints(old, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
            inserted = hlo_instruction_ints(old, HLO_ATTR_INSERTED_WINDOW_DIMS);
  for (int64_t i = 0; i < map.count; i++) {
    if (result->dims[map.data[i]].count > 0 && !int64_list_has(inserted, map.data[i])) return SPMD_IMPOSSIBLE;
  }
  for (int f = 0; f < factors->rule->factor_count; f++) {
    int dim, place;
    if (factors->rule->factors[f].kind != FACTOR_PERMUTATION || factors->axes[f].count == 0) continue;
    if (!factor_find(&factors->rule->results[0], f, &dim, &place) || !int64_list_has(map, dim)) return SPMD_IMPOSSIBLE;
  }
  return 0;
}

/* Vectors that point elsewhere point outside of the device's part, where a scatter does nothing. */
static HloInstruction *drop_others(GraphBuilder *graph, const IndexedOperation *operation, HloInstruction *indices,
                                   HloInstruction *is_here) {
  HloInstruction *outside = graph_integer(graph, TYPE_S64, -1, indices->shape);
  if (operation->map.count > 1) {
    int64_t dims[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < is_here->shape->rank; i++) {
      if (i == operation->vector_dim) continue;
      dims[rank] = is_here->shape->dims[i];
      at[rank++] = i;
    }
    is_here = graph_reshape(graph, is_here, dims, rank);
    is_here = graph_broadcast(graph, is_here, at, rank, indices->shape->dims, indices->shape->rank);
  }
  return graph_select(graph, is_here, indices, outside);
}

/* Of the devices that share an update's sum, the first one has the operand; to others it is the identity. */
static HloInstruction *begin_once(Partitioner *partitioner, HloInstruction *operand, AxisMask axes,
                                  const uint8_t *identity) {
  GraphBuilder *graph = &partitioner->builder.graph;
  AxisList list = axis_mask_list(partitioner->builder.arena, axes);
  HloInstruction *is_first = graph_compare(graph, COMPARISON_DIRECTION_EQ, spmd_coordinate(&partitioner->builder, list),
                                           graph_integer(graph, TYPE_S32, 0, NULL));
  is_first = graph_broadcast(graph, is_first, NULL, 0, operand->shape->dims, operand->shape->rank);
  HloInstruction *fill = graph_splat(graph, graph_constant(graph, operand->shape->type, identity), operand->shape);
  return graph_select(graph, is_first, operand, fill);
}

/* This device's index vectors; those that are padding of an uneven part point outside of the array. */
static HloInstruction *index_part(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors) {
  SpmdValue *value = spmd_operand(partitioner, old, 1);
  const AxisSharding *sharding = factor_axes_beside_result(partitioner, old, factors, &factors->rule->operands[1]);
  HloInstruction *indices = spmd_value_as(partitioner, value, sharding);
  HloInstruction *outside = graph_integer(&partitioner->builder.graph, indices->shape->type, -1, NULL);
  for (int d = 0; d < value->whole->rank; d++) {
    if (sharding->dims[d].count > 0)
      indices = spmd_mask(&partitioner->builder, indices, d, sharding->dims[d], value->whole->dims[d], outside);
  }
  return indices;
}

Status spmd_partition_scatter(Partitioner *partitioner, const HloInstruction *old) {
  if (old->operand_count != 3) return spmd_partition_by_factors(partitioner, old);
  const ShardingRule *rule = scatter_rule(partitioner, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, scatter_bytes);
  const AxisSharding *operand = factor_axes_beside_result(partitioner, old, &factors, &rule->operands[0]);
  Int64List map = hlo_instruction_ints(old, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  AxisMask axes = factor_axes_partial(&factors);
  GraphBuilder *graph = &partitioner->builder.graph;
  HloInstruction *parts[3] = {spmd_operand_part(partitioner, old, &factors, 0), index_part(partitioner, old, &factors),
                              spmd_operand_part(partitioner, old, &factors, 2)};
  if (any_divided(operand, map)) {
    IndexedOperation operation = {partitioner, old, &factors,
                                  operand,     map, hlo_instruction_int(old, HLO_ATTR_INDEX_VECTOR_DIM, 0)};
    HloInstruction *is_here;
    parts[1] = localise(&operation, parts[1], NULL, &is_here);
    parts[1] = drop_others(graph, &operation, parts[1], is_here);
  }
  HloOpcode opcode = HLO_ADD;
  uint8_t identity[FOLD_IDENTITY_BYTES];
  PartialResult partial = {axes, NULL};
  if (axes != 0 && combines(old, &opcode, identity)) {
    parts[0] = begin_once(partitioner, parts[0], axes, identity);
    partial.reducer = spmd_reducer(&partitioner->builder, opcode, parts[0]->shape->type);
  }
  const AxisSharding *result = factor_axes_of_result(partitioner, old, &factors);
  HloInstruction *made =
      spmd_clone_fitted(partitioner, old, &factors, spmd_local_shape(partitioner, result, old->shape), parts, 3);
  spmd_value_add(partitioner, spmd_result(partitioner, old, 0), result, partial, made);
  return STATUS_OK;
}

/* --- slices that begin at data --- */

/* A dimension of the operand that is divided although an update need not fill it: the update is whole there. */
typedef struct SplitUpdate {
  int dim;
  AxisList axes;
  int64_t tile, length;  /* of a device's part; of the update */
  HloInstruction *first; /* s64[]: element j of the part is element first + j of the update */
} SplitUpdate;

HloInstruction *spmd_clamp_start(GraphBuilder *graph, HloInstruction *start, int64_t most) {
  start = graph_convert(graph, start, TYPE_S64);
  start = graph_binary(graph, HLO_MINIMUM, start, graph_integer(graph, TYPE_S64, most, NULL));
  return graph_binary(graph, HLO_MAXIMUM, start, graph_integer(graph, TYPE_S64, 0, NULL));
}

/* The elements of |update| that would be written to this device's part, at their places there; anything elsewhere. */
static HloInstruction *update_of_part(SpmdBuilder *builder, HloInstruction *update, HloInstruction *start, int64_t size,
                                      SplitUpdate *split) {
  GraphBuilder *graph = &builder->graph;
  HloInstruction *part = graph_convert(graph, spmd_offset(builder, split->axes, split->tile), TYPE_S64);
  start = spmd_clamp_start(graph, start, size - split->length);
  split->first = graph_binary(graph, HLO_SUBTRACT, part, start);
  const Shape *shape = update->shape;
  int64_t dims[SHAPE_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) dims[i] = i == split->dim ? split->tile : shape->dims[i];
  const Shape *margin_shape = shape_array(graph_shapes(graph), shape->type, dims, shape->rank);
  HloInstruction *margin = graph_zero(graph, shape->type, margin_shape);
  HloInstruction *padded = graph_concatenate(graph, (HloInstruction *[]){margin, update, margin}, 3, split->dim);
  HloInstruction *at = graph_binary(graph, HLO_ADD, split->first, graph_integer(graph, TYPE_S64, split->tile, NULL));
  at = spmd_clamp_start(graph, at, split->tile + split->length);
  return graph_take_run(graph, padded, split->dim, at, split->tile);
}

/* Where the elements of the device's part, of |shape|, are the update's. */
static HloInstruction *is_updated(GraphBuilder *graph, const Shape *shape, const SplitUpdate *split) {
  HloInstruction *index = graph_iota(graph, TYPE_S64, shape->dims, shape->rank, split->dim);
  index = graph_binary(graph, HLO_ADD, index, graph_splat(graph, split->first, index->shape));
  HloInstruction *zero = graph_integer(graph, TYPE_S64, 0, index->shape),
                 *end = graph_integer(graph, TYPE_S64, split->length, index->shape);
  return graph_binary(graph, HLO_AND, graph_compare(graph, COMPARISON_DIRECTION_GE, index, zero),
                      graph_compare(graph, COMPARISON_DIRECTION_LT, index, end));
}

/* What stands in the place of |update| now. */
static HloInstruction *read_place(GraphBuilder *graph, HloInstruction *const *parts, int count, const Shape *update) {
  HloInstruction *operands[SHAPE_MAX_RANK + 1] = {parts[0]};
  for (int i = 2; i < count; i++) operands[i - 1] = parts[i];
  HloInstruction *read = graph_add(graph, HLO_DYNAMIC_SLICE, update, operands, count - 1);
  hlo_instruction_set_ints(read, HLO_ATTR_DYNAMIC_SLICE_SIZES, update->dims, update->rank);
  return read;
}

/* Each device writes what of the update falls into its part. */
Status spmd_partition_dynamic_update_slice(Partitioner *partitioner, const HloInstruction *old) {
  const ShardingRule *rule = sharding_rule(partitioner->builder.arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, NULL);
  SpmdBuilder *builder = &partitioner->builder;
  GraphBuilder *graph = &builder->graph;
  const AxisSharding *result = factor_axes_of_result(partitioner, old, &factors),
                     *written = factor_axes_beside_result(partitioner, old, &factors, &rule->operands[1]);
  HloInstruction **parts = ARENA_NEW_ARRAY(builder->arena, HloInstruction *, old->operand_count);
  for (int i = 0; i < old->operand_count; i++) parts[i] = spmd_operand_part(partitioner, old, &factors, i);
  SplitUpdate splits[SHAPE_MAX_RANK];
  int count = 0;
  for (int d = 0; d < old->shape->rank; d++) {
    if (result->dims[d].count == 0 || written->dims[d].count > 0) continue;
    SplitUpdate *split = &splits[count++];
    *split = (SplitUpdate){d, result->dims[d], parts[0]->shape->dims[d], old->operands[1]->shape->dims[d], NULL};
    parts[1] = update_of_part(builder, parts[1], parts[2 + d], old->shape->dims[d], split);
    parts[2 + d] = graph_zero(graph, parts[2 + d]->shape->type, NULL);
  }
  if (count == 0) return spmd_partition_by_axes(partitioner, old, &factors);
  HloInstruction *is_new = is_updated(graph, parts[1]->shape, &splits[0]);
  for (int i = 1; i < count; i++)
    is_new = graph_binary(graph, HLO_AND, is_new, is_updated(graph, parts[1]->shape, &splits[i]));
  HloInstruction *read = read_place(graph, parts, old->operand_count, parts[1]->shape);
  parts[1] = graph_select(graph, is_new, parts[1], read);
  HloInstruction *made = spmd_clone(partitioner, old, parts[0]->shape, parts, old->operand_count);
  spmd_value_add(partitioner, spmd_result(partitioner, old, 0), result, (PartialResult){0}, made);
  return STATUS_OK;
}
