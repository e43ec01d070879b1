#include "runtime/arrays/npz.h"

#include <errno.h>
#include <zip.h>

#include "base/file_io.h"

/* The densest that deflate can be; a header that claims more lies. */
#define DEFLATE_MAX_RATIO 1032

/* After a failure.  libzip may take a lack of memory for a damaged archive, but the C library leaves its word of it in
 * errno, which npz_read has cleared; nothing else sets it here, since the archive is in memory. */
static void check_memory(void) {
  if (errno == ENOMEM) out_of_memory(0);
}

static Status bad_archive(DiagSink *diag, StringView path, const char *why) {
  return diag_error(diag, STATUS_INVALID, NO_LOC, "npz", "'%.*s' is not a readable .npz archive: %s", SV_ARG(path),
                    why);
}

static Status zip_failed(DiagSink *diag, StringView path, zip_t *archive) {
  check_memory();
  return bad_archive(diag, path, zip_strerror(archive));
}

/* A small file can stand for any size, by compression or by members that share their bytes. */
static Status check_sizes(zip_t *archive, zip_int64_t count, StringView path, size_t size, DiagSink *diag) {
  zip_uint64_t room = size + (zip_uint64_t)FILE_MOST_STREAMED;
  for (zip_int64_t i = 0; i < count; i++) {
    zip_stat_t stat;
    if (zip_stat_index(archive, (zip_uint64_t)i, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE)) continue;
    if (stat.size > room) {
      Status status = bad_archive(diag, path, "its members are too large");
      diag_note(diag, NO_LOC, "unpacked they may have %lld bytes more than the file", (long long)FILE_MOST_STREAMED);
      return status;
    }
    room -= stat.size;
  }
  return STATUS_OK;
}

static Status read_member(Arena *arena, zip_t *archive, zip_uint64_t index, StringView path, DiagSink *diag,
                          ArrayMember *out_member) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME) || !(stat.valid & ZIP_STAT_SIZE) ||
      !(stat.valid & ZIP_STAT_COMP_SIZE))
    return zip_failed(diag, path, archive);
  if (stat.size / DEFLATE_MAX_RATIO > stat.comp_size + 1)
    return bad_archive(diag, path, "a member's size is impossible");
  zip_file_t *file = zip_fopen_index(archive, index, 0);
  if (!file) return zip_failed(diag, path, archive);
  char *data = arena_alloc_aligned(arena, (size_t)stat.size + 1, 64);
  zip_int64_t got = zip_fread(file, data, stat.size);
  char extra;
  bool ends =
      got == (zip_int64_t)stat.size && zip_fread(file, &extra, 1) == 0; /* the checksum is verified at the end */
  if (!ends) check_memory();
  zip_fclose(file);
  if (!ends) return bad_archive(diag, path, "a member is damaged");

  StringView name = sv_copy(arena, sv_from_cstring(stat.name));
  if (sv_ends_with(name, SV(".npy"))) name.size -= 4;
  out_member->name = name;
  return npy_read(arena, name, (StringView){data, (size_t)stat.size}, diag, &out_member->array);
}

Status npz_read(Arena *arena, StringView path, StringView content, DiagSink *diag, ArrayFile *out_file) {
  *out_file = (ArrayFile){.path = path};
  zip_error_t error;
  zip_error_init(&error);
  errno = 0;
  zip_source_t *source = zip_source_buffer_create(content.data, content.size, 0, &error);
  zip_t *archive = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
  if (!archive) {
    check_memory();
    Status status = bad_archive(diag, out_file->path, zip_error_strerror(&error));
    if (source) zip_source_free(source);
    zip_error_fini(&error);
    return status;
  }
  zip_int64_t count = zip_get_num_entries(archive, 0);
  out_file->members = ARENA_NEW_ARRAY(arena, ArrayMember, count);
  Status status = check_sizes(archive, count, out_file->path, content.size, diag);
  for (zip_int64_t i = 0; i < count && status == STATUS_OK; i++)
    status = read_member(arena, archive, (zip_uint64_t)i, out_file->path, diag, &out_file->members[i]);
  out_file->count = status == STATUS_OK ? count : 0;
  zip_discard(archive);
  zip_error_fini(&error);
  return status;
}

/* --- writing --- */

static bool add_members(Arena *arena, zip_t *archive, const ArrayMember *members, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    StringView bytes = npy_write(arena, &members[i].array);
    zip_source_t *source = zip_source_buffer(archive, bytes.data, bytes.size, 0);
    char *name = arena_printf(arena, "%.*s.npy", SV_ARG(members[i].name));
    zip_int64_t index = source ? zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      if (source) zip_source_free(source);
      return false;
    }
    /* No compression and the earliest date that zip knows: the bytes depend on the arrays alone. */
    if (zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0) return false;
    if (zip_file_set_dostime(archive, (zip_uint64_t)index, 0, 1 << 5 | 1, 0) != 0) return false;
  }
  return true;
}

static bool read_back(Arena *arena, zip_source_t *source, StringView *out_bytes) {
  zip_stat_t stat;
  if (zip_source_stat(source, &stat) != 0 || zip_source_open(source) != 0) return false;
  char *bytes = arena_alloc(arena, (size_t)stat.size + 1);
  bool ok = zip_source_read(source, bytes, stat.size) == (zip_int64_t)stat.size;
  zip_source_close(source);
  *out_bytes = (StringView){bytes, (size_t)stat.size};
  return ok;
}

Status npz_write(Arena *arena, const ArrayMember *members, int64_t count, DiagSink *diag, StringView *out_bytes) {
  if (count == 0) { /* libzip removes an empty archive; this is the end record of one */
    *out_bytes = (StringView){"PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22};
    return STATUS_OK;
  }
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
  zip_t *archive = target ? zip_open_from_source(target, ZIP_TRUNCATE, &error) : NULL;
  bool ok = archive != NULL;
  if (ok) {
    zip_source_keep(target); /* closing the archive must not take its bytes along */
    ok = add_members(arena, archive, members, count) && zip_close(archive) == 0;
    if (!ok) zip_discard(archive);
    ok = ok && read_back(arena, target, out_bytes);
  }
  if (target) zip_source_free(target);
  zip_error_fini(&error);
  return ok ? STATUS_OK : diag_error(diag, STATUS_IO, NO_LOC, "npz", "no memory for a .npz archive");
}
