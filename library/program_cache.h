/* The compile cache of a compilation whose options name one ("cache-dir"). */
#ifndef XLAC_LIBRARY_PROGRAM_CACHE_H
#define XLAC_LIBRARY_PROGRAM_CACHE_H

#include "compiler/compilation_cache.h"
#include "library/library_internal.h"

typedef struct ProgramCache {
  const char *path; /* NULL: none is used */
  int64_t limit;
  ContentDigest key;
  const Diagnostic *last; /* what was said last when the key was made */
} ProgramCache;

/* |options| may be NULL.  None is used for a compilation with reports, which only a compilation can make. */
void program_cache_init(const XlacOptions *options, ProgramCache *out_cache);

/* After the module was loaded: the program that was kept for it, in the compilation's arena.  False: it has to be
 * compiled.  A cache that cannot be opened gives a remark ("cache"), and is not asked again. */
MUST_USE bool program_cache_get(ProgramCache *cache, const Compilation *compilation, CompiledProgram *out_program);
/* Keeps what was compiled instead, unless there was something to say about it, which a kept one would not say. */
void program_cache_put(const ProgramCache *cache, const Compilation *compilation);

#endif
