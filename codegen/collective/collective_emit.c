/* Collectives in code: constants that describe them to the engine, and a function around each part. */
#include "codegen/collective/collective.h"
#include "codegen/ir/ir_support.h"
#include "codegen/ir/tensor_constants.h"
#include "xlac/abi.h"

/* What the text says in numbers. */
_Static_assert(offsetof(XlacRunOptions, device) == 88 && offsetof(XlacRunOptions, communication) == 96 &&
                   offsetof(XlacCommunication, data) == 8 && offsetof(XlacCommunication, start) == 16 &&
                   offsetof(XlacCommunication, wait) == 24 && offsetof(XlacCommunication, finish) == 32 &&
                   sizeof(XlacCommunication) == 40,
               "collective.ll knows these");
_Static_assert(sizeof(XlacCollective) == 104 && sizeof(XlacCollectiveBuffer) == 40, "the constants below are these");

/* The assembler reads the file while this one is compiled, from the root. */
__asm__(
    ".pushsection .rodata\nxlac_collective_text:\n.incbin \"codegen/collective/collective.ll\"\n"
    "xlac_collective_text_end:\n.byte 0\n.popsection\n");
extern const char xlac_collective_text[], xlac_collective_text_end[];

/* --- constants --- */

static LLVMValueRef null_of(const TensorConstants *constants) {
  return LLVMConstNull(LLVMPointerTypeInContext(constants->context, 0));
}

static LLVMValueRef struct_of(const TensorConstants *constants, LLVMValueRef *fields, unsigned count) {
  return LLVMConstStructInContext(constants->context, fields, count, false);
}

static LLVMValueRef array_of(const TensorConstants *constants, LLVMValueRef *values, int64_t count, const char *name) {
  if (count == 0) return null_of(constants);
  return tensor_global(constants, LLVMConstArray2(LLVMTypeOf(values[0]), values, (uint64_t)count), name);
}

static LLVMValueRef buffers_of(const TensorConstants *constants, const ModuleCollective *collective) {
  LLVMValueRef *values = ARENA_NEW_ARRAY(constants->arena, LLVMValueRef, collective->buffer_count);
  for (int64_t i = 0; i < collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &collective->buffers[i];
    LLVMValueRef fields[] = {
        tensor_int(constants, 32, buffer->type),          tensor_int(constants, 32, 0),
        tensor_int(constants, 64, buffer->outer),         tensor_int(constants, 64, buffer->inner),
        tensor_int(constants, 64, buffer->operand_bytes), tensor_int(constants, 64, buffer->result_bytes)};
    values[i] = struct_of(constants, fields, sizeof fields / sizeof *fields);
  }
  return array_of(constants, values, collective->buffer_count, "collective.buffers");
}

static LLVMValueRef groups_of(const TensorConstants *constants, const DeviceGroups *groups) {
  LLVMValueRef *values = ARENA_NEW_ARRAY(constants->arena, LLVMValueRef, groups->count);
  for (int64_t i = 0; i < groups->count; i++) {
    Int64List group = groups->groups[i];
    LLVMValueRef *members = ARENA_NEW_ARRAY(constants->arena, LLVMValueRef, group.count);
    for (int64_t k = 0; k < group.count; k++) members[k] = tensor_int(constants, 64, group.data[k]);
    LLVMValueRef fields[] = {tensor_int(constants, 64, group.count),
                             array_of(constants, members, group.count, "collective.group")};
    values[i] = struct_of(constants, fields, 2);
  }
  return array_of(constants, values, groups->count, "collective.groups");
}

static LLVMValueRef pairs_of(const TensorConstants *constants, const DevicePairs *pairs) {
  LLVMValueRef *values = ARENA_NEW_ARRAY(constants->arena, LLVMValueRef, 2 * pairs->count);
  for (int64_t i = 0; i < pairs->count; i++) {
    values[2 * i] = tensor_int(constants, 64, pairs->data[i].source);
    values[2 * i + 1] = tensor_int(constants, 64, pairs->data[i].target);
  }
  return array_of(constants, values, 2 * pairs->count, "collective.pairs");
}

