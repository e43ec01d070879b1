/* Through ORC. */
#include "codegen/llvm/llvm_jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <string.h>

#include "codegen/llvm/llvm_target.h"

struct LlvmJit {
  Arena *arena;
  LLVMOrcLLJITRef jit;
  const char *cause; /* the first error that ORC met on its own, NULL: none */
};

static const char *message_of(Arena *arena, LLVMErrorRef error) {
  char *message = LLVMGetErrorMessage(error);
  const char *copy = arena_copy_string(arena, message, strlen(message));
  LLVMDisposeErrorMessage(message);
  return copy;
}

/* ORC tells who looked a symbol up only that it is not there; why, it says here. */
static void keep_cause(void *self, LLVMErrorRef error) {
  LlvmJit *jit = self;
  const char *message = message_of(jit->arena, error);
  if (jit->cause == NULL) jit->cause = message;
}

static Status failed(const LlvmJit *jit, DiagSink *diag, LLVMErrorRef error) {
  const char *message = message_of(jit->arena, error);
  return diag_error(diag, STATUS_IO, NO_LOC, "jit-load", "cannot load the compiled module: %s",
                    jit->cause ? jit->cause : message);
}

static LLVMErrorRef define_symbols(LlvmJit *jit, LLVMOrcJITDylibRef library, const LlvmJitSymbol *symbols,
                                   int64_t count) {
  if (count == 0) return NULL;
  LLVMOrcCSymbolMapPair *pairs = ARENA_NEW_ARRAY(jit->arena, LLVMOrcCSymbolMapPair, count);
  for (int64_t i = 0; i < count; i++) {
    const char *name = arena_copy_string(jit->arena, symbols[i].name.data, symbols[i].name.size);
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit->jit, name);
    pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)symbols[i].address;
    pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
  }
  return LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, (size_t)count));
}

/* What is loaded is code already: which processor it is for makes no difference, and ORC need not ask for this one's.
 */
static LLVMOrcJITTargetMachineBuilderRef any_machine(void) {
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(HOST_TRIPLE, &target, &message)) XLAC_BUG("no back end: %s", message);
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(target, HOST_TRIPLE, "", "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  return LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine);
}

static LLVMErrorRef load(LlvmJit *jit, StringView object, const LlvmJitSymbol *symbols, int64_t symbol_count) {
  llvm_initialize();
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, any_machine());
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit->jit, builder);
  if (error != NULL) return error;
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(jit->jit), keep_cause, jit);
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(jit->jit);
  error = define_symbols(jit, library, symbols, symbol_count);
  if (error != NULL) return error;
  LLVMOrcDefinitionGeneratorRef process = NULL;
  error =
      LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit->jit), NULL, NULL);
  if (error != NULL) return error;
  LLVMOrcJITDylibAddGenerator(library, process);
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data, object.size, "module");
  if (buffer == NULL) out_of_memory(object.size);
  return LLVMOrcLLJITAddObjectFile(jit->jit, library, buffer);
}

Status llvm_jit_load(StringView object, const LlvmJitSymbol *symbols, int64_t symbol_count, DiagSink *diag,
                     LlvmJit **out_jit) {
  Arena *arena = arena_create();
  LlvmJit *jit = ARENA_NEW(arena, LlvmJit);
  jit->arena = arena;
  LLVMErrorRef error = load(jit, object, symbols, symbol_count);
  if (error != NULL) {
    Status status = failed(jit, diag, error);
    llvm_jit_destroy(jit);
    return status;
  }
  *out_jit = jit;
  return STATUS_OK;
}

Status llvm_jit_find(const LlvmJit *jit, const char *symbol, DiagSink *diag, void **out_address) {
  LLVMOrcExecutorAddress address;
  LLVMErrorRef error = LLVMOrcLLJITLookup(jit->jit, &address, symbol);
  if (error != NULL) return failed(jit, diag, error);
  *out_address = (void *)(uintptr_t)address;
  return STATUS_OK;
}

void llvm_jit_destroy(LlvmJit *jit) {
  if (jit == NULL) return;
  if (jit->jit != NULL) {
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(jit->jit);
    if (error != NULL) LLVMConsumeError(error);
  }
  arena_destroy(jit->arena);
}
