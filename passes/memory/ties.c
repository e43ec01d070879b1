#include "passes/memory/ties.h"

#include "hlo/ir/hlo_worklist.h"

bool hlo_is_fold(const HloInstruction *instruction) {
  const HloOpcodeInfo *info = hlo_opcode_info(instruction->opcode);
  return info->cost >= OP_COST_STRIDES && info->access != ACCESS_AFFINE;
}

/* How many operands of |instruction| are |made|; those of tuples in the place of the tuple. */
static int count_made(const HloInstruction *instruction, const HloWorklist *made) {
  int count = 0;
  for (int k = 0; k < instruction->operand_count; k++) {
    const HloInstruction *operand = instruction->operands[k];
    if (operand->opcode == HLO_TUPLE)
      count += count_made(operand, made);
    else
      count += hlo_worklist_has(made, operand);
  }
  return count;
}

/* x != x asks whether x is a number. */
static bool may_compare(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_COMPARE) return instruction->operands[0] != instruction->operands[1];
  return hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW);
}

bool hlo_fold_has_ties(const HloInstruction *value, Arena *scratch) {
  if (!hlo_is_fold(value) || !shape_is_array(value->shape)) return false;
  if (!type_is_float(value->shape->type) && !type_is_complex(value->shape->type)) return false;
  HloWorklist made;
  hlo_worklist_init(&made, scratch);
  hlo_worklist_add(&made, value);
  for (const HloInstruction *at; (at = hlo_worklist_take(&made)) != NULL;) hlo_worklist_add_users(&made, at);
  const HloInstructionArray *all = &value->parent->instructions;
  for (int64_t i = 0; i < all->count; i++)
    if (may_compare(all->data[i]) && count_made(all->data[i], &made) > 1) return true;
  return false;
}
