#include "codegen/emit/control_emitter.h"

#include "base/checked_math.h"
#include "codegen/emit/control_internal.h"
#include "codegen/emit/kernel_emitter.h"
#include "hlo/analysis/in_place.h"

#define WORKSPACE_ALIGNMENT 64

/* --- Kernels --- */

typedef struct ControlKernel {
  LLVMValueRef function;
  int64_t scratch_bytes;
} ControlKernel;

/* Equal Kernels are one function. */
static Status kernel_function(ControlEmitter *control, const KernelUse *use, const ControlKernel **out_kernel) {
  ControlKernel *found = pointer_map_get(&control->functions, (const void *)(intptr_t)(use->identity + 1));
  if (found == NULL) {
    found = ARENA_NEW(control->arena, ControlKernel);
    const char *name = arena_printf(control->arena, "kernel.%lld", (long long)control->distinct_kernel_count++);
    VecBuilder vec = *control->vec;
    vec.builder = LLVMCreateBuilderInContext(vec.context);
    Status status = kernel_emit(&vec, use->kernel, name, control->diag, &found->function, &found->scratch_bytes);
    LLVMDisposeBuilder(vec.builder);
    RETURN_IF_ERROR(status);
    control->scratch_bytes = max_i64(control->scratch_bytes, found->scratch_bytes);
    pointer_map_set(&control->functions, (const void *)(intptr_t)(use->identity + 1), found);
  }
  *out_kernel = found;
  return STATUS_OK;
}

static LLVMValueRef scratch_pointer(ControlEmitter *control) {
  int64_t offset = align_up(control->assignment->workspace_bytes, WORKSPACE_ALIGNMENT);
  LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(control->vec->context), (unsigned long long)offset, true);
  return LLVMBuildInBoundsGEP2(control->vec->builder, LLVMInt8TypeInContext(control->vec->context), control->workspace,
                               &index, 1, "");
}

/* Addresses of the Kernel's buffers, row buffers excepted; room for one more. */
static LLVMValueRef *kernel_arguments(ControlEmitter *control, const HloInstruction *instruction, const Kernel *kernel,
                                      unsigned *out_count) {
  unsigned count = 0;
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, kernel->buffer_count + 1);
  for (int b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    if (buffer->role == KERNEL_SCRATCH) continue;
    const HloInstruction *holder = buffer->operand < 0 ? instruction : instruction->operands[buffer->operand];
    LLVMValueRef address = control_address(control, holder, buffer->node);
    if (address == NULL) XLAC_BUG("'%.*s' has no address", SV_ARG(holder->name));
    arguments[count++] = address;
  }
  *out_count = count;
  return arguments;
}

static void call_kernel(ControlEmitter *control, const HloInstruction *instruction, const Kernel *kernel,
                        const ControlKernel *code) {
  unsigned count;
  LLVMValueRef *arguments = kernel_arguments(control, instruction, kernel, &count);
  arguments[count] = code->scratch_bytes > 0 ? scratch_pointer(control)
                                             : LLVMGetUndef(LLVMPointerTypeInContext(control->vec->context, 0));
  control_poison_scratch(control, arguments[count++], code->scratch_bytes);
  LLVMBuildCall2(control->vec->builder, LLVMGlobalGetValueType(code->function), code->function, arguments, count, "");
}

Status control_kernels(ControlEmitter *control, const HloInstruction *instruction) {
  KernelUses uses;
  RETURN_IF_ERROR(kernel_table_get(control->kernels, instruction, control->diag, &uses));
  for (int i = 0; i < uses.count; i++) {
    const Kernel *kernel = uses.uses[i].kernel;
    control->kernel_count++;
    if (kernel_is_tiny(kernel)) {
      unsigned count;
      LLVMValueRef *buffers = kernel_arguments(control, instruction, kernel, &count);
      RETURN_IF_ERROR(kernel_emit_inline(control->vec, kernel, control->function, buffers, control->diag));
      continue;
    }
    const ControlKernel *code;
    RETURN_IF_ERROR(kernel_function(control, &uses.uses[i], &code));
    call_kernel(control, instruction, kernel, code);
  }
  return STATUS_OK;
}

/* --- scalars --- */

static VecOp scalar_op(const HloInstruction *instruction) {
  const HloInstruction *typed = instruction->operands[emit_typed_operand(instruction->opcode)];
  VecOp op = {.opcode = instruction->opcode, .type = instruction->shape->type, .operand_type = typed->shape->type};
  emit_lane_params(instruction, op.params);
  return op;
}

