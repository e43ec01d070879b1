/* Values of a partitioned computation in the forms that devices have them in. */
#include "passes/spmd/partition_internal.h"

SpmdValue *spmd_result(Partitioner *partitioner, const HloInstruction *old, int leaf) {
  return partitioner->values[old->id][leaf];
}

SpmdValue *spmd_operand_leaf(Partitioner *partitioner, const HloInstruction *old, int index, int leaf) {
  return spmd_result(partitioner, old->operands[index], leaf);
}

void spmd_value_add(Partitioner *partitioner, SpmdValue *value, const AxisSharding *sharding, PartialResult partial,
                    HloInstruction *local) {
  SpmdForm *form = ARENA_NEW(partitioner->builder.arena, SpmdForm);
  *form = (SpmdForm){sharding, partial, local, NULL};
  SpmdForm **end = &value->forms;
  while (*end != NULL) end = &(*end)->next;
  *end = form;
}

static double form_bytes(Partitioner *partitioner, const SpmdValue *value, const SpmdForm *form,
                         const AxisSharding *to) {
  if (form->partial.axes == 0 && axis_shardings_equal(form->sharding, to)) return 0;
  return spmd_reshard_bytes(partitioner->builder.graph.scratch, partitioner->builder.mesh, value->whole, form->sharding,
                            form->partial.axes, to);
}

static const SpmdForm *cheapest_form(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to,
                                     double *out_bytes) {
  const SpmdForm *best = NULL;
  for (const SpmdForm *form = value->forms; form != NULL; form = form->next) {
    bool is_it = form->partial.axes == 0 && (to == NULL || axis_shardings_equal(form->sharding, to));
    double bytes = is_it ? 0 : form_bytes(partitioner, value, form, to);
    if (best != NULL && bytes >= *out_bytes && !is_it) continue;
    best = form;
    *out_bytes = bytes;
    if (is_it) break;
  }
  return best;
}

double spmd_value_bytes(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to) {
  double bytes = 0;
  if (value->old != NULL) return spmd_anew_bytes(partitioner, value, to);
  cheapest_form(partitioner, value, to, &bytes);
  return bytes;
}

/* Makes the form by |to|, or, where it has an order of its own, by the same axes in the mesh's. */
static void make_anew(Partitioner *partitioner, SpmdValue *value, const AxisSharding *to) {
  AxisSharding *plain = ARENA_NEW(partitioner->builder.arena, AxisSharding);
  *plain = *to;
  plain->order = NULL;
  for (const SpmdForm *form = value->forms; form != NULL; form = form->next) {
    if (axis_shardings_equal(form->sharding, plain)) return;
  }
  spmd_value_add(partitioner, value, plain, (PartialResult){0}, spmd_make_anew(partitioner, value, plain));
}

HloInstruction *spmd_value_as(Partitioner *partitioner, SpmdValue *value, const AxisSharding *to) {
  double bytes;
  if (value->old != NULL) make_anew(partitioner, value, to);
  const SpmdForm *form = cheapest_form(partitioner, value, to, &bytes);
  if (form->partial.axes == 0 && (to == NULL || axis_shardings_equal(form->sharding, to))) return form->local;
  HloInstruction *origin = partitioner->builder.graph.origin;
  HloInstruction *local =
      spmd_reshard(&partitioner->builder, form->local, value->whole, form->sharding, form->partial, to);
  partitioner->builder.graph.origin = origin;
  spmd_value_add(partitioner, value, to, (PartialResult){0}, local);
  return local;
}

const AxisSharding *spmd_replicated(Partitioner *partitioner, const SpmdValue *value) {
  if (value->wanted == NULL) return NULL;
  return axis_sharding_replicated(partitioner->builder.arena, value->whole->rank, value->wanted->manual);
}

HloInstruction *spmd_value_whole(Partitioner *partitioner, SpmdValue *value) {
  return spmd_value_as(partitioner, value, spmd_replicated(partitioner, value));
}

