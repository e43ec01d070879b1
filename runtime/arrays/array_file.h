/* ArrayFile: named arrays in one file, .npz or .safetensors by how it begins or the end of its name. */
#ifndef XLAC_RUNTIME_ARRAYS_ARRAY_FILE_H
#define XLAC_RUNTIME_ARRAYS_ARRAY_FILE_H

#include "base/file_io.h"
#include "runtime/arrays/npy.h"

typedef struct ArrayMember {
  StringView name;
  NpyArray array;
} ArrayMember;

typedef struct ArrayFile {
  StringView path; /* as given */
  int64_t count;
  ArrayMember *members;
  FileView view; /* of array_file_open */
} ArrayFile;

/* Reads all members of |path| ("-": standard input) into |arena|.  STATUS_IO when it cannot be read,
 * STATUS_INVALID (codes "npz", "npy", "safetensors") when it is no such file. */
MUST_USE Status array_file_read(Arena *arena, const char *path, DiagSink *diag, ArrayFile *out_file);

/* The same, but of a large file only what is looked at is loaded, until array_file_close, which the caller
 * calls after a failure as well. */
MUST_USE Status array_file_open(Arena *arena, const char *path, DiagSink *diag, ArrayFile *out_file);
void array_file_close(ArrayFile *file);

/* NULL when absent. */
const NpyArray *array_file_find(const ArrayFile *file, StringView name);

/* The bytes of a file called |path| with these members; equal arrays give equal bytes.  STATUS_INVALID (code
 * "safetensors") when the format has no such element type. */
MUST_USE Status array_file_write(Arena *arena, const char *path, const ArrayMember *members, int64_t count,
                                 DiagSink *diag, StringView *out_bytes);

#endif
