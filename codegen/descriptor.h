/* The descriptor of a compiled module (xlac/abi.h says what it means). */
#ifndef XLAC_CODEGEN_DESCRIPTOR_H
#define XLAC_CODEGEN_DESCRIPTOR_H

#include <llvm-c/Core.h>

#include "codegen/collective/module_collectives.h"
#include "hlo/analysis/buffer_assignment.h"

#define DESCRIPTOR_WORKSPACE_ALIGNMENT 64

/* Adds the constant |entry_name|_descriptor to |llvm_module|.  |collectives|: as declared there (collective_declare),
 * NULL where the module needs no devices. */
void descriptor_emit(LLVMModuleRef llvm_module, const HloModule *module, const BufferAssignment *assignment,
                     const ModuleCollectives *collectives, StringView entry_name, Arena *scratch);

#endif
