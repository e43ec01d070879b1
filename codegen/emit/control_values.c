/* Where the values of a module are while its control function is written: addresses of leaves, elements in registers.
 */
#include <string.h>

#include "codegen/emit/control_internal.h"
#include "codegen/ir/tensor_constants.h"

static LLVMTypeRef pointer_type(const ControlEmitter *control) {
  return LLVMPointerTypeInContext(control->vec->context, 0);
}

LLVMValueRef control_offset_address(const ControlEmitter *control, LLVMValueRef base, int64_t offset) {
  if (offset == 0) return base;
  LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(control->vec->context), (unsigned long long)offset, true);
  return LLVMBuildInBoundsGEP2(control->vec->builder, LLVMInt8TypeInContext(control->vec->context), base, &index, 1,
                               "");
}

/* Element |index| of a table of pointers: |loaded| at the entry, or where it is used. */
static LLVMValueRef pointer_at(const ControlEmitter *control, LLVMValueRef table, const LLVMValueRef *loaded,
                               int64_t index) {
  if (loaded[index] != NULL) return loaded[index];
  LLVMValueRef slot = control_offset_address(control, table, index * (int64_t)sizeof(void *));
  return LLVMBuildLoad2(control->vec->builder, pointer_type(control), slot, "");
}

static LLVMValueRef argument_pointer(const ControlEmitter *control, int64_t parameter) {
  return pointer_at(control, LLVMGetParam(control->function, 0), control->arguments, parameter);
}

static LLVMValueRef result_pointer(const ControlEmitter *control, int64_t result) {
  return pointer_at(control, LLVMGetParam(control->function, 1), control->results, result);
}

static LLVMValueRef allocation_pointer(const ControlEmitter *control, const BufferAllocation *allocation) {
  switch (allocation->kind) {
    case ALLOCATION_PARAMETER:
      /* donated: the result pointer is the address, whether the caller passed the same one or not (control_enter
       * copies) */
      return allocation->result >= 0 ? result_pointer(control, allocation->result)
                                     : argument_pointer(control, allocation->parameter);
    case ALLOCATION_RESULT: return result_pointer(control, allocation->result);
    case ALLOCATION_PREPARED: return control_offset_address(control, control->prepared, allocation->prepared_offset);
    case ALLOCATION_CONSTANT: return control->constants[allocation->index];
    case ALLOCATION_TEMP: return control_offset_address(control, control->workspace, allocation->workspace_offset);
  }
  XLAC_BUG("unknown kind of allocation");
}

LLVMValueRef control_address(ControlEmitter *control, const HloInstruction *instruction, int node) {
  BufferSlice slice = buffer_assignment_slice(control->assignment, instruction, node);
  if (slice.allocation == NULL) return NULL;
  return control_allocation_address(control, slice.allocation, slice.offset);
}

LLVMValueRef control_allocation_address(const ControlEmitter *control, const BufferAllocation *allocation,
                                        int64_t offset) {
  return control_offset_address(control, allocation_pointer(control, allocation), offset);
}

/* --- scalars --- */

bool control_is_scalar(const Shape *shape) {
  return shape_is_scalar(shape) && vec_type_supported(shape->type);
}

LLVMValueRef control_scalar(ControlEmitter *control, const HloInstruction *instruction, int node) {
  return control_elements(control, instruction, node)[0];
}

/* A view may show the bytes as elements of another type. */
LLVMValueRef *control_known_elements(ControlEmitter *control, const HloInstruction *instruction, int node) {
  const Shape *shape = shape_node(instruction->shape, node);
  const HloValue *value = buffer_assignment_value(control->assignment, instruction, node);
  const ValueRegisters *known = value == NULL ? NULL : control->registers[value->id];
  if (known == NULL || known->type != shape->type || known->count != shape_element_count(shape)) return NULL;
  return known->elements;
}

static LLVMValueRef *constant_element(ControlEmitter *control, const HloInstruction *constant) {
  uint64_t bits = 0;
  memcpy(&bits, hlo_instruction_literal(constant)->data, (size_t)type_storage_bytes(constant->shape->type));
  LLVMValueRef *element = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, 1);
  *element = vec_constant(control->vec, constant->shape->type, bits, 1);
  return element;
}

LLVMValueRef *control_elements(ControlEmitter *control, const HloInstruction *instruction, int node) {
  LLVMValueRef *known = control_known_elements(control, instruction, node);
  if (known != NULL) return known;
  const Shape *shape = shape_node(instruction->shape, node);
  if (instruction->opcode == HLO_CONSTANT && control_is_scalar(shape)) return constant_element(control, instruction);
  LLVMValueRef address = control_address(control, instruction, node);
  if (address == NULL) XLAC_BUG("'%.*s' has neither a register nor an address", SV_ARG(instruction->name));
  int64_t count = shape_element_count(shape), bytes = type_storage_bytes(shape->type);
  LLVMValueRef *elements = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, count);
  for (int64_t i = 0; i < count; i++)
    elements[i] = vec_load(control->vec, shape->type, control_offset_address(control, address, i * bytes), NULL, 1);
  control_know_elements(control, instruction, node, elements);
  return elements;
}

