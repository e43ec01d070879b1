/* The LLVM target machine of one compilation: CPU, features, data layout; objects out of LLVM modules. */
#ifndef XLAC_CODEGEN_LLVM_LLVM_TARGET_H
#define XLAC_CODEGEN_LLVM_LLVM_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "base/diagnostic.h"
#include "codegen/codegen.h"
#include "codegen/vec/vec.h"

typedef struct LlvmTarget {
  LLVMTargetMachineRef machine;
  LLVMTargetDataRef data_layout;
  char *triple, *cpu, *features; /* of LLVM's allocator */
  VecTarget vec;
} LlvmTarget;

/* Initialises the X86 back end once, resolves "native", creates the machine (relocation model PIC, code generation level Less, None for opt_level 0;
 * loop strength reduction off, see reference in the room's README).  STATUS_INVALID for an unknown CPU.  Ended by llvm_target_dispose. */
MUST_USE Status llvm_target_create(const CodegenOptions *options, DiagSink *diag, LlvmTarget *out_target);
void llvm_target_dispose(LlvmTarget *target);

/* Verifies and emits |module| in the form |emit| into |arena|. */
MUST_USE Status llvm_target_emit(const LlvmTarget *target, LLVMModuleRef module, CodegenEmit emit, Arena *arena, DiagSink *diag,
                                 StringView *out_bytes);

#endif
