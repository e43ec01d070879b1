#include "codegen/emit/control_emitter.h"

#include "codegen/emit/control_internal.h"
#include "codegen/ir/ir_function.h"
#include "codegen/ir/ir_loop.h"
#include "hlo/analysis/in_place.h"

/* --- Kernels --- */

const char *control_part_kernel_name(Arena *arena, int32_t identity) {
  return arena_printf(arena, "kernel.%ld", (long)identity);
}

static Status emit_kernel(ControlEmitter *control, const KernelUse *use, const char *name, KernelCode *out_code) {
  VecBuilder vec = *control->vec;
  vec.builder = LLVMCreateBuilderInContext(vec.context);
  const KernelCoder *coder = control->coder;
  Status status =
      coder == NULL ? kernel_emit(&vec, use->kernel, &control->strategies[use->identity], name, control->diag, out_code)
                    : coder->emit(coder->self, &vec, use, name, control->diag, out_code);
  LLVMDisposeBuilder(vec.builder);
  return status;
}

/* Equal Kernels are one function. */
static Status kernel_function(ControlEmitter *control, const KernelUse *use, const KernelCode **out_code) {
  const KernelCoder *coder = control->coder;
  int32_t number = coder != NULL ? coder->number(coder->self, use) : use->identity;
  KernelCode *found = pointer_map_get(&control->functions, (const void *)(intptr_t)(number + 1));
  if (found == NULL) {
    found = ARENA_NEW(control->arena, KernelCode);
    const char *name = control->has_no_kernels
                           ? control_part_kernel_name(control->arena, use->identity)
                           : arena_printf(control->arena, "kernel.%lld", (long long)control->function_count++);
    if (control->has_no_kernels)
      kernel_declare(control->vec, use->kernel, &control->strategies[use->identity], name, found);
    else
      RETURN_IF_ERROR(emit_kernel(control, use, name, found));
    pointer_map_set(&control->functions, (const void *)(intptr_t)(number + 1), found);
  }
  *out_code = found;
  return STATUS_OK;
}

static LLVMValueRef workspace_at(const ControlEmitter *control, int64_t offset) {
  LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(control->vec->context), (unsigned long long)offset, true);
  return LLVMBuildInBoundsGEP2(control->vec->builder, LLVMInt8TypeInContext(control->vec->context), control->workspace,
                               &index, 1, "");
}

LLVMValueRef control_further_scratch(const ControlEmitter *control) {
  return workspace_at(control, control->assignment->workspace_bytes);
}

LLVMValueRef control_scratch(const ControlEmitter *control, const HloInstruction *instruction, int64_t bytes) {
  if (bytes == 0) return LLVMGetUndef(LLVMPointerTypeInContext(control->vec->context, 0));
  const BufferScratch *scratch = buffer_assignment_scratch(control->assignment, instruction);
  if (scratch == NULL || scratch->size < bytes)
    XLAC_BUG("'%.*s' needs more scratch than was planned", SV_ARG(instruction->name));
  return workspace_at(control,
                      control->assignment->allocations[scratch->allocation].workspace_offset + scratch->offset);
}

/* Addresses of the Kernel's buffers, row buffers excepted; room for scratch and further parameters. */
static LLVMValueRef *kernel_arguments(ControlEmitter *control, const HloInstruction *instruction, const KernelUse *use,
                                      unsigned *out_count) {
  const Kernel *kernel = use->kernel;
  const uint64_t *parameters = use->parameters;
  unsigned count = 0;
  LLVMValueRef *arguments =
      ARENA_NEW_ARRAY(control->arena, LLVMValueRef, kernel->buffer_count + 1 + KERNEL_MOST_PARAMETERS);
  for (int b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    if (buffer->role == KERNEL_SCRATCH) continue;
    if (buffer->role == KERNEL_PARAMETERS) {
      arguments[count++] = control_parameters(control, buffer->type, parameters, buffer->element_count);
      parameters += buffer->element_count;
      continue;
    }
    const HloInstruction *holder = buffer->operand < 0 ? instruction : instruction->operands[buffer->operand];
    LLVMValueRef address = control_address(control, holder, buffer->node);
    if (address == NULL) XLAC_BUG("'%.*s' has no address", SV_ARG(holder->name));
    if (use->offsets != NULL)
      address = control_offset_address(control, address, use->offsets[b] * type_storage_bytes(buffer->type));
    arguments[count++] = address;
  }
  *out_count = count;
  return arguments;
}

