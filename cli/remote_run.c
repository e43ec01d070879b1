#include "cli/remote_run.h"

#include <string.h>

#include "base/array.h"
#include "cli/link_shared.h"

Status remote_run_check(const Session *session) {
  const MachineDescription *machine = session->compilation.options.machine;
  if (!machine || machine_is_host(machine) || session_option_given(session, OPTION_RUNNER)) return STATUS_OK;
  Status status = diag_error(session->diag, STATUS_INVALID, machine->isa.loc, "needs-runner",
                             "this machine cannot run code for '%.*s'", SV_ARG(machine->isa.triple));
  diag_note(session->diag, NO_LOC, "'--runner=CMD' names a command that can, an emulator say");
  return status;
}

typedef ARRAY(const char *) LinkWords;

/* In the order of the command line. */
static Status add_libraries(Session *session, const OptionValue *value, LinkWords *words) {
  if (value == NULL || !value->given) return STATUS_OK;
  RETURN_IF_ERROR(add_libraries(session, value->previous, words));
  if (sv_ends_with(sv_from_cstring(value->text), SV(".so")))
    return diag_error(
        session->diag, STATUS_INVALID, NO_LOC, "call-library",
        "with '--runner' programs are linked statically: '%s' has to be an archive, an object or a source",
        value->text);
  array_push(words, session->arena, value->text);
  return STATUS_OK;
}

/* What custom calls need, NULL after the last; empty when there are none. */
static Status find_link_words(Session *session, const char *const **out_words) {
  LinkWords words = {0};
  const CallTargets *targets = &session->compilation.object.targets;
  if (targets->count > 0) {
    RETURN_IF_ERROR(add_libraries(session, &session->options->values[OPTION_CUSTOM_CALL_LIBRARY], &words));
    if (words.count == 0) {
      Status status =
          diag_error(session->diag, STATUS_UNSUPPORTED, targets->targets[0].loc, "unsupported-call",
                     "with '--runner' there is no library that has '%.*s'", SV_ARG(targets->targets[0].symbol));
      diag_note(session->diag, NO_LOC, "'--custom-call-library=FILE.a' names an archive, object or source that has it");
      return status;
    }
  }
  for (int64_t i = 0; i < targets->count; i++) {
    const char *target =
        arena_copy_string(session->arena, targets->targets[i].symbol.data, targets->targets[i].symbol.size);
    const char *symbol = call_library_symbol(session, target);
    if (symbol == target) continue;
    array_push(&words, session->arena,
               arena_printf(session->arena, "-Wl,--undefined=%s,--defsym=%s=%s", symbol, target, symbol));
  }
  array_push(&words, session->arena, NULL);
  *out_words = words.data;
  return STATUS_OK;
}

Status remote_run_build(Session *session, bool has_queue_threads, int64_t worker_count, FailureReporter *reporter,
                        RemoteProgram *out_program) {
  RemoteOptions options = {.compiler = link_compiler(session),
                           .runner = session_option_text(session, OPTION_RUNNER, ""),
                           .has_queue_threads = has_queue_threads,
                           .worker_count = worker_count,
                           .on_failure = call_failure_report,
                           .failure_data = reporter};
  RETURN_IF_ERROR(find_link_words(session, &options.link_words));
  const CompiledObject *object = &session->compilation.object;
  return remote_program_build(session->arena, object->bytes, object->entry_name, &options, session->diag, out_program);
}
