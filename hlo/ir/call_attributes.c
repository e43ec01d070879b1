#include "hlo/ir/call_attributes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A backend_config is at most so deep, an array at most so long; hostile texts must not use up stack or memory. */
enum { MOST_NESTING = 64, MOST_ELEMENTS = 1 << 24 };

typedef struct AttributeReader {
  Arena *arena;
  StringView text;
  size_t at;
  int depth;
  const char *mistake; /* NULL: none so far */
} AttributeReader;

typedef ARRAY(CallAttribute) CallAttributeArray;
/* Numbers as written: their type stands after them. */
typedef ARRAY(StringView) NumberTexts;

static bool read_value(AttributeReader *reader, CallAttribute *out);

/* --- characters and words --- */

static bool fail(AttributeReader *reader, const char *mistake) {
  if (reader->mistake == NULL) reader->mistake = mistake;
  return false;
}

static char peek(AttributeReader *reader) {
  while (reader->at < reader->text.size && strchr(" \t\r\n", reader->text.data[reader->at]) != NULL) reader->at++;
  return reader->at < reader->text.size ? reader->text.data[reader->at] : '\0';
}

static bool accept(AttributeReader *reader, char c) {
  if (peek(reader) != c) return false;
  reader->at++;
  return true;
}

static bool expect(AttributeReader *reader, char c) {
  if (accept(reader, c)) return true;
  return fail(reader, arena_printf(reader->arena, "expected '%c'", c));
}

static bool is_letter(char c) {
  return char_is_letter(c) || c == '_';
}

/* A letter, then letters, digits, '.' and '$'; empty when there is none. */
static StringView read_word(AttributeReader *reader) {
  if (!is_letter(peek(reader))) return (StringView){0};
  size_t begin = reader->at;
  while (reader->at < reader->text.size &&
         (is_letter(reader->text.data[reader->at]) || char_is_digit(reader->text.data[reader->at]) ||
          reader->text.data[reader->at] == '.' || reader->text.data[reader->at] == '$'))
    reader->at++;
  return sv_sub(reader->text, begin, reader->at - begin);
}

