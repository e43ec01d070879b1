#include "cli/compile_cache.h"

#include <stdlib.h>

#include "base/monotonic_clock.h"
#include "compiler/options/compilation_setup.h"

const char *compile_cache_path(const Session *session) {
  const char *given = session_option_text(session, OPTION_CACHE_DIR, NULL);
  const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (given != NULL) return given;
  if (caches != NULL && caches[0] == '/') return arena_printf(session->arena, "%s/xlac", caches);
  return home != NULL && home[0] == '/' ? arena_printf(session->arena, "%s/.cache/xlac", home) : NULL;
}

void compile_cache_begin(Session *session, bool by_default, CompilationCache *out_cache) {
  *out_cache = (CompilationCache){.limit = options_cache_limit(session->options),
                                  .advice = "'--cache-dir=DIR' names another folder, '--no-cache' does without"};
  bool is_wanted = by_default || session_option_given(session, OPTION_CACHE_DIR);
  if (!is_wanted || session_option_given(session, OPTION_NO_CACHE) || options_ask_for_compilation(session->options))
    return;
  out_cache->path = compile_cache_path(session);
  if (out_cache->path != NULL) return;
  diag_remark(session->diag, NO_LOC, "cache", "no compile cache: neither XDG_CACHE_HOME nor HOME says where it is");
  diag_note(session->diag, NO_LOC, "'--cache-dir=DIR' names a folder, '--no-cache' does without");
}

bool compile_cache_find(Session *session, CompilationCache *cache, StringView purpose, CompiledProgram *out_program) {
  if (cache->path == NULL) return false;
  double start = monotonic_seconds();
  driver_doing(session, "looking into the compile cache", NULL);
  bool is_found = compilation_cache_find(cache, &session->compilation, purpose, out_program);
  if (is_found) session->compilation.object = out_program->object;
  driver_end_phase(session, "cache", start);
  return is_found;
}

void compile_cache_keep(Session *session, const CompilationCache *cache, StringView map) {
  if (!cache->has_key) return;
  double start = monotonic_seconds();
  compilation_cache_keep(cache, &session->compilation, map);
  driver_end_phase(session, "cache", start);
}
