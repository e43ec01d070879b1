/* Communication between devices: calls of the functions that ask the engine, and which device this is. */
#include "codegen/collective/collective.h"
#include "codegen/emit/control_internal.h"

static LLVMValueRef address_or_null(ControlEmitter *control, const HloInstruction *instruction, int node) {
  LLVMValueRef address = control_address(control, instruction, node);
  return address != NULL ? address : LLVMConstNull(LLVMPointerTypeInContext(control->vec->context, 0));
}

/* Where result |index| of |start| is. */
static LLVMValueRef result_address(ControlEmitter *control, const ModuleCollective *collective, int64_t index) {
  const HloInstruction *maker = collective->collective;
  int node = shape_is_tuple(maker->shape) ? shape_node_child(maker->shape, 0, index) : 0;
  return address_or_null(control, maker, node);
}

/* Of a send and a receive: (data, context, token); the context, which nothing reads, is 0. */
static void clear_context(ControlEmitter *control, const HloInstruction *transfer) {
  LLVMValueRef address = control_address(control, transfer, shape_node_child(transfer->shape, 0, 1));
  if (address == NULL) return;
  LLVMBuildStore(control->vec->builder, LLVMConstInt(LLVMInt32TypeInContext(control->vec->context), 0, false), address);
}

Status control_collective(ControlEmitter *control, const HloInstruction *instruction) {
  int64_t begun = module_collectives_at(control->collectives, instruction);
  int64_t index = begun >= 0 ? begun : module_collectives_ended(control->collectives, instruction);
  if (index < 0)
    return diag_error(control->diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-op",
                      "'%s' is not supported yet", hlo_opcode_text(instruction->opcode));
  const ModuleCollective *collective = &control->collectives->data[index];
  CollectivePart part = begun < 0 ? COLLECTIVE_WAIT : collective->is_asynchronous ? COLLECTIVE_START : COLLECTIVE_WHOLE;
  const char *name = arena_printf(control->arena, "collective.%lld", (long long)control->collective_count++);
  LLVMValueRef function =
      collective_emit(control->vec->module, control->collectives, index, part, name, control->arena);
  unsigned count = 0;
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, LLVMCountParams(function));
  if (part != COLLECTIVE_WAIT) {
    for (int64_t i = 0; i < collective_operand_count(collective); i++)
      arguments[count++] = address_or_null(control, collective->start->operands[i], 0);
    for (int64_t i = 0; i < collective_result_count(collective); i++)
      arguments[count++] = result_address(control, collective, i);
    if (collective->kind == XLAC_DEVICE_SEND || collective->kind == XLAC_DEVICE_RECV)
      clear_context(control, instruction);
  }
  control_call_checked(control, function, arguments, count);
  return STATUS_OK;
}

void control_finish_collectives(ControlEmitter *control, const HloInstruction *root) {
  if (control->collectives == NULL || !control->collectives->is_conditional) return;
  LLVMValueRef arguments[1];
  LLVMValueRef function = collective_emit_finish(control->vec->module, root, "collective.finish", control->arena);
  control_call_checked(control, function, arguments, 0);
}

void control_device_id(ControlEmitter *control, const HloInstruction *instruction) {
  LLVMBuilderRef builder = control->vec->builder;
  LLVMValueRef device = collective_device(builder, control->vec->module, LLVMGetParam(control->function, 3));
  LLVMValueRef partitions = LLVMConstInt(LLVMInt64TypeInContext(control->vec->context),
                                         (unsigned long long)control->collectives->devices.partitions, false);
  LLVMValueRef number = instruction->opcode == HLO_PARTITION_ID ? LLVMBuildURem(builder, device, partitions, "")
                                                                : LLVMBuildUDiv(builder, device, partitions, "");
  LLVMTypeRef type = LLVMIntTypeInContext(control->vec->context, (unsigned)type_bits(instruction->shape->type));
  control_set_scalar(control, instruction, 0, LLVMBuildTrunc(builder, number, type, ""));
}
