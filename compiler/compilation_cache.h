/* Compiled programs in a DiskCache, under keys: equal keys, equal outputs.
 *
 * A key is made of all that bears on them: the module, as its canonical text, so that neither blanks nor comments
 * count, and the order of its instructions; the options but for those that only watch; the target, for "native" this
 * machine's processor; the build of the compiler. */
#ifndef XLAC_COMPILER_COMPILATION_CACHE_H
#define XLAC_COMPILER_COMPILATION_CACHE_H

#include "base/disk_cache.h"
#include "compiler/compiled_program.h"

/* The limit of a cache's bytes where nobody sets one. */
#define COMPILATION_CACHE_LIMIT (INT64_C(1) << 30)

/* After the module was loaded and before the passes, with the options as they will be then.  |purpose|: what else the
 * caller tells apart, such as the form of a map.  False where the build has no identity (base/build_identity.h): then
 * no output can be told from another build's. */
MUST_USE bool compilation_cache_key(const Compilation *compilation, StringView purpose, ContentDigest *out_key);

/* The cache of one compilation after another. */
typedef struct CompilationCache {
  const char *path;   /* the folder; NULL: none is used */
  int64_t limit;      /* bytes */
  const char *advice; /* a note to what is said when the folder cannot be used; NULL: none */
  /* --- of the latest compilation_cache_find --- */
  bool has_key;
  ContentDigest key;
  const Diagnostic *last; /* what was said last before */
} CompilationCache;

/* After the module was loaded: the program that was kept for it, its targets with their places there; it lives in the
 * compilation's arena.  |purpose| as for the key.  False: it has to be compiled.  A cache that cannot be used gives a
 * remark (code "cache"). */
MUST_USE bool compilation_cache_find(CompilationCache *cache, const Compilation *compilation, StringView purpose,
                                     CompiledProgram *out_program);
/* Keeps what compilation_generate made instead, with |map|, the buffer map or empty; but not for a module that the
 * compilation had something to say about, which a program from a cache would not.  Where it cannot be kept: a remark.
 */
void compilation_cache_keep(const CompilationCache *cache, const Compilation *compilation, StringView map);

#endif