void control_know_elements(ControlEmitter *control, const HloInstruction *instruction, int node,
                           LLVMValueRef *elements) {
  const Shape *shape = shape_node(instruction->shape, node);
  const HloValue *value = buffer_assignment_value(control->assignment, instruction, node);
  if (value == NULL || control->registers[value->id] != NULL) return;
  ValueRegisters *registers = ARENA_NEW(control->arena, ValueRegisters);
  *registers = (ValueRegisters){shape->type, shape_element_count(shape), elements};
  control->registers[value->id] = registers;
  array_push(&control->known, control->arena, value->id);
}

void control_set_scalar(ControlEmitter *control, const HloInstruction *instruction, int node,
                        LLVMValueRef register_value) {
  LLVMValueRef *elements = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, 1);
  elements[0] = register_value;
  control_know_elements(control, instruction, node, elements);
  LLVMValueRef address = control_address(control, instruction, node);
  if (address != NULL)
    vec_store(control->vec, shape_node(instruction->shape, node)->type, register_value, address, NULL, 1);
}

void control_forget(ControlEmitter *control, int64_t height) {
  while (control->known.count > height) control->registers[array_pop(&control->known)] = NULL;
}

/* --- the entry --- */

static LLVMValueRef add_bytes(const ControlEmitter *control, const char *name, const void *bytes, int64_t size,
                              unsigned alignment) {
  LLVMValueRef data = LLVMConstStringInContext2(control->vec->context, bytes, (size_t)size, true);
  LLVMValueRef global = LLVMAddGlobal(control->vec->module, LLVMTypeOf(data), name);
  LLVMSetInitializer(global, data);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetAlignment(global, alignment);
  return global;
}

#define CONSTANT_ALIGNMENT 64

/* One global for all CPU variants of the module. */
static LLVMValueRef constant_global(const ControlEmitter *control, const BufferAllocation *allocation) {
  const char *name = arena_printf(control->arena, "constant.%lld", (long long)allocation->index);
  LLVMValueRef known = LLVMGetNamedGlobal(control->vec->module, name);
  if (known != NULL) return known;
  LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(control->vec->context), (uint64_t)allocation->size);
  LLVMValueRef global;
  if (control->constant_place == CONSTANTS_OF_ANOTHER_PART) {
    global = LLVMAddGlobal(control->vec->module, type, name);
    LLVMSetGlobalConstant(global, true);
    LLVMSetAlignment(global, CONSTANT_ALIGNMENT);
  } else {
    const void *bytes = constant_bytes(control->arena, allocation);
    global = add_bytes(control, name, bytes, allocation->size, CONSTANT_ALIGNMENT);
  }
  if (control->constant_place != CONSTANTS_PRIVATE) {
    LLVMSetLinkage(global, LLVMExternalLinkage);
    LLVMSetVisibility(global, LLVMHiddenVisibility);
  }
  return global;
}

/* The pointer that the support function |name| finds for |instruction|, given |count| numbers more; where it finds
 * none, the module's function ends. */
static LLVMValueRef find_given(const ControlEmitter *control, const char *name, const HloInstruction *instruction,
                               const int64_t *numbers, int count) {
  const VecBuilder *vec = control->vec;
  TensorConstants texts = {vec->context, vec->module, control->arena};
  LLVMValueRef arguments[5] = {LLVMGetParam(control->function, 3), tensor_text_constant(&texts, instruction->name),
                               tensor_text_constant(&texts, sv_from_cstring(hlo_opcode_text(instruction->opcode)))};
  for (int i = 0; i < count; i++) arguments[3 + i] = tensor_int(&texts, 64, numbers[i]);
  LLVMValueRef find = LLVMGetNamedFunction(vec->module, name);
  if (find == NULL) XLAC_BUG("%s was not declared", name);
  LLVMValueRef base =
      LLVMBuildCall2(vec->builder, LLVMGlobalGetValueType(find), find, arguments, 3 + (unsigned)count, "");
  LLVMBasicBlockRef missing = LLVMAppendBasicBlockInContext(vec->context, control->function, "");
  LLVMBasicBlockRef found = LLVMAppendBasicBlockInContext(vec->context, control->function, "");
  LLVMBuildCondBr(vec->builder, LLVMBuildIsNull(vec->builder, base, ""), missing, found);
  LLVMPositionBuilderAtEnd(vec->builder, missing);
  LLVMBuildRet(vec->builder, tensor_int(&texts, 32, XLAC_CALL_FAILED));
  LLVMPositionBuilderAtEnd(vec->builder, found);
  return base;
}

