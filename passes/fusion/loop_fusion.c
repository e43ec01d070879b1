#include "passes/fusion/fusion_plan.h"
#include "passes/pipeline/control_computations.h"

/* Turns one group into a fusion. */
typedef struct FusionWriter {
  FusionPlan *plan;
  HloComputation *computation; /* the caller */
  HloComputation *fused;
  IntMap inside; /* instruction → what stands for it in |fused| */
  HloInstructionArray operands;
  Arena *arena;
} FusionWriter;

static HloInstruction *add_operand(FusionWriter *writer, HloInstruction *value) {
  StringView name = sv_printf(writer->arena, "param_%d", (int)writer->operands.count);
  HloInstruction *parameter = hlo_computation_add_parameter(writer->fused, writer->operands.count, value->shape, name);
  array_push(&writer->operands, writer->arena, value);
  return parameter;
}

static HloInstruction *value_inside(FusionWriter *writer, HloInstruction *value) {
  HloInstruction *inside = pointer_map_get(&writer->inside, value);
  if (inside != NULL) return inside;
  if (value->opcode == HLO_CONSTANT && shape_is_scalar(value->shape)) {
    inside = hlo_computation_add_clone(writer->fused, value, value->shape, NULL, 0);
  } else {
    inside = add_operand(writer, value);
  }
  pointer_map_set(&writer->inside, value, inside);
  return inside;
}

static HloInstruction *add_member(FusionWriter *writer, HloInstruction *member) {
  HloInstruction **operands = ARENA_NEW_ARRAY(writer->arena, HloInstruction *, member->operand_count + 1);
  for (int i = 0; i < member->operand_count; i++) operands[i] = value_inside(writer, member->operands[i]);
  HloInstruction *clone =
      hlo_computation_add_clone(writer->fused, member, member->shape, operands, member->operand_count);
  pointer_map_set(&writer->inside, member, clone);
  return clone;
}

/* Where a member is stored as well, a fusion may have taken its place meanwhile: operands then name that. */
static void stand_for_stored(FusionWriter *writer, const IntMap *replaced, const HloInstruction *member) {
  HloInstruction *stored = pointer_map_get(replaced, member);
  if (stored != NULL) pointer_map_set(&writer->inside, stored, pointer_map_get(&writer->inside, member));
}

static HloInstruction *add_fusion(FusionWriter *writer, const HloInstruction *root) {
  StringView name = sv_printf(writer->arena, "%s_fusion", hlo_opcode_text(root->opcode));
  HloInstruction *fusion = hlo_computation_add(writer->computation, HLO_FUSION, root->shape, writer->operands.data,
                                               (int)writer->operands.count, name);
  hlo_instruction_set_int(fusion, HLO_ATTR_FUSION_KIND,
                          root->opcode == HLO_REDUCE ? FUSION_KIND_INPUT : FUSION_KIND_LOOP);
  hlo_instruction_set_computation(fusion, HLO_ATTR_CALLS, writer->fused);
  hlo_instruction_inherit_metadata(fusion, root);
  fusion->loc = root->loc;
  return fusion;
}

/* |replaced|: roots of groups → the fusions that stand for them. */
static void write_group(FusionPlan *plan, HloComputation *computation, const FusionGroup *group, IntMap *replaced) {
  FusionWriter writer = {.plan = plan, .computation = computation, .arena = plan->arena};
  int_map_init(&writer.inside, plan->arena);
  HloInstruction *root = plan->nodes[group->root];
  writer.fused = hlo_module_add_computation(computation->module,
                                            sv_printf(plan->arena, "fused_%s", hlo_opcode_text(root->opcode)));
  for (int64_t i = group->members.count - 1; i >= 0; i--) {
    HloInstruction *member = plan->nodes[group->members.data[i]];
    HloInstruction *clone = add_member(&writer, member);
    stand_for_stored(&writer, replaced, member);
    if (member == root) hlo_computation_set_root(writer.fused, clone);
  }
  HloInstruction *fusion = add_fusion(&writer, root);
  pointer_map_set(replaced, root, fusion);
  hlo_instruction_replace_all_uses(root, fusion); /* the members die together, below */
}

static bool fuse_computation(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  FusionPlan *plan = fusion_plan_create(arena, computation, observer);
  bool changed = false;
  IntMap replaced;
  int_map_init(&replaced, arena);
  /* Operands before users, so that a fusion finds its operands in their final form. */
  for (int64_t g = plan->groups.count - 1; g >= 0; g--) {
    if (plan->groups.data[g].members.count < 2) continue;
    write_group(plan, computation, &plan->groups.data[g], &replaced);
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_fusion(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    *out_changed |= fuse_computation(computations[i], context->options->decisions);
  }
  return STATUS_OK;
}

const HloPass hlo_fusion_pass = {"fusion", "compute elementwise producers where they are used", run_fusion, false};