const Shape *spmd_local_shape(Partitioner *partitioner, const AxisSharding *sharding, const Shape *whole) {
  if (sharding == NULL) return whole;
  ShapeTable *shapes = partitioner->module->shapes;
  const Shape *local = axis_sharding_local(partitioner->builder.mesh, sharding, whole, shapes);
  return shape_with_layout(shapes, local, &whole->layout);
}

HloInstruction *spmd_clone(Partitioner *partitioner, const HloInstruction *old, const Shape *shape,
                           HloInstruction *const *operands, int count) {
  HloInstruction *made = hlo_computation_add_clone(partitioner->builder.graph.computation, old, shape, operands, count);
  hlo_instruction_remove_attr(made, HLO_ATTR_SHARDING);
  hlo_instruction_remove_attr(made, HLO_ATTR_FRONTEND_ATTRIBUTES);
  return made;
}

/* Puts the elements of |made|, however deep, into |values| from |*leaf| on. */
static void take_leaves(Partitioner *partitioner, SpmdValue *const *values, HloInstruction *made,
                        const AxisSharding *const *shardings, PartialResult partial, int *leaf) {
  if (!shape_is_tuple(made->shape)) {
    spmd_value_add(partitioner, values[*leaf], shardings[*leaf], partial, made);
    ++*leaf;
    return;
  }
  for (int i = 0; i < made->shape->tuple_size; i++) {
    HloInstruction *element = graph_element(&partitioner->builder.graph, made, i);
    take_leaves(partitioner, values, element, shardings, partial, leaf);
  }
}

void spmd_take_results(Partitioner *partitioner, const HloInstruction *old, HloInstruction *made,
                       const AxisSharding *const *shardings, PartialResult partial) {
  int leaf = 0;
  take_leaves(partitioner, partitioner->values[old->id], made, shardings, partial, &leaf);
}

const AxisSharding *const *spmd_wanted_leaves(Partitioner *partitioner, const HloInstruction *instruction) {
  int leaves = shape_leaf_count(instruction->shape);
  const AxisSharding **wanted = ARENA_NEW_ARRAY(partitioner->builder.arena, const AxisSharding *, leaves + 1);
  for (int i = 0; i < leaves; i++) wanted[i] = module_sharding(partitioner->shardings, instruction, i);
  return wanted;
}

const Shape *spmd_local_tree(Partitioner *partitioner, const Shape *shape, const AxisSharding *const *shardings,
                             int *leaf) {
  if (!shape_is_tuple(shape)) return spmd_local_shape(partitioner, shardings[(*leaf)++], shape);
  const Shape **elements = ARENA_NEW_ARRAY(partitioner->builder.arena, const Shape *, shape->tuple_size + 1);
  for (int i = 0; i < shape->tuple_size; i++)
    elements[i] = spmd_local_tree(partitioner, shape->tuple[i], shardings, leaf);
  return shape_tuple(partitioner->module->shapes, elements, shape->tuple_size);
}

/* In the layout that |shape| says, where it is an array. */
static HloInstruction *in_layout(Partitioner *partitioner, HloInstruction *local, const Shape *shape) {
  if (!shape_is_array(shape) || layout_equal(&local->shape->layout, &shape->layout)) return local;
  return graph_add(&partitioner->builder.graph, HLO_COPY,
                   shape_with_layout(partitioner->module->shapes, local->shape, &shape->layout), &local, 1);
}

HloInstruction *spmd_tree_as(Partitioner *partitioner, const Shape *shape, SpmdValue *const *values,
                             const AxisSharding *const *shardings, int *leaf) {
  if (!shape_is_tuple(shape)) {
    HloInstruction *local = spmd_value_as(partitioner, values[*leaf], shardings[*leaf]);
    ++*leaf;
    return in_layout(partitioner, local, shape);
  }
  HloInstruction **elements = ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, shape->tuple_size + 1);
  for (int i = 0; i < shape->tuple_size; i++)
    elements[i] = spmd_tree_as(partitioner, shape->tuple[i], values, shardings, leaf);
  return graph_tuple(&partitioner->builder.graph, elements, shape->tuple_size);
}

HloInstruction *spmd_zero(Partitioner *partitioner, PrimitiveType type) {
  return graph_zero(&partitioner->builder.graph, type, NULL);
}
