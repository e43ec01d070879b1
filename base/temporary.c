#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process ends once, and its handler of signals knows no other place to look. */
static Temporary *volatile first;

void temporary_hold_signals(sigset_t *out_before) {
  static const int broken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) sigdelset(&set, broken[i]);
  pthread_sigmask(SIG_BLOCK, &set, out_before);
}

void temporary_release_signals(const sigset_t *before) {
  int error = errno;
  pthread_sigmask(SIG_SETMASK, before, NULL);
  errno = error;
}

/* --- the list; signals are held --- */

static void add(Temporary *temporary) {
  temporary->next = first;
  first = temporary;
}

static void take_out(const Temporary *temporary) {
  if (first == temporary) {
    first = temporary->next;
    return;
  }
  for (Temporary *at = first; at != NULL; at = at->next) {
    if (at->next == temporary) at->next = temporary->next;
  }
}

static Temporary *make(Arena *arena, const char *path) {
  Temporary *temporary = ARENA_NEW(arena, Temporary);
  temporary->path = arena_copy_string(arena, path, strlen(path));
  return temporary;
}

/* --- making them; memory is taken before anything is there --- */

Temporary *temporary_create_file(Arena *arena, const char *path, int *out_descriptor) {
  Temporary *temporary = make(arena, path);
  sigset_t before;
  temporary_hold_signals(&before);
  *out_descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (*out_descriptor >= 0) add(temporary);
  temporary_release_signals(&before);
  return *out_descriptor >= 0 ? temporary : NULL;
}

Temporary *temporary_create_link(Arena *arena, const char *existing, const char *path) {
  Temporary *temporary = make(arena, path);
  sigset_t before;
  temporary_hold_signals(&before);
  bool made = link(existing, path) == 0;
  if (made) add(temporary);
  temporary_release_signals(&before);
  return made ? temporary : NULL;
}

Temporary *temporary_create_folder(Arena *arena, const char *pattern) {
  char *path = arena_copy_string(arena, pattern, strlen(pattern));
  Temporary *temporary = ARENA_NEW(arena, Temporary);
  *temporary = (Temporary){.path = path, .is_folder = true};
  sigset_t before;
  temporary_hold_signals(&before);
  bool made = mkdtemp(path) != NULL;
  if (made) add(temporary);
  temporary_release_signals(&before);
  return made ? temporary : NULL;
}

/* --- their ends --- */

bool temporary_keep(Temporary *temporary, const char *target) {
  sigset_t before;
  temporary_hold_signals(&before);
  bool renamed = rename(temporary->path, target) == 0;
  if (renamed) take_out(temporary);
  temporary_release_signals(&before);
  return renamed;
}

/* Neither the C library's walks over folders nor its reading of one may be used in a signal handler. */
static void delete_folder(int parent, const char *path, int depth) {
  enum { DEEPEST = 16 };
  _Alignas(struct dirent64) char entries[2048];
  int folder = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  ssize_t size = 0;
  while (folder >= 0 && (size = getdents64(folder, entries, sizeof entries)) > 0) {
    const struct dirent64 *entry;
    for (ssize_t at = 0; at < size; at += entry->d_reclen) {
      entry = (const void *)(entries + at);
      const char *name = entry->d_name;
      if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
      if (unlinkat(folder, name, 0) != 0 && errno == EISDIR && depth < DEEPEST) delete_folder(folder, name, depth + 1);
    }
  }
  if (folder >= 0) close(folder);
  unlinkat(parent, path, AT_REMOVEDIR);
}

static void delete_from_disk(const Temporary *temporary) {
  if (temporary->is_folder)
    delete_folder(AT_FDCWD, temporary->path, 0);
  else
    unlink(temporary->path);
}

void temporary_delete(Temporary *temporary) {
  if (temporary == NULL) return;
  sigset_t before;
  temporary_hold_signals(&before);
  delete_from_disk(temporary);
  take_out(temporary);
  temporary_release_signals(&before);
}

void temporary_delete_all(void) {
  for (const Temporary *at = first; at != NULL; at = at->next) delete_from_disk(at);
  first = NULL;
}
