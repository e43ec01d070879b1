/* The code of xlac/weights.h: this file and that header are all it takes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "xlac/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DIMENSIONS = 64, MOST_NESTING = 64 };

/* Memory that ends with the XlacWeights. */
typedef struct Block {
  struct Block *next;
} Block;

/* An array by its name as an identifier. */
typedef struct Named {
  char *identifier;
  int64_t index;
} Named;

struct XlacWeights {
  unsigned char *file; /* mapped; NULL: it is empty */
  size_t file_size;
  int64_t count, capacity;
  XlacWeight *arrays;
  Named *names; /* ascending, of one name the first in the file first; until all are read in the file's order */
  Block *blocks;
  /* --- while it is opened --- */
  const char *path;
  char *message;
  size_t message_size;
};

/* Bytes that are read from the front. */
typedef struct Cursor {
  const unsigned char *at, *end;
} Cursor;

/* --- errors and memory --- */

static void say(char *message, size_t size, const char *format, ...) {
  if (message == NULL || size == 0) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, size, format, arguments);
  va_end(arguments);
}

static bool fail(const XlacWeights *weights, const char *why) {
  say(weights->message, weights->message_size, "'%s': %s", weights->path, why);
  return false;
}

static bool fail_array(const XlacWeights *weights, const char *name, const char *why) {
  say(weights->message, weights->message_size, "'%s', array '%s': %s", weights->path, name, why);
  return false;
}

