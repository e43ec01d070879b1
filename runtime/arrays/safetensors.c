#include "runtime/arrays/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/hash_map.h"
#include "base/json_writer.h"
#include "runtime/arrays/json_tree.h"

#define SIZE_BYTES 8           /* before the header, which they count */
#define HEADER_LIMIT 100000000 /* the format's own */
#define HEADER_ALIGNMENT 8     /* of the data, when written */
#define EXACT_LIMIT 0x1p53     /* cJSON's numbers are doubles */
#define METADATA "__metadata__"

static const struct {
  const char *dtype;
  PrimitiveType type;
  int bits;
} dtypes[] = {
    {"BOOL", TYPE_PRED, 8},
    {"U8", TYPE_U8, 8},
    {"I8", TYPE_S8, 8},
    {"I16", TYPE_S16, 16},
    {"U16", TYPE_U16, 16},
    {"I32", TYPE_S32, 32},
    {"U32", TYPE_U32, 32},
    {"I64", TYPE_S64, 64},
    {"U64", TYPE_U64, 64},
    {"F16", TYPE_F16, 16},
    {"BF16", TYPE_BF16, 16},
    {"F32", TYPE_F32, 32},
    {"F64", TYPE_F64, 64},
    {"C64", TYPE_C64, 64},
    {"F8_E5M2", TYPE_F8E5M2, 8},
    {"F8_E4M3", TYPE_F8E4M3FN, 8},
    {"F8_E8M0", TYPE_F8E8M0FNU, 8},
    {"F8_E5M2FNUZ", TYPE_F8E5M2FNUZ, 8},
    {"F8_E4M3FNUZ", TYPE_F8E4M3FNUZ, 8},
    {"F4", TYPE_F4E2M1FN, 4},
};

#define DTYPE_COUNT ((int)(sizeof dtypes / sizeof dtypes[0]))

/* --- reading --- */

typedef struct Reader {
  Arena *arena;
  StringView path, data; /* data: what follows the header */
  DiagSink *diag;
} Reader;

/* An array as the header describes it. */
typedef struct Entry {
  StringView name;
  int dtype, rank;
  const int64_t *dims;
  int64_t count, begin, end;
} Entry;

static Status bad_file(const Reader *reader, const char *why) {
  return diag_error(reader->diag, STATUS_INVALID, NO_LOC, "safetensors",
                    "'%.*s' is not a readable .safetensors file: %s", SV_ARG(reader->path), why);
}

static Status bad_entry(const Reader *reader, StringView name, const char *why) {
  return diag_error(reader->diag, STATUS_INVALID, NO_LOC, "safetensors", "'%.*s', array '%.*s': %s",
                    SV_ARG(reader->path), SV_ARG(name), why);
}

static bool size_of(const cJSON *item, int64_t *out_value) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < EXACT_LIMIT)) return false;
  *out_value = (int64_t)item->valuedouble;
  return (double)*out_value == item->valuedouble;
}

static Status read_shape(const Reader *reader, const cJSON *list, Entry *entry) {
  if (!cJSON_IsArray(list)) return bad_entry(reader, entry->name, "the shape is not a list");
  entry->rank = cJSON_GetArraySize(list);
  if (entry->rank > NPY_MAX_RANK) return bad_entry(reader, entry->name, "the shape has too many dimensions");
  int64_t *dims = ARENA_NEW_ARRAY(reader->arena, int64_t, entry->rank);
  const cJSON *item = NULL;
  int rank = 0;
  bool is_empty = false, fits = true;
  cJSON_ArrayForEach(item, list) {
    if (!size_of(item, &dims[rank])) return bad_entry(reader, entry->name, "a dimension is not a size");
    is_empty |= dims[rank++] == 0;
  }
  entry->dims = dims;
  entry->count = 1;
  for (int i = 0; i < rank && !is_empty; i++) fits = fits && checked_mul(entry->count, dims[i], &entry->count);
  if (is_empty) entry->count = 0;
  return fits ? STATUS_OK : bad_entry(reader, entry->name, "the shape is too large");
}

static Status read_extent(const Reader *reader, const cJSON *list, Entry *entry) {
  if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 2 || !size_of(list->child, &entry->begin) ||
      !size_of(list->child->next, &entry->end))
    return bad_entry(reader, entry->name, "'data_offsets' are not two sizes");
  int64_t bits;
  if (!checked_mul(entry->count, dtypes[entry->dtype].bits, &bits))
    return bad_entry(reader, entry->name, "the shape is too large");
  if (entry->begin > entry->end || bits != 8 * (entry->end - entry->begin))
    return bad_entry(reader, entry->name, "'data_offsets' do not suit shape and type");
  return STATUS_OK;
}

