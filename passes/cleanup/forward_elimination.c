#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* forward-elimination: operations that only hand on their operand go away. */

/* A token of nothing orders nothing. */
static bool is_empty_token(const HloInstruction *token) {
  if (token->opcode != HLO_AFTER_ALL || hlo_instruction_attr(token, HLO_ATTR_CONTROL_PREDECESSORS) != NULL)
    return false;
  for (int i = 0; i < token->operand_count; i++) {
    const HloInstruction *operand = token->operands[i];
    if (operand->opcode != HLO_AFTER_ALL || operand->operand_count > 0) return false;
    if (hlo_instruction_attr(operand, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return false;
  }
  return true;
}

/* opt-barrier(x) → x: no later pass has to be kept from x.  domain(x) → x.  add-dependency(x, after-all()) → x.
 * copy(tuple) → tuple: copies of arrays that aliasing asks for are inserted after this. */
static HloInstruction *forwarded_value(const HloInstruction *instruction) {
  HloInstruction *operand = instruction->operand_count > 0 ? instruction->operands[0] : NULL;
  if (hlo_opcode_has(instruction->opcode, OP_BARRIER)) return operand;
  if (instruction->opcode == HLO_COPY) return shape_is_tuple(instruction->shape) ? operand : NULL;
  return instruction->opcode == HLO_ADD_DEPENDENCY && is_empty_token(instruction->operands[1]) ? operand : NULL;
}

static Status run_forward_elimination(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    int64_t count;
    bool changed = false;
    HloComputation *computation = module->computations.data[c];
    HloInstruction **order = hlo_computation_post_order(computation, context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (hlo_instruction_attr(order[i], HLO_ATTR_CONTROL_PREDECESSORS) != NULL) continue;
      HloInstruction *value = forwarded_value(order[i]);
      if (value == NULL) continue;
      hlo_instruction_replace_all_uses(order[i], shape_coerce(value, order[i]->shape));
      changed = true;
    }
    if (changed) hlo_computation_remove_dead(computation);
    *out_changed |= changed;
  }
  return STATUS_OK;
}

const HloPass hlo_forward_elimination_pass = {"forward-elimination",
                                              "remove barriers, domains, copies of tuples and dependencies on nothing",
                                              run_forward_elimination, false};
