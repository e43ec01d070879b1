/* The descriptor of a compiled module (xlac/abi.h says what it means). */
#ifndef XLAC_CODEGEN_DESCRIPTOR_H
#define XLAC_CODEGEN_DESCRIPTOR_H

#include <llvm-c/Core.h>

#include "codegen/collective/module_collectives.h"
#include "codegen/emit/constant_file.h"
#include "hlo/analysis/buffer_assignment.h"

#define DESCRIPTOR_WORKSPACE_ALIGNMENT 64
#define DESCRIPTOR_PREPARED_ALIGNMENT 64

/* Adds the constant |entry_name|_descriptor to |llvm_module|.  |collectives|: as declared there (collective_declare),
 * NULL where the module needs no devices.  |constants|: the file of the large ones, NULL where there is none. */
void descriptor_emit(LLVMModuleRef llvm_module, const HloModule *module, const BufferAssignment *assignment,
                     const ModuleCollectives *collectives, const ConstantFile *constants, StringView entry_name,
                     Arena *scratch);

#endif
