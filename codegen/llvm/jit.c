/* Objects loaded into this process through ORC. */
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"

struct CodegenJit {
  Arena *arena;
  LLVMOrcLLJITRef jit;
  XlacFunction function;
  const XlacDescriptor *descriptor;
};

static Status failed(DiagSink *diag, LLVMErrorRef error) {
  char *message = LLVMGetErrorMessage(error);
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "jit-load", "cannot load the compiled module: %s", message);
  LLVMDisposeErrorMessage(message);
  return status;
}

static LLVMErrorRef look_up(CodegenJit *jit, const char *symbol, LLVMOrcExecutorAddress *out_address) {
  return LLVMOrcLLJITLookup(jit->jit, out_address, symbol);
}

/* Targets of custom calls are what the caller says, whatever this process has under their names. */
static LLVMErrorRef define_targets(CodegenJit *jit, LLVMOrcJITDylibRef library, const CallTargets *targets,
                                   void *const *addresses) {
  if (targets->count == 0) return NULL;
  LLVMOrcCSymbolMapPair *pairs = ARENA_NEW_ARRAY(jit->arena, LLVMOrcCSymbolMapPair, targets->count);
  for (int64_t i = 0; i < targets->count; i++) {
    StringView symbol = targets->targets[i].symbol;
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit->jit, arena_copy_string(jit->arena, symbol.data, symbol.size));
    pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)addresses[i];
    pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
  }
  return LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, (size_t)targets->count));
}

static LLVMErrorRef load(CodegenJit *jit, const CompiledObject *object, void *const *targets) {
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit->jit, LLVMOrcCreateLLJITBuilder());
  if (error != NULL) return error;
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(jit->jit);
  error = define_targets(jit, library, &object->targets, targets);
  if (error != NULL) return error;
  LLVMOrcDefinitionGeneratorRef process = NULL;
  error =
      LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit->jit), NULL, NULL);
  if (error != NULL) return error;
  LLVMOrcJITDylibAddGenerator(library, process);
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(object->bytes.data, object->bytes.size, "module");
  error = LLVMOrcLLJITAddObjectFile(jit->jit, library, buffer);
  if (error != NULL) return error;
  const char *entry = arena_copy_string(jit->arena, object->entry_name.data, object->entry_name.size);
  LLVMOrcExecutorAddress function, descriptor;
  error = look_up(jit, entry, &function);
  if (error == NULL) error = look_up(jit, arena_printf(jit->arena, "%s_descriptor", entry), &descriptor);
  if (error != NULL) return error;
  jit->function = (XlacFunction)(uintptr_t)function;
  jit->descriptor = (const XlacDescriptor *)(uintptr_t)descriptor;
  return NULL;
}

Status codegen_jit_load(const CompiledObject *object, void *const *targets, DiagSink *diag, CodegenJit **out_jit) {
  Arena *arena = arena_create();
  CodegenJit *jit = ARENA_NEW(arena, CodegenJit);
  jit->arena = arena;
  LLVMErrorRef error = load(jit, object, targets);
  if (error != NULL) {
    Status status = failed(diag, error);
    codegen_jit_destroy(jit);
    return status;
  }
  *out_jit = jit;
  return STATUS_OK;
}

XlacFunction codegen_jit_function(const CodegenJit *jit) {
  return jit->function;
}

const XlacDescriptor *codegen_jit_descriptor(const CodegenJit *jit) {
  return jit->descriptor;
}

void codegen_jit_destroy(CodegenJit *jit) {
  if (jit == NULL) return;
  if (jit->jit != NULL) {
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(jit->jit);
    if (error != NULL) LLVMConsumeError(error);
  }
  arena_destroy(jit->arena);
}
