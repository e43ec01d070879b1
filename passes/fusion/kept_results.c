#include "passes/fusion/kept_results.h"

#include "passes/fusion/fused_body.h"

static HloInstruction *element_of(HloComputation *computation, HloInstruction *tuple, int64_t number,
                                  const HloInstruction *like) {
  HloInstruction *element = hlo_computation_add(computation, HLO_GET_TUPLE_ELEMENT, like->shape, &tuple, 1, like->name);
  hlo_instruction_set_int(element, HLO_ATTR_INDEX, number);
  hlo_instruction_inherit_metadata(element, like);
  return element;
}

/* Inside of the fusion, where |all| stands for its maker. */
static HloInstruction *result_of(FusedBody *body, HloInstruction *all, const HloInstruction *element) {
  int64_t number = hlo_instruction_int(element, HLO_ATTR_INDEX, 0);
  return all->opcode == HLO_TUPLE ? all->operands[number] : element_of(body->fused, all, number, element);
}

void kept_results_write(HloComputation *computation, HloInstruction *maker, HloInstruction *const *elements,
                        int32_t count, const HloDecisionObserver *observer, Arena *arena) {
  FusedBody body;
  bool is_fusion = maker->opcode == HLO_FUSION;
  StringView name = is_fusion ? hlo_instruction_computation(maker, HLO_ATTR_CALLS)->name : SV("fused_reduce");
  fused_body_begin(&body, computation, name, observer, arena);
  HloInstruction *all = fused_body_add(&body, maker), **made = ARENA_NEW_ARRAY(arena, HloInstruction *, count);
  const Shape **shapes = ARENA_NEW_ARRAY(arena, const Shape *, count);
  for (int32_t i = 0; i < count; i++) {
    made[i] = result_of(&body, all, elements[i]);
    shapes[i] = elements[i]->shape;
  }
  HloInstruction *root = made[0];
  if (count > 1) {
    const Shape *tuple = shape_tuple(computation->module->shapes, shapes, count);
    root = hlo_computation_add(body.fused, HLO_TUPLE, tuple, made, count, (StringView){0});
  }
  hlo_computation_set_root(body.fused, root);
  FusionKind kind = FUSION_KIND_INPUT;
  if (is_fusion) kind = (FusionKind)hlo_instruction_int(maker, HLO_ATTR_FUSION_KIND, FUSION_KIND_LOOP);
  HloInstruction *fusion = fused_body_end(&body, kind, is_fusion ? maker->name : SV("reduce_fusion"), maker);
  for (int32_t i = 0; i < count; i++)
    hlo_instruction_replace_all_uses(elements[i], count > 1 ? element_of(computation, fusion, i, elements[i]) : fusion);
}
