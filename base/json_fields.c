#include "base/json_fields.h"

#include <string.h>

enum { MOST_NESTING = 16 };

typedef struct JsonReader {
  Arena *arena;
  StringView text;
  size_t at;
  int depth;
  const char *mistake; /* NULL: none so far */
  JsonFields fields;
} JsonReader;

static bool fail(JsonReader *reader, const char *mistake) {
  if (reader->mistake == NULL) reader->mistake = mistake;
  return false;
}

/* The next character that is no blank, 0 at the end. */
static char peek(JsonReader *reader) {
  while (reader->at < reader->text.size && strchr(" \t\r\n", reader->text.data[reader->at]) != NULL) reader->at++;
  return reader->at < reader->text.size ? reader->text.data[reader->at] : '\0';
}

static bool accept(JsonReader *reader, char c) {
  if (peek(reader) != c) return false;
  reader->at++;
  return true;
}

static bool read_string(JsonReader *reader, StringView *out) {
  if (!accept(reader, '"')) return fail(reader, "a name stands in quotes");
  size_t begin = reader->at;
  for (; reader->at < reader->text.size; reader->at++) {
    char c = reader->text.data[reader->at];
    if (c == '\\') return fail(reader, "a string has an escape");
    if (c != '"') continue;
    *out = sv_sub(reader->text, begin, reader->at++ - begin);
    return true;
  }
  return fail(reader, "a string does not end");
}

/* A string, or a word or number. */
static bool read_scalar(JsonReader *reader, StringView *out) {
  if (peek(reader) == '"') return read_string(reader, out);
  size_t begin = reader->at;
  while (reader->at < reader->text.size && strchr(" \t\r\n,:{}[]\"", reader->text.data[reader->at]) == NULL)
    reader->at++;
  *out = sv_sub(reader->text, begin, reader->at - begin);
  return out->size > 0 || fail(reader, "a value is missing");
}

static bool read_list(JsonReader *reader, JsonTexts *out) {
  if (accept(reader, ']')) return true;
  do {
    StringView value;
    if (!read_scalar(reader, &value)) return false;
    array_push(out, reader->arena, value);
  } while (accept(reader, ','));
  return accept(reader, ']') || fail(reader, "a list does not end");
}

static bool read_object(JsonReader *reader, StringView path);

static bool read_field(JsonReader *reader, StringView object) {
  StringView name;
  if (!read_string(reader, &name)) return false;
  if (!accept(reader, ':')) return fail(reader, "a name has no value");
  StringView path = object.size == 0 ? name : sv_printf(reader->arena, "%.*s.%.*s", SV_ARG(object), SV_ARG(name));
  if (accept(reader, '{')) return read_object(reader, path);
  JsonField field = {.path = path};
  if (accept(reader, '[')) {
    if (!read_list(reader, &field.values)) return false;
  } else {
    StringView value;
    if (!read_scalar(reader, &value)) return false;
    array_push(&field.values, reader->arena, value);
  }
  array_push(&reader->fields, reader->arena, field);
  return true;
}

/* After the brace. */
static bool read_object(JsonReader *reader, StringView path) {
  if (reader->depth == MOST_NESTING) return fail(reader, "is nested too deeply");
  if (accept(reader, '}')) {
    array_push(&reader->fields, reader->arena, (JsonField){.path = path});
    return true;
  }
  reader->depth++;
  do {
    if (!read_field(reader, path)) return false;
  } while (accept(reader, ','));
  reader->depth--;
  return accept(reader, '}') || fail(reader, "an object does not end");
}

const char *json_fields_read(Arena *arena, StringView text, JsonFields *out_fields) {
  JsonReader reader = {.arena = arena, .text = text};
  if (!accept(&reader, '{'))
    fail(&reader, "is not a JSON object");
  else if (read_object(&reader, (StringView){0}) && reader.at < text.size && peek(&reader) != '\0')
    fail(&reader, "text after the object");
  *out_fields = reader.fields;
  return reader.mistake;
}