static LLVMValueRef value_of(const TensorConstants *constants, const ModuleCollective *collective, int64_t index) {
  LLVMValueRef fields[] = {
      tensor_int(constants, 64, (int64_t)sizeof(XlacCollective)),
      tensor_int(constants, 64, index),
      tensor_int(constants, 32, collective->kind),
      tensor_int(constants, 32, collective->reducer),
      tensor_int(constants, 32, collective->is_asynchronous),
      tensor_int(constants, 32, 0),
      tensor_int(constants, 64, hlo_instruction_int(collective->collective, HLO_ATTR_CHANNEL_ID, 0)),
      tensor_text_constant(constants, collective->collective->name),
      tensor_text_constant(constants, sv_from_cstring(hlo_opcode_text(collective->collective->opcode))),
      tensor_int(constants, 64, collective->buffer_count),
      buffers_of(constants, collective),
      tensor_int(constants, 64, collective->groups.count),
      groups_of(constants, &collective->groups),
      tensor_int(constants, 64, collective->pairs.count),
      pairs_of(constants, &collective->pairs),
  };
  return struct_of(constants, fields, sizeof fields / sizeof *fields);
}

static const char *constant_name(Arena *arena, int64_t index) {
  return arena_printf(arena, "xlac.collective.data.%lld", (long long)index);
}

void collective_declare(LLVMModuleRef llvm_module, const HloModule *module, const ModuleCollectives *collectives,
                        Arena *scratch) {
  static const char *const names[] = {"xlac.collective.start", "xlac.collective.wait", "xlac.collective.finish",
                                      "xlac.collective.device"};
  if (!module_needs_devices(module)) return;
  ir_support_link(llvm_module, xlac_collective_text, xlac_collective_text_end);
  ir_support_hide(llvm_module, names, sizeof names / sizeof *names);
  TensorConstants constants = {LLVMGetModuleContext(llvm_module), llvm_module, scratch};
  for (int64_t i = 0; i < collectives->count; i++)
    tensor_global(&constants, value_of(&constants, &collectives->data[i], i), constant_name(scratch, i));
}

LLVMValueRef collective_table(LLVMModuleRef llvm_module, const ModuleCollectives *collectives, Arena *scratch) {
  TensorConstants constants = {LLVMGetModuleContext(llvm_module), llvm_module, scratch};
  LLVMValueRef *values = ARENA_NEW_ARRAY(scratch, LLVMValueRef, collectives->count);
  for (int64_t i = 0; i < collectives->count; i++)
    values[i] = LLVMGetNamedGlobal(llvm_module, constant_name(scratch, i));
  return array_of(&constants, values, collectives->count, "xlac.collectives");
}

/* --- functions --- */

int64_t collective_operand_count(const ModuleCollective *collective) {
  return collective->kind == XLAC_DEVICE_RECV ? 0 : collective->buffer_count;
}

int64_t collective_result_count(const ModuleCollective *collective) {
  if (collective->kind == XLAC_DEVICE_SEND) return 0;
  return collective->kind == XLAC_RAGGED_ALL_TO_ALL ? 1 : collective->buffer_count;
}

typedef struct CollectiveCode {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMTypeRef pointer, i32;
  LLVMValueRef function, options;
  const HloInstruction *instruction; /* which fails when the engine does */
  Arena *scratch;
} CollectiveCode;

