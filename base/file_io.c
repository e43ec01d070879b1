#include "base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/temporary.h"

bool file_is_stream(const char *path) {
  return strcmp(path, "-") == 0;
}

MUST_USE static Status read_error(DiagSink *diag, const char *path) {
  const char *name = file_is_stream(path) ? "standard input" : path;
  bool is_endless = errno == EFBIG;
  Status status = diag_error(diag, STATUS_IO, NO_LOC, "io-read", "unable to read '%s': %s", name, strerror(errno));
  if (is_endless)
    diag_note(diag, NO_LOC, "of a pipe or a device at most %lld bytes are read", (long long)FILE_MOST_STREAMED);
  return status;
}

MUST_USE static Status write_error(DiagSink *diag, const char *path) {
  const char *name = file_is_stream(path) ? "standard output" : path;
  return diag_error(diag, STATUS_IO, NO_LOC, "io-write", "unable to write '%s': %s", name, strerror(errno));
}

/* Reads up to |room| bytes; fewer at the end only. -1 with errno. */
static int64_t read_some(int descriptor, char *data, size_t room) {
  size_t size = 0;
  while (size < room) {
    ssize_t got = read(descriptor, data + size, room - size);
    if (got == 0) break;
    if (got > 0)
      size += (size_t)got;
    else if (errno != EINTR)
      return -1;
  }
  return (int64_t)size;
}

/* What a stream gives, in pieces: it is copied once, when all of it is known. */
static bool read_stream(Arena *arena, Arena *scratch, int descriptor, StringView *out_content) {
  enum { PIECE = 1 << 20 };
  ARRAY(StringView) pieces = {0};
  size_t size = 0;
  for (size_t last = PIECE; last == PIECE;) {
    char *data = arena_alloc(scratch, PIECE);
    int64_t got = read_some(descriptor, data, PIECE);
    if (got < 0) return false;
    last = (size_t)got;
    size += last;
    errno = EFBIG;
    if (size > (size_t)FILE_MOST_STREAMED) return false;
    array_push(&pieces, scratch, ((StringView){data, last}));
  }
  char *data = arena_alloc(arena, size + 1), *end = data;
  for (int64_t i = 0; i < pieces.count; end += pieces.data[i++].size)
    memcpy(end, pieces.data[i].data, pieces.data[i].size);
  data[size] = '\0';
  *out_content = (StringView){data, size};
  return true;
}

/* Reads to the end of |descriptor|; false with errno. A regular file is as long as it was when it was opened, unless it
 * says 0, as those that the system makes up do. */
static bool read_all(Arena *arena, int descriptor, StringView *out_content) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    Arena *scratch = arena_create();
    bool is_read = read_stream(arena, scratch, descriptor, out_content);
    int error = errno;
    arena_destroy(scratch);
    errno = error;
    return is_read;
  }
  char *data = arena_alloc(arena, (size_t)status.st_size + 1);
  int64_t size = read_some(descriptor, data, (size_t)status.st_size);
  if (size < 0) return false;
  data[size] = '\0';
  *out_content = (StringView){data, (size_t)size};
  return true;
}

Status file_read(Arena *arena, const char *path, DiagSink *diag, StringView *out_content) {
  if (file_is_stream(path)) {
    return read_all(arena, STDIN_FILENO, out_content) ? STATUS_OK : read_error(diag, path);
  }
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return read_error(diag, path);
  Status status = read_all(arena, descriptor, out_content) ? STATUS_OK : read_error(diag, path);
  close(descriptor);
  return status;
}

/* Smaller files are read at once. */
enum { LEAST_MAPPED = 1 << 20 };

