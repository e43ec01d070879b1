/* ObjectArchive: several ELF objects in one archive, as ar writes it, with the index that linkers want.  The same
 * members give the same bytes: no times, no owners (what GNU ar's 'D' does). */
#ifndef XLAC_COMPILER_OBJECT_ARCHIVE_H
#define XLAC_COMPILER_OBJECT_ARCHIVE_H

#include "base/diagnostic.h"

typedef struct ObjectMember {
  StringView name;  /* "model.o" */
  StringView bytes; /* a 64-bit little-endian ELF object */
} ObjectMember;

/* The archive's bytes, in |arena|.  STATUS_INVALID (code "archive") when two members have the same name or define the
 * same symbol, weak ones aside: a program linked with one would get the other's. */
MUST_USE Status object_archive_write(Arena *arena, const ObjectMember *members, int64_t count, DiagSink *diag,
                                     StringView *out_bytes);

#endif