static LLVMValueRef call(const CollectiveCode *code, const char *name, LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef function = LLVMGetNamedFunction(code->module, name);
  if (function == NULL) XLAC_BUG("'%s' was not declared", name);
  return LLVMBuildCall2(code->builder, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

/* |count| parameters from |first| on as an array on the stack. */
static LLVMValueRef pointer_array(const CollectiveCode *code, int64_t first, int64_t count) {
  LLVMTypeRef type = LLVMArrayType2(code->pointer, (uint64_t)count + 1);
  LLVMValueRef array = LLVMBuildAlloca(code->builder, type, "");
  LLVMTypeRef i64 = LLVMInt64TypeInContext(code->context);
  for (int64_t i = 0; i < count; i++) {
    LLVMValueRef index = LLVMConstInt(i64, (unsigned long long)i, false);
    LLVMValueRef slot = LLVMBuildInBoundsGEP2(code->builder, code->pointer, array, &index, 1, "");
    LLVMBuildStore(code->builder, LLVMGetParam(code->function, (unsigned)(first + i)), slot);
  }
  return array;
}

/* Returns XLAC_CALL_FAILED where there is a message. */
static void end_if_failed(const CollectiveCode *code, LLVMValueRef message) {
  TensorConstants constants = {code->context, code->module, code->scratch};
  StringView opcode = sv_from_cstring(hlo_opcode_text(code->instruction->opcode));
  LLVMBasicBlockRef failed = LLVMAppendBasicBlockInContext(code->context, code->function, "failed");
  LLVMBasicBlockRef going = LLVMAppendBasicBlockInContext(code->context, code->function, "");
  LLVMBuildCondBr(code->builder, LLVMBuildIsNull(code->builder, message, ""), going, failed);
  LLVMPositionBuilderAtEnd(code->builder, failed);
  LLVMValueRef arguments[] = {code->options, tensor_text_constant(&constants, code->instruction->name),
                              tensor_text_constant(&constants, opcode), message};
  LLVMBuildRet(code->builder, call(code, "xlac.call.fail", arguments, 4));
  LLVMPositionBuilderAtEnd(code->builder, going);
}

/* An internal function |name| of |leaves| pointers and the options, at whose begin code is added. */
static CollectiveCode begin_function(LLVMModuleRef llvm_module, const HloInstruction *instruction, const char *name,
                                     int64_t leaves, Arena *scratch) {
  LLVMContextRef context = LLVMGetModuleContext(llvm_module);
  CollectiveCode code = {.module = llvm_module, .context = context, .instruction = instruction, .scratch = scratch};
  code.builder = LLVMCreateBuilderInContext(context);
  code.pointer = LLVMPointerTypeInContext(context, 0);
  code.i32 = LLVMInt32TypeInContext(context);
  LLVMTypeRef *types = ARENA_NEW_ARRAY(scratch, LLVMTypeRef, leaves + 1);
  for (int64_t i = 0; i <= leaves; i++) types[i] = code.pointer;
  code.function = LLVMAddFunction(llvm_module, name, LLVMFunctionType(code.i32, types, (unsigned)leaves + 1, false));
  LLVMSetLinkage(code.function, LLVMInternalLinkage);
  code.options = LLVMGetParam(code.function, (unsigned)leaves);
  LLVMPositionBuilderAtEnd(code.builder, LLVMAppendBasicBlockInContext(context, code.function, ""));
  return code;
}

static LLVMValueRef end_function(CollectiveCode *code) {
  LLVMBuildRet(code->builder, LLVMConstInt(code->i32, 0, false));
  LLVMDisposeBuilder(code->builder);
  return code->function;
}

LLVMValueRef collective_emit(LLVMModuleRef llvm_module, const ModuleCollectives *collectives, int64_t index,
                             CollectivePart part, const char *name, Arena *scratch) {
  const ModuleCollective *collective = &collectives->data[index];
  int64_t operands = collective_operand_count(collective), results = collective_result_count(collective);
  CollectiveCode code = begin_function(llvm_module, collective->collective, name,
                                       part == COLLECTIVE_WAIT ? 0 : operands + results, scratch);
  LLVMValueRef data = LLVMGetNamedGlobal(llvm_module, constant_name(scratch, index));
  if (part != COLLECTIVE_WAIT) {
    LLVMValueRef arguments[] = {code.options, data, pointer_array(&code, 0, operands),
                                pointer_array(&code, operands, results)};
    end_if_failed(&code, call(&code, "xlac.collective.start", arguments, 4));
  }
  if (part != COLLECTIVE_START)
    end_if_failed(&code, call(&code, "xlac.collective.wait", (LLVMValueRef[]){code.options, data}, 2));
  return end_function(&code);
}

LLVMValueRef collective_emit_finish(LLVMModuleRef llvm_module, const HloInstruction *root, const char *name,
                                    Arena *scratch) {
  CollectiveCode code = begin_function(llvm_module, root, name, 0, scratch);
  end_if_failed(&code, call(&code, "xlac.collective.finish", &code.options, 1));
  return end_function(&code);
}

LLVMValueRef collective_device(LLVMBuilderRef builder, LLVMModuleRef llvm_module, LLVMValueRef options) {
  LLVMValueRef function = LLVMGetNamedFunction(llvm_module, "xlac.collective.device");
  if (function == NULL) XLAC_BUG("'xlac.collective.device' was not declared");
  return LLVMBuildCall2(builder, LLVMGlobalGetValueType(function), function, &options, 1, "");
}
