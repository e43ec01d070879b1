/* Calls out of a module: custom calls, each as a function of the object that hands its arguments over. */
#ifndef XLAC_CODEGEN_CALL_CALL_H
#define XLAC_CODEGEN_CALL_CALL_H

#include <llvm-c/Core.h>

#include "codegen/call/call_targets.h"

/* Declares |targets|, those of |module|, and adds what its calls need.  To be called while |llvm_module| is empty:
 * names of the object's own functions give way to those declared here.  STATUS_INVALID (code "call-target") for names
 * that no symbol outside can have: the object's own |entry_name| and its descriptor, and LLVM's. */
MUST_USE Status call_declare(LLVMModuleRef llvm_module, const HloModule *module, const CallTargets *targets,
                             const char *entry_name, DiagSink *diag);

/* Adds "xlac.constants", which finds the file of large constants (constants.ll); after call_declare, if that is called.
 */
void call_declare_constants(LLVMModuleRef llvm_module);
/* The same of "xlac.prepared", which finds the memory of what is prepared (prepared.ll). */
void call_declare_prepared(LLVMModuleRef llvm_module);

/* Adds an internal function |name|: i32 (ptr for each leaf of the operands, ptr for each leaf of the result, ptr
 * to call_work_bytes(call), ptr XlacRunOptions).  It makes the call of |call| and returns 0, or XLAC_CALL_FAILED after
 * on_failure was told; leaves without bytes get null.  A located error for attributes that cannot be read
 * ("call-attributes"), and for what handlers cannot be given ("unsupported-type", "unsupported-call"). */
MUST_USE Status call_emit(LLVMModuleRef llvm_module, const HloInstruction *call, const char *name, DiagSink *diag,
                          LLVMValueRef *out_function);

#endif
