#include "library/program_cache.h"

#include <errno.h>
#include <string.h>

/* Programs of the library have no maps, so that those of the command line are no use to it. */
#define PURPOSE SV("library")

void program_cache_init(const XlacOptions *options, ProgramCache *out_cache) {
  *out_cache = (ProgramCache){0};
  if (options == NULL) return;
  for (int r = 0; r < XLAC_REPORT_COUNT; r++)
    if (options->wants[r]) return;
  const OptionValue *limit = &options->values.values[OPTION_CACHE_LIMIT];
  out_cache->path = options->values.values[OPTION_CACHE_DIR].text;
  out_cache->limit = limit->given ? limit->integer : COMPILATION_CACHE_LIMIT;
}

static void remark(const ProgramCache *cache, const Compilation *compilation, const char *what) {
  diag_remark(compilation->diag, NO_LOC, "cache", "%s the compile cache '%s': %s", what, cache->path, strerror(errno));
}

bool program_cache_get(ProgramCache *cache, const Compilation *compilation, CompiledProgram *out_program) {
  if (cache->path == NULL) return false;
  if (!compilation_cache_key(compilation, PURPOSE, &cache->key)) {
    diag_remark(compilation->diag, NO_LOC, "cache",
                "no compile cache: this program was linked without a build identifier");
    cache->path = NULL;
    return false;
  }
  DiskCache disk;
  if (!disk_cache_open(cache->path, cache->limit, &disk)) {
    remark(cache, compilation, "cannot open");
    cache->path = NULL;
    return false;
  }
  bool is_found = compilation_cache_get(&disk, &cache->key, compilation, out_program);
  disk_cache_close(&disk);
  cache->last = compilation->diag->last;
  return is_found;
}

void program_cache_put(const ProgramCache *cache, const Compilation *compilation) {
  if (cache->path == NULL || compilation->diag->last != cache->last) return;
  DiskCache disk;
  bool is_open = disk_cache_open(cache->path, cache->limit, &disk);
  bool is_kept = is_open && compilation_cache_put(&disk, &cache->key, compilation, SV(""));
  if (!is_kept) remark(cache, compilation, "cannot write to");
  if (is_open) disk_cache_close(&disk);
}