void control_call_checked(ControlEmitter *control, LLVMValueRef function, LLVMValueRef *arguments, unsigned count) {
  const VecBuilder *vec = control->vec;
  arguments[count++] = LLVMGetParam(control->function, 3);
  LLVMValueRef result = LLVMBuildCall2(vec->builder, LLVMGlobalGetValueType(function), function, arguments, count, "");
  LLVMBasicBlockRef failed = LLVMAppendBasicBlockInContext(vec->context, control->function, "failed");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, control->function, "");
  LLVMBuildCondBr(vec->builder, LLVMBuildIsNull(vec->builder, result, ""), behind, failed);
  LLVMPositionBuilderAtEnd(vec->builder, failed);
  LLVMBuildRet(vec->builder, result);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}

/* Where |code|, of |instruction|, works. */
static LLVMValueRef kernel_scratch(ControlEmitter *control, const HloInstruction *instruction, const KernelCode *code) {
  if (code->has_place) return workspace_at(control, code->place);
  LLVMValueRef scratch = control_scratch(control, instruction, code->scratch_bytes);
  control_poison_scratch(control, scratch, code->scratch_bytes);
  return scratch;
}

static void call_kernel(ControlEmitter *control, const HloInstruction *instruction, const KernelUse *use,
                        const KernelCode *code) {
  unsigned count;
  LLVMValueRef *arguments = kernel_arguments(control, instruction, use, &count);
  arguments[count++] = kernel_scratch(control, instruction, code);
  const KernelCoder *coder = control->coder;
  if (coder != NULL) {
    coder->emit_before(coder->self, control->vec, use, LLVMGetParam(control->function, 3));
    control_call_checked(control, code->function, arguments, count);
    return;
  }
  if (code->chunk_limit > 1) {
    control_call_shared(control, code, arguments, count);
    return;
  }
  kernel_code_append_all(control->vec, code, arguments, &count);
  LLVMBuildCall2(control->vec->builder, LLVMGlobalGetValueType(code->function), code->function, arguments, count, "");
}

/* Registers of operands as far as they are known, and room for those of results. */
static LLVMValueRef **kernel_registers(ControlEmitter *control, const HloInstruction *instruction,
                                       const Kernel *kernel) {
  LLVMValueRef **registers = ARENA_NEW_ARRAY(control->arena, LLVMValueRef *, kernel->buffer_count);
  for (int b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    if (buffer->role == KERNEL_OPERAND)
      registers[b] = control_known_elements(control, instruction->operands[buffer->operand], buffer->node);
    if (buffer->role == KERNEL_RESULT && buffer->element_count <= KERNEL_UNROLLED_ELEMENTS)
      registers[b] = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, buffer->element_count);
  }
  return registers;
}

/* Results all of whose elements are in registers. */
static void know_results(ControlEmitter *control, const HloInstruction *instruction, const Kernel *kernel,
                         LLVMValueRef **registers) {
  for (int b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    if (buffer->role != KERNEL_RESULT || registers[b] == NULL) continue;
    bool is_whole = true;
    for (int64_t i = 0; i < buffer->element_count; i++) is_whole = is_whole && registers[b][i] != NULL;
    if (is_whole) control_know_elements(control, instruction, buffer->node, registers[b]);
  }
}

/* Elements of complex numbers are two for a Kernel. */
static bool is_plain_copy(const HloInstruction *instruction) {
  return instruction->opcode == HLO_COPY && shape_is_array(instruction->shape) &&
         vec_type_supported(instruction->shape->type) && instruction->shape == instruction->operands[0]->shape;
}

