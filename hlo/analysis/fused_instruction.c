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

const FusedInstruction *fused_instructions_last(const FusedInstructions *fused, Arena *arena) {
  FusedInstruction *last = ARENA_NEW_ARRAY(arena, FusedInstruction, fused->count);
  StringMap becomes; /* name → the place in |last| that says what became of it */
  string_map_init(&becomes, arena);
  /* From the last to the first: names of what is gone are given again, and only what comes later tells of a fusion. */
  for (int64_t i = fused->count - 1; i >= 0; i--) {
    const FusedInstruction *later = string_map_get(&becomes, fused->data[i].fusion);
    last[i] = fused->data[i];
    if (later != NULL) {
      last[i].fusion = later->fusion;
      last[i].result = joined_result(last[i].result, later->result);
    }
    string_map_set(&becomes, last[i].name, &last[i]);
  }
  return last;
}

StringMap fused_instructions_by_fusion(const FusedInstructions *fused, Arena *arena) {
  const FusedInstruction *last = fused_instructions_last(fused, arena);
  StringMap members_of;
  string_map_init(&members_of, arena);
  for (int64_t i = 0; i < fused->count; i++) {
    FusedMembers *members = string_map_get(&members_of, last[i].fusion);
    if (members == NULL) string_map_set(&members_of, last[i].fusion, members = ARENA_NEW(arena, FusedMembers));
    array_push(members, arena, last[i]);
  }
  return members_of;
}
