/* Calls: a function around each, which hands over what its version of the interface wants. */
#include "codegen/call/call_internal.h"
#include "hlo/ir/custom_call.h"
#include "xlac/ffi.h"

/* --- pieces of code --- */

LLVMValueRef call_int(const CallCode *code, LLVMTypeRef type, int64_t value) {
  (void)code;
  return LLVMConstInt(type, (unsigned long long)value, true);
}

LLVMValueRef call_offset(const CallCode *code, LLVMValueRef base, int64_t offset) {
  LLVMValueRef index = call_int(code, code->i64, offset);
  return LLVMBuildInBoundsGEP2(code->builder, LLVMInt8TypeInContext(code->context), base, &index, 1, "");
}

void call_store(const CallCode *code, LLVMValueRef value, LLVMValueRef base, int64_t offset) {
  LLVMBuildStore(code->builder, value, call_offset(code, base, offset));
}

LLVMValueRef call_constant(const CallCode *code, LLVMValueRef value) {
  LLVMValueRef global = LLVMAddGlobal(code->module, LLVMTypeOf(value), "call.data");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetAlignment(global, 8);
  return global;
}

LLVMValueRef call_text(const CallCode *code, StringView text) {
  return call_constant(code, LLVMConstStringInContext2(code->context, text.data, text.size, false));
}

static LLVMBasicBlockRef call_block(const CallCode *code) {
  return LLVMAppendBasicBlockInContext(code->context, code->function, "");
}

