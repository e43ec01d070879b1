/* Shared libraries with functions that compiled modules call: custom calls' targets. */
#ifndef XLAC_RUNTIME_ENGINES_FUNCTION_LIBRARY_H
#define XLAC_RUNTIME_ENGINES_FUNCTION_LIBRARY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/string_view.h"

/* The library in |file|, which stays loaded; a name without a slash is a file here, not one of the system's libraries.
 * NULL: it cannot be loaded, and |out_reason|, which lives until the thread's next such call, says why. */
void *function_library_open(Arena *arena, const char *file, const char **out_reason);

/* The function that |library| itself has under the name |symbol|, not a library that it was linked with: an "exp" there
 * is not meant.  NULL: there is none. */
void *function_library_find(void *library, const char *symbol);

/* Whether |symbol| is one of JAX's names of LAPACK's routines. */
bool lapack_library_has(StringView symbol);
/* xlac's own library of these, beside the file that this code is in, beside the program, or where these are installed;
 * NULL when it is nowhere. */
void *lapack_library_open(Arena *arena);

/* The library |name| of an engine of communication, where LAPACK's would be; NULL, and |*out_reason|: it is not there,
 * or its MPI is not. */
void *mpi_library_open(Arena *arena, const char *name, const char **out_reason);

#endif
