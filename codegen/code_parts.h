/* A module's code in parts, each an LLVM module of its own, compiled by several threads and joined into one object. */
#ifndef XLAC_CODEGEN_CODE_PARTS_H
#define XLAC_CODEGEN_CODE_PARTS_H

#include "codegen/code_draft.h"
#include "codegen/emit/constant_file.h"
#include "codegen/oncore/emit/tile_table.h"

typedef struct CodePartsOptions {
  const HloModule *module;
  const BufferAssignment *assignment;
  const CodeDraft *draft; /* measured */
  const TileTable *tiles; /* of the draft's plans; NULL: it has none */
  const char *entry_name;
  bool poison;
  const ConstantFile *constants; /* NULL: all constants are in the object */
  int threads;                   /* at most so many, this one included */
} CodePartsOptions;

/* How many parts there are: a matter of the module and the target alone, never of the threads.  1: it is not worth it,
 * or it cannot be done: calls out of the module. */
int code_parts_count(const CodePartsOptions *options);

/* The object, in |arena|, of a module of several parts: the same bytes for any number of threads.  The control function
 * of each kind of processor is a part, with its Kernels if they are few; otherwise these follow in parts of their own.
 * On a vector processor all control functions are one part with the functions of plans, and tiles are in others.
 * Anything but STATUS_OK, with no diagnostic: something has no code, and who compiles the module as a whole is told
 * what. */
MUST_USE Status code_parts_compile(Arena *arena, const CodePartsOptions *options, StringView *out_bytes);

#endif
