#include "hlo/ir/custom_call.h"
#include "passes/expand/graph_builder.h"

/* Custom calls that only say something of their operands. */

static HloInstruction *expand_marker(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  switch (custom_call_marker_value(call)) {
    case MARKER_OPERAND: return call->operands[0];
    case MARKER_TUPLE: return graph_tuple(builder, call->operands, call->shape->tuple_size);
    case MARKER_UNKNOWN: return NULL;
  }
  XLAC_BUG("marker %d", (int)custom_call_marker_value(call));
}

static const GraphRuleRow rules[] = {{HLO_CUSTOM_CALL, expand_marker}};

static Status run_marker_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_marker_expander_pass = {"marker-expander", "custom calls that are marks on their operand go away",
                                          run_marker_expander, false};