/* Rank-0 arithmetic stands in the control function itself; false when |instruction| is not of that kind. */
static bool emit_scalar(ControlEmitter *control, const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  if (family != EMIT_elementwise && family != EMIT_copy && family != EMIT_bitcast_convert) return false;
  if (!control_is_scalar(instruction->shape)) return false;
  LLVMValueRef operands[3];
  for (int i = 0; i < instruction->operand_count; i++) {
    if (!control_is_scalar(instruction->operands[i]->shape)) return false;
  }
  VecOp op = scalar_op(instruction);
  if (family != EMIT_copy && !vec_supports(&op)) return false;
  for (int i = 0; i < instruction->operand_count; i++)
    operands[i] = control_scalar(control, instruction->operands[i], 0);
  LLVMValueRef value = family == EMIT_copy ? operands[0] : vec_apply(control->vec, &op, operands, 1);
  control_set_scalar(control, instruction, 0, value);
  return true;
}

/* --- control flow --- */

/* Calls |visit| with each rank-0 leaf of |shape|. */
static int scalar_leaves(const Shape *shape, Arena *arena, int **out_nodes) {
  int count = 0, total = shape_node_count(shape);
  *out_nodes = ARENA_NEW_ARRAY(arena, int, total);
  for (int node = 0; node < total; node++) {
    if (control_is_scalar(shape_node(shape, node))) (*out_nodes)[count++] = node;
  }
  return count;
}

typedef struct Carry {
  int node;
  LLVMValueRef phi;
} Carry;

/* Scalars of the loop state stay in registers: one phi each, known at the state's three positions. */
static Carry *begin_carries(ControlEmitter *control, const HloInstruction *loop, LLVMBasicBlockRef before,
                            LLVMBasicBlockRef header, int *out_count) {
  int *nodes;
  int count = scalar_leaves(loop->shape, control->arena, &nodes);
  Carry *carries = ARENA_NEW_ARRAY(control->arena, Carry, count);
  LLVMValueRef *initial = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, count);
  *out_count = 0;
  const HloInstruction *body_state = hlo_instruction_computation(loop, HLO_ATTR_BODY)->parameters.data[0];
  const HloInstruction *condition_state = hlo_instruction_computation(loop, HLO_ATTR_CONDITION)->parameters.data[0];
  for (int i = 0; i < count; i++) {
    const HloValue *value = buffer_assignment_value(control->assignment, body_state, nodes[i]);
    if (value == NULL || !value->is_phi || control->scalars[value->id] != NULL) continue;
    initial[*out_count] = control_scalar(control, loop->operands[0], nodes[i]);
    carries[(*out_count)++].node = nodes[i];
  }
  LLVMBuildBr(control->vec->builder, header);
  LLVMPositionBuilderAtEnd(control->vec->builder, header);
  for (int i = 0; i < *out_count; i++) {
    carries[i].phi = LLVMBuildPhi(control->vec->builder, LLVMTypeOf(initial[i]), "");
    LLVMAddIncoming(carries[i].phi, &initial[i], &before, 1);
    control_know_scalar(control, body_state, carries[i].node, carries[i].phi);
    control_know_scalar(control, condition_state, carries[i].node, carries[i].phi);
    control_know_scalar(control, loop, carries[i].node, carries[i].phi);
  }
  return carries;
}

Status control_while(ControlEmitter *control, const HloInstruction *loop) {
  const VecBuilder *vec = control->vec;
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  LLVMBasicBlockRef header = LLVMAppendBasicBlockInContext(vec->context, control->function, "while");
  int carry_count;
  Carry *carries = begin_carries(control, loop, LLVMGetInsertBlock(vec->builder), header, &carry_count);
  int64_t height = control->known.count;
  RETURN_IF_ERROR(control_computation(control, condition));
  LLVMValueRef goes_on = control_scalar(control, condition->root, 0);
  LLVMBasicBlockRef inside = LLVMAppendBasicBlockInContext(vec->context, control->function, "body");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, control->function, "");
  LLVMBuildCondBr(vec->builder, goes_on, inside, behind);
  LLVMPositionBuilderAtEnd(vec->builder, inside);
  RETURN_IF_ERROR(control_computation(control, body));
  LLVMValueRef *next = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, carry_count);
  for (int i = 0; i < carry_count; i++) next[i] = control_scalar(control, body->root, carries[i].node);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(vec->builder);
  for (int i = 0; i < carry_count; i++) LLVMAddIncoming(carries[i].phi, &next[i], &latch, 1);
  LLVMBuildBr(vec->builder, header);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
  control_forget(control, height);
  return STATUS_OK;
}

