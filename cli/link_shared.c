#include "cli/link_shared.h"

#include <string.h>

#include "base/file_io.h"
#include "base/process.h"
#include "base/scratch_folder.h"

#define OBJECT "model.o"
#define LIBRARY "model.so"

/* A triple's own vendor, "unknown" mostly, is no part of Debian's names. */
const char *link_compiler(const Session *session) {
  const MachineDescription *machine = session->compilation.options.machine;
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

/* In a folder with nothing else, so that nothing of the machine's names gets into the library. */
static Status link_in(Session *session, const ScratchFolder *folder, const char *path, StringView *out_bytes) {
  Arena *arena = session->arena;
  RETURN_IF_ERROR(scratch_folder_write(folder, OBJECT, session->compilation.object.bytes, session->diag));
  const char *slash = strrchr(path, '/'), *library = scratch_folder_path(folder, LIBRARY);
  const char *soname = arena_printf(arena, "-soname=%s", slash ? slash + 1 : path);
  const char *words[] = {link_compiler(session), "-shared", "-o",       library, scratch_folder_path(folder, OBJECT),
                         "-Wl,--as-needed",      "-lm",     "-Xlinker", soname,  NULL};
  if (file_is_stream(path)) words[7] = NULL; /* it has no name */
  if (process_run(words, session->diag) == STATUS_OK) return file_read(arena, library, session->diag, out_bytes);
  Status status = diag_error(session->diag, STATUS_IO, session->compilation.module->loc, "link",
                             "'--emit=shared' could not link the object of '%.*s' with '%s'",
                             SV_ARG(session->compilation.module->name), words[0]);
  diag_note(session->diag, NO_LOC, "'--emit=obj' writes the object, which needs no linker");
  return status;
}

Status link_shared(Session *session, const char *path, StringView *out_bytes) {
  ScratchFolder folder;
  RETURN_IF_ERROR(scratch_folder_create(session->arena, session->diag, &folder));
  Status status = link_in(session, &folder, path, out_bytes);
  scratch_folder_remove(&folder);
  return status;
}