/* The file of large constants. */
static LLVMValueRef find_constant_file(const ControlEmitter *control) {
  const ConstantFile *file = control->constant_file;
  int64_t numbers[] = {(int64_t)file->bytes.size, (int64_t)file->hash};
  return find_given(control, "xlac.constants", file->some, numbers, 2);
}

/* The memory of what is prepared: where the function is to leave it, or what the caller has of it. */
static LLVMValueRef find_prepared(const ControlEmitter *control) {
  const HloModule *module = control->module;
  if (control->assignment->prepared_bytes == 0) return NULL;
  if (control->is_preparation) return LLVMGetParam(control->function, 1);
  return find_given(control, "xlac.prepared", module->preparation->root, NULL, 0);
}

/* Named by what they are, so that equal ones are one, of all CPU variants. */
LLVMValueRef control_parameters(const ControlEmitter *control, PrimitiveType type, const uint64_t *bits,
                                int64_t count) {
  size_t size = (size_t)type_storage_bytes(type);
  StringBuilder name;
  sb_init(&name, control->arena);
  sb_printf(&name, "parameters.%s", type_text(type));
  char *bytes = arena_alloc(control->arena, (size_t)count * size);
  for (int64_t i = 0; i < count; i++) {
    sb_printf(&name, ".%llx", (unsigned long long)bits[i]);
    memcpy(bytes + (size_t)i * size, &bits[i], size);
  }
  const char *text = arena_copy_string(control->arena, name.data, name.size);
  LLVMValueRef known = LLVMGetNamedGlobal(control->vec->module, text);
  return known != NULL ? known : add_bytes(control, text, bytes, count * (int64_t)size, 8);
}

/* More pointers than this would be spilled anyway, and thousands of values that live through the whole function cost
 * the register allocator the square of their number. */
#define ENTRY_POINTERS 16

static LLVMValueRef *load_pointers(const ControlEmitter *control, unsigned parameter, int64_t count) {
  LLVMValueRef *pointers = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, count);
  for (int64_t i = 0; i < count && count <= ENTRY_POINTERS; i++)
    pointers[i] = pointer_at(control, LLVMGetParam(control->function, parameter), pointers, i);
  return pointers;
}

/* A donated argument that the caller passes apart from its result is copied into it. */
static void copy_declined_donation(ControlEmitter *control, const BufferAllocation *allocation) {
  LLVMBuilderRef builder = control->vec->builder;
  LLVMValueRef from = argument_pointer(control, allocation->parameter),
               to = result_pointer(control, allocation->result);
  LLVMBasicBlockRef copy = LLVMAppendBasicBlockInContext(control->vec->context, control->function, "copy");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(control->vec->context, control->function, "");
  LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntNE, from, to, ""), copy, behind);
  LLVMPositionBuilderAtEnd(builder, copy);
  LLVMValueRef size =
      LLVMConstInt(LLVMInt64TypeInContext(control->vec->context), (unsigned long long)allocation->size, false);
  LLVMBuildMemCpy(builder, to, 1, from, 1, size);
  LLVMBuildBr(builder, behind);
  LLVMPositionBuilderAtEnd(builder, behind);
}

static int64_t parameter_leaf_count(const HloComputation *entry) {
  int64_t count = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++) count += shape_leaf_count(entry->parameters.data[i]->shape);
  return count;
}

void control_enter(ControlEmitter *control) {
  const BufferAssignment *assignment = control->assignment;
  const HloComputation *entry = control->module->entry;
  int64_t arguments = parameter_leaf_count(entry);
  int64_t results =
      control->is_preparation ? 0 : shape_leaf_count(entry->root->shape) - control->module->prepared_count;
  control->constants = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, assignment->allocation_count);
  control->arguments = load_pointers(control, 0, arguments);
  control->results = load_pointers(control, 1, results);
  control->workspace = LLVMGetParam(control->function, 2);
  control->prepared = find_prepared(control);
  const ConstantFile *file = control->constant_file;
  LLVMValueRef base = file != NULL ? find_constant_file(control) : NULL;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind == ALLOCATION_CONSTANT)
      control->constants[i] = file != NULL && file->offsets[i] > 0
                                  ? control_offset_address(control, base, file->offsets[i])
                                  : constant_global(control, allocation);
    if (allocation->kind == ALLOCATION_PARAMETER && allocation->result >= 0 && !control->is_preparation)
      copy_declined_donation(control, allocation);
  }
}
