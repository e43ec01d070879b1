/* The file of a module's large constants (--constants=file), from which its caller maps them: the object then has none
 * of them in itself.  What it begins with is XlacConstants (xlac/abi.h). */
#ifndef XLAC_CODEGEN_EMIT_CONSTANT_FILE_H
#define XLAC_CODEGEN_EMIT_CONSTANT_FILE_H

#include "hlo/analysis/buffer_assignment.h"

/* Constants of fewer bytes stay in the object: what is smaller is not worth a place of its own. */
#define CONSTANT_FILE_LEAST_BYTES 1024

typedef struct ConstantFile {
  StringView bytes;           /* all of the file; empty: no constant is so large, and there is no file */
  uint64_t hash;              /* of what follows its XlacConstants */
  const int64_t *offsets;     /* in the file, by allocation; 0: it is not there */
  const HloInstruction *some; /* the first constant in it, for messages */
} ConstantFile;

/* Places the constants of |assignment| in its order, each at a multiple of XLAC_CONSTANTS_ALIGNMENT.  In |arena|. */
ConstantFile constant_file_make(Arena *arena, const BufferAssignment *assignment);

/* The bytes of a constant's allocation in the order of its layout: the literal's own, or in |arena|. */
const void *constant_bytes(Arena *arena, const BufferAllocation *allocation);

#endif
