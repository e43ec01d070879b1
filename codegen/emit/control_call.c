/* Calls out of the module: leaves of operands and results by their addresses. */
#include "codegen/call/call.h"
#include "codegen/emit/control_internal.h"

static void add_addresses(ControlEmitter *control, const HloInstruction *instruction, LLVMValueRef *arguments,
                          unsigned *count) {
  for (int node = 0; node < shape_node_count(instruction->shape); node++) {
    if (shape_is_tuple(shape_node(instruction->shape, node))) continue;
    LLVMValueRef address = control_address(control, instruction, node);
    if (address == NULL) address = LLVMConstNull(LLVMPointerTypeInContext(control->vec->context, 0));
    arguments[(*count)++] = address;
  }
}

/* A result that is declared to be an operand's memory begins as a copy where it has memory of its own. */
static void copy_aliases(ControlEmitter *control, const HloInstruction *call) {
  const HloAttr *attr = hlo_instruction_attr(call, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  for (int64_t i = 0; attr != NULL && i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    const HloInstruction *operand = call->operands[alias->operand];
    int from = shape_node_from_index(operand->shape, alias->operand_index);
    int to = shape_node_from_index(call->shape, alias->output);
    BufferSlice source = buffer_assignment_slice(control->assignment, operand, from);
    BufferSlice target = buffer_assignment_slice(control->assignment, call, to);
    if (target.allocation == NULL || source.allocation == NULL) continue;
    if (target.allocation == source.allocation && target.offset == source.offset) continue;
    LLVMValueRef size = LLVMConstInt(LLVMInt64TypeInContext(control->vec->context), (uint64_t)target.size, false);
    LLVMBuildMemCpy(control->vec->builder, control_address(control, call, to), 1,
                    control_address(control, operand, from), 1, size);
  }
}

Status control_call(ControlEmitter *control, const HloInstruction *call) {
  const char *name = arena_printf(control->arena, "call.%lld", (long long)control->call_count++);
  LLVMValueRef function;
  RETURN_IF_ERROR(call_emit(control->vec->module, call, name, control->diag, &function));
  unsigned count = 0;
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, LLVMCountParams(function));
  for (int i = 0; i < call->operand_count; i++) add_addresses(control, call->operands[i], arguments, &count);
  add_addresses(control, call, arguments, &count);
  arguments[count] = control_scratch(control, call, call_work_bytes(call));
  control_poison_scratch(control, arguments[count++], call_work_bytes(call));
  copy_aliases(control, call);
  control_call_checked(control, function, arguments, count);
  return STATUS_OK;
}
