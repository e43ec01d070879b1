#include "hlo/ir/custom_call.h"
#include "passes/expand/graph_builder.h"

/* Custom calls that only say something of their operand. */
static HloInstruction *expand_marker(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  const HloAttr *target = hlo_instruction_attr(call, HLO_ATTR_CUSTOM_CALL_TARGET);
  if (target == NULL || call->operand_count != 1 || !custom_call_is_marker(target->value.text)) return NULL;
  return shape_compatible(call->shape, call->operands[0]->shape) ? call->operands[0] : NULL;
}

static const GraphRuleRow rules[] = {{HLO_CUSTOM_CALL, expand_marker}};

static Status run_marker_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_marker_expander_pass = {"marker-expander", "custom calls that are marks on their operand go away",
                                          run_marker_expander, false};
