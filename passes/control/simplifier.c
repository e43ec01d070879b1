#include "passes/control/simplifier.h"

#include "passes/cleanup/control_edges.h"

enum { ROUND_LIMIT = 8 };

void simplifier_note(Simplifier *simplifier, const char *rule, const HloInstruction *instruction) {
  hlo_pass_count_rewrite(simplifier->context, rule, instruction);
  simplifier->changed = true;
}

static void simplify_computation(Simplifier *simplifier, HloComputation *computation, HloOpcode opcode,
                                 SimplifyFunction simplify) {
  int64_t count;
  bool changed = false;
  ControlEdges edges;
  Arena *scratch = simplifier->context->scratch;
  control_edges_init(&edges, computation, scratch);
  HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (order[i]->opcode != opcode || control_edges_touch(&edges, order[i])) continue;
    changed |= simplify(simplifier, order[i]);
  }
  if (changed) hlo_computation_remove_dead(computation);
}

static bool simplify_module(HloPassContext *context, HloModule *module, HloOpcode opcode, SimplifyFunction simplify) {
  int64_t count;
  Simplifier simplifier = {.context = context};
  if (!call_sites_exist(module, opcode)) return false;
  call_sites_init(&simplifier.sites, module, context->scratch);
  HloComputation **order = hlo_module_post_order(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) simplify_computation(&simplifier, order[i], opcode, simplify);
  if (simplifier.changed) hlo_module_remove_unreachable(module);
  return simplifier.changed;
}

bool simplifier_run(HloPassContext *context, HloModule *module, HloOpcode opcode, SimplifyFunction simplify) {
  bool changed = false;
  for (int i = 0; i < ROUND_LIMIT && simplify_module(context, module, opcode, simplify); i++) changed = true;
  return changed;
}
