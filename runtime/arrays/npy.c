#include "runtime/arrays/npy.h"

#include <string.h>

#include "base/checked_math.h"
#include "hlo/type/float_types.h"

static const struct {
  NpyType type;
  const char *text;
} npy_types[] = {
    {{'b', 1}, "bool"},      {{'i', 1}, "int8"},        {{'i', 2}, "int16"},   {{'i', 4}, "int32"},
    {{'i', 8}, "int64"},     {{'u', 1}, "uint8"},       {{'u', 2}, "uint16"},  {{'u', 4}, "uint32"},
    {{'u', 8}, "uint64"},    {{'f', 2}, "float16"},     {{'f', 4}, "float32"}, {{'f', 8}, "float64"},
    {{'c', 8}, "complex64"}, {{'c', 16}, "complex128"},
};

/* Narrow floats, with the letters of ml_dtypes where it has them. */
static const struct {
  char kind;
  PrimitiveType type;
  const char *text;
} narrow_types[] = {
    {'E', TYPE_BF16, "bfloat16"},
    {'5', TYPE_F8E5M2, "float8_e5m2"},
    {'7', TYPE_F8E4M3, "float8_e4m3"},
    {'4', TYPE_F8E4M3FN, "float8_e4m3fn"},
    {'L', TYPE_F8E4M3B11FNUZ, "float8_e4m3b11fnuz"},
    {'3', TYPE_F8E3M4, "float8_e3m4"},
    {'C', TYPE_F8E5M2FNUZ, "float8_e5m2fnuz"},
    {'G', TYPE_F8E4M3FNUZ, "float8_e4m3fnuz"},
    {'W', TYPE_F8E8M0FNU, "float8_e8m0fnu"},
    {'1', TYPE_F4E2M1FN, "float4_e2m1fn"},
    {'8', TYPE_F6E2M3FN, "float6_e2m3fn"},
    {'6', TYPE_F6E3M2FN, "float6_e3m2fn"},
};

#define NARROW_TYPE_COUNT (sizeof narrow_types / sizeof narrow_types[0])

PrimitiveType npy_narrow_type(NpyType type) {
  for (size_t i = 0; i < NARROW_TYPE_COUNT; i++)
    if (narrow_types[i].kind == type.kind) return narrow_types[i].type;
  return TYPE_INVALID;
}

NpyType npy_type_of(PrimitiveType type) {
  for (size_t i = 0; i < NARROW_TYPE_COUNT; i++)
    if (narrow_types[i].type == type) return (NpyType){narrow_types[i].kind, type_storage_bytes(type)};
  char kind = type == TYPE_PRED        ? 'b'
              : type_is_complex(type)  ? 'c'
              : type_is_float(type)    ? 'f'
              : type_is_unsigned(type) ? 'u'
                                       : 'i';
  return (NpyType){kind, type_storage_bytes(type)};
}

NpyArray npy_widened(Arena *arena, const NpyArray *array) {
  if (npy_narrow_type(array->type) == TYPE_INVALID) return *array;
  float *values = ARENA_NEW_ARRAY(arena, float, array->count);
  for (int64_t i = 0; i < array->count; i++) values[i] = (float)npy_get_double(array, i, 0);
  return (NpyArray){{'f', 4}, array->rank, array->dims, array->count, values};
}

/* In a .npy file. */
static bool type_is_known(NpyType type) {
  for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; i++)
    if (npy_types[i].type.kind == type.kind && npy_types[i].type.bytes == type.bytes) return true;
  return false;
}

const char *npy_type_text(NpyType type) {
  for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; i++)
    if (npy_types[i].type.kind == type.kind && npy_types[i].type.bytes == type.bytes) return npy_types[i].text;
  for (size_t i = 0; i < NARROW_TYPE_COUNT; i++)
    if (narrow_types[i].kind == type.kind) return narrow_types[i].text;
  return "?";
}

StringView npy_shape_text(Arena *arena, const int64_t *dims, int rank) {
  StringBuilder text;
  sb_init(&text, arena);
  sb_append_char(&text, '(');
  for (int i = 0; i < rank; i++) {
    if (i > 0) sb_append_cstring(&text, ", ");
    sb_append_int(&text, dims[i]);
  }
  sb_append_cstring(&text, rank == 1 ? ",)" : ")");
  return sb_view(&text);
}

/* --- reading the header, a Python dictionary --- */

typedef struct HeaderReader {
  const char *at, *end;
} HeaderReader;

static void skip_blanks(HeaderReader *reader) {
  while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t')) reader->at++;
}

static bool accept_char(HeaderReader *reader, char c) {
  skip_blanks(reader);
  if (reader->at == reader->end || *reader->at != c) return false;
  reader->at++;
  return true;
}

static bool read_quoted(HeaderReader *reader, StringView *out_text) {
  skip_blanks(reader);
  if (reader->at == reader->end || (*reader->at != '\'' && *reader->at != '"')) return false;
  char quote = *reader->at++;
  const char *start = reader->at;
  while (reader->at < reader->end && *reader->at != quote) reader->at++;
  if (reader->at == reader->end) return false;
  *out_text = (StringView){start, (size_t)(reader->at - start)};
  reader->at++;
  return true;
}

