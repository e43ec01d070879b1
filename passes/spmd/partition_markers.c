/* Custom calls: markers, borders of manual regions, and those that compute. */
#include "hlo/ir/custom_call.h"
#include "passes/spmd/partition_internal.h"

/* --- borders of manual regions --- */

static AxisList without_axes(Arena *arena, AxisList list, AxisMask mask) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, list.count + 1);
  int count = 0;
  for (int i = 0; i < list.count; i++) {
    if (!(mask >> list.axes[i] & 1)) axes[count++] = list.axes[i];
  }
  return (AxisList){count, axes};
}

/* What is left of |outside| where the axes of |manual| are the region's own. */
static const AxisSharding *inside_of(Arena *arena, const AxisSharding *outside, AxisMask manual) {
  AxisSharding *inside = axis_sharding_replicated(arena, outside->rank, manual);
  AxisList *dims = ARENA_NEW_ARRAY(arena, AxisList, outside->rank);
  for (int d = 0; d < outside->rank; d++) dims[d] = without_axes(arena, outside->dims[d], manual);
  inside->dims = dims;
  return inside;
}

static Status uneven(const Partitioner *partitioner, const HloInstruction *old) {
  return diag_error(partitioner->context->diag, STATUS_INVALID, old->loc, "sharding",
                    "the shapes inside of the manual region are not those of one device's parts");
}

/* No data move: the parts that devices have outside of the region are the arrays inside. */
static Status partition_border(Partitioner *partitioner, const HloInstruction *old) {
  SpmdBuilder *builder = &partitioner->builder;
  int leaf_of_operand = 0, leaves = shape_leaf_count(old->shape);
  for (int leaf = 0, operand = 0; leaf < leaves; leaf++, leaf_of_operand++) {
    while (leaf_of_operand == shape_leaf_count(old->operands[operand]->shape)) {
      operand++;
      leaf_of_operand = 0;
    }
    SpmdValue *from = spmd_operand_leaf(partitioner, old, operand, leaf_of_operand),
              *to = spmd_result(partitioner, old, leaf);
    if (from->wanted == NULL) {
      to->forms = from->forms;
      continue;
    }
    bool goes_in = (to->wanted->manual & ~from->wanted->manual) != 0;
    const AxisSharding *outside = partitioner->shardings->outsides[old->id][leaf];
    AxisMask manual = goes_in ? to->wanted->manual : from->wanted->manual;
    const AxisSharding *inside = inside_of(builder->arena, outside, manual);
    HloInstruction *local = spmd_value_as(partitioner, from, goes_in ? outside : inside);
    const AxisSharding *has = goes_in ? inside : outside;
    if (!shape_same_dims(local->shape, spmd_local_shape(partitioner, has, to->whole))) return uneven(partitioner, old);
    spmd_value_add(partitioner, to, has, (PartialResult){0}, local);
  }
  return STATUS_OK;
}

/* --- markers --- */

/* The value stays what it is; what the marker says of it is one more form of it. */
static void partition_marker(Partitioner *partitioner, const HloInstruction *old, int leaf, SpmdValue *from) {
  SpmdValue *to = spmd_result(partitioner, old, leaf);
  if (to->wanted != NULL) spmd_value_as(partitioner, from, to->wanted);
  to->forms = from->forms;
  to->old = from->old;
}

static bool is_side_effect(const HloInstruction *old) {
  return hlo_instruction_bool(old, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false);
}

Status spmd_partition_custom_call(Partitioner *partitioner, const HloInstruction *old) {
  StringView target = custom_call_target(old);
  if (partitioner->shardings->outsides[old->id] != NULL) return partition_border(partitioner, old);
  MarkerValue marker = custom_call_marker_value(old);
  int leaves = shape_leaf_count(old->shape);
  if (marker == MARKER_UNKNOWN && is_side_effect(old))
    return diag_error(partitioner->context->diag, STATUS_UNSUPPORTED, old->loc, "sharding",
                      "the custom call of '%.*s' has side effects, which every device would have", SV_ARG(target));
  if (marker == MARKER_UNKNOWN) return spmd_partition_by_factors(partitioner, old);
  for (int leaf = 0; leaf < leaves; leaf++) {
    SpmdValue *from =
        marker == MARKER_OPERAND ? spmd_operand_leaf(partitioner, old, 0, leaf) : spmd_operand(partitioner, old, leaf);
    partition_marker(partitioner, old, leaf, from);
  }
  return STATUS_OK;
}
