#include "runtime/arrays/npz.h"

#include "base/file_io.h"
#include "runtime/arrays/zip_archive.h"

static Status bad_archive(DiagSink *diag, StringView path, const char *why) {
  return diag_error(diag, STATUS_INVALID, NO_LOC, "npz", "'%.*s' is not a readable .npz archive: %s", SV_ARG(path),
                    why);
}

/* A small file can stand for any size, by compression or by members that share their bytes. */
static Status check_sizes(const ZipArchive *archive, StringView path, size_t size, DiagSink *diag) {
  uint64_t room = size + (uint64_t)FILE_MOST_STREAMED;
  for (int64_t i = 0; i < archive->count; i++) {
    if (archive->members[i].size > room) {
      Status status = bad_archive(diag, path, "its members are too large");
      diag_note(diag, NO_LOC, "unpacked they may have %lld bytes more than the file", (long long)FILE_MOST_STREAMED);
      return status;
    }
    room -= archive->members[i].size;
  }
  return STATUS_OK;
}

static Status read_member(Arena *arena, const ZipMember *packed, StringView path, DiagSink *diag,
                          ArrayMember *out_member) {
  StringView bytes;
  const char *wrong = zip_member_unpack(arena, packed, &bytes);
  if (wrong != NULL) return bad_archive(diag, path, wrong);
  StringView name = sv_copy(arena, packed->name);
  if (sv_ends_with(name, SV(".npy"))) name.size -= 4;
  out_member->name = name;
  return npy_read(arena, name, bytes, diag, &out_member->array);
}

Status npz_read(Arena *arena, StringView path, StringView content, DiagSink *diag, ArrayFile *out_file) {
  *out_file = (ArrayFile){.path = path};
  ZipArchive archive;
  const char *wrong = zip_archive_read(arena, content, &archive);
  if (wrong != NULL) return bad_archive(diag, path, wrong);
  RETURN_IF_ERROR(check_sizes(&archive, path, content.size, diag));
  out_file->members = ARENA_NEW_ARRAY(arena, ArrayMember, archive.count);
  for (int64_t i = 0; i < archive.count; i++)
    RETURN_IF_ERROR(read_member(arena, &archive.members[i], path, diag, &out_file->members[i]));
  out_file->count = archive.count;
  return STATUS_OK;
}

StringView npz_write(Arena *arena, const ArrayMember *members, int64_t count) {
  ZipMember *packed = ARENA_NEW_ARRAY(arena, ZipMember, count);
  for (int64_t i = 0; i < count; i++) {
    packed[i].name = sv_printf(arena, "%.*s.npy", SV_ARG(members[i].name));
    packed[i].stored = npy_write(arena, &members[i].array);
  }
  return zip_archive_write(arena, packed, count);
}
