/* The compile cache of the command line: where it is, and when it is used. */
#ifndef XLAC_CLI_COMPILE_CACHE_H
#define XLAC_CLI_COMPILE_CACHE_H

#include "cli/driver.h"
#include "compiler/compilation_cache.h"

/* The folder that --cache-dir names, or xlac's own in the user's cache directory ($XDG_CACHE_HOME, or ~/.cache); NULL:
 * none of them is known. */
const char *compile_cache_path(const Session *session);
/* Whether a cache is used: with |by_default|, or where --cache-dir is given, unless --no-cache is, or an option asks
 * for what only a compilation tells. */
void compile_cache_begin(Session *session, bool by_default, CompilationCache *out_cache);

/* compilation_cache_find, timed; what is found is compilation.object. */
MUST_USE bool compile_cache_find(Session *session, CompilationCache *cache, StringView purpose,
                                 CompiledProgram *out_program);
/* compilation_cache_keep, timed. */
void compile_cache_keep(Session *session, const CompilationCache *cache, StringView map);

#endif
