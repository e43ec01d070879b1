#include "passes/control/nested_state.h"

#include "passes/control/tuple_edit.h"

typedef struct Leaves {
  HloInstruction **values;
  int count;
  Arena *scratch;
} Leaves;

/* The leaves of |value|, depth first. */
static void collect_leaves(Leaves *leaves, HloInstruction *value) {
  if (!shape_is_tuple(value->shape)) {
    leaves->values[leaves->count++] = value;
    return;
  }
  for (int i = 0; i < value->shape->tuple_size; i++) {
    bool known = value->opcode == HLO_TUPLE && value->operands[i]->shape == value->shape->tuple[i];
    collect_leaves(leaves, known ? value->operands[i] : tuple_element(value, i));
  }
}

/* A tuple of all leaves of |value|. */
static HloInstruction *flat_tuple(HloInstruction *value, Arena *scratch) {
  int most = shape_leaf_count(value->shape);
  Leaves leaves = {ARENA_NEW_ARRAY(scratch, HloInstruction *, most + 1), 0, scratch};
  const Shape **shapes = ARENA_NEW_ARRAY(scratch, const Shape *, most + 1);
  collect_leaves(&leaves, value);
  for (int i = 0; i < leaves.count; i++) shapes[i] = leaves.values[i]->shape;
  const Shape *shape = shape_tuple(value->parent->module->shapes, shapes, leaves.count);
  HloInstruction *tuple =
      hlo_computation_add(value->parent, HLO_TUPLE, shape, leaves.values, leaves.count, (StringView){0});
  hlo_instruction_inherit_metadata(tuple, value);
  return tuple;
}

/* A value of |shape| from the elements of |flat|, the first of which is |*next|. */
static HloInstruction *nest(HloInstruction *flat, const Shape *shape, int *next, Arena *scratch) {
  if (!shape_is_tuple(shape)) return tuple_element(flat, (*next)++);
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, shape->tuple_size + 1);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = nest(flat, shape->tuple[i], next, scratch);
  return hlo_computation_add(flat->parent, HLO_TUPLE, shape, elements, shape->tuple_size, (StringView){0});
}

/* Those that read |parameter| get what it was; it becomes |shape|. */
static void flatten_parameter(HloInstruction *parameter, const Shape *shape, Arena *scratch) {
  int count = parameter->user_count, next = 0;
  HloInstruction **users = ARENA_COPY_ARRAY(scratch, HloInstruction *, parameter->users, count);
  const Shape *nested = parameter->shape;
  hlo_instruction_set_shape(parameter, shape);
  tuple_edit_attributes(parameter);
  HloInstruction *value = nest(parameter, nested, &next, scratch);
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < users[i]->operand_count; k++) {
      if (users[i]->operands[k] == parameter) hlo_instruction_replace_operand(users[i], k, value);
    }
  }
  if (hlo_instruction_is_root(parameter)) hlo_computation_set_root(parameter->parent, value);
}

static bool is_nested(const Shape *shape) {
  for (int i = 0; i < shape->tuple_size; i++) {
    if (shape_is_tuple(shape->tuple[i])) return true;
  }
  return false;
}

bool nested_state_flatten(HloInstruction *loop, const CallSites *sites, Arena *scratch) {
  if (!shape_is_tuple(loop->shape) || !is_nested(loop->shape) || !call_sites_own(sites, loop)) return false;
  HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY),
                 *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  HloInstruction *inside = hlo_computation_parameter(body, 0), *test = hlo_computation_parameter(condition, 0);
  if (inside->shape != loop->shape || test->shape != loop->shape) return false;
  if (loop->operands[0]->shape != loop->shape || body->root->shape != loop->shape) return false;
  HloInstruction *init = flat_tuple(loop->operands[0], scratch);
  flatten_parameter(inside, init->shape, scratch);
  flatten_parameter(test, init->shape, scratch);
  hlo_computation_set_root(body, flat_tuple(body->root, scratch));
  hlo_computation_remove_dead(body);
  hlo_computation_remove_dead(condition);
  HloInstruction *flat = hlo_computation_add_clone(loop->parent, loop, init->shape, &init, 1);
  tuple_edit_attributes(flat);
  int next = 0;
  hlo_instruction_replace_all_uses(loop, nest(flat, loop->shape, &next, scratch));
  tuple_edit_retire(loop, scratch);
  return true;
}
