#include "cli/hlo_dump.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool is_wanted(const WordList *names, const HloPass *pass) {
  for (int64_t i = 0; i < names->count; i++)
    if (sv_equal_cstring(names->data[i], "all") || sv_equal_cstring(names->data[i], pass->name)) return true;
  return false;
}

static Status check_is_free(Session *session, const char *path) {
  const FileUse *use = file_uses_find(&session->files, path);
  if (use == NULL) return STATUS_OK;
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "io-same-output", "the dump '%s' would replace %s%s", path,
                    use->is_written ? "the output of " : "", use->name);
}

static Status write_module(HloDump *dump, int number, const char *when, const HloPass *pass, const HloModule *module) {
  Session *session = dump->session;
  const char *directory = session_option_text(session, OPTION_DUMP_DIR, ".");
  if (mkdir(directory, 0777) != 0 && errno != EEXIST)
    return diag_error(session->diag, STATUS_IO, NO_LOC, "io-write", "unable to make the directory '%s': %s", directory,
                      strerror(errno));
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  hlo_module_print(&text, module, &HLO_PRINT_DEFAULT);
  OutputFiles *file = output_files_create(scratch);
  char *path = arena_printf(scratch, "%s/%04d.%s.%s.hlo", directory, number, when, pass->name);
  Status status = check_is_free(session, path);
  if (status == STATUS_OK) status = output_files_add(file, path, sb_view(&text), session->diag);
  if (status == STATUS_OK) status = output_files_commit(file, session->diag);
  arena_destroy(scratch);
  return status;
}

static Status dump_before(void *context, int number, const HloPass *pass, const HloModule *module) {
  HloDump *dump = context;
  return is_wanted(&dump->before, pass) ? write_module(dump, number, "before", pass, module) : STATUS_OK;
}

static Status dump_after(void *context, int number, const HloPass *pass, const HloModule *module, bool changed) {
  HloDump *dump = context;
  (void)changed;
  return is_wanted(&dump->after, pass) ? write_module(dump, number, "after", pass, module) : STATUS_OK;
}

void hlo_dump_init(HloDump *dump, Session *session) {
  *dump = (HloDump){.session = session,
                    .before = option_words(session->arena, session->options, OPTION_DUMP_HLO_BEFORE),
                    .after = option_words(session->arena, session->options, OPTION_DUMP_HLO_AFTER),
                    .observer = {.context = dump, .before = dump_before, .after = dump_after}};
}
