/* The signature of a compiled module: what its descriptor says, for those who have not loaded the object. */
#ifndef XLAC_CODEGEN_MODULE_SIGNATURE_H
#define XLAC_CODEGEN_MODULE_SIGNATURE_H

#include "codegen/emit/constant_file.h"
#include "hlo/analysis/buffer_assignment.h"
#include "xlac/abi.h"

/* Equal to the descriptor in the object (codegen/descriptor.h) but for its function 'prepare', in |arena|. |constants|:
 * as there. */
const XlacDescriptor *module_signature(const HloModule *module, const BufferAssignment *assignment,
                                       const ConstantFile *constants, Arena *arena);

#endif