static Status read_entry(const Reader *reader, const cJSON *item, Entry *out_entry) {
  *out_entry = (Entry){.name = sv_copy(reader->arena, sv_from_cstring(item->string)), .dtype = DTYPE_COUNT};
  if (!cJSON_IsObject(item)) return bad_entry(reader, out_entry->name, "its description is not an object");
  const cJSON *dtype = NULL, *shape = NULL, *extent = NULL, *member = NULL;
  cJSON_ArrayForEach(member, item) {
    const cJSON **field = strcmp(member->string, "dtype") == 0          ? &dtype
                          : strcmp(member->string, "shape") == 0        ? &shape
                          : strcmp(member->string, "data_offsets") == 0 ? &extent
                                                                        : NULL;
    if (!field || *field)
      return bad_entry(reader, out_entry->name, "it has fields other than one dtype, shape, data_offsets");
    *field = member;
  }
  if (!cJSON_IsString(dtype)) return bad_entry(reader, out_entry->name, "it has no 'dtype'");
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].dtype, dtype->valuestring) == 0) out_entry->dtype = i;
  if (out_entry->dtype == DTYPE_COUNT)
    return diag_error(reader->diag, STATUS_INVALID, NO_LOC, "safetensors",
                      "'%.*s', array '%.*s': holds elements of type '%s', which xlac does not read",
                      SV_ARG(reader->path), SV_ARG(out_entry->name), dtype->valuestring);
  RETURN_IF_ERROR(read_shape(reader, shape, out_entry));
  return read_extent(reader, extent, out_entry);
}

static int compare_begins(const void *a, const void *b) {
  const Entry *left = a, *right = b;
  if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
  if (left->end != right->end) return left->end < right->end ? -1 : 1; /* empty ones first */
  return sv_compare(left->name, right->name);
}

/* The arrays follow one another from the first byte to the last. */
static Status check_cover(const Reader *reader, const Entry *entries, int64_t count) {
  int64_t end = 0;
  for (int64_t i = 0; i < count; i++) {
    if (entries[i].begin != end)
      return bad_entry(
          reader, entries[i].name,
          entries[i].begin < end ? "its bytes overlap those of another array" : "there is a gap before its bytes");
    end = entries[i].end;
  }
  if ((uint64_t)end > reader->data.size) return bad_file(reader, "the data end early");
  return (uint64_t)end == reader->data.size ? STATUS_OK : bad_file(reader, "there are bytes after the last array");
}

/* F4, two in a byte, as one a byte. */
static const void *unpacked(Arena *arena, const unsigned char *bytes, int64_t count) {
  unsigned char *units = ARENA_NEW_ARRAY(arena, unsigned char, count);
  for (int64_t i = 0; i < count; i++) units[i] = i % 2 == 0 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4;
  return units;
}

static Status read_entries(const Reader *reader, const cJSON *root, ArrayFile *out_file) {
  if (!cJSON_IsObject(root)) return bad_file(reader, "the header is not a JSON object");
  Entry *entries = ARENA_NEW_ARRAY(reader->arena, Entry, cJSON_GetArraySize(root));
  int64_t count = 0;
  StringMap names;
  string_map_init(&names, reader->arena);
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, root) {
    if (string_map_set(&names, sv_copy(reader->arena, sv_from_cstring(item->string)), entries))
      return bad_entry(reader, sv_from_cstring(item->string), "the header has it twice");
    if (strcmp(item->string, METADATA) != 0) RETURN_IF_ERROR(read_entry(reader, item, &entries[count++]));
  }
  qsort(entries, (size_t)count, sizeof *entries, compare_begins);
  RETURN_IF_ERROR(check_cover(reader, entries, count));
  out_file->members = ARENA_NEW_ARRAY(reader->arena, ArrayMember, count);
  for (int64_t i = 0; i < count; i++) {
    const Entry *entry = &entries[i];
    const void *data = reader->data.data + entry->begin;
    if (dtypes[entry->dtype].bits < 8) data = unpacked(reader->arena, data, entry->count);
    out_file->members[i] = (ArrayMember){
        entry->name, {npy_type_of(dtypes[entry->dtype].type), entry->rank, entry->dims, entry->count, data}};
  }
  out_file->count = count;
  return STATUS_OK;
}

/* What the writer pads the header with. */
static bool is_blank(const char *at, const char *end) {
  while (at < end && *at == ' ') at++;
  return at == end;
}

static uint64_t header_size(StringView content) {
  uint64_t size = 0;
  for (int i = 0; i < SIZE_BYTES; i++) size |= (uint64_t)(unsigned char)content.data[i] << (8 * i);
  return size;
}

bool safetensors_matches(StringView content) {
  return content.size > SIZE_BYTES && header_size(content) <= content.size - SIZE_BYTES &&
         content.data[SIZE_BYTES] == '{';
}