Status file_view_open(Arena *arena, const char *path, DiagSink *diag, FileView *out_view) {
  *out_view = (FileView){.mapping = NULL};
  struct stat status;
  int descriptor = file_is_stream(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  bool is_large =
      descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= LEAST_MAPPED;
  void *mapping = MAP_FAILED;
  if (is_large) mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (descriptor >= 0) close(descriptor);
  if (mapping == MAP_FAILED) return file_read(arena, path, diag, &out_view->content);
  *out_view = (FileView){{mapping, (size_t)status.st_size}, mapping};
  return STATUS_OK;
}

void file_view_close(FileView *view) {
  if (view->mapping != NULL) munmap(view->mapping, view->content.size);
  *view = (FileView){.mapping = NULL};
}

/* One output.  A regular file is replaced by its temporary; streams, devices and pipes are written in place. */
typedef struct OutputFile {
  const char *path;     /* as the user gave it */
  const char *target;   /* what it stands for, after symbolic links; NULL: |stream| */
  int stream;           /* STDOUT_FILENO or STDERR_FILENO, where target is NULL */
  StringView content;   /* until commit */
  Temporary *temporary; /* while commit is under way and before the rename, else NULL */
  Temporary *backup;    /* the old file while commit is under way, NULL: none */
  mode_t permissions;   /* of those that existed */
  bool in_place, existed, renamed;
} OutputFile;

struct OutputFiles {
  Arena *arena;
  ARRAY(OutputFile) list;
};

OutputFiles *output_files_create(Arena *arena) {
  OutputFiles *files = ARENA_NEW(arena, OutputFiles);
  files->arena = arena;
  return files;
}

static bool write_all(int descriptor, StringView content) {
  while (content.size != 0) {
    ssize_t written = write(descriptor, content.data, content.size);
    if (written >= 0) {
      content = sv_sub(content, (size_t)written, content.size);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/* The size of the folder's part of |path|, with its slash. */
static int folder_size(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? (int)(slash + 1 - path) : 0;
}

/* A name in the directory of |target| that no other process uses.  It does not contain the target's name, which may
 * already be as long as names can be. */
static char *side_name(OutputFiles *files, const char *target, const char *kind, int64_t attempt) {
  return arena_printf(files->arena, "%.*s.xlac-%ld-%lld.%s", folder_size(target), target, (long)getpid(),
                      (long long)attempt, kind);
}

/* What |path| stands for after symbolic links; what the last of them names need not exist.  NULL with errno. */
static const char *follow_links(Arena *arena, const char *path) {
  enum { MOST_LINKS = 40 };
  for (int i = 0; i < MOST_LINKS; i++) {
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode)) return path;
    char text[PATH_MAX];
    ssize_t size = readlink(path, text, sizeof text);
    if (size < 0) return NULL;
    int folder = text[0] == '/' ? 0 : folder_size(path);
    path = arena_printf(arena, "%.*s%.*s", folder, path, (int)size, text);
  }
  errno = ELOOP;
  return NULL;
}

/* The file is what a stream was redirected to: replacing it would lose what the stream gets.  0: neither. */
static int stream_of(const struct stat *file) {
  for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++) {
    struct stat status;
    if (fstat(stream, &status) == 0 && status.st_dev == file->st_dev && status.st_ino == file->st_ino) return stream;
  }
  return 0;
}

/* What makes two paths one file: an inode, or for a file that is still to be made, its folder's and its name there. */
typedef struct FileIdentity {
  bool is_file; /* false: a stream or what it goes to, a device, pipe or folder, or nowhere that a file can be */
  dev_t device;
  ino_t inode;
  const char *name; /* NULL: the file exists */
} FileIdentity;

static FileIdentity identity_of(Arena *arena, const char *path) {
  FileIdentity none = {0};
  struct stat status;
  if (file_is_stream(path)) return none;
  if (stat(path, &status) == 0) {
    bool is_file = S_ISREG(status.st_mode) && stream_of(&status) == 0;
    return is_file ? (FileIdentity){true, status.st_dev, status.st_ino, NULL} : none;
  }
  const char *target = follow_links(arena, path);
  if (target == NULL) return none;
  int size = folder_size(target);
  const char *folder = size > 0 ? arena_printf(arena, "%.*s", size, target) : ".";
  if (stat(folder, &status) != 0) return none;
  return (FileIdentity){true, status.st_dev, status.st_ino, target + size};
}

bool file_is_same(Arena *scratch, const char *a, const char *b) {
  FileIdentity first = identity_of(scratch, a), second = identity_of(scratch, b);
  if (!first.is_file || !second.is_file || first.device != second.device || first.inode != second.inode) return false;
  if (first.name == NULL || second.name == NULL) return first.name == second.name;
  return strcmp(first.name, second.name) == 0;
}

static bool is_taken(const OutputFiles *files, const char *target) {
  for (int64_t i = 0; i < files->list.count; i++) {
    const OutputFile *other = &files->list.data[i];
    if (!other->in_place && file_is_same(files->arena, other->target, target)) return true;
  }
  return false;
}

/* Whether a file can be made in the folder of |target|; false with errno. */
static bool has_folder(Arena *arena, const char *target) {
  int size = folder_size(target);
  return access(size > 0 ? arena_printf(arena, "%.*s", size, target) : ".", W_OK) == 0;
}

/* Fills the place of |file|, where there is |old| now (NULL: nothing); false with errno. */
static bool find_place(const OutputFiles *files, OutputFile *file, const struct stat *old) {
  if (old != NULL && S_ISDIR(old->st_mode)) {
    errno = EISDIR;
    return false;
  }
  if (old != NULL && access(file->path, W_OK) != 0) return false;
  bool is_device = old != NULL && !S_ISREG(old->st_mode);
  file->stream = old != NULL && !is_device ? stream_of(old) : 0;
  file->in_place = is_device || file->stream != 0;
  if (file->stream != 0) return true;
  file->target = is_device ? file->path : follow_links(files->arena, file->path);
  return file->target != NULL && (is_device || has_folder(files->arena, file->target));
}

/* |file| is no standard stream by its name. */
static Status look_at_path(const OutputFiles *files, OutputFile *file, DiagSink *diag) {
  struct stat status;
  file->existed = stat(file->path, &status) == 0;
  if (file->existed) file->permissions = status.st_mode & 0777;
  return find_place(files, file, file->existed ? &status : NULL) ? STATUS_OK : write_error(diag, file->path);
}

Status output_files_check(const OutputFiles *files, const char *path, DiagSink *diag) {
  OutputFile file = {.path = path};
  return file_is_stream(path) ? STATUS_OK : look_at_path(files, &file, diag);
}

static Status add_path(OutputFiles *files, OutputFile *file, DiagSink *diag) {
  RETURN_IF_ERROR(look_at_path(files, file, diag));
  if (!file->in_place && is_taken(files, file->target))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "io-same-output", "two outputs would go to '%s'", file->path);
  return STATUS_OK;
}