/* At a multiple of 64; NULL without memory. */
static void *take(XlacWeights *weights, size_t size) {
  enum { ALIGNMENT = 64 };
  if (size > SIZE_MAX - 2 * ALIGNMENT) return NULL;
  Block *block = malloc(sizeof *block + ALIGNMENT + size);
  if (block == NULL) return NULL;
  block->next = weights->blocks;
  weights->blocks = block;
  return (void *)(((uintptr_t)(block + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

/* --- names --- */

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* |name| as a C identifier, into |out|, which holds strlen(name) + 2 bytes. */
static void make_identifier(const char *name, char *out) {
  char *begin = out;
  bool joins = false;
  for (; *name != '\0'; name++) {
    if (!is_word(*name)) {
      joins = out > begin;
      continue;
    }
    if (out == begin && is_digit(*name)) *out++ = 'p';
    if (joins) *out++ = '_';
    joins = false;
    *out++ = *name;
  }
  if (out == begin) *out++ = 'p';
  *out = '\0';
}

/* --- arrays --- */

/* Bytes of an element, and what its address is a multiple of. */
static int element_bytes(int32_t type) {
  static const struct {
    int32_t type;
    int bytes;
  } wide[] = {{XLAC_S16, 2}, {XLAC_U16, 2}, {XLAC_F16, 2}, {XLAC_BF16, 2}, {XLAC_S32, 4}, {XLAC_U32, 4},
              {XLAC_F32, 4}, {XLAC_S64, 8}, {XLAC_U64, 8}, {XLAC_F64, 8},  {XLAC_C64, 8}, {XLAC_C128, 16}};
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
    if (wide[i].type == type) return wide[i].bytes;
  return 1;
}

/* The bytes of |array|'s elements; -1: more than there can be. */
static int64_t bytes_of(const XlacWeight *array) {
  int64_t bytes = element_bytes(array->type);
  bool is_empty = false;
  for (int32_t d = 0; d < array->rank; d++) is_empty |= array->dims[d] == 0;
  if (is_empty) return 0;
  for (int32_t d = 0; d < array->rank; d++) {
    if (bytes > INT64_MAX / array->dims[d]) return -1;
    bytes *= array->dims[d];
  }
  return bytes;
}

/* Adds |array|, whose elements lie at |data| in the file; name and dimensions are copied. */
static bool add_array(XlacWeights *weights, const XlacWeight *array, const unsigned char *data) {
  if (weights->count == weights->capacity) {
    int64_t capacity = weights->capacity == 0 ? 64 : 2 * weights->capacity;
    XlacWeight *arrays = take(weights, (size_t)capacity * sizeof *arrays);
    Named *names = take(weights, (size_t)capacity * sizeof *names);
    if (arrays == NULL || names == NULL) return fail(weights, "there is not enough memory");
    if (weights->count > 0) {
      memcpy(arrays, weights->arrays, (size_t)weights->count * sizeof *arrays);
      memcpy(names, weights->names, (size_t)weights->count * sizeof *names);
    }
    weights->arrays = arrays, weights->names = names, weights->capacity = capacity;
  }
  size_t name_size = strlen(array->name);
  char *name = take(weights, name_size + 1), *identifier = take(weights, name_size + 2);
  int64_t *dims = take(weights, sizeof *dims * (size_t)(array->rank + 1));
  bool is_aligned = (uintptr_t)data % (size_t)element_bytes(array->type) == 0;
  /* The mapping is private: what is written stays in this process. */
  void *bytes = is_aligned ? (void *)(uintptr_t)data : take(weights, (size_t)array->bytes);
  if (name == NULL || identifier == NULL || dims == NULL || bytes == NULL)
    return fail(weights, "there is not enough memory");
  memcpy(name, array->name, name_size + 1);
  make_identifier(name, identifier);
  if (array->rank > 0) memcpy(dims, array->dims, sizeof *dims * (size_t)array->rank);
  if (!is_aligned) memcpy(bytes, data, (size_t)array->bytes);
  XlacWeight *added = &weights->arrays[weights->count];
  weights->names[weights->count] = (Named){identifier, weights->count};
  weights->count++;
  *added = *array;
  added->name = name, added->dims = dims, added->data = bytes;
  return true;
}

static int compare_names(const void *left, const void *right) {
  const Named *a = left, *b = right;
  int order = strcmp(a->identifier, b->identifier);
  return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* The place in |names| of the first array whose name is |identifier|; -1: there is none. */
static int64_t find_identifier(const XlacWeights *weights, const char *identifier) {
  int64_t low = 0, high = weights->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (strcmp(weights->names[middle].identifier, identifier) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < weights->count && strcmp(weights->names[low].identifier, identifier) == 0 ? low : -1;
}

/* --- little-endian numbers; the caller knows that the bytes are there --- */

static uint64_t number_at(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

/* --- JSON, as much as a header of .safetensors has --- */

static void skip_blanks(Cursor *json) {
  while (json->at < json->end && strchr(" \t\n\r", *json->at) != NULL && *json->at != '\0') json->at++;
}

static bool take_character(Cursor *json, char c) {
  skip_blanks(json);
  if (json->at == json->end || *json->at != (unsigned char)c) return false;
  json->at++;
  return true;
}

static bool take_hex(Cursor *json, unsigned *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, json->at++) {
    if (json->at == json->end) return false;
    int c = *json->at, digit = c >= '0' && c <= '9'                 ? c - '0'
                               : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                    : -1;
    if (digit < 0) return false;
    *out = *out * 16 + (unsigned)digit;
  }
  return true;
}

static char *put_utf8(char *out, unsigned code) {
  if (code < 0x80) {
    *out++ = (char)code;
    return out;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
  *out++ = (char)(first[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; i--) *out++ = (char)(0x80 | (code >> (6 * i) & 0x3F));
  return out;
}

/* After '\': one character, or a code of which two may be a pair. */
static bool take_escape(Cursor *json, char **out) {
  static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
  if (json->at == json->end) return false;
  char c = (char)*json->at++;
  if (c == 'u') {
    unsigned code, low;
    if (!take_hex(json, &code) || code == 0) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u') return false;
      json->at += 2;
      if (!take_hex(json, &low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *out = put_utf8(*out, code);
    return true;
  }
  for (const char *e = escapes; *e != '\0'; e += 2) {
    if (*e != c) continue;
    *(*out)++ = e[1];
    return true;
  }
  return false;
}

/* A string, decoded, in memory of |weights|; NULL: there is none. */
static char *take_string(XlacWeights *weights, Cursor *json) {
  if (!take_character(json, '"')) return NULL;
  const unsigned char *end = json->at;
  while (end < json->end && *end != '"') end += *end == '\\' && end + 1 < json->end ? 2 : 1;
  char *text = take(weights, (size_t)(end - json->at) + 1), *out = text;
  while (text != NULL && json->at < json->end && *json->at != '"') {
    char c = (char)*json->at++;
    if (c == '\0') return NULL;
    if (c != '\\')
      *out++ = c;
    else if (!take_escape(json, &out))
      return NULL;
  }
  if (text == NULL || json->at == json->end) return NULL;
  json->at++;
  *out = '\0';
  return text;
}

/* A whole number that is not negative. */
static bool take_whole(Cursor *json, int64_t *out) {
  skip_blanks(json);
  const unsigned char *begin = json->at;
  *out = 0;
  for (; json->at < json->end && is_digit((char)*json->at); json->at++) {
    if (*out > (INT64_MAX - 9) / 10) return false;
    *out = 10 * *out + (*json->at - '0');
  }
  bool goes_on = json->at < json->end && (*json->at == '.' || (*json->at | 32) == 'e');
  return json->at > begin && !goes_on;
}

/* "[a, b, ...]", at most |limit| numbers. */
static bool take_list(Cursor *json, int64_t *out, int32_t limit, int32_t *out_count) {
  *out_count = 0;
  if (!take_character(json, '[')) return false;
  if (take_character(json, ']')) return true;
  do {
    if (*out_count == limit || !take_whole(json, &out[*out_count])) return false;
    (*out_count)++;
  } while (take_character(json, ','));
  return take_character(json, ']');
}

/* Any value, which nobody asks for. */
static bool skip_value(XlacWeights *weights, Cursor *json, int nesting) {
  skip_blanks(json);
  if (json->at == json->end || nesting == MOST_NESTING) return false;
  char open = (char)*json->at;
  if (open == '"') return take_string(weights, json) != NULL;
  if (open != '{' && open != '[') {
    const unsigned char *begin = json->at;
    while (json->at < json->end && (is_word((char)*json->at) || strchr("+-.", *json->at) != NULL) && *json->at != '\0')
      json->at++;
    return json->at > begin;
  }
  char close = open == '{' ? '}' : ']';
  json->at++;
  if (take_character(json, close)) return true;
  do {
    if (open == '{' && (take_string(weights, json) == NULL || !take_character(json, ':'))) return false;
    if (!skip_value(weights, json, nesting + 1)) return false;
  } while (take_character(json, ','));
  return take_character(json, close);
}

/* --- .safetensors: eight bytes with the header's size, the header, the elements --- */

static const struct {
  const char *name;
  int32_t type;
} dtypes[] = {{"BOOL", XLAC_PRED},
              {"U8", XLAC_U8},
              {"I8", XLAC_S8},
              {"I16", XLAC_S16},
              {"U16", XLAC_U16},
              {"I32", XLAC_S32},
              {"U32", XLAC_U32},
              {"I64", XLAC_S64},
              {"U64", XLAC_U64},
              {"F16", XLAC_F16},
              {"BF16", XLAC_BF16},
              {"F32", XLAC_F32},
              {"F64", XLAC_F64},
              {"C64", XLAC_C64},
              {"F8_E5M2", XLAC_F8E5M2},
              {"F8_E4M3", XLAC_F8E4M3FN},
              {"F8_E8M0", XLAC_F8E8M0FNU},
              {"F8_E5M2FNUZ", XLAC_F8E5M2FNUZ},
              {"F8_E4M3FNUZ", XLAC_F8E4M3FNUZ}};

static int32_t type_of_dtype(const char *name) {
  for (size_t i = 0; name != NULL && i < sizeof dtypes / sizeof dtypes[0]; i++)
    if (strcmp(dtypes[i].name, name) == 0) return dtypes[i].type;
  return 0;
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; |data|: what follows the header. */
static bool read_entry(XlacWeights *weights, Cursor *json, const char *name, Cursor data) {
  int64_t dims[MOST_DIMENSIONS], offsets[2] = {0, -1};
  int32_t rank = -1, offset_count = 0;
  const char *dtype = NULL;
  if (!take_character(json, '{')) return fail_array(weights, name, "the header says nothing of it");
  do {
    const char *key = take_string(weights, json);
    bool is_good = key != NULL && take_character(json, ':');
    if (is_good && strcmp(key, "dtype") == 0)
      is_good = (dtype = take_string(weights, json)) != NULL;
    else if (is_good && strcmp(key, "shape") == 0)
      is_good = take_list(json, dims, MOST_DIMENSIONS, &rank);
    else if (is_good && strcmp(key, "data_offsets") == 0)
      is_good = take_list(json, offsets, 2, &offset_count);
    else
      is_good = is_good && skip_value(weights, json, 0);
    if (!is_good) return fail_array(weights, name, "the header is no JSON that the format allows");
  } while (take_character(json, ','));
  if (!take_character(json, '}') || rank < 0 || offset_count != 2)
    return fail_array(weights, name, "'shape' or 'data_offsets' is missing");
  XlacWeight array = {.name = name, .type = type_of_dtype(dtype), .rank = rank, .dims = dims};
  array.bytes = array.type != 0 ? bytes_of(&array) : offsets[1] - offsets[0];
  if (offsets[0] > offsets[1] || offsets[1] > data.end - data.at || array.bytes != offsets[1] - offsets[0])
    return fail_array(weights, name, "its bytes are not those of its shape");
  return add_array(weights, &array, data.at + offsets[0]);
}

static bool read_safetensors(XlacWeights *weights) {
  uint64_t header_size = number_at(weights->file, 8);
  if (header_size > weights->file_size - 8) return fail(weights, "the header is longer than the file");
  Cursor json = {weights->file + 8, weights->file + 8 + header_size};
  Cursor data = {json.end, weights->file + weights->file_size};
  if (!take_character(&json, '{')) return fail(weights, "the header is no JSON object");
  if (take_character(&json, '}')) return true;
  do {
    const char *name = take_string(weights, &json);
    if (name == NULL || !take_character(&json, ':')) return fail(weights, "the header is no JSON object");
    if (strcmp(name, "__metadata__") == 0) {
      if (!skip_value(weights, &json, 0)) return fail(weights, "the header is no JSON object");
    } else if (!read_entry(weights, &json, name, data)) {
      return false;
    }
  } while (take_character(&json, ','));
  return take_character(&json, '}') || fail(weights, "the header does not end");
}

/* --- .npy: a magic number, a header that is a Python dictionary, the elements --- */

static const struct {
  const char *name;
  int32_t type;
} descriptions[] = {{"|b1", XLAC_PRED}, {"|i1", XLAC_S8},    {"|u1", XLAC_U8},   {"<i2", XLAC_S16},
                    {"<u2", XLAC_U16},  {"<i4", XLAC_S32},   {"<u4", XLAC_U32},  {"<i8", XLAC_S64},
                    {"<u8", XLAC_U64},  {"<f2", XLAC_F16},   {"<f4", XLAC_F32},  {"<f8", XLAC_F64},
                    {"<c8", XLAC_C64},  {"<c16", XLAC_C128}, {"|V2", XLAC_BF16}, {"<V2", XLAC_BF16}};

/* What follows |key| and ':' in the dictionary. */
static bool find_key(Cursor header, const char *key, Cursor *out) {
  const unsigned char *at = memmem(header.at, (size_t)(header.end - header.at), key, strlen(key));
  if (at == NULL) return false;
  *out = (Cursor){at + strlen(key), header.end};
  return take_character(out, ':');
}

static bool take_word(Cursor *text, const char *word) {
  skip_blanks(text);
  size_t size = strlen(word);
  if ((size_t)(text->end - text->at) < size || memcmp(text->at, word, size) != 0) return false;
  text->at += size;
  return true;
}

static int32_t take_description(Cursor *text) {
  if (!take_character(text, '\'')) return 0;
  for (size_t i = 0; i < sizeof descriptions / sizeof descriptions[0]; i++)
    if (take_word(text, descriptions[i].name) && take_word(text, "'")) return descriptions[i].type;
  return 0;
}

/* "(2, 3)", "(2,)", "()". */
static bool take_shape(Cursor *text, int64_t *dims, int32_t *out_rank) {
  *out_rank = 0;
  if (!take_character(text, '(')) return false;
  while (!take_character(text, ')')) {
    if (*out_rank == MOST_DIMENSIONS || !take_whole(text, &dims[*out_rank])) return false;
    (*out_rank)++;
    if (!take_character(text, ',')) return take_character(text, ')');
  }
  return true;
}

static bool read_npy(XlacWeights *weights, const char *name, Cursor file) {
  size_t size = (size_t)(file.end - file.at);
  if (size < 12 || memcmp(file.at, "\x93NUMPY", 6) != 0) return fail_array(weights, name, "it is no .npy");
  int length_bytes = file.at[6] == 1 ? 2 : 4;
  uint64_t length = number_at(file.at + 8, length_bytes);
  if (length > size - 8 - (size_t)length_bytes)
    return fail_array(weights, name, "its header is longer than the member");
  Cursor header = {file.at + 8 + length_bytes, file.at + 8 + length_bytes + length}, value;
  int64_t dims[MOST_DIMENSIONS];
  XlacWeight array = {.name = name, .dims = dims};
  if (find_key(header, "'descr'", &value)) array.type = take_description(&value);
  if (!find_key(header, "'fortran_order'", &value)) return fail_array(weights, name, "its header has no order");
  array.column_major = take_word(&value, "True");
  if (!find_key(header, "'shape'", &value) || !take_shape(&value, dims, &array.rank))
    return fail_array(weights, name, "its header has no shape");
  array.bytes = array.type != 0 ? bytes_of(&array) : file.end - header.end;
  if (array.bytes != file.end - header.end) return fail_array(weights, name, "its bytes are not those of its shape");
  return add_array(weights, &array, header.end);
}

/* --- .npz: a zip archive of them --- */

enum {
  END_BYTES = 22,
  LOCATOR_BYTES = 20,
  END64_BYTES = 56,
  ENTRY_BYTES = 46,
  LOCAL_BYTES = 30,
  LONGEST_COMMENT = 65535
};

/* A member as the central directory has it. */
typedef struct Member {
  uint64_t size, stored, offset;
  unsigned method;
} Member;

static bool has_bytes(const XlacWeights *weights, uint64_t offset, uint64_t bytes) {
  return offset <= weights->file_size && bytes <= weights->file_size - offset;
}

/* The record at the archive's end, after which there is a comment at most; NULL: there is none. */
static const unsigned char *find_end(const XlacWeights *weights) {
  for (size_t after = END_BYTES; after <= weights->file_size && after <= END_BYTES + LONGEST_COMMENT; after++) {
    const unsigned char *at = weights->file + weights->file_size - after;
    if (memcmp(at, "PK\5\6", 4) == 0) return at;
  }
  return NULL;
}

/* Where the central directory is, and how many members it has, in 64 bits where 32 are not enough. */
static bool find_directory(const XlacWeights *weights, uint64_t *out_offset, uint64_t *out_count) {
  const unsigned char *end = find_end(weights);
  if (end == NULL) return fail(weights, "it is neither .safetensors nor .npz");
  *out_count = number_at(end + 10, 2), *out_offset = number_at(end + 16, 4);
  if (*out_count != UINT16_MAX && *out_offset != UINT32_MAX) return true;
  if (end - weights->file < LOCATOR_BYTES || memcmp(end - LOCATOR_BYTES, "PK\6\7", 4) != 0) return true;
  uint64_t offset = number_at(end - LOCATOR_BYTES + 8, 8);
  if (!has_bytes(weights, offset, END64_BYTES) || memcmp(weights->file + offset, "PK\6\6", 4) != 0)
    return fail(weights, "the archive's end is damaged");
  *out_count = number_at(weights->file + offset + 32, 8), *out_offset = number_at(weights->file + offset + 48, 8);
  return true;
}

/* The numbers of 64 bits for those that are all ones, in their order. */
static void read_extra(Cursor extra, Member *member) {
  while (extra.end - extra.at >= 4) {
    uint64_t id = number_at(extra.at, 2), size = number_at(extra.at + 2, 2);
    extra.at += 4;
    if (size > (uint64_t)(extra.end - extra.at)) return;
    Cursor field = {extra.at, extra.at + size};
    extra.at = field.end;
    uint64_t *const numbers[] = {&member->size, &member->stored, &member->offset};
    for (int i = 0; id == 1 && i < 3; i++) {
      if (*numbers[i] != UINT32_MAX || field.end - field.at < 8) continue;
      *numbers[i] = number_at(field.at, 8);
      field.at += 8;
    }
  }
}

static bool read_member(XlacWeights *weights, const char *name, const Member *member) {
  if (member->method != 0 || member->size != member->stored)
    return fail_array(weights, name, "it is compressed: numpy.savez stores arrays as they are");
  if (!has_bytes(weights, member->offset, LOCAL_BYTES)) return fail_array(weights, name, "it is not in the file");
  const unsigned char *local = weights->file + member->offset;
  uint64_t begin = member->offset + LOCAL_BYTES + number_at(local + 26, 2) + number_at(local + 28, 2);
  if (memcmp(local, "PK\3\4", 4) != 0 || !has_bytes(weights, begin, member->size))
    return fail_array(weights, name, "it is not in the file");
  return read_npy(weights, name, (Cursor){weights->file + begin, weights->file + begin + member->size});
}

static bool read_npz(XlacWeights *weights) {
  uint64_t offset = 0, count = 0;
  if (!find_directory(weights, &offset, &count)) return false;
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *entry = weights->file + offset;
    if (!has_bytes(weights, offset, ENTRY_BYTES) || memcmp(entry, "PK\1\2", 4) != 0)
      return fail(weights, "the archive's directory is damaged");
    uint64_t name_size = number_at(entry + 28, 2), extra_size = number_at(entry + 30, 2);
    uint64_t bytes = ENTRY_BYTES + name_size + extra_size + number_at(entry + 32, 2);
    if (!has_bytes(weights, offset, bytes)) return fail(weights, "the archive's directory is damaged");
    Member member = {number_at(entry + 24, 4), number_at(entry + 20, 4), number_at(entry + 42, 4),
                     (unsigned)number_at(entry + 10, 2)};
    const unsigned char *extra = entry + ENTRY_BYTES + name_size;
    read_extra((Cursor){extra, extra + extra_size}, &member);
    bool has_ending = name_size >= 4 && memcmp(extra - 4, ".npy", 4) == 0;
    char *name = take(weights, name_size + 1);
    if (name == NULL) return fail(weights, "there is not enough memory");
    memcpy(name, entry + ENTRY_BYTES, name_size);
    name[has_ending ? name_size - 4 : name_size] = '\0';
    if (!read_member(weights, name, &member)) return false;
    offset += bytes;
  }
  return true;
}

/* --- the file --- */

static bool map_file(XlacWeights *weights) {
  int descriptor = open(weights->path, O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (descriptor < 0 || fstat(descriptor, &about) != 0) {
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    return fail(weights, strerror(error));
  }
  weights->file_size = (size_t)about.st_size;
  void *file = MAP_FAILED;
  if (about.st_size > 0) file = mmap(NULL, weights->file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  int error = errno;
  close(descriptor);
  if (about.st_size == 0) return fail(weights, "it is neither .safetensors nor .npz");
  if (file == MAP_FAILED) return fail(weights, strerror(error));
  weights->file = file;
  return true;
}

static bool read_file(XlacWeights *weights) {
  if (!map_file(weights)) return false;
  bool is_safetensors = weights->file_size > 8 && weights->file[8] == '{';
  return is_safetensors ? read_safetensors(weights) : read_npz(weights);
}

XlacWeights *xlac_weights_open(const char *path, char *message, size_t message_size) {
  XlacWeights *weights = calloc(1, sizeof *weights);
  if (weights == NULL) {
    say(message, message_size, "'%s': there is not enough memory", path);
    return NULL;
  }
  weights->path = path, weights->message = message, weights->message_size = message_size;
  if (read_file(weights)) {
    if (weights->count > 0) qsort(weights->names, (size_t)weights->count, sizeof *weights->names, compare_names);
    return weights;
  }
  xlac_weights_close(weights);
  return NULL;
}

void xlac_weights_close(XlacWeights *weights) {
  if (weights == NULL) return;
  if (weights->file != NULL) munmap(weights->file, weights->file_size);
  for (Block *block = weights->blocks, *next; block != NULL; block = next) {
    next = block->next;
    free(block);
  }
  free(weights);
}

int64_t xlac_weights_count(const XlacWeights *weights) {
  return weights->count;
}

const XlacWeight *xlac_weights_at(const XlacWeights *weights, int64_t index) {
  return &weights->arrays[index];
}

/* --- arguments --- */

const XlacWeight *xlac_weights_find(const XlacWeights *weights, const char *name) {
  for (int64_t i = 0; i < weights->count; i++)
    if (strcmp(weights->arrays[i].name, name) == 0) return &weights->arrays[i];
  char *identifier = malloc(strlen(name) + 2);
  if (identifier == NULL) return NULL;
  make_identifier(name, identifier);
  int64_t found = find_identifier(weights, identifier);
  free(identifier);
  return found < 0 ? NULL : &weights->arrays[weights->names[found].index];
}

/* Files have integers narrower than a byte in whole ones, as modules do. */
static bool is_same_type(int32_t wanted, int32_t have) {
  if (wanted == XLAC_S1 || wanted == XLAC_S2 || wanted == XLAC_S4) wanted = XLAC_S8;
  if (wanted == XLAC_U1 || wanted == XLAC_U2 || wanted == XLAC_U4) wanted = XLAC_U8;
  return wanted == have;
}

/* Whether the elements lie in the order that the module wants; dimensions of one element have no say. */
static bool is_same_layout(const XlacTensor *tensor, const XlacWeight *array) {
  int32_t next = 0;
  for (int32_t k = 0; k < array->rank && array->bytes > 0; k++) {
    int32_t dimension = array->column_major ? k : array->rank - 1 - k;
    if (array->dims[dimension] == 1) continue;
    while (array->dims[tensor->minor_to_major[next]] == 1) next++;
    if (tensor->minor_to_major[next++] != dimension) return false;
  }
  return true;
}

/* NULL: the array can be the argument. */
static const char *mismatch(const XlacTensor *tensor, const XlacWeight *array) {
  if (!is_same_type(tensor->type, array->type)) return "the module wants another element type";
  bool same = tensor->rank == array->rank;
  for (int32_t d = 0; same && d < array->rank; d++) same = tensor->dims[d] == array->dims[d];
  if (!same) return "the module wants another shape";
  return is_same_layout(tensor, array) ? NULL : "the module wants another layout";
}

/* |name| without |prefix| and what joins them; NULL: it does not begin with it, or is all of it. */
static const char *without_prefix(const char *name, const char *prefix) {
  size_t size = strlen(prefix);
  if (size == 0 || strncmp(name, prefix, size) != 0 || name[size] != '_') return NULL;
  return name + size + 1;
}

/* The array for the leaf called |name|, by its place in the file; -1: none, -2: two have the name. */
static int64_t find_leaf(const XlacWeights *weights, const char *name, const char *prefix, char *short_name) {
  int64_t found = find_identifier(weights, name);
  const char *rest = without_prefix(name, prefix);
  if (found < 0 && rest != NULL) {
    make_identifier(rest, short_name); /* which may begin with a digit */
    found = find_identifier(weights, short_name);
  }
  if (found < 0) return -1;
  const Named *first = &weights->names[found];
  bool is_last = found + 1 == weights->count;
  return is_last || strcmp(first->identifier, first[1].identifier) != 0 ? first->index : -2;
}

/* Of all leaves, into |found|: positions, or -1; how many there are. */
static int64_t find_leaves(const XlacWeights *weights, const char *prefix, const XlacDescriptor *descriptor,
                           char *short_name, int64_t *found, char *message, size_t message_size) {
  int64_t count = 0;
  for (int64_t i = 0; i < descriptor->parameter_count; i++) {
    const char *name = descriptor->parameter_names[i];
    found[i] = find_leaf(weights, name, prefix, short_name);
    const char *why = found[i] == -2 ? "two arrays of the file have the name" : NULL;
    if (found[i] >= 0) why = mismatch(&descriptor->parameters[i], &weights->arrays[found[i]]);
    if (why != NULL) {
      say(message, message_size, "parameter '%s': %s", name, why);
      return -1;
    }
    count += found[i] >= 0;
  }
  return count;
}

static size_t longest_name(const XlacDescriptor *descriptor) {
  size_t longest = 0;
  for (int64_t i = 0; i < descriptor->parameter_count; i++) {
    size_t size = strlen(descriptor->parameter_names[i]);
    if (size > longest) longest = size;
  }
  return longest;
}

int64_t xlac_weights_bind(const XlacWeights *weights, const char *prefix, const XlacDescriptor *descriptor,
                          const void **arguments, char *message, size_t message_size) {
  bool has_names = descriptor->struct_size >= offsetof(XlacDescriptor, parameter_names) + sizeof(void *);
  if (descriptor->abi_version != XLAC_ABI_VERSION || (!has_names && descriptor->parameter_count > 0)) {
    say(message, message_size,
        "the object was compiled by another version of xlac, which gave its parameters no names");
    return -1;
  }
  if (descriptor->parameter_count == 0) return 0;
  size_t prefix_size = prefix == NULL ? 0 : strlen(prefix);
  int64_t *found = malloc((size_t)descriptor->parameter_count * sizeof *found);
  char *short_name = malloc(longest_name(descriptor) + 2), *own_prefix = malloc(prefix_size + 2);
  int64_t count = -1;
  if (found == NULL || short_name == NULL || own_prefix == NULL) {
    say(message, message_size, "there is not enough memory");
  } else {
    own_prefix[0] = '\0';
    if (prefix_size > 0) make_identifier(prefix, own_prefix);
    count = find_leaves(weights, own_prefix, descriptor, short_name, found, message, message_size);
  }
  for (int64_t i = 0; count >= 0 && i < descriptor->parameter_count; i++)
    if (found[i] >= 0) arguments[i] = weights->arrays[found[i]].data;
  free(found), free(short_name), free(own_prefix);
  return count;
}