/* A copy of elements that are in registers is stored from there: a load would wait until they are in memory.  False
 * when |instruction| is no such copy. */
static bool copy_registers(ControlEmitter *control, const HloInstruction *instruction) {
  if (control->coder != NULL || !is_plain_copy(instruction)) return false;
  LLVMValueRef *elements = control_known_elements(control, instruction->operands[0], 0);
  LLVMValueRef address = control_address(control, instruction, 0);
  if (elements == NULL || address == NULL) return false;
  PrimitiveType type = instruction->shape->type;
  int64_t count = shape_element_count(instruction->shape), bytes = type_storage_bytes(type);
  for (int64_t i = 0; i < count; i++)
    vec_store(control->vec, type, elements[i], control_offset_address(control, address, i * bytes), NULL, 1);
  control_know_elements(control, instruction, 0, elements);
  return true;
}

/* Unrolled code of so many steps is as long as that of most other instructions. */
enum { UNROLLED_INSTRUCTION_STEPS = 4 };

/* |is_only|: no other Kernel of |instruction| changes what this one stores. */
static Status tiny_kernel(ControlEmitter *control, const HloInstruction *instruction, const KernelUse *use,
                          bool is_only) {
  const Kernel *kernel = use->kernel;
  const KernelStrategy *strategy = &control->strategies[use->identity];
  unsigned count;
  LLVMValueRef *buffers = kernel_arguments(control, instruction, use, &count), **registers = NULL;
  if (is_only && kernel_is_unrolled(kernel)) registers = kernel_registers(control, instruction, kernel);
  RETURN_IF_ERROR(
      kernel_emit_inline(control->vec, kernel, strategy, control->function, buffers, registers, control->diag));
  if (registers != NULL) know_results(control, instruction, kernel, registers);
  control->block_instructions += kernel_unrolled_steps(kernel) / UNROLLED_INSTRUCTION_STEPS;
  control->computes = true;
  return STATUS_OK;
}