Status safetensors_read(Arena *arena, StringView path, StringView content, DiagSink *diag, ArrayFile *out_file) {
  *out_file = (ArrayFile){.path = path};
  Reader reader = {.arena = arena, .path = path, .diag = diag};
  if (content.size < SIZE_BYTES) return bad_file(&reader, "it has no header");
  uint64_t size = header_size(content);
  if (size > HEADER_LIMIT || size > content.size - SIZE_BYTES)
    return bad_file(&reader, "the header is longer than the file, or than the format allows");
  StringView header = {content.data + SIZE_BYTES, (size_t)size};
  reader.data = (StringView){header.data + size, content.size - SIZE_BYTES - (size_t)size};
  if (size == 0 || header.data[0] != '{') return bad_file(&reader, "the header is not a JSON object");
  const char *end = NULL;
  cJSON *root = json_tree_parse(header, &end);
  Status status = !root ? bad_file(&reader, "the header is damaged")
                  : !is_blank(end, header.data + header.size)
                      ? bad_file(&reader, "there is something after the header's object")
                      : read_entries(&reader, root, out_file);
  cJSON_Delete(root);
  return status;
}

/* --- writing --- */

/* The dtype of |type|; -1: none. */
static int dtype_of(NpyType type) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    NpyType known = npy_type_of(dtypes[i].type);
    if (known.kind == type.kind && known.bytes == type.bytes) return i;
  }
  return -1;
}

/* Packing needs whole bytes. */
static bool can_hold(int dtype, int64_t count) {
  return dtype >= 0 && count * dtypes[dtype].bits % 8 == 0;
}

typedef struct Written {
  StringView name;
  NpyArray array; /* of a type that the format has */
  int dtype;
  int64_t begin, end;
} Written;

/* Descending by width, otherwise as given. */
static void order_by_width(Written *written, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    Written moved = written[i];
    int64_t to = i;
    for (; to > 0 && dtypes[written[to - 1].dtype].bits < dtypes[moved.dtype].bits; to--) written[to] = written[to - 1];
    written[to] = moved;
  }
}

static StringView header_of(Arena *arena, const Written *written, int64_t count) {
  StringBuilder header;
  sb_init(&header, arena);
  JsonWriter json;
  json_init(&json, &header, false);
  json_begin_object(&json);
  for (int64_t i = 0; i < count; i++) {
    json_key(&json, arena_printf(arena, "%.*s", SV_ARG(written[i].name)));
    json_begin_object(&json);
    json_field_string(&json, "dtype", sv_from_cstring(dtypes[written[i].dtype].dtype));
    json_key(&json, "shape");
    json_begin_array(&json);
    for (int d = 0; d < written[i].array.rank; d++) json_int(&json, written[i].array.dims[d]);
    json_end_array(&json);
    json_key(&json, "data_offsets");
    json_begin_array(&json);
    json_int(&json, written[i].begin);
    json_int(&json, written[i].end);
    json_end_array(&json);
    json_end_object(&json);
  }
  json_end_object(&json);
  while (header.size % HEADER_ALIGNMENT != 0) sb_append_char(&header, ' ');
  return sb_view(&header);
}

static void write_data(char *out, const Written *written) {
  const unsigned char *units = written->array.data;
  if (dtypes[written->dtype].bits >= 8) {
    if (written->end > written->begin) memcpy(out, units, (size_t)(written->end - written->begin));
    return;
  }
  for (int64_t i = 0; i < written->array.count; i += 2) out[i / 2] = (char)((units[i] & 15) | (units[i + 1] & 15) << 4);
}

Status safetensors_write(Arena *arena, StringView path, const ArrayMember *members, int64_t count, DiagSink *diag,
                         StringView *out_bytes) {
  Written *written = ARENA_NEW_ARRAY(arena, Written, count);
  for (int64_t i = 0; i < count; i++) {
    written[i] = (Written){.name = members[i].name, .array = members[i].array};
    if (!can_hold(dtype_of(written[i].array.type), written[i].array.count))
      written[i].array = npy_widened(arena, &members[i].array);
    written[i].dtype = dtype_of(written[i].array.type);
    if (written[i].dtype < 0)
      return diag_error(diag, STATUS_INVALID, NO_LOC, "safetensors",
                        "'%.*s': a .safetensors file cannot hold '%.*s' of type %s; a .npz file can", SV_ARG(path),
                        SV_ARG(members[i].name), npy_type_text(members[i].array.type));
  }
  order_by_width(written, count);
  int64_t end = 0;
  for (int64_t i = 0; i < count; i++) {
    written[i].begin = end;
    written[i].end = end += written[i].array.count * dtypes[written[i].dtype].bits / 8;
  }
  StringView header = header_of(arena, written, count);
  size_t start = SIZE_BYTES + header.size;
  char *bytes = arena_alloc(arena, start + (size_t)end);
  for (int i = 0; i < SIZE_BYTES; i++) bytes[i] = (char)(header.size >> (8 * i));
  memcpy(bytes + SIZE_BYTES, header.data, header.size);
  for (int64_t i = 0; i < count; i++) write_data(bytes + start + written[i].begin, &written[i]);
  *out_bytes = (StringView){bytes, start + (size_t)end};
  return STATUS_OK;
}
