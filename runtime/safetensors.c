#include "runtime/safetensors.h"

#include <cjson/cJSON.h>

#include "base/checked_math.h"
#include "hlo/type/primitive_type.h"

enum { LENGTH_BYTES = 8, MOST_RANK = 64 };

/* The format's names.  F8_E4M3 has no infinities there. */
static const struct {
  const char *text;
  PrimitiveType type;
} types[] = {{"BOOL", TYPE_PRED},
             {"I8", TYPE_S8},
             {"U8", TYPE_U8},
             {"I16", TYPE_S16},
             {"U16", TYPE_U16},
             {"I32", TYPE_S32},
             {"U32", TYPE_U32},
             {"I64", TYPE_S64},
             {"U64", TYPE_U64},
             {"F16", TYPE_F16},
             {"BF16", TYPE_BF16},
             {"F32", TYPE_F32},
             {"F64", TYPE_F64},
             {"C64", TYPE_C64},
             {"F8_E5M2", TYPE_F8E5M2},
             {"F8_E4M3", TYPE_F8E4M3FN},
             {"F8_E5M2FNUZ", TYPE_F8E5M2FNUZ},
             {"F8_E4M3FNUZ", TYPE_F8E4M3FNUZ},
             {"F8_E8M0", TYPE_F8E8M0FNU}};

typedef struct HeaderReader {
  Arena *arena;
  StringView label, data; /* data: behind the header */
  DiagSink *diag;
} HeaderReader;

static uint64_t header_length(StringView content) {
  uint64_t length = 0;
  for (int i = 0; i < LENGTH_BYTES; i++) length |= (uint64_t)(unsigned char)content.data[i] << (8 * i);
  return length;
}

bool safetensors_matches(StringView content) {
  return content.size > LENGTH_BYTES && content.data[LENGTH_BYTES] == '{' &&
         header_length(content) <= content.size - LENGTH_BYTES;
}

static Status bad_file(const HeaderReader *reader, const char *why) {
  return diag_error(reader->diag, STATUS_INVALID, NO_LOC, "safetensors", "'%.*s' is no readable .safetensors file: %s",
                    SV_ARG(reader->label), why);
}

static Status bad_array(const HeaderReader *reader, const char *name, const char *why) {
  return bad_file(reader, arena_printf(reader->arena, "array '%s' %s", name, why));
}

/* A whole number of JSON that a double holds exactly and an array can have as size or place. */
static bool read_size(const cJSON *item, int64_t *out_size) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 0x1p53)) return false;
  *out_size = (int64_t)item->valuedouble;
  return (double)*out_size == item->valuedouble;
}

static PrimitiveType type_named(const cJSON *dtype) {
  for (size_t i = 0; i < sizeof types / sizeof types[0] && cJSON_IsString(dtype); i++)
    if (sv_equal_cstring(sv_from_cstring(types[i].text), dtype->valuestring)) return types[i].type;
  return TYPE_INVALID;
}

static Status read_shape(const HeaderReader *reader, const cJSON *entry, XlacTensor *tensor) {
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape"), *size;
  if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > MOST_RANK)
    return bad_array(reader, tensor->name, "has no shape");
  tensor->rank = cJSON_GetArraySize(shape);
  int64_t *dims = ARENA_NEW_ARRAY(reader->arena, int64_t, tensor->rank);
  int64_t *minor_to_major = ARENA_NEW_ARRAY(reader->arena, int64_t, tensor->rank);
  int32_t i = 0;
  tensor->bytes = type_storage_bytes((PrimitiveType)tensor->type);
  cJSON_ArrayForEach(size, shape) {
    minor_to_major[i] = tensor->rank - 1 - i;
    if (!read_size(size, &dims[i]) || !checked_mul(tensor->bytes, dims[i++], &tensor->bytes))
      return bad_array(reader, tensor->name, "has an impossible shape");
  }
  tensor->dims = dims;
  tensor->minor_to_major = minor_to_major;
  return STATUS_OK;
}

static Status read_entry(const HeaderReader *reader, const cJSON *entry, XlacTensor *tensor, const void **out_data) {
  *tensor = (XlacTensor){.name = arena_printf(reader->arena, "%s", entry->string)};
  const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
  tensor->type = (int32_t)type_named(dtype);
  if (tensor->type == TYPE_INVALID)
    return bad_array(reader, tensor->name,
                     arena_printf(reader->arena, "has type '%s', which xlac does not read",
                                  cJSON_IsString(dtype) ? dtype->valuestring : ""));
  RETURN_IF_ERROR(read_shape(reader, entry, tensor));
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
  int64_t begin, end;
  if (cJSON_GetArraySize(offsets) != 2 || !read_size(cJSON_GetArrayItem(offsets, 0), &begin) ||
      !read_size(cJSON_GetArrayItem(offsets, 1), &end) || begin > end || (uint64_t)end > reader->data.size)
    return bad_array(reader, tensor->name, "lies outside of the file");
  if (end - begin != tensor->bytes) return bad_array(reader, tensor->name, "has not the bytes that its shape needs");
  *out_data = reader->data.data + begin;
  return STATUS_OK;
}

static Status read_header(const HeaderReader *reader, const cJSON *root, SafetensorsFile *out_file) {
  if (!cJSON_IsObject(root)) return bad_file(reader, "its header is not a JSON object");
  int count = cJSON_GetArraySize(root);
  out_file->tensors = ARENA_NEW_ARRAY(reader->arena, XlacTensor, count);
  const void **data = ARENA_NEW_ARRAY(reader->arena, const void *, count);
  out_file->data = data;
  const cJSON *entry;
  cJSON_ArrayForEach(entry, root) {
    if (sv_equal_cstring(SV("__metadata__"), entry->string)) continue;
    RETURN_IF_ERROR(read_entry(reader, entry, &out_file->tensors[out_file->count], &data[out_file->count]));
    out_file->count++;
  }
  return STATUS_OK;
}

Status safetensors_parse(Arena *arena, StringView label, StringView content, DiagSink *diag,
                         SafetensorsFile *out_file) {
  *out_file = (SafetensorsFile){0};
  HeaderReader reader = {arena, label, {NULL, 0}, diag};
  if (!safetensors_matches(content)) return bad_file(&reader, "it does not begin with a header's length");
  StringView header = sv_sub(content, LENGTH_BYTES, (size_t)header_length(content));
  reader.data = sv_sub(content, LENGTH_BYTES + header.size, content.size - LENGTH_BYTES - header.size);
  cJSON *root = cJSON_ParseWithLength(header.data, header.size);
  Status status = read_header(&reader, root, out_file);
  cJSON_Delete(root);
  return status;
}

int64_t safetensors_find(const SafetensorsFile *file, StringView name) {
  for (int64_t i = 0; i < file->count; i++)
    if (sv_equal_cstring(name, file->tensors[i].name)) return i;
  return -1;
}
