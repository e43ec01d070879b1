/* The C name of a compiled module's function: an identifier that a header can declare in C and C++, and that stands in
 * no other symbol's way when it is linked.
 *
 * Not free are the words of C and C++, identifiers that C reserves ("_…", "…_t"), names of the C libraries and of the
 * macros in their headers, 'main', and what xlac/abi.h declares.  A function with the name of one of the C libraries
 * would be called in its place, by the object itself as well. */
#ifndef XLAC_CODEGEN_ENTRY_NAME_H
#define XLAC_CODEGEN_ENTRY_NAME_H

#include "codegen/call/call_targets.h"

#define ENTRY_NAME_PREFIX "hlo_"
#define ENTRY_PREPARE_SUFFIX "_prepare" /* of the function that computes what is prepared */

/* A C identifier. */
bool entry_name_is_identifier(StringView name);

/* Of an identifier. */
bool entry_name_is_free(StringView name);

/* A free name made of |name|, a file's or a module's: '_' for what no identifier has, after the prefix (or, where it
 * ends in "_t", before another '_') where it is not free, or one of |targets| is called like the function or its
 * descriptor; |out_is_changed| says so.  In |arena|. */
StringView entry_name_made_of(Arena *arena, StringView name, const CallTargets *targets, bool *out_is_changed);

#endif
