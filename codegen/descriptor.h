/* The descriptor of a compiled module (xlac/abi.h says what it means). */
#ifndef XLAC_CODEGEN_DESCRIPTOR_H
#define XLAC_CODEGEN_DESCRIPTOR_H

#include <llvm-c/Core.h>

#include "hlo/analysis/buffer_assignment.h"

#define DESCRIPTOR_WORKSPACE_ALIGNMENT 64

/* Adds the constant |entry_name|_descriptor to |llvm_module|. */
void descriptor_emit(LLVMModuleRef llvm_module, const HloModule *module, const BufferAssignment *assignment,
                     StringView entry_name, Arena *scratch);

#endif
