/* The C header of a compiled module: all that a caller includes. */
#ifndef XLAC_CODEGEN_MODULE_HEADER_H
#define XLAC_CODEGEN_MODULE_HEADER_H

#include "codegen/call/call.h"
#include "codegen/emit/constant_file.h"
#include "hlo/analysis/buffer_assignment.h"

/* The header's text, in |arena|, for C and C++: what arguments and results are, the text of xlac/abi.h, the function
 * |entry_name| and its descriptor, and as macros that begin with the name in capital letters (NAME_) the numbers that
 * memory known at compile time needs:
 *   NAME_WORKSPACE_BYTES, NAME_WORKSPACE_ALIGNMENT, NAME_SCRATCH_BYTES_PER_WORKER;
 *   NAME_PREPARED_BYTES, NAME_PREPARED_ALIGNMENT of what is computed once, 0 and none: nothing is
 *   NAME_ARGUMENTS, NAME_RESULTS          how many there are
 *   NAME_ARGUMENT_x, NAME_BYTES_OF_x      position and size of the argument called x (hlo/ir/leaf_names.h)
 *   NAME_RESULT_0_BYTES                   size of a result
 *   NAME_CONSTANTS_BYTES                  of the file of its large constants, 0: they are in the object.
 * |targets|: what the header says has to be linked besides; |constants|: the file, NULL where there is none. */
StringView module_header(const HloModule *module, const BufferAssignment *assignment, const CallTargets *targets,
                         const ConstantFile *constants, StringView entry_name, Arena *arena);

#endif
