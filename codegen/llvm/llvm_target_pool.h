/* Target machines between two compilations: to make one, with what LLVM finds out about its processor, takes as long as
 * a quarter of a tiny module's compilation.  Any number of threads take and give. */
#ifndef XLAC_CODEGEN_LLVM_LLVM_TARGET_POOL_H
#define XLAC_CODEGEN_LLVM_LLVM_TARGET_POOL_H

#include <llvm-c/TargetMachine.h>

#include "codegen/llvm/llvm_options.h"

/* A machine that was given under |key|, now the caller's; NULL: there is none. */
LLVMTargetMachineRef llvm_target_pool_take(LlvmTargetPool *pool, const char *key);

/* Keeps |machine|, which is as it was made, or disposes it where there are many. */
void llvm_target_pool_give(LlvmTargetPool *pool, const char *key, LLVMTargetMachineRef machine);

#endif
