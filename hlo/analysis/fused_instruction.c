#include "hlo/analysis/fused_instruction.h"

int32_t fused_instruction_result(const HloInstruction *root, const HloInstruction *copy) {
  if (copy == root) return FUSED_WHOLE;
  for (int k = 0; root->opcode == HLO_TUPLE && k < root->operand_count; k++) {
    if (root->operands[k] == copy) return k;
  }
  return FUSED_INSIDE;
}

/* As what the outer fusion stores result |inner| of a fusion that it stores as |outer|. */
static int32_t joined_result(int32_t inner, int32_t outer) {
  if (inner == FUSED_WHOLE || outer == FUSED_INSIDE) return outer;
  return outer == FUSED_WHOLE ? inner : FUSED_INSIDE;
}

FusedInstruction fused_instructions_last(const FusedInstructions *fused, int64_t index) {
  FusedInstruction last = fused->data[index];
  /* Names of what is gone are given again: only what comes later tells of this fusion. */
  for (int64_t i = index + 1; i < fused->count; i++) {
    const FusedInstruction *later = &fused->data[i];
    if (!sv_equal(later->name, last.fusion)) continue;
    last.fusion = later->fusion;
    last.result = joined_result(last.result, later->result);
  }
  return last;
}