static int hex_value(char c) {
  if (char_is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* After a backslash: a letter or two hexadecimal digits. */
static bool read_escape(AttributeReader *reader, StringBuilder *out) {
  StringView rest = sv_sub(reader->text, reader->at, 2);
  if (rest.size > 0 && (rest.data[0] == '"' || rest.data[0] == '\\')) {
    sb_append_char(out, rest.data[0]);
    reader->at++;
  } else if (rest.size > 0 && (rest.data[0] == 'n' || rest.data[0] == 't')) {
    sb_append_char(out, rest.data[0] == 'n' ? '\n' : '\t');
    reader->at++;
  } else if (rest.size == 2 && hex_value(rest.data[0]) >= 0 && hex_value(rest.data[1]) >= 0) {
    sb_append_char(out, (char)(hex_value(rest.data[0]) * 16 + hex_value(rest.data[1])));
    reader->at += 2;
  } else {
    return fail(reader, "a string has an unknown escape");
  }
  return true;
}

static bool read_string(AttributeReader *reader, StringView *out) {
  StringBuilder text;
  sb_init(&text, reader->arena);
  if (!expect(reader, '"')) return false;
  while (reader->at < reader->text.size) {
    char c = reader->text.data[reader->at++];
    if (c == '"') {
      *out = sb_view(&text);
      return true;
    }
    if (c != '\\')
      sb_append_char(&text, c);
    else if (!read_escape(reader, &text))
      return false;
  }
  return fail(reader, "a string does not end");
}

/* --- numbers --- */

static bool is_number_start(char c) {
  return char_is_digit(c) || c == '-' || c == '+';
}

static bool read_number_text(AttributeReader *reader, StringView *out) {
  StringView word = {0};
  if (is_letter(peek(reader))) {
    word = read_word(reader);
    if (!sv_equal_cstring(word, "true") && !sv_equal_cstring(word, "false")) return fail(reader, "expected a number");
    *out = word;
    return true;
  }
  size_t begin = reader->at;
  while (reader->at < reader->text.size) {
    char c = reader->text.data[reader->at], before = reader->at > begin ? reader->text.data[reader->at - 1] : 'e';
    bool is_sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
    if (!char_is_digit(c) && !is_letter(c) && c != '.' && !is_sign) break;
    reader->at++;
  }
  *out = sv_sub(reader->text, begin, reader->at - begin);
  return out->size > 0 ? true : fail(reader, "expected a number");
}

typedef struct TypeWord {
  const char *text;
  PrimitiveType type;
} TypeWord;

static const TypeWord type_words[] = {
    {"i8", TYPE_S8},    {"i16", TYPE_S16},  {"i32", TYPE_S32},  {"i64", TYPE_S64},  {"si8", TYPE_S8},
    {"si16", TYPE_S16}, {"si32", TYPE_S32}, {"si64", TYPE_S64}, {"ui8", TYPE_U8},   {"ui16", TYPE_U16},
    {"f32", TYPE_F32},  {"f64", TYPE_F64},  {"ui32", TYPE_U32}, {"ui64", TYPE_U64},
};

static PrimitiveType read_type(AttributeReader *reader) {
  StringView word = read_word(reader);
  for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++) {
    if (sv_equal_cstring(word, type_words[i].text)) return type_words[i].type;
  }
  fail(reader, "handlers take numbers of the types i8 to i64, ui8 to ui64, f32 and f64 only");
  return TYPE_INVALID;
}

static bool is_hexadecimal(StringView text) {
  return text.size > 2 && text.data[0] == '0' && (text.data[1] == 'x' || text.data[1] == 'X');
}

/* The value's bits, low ones first; signed and unsigned ones of a width in both their ranges, as MLIR takes them. */
static bool integer_bits(AttributeReader *reader, StringView text, PrimitiveType type, uint64_t *out) {
  bool is_negative = text.data[0] == '-', is_hex = is_hexadecimal(text);
  size_t i = is_hex ? 2 : is_negative || text.data[0] == '+' ? 1 : 0;
  uint64_t value = 0, base = is_hex ? 16 : 10;
  if (i == text.size) return fail(reader, "expected a number");
  for (; i < text.size; i++) {
    int digit = hex_value(text.data[i]);
    if (digit < 0 || (uint64_t)digit >= base) return fail(reader, "an integer has digits only");
    if (value > (UINT64_MAX - (uint64_t)digit) / base) return fail(reader, "a number is out of its type's range");
    value = value * base + (uint64_t)digit;
  }
  uint64_t most = is_negative ? 0 - (uint64_t)type_int_min(type) : type_int_max(type);
  if (is_hex && type_bits(type) < 64) most = ((uint64_t)1 << type_bits(type)) - 1;
  if (is_hex && type_bits(type) == 64) most = UINT64_MAX;
  if (value > most) return fail(reader, "a number is out of its type's range");
  *out = is_negative ? 0 - value : value;
  return true;
}

static bool float_bits(AttributeReader *reader, StringView text, PrimitiveType type, uint64_t *out) {
  if (is_hexadecimal(text)) return integer_bits(reader, text, type == TYPE_F32 ? TYPE_U32 : TYPE_U64, out);
  char *end, *copy = arena_copy_string(reader->arena, text.data, text.size);
  for (size_t i = 0; i < text.size; i++) {
    if (!char_is_digit(text.data[i]) && strchr("+-.eE", text.data[i]) == NULL) return fail(reader, "expected a number");
  }
  *out = 0;
  if (type == TYPE_F32) {
    float value = strtof(copy, &end);
    memcpy(out, &value, sizeof value);
  } else {
    double value = strtod(copy, &end);
    memcpy(out, &value, sizeof value);
  }
  return *end == '\0' ? true : fail(reader, "expected a number");
}

/* Elements of |type| in memory, |copies| of each. */
static bool store_numbers(AttributeReader *reader, const NumberTexts *texts, PrimitiveType type, int64_t copies,
                          CallAttribute *out) {
  size_t size = (size_t)type_storage_bytes(type);
  int64_t count = texts->count * copies;
  char *data = arena_alloc(reader->arena, (size_t)count * size + 8);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits;
    StringView text = texts->data[i / copies];
    bool is_read =
        type_is_float(type) ? float_bits(reader, text, type, &bits) : integer_bits(reader, text, type, &bits);
    if (!is_read) return false;
    memcpy(data + (size_t)i * size, &bits, size); /* little endian */
  }
  out->type = type;
  out->count = count;
  out->data = data;
  return true;
}

/* --- values --- */

