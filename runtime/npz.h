/* NpzFile: named arrays in a zip archive, as numpy.savez writes them; members stored or deflated. */
#ifndef XLAC_RUNTIME_NPZ_H
#define XLAC_RUNTIME_NPZ_H

#include "runtime/npy.h"

typedef struct NpzMember {
  StringView name; /* without ".npy" */
  NpyArray array;
} NpzMember;

typedef struct NpzFile {
  StringView path; /* as given */
  int64_t count;
  NpzMember *members;
} NpzFile;

/* Reads all members of |path| ("-": standard input) into |arena|.  STATUS_IO when it cannot be read, STATUS_INVALID
 * (codes "npz", "npy") when it is no such archive. */
MUST_USE Status npz_read(Arena *arena, const char *path, DiagSink *diag, NpzFile *out_file);

/* The same for |content|, read from |path|; members are copied. */
MUST_USE Status npz_parse(Arena *arena, StringView path, StringView content, DiagSink *diag, NpzFile *out_file);

/* NULL when absent. */
const NpyArray *npz_find(const NpzFile *file, StringView name);

/* The bytes of an archive with the members stored in the given order; equal arrays give equal bytes. */
MUST_USE Status npz_write(Arena *arena, const NpzMember *members, int64_t count, DiagSink *diag, StringView *out_bytes);

#endif
