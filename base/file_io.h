/* Files: read whole, written whole or not at all. */
#ifndef XLAC_BASE_FILE_IO_H
#define XLAC_BASE_FILE_IO_H

#include "base/diagnostic.h"

/* The most that is read of a pipe or a device, which may have no end; of a regular file: all that it has. */
#define FILE_MOST_STREAMED ((int64_t)1 << 30)

/* "-": standard input or output. */
bool file_is_stream(const char *path);

/* The whole content of |path| ("-": standard input), zero-terminated after its size, in |arena|.
 * STATUS_IO with a diagnostic when it cannot be read, or is longer than FILE_MOST_STREAMED. */
MUST_USE Status file_read(Arena *arena, const char *path, DiagSink *diag, StringView *out_content);

/* The content of a file while it is open. */
typedef struct FileView {
  StringView content; /* not zero-terminated */
  void *mapping;      /* NULL: in the arena */
} FileView;

/* As file_read, but of a large regular file only what is looked at is loaded; it must not get shorter meanwhile.  The
 * caller ends the view with file_view_close. */
MUST_USE Status file_view_open(Arena *arena, const char *path, DiagSink *diag, FileView *out_view);
void file_view_close(FileView *view);

/* Whether |a| and |b| are one regular file, or would be when written: by another spelling, a hard or a symbolic link.
 * False for streams, devices, pipes and folders. */
bool file_is_same(Arena *scratch, const char *a, const char *b);

/* Several outputs that appear together, at commit: each is written to a temporary name beside its target
 * (base/temporary.h), then all are renamed.  Before, no file is touched.  "-" is standard output, written in place at
 * commit, and so are devices, pipes and files that standard output or standard error go to.  Contents have to live
 * until commit.  A symbolic link stays one, and what it names is written, whether it exists or not.  Two outputs to one
 * file are STATUS_INVALID. */
typedef struct OutputFiles OutputFiles;

OutputFiles *output_files_create(Arena *arena);
/* Whether |path| could be an output as things are now: STATUS_IO as of output_files_add, before the work for it. */
MUST_USE Status output_files_check(const OutputFiles *files, const char *path, DiagSink *diag);
MUST_USE Status output_files_add(OutputFiles *files, const char *path, StringView content, DiagSink *diag);
MUST_USE Status output_files_commit(OutputFiles *files, DiagSink *diag);
/* Drops the outputs; no file is touched. */
void output_files_abort(OutputFiles *files);

#endif