static bool read_bool(HeaderReader *reader, bool *out_value) {
  skip_blanks(reader);
  StringView rest = {reader->at, (size_t)(reader->end - reader->at)};
  *out_value = sv_starts_with(rest, SV("True"));
  if (!*out_value && !sv_starts_with(rest, SV("False"))) return false;
  reader->at += *out_value ? 4 : 5;
  return true;
}

static bool read_size(HeaderReader *reader, int64_t *out_value) {
  skip_blanks(reader);
  const char *start = reader->at;
  int64_t value = 0;
  for (; reader->at < reader->end && char_is_digit(*reader->at); reader->at++)
    if (!checked_mul(value, 10, &value) || !checked_add(value, *reader->at - '0', &value)) return false;
  if (reader->at < reader->end && *reader->at == 'L') reader->at++; /* Python 2 */
  *out_value = value;
  return reader->at > start;
}

static bool read_shape(HeaderReader *reader, int64_t *dims, int *out_rank) {
  if (!accept_char(reader, '(')) return false;
  *out_rank = 0;
  while (!accept_char(reader, ')')) {
    if (*out_rank == NPY_MAX_RANK || !read_size(reader, &dims[*out_rank])) return false;
    ++*out_rank;
    if (accept_char(reader, ',')) continue;
    return accept_char(reader, ')');
  }
  return true;
}

typedef struct NpyHeader {
  StringView descr;
  bool fortran_order, has_order, has_shape;
  int rank;
  int64_t dims[NPY_MAX_RANK];
} NpyHeader;

static bool read_header(StringView text, NpyHeader *out) {
  HeaderReader reader = {text.data, text.data + text.size};
  if (!accept_char(&reader, '{')) return false;
  while (!accept_char(&reader, '}')) {
    StringView key;
    if (!read_quoted(&reader, &key) || !accept_char(&reader, ':')) return false;
    bool ok = false;
    if (sv_equal_cstring(key, "descr")) {
      ok = read_quoted(&reader, &out->descr);
    } else if (sv_equal_cstring(key, "fortran_order")) {
      ok = out->has_order = read_bool(&reader, &out->fortran_order);
    } else if (sv_equal_cstring(key, "shape")) {
      ok = out->has_shape = read_shape(&reader, out->dims, &out->rank);
    }
    if (!ok) return false;
    if (!accept_char(&reader, ',') && reader.at < reader.end && *reader.at != '}') return false;
  }
  return out->descr.size > 0 && out->has_order && out->has_shape;
}

static bool type_from_descr(StringView descr, NpyType *out_type, bool *out_swapped) {
  if (descr.size < 3 || descr.size > 4 || !strchr("<>=|", descr.data[0])) return false;
  int bytes = 0;
  for (size_t i = 2; i < descr.size; i++) {
    if (descr.data[i] < '0' || descr.data[i] > '9') return false;
    bytes = bytes * 10 + descr.data[i] - '0';
  }
  *out_type = (NpyType){descr.data[1], bytes};
  *out_swapped = descr.data[0] == '>' && bytes > 1;
  return type_is_known(*out_type);
}

/* --- the data --- */

static void swap_bytes(unsigned char *data, int64_t count, NpyType type) {
  int width = type.kind == 'c' ? type.bytes / 2 : type.bytes;
  int64_t units = type.kind == 'c' ? count * 2 : count;
  for (int64_t i = 0; i < units; i++, data += width)
    for (int b = 0; b < width / 2; b++) {
      unsigned char byte = data[b];
      data[b] = data[width - 1 - b];
      data[width - 1 - b] = byte;
    }
}

static const void *from_fortran_order(Arena *arena, const NpyArray *array) {
  size_t width = (size_t)array->type.bytes;
  unsigned char *out = arena_alloc_array(arena, (size_t)array->count, width);
  int64_t index[NPY_MAX_RANK] = {0};
  for (int64_t i = 0; i < array->count; i++) {
    int64_t source = 0;
    for (int d = array->rank - 1; d >= 0; d--) source = source * array->dims[d] + index[d];
    memcpy(out + (size_t)i * width, (const unsigned char *)array->data + (size_t)source * width, width);
    for (int d = array->rank - 1; d >= 0 && ++index[d] == array->dims[d]; d--) index[d] = 0;
  }
  return out;
}

static Status malformed(DiagSink *diag, StringView label, const char *why) {
  return diag_error(diag, STATUS_INVALID, NO_LOC, "npy", "'%.*s' is not an array that can be read: %s", SV_ARG(label),
                    why);
}

/* Where the header's text and the data begin; false when the file is too short or of an unknown version. */
static bool locate_header(StringView bytes, StringView *out_header, StringView *out_data) {
  static const char magic[] = "\x93NUMPY";
  if (bytes.size < 10 || memcmp(bytes.data, magic, 6) != 0) return false;
  const unsigned char *raw = (const unsigned char *)bytes.data;
  size_t start = 10, length = (size_t)raw[8] | (size_t)raw[9] << 8;
  if (raw[6] == 2 || raw[6] == 3) {
    if (bytes.size < 12) return false;
    start = 12;
    length |= (size_t)raw[10] << 16 | (size_t)raw[11] << 24;
  } else if (raw[6] != 1) {
    return false;
  }
  if (length > bytes.size - start) return false;
  *out_header = (StringView){bytes.data + start, length};
  *out_data = (StringView){bytes.data + start + length, bytes.size - start - length};
  return true;
}

