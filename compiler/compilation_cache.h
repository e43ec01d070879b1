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

/* The program under |key| for the module that was loaded, its targets with their places there; it lives in the
 * compilation's arena.  False: there is none. */
MUST_USE bool compilation_cache_get(const DiskCache *cache, const ContentDigest *key, const Compilation *compilation,
                                    CompiledProgram *out_program);
/* Keeps what compilation_generate made; |map|: the buffer map or empty.  False with errno (disk_cache_put). */
MUST_USE bool compilation_cache_put(const DiskCache *cache, const ContentDigest *key, const Compilation *compilation,
                                    StringView map);

#endif
