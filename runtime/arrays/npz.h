/* .npz: named arrays in a zip archive, as numpy.savez writes them; members stored or deflated. */
#ifndef XLAC_RUNTIME_ARRAYS_NPZ_H
#define XLAC_RUNTIME_ARRAYS_NPZ_H

#include "runtime/arrays/array_file.h"

/* Reads all members of the archive |content|, called |path|; names are without ".npy".  Arrays that are stored stay
 * where they are in it.  STATUS_INVALID (codes "npz", "npy") when it is no such archive. */
MUST_USE Status npz_read(Arena *arena, StringView path, StringView content, DiagSink *diag, ArrayFile *out_file);

/* The bytes of an archive with the members stored in the given order; equal arrays give equal bytes. */
StringView npz_write(Arena *arena, const ArrayMember *members, int64_t count);

#endif
