/* CompiledProgram: what a compilation leaves for later, as a value and as bytes that stand alone: the code, its
 * signature, what has to be linked, and what is told of it.  What caches keep, and what is written to be loaded again.
 *
 * The bytes are little-endian and hold no pointers; texts and lists in them are read where they stand.  Who reads them
 * runs the code in them: well-formed is all that is checked. */
#ifndef XLAC_COMPILER_COMPILED_PROGRAM_H
#define XLAC_COMPILER_COMPILED_PROGRAM_H

#include "compiler/compilation.h"

typedef struct CompiledProgram {
  CompiledObject object;
  StringView target;         /* what the code is for, of llvm_describe_target */
  bool is_native;            /* that is the processor of the machine which compiled it */
  int64_t lower_bound_bytes; /* of the module's memory (BufferAssignment) */
  StringView map;            /* the buffer map; empty: none was made */
} CompiledProgram;

/* After compilation_generate.  |map| is the caller's; all is shared with the compilation but the target, in its arena.
 */
void compiled_program_of(const Compilation *compilation, StringView map, CompiledProgram *out_program);

/* In |arena|. */
StringView compiled_program_write(Arena *arena, const CompiledProgram *program);
/* |bytes| have to start at a multiple of 16 and to outlive the program, which shares them; lists live in |arena|.
 * Targets have no places.  False when they are not what compiled_program_write gives. */
MUST_USE bool compiled_program_read(Arena *arena, StringView bytes, CompiledProgram *out_program);

/* Whether this machine may run the code: it is for no one processor, or for one like this machine's.  |out_here| (empty
 * when it may) is what code for this one would be for, in |arena|. */
bool compiled_program_runs_here(Arena *arena, const CompiledProgram *program, StringView *out_here);

/* Gives the targets of |program|, which was read, their places in |module|, one that it could be made of. */
void compiled_program_set_places(Arena *arena, const HloModule *module, CompiledProgram *program);

#endif
