#include "base/scratch_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_io.h"

Status scratch_folder_create(Arena *arena, DiagSink *diag, ScratchFolder *out_folder) {
  const char *parent = getenv("TMPDIR");
  if (!parent || parent[0] == '\0') parent = "/tmp";
  *out_folder = (ScratchFolder){.arena = arena};
  out_folder->folder = temporary_create_folder(arena, arena_printf(arena, "%s/xlac-XXXXXX", parent));
  if (out_folder->folder != NULL) {
    out_folder->path = out_folder->folder->path;
    return STATUS_OK;
  }
  return diag_error(diag, STATUS_IO, NO_LOC, "io-write", "unable to make a directory in '%s': %s", parent,
                    strerror(errno));
}

void scratch_folder_remove(const ScratchFolder *folder) {
  temporary_delete(folder->folder);
}

const char *scratch_folder_path(const ScratchFolder *folder, const char *name) {
  return arena_printf(folder->arena, "%s/%s", folder->path, name);
}

Status scratch_folder_write(const ScratchFolder *folder, const char *name, StringView content, DiagSink *diag) {
  for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
    const char *parent = arena_printf(folder->arena, "%s/%.*s", folder->path, (int)(at - name), name);
    if (mkdir(parent, S_IRWXU) != 0 && errno != EEXIST)
      return diag_error(diag, STATUS_IO, NO_LOC, "io-write", "unable to make the directory '%s': %s", parent,
                        strerror(errno));
  }
  OutputFiles *files = output_files_create(folder->arena);
  Status status = output_files_add(files, scratch_folder_path(folder, name), content, diag);
  if (status == STATUS_OK) return output_files_commit(files, diag);
  output_files_abort(files);
  return status;
}
