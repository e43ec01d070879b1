/* Files: read whole, written whole or not at all. */
#ifndef XLAC_BASE_FILE_IO_H
#define XLAC_BASE_FILE_IO_H

#include "base/diagnostic.h"

/* The whole content of |path| ("-": standard input), zero-terminated behind its size, in |arena|.
 * STATUS_IO with a diagnostic when it cannot be read. */
MUST_USE Status file_read(Arena *arena, const char *path, DiagSink *diag, StringView *out_content);

/* Several outputs that appear together: each is written to a temporary name beside its target, and commit renames them
 * all. Until commit no target is left or changed; abort removes the temporaries.  "-" is standard output, written at
 * commit, and so are devices and pipes; their content has to live until then.  Two outputs to one file are
 * STATUS_INVALID. */
typedef struct OutputFiles OutputFiles;

OutputFiles *output_files_create(Arena *arena);
MUST_USE Status output_files_add(OutputFiles *files, const char *path, StringView content, DiagSink *diag);
MUST_USE Status output_files_commit(OutputFiles *files, DiagSink *diag);
void output_files_abort(OutputFiles *files);

#endif