LLVMValueRef call_support(const CallCode *code, const char *name, LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef function = LLVMGetNamedFunction(code->module, name);
  if (function == NULL) XLAC_BUG("'%s' was not declared", name);
  return LLVMBuildCall2(code->builder, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

LLVMValueRef call_failure(const CallCode *code, StringView callee, LLVMValueRef message) {
  LLVMValueRef arguments[] = {code->options, call_text(code, code->call->name), call_text(code, callee), message};
  return call_support(code, "xlac.call.fail", arguments, 4);
}

static void succeed(const CallCode *code) {
  LLVMBuildRet(code->builder, call_int(code, code->i32, 0));
}

LLVMBasicBlockRef call_branch_if_set(const CallCode *code, LLVMValueRef value) {
  LLVMBasicBlockRef set = call_block(code), behind = call_block(code);
  LLVMBuildCondBr(code->builder, LLVMBuildIsNull(code->builder, value, ""), behind, set);
  LLVMPositionBuilderAtEnd(code->builder, set);
  return behind;
}

/* --- typed calls --- */

static Status emit_typed(const CallCode *code) {
  LLVMValueRef frame;
  RETURN_IF_ERROR(call_typed_frame(code, &frame));
  StringView symbol = call_target(code->call);
  LLVMTypeRef type = LLVMFunctionType(code->pointer, (LLVMTypeRef[]){code->pointer}, 1, false);
  LLVMValueRef error =
      LLVMBuildCall2(code->builder, type, call_declared_target(code->module, symbol, code->arena), &frame, 1, "");
  LLVMValueRef future = LLVMBuildLoad2(code->builder, code->pointer,
                                       call_offset(code, frame, (int64_t)offsetof(XLA_FFI_CallFrame, future)), "");
  error = call_support(code, "xlac.ffi.wait", (LLVMValueRef[]){error, future}, 2);
  LLVMBasicBlockRef behind = call_branch_if_set(code, error);
  LLVMValueRef message = call_support(code, "xlac.ffi.message", &error, 1);
  LLVMValueRef result = call_failure(code, symbol, message);
  call_support(code, "xlac.ffi.destroy", &error, 1);
  LLVMBuildRet(code->builder, result);
  LLVMPositionBuilderAtEnd(code->builder, behind);
  succeed(code);
  return STATUS_OK;
}

/* --- older calls --- */

LLVMValueRef call_address_array(const CallCode *code, int first, int count) {
  LLVMTypeRef type = LLVMArrayType2(code->pointer, (uint64_t)count + 1);
  LLVMValueRef array = LLVMBuildAlloca(code->builder, type, "");
  for (int i = 0; i < count; i++) call_store(code, code->leaves[first + i].address, array, i * (int64_t)sizeof(void *));
  return array;
}

static void check_status(const CallCode *code, LLVMValueRef status) {
  LLVMValueRef message = LLVMBuildLoad2(code->builder, code->pointer, status, "");
  LLVMBasicBlockRef behind = call_branch_if_set(code, message);
  LLVMValueRef result = call_failure(code, call_target(code->call), message);
  call_support(code, "xlac.status.clear", &status, 1);
  LLVMBuildRet(code->builder, result);
  LLVMPositionBuilderAtEnd(code->builder, behind);
}

/* void (out, in [, [opaque, opaque size,] status]) */
static Status emit_untyped(const CallCode *code) {
  CustomCallApiVersion version = call_version(code->call);
  const HloAttr *config = hlo_instruction_attr(code->call, HLO_ATTR_BACKEND_CONFIG);
  StringView opaque = config != NULL ? config->value.text : SV("");
  int result_count = code->count - code->operand_count;
  LLVMValueRef in = call_address_array(code, 0, code->operand_count), out;
  if (shape_is_tuple(code->call->shape))
    out = call_address_array(code, code->operand_count, result_count);
  else
    out = code->leaves[code->operand_count].address;
  LLVMValueRef status = NULL, arguments[5] = {out, in};
  LLVMTypeRef types[5] = {code->pointer, code->pointer};
  unsigned count = 2;
  if (version == CUSTOM_CALL_API_VERSION_STATUS_RETURNING_UNIFIED) {
    arguments[count] = call_text(code, opaque);
    types[count++] = code->pointer;
    arguments[count] = call_int(code, code->i64, (int64_t)opaque.size);
    types[count++] = code->i64;
  }
  if (version != CUSTOM_CALL_API_VERSION_ORIGINAL) {
    status = LLVMBuildAlloca(code->builder, code->pointer, "");
    LLVMBuildStore(code->builder, LLVMConstNull(code->pointer), status);
    arguments[count] = status;
    types[count++] = code->pointer;
  }
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(code->context), types, count, false);
  LLVMValueRef target = call_declared_target(code->module, call_target(code->call), code->arena);
  LLVMBuildCall2(code->builder, type, target, arguments, count, "");
  if (status != NULL) check_status(code, status);
  succeed(code);
  return STATUS_OK;
}

/* --- calls that fail --- */

static void emit_trap(const CallCode *code) {
  StringView target = call_target(code->call);
  target = sv_sub(target, sizeof CUSTOM_CALL_TRAP_PREFIX - 1, target.size);
  LLVMValueRef message = call_text(code, SV("it calls back into Python, which is not there (--callbacks=trap)"));
  LLVMBuildRet(code->builder, call_failure(code, target, message));
}

/* --- the function --- */

static void add_leaves(CallCode *code, const Shape *shape) {
  for (int node = 0; node < shape_node_count(shape); node++) {
    const Shape *leaf = shape_node(shape, node);
    if (!shape_is_tuple(leaf)) code->leaves[code->count++].shape = leaf;
  }
}

static void collect_leaves(CallCode *code) {
  int total = shape_leaf_count(code->call->shape);
  for (int i = 0; i < code->call->operand_count; i++) total += shape_leaf_count(code->call->operands[i]->shape);
  code->leaves = ARENA_NEW_ARRAY(code->arena, CallLeaf, total + 1);
  for (int i = 0; i < code->call->operand_count; i++) add_leaves(code, code->call->operands[i]->shape);
  code->operand_count = code->count;
  add_leaves(code, code->call->shape);
}

static void add_function(CallCode *code, const char *name) {
  LLVMTypeRef *types = ARENA_NEW_ARRAY(code->arena, LLVMTypeRef, code->count + 2);
  for (int i = 0; i < code->count + 2; i++) types[i] = code->pointer;
  code->function =
      LLVMAddFunction(code->module, name, LLVMFunctionType(code->i32, types, (unsigned)code->count + 2, false));
  LLVMSetLinkage(code->function, LLVMInternalLinkage);
  for (int i = 0; i < code->count; i++) code->leaves[i].address = LLVMGetParam(code->function, (unsigned)i);
  code->work = LLVMGetParam(code->function, (unsigned)code->count);
  code->options = LLVMGetParam(code->function, (unsigned)code->count + 1);
  LLVMPositionBuilderAtEnd(code->builder, call_block(code));
}

static StringView callee_of(const HloInstruction *call) {
  return call->opcode == HLO_CUSTOM_CALL ? call_target(call) : sv_from_cstring(hlo_opcode_text(call->opcode));
}

static Status check_call(const CallCode *code) {
  const HloInstruction *call = code->call;
  if (hlo_instruction_called_count(call) > 0)
    return diag_error(code->diag, STATUS_UNSUPPORTED, call->loc, "unsupported-call",
                      "'%.*s' is given computations, which no handler can call", SV_ARG(callee_of(call)));
  for (int i = 0; i < code->count; i++) {
    const Shape *shape = code->leaves[i].shape;
    if (!shape_is_array(shape) && shape->type != TYPE_TOKEN)
      return diag_error(code->diag, STATUS_UNSUPPORTED, call->loc, "unsupported-call", "'%.*s' cannot be given %.*s",
                        SV_ARG(callee_of(call)), SV_ARG(shape_text(code->arena, shape, false)));
  }
  return STATUS_OK;
}

static Status emit_body(const CallCode *code) {
  if (custom_call_is_trap(code->call)) {
    emit_trap(code);
    return STATUS_OK;
  }
  if (call_is_transfer(code->call->opcode)) return call_emit_transfer(code);
  return call_version(code->call) == CUSTOM_CALL_API_VERSION_TYPED_FFI ? emit_typed(code) : emit_untyped(code);
}

Status call_emit(LLVMModuleRef llvm_module, const HloInstruction *call, const char *name, DiagSink *diag,
                 LLVMValueRef *out_function) {
  LLVMContextRef context = LLVMGetModuleContext(llvm_module);
  CallCode code = {.arena = arena_create(), .diag = diag, .call = call, .context = context, .module = llvm_module};
  code.builder = LLVMCreateBuilderInContext(context);
  code.pointer = LLVMPointerTypeInContext(context, 0);
  code.i64 = LLVMInt64TypeInContext(context);
  code.i32 = LLVMInt32TypeInContext(context);
  collect_leaves(&code);
  Status status = check_call(&code);
  if (status == STATUS_OK) {
    add_function(&code, name);
    status = emit_body(&code);
  }
  *out_function = code.function;
  LLVMDisposeBuilder(code.builder);
  arena_destroy(code.arena);
  return status;
}
