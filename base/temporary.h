/* Temporary: a file or folder that does not outlive the process, whatever ends it.
 *
 * All of them stand in one list of the process, which a signal handler can go through.  No signal comes between a
 * name in the file system and its place in the list.  One thread at a time. */
#ifndef XLAC_BASE_TEMPORARY_H
#define XLAC_BASE_TEMPORARY_H

#include <signal.h>
#include <stdbool.h>

#include "base/arena.h"

typedef struct Temporary {
  const char *path;
  bool is_folder;
  struct Temporary *next; /* of the list */
} Temporary;

/* These give NULL with errno, and nothing is there then.  The result and a copy of the path live in |arena|, which
 * outlives the temporary. */

/* A new file to be written through |out_descriptor|, which the caller closes; EEXIST when the name is taken. */
MUST_USE Temporary *temporary_create_file(Arena *arena, const char *path, int *out_descriptor);
/* A second name of the file |existing|. */
MUST_USE Temporary *temporary_create_link(Arena *arena, const char *existing, const char *path);
/* A folder for this user alone; |pattern| ends with XXXXXX, as for mkdtemp. */
MUST_USE Temporary *temporary_create_folder(Arena *arena, const char *pattern);

/* Gives it the name |target|, under which it stays: it is no temporary then.  False with errno. */
MUST_USE bool temporary_keep(Temporary *temporary, const char *target);
/* Deletes it, a folder with all that is in it; nothing for NULL. */
void temporary_delete(Temporary *temporary);
/* Deletes all of them.  Safe in a signal handler; the process ends afterwards. */
void temporary_delete_all(void);

/* Between these no signal that ends the process is handled; they nest. */
void temporary_hold_signals(sigset_t *out_before);
void temporary_release_signals(const sigset_t *before);

#endif