static bool read_scalar(AttributeReader *reader, CallAttribute *out) {
  StringView text;
  NumberTexts texts = {0};
  if (!read_number_text(reader, &text)) return false;
  bool is_float = !is_hexadecimal(text) && memchr(text.data, '.', text.size) != NULL;
  PrimitiveType type = is_float ? TYPE_F64 : TYPE_S64;
  if (accept(reader, ':')) type = read_type(reader);
  if (type == TYPE_INVALID) return false;
  if (is_float && !type_is_float(type)) return fail(reader, "an integer has digits only");
  out->kind = CALL_ATTRIBUTE_SCALAR;
  array_push(&texts, reader->arena, text);
  return store_numbers(reader, &texts, type, 1, out);
}

static void set_boolean(AttributeReader *reader, bool value, CallAttribute *out) {
  bool *data = ARENA_NEW(reader->arena, bool);
  *data = value;
  *out = (CallAttribute){.name = out->name, .kind = CALL_ATTRIBUTE_SCALAR, .type = TYPE_PRED, .count = 1, .data = data};
}

/* array<i64: 1, 2>, array<f32> */
static bool read_array(AttributeReader *reader, CallAttribute *out) {
  NumberTexts texts = {0};
  if (!expect(reader, '<')) return false;
  PrimitiveType type = read_type(reader);
  if (type == TYPE_INVALID) return false;
  if (accept(reader, ':')) {
    do {
      StringView text;
      if (!read_number_text(reader, &text)) return false;
      array_push(&texts, reader->arena, text);
    } while (accept(reader, ','));
  }
  out->kind = CALL_ATTRIBUTE_ARRAY;
  return expect(reader, '>') && store_numbers(reader, &texts, type, 1, out);
}

static bool read_nested_numbers(AttributeReader *reader, NumberTexts *texts, int depth) {
  if (depth > MOST_NESTING) return fail(reader, "is nested too deeply");
  if (!accept(reader, '[')) {
    StringView text;
    if (!read_number_text(reader, &text)) return false;
    array_push(texts, reader->arena, text);
    return true;
  }
  if (accept(reader, ']')) return true;
  do {
    if (!read_nested_numbers(reader, texts, depth + 1)) return false;
  } while (accept(reader, ','));
  return expect(reader, ']');
}

/* "tensor<2x3xf32>": the number of elements and their type. */
static bool read_tensor_type(AttributeReader *reader, int64_t *out_count, PrimitiveType *out_type) {
  if (!sv_equal_cstring(read_word(reader), "tensor") || !expect(reader, '<')) return fail(reader, "expected 'tensor'");
  *out_count = 1;
  while (char_is_digit(peek(reader))) {
    int64_t dim = 0;
    for (; char_is_digit(peek(reader)); reader->at++) {
      dim = dim * 10 + (reader->text.data[reader->at] - '0');
      if (dim > MOST_ELEMENTS) return fail(reader, "an array is too large");
    }
    *out_count *= dim;
    if (*out_count > MOST_ELEMENTS) return fail(reader, "an array is too large");
    if (!expect(reader, 'x')) return false;
  }
  *out_type = read_type(reader);
  return *out_type != TYPE_INVALID && expect(reader, '>');
}

/* After "dense<": the bytes of all elements, in hexadecimal digits. */
static bool read_dense_bytes(AttributeReader *reader, CallAttribute *out) {
  StringView text;
  int64_t count;
  PrimitiveType type;
  if (!read_string(reader, &text) || !expect(reader, '>') || !expect(reader, ':')) return false;
  if (!read_tensor_type(reader, &count, &type)) return false;
  size_t size = (size_t)(count * type_storage_bytes(type));
  if (text.size != 2 + 2 * size || !sv_starts_with(text, SV("0x")))
    return fail(reader, "an array has not as many bytes as its type");
  unsigned char *data = arena_alloc(reader->arena, size + 1);
  for (size_t i = 0; i < size; i++) {
    int high = hex_value(text.data[2 + 2 * i]), low = hex_value(text.data[3 + 2 * i]);
    if (high < 0 || low < 0) return fail(reader, "bytes are hexadecimal digits");
    data[i] = (unsigned char)(high * 16 + low);
  }
  *out = (CallAttribute){out->name, CALL_ATTRIBUTE_ARRAY, type, count, data, NULL};
  return true;
}

