/* The LLVM target machine of one compilation: CPU variants, data layout; objects out of LLVM modules. */
#ifndef XLAC_CODEGEN_LLVM_LLVM_TARGET_H
#define XLAC_CODEGEN_LLVM_LLVM_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "base/diagnostic.h"
#include "codegen/llvm/llvm_options.h"
#include "codegen/target/cpu_level.h"

/* Of code for this machine's kind. */
#define HOST_TRIPLE "x86_64-pc-linux-gnu"

/* Code for one kind of processor. */
typedef struct LlvmVariant {
  const char *name;     /* "baseline" …; NULL when the object has but one variant */
  char *cpu, *features; /* of LLVM's allocator */
  VecTarget vec;
} LlvmVariant;

typedef struct LlvmTarget {
  LLVMTargetMachineRef machine; /* for the first variant: what it can do, they all can */
  LLVMTargetDataRef data_layout;
  char *triple;         /* of LLVM's allocator */
  LlvmTargetPool *pool; /* where the machine goes back to, or NULL */
  char *key;            /* under which name, of LLVM's allocator */
  int variant_count;
  LlvmVariant variants[CPU_VARIANT_COUNT]; /* from the least to the best */
} LlvmTarget;

/* Sets LLVM up, once in a process: before anything of it is used. */
void llvm_initialize(void);

/* Takes the processor that a vector processor's description names, otherwise resolves
 * "native" and "dispatch"; creates the machine (relocation model PIC, code generation level Less, None for opt_level 0;
 * loop strength reduction off: it costs a fifth of the time and gains nothing here).  STATUS_INVALID for an unknown
 * CPU, STATUS_UNSUPPORTED for a triple without a back end.  Ended by llvm_target_dispose. */
MUST_USE Status llvm_target_create(const LlvmOptions *options, DiagSink *diag, LlvmTarget *out_target);
void llvm_target_dispose(LlvmTarget *target);

/* An empty module of |context| for the target. */
LLVMModuleRef llvm_target_module(const LlvmTarget *target, LLVMContextRef context);

/* Marks the functions with bodies after |last| (NULL: all) as code of |variant|: its CPU, features and vector width,
 * and, if there are several variants, its name at the end of theirs, so that the next variant's never meet them; hidden
 * ones without a body, which another module of the object has, get that name too. */
void llvm_variant_mark(const LlvmVariant *variant, LLVMModuleRef module, LLVMValueRef last);

/* Verifies and emits |module| in the form |output| into |arena|. */
MUST_USE Status llvm_target_emit(const LlvmTarget *target, LLVMModuleRef module, LlvmOutput output, Arena *arena,
                                 DiagSink *diag, StringView *out_bytes);

#endif