static Status control_kernels(ControlEmitter *control, const HloInstruction *instruction) {
  if (copy_registers(control, instruction)) return STATUS_OK;
  const KernelUses *row = kernel_table_find(control->kernels, instruction);
  if (row == NULL) XLAC_BUG("'%.*s' has no Kernels", SV_ARG(instruction->name));
  for (int i = 0; i < row->count; i++) {
    const Kernel *kernel = row->uses[i].kernel;
    if (control->coder == NULL && kernel_is_tiny(kernel)) {
      RETURN_IF_ERROR(tiny_kernel(control, instruction, &row->uses[i], row->count == 1));
      continue;
    }
    const KernelCode *called;
    RETURN_IF_ERROR(kernel_function(control, &row->uses[i], &called));
    call_kernel(control, row->uses[i].instruction, &row->uses[i], called);
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

/* With a coder the control function is the scalar unit of a machine, which has no floats. */
static bool is_for_coder(const ControlEmitter *control, const HloInstruction *instruction) {
  if (control->coder == NULL) return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (type_is_float(instruction->operands[i]->shape->type)) return true;
  }
  return type_is_float(instruction->shape->type);
}

/* Rank-0 arithmetic stands in the control function itself; false when |instruction| is not of that kind. */
static bool emit_scalar(ControlEmitter *control, const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  if (family != EMIT_elementwise && family != EMIT_copy && family != EMIT_bitcast_convert) return false;
  if (!control_is_scalar(instruction->shape) || is_for_coder(control, instruction)) return false;
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
  control->computes = true;
  return true;
}

/* --- control flow --- */

/* A node of a loop's state that is carried in registers. */
typedef struct Carry {
  int node;
  int64_t count;         /* of its elements */
  LLVMValueRef *initial; /* they, before the loop */
} Carry;

/* All of a loop's. */
typedef struct CarriedState {
  int count;
  Carry *carries;
  LLVMValueRef **variables; /* of the loop: the elements of all, in order */
} CarriedState;

/* Whether the elements of |value| are in registers when it is made. */
static bool is_made_in_registers(ControlEmitter *control, const HloValue *value) {
  const HloInstruction *maker = value->definition.instruction;
  while (is_plain_copy(maker)) maker = maker->operands[0];
  if (control->coder != NULL || value->is_phi || hlo_is_view(maker) ||
      !emit_family_makes_kernels(emit_family(maker->opcode)))
    return false;
  const KernelUses *row = kernel_table_find(control->kernels, maker);
  return row != NULL && row->count == 1 && kernel_is_unrolled(row->uses[0].kernel);
}

/* Scalars, and small arrays that each round makes in registers. */
static bool is_carried(ControlEmitter *control, const HloInstruction *loop, int node) {
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  const Shape *shape = shape_node(loop->shape, node);
  const HloValue *state = buffer_assignment_value(control->assignment, body->parameters.data[0], node);
  if (!shape_is_array(shape) || state == NULL || !state->is_phi || control->registers[state->id] != NULL) return false;
  if (control_is_scalar(shape)) return true;
  const HloValue *next = buffer_assignment_value(control->assignment, body->root, node);
  return vec_type_supported(shape->type) && shape_element_count(shape) <= KERNEL_UNROLLED_ELEMENTS &&
         shape_element_count(shape) > 0 && next != NULL && is_made_in_registers(control, next);
}

static CarriedState find_carries(ControlEmitter *control, const HloInstruction *loop) {
  int total = shape_node_count(loop->shape);
  CarriedState state = {.carries = ARENA_NEW_ARRAY(control->arena, Carry, total)};
  for (int node = 0; node < total; node++) {
    if (!is_carried(control, loop, node)) continue;
    LLVMValueRef *initial = control_elements(control, loop->operands[0], node);
    state.carries[state.count++] = (Carry){node, shape_element_count(shape_node(loop->shape, node)), initial};
  }
  return state;
}

/* Begins the loop; one variable for each element, known at the state's three positions. */
static IrLoop begin_carrying(ControlEmitter *control, const HloInstruction *loop, CarriedState *state) {
  int64_t total = 0;
  for (int c = 0; c < state->count; c++) total += state->carries[c].count;
  LLVMValueRef *elements = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, total), *element = elements;
  state->variables = ARENA_NEW_ARRAY(control->arena, LLVMValueRef *, total);
  for (int c = 0; c < state->count; c++) {
    for (int64_t i = 0; i < state->carries[c].count; i++) *element++ = state->carries[c].initial[i];
  }
  for (int64_t i = 0; i < total; i++) state->variables[i] = &elements[i];
  IrLoop code = ir_loop_begin(control->vec->builder, state->variables, (int)total);
  /* the variables change when the body ends: what is known of a round is a copy */
  LLVMValueRef *known = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, total);
  for (int64_t i = 0; i < total; i++) known[i] = elements[i];
  const HloInstruction *positions[] = {hlo_instruction_computation(loop, HLO_ATTR_BODY)->parameters.data[0],
                                       hlo_instruction_computation(loop, HLO_ATTR_CONDITION)->parameters.data[0], loop};
  for (int c = 0; c < state->count; known += state->carries[c++].count) {
    for (int i = 0; i < 3; i++) control_know_elements(control, positions[i], state->carries[c].node, known);
  }
  return code;
}

/* The variables become the elements of |root|. */
static void carry_on(ControlEmitter *control, const HloInstruction *root, const CarriedState *state) {
  LLVMValueRef **variable = state->variables;
  for (int c = 0; c < state->count; c++) {
    LLVMValueRef *next = control_elements(control, root, state->carries[c].node);
    for (int64_t i = 0; i < state->carries[c].count; i++) **variable++ = next[i];
  }
}

