#include "cli/compile_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic_clock.h"

const char *compile_cache_path(const Session *session) {
  const char *given = session_option_text(session, OPTION_CACHE_DIR, NULL);
  const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (given != NULL) return given;
  if (caches != NULL && caches[0] == '/') return arena_printf(session->arena, "%s/xlac", caches);
  return home != NULL && home[0] == '/' ? arena_printf(session->arena, "%s/.cache/xlac", home) : NULL;
}

int64_t compile_cache_limit(const Session *session) {
  return session_option_integer(session, OPTION_CACHE_LIMIT, COMPILATION_CACHE_LIMIT);
}

/* What these ask for is told while the module is compiled, or is a file that the key does not know. */
static bool asks_for_compilation(const Session *session) {
  static const OptionId asking[] = {
      OPTION_DUMP_HLO_BEFORE, OPTION_DUMP_HLO_AFTER, OPTION_DUMP_LIVENESS, OPTION_DUMP_BUFFER_ASSIGNMENT,
      OPTION_DUMP_PLAN,       OPTION_DUMP_GRAPH,     OPTION_WHY_LIVE,      OPTION_EXPLAIN_SHARING,
      OPTION_REPORT,          OPTION_TRACE,          OPTION_STATS,         OPTION_TIME_REPORT,
      OPTION_BUDGET,          OPTION_PASS_LIMIT,     OPTION_VERIFY_EACH,   OPTION_PLAN,
      OPTION_RUNNER};
  for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++)
    if (session_option_given(session, asking[i])) return true;
  return false;
}

static void remark(Session *session, const char *what, const char *path) {
  diag_remark(session->diag, NO_LOC, "cache", "%s the compile cache '%s': %s", what, path, strerror(errno));
  diag_note(session->diag, NO_LOC, "'--cache-dir=DIR' names another folder, '--no-cache' does without");
}

void compile_cache_begin(Session *session, bool by_default, CompileCache *out_cache) {
  *out_cache = (CompileCache){0};
  bool is_wanted = by_default || session_option_given(session, OPTION_CACHE_DIR);
  if (!is_wanted || session_option_given(session, OPTION_NO_CACHE) || asks_for_compilation(session)) return;
  out_cache->path = compile_cache_path(session);
  if (out_cache->path != NULL) return;
  diag_remark(session->diag, NO_LOC, "cache", "no compile cache: neither XDG_CACHE_HOME nor HOME says where it is");
  diag_note(session->diag, NO_LOC, "'--cache-dir=DIR' names a folder, '--no-cache' does without");
}

bool compile_cache_find(Session *session, CompileCache *cache, StringView purpose, CompiledProgram *out_program) {
  cache->has_key = false;
  if (cache->path == NULL) return false;
  double start = monotonic_seconds();
  time_limit_doing(session->time_limit, "looking into the compile cache", NULL);
  cache->has_key = compilation_cache_key(&session->compilation, purpose, &cache->key);
  cache->last = session->diag->last;
  DiskCache disk;
  bool is_open = cache->has_key && disk_cache_open(cache->path, compile_cache_limit(session), &disk);
  if (!cache->has_key)
    diag_remark(session->diag, NO_LOC, "cache", "no compile cache: this program was linked without a build identifier");
  else if (!is_open)
    remark(session, "cannot open", cache->path);
  cache->has_key &= is_open;
  if (!is_open) return false;
  bool is_found = compilation_cache_get(&disk, &cache->key, &session->compilation, out_program);
  disk_cache_close(&disk);
  if (is_found) session->compilation.object = out_program->object;
  driver_end_phase(session, "cache", start);
  return is_found;
}

void compile_cache_keep(Session *session, CompileCache *cache, StringView map) {
  if (!cache->has_key || session->diag->last != cache->last) return;
  double start = monotonic_seconds();
  DiskCache disk;
  bool is_open = disk_cache_open(cache->path, compile_cache_limit(session), &disk);
  bool is_kept = is_open && compilation_cache_put(&disk, &cache->key, &session->compilation, map);
  if (!is_kept) remark(session, "cannot write to", cache->path);
  if (is_open) disk_cache_close(&disk);
  driver_end_phase(session, "cache", start);
}
