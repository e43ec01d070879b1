#include "runtime/arrays/array_file.h"

#include "runtime/arrays/npz.h"
#include "runtime/arrays/safetensors.h"

static bool is_called_safetensors(const char *path) {
  return sv_ends_with(sv_from_cstring(path), SV(".safetensors"));
}

static Status read_members(Arena *arena, const char *path, StringView content, DiagSink *diag, ArrayFile *out_file) {
  bool is_safetensors = is_called_safetensors(path) || safetensors_matches(content);
  return (is_safetensors ? safetensors_read : npz_read)(arena, sv_from_cstring(path), content, diag, out_file);
}

Status array_file_read(Arena *arena, const char *path, DiagSink *diag, ArrayFile *out_file) {
  StringView content;
  RETURN_IF_ERROR(file_read(arena, path, diag, &content));
  return read_members(arena, path, content, diag, out_file);
}

Status array_file_open(Arena *arena, const char *path, DiagSink *diag, ArrayFile *out_file) {
  FileView view;
  *out_file = (ArrayFile){.count = 0};
  RETURN_IF_ERROR(file_view_open(arena, path, diag, &view));
  Status status = read_members(arena, path, view.content, diag, out_file);
  out_file->view = view;
  return status;
}

void array_file_close(ArrayFile *file) {
  file_view_close(&file->view);
}

const NpyArray *array_file_find(const ArrayFile *file, StringView name) {
  for (int64_t i = 0; i < file->count; i++)
    if (sv_equal(file->members[i].name, name)) return &file->members[i].array;
  return NULL;
}

Status array_file_write(Arena *arena, const char *path, const ArrayMember *members, int64_t count, DiagSink *diag,
                        StringView *out_bytes) {
  if (is_called_safetensors(path))
    return safetensors_write(arena, sv_from_cstring(path), members, count, diag, out_bytes);
  *out_bytes = npz_write(arena, members, count);
  return STATUS_OK;
}
