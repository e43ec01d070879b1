/* Collectives in code: constants that describe them, and functions that ask the run's engine of communication. */
#ifndef XLAC_CODEGEN_COLLECTIVE_COLLECTIVE_H
#define XLAC_CODEGEN_COLLECTIVE_COLLECTIVE_H

#include <llvm-c/Core.h>

#include "codegen/collective/module_collectives.h"

/* Adds the XlacCollective of each of |collectives|, and the support that their calls and the numbers of devices need.
 * Nothing where the module needs no devices.  |scratch|: for the call. */
void collective_declare(LLVMModuleRef llvm_module, const HloModule *module, const ModuleCollectives *collectives,
                        Arena *scratch);

/* The address of the array of addresses of all that were declared; null when there are none. */
LLVMValueRef collective_table(LLVMModuleRef llvm_module, const ModuleCollectives *collectives, Arena *scratch);

/* What a function of collective_emit does. */
typedef enum CollectivePart { COLLECTIVE_WHOLE, COLLECTIVE_START, COLLECTIVE_WAIT } CollectivePart;

/* Adds an internal function |name|: i32 (ptr for each operand, ptr for each result, ptr XlacRunOptions); with
 * COLLECTIVE_WAIT i32 (ptr XlacRunOptions).  It does |part| of collective |index| and returns 0, or XLAC_CALL_FAILED
 * after on_failure was told.  xlac.call.fail must be declared (codegen/call). */
LLVMValueRef collective_emit(LLVMModuleRef llvm_module, const ModuleCollectives *collectives, int64_t index,
                             CollectivePart part, const char *name, Arena *scratch);

/* Likewise a function i32 (ptr XlacRunOptions) that tells the engine that the run has come to its end, at |root|. */
LLVMValueRef collective_emit_finish(LLVMModuleRef llvm_module, const HloInstruction *root, const char *name,
                                    Arena *scratch);

/* Operands and results that a function of collective_emit takes. */
int64_t collective_operand_count(const ModuleCollective *collective);
int64_t collective_result_count(const ModuleCollective *collective);

/* The number of the device that runs, an i64. */
LLVMValueRef collective_device(LLVMBuilderRef builder, LLVMModuleRef llvm_module, LLVMValueRef options);

#endif
