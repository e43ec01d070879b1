#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* map(x, y, …), to_apply=f → the instructions of f with arrays for scalars, when f is elementwise throughout; constants
 * are broadcast. A map of scalars in f itself (to_apply of scalars) is inlined the same way by an earlier round:
 * callees come first. */

static bool is_inlinable(const HloComputation *body) {
  for (int64_t i = 0; i < body->instructions.count; i++) {
    const HloInstruction *instruction = body->instructions.data[i];
    if (!shape_is_scalar(instruction->shape)) return false;
    if (hlo_opcode_has(instruction->opcode, OP_GIVEN)) continue;
    if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE)) return false;
    if (hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return false;
  }
  return true;
}

static bool is_inlinable_map(const HloInstruction *map) {
  const HloComputation *body = hlo_instruction_computation(map, HLO_ATTR_TO_APPLY);
  if (body == NULL || !shape_is_array(map->shape) || shape_is_dynamic(map->shape)) return false;
  if (body->parameters.count != map->operand_count || !is_inlinable(body)) return false;
  for (int i = 0; i < map->operand_count; i++) {
    if (!shape_same_dims(map->operands[i]->shape, map->shape)) return false;
  }
  return true;
}

/* A constant of the body as an array like the map's result. */
static HloInstruction *splat(HloComputation *into, const HloInstruction *constant, const Shape *shape) {
  HloInstruction *scalar = hlo_computation_add_constant(into, hlo_instruction_literal(constant), constant->name);
  if (shape_is_scalar(shape)) return scalar;
  HloInstruction *array = hlo_computation_add(into, HLO_BROADCAST, shape, &scalar, 1, (StringView){0});
  hlo_instruction_set_ints(array, HLO_ATTR_DIMENSIONS, NULL, 0);
  return array;
}

static HloInstruction *widen(HloComputation *into, const HloInstruction *scalar, const HloInstruction *map,
                             IntMap *widened, Arena *scratch) {
  const Shape *shape = shape_with_type(into->module->shapes, map->shape, scalar->shape->type);
  if (scalar->opcode == HLO_PARAMETER) return map->operands[hlo_instruction_parameter_number(scalar)];
  if (scalar->opcode == HLO_CONSTANT) return splat(into, scalar, shape);
  HloInstruction **operands = ARENA_NEW_ARRAY(scratch, HloInstruction *, scalar->operand_count + 1);
  for (int i = 0; i < scalar->operand_count; i++) operands[i] = pointer_map_get(widened, scalar->operands[i]);
  return hlo_computation_add_clone(into, scalar, shape, operands, scalar->operand_count);
}

static void inline_map(HloInstruction *map, Arena *scratch) {
  const HloComputation *body = hlo_instruction_computation(map, HLO_ATTR_TO_APPLY);
  HloComputation *into = map->parent;
  IntMap widened;
  int_map_init(&widened, scratch);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(body, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    pointer_map_set(&widened, order[i], widen(into, order[i], map, &widened, scratch));
  }
  hlo_computation_replace_instruction(into, map, shape_coerce(pointer_map_get(&widened, body->root), map->shape));
}

static Status run_map_inliner(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t computation_count;
  HloComputation **computations = hlo_module_post_order(module, context->scratch, &computation_count);
  for (int64_t c = 0; c < computation_count; c++) {
    int64_t count;
    HloInstruction **order = hlo_computation_post_order(computations[c], context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (order[i]->opcode != HLO_MAP || !is_inlinable_map(order[i])) continue;
      if (hlo_instruction_attr(order[i], HLO_ATTR_CONTROL_PREDECESSORS) != NULL) continue;
      inline_map(order[i], context->scratch);
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_map_inliner_pass = {"map-inliner", "apply the elementwise functions of map to whole arrays",
                                      run_map_inliner, false};
