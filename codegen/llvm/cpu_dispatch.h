/* Choosing among the variants of one object when it runs. */
#ifndef XLAC_CODEGEN_LLVM_CPU_DISPATCH_H
#define XLAC_CODEGEN_LLVM_CPU_DISPATCH_H

#include <llvm-c/Core.h>

#include "codegen/target/cpu_level.h"

/* Adds the public function |name|, which calls the best of |count| |variants| (by CpuVariantId, all of one type, two at
 * least) that the processor and its operating system can run, or a lower one named by the environment variable
 * XLAC_CPU.  The choice is made in the first call and kept in an atomic word: calls from several threads at once all
 * find the same. */
void cpu_dispatch_emit(LLVMModuleRef module, const char *name, const LLVMValueRef *variants, int count);

#endif
