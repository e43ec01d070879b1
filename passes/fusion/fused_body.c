#include "passes/fusion/fused_body.h"

#include "passes/fusion/fusion_decision.h"

enum { ORIGIN_STEPS = 16 };

void fused_body_begin(FusedBody *body, HloComputation *caller, StringView name, const HloDecisionObserver *observer,
                      Arena *arena) {
  *body = (FusedBody){.caller = caller, .observer = observer, .arena = arena};
  body->fused = hlo_module_add_computation(caller->module, name);
  int_map_init(&body->inside, arena);
  int_map_init(&body->origins, arena);
}

/* The one scalar that cheap arithmetic with constants makes |value| from; NULL: there is none. */
static HloInstruction *made_from(const HloInstruction *value) {
  HloInstruction *from = NULL;
  if (!shape_is_scalar(value->shape) || fusion_cost(value) != FUSION_COST_CHEAP) return NULL;
  for (int i = 0; i < value->operand_count; i++) {
    HloInstruction *operand = value->operands[i];
    if (hlo_instruction_is_scalar_constant(operand) || operand == from) continue;
    if (from != NULL || !shape_is_scalar(operand->shape)) return NULL;
    from = operand;
  }
  return from;
}

static HloInstruction *origin_of(HloInstruction *value) {
  HloInstruction *from = value;
  for (int i = 0; i < ORIGIN_STEPS && from != NULL; i++) {
    value = from;
    from = made_from(value);
  }
  return value;
}

void fused_body_expect(FusedBody *body, HloInstruction *const *members, int64_t count) {
  IntMap seen;
  int_map_init(&seen, body->arena);
  for (int64_t m = 0; m < count; m++) {
    for (int k = 0; k < members[m]->operand_count; k++) {
      HloInstruction *operand = members[m]->operands[k];
      int64_t made = 0;
      if (!shape_is_scalar(operand->shape) || hlo_instruction_is_scalar_constant(operand)) continue;
      if (int_map_find(&seen, (uint64_t)operand->id, &made)) continue;
      int_map_set(&seen, (uint64_t)operand->id, 1);
      uint64_t origin = (uint64_t)origin_of(operand)->id;
      int_map_find(&body->origins, origin, &made);
      int_map_set(&body->origins, origin, made + 1);
    }
  }
}

/* |value| is one of several scalars with one origin. */
static bool is_made_inside(const FusedBody *body, HloInstruction *value) {
  int64_t made = 0;
  if (made_from(value) == NULL) return false;
  return int_map_find(&body->origins, (uint64_t)origin_of(value)->id, &made) && made > 1;
}

HloInstruction *fused_body_value(FusedBody *body, HloInstruction *value) {
  HloInstruction *found = pointer_map_get(&body->inside, value);
  if (found != NULL) return found;
  if (is_made_inside(body, value)) return fused_body_nest(body, value);
  if (hlo_instruction_is_scalar_constant(value)) {
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
  array_push(&body->members, body->arena, member);
  pointer_map_set(&body->inside, member, copy);
  return copy;
}

HloInstruction *fused_body_add(FusedBody *body, HloInstruction *member) {
  if (member->opcode != HLO_FUSION) return fused_body_nest(body, member);
  HloInstruction *copy = hlo_computation_inline(body->fused, hlo_instruction_computation(member, HLO_ATTR_CALLS),
                                                arguments_of(body, member));
  array_push(&body->members, body->arena, member);
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
  for (int64_t i = 0; body->observer != NULL && i < body->members.count; i++) {
    HloInstruction *member = body->members.data[i], *copy = pointer_map_get(&body->inside, member);
    FusedInstruction fused = {member->name, fusion->name, fused_instruction_result(body->fused->root, copy)};
    body->observer->fused(body->observer->context, &fused);
  }
  return fusion;
}