Status output_files_add(OutputFiles *files, const char *path, StringView content, DiagSink *diag) {
  OutputFile file = {.path = arena_copy_string(files->arena, path, strlen(path)), .content = content, .in_place = true};
  if (file_is_stream(path))
    file.stream = STDOUT_FILENO;
  else
    RETURN_IF_ERROR(add_path(files, &file, diag));
  array_push(&files->list, files->arena, file);
  return STATUS_OK;
}

/* --- commit --- */

enum { NAME_ATTEMPTS = 10000 };

/* Creates the temporary of |file| and fills it; false with errno. */
static bool write_temporary(OutputFiles *files, OutputFile *file) {
  int descriptor = -1;
  for (int64_t attempt = 0; file->temporary == NULL; attempt++) {
    const char *name = side_name(files, file->target, "tmp", attempt);
    file->temporary = temporary_create_file(files->arena, name, &descriptor);
    if (file->temporary == NULL && (errno != EEXIST || attempt >= NAME_ATTEMPTS)) return false;
  }
  bool done = write_all(descriptor, file->content) && (!file->existed || fchmod(descriptor, file->permissions) == 0);
  int write_errno = errno;
  if (close(descriptor) != 0 && done) return false;
  errno = write_errno;
  return done;
}

static bool write_in_place(const OutputFile *file) {
  if (file->target == NULL) {
    /* What the program printed before comes first. */
    return fflush(stdout) == 0 && write_all(file->stream, file->content);
  }
  int descriptor = open(file->target, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool written = write_all(descriptor, file->content);
  return close(descriptor) == 0 && written;
}

/* Keeps the old file under a second name until all renames are done.  A file system without hard links has none. */
static void make_backup(OutputFiles *files, OutputFile *file) {
  if (!file->existed) return;
  for (int64_t attempt = 0; attempt < NAME_ATTEMPTS && file->backup == NULL; attempt++) {
    const char *name = side_name(files, file->target, "old", attempt);
    file->backup = temporary_create_link(files->arena, file->target, name);
    if (file->backup == NULL && errno != EEXIST) return;
  }
}

/* Puts back what stood at the target of |file| before. */
static void undo_rename(OutputFile *file) {
  if (file->backup != NULL) {
    if (temporary_keep(file->backup, file->target)) file->backup = NULL;
  } else if (!file->existed) {
    unlink(file->target);
  }
}

/* All or none; the output that could not be renamed, with errno, or NULL.  Neither a signal nor a lack of memory comes
 * in between: nothing is allocated here. */
static const OutputFile *rename_all(OutputFiles *files) {
  OutputFile *failed = NULL;
  sigset_t before;
  temporary_hold_signals(&before);
  int64_t count = files->list.count, done = 0;
  for (; done < count && failed == NULL; done++) {
    OutputFile *file = &files->list.data[done];
    if (file->in_place) continue;
    file->renamed = temporary_keep(file->temporary, file->target);
    if (file->renamed)
      file->temporary = NULL;
    else
      failed = file;
  }
  int rename_errno = errno;
  while (failed != NULL && done-- > 0) {
    if (files->list.data[done].renamed) undo_rename(&files->list.data[done]);
  }
  temporary_release_signals(&before);
  errno = rename_errno;
  return failed;
}

/* Everything that may fail or wait, so that renames are all that is left; the output that failed, with errno, or NULL.
 * Streams last: they cannot be taken back. */
static const OutputFile *write_contents(OutputFiles *files) {
  int64_t count = files->list.count;
  for (int64_t i = 0; i < count; i++) {
    OutputFile *file = &files->list.data[i];
    if (!file->in_place && !write_temporary(files, file)) return file;
  }
  for (int64_t i = 0; i < count; i++) {
    if (!files->list.data[i].in_place) make_backup(files, &files->list.data[i]);
  }
  for (int64_t i = 0; i < count; i++) {
    if (files->list.data[i].in_place && !write_in_place(&files->list.data[i])) return &files->list.data[i];
  }
  return NULL;
}

Status output_files_commit(OutputFiles *files, DiagSink *diag) {
  const OutputFile *failed = write_contents(files);
  if (failed == NULL) failed = rename_all(files);
  int error = errno;
  output_files_abort(files);
  errno = error;
  return failed == NULL ? STATUS_OK : write_error(diag, failed->path);
}

void output_files_abort(OutputFiles *files) {
  for (int64_t i = files->list.count; i-- > 0;) {
    temporary_delete(files->list.data[i].temporary);
    temporary_delete(files->list.data[i].backup);
  }
  files->list.count = 0;
}
