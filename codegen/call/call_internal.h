/* What the calls of this room share. */
#ifndef XLAC_CODEGEN_CALL_CALL_INTERNAL_H
#define XLAC_CODEGEN_CALL_CALL_INTERNAL_H

#include "codegen/call/call.h"

StringView call_target(const HloInstruction *call);
CustomCallApiVersion call_version(const HloInstruction *call);
/* The function that is called; its type is each call's own.  |arena| is scratch. */
LLVMValueRef call_declared_target(LLVMModuleRef llvm_module, StringView symbol, Arena *arena);

/* A leaf of an operand or of the result. */
typedef struct CallLeaf {
  const Shape *shape;
  LLVMValueRef address; /* the function's parameter */
} CallLeaf;

/* The function of one call while it is made; |arena| is scratch. */
typedef struct CallCode {
  Arena *arena;
  DiagSink *diag;
  const HloInstruction *call;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMValueRef function;
  LLVMTypeRef pointer, i64, i32;
  int count, operand_count; /* leaves: those of the operands first, then those of the result */
  CallLeaf *leaves;
  LLVMValueRef work, options;
} CallCode;

LLVMValueRef call_int(const CallCode *code, LLVMTypeRef type, int64_t value);
/* The address |offset| bytes after |base|. */
LLVMValueRef call_offset(const CallCode *code, LLVMValueRef base, int64_t offset);
void call_store(const CallCode *code, LLVMValueRef value, LLVMValueRef base, int64_t offset);
/* A constant of the object; its address. */
LLVMValueRef call_constant(const CallCode *code, LLVMValueRef value);
LLVMValueRef call_text(const CallCode *code, StringView text); /* zero-terminated */
/* The addresses of |count| leaves as an array on the stack. */
LLVMValueRef call_address_array(const CallCode *code, int first, int count);
/* Calls a function of the module's own, declared types and all. */
LLVMValueRef call_support(const CallCode *code, const char *name, LLVMValueRef *arguments, unsigned count);
/* Tells of a failure; what the function then returns. */
LLVMValueRef call_failure(const CallCode *code, StringView callee, LLVMValueRef message);

/* Branches past what follows where |value| is null, and leaves the builder in the block where it is not. */
LLVMBasicBlockRef call_branch_if_set(const CallCode *code, LLVMValueRef value);

/* infeed, outfeed, send, recv (transfer_emit.c) */
bool call_is_transfer(HloOpcode opcode);
MUST_USE Status call_emit_transfer(const CallCode *code);

/* Makes the frame of a typed call on the stack and fills in all of it (typed_frame.c); the address of an
 * XLA_FFI_CallFrame. */
MUST_USE Status call_typed_frame(const CallCode *code, LLVMValueRef *out_frame);

#endif
