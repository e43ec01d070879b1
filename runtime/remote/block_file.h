/* Arrays' bytes from one process to another through a file.  Both agree on the number and the sizes beforehand, in
 * words and byte order of little-endian 64-bit machines; what does not agree is an error. */
#ifndef XLAC_RUNTIME_REMOTE_BLOCK_FILE_H
#define XLAC_RUNTIME_REMOTE_BLOCK_FILE_H

#include "base/diagnostic.h"

typedef struct FileBlock {
  void *data;
  int64_t bytes;
} FileBlock;

/* STATUS_IO with a diagnostic when the file cannot be written, or read, or holds other blocks than these. */
MUST_USE Status block_file_write(const char *path, const FileBlock *blocks, int64_t count, DiagSink *diag);
MUST_USE Status block_file_read(const char *path, const FileBlock *blocks, int64_t count, DiagSink *diag);

#endif