/* dense<[1, 2]> : tensor<2xi64>; one number stands for all elements. */
static bool read_dense(AttributeReader *reader, CallAttribute *out) {
  NumberTexts texts = {0};
  int64_t count;
  PrimitiveType type;
  if (!expect(reader, '<')) return false;
  if (peek(reader) == '"') return read_dense_bytes(reader, out);
  bool is_one = peek(reader) != '[';
  if (peek(reader) != '>' && !read_nested_numbers(reader, &texts, 0)) return false;
  if (!expect(reader, '>') || !expect(reader, ':') || !read_tensor_type(reader, &count, &type)) return false;
  out->kind = CALL_ATTRIBUTE_ARRAY;
  bool is_splat = is_one && texts.count == 1;
  if (!is_splat && texts.count != count) return fail(reader, "an array has not as many elements as its type");
  return store_numbers(reader, &texts, type, is_splat ? count : 1, out);
}

static int compare_names(const void *a, const void *b) {
  return sv_compare(((const CallAttribute *)a)->name, ((const CallAttribute *)b)->name);
}

static bool read_entry(AttributeReader *reader, CallAttribute *out) {
  *out = (CallAttribute){.name = read_word(reader)};
  if (out->name.size == 0 && !read_string(reader, &out->name)) return false;
  if (!accept(reader, '=')) return fail(reader, "handlers take no attributes without a value");
  return read_value(reader, out);
}

static bool read_dictionary(AttributeReader *reader, CallAttribute *out) {
  CallAttributeArray entries = {0};
  if (!expect(reader, '{')) return false;
  if (!accept(reader, '}')) {
    do {
      CallAttribute entry;
      if (!read_entry(reader, &entry)) return false;
      array_push(&entries, reader->arena, entry);
    } while (accept(reader, ','));
    if (!expect(reader, '}')) return false;
    qsort(entries.data, (size_t)entries.count, sizeof *entries.data, compare_names);
  }
  for (int64_t i = 1; i < entries.count; i++) {
    if (sv_equal(entries.data[i - 1].name, entries.data[i].name)) return fail(reader, "a name occurs twice");
  }
  out->kind = CALL_ATTRIBUTE_DICTIONARY;
  out->entries = entries.data;
  out->count = entries.count;
  return true;
}

static bool read_nested_dictionary(AttributeReader *reader, CallAttribute *out) {
  if (reader->depth == MOST_NESTING) return fail(reader, "is nested too deeply");
  reader->depth++;
  bool is_read = read_dictionary(reader, out);
  reader->depth--;
  return is_read;
}

static bool read_value(AttributeReader *reader, CallAttribute *out) {
  char c = peek(reader);
  if (c == '{') return read_nested_dictionary(reader, out);
  if (is_number_start(c)) return read_scalar(reader, out);
  if (c == '"') {
    StringView text;
    if (!read_string(reader, &text)) return false;
    *out = (CallAttribute){out->name, CALL_ATTRIBUTE_STRING, TYPE_INVALID, (int64_t)text.size, text.data, NULL};
    return true;
  }
  StringView word = read_word(reader);
  if (sv_equal_cstring(word, "array")) return read_array(reader, out);
  if (sv_equal_cstring(word, "dense")) return read_dense(reader, out);
  if (!sv_equal_cstring(word, "true") && !sv_equal_cstring(word, "false"))
    return fail(reader, "expected a number, string, array or dictionary");
  set_boolean(reader, word.data[0] == 't', out);
  return true;
}

/* --- the whole --- */

Status call_attributes_parse(Arena *arena, const HloInstruction *call, DiagSink *diag, CallAttribute *out_dictionary) {
  *out_dictionary = (CallAttribute){.kind = CALL_ATTRIBUTE_DICTIONARY};
  const HloAttr *config = hlo_instruction_attr(call, HLO_ATTR_BACKEND_CONFIG);
  if (config == NULL || config->value.text.size == 0) return STATUS_OK;
  AttributeReader reader = {.arena = arena, .text = config->value.text};
  if (read_dictionary(&reader, out_dictionary) && peek(&reader) != '\0') fail(&reader, "text after the dictionary");
  if (reader.mistake == NULL) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, config->loc.line > 0 ? config->loc : call->loc, "call-attributes",
                    "the attributes in 'backend_config' of '%.*s': %s, at character %zu", SV_ARG(call->name),
                    reader.mistake, reader.at + 1);
}

const CallAttribute *call_attribute_find(const CallAttribute *dictionary, StringView name) {
  for (int64_t i = 0; i < dictionary->count; i++) {
    if (sv_equal(dictionary->entries[i].name, name)) return &dictionary->entries[i];
  }
  return NULL;
}
