#include "passes/fusion/fused_body.h"
#include "passes/fusion/fusion_groups.h"
#include "passes/pipeline/control_computations.h"

/* fusion: elementwise producers are computed where they are used (fusion_groups.h decides which). */

/* |replaced|: roots of groups → the fusions that stand for them.  Where a member is stored as well, a fusion may have
 * taken its place meanwhile: operands then name that. */
static void write_group(FusionGroups *groups, HloComputation *computation, const FusionGroup *group,
                        const HloDecisionObserver *observer, IntMap *replaced) {
  FusedBody body;
  HloInstruction *root = groups->nodes[group->root];
  const char *opcode = hlo_opcode_text(root->opcode);
  fused_body_begin(&body, computation, sv_printf(groups->arena, "fused_%s", opcode), observer, groups->arena);
  HloInstruction **members = ARENA_NEW_ARRAY(groups->arena, HloInstruction *, group->members.count);
  for (int64_t i = 0; i < group->members.count; i++) members[i] = groups->nodes[group->members.data[i]];
  fused_body_expect(&body, members, group->members.count);
  for (int64_t i = group->members.count - 1; i >= 0; i--) {
    HloInstruction *member = members[i], *copy = fused_body_add(&body, member),
                   *stored = pointer_map_get(replaced, member);
    if (stored != NULL) pointer_map_set(&body.inside, stored, copy);
    if (member == root) hlo_computation_set_root(body.fused, copy);
  }
  FusionKind kind = root->opcode == HLO_REDUCE ? FUSION_KIND_INPUT : FUSION_KIND_LOOP;
  HloInstruction *fusion = fused_body_end(&body, kind, sv_printf(groups->arena, "%s_fusion", opcode), root);
  pointer_map_set(replaced, root, fusion);
  hlo_instruction_replace_all_uses(root, fusion); /* the members die together, below */
}

static bool fuse_computation(HloComputation *computation, const HloPassOptions *options) {
  const HloDecisionObserver *observer = options->decisions;
  Arena *arena = arena_create();
  bool changed = hlo_computation_remove_dead(computation) > 0; /* readers that nothing needs have no say */
  FusionGroups *groups = fusion_groups_create(arena, computation, options->machine, observer);
  IntMap replaced;
  int_map_init(&replaced, arena);
  /* Operands before users, so that a fusion finds its operands in their final form. */
  for (int64_t g = groups->groups.count - 1; g >= 0; g--) {
    if (groups->groups.data[g].members.count < 2) continue;
    write_group(groups, computation, &groups->groups.data[g], observer, &replaced);
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
    *out_changed |= fuse_computation(computations[i], context->options);
  }
  return STATUS_OK;
}

const HloPass hlo_fusion_pass = {"fusion", "compute elementwise producers where they are used", run_fusion, false};
