#include "passes/control/control_walk.h"

#include "passes/cleanup/control_edges.h"

enum { ROUND_LIMIT = 8 };

void control_walk_note(ControlWalk *walk, const char *rule, const HloInstruction *instruction) {
  hlo_pass_count_rewrite(walk->context, rule, instruction);
  walk->changed = true;
}

static void walk_computation(ControlWalk *walk, HloComputation *computation, HloOpcode opcode,
                             ControlWalkFunction edit) {
  int64_t count;
  bool changed = false;
  HloInstruction **order = control_edges_free_order(computation, walk->context->scratch, &count);
  for (int64_t i = 0; i < count && hlo_pass_may_rewrite(walk->context); i++) {
    if (order[i]->opcode == opcode) changed |= edit(walk, order[i]);
  }
  if (changed) hlo_computation_remove_dead(computation);
}

static bool walk_module(HloPassContext *context, HloModule *module, HloOpcode opcode, ControlWalkFunction edit) {
  int64_t count;
  ControlWalk walk = {.context = context};
  if (!call_sites_exist(module, opcode)) return false;
  call_sites_init(&walk.sites, module, context->scratch);
  HloComputation **order = hlo_module_post_order(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) walk_computation(&walk, order[i], opcode, edit);
  if (walk.changed) hlo_module_remove_unreachable(module);
  return walk.changed;
}

bool control_walk_run(HloPassContext *context, HloModule *module, HloOpcode opcode, ControlWalkFunction edit) {
  bool changed = false;
  for (int i = 0; i < ROUND_LIMIT && walk_module(context, module, opcode, edit); i++) changed = true;
  return changed;
}
