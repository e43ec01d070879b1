/* xlac reduce --test=CMD MODEL.hlo: a smaller module of which CMD says the same. */
#include <string.h>

#include "base/file_io.h"
#include "base/process.h"
#include "base/scratch_folder.h"
#include "cli/driver.h"
#include "compiler/module_reducer.h"

typedef struct ShellTest {
  Session *session;
  const char *command; /* of the shell */
  ScratchFolder folder;
  const char *name; /* of the module's file in it: the input's own, as functions are called after it */
} ShellTest;

/* |out_failure|: why the command does not exit 0; empty: it does. */
MUST_USE static Status run_test(const ShellTest *test, const HloModule *module, Arena *scratch,
                                StringView *out_failure) {
  StringBuilder text;
  sb_init(&text, scratch);
  hlo_module_print(&text, module, &HLO_PRINT_DEFAULT);
  RETURN_IF_ERROR(scratch_folder_write(&test->folder, test->name, sb_view(&text), test->session->diag));
  const char *path = scratch_folder_path(&test->folder, test->name);
  const char *arguments[] = {"/bin/sh", "-c", test->command, "xlac", path, NULL};
  driver_doing(test->session, "testing a module", NULL);
  return process_ask(scratch, arguments, test->session->diag, out_failure);
}

static Status keeps(void *self, const HloModule *module, bool *out_keeps) {
  Arena *scratch = arena_create();
  StringView failure = SV("");
  Status status = run_test(self, module, scratch, &failure);
  *out_keeps = failure.size == 0;
  arena_destroy(scratch);
  return status;
}

static Status reduce_by(ShellTest *test, HloModule *module) {
  Session *session = test->session;
  StringView failure;
  RETURN_IF_ERROR(run_test(test, module, session->arena, &failure));
  if (failure.size > 0) {
    Status status =
        diag_error(session->diag, STATUS_INVALID, NO_LOC, "reduce", "'%s' does not exit 0 for the module as it is",
                   session_option_text(session, OPTION_TEST, ""));
    diag_note(session->diag, NO_LOC, "%.*s", SV_ARG(failure));
    return status;
  }
  ModuleReduction found;
  ModuleTest condition = {test, keeps, session_option_given(session, OPTION_NO_VERIFY)};
  RETURN_IF_ERROR(module_reduce(session->arena, module, &condition, &found));
  session->statistics =
      sv_printf(session->arena, "%14lld  tests\n%14lld  edits\n%14lld  instructions before\n%14lld  instructions\n",
                (long long)found.tests, (long long)found.edits, (long long)hlo_module_instruction_count(module),
                (long long)hlo_module_instruction_count(found.module));
  StringBuilder text;
  sb_init(&text, session->arena);
  hlo_module_print(&text, found.module, &HLO_PRINT_DEFAULT);
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

static Status reduce(Session *session) {
  RETURN_IF_ERROR(driver_check_places(session));
  RETURN_IF_ERROR(driver_load(session, !session_option_given(session, OPTION_NO_VERIFY)));
  const char *path = session->options->operands.data[0], *slash = strrchr(path, '/');
  const char *name = file_is_stream(path) ? "module.hlo" : slash != NULL ? slash + 1 : path;
  const char *command = arena_printf(session->arena, "%s \"$1\"", session_option_text(session, OPTION_TEST, ""));
  ShellTest test = {.session = session, .command = command, .name = name};
  RETURN_IF_ERROR(scratch_folder_create(session->arena, session->diag, &test.folder));
  Status status = reduce_by(&test, session->compilation.module);
  scratch_folder_remove(&test.folder);
  return status;
}

static Status check_usage(Session *session) {
  if (session_option_text(session, OPTION_TEST, "")[0] == '\0')
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'reduce' needs '--test=CMD'");
  return driver_check_files(session, NULL, 0);
}

int reduce_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, reduce(session));
}
