/* The descriptor and the C header of a compiled module (xlac/abi.h says what they mean). */
#ifndef XLAC_CODEGEN_DESCRIPTOR_H
#define XLAC_CODEGEN_DESCRIPTOR_H

#include <llvm-c/Core.h>

#include "codegen/call/call.h"
#include "hlo/analysis/buffer_assignment.h"

/* Adds the constant |entry_name|_descriptor to |llvm_module|. */
void descriptor_emit(LLVMModuleRef llvm_module, const HloModule *module, const BufferAssignment *assignment,
                     StringView entry_name, Arena *scratch);

/* The header's text, in |arena|; |targets|: what it says has to be linked besides. */
StringView descriptor_header(const HloModule *module, const CallTargets *targets, StringView entry_name, Arena *arena);

#endif
