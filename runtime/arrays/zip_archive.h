/* Zip archives in memory, as .npz files are: members stored or deflated, on one disk, with 64-bit numbers where 32 bits
 * are not enough.  Source of the format: PKWARE's APPNOTE.TXT, version 6.3.
 *
 * runtime/standalone/weights.c reads them by itself: it is a file to copy, which needs nothing else of the project. */
#ifndef XLAC_RUNTIME_ARRAYS_ZIP_ARCHIVE_H
#define XLAC_RUNTIME_ARRAYS_ZIP_ARCHIVE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/string_view.h"

typedef struct ZipMember {
  StringView name;   /* in the archive */
  StringView stored; /* its bytes as they stand there */
  uint64_t size;     /* unpacked */
  uint32_t checksum; /* CRC-32 of the unpacked bytes */
  int method;        /* 0: stored, 8: deflated, others are not read */
} ZipMember;

typedef struct ZipArchive {
  int64_t count;
  ZipMember *members; /* in the order of the directory */
} ZipArchive;

/* Reads the directory of |bytes|, which the members point into.  NULL, or what is wrong with it. */
const char *zip_archive_read(Arena *arena, StringView bytes, ZipArchive *out_archive);

/* The unpacked bytes of |member|: in place where it is stored, else in |arena|.  NULL, or what is wrong with it. */
const char *zip_member_unpack(Arena *arena, const ZipMember *member, StringView *out_bytes);

/* An archive of |count| stored members, of which only names and |stored| are looked at, with the earliest date that zip
 * knows: the bytes depend on theirs alone. */
StringView zip_archive_write(Arena *arena, const ZipMember *members, int64_t count);

#endif