/* Branch number of a conditional: pred true is branch 0; an index out of range is the last branch. */
static LLVMValueRef branch_number(ControlEmitter *control, const HloInstruction *conditional) {
  LLVMValueRef selector = control_scalar(control, conditional->operands[0], 0);
  LLVMTypeRef s32 = LLVMInt32TypeInContext(control->vec->context);
  if (conditional->operands[0]->shape->type != TYPE_PRED) return selector;
  return LLVMBuildSelect(control->vec->builder, selector, LLVMConstInt(s32, 0, false), LLVMConstInt(s32, 1, false), "");
}

Status control_conditional(ControlEmitter *control, const HloInstruction *conditional) {
  const VecBuilder *vec = control->vec;
  int count = hlo_instruction_called_count(conditional);
  LLVMValueRef selector = branch_number(control, conditional);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(vec->builder);
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, control->function, "");
  LLVMBasicBlockRef *branches = ARENA_NEW_ARRAY(control->arena, LLVMBasicBlockRef, count);
  for (int i = 0; i < count; i++) {
    branches[i] = LLVMAppendBasicBlockInContext(vec->context, control->function, "branch");
    LLVMPositionBuilderAtEnd(vec->builder, branches[i]);
    int64_t height = control->known.count;
    RETURN_IF_ERROR(control_computation(control, hlo_instruction_called(conditional, i)));
    control_forget(control, height);
    LLVMBuildBr(vec->builder, behind);
  }
  LLVMPositionBuilderAtEnd(vec->builder, start);
  LLVMValueRef choice = LLVMBuildSwitch(vec->builder, selector, branches[count - 1], (unsigned)count);
  for (int i = 0; i < count - 1; i++) {
    LLVMAddCase(choice, LLVMConstInt(LLVMTypeOf(selector), (unsigned long long)i, false), branches[i]);
  }
  LLVMPositionBuilderAtEnd(vec->builder, behind);
  return STATUS_OK;
}

/* --- instructions --- */

static Status emit_instruction(ControlEmitter *control, const HloInstruction *instruction) {
  if (hlo_is_view(instruction) || emit_scalar(control, instruction)) return STATUS_OK;
  switch (emit_family(instruction->opcode)) {
    case EMIT_parameter:
    case EMIT_constant:
    case EMIT_tuple:
    case EMIT_forward: return STATUS_OK;
    case EMIT_call: return control_computation(control, hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY));
    case EMIT_while: return control_while(control, instruction);
    case EMIT_conditional: return control_conditional(control, instruction);
    case EMIT_unsupported:
      return diag_error(control->diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-op",
                        "'%s' is not supported yet", hlo_opcode_text(instruction->opcode));
    default: return control_kernels(control, instruction);
  }
}

Status control_computation(ControlEmitter *control, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    RETURN_IF_ERROR(emit_instruction(control, computation->instructions.data[i]));
    control_poison_after(control, computation->instructions.data[i]);
  }
  return STATUS_OK;
}

static LLVMValueRef add_entry(const VecBuilder *vec, const char *name) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0);
  LLVMTypeRef parameters[4] = {pointer, pointer, pointer, pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(vec->context), parameters, 4, false);
  LLVMValueRef function = LLVMAddFunction(vec->module, name, type);
  unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(vec->context, kind, 0));
  return function;
}

Status control_emit(const VecBuilder *vec, const HloModule *module, const BufferAssignment *assignment,
                    KernelTable *kernels, const char *name, bool poison, DiagSink *diag, ControlResult *out_result) {
  Arena *arena = arena_create();
  ControlEmitter control = {
      .vec = vec, .module = module, .assignment = assignment, .kernels = kernels, .diag = diag, .arena = arena};
  control.function = add_entry(vec, name);
  control.scalars = ARENA_NEW_ARRAY(arena, LLVMValueRef, assignment->value_count);
  int_map_init(&control.functions, arena);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, control.function, ""));
  control_enter(&control);
  if (poison) control_poison_begin(&control);
  Status status = control_computation(&control, module->entry);
  LLVMBuildRet(vec->builder, LLVMConstInt(LLVMInt32TypeInContext(vec->context), 0, false));
  *out_result =
      (ControlResult){.kernel_count = control.kernel_count, .distinct_kernel_count = control.distinct_kernel_count};
  out_result->workspace_bytes = assignment->workspace_bytes;
  if (control.scratch_bytes > 0) {
    out_result->workspace_bytes = align_up(assignment->workspace_bytes, WORKSPACE_ALIGNMENT) + control.scratch_bytes;
  }
  arena_destroy(arena);
  return status;
}
