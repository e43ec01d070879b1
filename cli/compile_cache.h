/* The compile cache of the command line: where it is, when it is used, and what is said when it cannot be. */
#ifndef XLAC_CLI_COMPILE_CACHE_H
#define XLAC_CLI_COMPILE_CACHE_H

#include "cli/driver.h"
#include "compiler/compilation_cache.h"

typedef struct CompileCache {
  const char *path; /* the folder; NULL: no cache is used */
  bool has_key;     /* of the model that is compiled now */
  ContentDigest key;
  const Diagnostic *last; /* what was said last when the key was made */
} CompileCache;

/* The folder that --cache-dir names, or xlac's own in the user's cache directory ($XDG_CACHE_HOME, or ~/.cache); NULL:
 * none of them is known. */
const char *compile_cache_path(const Session *session);
/* --cache-limit, or the usual one. */
int64_t compile_cache_limit(const Session *session);

/* Whether a cache is used: with |by_default|, or where --cache-dir is given, unless --no-cache is, or an option asks
 * for what only a compilation tells. */
void compile_cache_begin(Session *session, bool by_default, CompileCache *out_cache);

/* After the module was loaded: the program that was kept for it, as compilation.object; |purpose|: what the outputs are
 * told apart by besides the options.  False: it has to be compiled. */
MUST_USE bool compile_cache_find(Session *session, CompileCache *cache, StringView purpose,
                                 CompiledProgram *out_program);
/* Keeps what was compiled instead, with the buffer map or "", but for modules that the compilation had something to say
 * about, which a program from a cache would not.  Where it cannot be kept: a remark (code "cache"). */
void compile_cache_keep(Session *session, CompileCache *cache, StringView map);

#endif
