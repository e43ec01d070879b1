/* Call sites: fused computations and execution threads. */
#include "hlo/infer/verifier_internal.h"

/* In a fusion everything but the root is used, unless it has an effect, and the root is not. */
static void verify_fusion(Verifier *verifier, const HloInstruction *fusion) {
  const HloComputation *fused = hlo_instruction_computation(fusion, HLO_ATTR_CALLS);
  if (fused == NULL) return;
  if (fused == verifier->module->entry) {
    verify_attr_error(verifier, fusion, HLO_ATTR_CALLS, "verify-fusion", "the entry cannot be fused");
    return;
  }
  if (fused->root->user_count > 0) {
    verify_error(verifier, fused->root->loc, "verify-fusion", "the root of fused computation '%.*s' is used inside it",
                 SV_ARG(fused->name));
    return;
  }
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *instruction = fused->instructions.data[i];
    if (instruction == fused->root || instruction->user_count > 0 || instruction->opcode == HLO_PARAMETER ||
        hlo_instruction_has_side_effect(instruction))
      continue;
    verify_error(verifier, instruction->loc, "verify-fusion", "'%.*s' is not used in fused computation '%.*s'",
                 SV_ARG(instruction->name), SV_ARG(fused->name));
  }
}

static StringView thread_or_main(StringView thread) {
  return thread.size > 0 ? thread : SV("main");
}

/* Only an async-start leads to another thread, the one it names.  What is applied element by element, such as the
 * reducer of a collective that runs on another thread, is on none of its own: XLA leaves it where it was written. */
static void verify_threads(Verifier *verifier, const HloInstruction *instruction) {
  int count = hlo_instruction_called_count(instruction);
  bool is_applied = hlo_opcode_has(instruction->opcode, OP_REGION) && instruction->opcode != HLO_FUSION;
  if (count == 0 || is_applied || instruction->opcode == HLO_ASYNC_UPDATE || instruction->opcode == HLO_ASYNC_DONE)
    return;
  StringView expected = thread_or_main(instruction->parent->execution_thread);
  const HloAttr *named = hlo_instruction_attr(instruction, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  if (named != NULL) expected = thread_or_main(named->value.text);
  for (int i = 0; i < count; i++) {
    const HloComputation *callee = hlo_instruction_called(instruction, i);
    if (sv_equal(thread_or_main(callee->execution_thread), expected)) continue;
    if (named == NULL && instruction->opcode == HLO_ASYNC_START) continue; /* the callee says which */
    verify_error(verifier, instruction->loc, "verify-thread", "'%.*s' on thread '%.*s' calls '%.*s' on thread '%.*s'",
                 SV_ARG(instruction->name), SV_ARG(expected), SV_ARG(callee->name),
                 SV_ARG(thread_or_main(callee->execution_thread)));
  }
}

void verify_calls(Verifier *verifier, const HloInstruction *instruction) {
  verify_threads(verifier, instruction);
  if (instruction->opcode == HLO_FUSION) verify_fusion(verifier, instruction);
}
