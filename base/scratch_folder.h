/* ScratchFolder: a folder for files that are not kept, in $TMPDIR or /tmp. */
#ifndef XLAC_BASE_SCRATCH_FOLDER_H
#define XLAC_BASE_SCRATCH_FOLDER_H

#include "base/diagnostic.h"
#include "base/temporary.h"

typedef struct ScratchFolder {
  Arena *arena;
  const char *path;
  Temporary *folder; /* goes with the process at the latest */
} ScratchFolder;

/* Made for this user alone; |arena| outlives it.  STATUS_IO with a diagnostic.  Ended by scratch_folder_remove. */
MUST_USE Status scratch_folder_create(Arena *arena, DiagSink *diag, ScratchFolder *out_folder);
/* With all that is in it. */
void scratch_folder_remove(const ScratchFolder *folder);

/* Where the file |name|, such as "base/arena.h", goes or is. */
const char *scratch_folder_path(const ScratchFolder *folder, const char *name);
/* Writes that file and makes the folders it lies in. */
MUST_USE Status scratch_folder_write(const ScratchFolder *folder, const char *name, StringView content, DiagSink *diag);

#endif
