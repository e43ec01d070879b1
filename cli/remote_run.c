#include "cli/remote_run.h"

#include <string.h>

/* A triple's own vendor, "unknown" mostly, is no part of Debian's names. */
static const char *compiler_of(const Session *session) {
  const MachineDescription *machine = session->machine;
  if (!machine || machine_is_host(machine)) return "gcc";
  StringView triple = machine->isa.triple, parts[4];
  int count = 0;
  while (count < 4) {
    const char *dash = count < 3 ? memchr(triple.data, '-', triple.size) : NULL;
    size_t size = dash ? (size_t)(dash - triple.data) : triple.size;
    parts[count++] = (StringView){triple.data, size};
    if (!dash) break;
    triple = (StringView){dash + 1, triple.size - size - 1};
  }
  StringBuilder name;
  sb_init(&name, session->arena);
  for (int i = 0; i < count; i++)
    if (count < 4 || i != 1) sb_printf(&name, "%.*s-", SV_ARG(parts[i]));
  sb_append_cstring(&name, "gcc");
  return sb_view(&name).data;
}

Status remote_run_check(const Session *session) {
  const MachineDescription *machine = session->machine;
  if (!machine || machine_is_host(machine) || option_given(session, OPTION_RUNNER)) return STATUS_OK;
  Status status = diag_error(session->diag, STATUS_INVALID, machine->isa.loc, "needs-runner",
                             "this machine cannot run code for '%.*s'", SV_ARG(machine->isa.triple));
  diag_note(session->diag, NO_LOC, "'--runner=CMD' names a command that can, an emulator say");
  return status;
}

Status remote_run_build(Session *session, bool has_queue_threads, int64_t worker_count, RemoteProgram *out_program) {
  RemoteOptions options = {.compiler = compiler_of(session),
                           .runner = option_text(session, OPTION_RUNNER, ""),
                           .has_queue_threads = has_queue_threads,
                           .worker_count = worker_count};
  const CompiledObject *object = &session->object;
  if (object->targets.count > 0)
    return diag_error(session->diag, STATUS_UNSUPPORTED, object->targets.targets[0].call->loc, "unsupported-call",
                      "with '--runner' there is no library that has '%.*s'", SV_ARG(object->targets.targets[0].symbol));
  return remote_program_build(session->arena, object->bytes, object->entry_name, &options, session->diag, out_program);
}