/* What a coder does around |loop|. */
static Status emit_around(ControlEmitter *control, const HloInstruction *loop, bool is_after) {
  const KernelCoder *coder = control->coder;
  if (coder == NULL) return STATUS_OK;
  CodeAround around = {0};
  VecBuilder vec = *control->vec;
  vec.builder = LLVMCreateBuilderInContext(vec.context);
  const char *name = arena_printf(control->arena, "loop.%lld", (long long)control->function_count++);
  Status status = coder->emit_around(coder->self, &vec, loop, is_after, name, control->diag, &around);
  LLVMDisposeBuilder(vec.builder);
  if (status != STATUS_OK || around.count == 0) return status;
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, around.count + 2);
  for (int32_t i = 0; i < around.count; i++) arguments[i] = control_address(control, loop, around.leaves[i]);
  arguments[around.count] = kernel_scratch(control, loop, &around.code);
  control_call_checked(control, around.code.function, arguments, (unsigned)around.count + 1);
  return STATUS_OK;
}

static Status control_computation(ControlEmitter *control, const HloComputation *computation);

static Status control_while(ControlEmitter *control, const HloInstruction *loop) {
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  RETURN_IF_ERROR(emit_around(control, loop, false));
  control->computes = true; /* what it does in each round adds up */
  CarriedState state = find_carries(control, loop);
  IrLoop code = begin_carrying(control, loop, &state);
  int64_t height = control->known.count;
  RETURN_IF_ERROR(control_computation(control, condition));
  ir_loop_leave_unless(&code, control_scalar(control, condition->root, 0));
  RETURN_IF_ERROR(control_computation(control, body));
  carry_on(control, body->root, &state);
  ir_loop_end(&code);
  control_forget(control, height);
  return emit_around(control, loop, true);
}

/* Branch number of a conditional: pred true is branch 0; an index out of range is the last branch. */
static LLVMValueRef branch_number(ControlEmitter *control, const HloInstruction *conditional) {
  LLVMValueRef selector = control_scalar(control, conditional->operands[0], 0);
  LLVMTypeRef s32 = LLVMInt32TypeInContext(control->vec->context);
  if (conditional->operands[0]->shape->type != TYPE_PRED) return selector;
  return LLVMBuildSelect(control->vec->builder, selector, LLVMConstInt(s32, 0, false), LLVMConstInt(s32, 1, false), "");
}

static Status control_conditional(ControlEmitter *control, const HloInstruction *conditional) {
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

/* Sends and receives are to and from the host, or other devices. */
static Status emit_outside(ControlEmitter *control, const HloInstruction *instruction) {
  bool is_between = module_collectives_at(control->collectives, instruction) >= 0;
  return is_between ? control_collective(control, instruction) : control_call(control, instruction);
}

/* What was computed before any run is there. */
static Status emit_call(ControlEmitter *control, const HloInstruction *call) {
  const HloComputation *callee = hlo_instruction_computation(call, HLO_ATTR_TO_APPLY);
  return callee == control->module->preparation ? STATUS_OK : control_computation(control, callee);
}

static Status emit_instruction(ControlEmitter *control, const HloInstruction *instruction) {
  if (hlo_is_view(instruction) || emit_scalar(control, instruction)) return STATUS_OK;
  switch (emit_family(instruction->opcode)) {
    case EMIT_parameter:
    case EMIT_constant:
    case EMIT_tuple:
    case EMIT_forward: return STATUS_OK;
    case EMIT_call: return emit_call(control, instruction);
    case EMIT_while: return control_while(control, instruction);
    case EMIT_conditional: return control_conditional(control, instruction);
    case EMIT_rng_state: control_random_state(control, instruction); return STATUS_OK;
    case EMIT_collective: return control_collective(control, instruction);
    case EMIT_device_id: control_device_id(control, instruction); return STATUS_OK;
    case EMIT_outside_call: return emit_outside(control, instruction);
    case EMIT_unsupported:
      return diag_error(control->diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-op",
                        "'%s' is not supported yet", hlo_opcode_text(instruction->opcode));
    default: return control_kernels(control, instruction);
  }
}

/* What LLVM does for a basic block takes the square of its length: for selecting and ordering instructions, and for
 * what may alias what. */
enum { BLOCK_INSTRUCTIONS = 128 };

/* Every so many instructions the code goes on in a new block.  Its address is taken, or LLVM would join it to the one
 * before. */
static void limit_block(ControlEmitter *control) {
  if (++control->block_instructions < BLOCK_INSTRUCTIONS) return;
  control->block_instructions = 0;
  const VecBuilder *vec = control->vec;
  LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(vec->context, control->function, "");
  LLVMBuildBr(vec->builder, next);
  LLVMBlockAddress(control->function, next);
  LLVMPositionBuilderAtEnd(vec->builder, next);
}

static Status control_computation(ControlEmitter *control, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    limit_block(control);
    RETURN_IF_ERROR(emit_instruction(control, computation->instructions.data[i]));
    control_profile_after(control, computation->instructions.data[i]);
    control_poison_after(control, computation->instructions.data[i]);
  }
  return STATUS_OK;
}

