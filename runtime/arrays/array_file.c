#include "runtime/arrays/array_file.h"

#include "base/file_io.h"
#include "runtime/arrays/npz.h"
#include "runtime/arrays/safetensors.h"

static bool is_called_safetensors(const char *path) {
  return sv_ends_with(sv_from_cstring(path), SV(".safetensors"));
}

Status array_file_read(Arena *arena, const char *path, DiagSink *diag, ArrayFile *out_file) {
  StringView content, label = sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(arena, path, diag, &content));
  return is_called_safetensors(path) || safetensors_matches(content)
             ? safetensors_read(arena, label, content, diag, out_file)
             : npz_read(arena, label, content, diag, out_file);
}

const NpyArray *array_file_find(const ArrayFile *file, StringView name) {
  for (int64_t i = 0; i < file->count; i++)
    if (sv_equal(file->members[i].name, name)) return &file->members[i].array;
  return NULL;
}

Status array_file_write(Arena *arena, const char *path, const ArrayMember *members, int64_t count, DiagSink *diag,
                        StringView *out_bytes) {
  return is_called_safetensors(path) ? safetensors_write(arena, sv_from_cstring(path), members, count, diag, out_bytes)
                                     : npz_write(arena, members, count, diag, out_bytes);
}
