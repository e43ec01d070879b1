#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* tuple-simplifier: tuple elements are read where they come from. */

/* get-tuple-element(tuple(a, b, …), i) → its element */
static HloInstruction *element_of_tuple(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
  const HloInstruction *tuple = instruction->operands[0];
  if (tuple->opcode != HLO_TUPLE) return NULL;
  int64_t index = hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0);
  if (index < 0 || index >= tuple->operand_count) return NULL;
  return shape_coerce(tuple->operands[index], instruction->shape);
}

/* tuple(get-tuple-element(x, 0), get-tuple-element(x, 1), …) → x, when that is all of x */
static HloInstruction *whole_of_elements(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_TUPLE || instruction->operand_count == 0) return NULL;
  if (instruction->operands[0]->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
  HloInstruction *whole = instruction->operands[0]->operands[0];
  if (whole->shape != instruction->shape) return NULL;
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *element = instruction->operands[i];
    if (element->opcode != HLO_GET_TUPLE_ELEMENT || element->operands[0] != whole) return NULL;
    if (hlo_instruction_int(element, HLO_ATTR_INDEX, -1) != i) return NULL;
  }
  return whole;
}

static bool simplify_tuples(HloPassContext *context, HloComputation *computation) {
  bool changed = false;
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (hlo_instruction_attr(order[i], HLO_ATTR_CONTROL_PREDECESSORS) != NULL) continue;
    if (!hlo_pass_may_rewrite(context)) break;
    HloInstruction *element = element_of_tuple(order[i]);
    HloInstruction *simpler = element != NULL ? element : whole_of_elements(order[i]);
    if (simpler == NULL) continue;
    hlo_pass_count_rewrite(context, element != NULL ? "element-of-tuple" : "tuple-of-elements", order[i]);
    hlo_instruction_replace_all_uses(order[i], simpler);
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  return changed;
}

static Status run_tuple_simplifier(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t i = 0; i < module->computations.count; i++) {
    *out_changed |= simplify_tuples(context, module->computations.data[i]);
  }
  return STATUS_OK;
}

const HloPass hlo_tuple_simplifier_pass = {"tuple-simplifier", "read tuple elements where they come from",
                                           run_tuple_simplifier, false};
