/* xlac cache --stats|--prune|--clear: what the compile cache holds, and less of it. */
#include <errno.h>
#include <string.h>

#include "cli/compile_cache.h"
#include "compiler/options/compilation_setup.h"

static Status check_usage(Session *session) {
  int count = session_option_given(session, OPTION_STATS) + session_option_given(session, OPTION_PRUNE) +
              session_option_given(session, OPTION_CLEAR);
  if (count == 1) return STATUS_OK;
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                    "'cache' needs one of '--stats', '--prune' and '--clear'");
}

static Status failed(Session *session, const char *path) {
  return diag_error(session->diag, STATUS_IO, NO_LOC, "cache-io", "the compile cache '%s': %s", path, strerror(errno));
}

static Status print_statistics(Session *session, const DiskCache *cache, const char *path) {
  DiskCacheSize size;
  if (!disk_cache_size(cache, &size)) return failed(session, path);
  StringBuilder text;
  sb_init(&text, session->arena);
  sb_printf(&text, "folder   %s\nentries  %lld\nbytes    %lld\nlimit    %lld\n", path, (long long)size.entries,
            (long long)size.bytes, (long long)cache->limit);
  return driver_add_output(session, "-", sb_view(&text));
}

static Status remove_entries(Session *session, const DiskCache *cache, const char *path) {
  int64_t limit = session_option_given(session, OPTION_CLEAR) ? 0 : cache->limit;
  DiskCacheSize removed;
  if (!disk_cache_prune(cache, limit, &removed)) return failed(session, path);
  StringView line = sv_printf(session->arena, "removed %lld entries of %lld bytes\n", (long long)removed.entries,
                              (long long)removed.bytes);
  return driver_add_output(session, "-", line);
}

static Status run(Session *session) {
  const char *path = compile_cache_path(session);
  if (path == NULL)
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                      "neither '--cache-dir' nor XDG_CACHE_HOME or HOME says where the compile cache is");
  DiskCache cache;
  if (!disk_cache_open(path, options_cache_limit(session->options), &cache)) return failed(session, path);
  bool is_question = session_option_given(session, OPTION_STATS);
  Status status = is_question ? print_statistics(session, &cache, path) : remove_entries(session, &cache, path);
  disk_cache_close(&cache);
  return status;
}

int cache_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, run(session));
}
