/* For unit tests: functions that are written as LLVM's text. */
#ifndef XLAC_CODEGEN_IR_IR_TESTING_H
#define XLAC_CODEGEN_IR_IR_TESTING_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

typedef struct IrText {
  Arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMValueRef function; /* that of the name "f" */
} IrText;

static inline void ir_text_verify(const IrText *text) {
  char *message = NULL;
  if (LLVMVerifyModule(text->module, LLVMReturnStatusAction, &message)) fail_msg("%s", message);
  LLVMDisposeMessage(message);
}

/* Disposed by ir_text_end. */
static inline IrText ir_text_read(const char *source) {
  IrText text = {.arena = arena_create(), .context = LLVMContextCreate()};
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(source, strlen(source), "test");
  char *message = NULL;
  if (LLVMParseIRInContext(text.context, buffer, &text.module, &message)) fail_msg("%s", message);
  ir_text_verify(&text);
  text.function = LLVMGetNamedFunction(text.module, "f");
  return text;
}

static inline void ir_text_end(IrText *text) {
  LLVMDisposeModule(text->module);
  LLVMContextDispose(text->context);
  arena_destroy(text->arena);
}

/* The block of that name; NULL: there is none. */
static inline LLVMBasicBlockRef ir_text_block(const IrText *text, const char *name) {
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(text->function);
  while (block != NULL && strcmp(LLVMGetBasicBlockName(block), name) != 0) block = LLVMGetNextBasicBlock(block);
  return block;
}

/* How many instructions of |opcode| are in |block|. */
static inline int ir_text_count(LLVMBasicBlockRef block, LLVMOpcode opcode) {
  int count = 0;
  LLVMValueRef at = LLVMGetFirstInstruction(block);
  for (; at != NULL; at = LLVMGetNextInstruction(at)) count += LLVMGetInstructionOpcode(at) == opcode;
  return count;
}

#endif