static LLVMValueRef add_entry(const VecBuilder *vec, const char *name) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0);
  LLVMTypeRef parameters[4] = {pointer, pointer, pointer, pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(vec->context), parameters, 4, false);
  return ir_function_add(vec->module, name, type, LLVMExternalLinkage);
}

/* The function |name| that calls |inner| with subnormal numbers flushed.  Apart from it, so that no arithmetic of the
 * control function can move to where the mode is another. */
static void add_flushing_entry(const VecBuilder *vec, const char *name, LLVMValueRef inner) {
  LLVMValueRef function = add_entry(vec, name), arguments[4];
  LLVMSetLinkage(inner, LLVMInternalLinkage);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, function, ""));
  LLVMGetParams(function, arguments);
  LLVMValueRef before = vec_flush_begin(vec);
  LLVMValueRef result = LLVMBuildCall2(vec->builder, LLVMGlobalGetValueType(inner), inner, arguments, 4, "");
  vec_flush_end(vec, before);
  LLVMBuildRet(vec->builder, result);
  ir_function_leave_plain(function);
}

/* The function |name|, with |control| as it is at its beginning: of the entry, or of the preparation. */
static Status emit_function(ControlEmitter *control, const ControlOptions *options, const char *name,
                            const HloComputation *computation) {
  const VecBuilder *vec = control->vec;
  bool flushes = vec->target->flushes_denormals;
  control->function = add_entry(vec, flushes ? arena_printf(control->arena, "%s.flushing", name) : name);
  control->registers = ARENA_NEW_ARRAY(control->arena, ValueRegisters *, control->assignment->value_count);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, control->function, ""));
  control_enter(control);
  if (options->poison) control_poison_begin(control);
  if (options->profile) control_profile_begin(control, arena_printf(control->arena, "%s_profile", options->name));
  Status status = control_computation(control, computation);
  if (!control->is_preparation) control_finish_collectives(control, computation->root);
  LLVMBuildRet(vec->builder, LLVMConstInt(LLVMInt32TypeInContext(vec->context), 0, false));
  if (!control->computes) ir_function_leave_plain(control->function);
  if (flushes) add_flushing_entry(vec, name, control->function);
  return status;
}

Status control_emit(const VecBuilder *vec, const HloModule *module, const BufferAssignment *assignment,
                    const ControlOptions *options, DiagSink *diag) {
  Arena *arena = arena_create();
  ControlEmitter control = {.vec = vec, .module = module, .assignment = assignment, .diag = diag, .arena = arena};
  control.kernels = options->kernels;
  control.strategies = options->strategies;
  control.collectives = options->collectives;
  control.coder = options->coder;
  control.has_no_kernels = options->has_no_kernels;
  control.constant_place = options->constants;
  control.constant_file = options->constant_file;
  int_map_init(&control.functions, arena);
  ControlEmitter run = control;
  Status status = emit_function(&run, options, options->name, module->entry);
  if (status == STATUS_OK && module->preparation != NULL) {
    control.functions = run.functions;
    control.function_count = run.function_count;
    control.is_preparation = true;
    status = emit_function(&control, options, options->prepare_name, module->preparation);
  }
  arena_destroy(arena);
  return status;
}
