#include "passes/fusion/fused_body.h"

void fused_body_begin(FusedBody *body, HloComputation *caller, StringView name, Arena *arena) {
  *body = (FusedBody){.caller = caller, .arena = arena};
  body->fused = hlo_module_add_computation(caller->module, name);
  int_map_init(&body->inside, arena);
}

HloInstruction *fused_body_value(FusedBody *body, HloInstruction *value) {
  HloInstruction *found = pointer_map_get(&body->inside, value);
  if (found != NULL) return found;
  if (value->opcode == HLO_CONSTANT && shape_is_scalar(value->shape)) {
    found = hlo_computation_add_clone(body->fused, value, value->shape, NULL, 0);
  } else {
    found = hlo_computation_add_parameter(body->fused, body->operands.count, value->shape,
                                          sv_printf(body->arena, "param_%d", (int)body->operands.count));
    array_push(&body->operands, body->arena, value);
  }
  pointer_map_set(&body->inside, value, found);
  return found;
}

static HloInstruction **arguments_of(FusedBody *body, HloInstruction *member) {
  HloInstruction **arguments = ARENA_NEW_ARRAY(body->arena, HloInstruction *, member->operand_count + 1);
  for (int k = 0; k < member->operand_count; k++) arguments[k] = fused_body_value(body, member->operands[k]);
  return arguments;
}

HloInstruction *fused_body_nest(FusedBody *body, HloInstruction *member) {
  HloInstruction **arguments = arguments_of(body, member);
  HloInstruction *copy =
      hlo_computation_add_clone(body->fused, member, member->shape, arguments, member->operand_count);
  pointer_map_set(&body->inside, member, copy);
  return copy;
}

HloInstruction *fused_body_add(FusedBody *body, HloInstruction *member) {
  if (member->opcode != HLO_FUSION) return fused_body_nest(body, member);
  HloInstruction *copy = hlo_computation_inline(body->fused, hlo_instruction_computation(member, HLO_ATTR_CALLS),
                                                arguments_of(body, member));
  pointer_map_set(&body->inside, member, copy);
  return copy;
}

HloInstruction *fused_body_end(FusedBody *body, FusionKind kind, StringView name, const HloInstruction *last) {
  hlo_computation_remove_dead(body->fused); /* a member that is a fusion may ignore an operand */
  HloInstruction *fusion = hlo_computation_add(body->caller, HLO_FUSION, body->fused->root->shape, body->operands.data,
                                               (int)body->operands.count, name);
  hlo_instruction_set_int(fusion, HLO_ATTR_FUSION_KIND, kind);
  hlo_instruction_set_computation(fusion, HLO_ATTR_CALLS, body->fused);
  hlo_instruction_inherit_metadata(fusion, last);
  fusion->loc = last->loc;
  return fusion;
}