Status npy_read(Arena *arena, StringView label, StringView bytes, DiagSink *diag, NpyArray *out_array) {
  StringView header_text, data;
  if (!locate_header(bytes, &header_text, &data)) return malformed(diag, label, "not a .npy file");
  NpyHeader header = {0};
  if (!read_header(header_text, &header)) return malformed(diag, label, "the header is damaged");
  bool swapped = false;
  if (!type_from_descr(header.descr, &out_array->type, &swapped))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "npy",
                      "'%.*s' holds elements of type '%.*s', which xlac does not read", SV_ARG(label),
                      SV_ARG(header.descr));
  int64_t count = 1, size = 0;
  bool fits = true, empty = false;
  for (int i = 0; i < header.rank; i++) empty |= header.dims[i] == 0;
  for (int i = 0; i < header.rank && !empty; i++) fits = fits && checked_mul(count, header.dims[i], &count);
  if (empty) count = 0;
  if (!fits || !checked_mul(count, out_array->type.bytes, &size) || (uint64_t)size > data.size)
    return malformed(diag, label, "the data ends early");
  out_array->rank = header.rank;
  out_array->dims = ARENA_COPY_ARRAY(arena, int64_t, header.dims, header.rank);
  out_array->count = count;
  out_array->data = data.data;
  if (swapped) {
    void *copy = arena_copy(arena, data.data, (size_t)size);
    swap_bytes(copy, count, out_array->type);
    out_array->data = copy;
  }
  if (header.fortran_order && header.rank > 1) out_array->data = from_fortran_order(arena, out_array);
  return STATUS_OK;
}

StringView npy_write(Arena *arena, const NpyArray *original) {
  const NpyArray widened = npy_widened(arena, original), *array = &widened;
  StringBuilder header;
  sb_init(&header, arena);
  sb_printf(&header, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': %.*s, }", array->type.bytes == 1 ? '|' : '<',
            array->type.kind, array->type.bytes, SV_ARG(npy_shape_text(arena, array->dims, array->rank)));
  /* NumPy leaves room for the first dimension to grow to 21 digits, then aligns the data to 64 bytes. */
  if (array->rank > 0) {
    StringView first = sv_printf(arena, "%lld", (long long)array->dims[0]);
    sb_append_repeated(&header, ' ', 21 - (int64_t)first.size);
  }
  while ((10 + header.size + 1) % 64 != 0) sb_append_char(&header, ' ');
  sb_append_char(&header, '\n');

  size_t data_size = (size_t)array->count * (size_t)array->type.bytes, size = 10 + header.size + data_size;
  char *bytes = arena_alloc(arena, size);
  memcpy(bytes, "\x93NUMPY\x01\x00", 8);
  bytes[8] = (char)(header.size & 255);
  bytes[9] = (char)(header.size >> 8);
  memcpy(bytes + 10, header.data, header.size);
  if (data_size > 0) memcpy(bytes + 10 + header.size, array->data, data_size);
  return (StringView){bytes, size};
}

/* --- elements --- */

static uint64_t load_bits(const NpyArray *array, int64_t index, int part, int width) {
  uint64_t bits = 0;
  memcpy(&bits, (const unsigned char *)array->data + index * array->type.bytes + part * width, (size_t)width);
  return bits;
}

double npy_get_double(const NpyArray *array, int64_t index, int part) {
  NpyType type = array->type;
  PrimitiveType narrow_type = npy_narrow_type(type);
  if (narrow_type != TYPE_INVALID)
    return part == 0 ? float_decode(narrow_type, load_bits(array, index, 0, type.bytes)) : 0;
  if (type.kind != 'f' && type.kind != 'c') {
    if (part != 0) return 0;
    return type.kind == 'u' ? (double)(uint64_t)npy_get_int(array, index) : (double)npy_get_int(array, index);
  }
  if (type.kind == 'f' && part != 0) return 0;
  int width = type.kind == 'c' ? type.bytes / 2 : type.bytes;
  uint64_t bits = load_bits(array, index, part, width);
  if (width == 2) return float_decode(TYPE_F16, bits);
  if (width == 8) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
  }
  uint32_t narrow = (uint32_t)bits;
  float value;
  memcpy(&value, &narrow, 4);
  return (double)value;
}

int64_t npy_get_int(const NpyArray *array, int64_t index) {
  int bytes = array->type.bytes;
  uint64_t bits = load_bits(array, index, 0, bytes);
  if (array->type.kind == 'b') return bits != 0;
  if (array->type.kind == 'u' || bytes == 8) return (int64_t)bits;
  uint64_t sign = (uint64_t)1 << (bytes * 8 - 1);
  return (int64_t)((bits ^ sign) - sign);
}
