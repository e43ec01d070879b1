/* Object code loaded into this process.  Includes nothing of LLVM. */
#ifndef XLAC_CODEGEN_LLVM_LLVM_JIT_H
#define XLAC_CODEGEN_LLVM_LLVM_JIT_H

#include "base/diagnostic.h"

/* A symbol that the object calls and does not have, and where it is. */
typedef struct LlvmJitSymbol {
  StringView name;
  void *address;
} LlvmJitSymbol;

typedef struct LlvmJit LlvmJit;

/* Loads the bytes of an object.  What it does not define is |symbols|, which come first, or found in this process;
 * their code must stay as long.  STATUS_INVALID with a diagnostic ("jit-load") when it cannot be loaded.  Ended by
 * llvm_jit_destroy. */
MUST_USE Status llvm_jit_load(StringView object, const LlvmJitSymbol *symbols, int64_t symbol_count, DiagSink *diag,
                              LlvmJit **out_jit);
/* The address of what the object defines as |symbol|; STATUS_INVALID ("jit-load") when it, or something it calls, is
 * missing. */
MUST_USE Status llvm_jit_find(const LlvmJit *jit, const char *symbol, DiagSink *diag, void **out_address);
/* NULL is allowed. */
void llvm_jit_destroy(LlvmJit *jit);

#endif
