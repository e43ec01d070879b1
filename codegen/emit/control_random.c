/* The state of random numbers: one word of the call, on the stack, that begins the same each time. */
#include "codegen/emit/control_internal.h"

#define FIRST_STATE 1 /* as in hlo/eval */

static LLVMValueRef random_state(ControlEmitter *control) {
  if (control->random_state != NULL) return control->random_state;
  const VecBuilder *vec = control->vec;
  LLVMTypeRef word = LLVMInt64TypeInContext(vec->context);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(vec->builder), entry = LLVMGetEntryBasicBlock(control->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first != NULL) LLVMPositionBuilderBefore(vec->builder, first);
  control->random_state = LLVMBuildAlloca(vec->builder, word, "");
  LLVMBuildStore(vec->builder, LLVMConstInt(word, FIRST_STATE, false), control->random_state);
  LLVMPositionBuilderAtEnd(vec->builder, here);
  return control->random_state;
}

/* The first element is the state before, the others are 0. */
void control_random_state(ControlEmitter *control, const HloInstruction *instruction) {
  const VecBuilder *vec = control->vec;
  LLVMTypeRef word = LLVMInt64TypeInContext(vec->context);
  LLVMValueRef state = random_state(control), before = LLVMBuildLoad2(vec->builder, word, state, "");
  int64_t delta = hlo_instruction_int(instruction, HLO_ATTR_DELTA, 0);
  LLVMValueRef step = LLVMConstInt(word, (unsigned long long)delta, false);
  LLVMBuildStore(vec->builder, LLVMBuildAdd(vec->builder, before, step, ""), state);
  int64_t count = shape_element_count(instruction->shape);
  if (count == 0) return;
  if (control_is_scalar(instruction->shape)) {
    control_set_scalar(control, instruction, 0, before);
    return;
  }
  LLVMValueRef address = control_address(control, instruction, 0);
  LLVMTypeRef type = LLVMArrayType2(word, (uint64_t)count);
  LLVMSetAlignment(LLVMBuildStore(vec->builder, LLVMConstNull(type), address), 8);
  LLVMSetAlignment(LLVMBuildStore(vec->builder, before, address), 8);
}
