#include "base/json_writer.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"

void json_init(JsonWriter *writer, StringBuilder *out, bool pretty) {
  *writer = (JsonWriter){.out = out, .pretty = pretty};
}

static void new_line(JsonWriter *writer) {
  if (!writer->pretty) return;
  sb_append_char(writer->out, '\n');
  sb_append_repeated(writer->out, ' ', 2 * (int64_t)writer->depth);
}

/* What has to stand before a value or key. */
static void separate(JsonWriter *writer) {
  if (writer->after_key) {
    writer->after_key = false;
    return;
  }
  if (writer->needs_comma) sb_append_char(writer->out, ',');
  if (writer->depth > 0) new_line(writer);
}

static void begin(JsonWriter *writer, char bracket) {
  separate(writer);
  sb_append_char(writer->out, bracket);
  writer->depth++;
  writer->needs_comma = false;
}

static void end(JsonWriter *writer, char bracket) {
  XLAC_CHECK(writer->depth > 0 && !writer->after_key);
  writer->depth--;
  if (writer->needs_comma) new_line(writer);
  sb_append_char(writer->out, bracket);
  writer->needs_comma = true;
}

void json_begin_object(JsonWriter *writer) {
  begin(writer, '{');
}
void json_end_object(JsonWriter *writer) {
  end(writer, '}');
}
void json_begin_array(JsonWriter *writer) {
  begin(writer, '[');
}
void json_end_array(JsonWriter *writer) {
  end(writer, ']');
}

/* One character of at most three bytes that must not stand for itself. */
static void append_escaped(StringBuilder *out, StringView character) {
  const unsigned char *bytes = (const unsigned char *)character.data;
  unsigned code = bytes[0];
  if (character.size == 2) code = (code & 0x1f) << 6 | (bytes[1] & 0x3f);
  if (character.size == 3) code = (code & 0x0f) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3f);
  switch (code) {
    case '"': sb_append(out, SV("\\\"")); break;
    case '\\': sb_append(out, SV("\\\\")); break;
    case '\n': sb_append(out, SV("\\n")); break;
    case '\r': sb_append(out, SV("\\r")); break;
    case '\t': sb_append(out, SV("\\t")); break;
    default: sb_printf(out, "\\u%04x", code); break;
  }
}

/* Bytes that are not UTF-8 become the replacement character, since no JSON reader would take them. */
static void append_quoted(StringBuilder *out, StringView text) {
  sb_append_char(out, '"');
  size_t start = 0, position = 0;
  while (position < text.size) {
    StringView rest = sv_sub(text, position, text.size);
    char c = rest.data[0];
    size_t length = utf8_length(rest);
    bool plain = length != 0 && !utf8_is_control(rest, length) && c != '"' && c != '\\';
    if (!plain) {
      sb_append(out, sv_sub(text, start, position - start));
      if (length != 0) {
        append_escaped(out, sv_sub(rest, 0, length));
      } else {
        sb_append(out, SV("\\ufffd"));
      }
      start = position + (length != 0 ? length : 1);
    }
    position += length != 0 ? length : 1;
  }
  sb_append(out, sv_sub(text, start, position - start));
  sb_append_char(out, '"');
}

void json_key(JsonWriter *writer, const char *key) {
  XLAC_CHECK(!writer->after_key);
  separate(writer);
  append_quoted(writer->out, sv_from_cstring(key));
  sb_append_char(writer->out, ':');
  if (writer->pretty) sb_append_char(writer->out, ' ');
  writer->after_key = true;
}

static void raw_value(JsonWriter *writer, StringView text) {
  separate(writer);
  sb_append(writer->out, text);
  writer->needs_comma = true;
}

void json_string(JsonWriter *writer, StringView text) {
  separate(writer);
  append_quoted(writer->out, text);
  writer->needs_comma = true;
}

void json_int(JsonWriter *writer, int64_t value) {
  separate(writer);
  sb_append_int(writer->out, value);
  writer->needs_comma = true;
}

void json_double(JsonWriter *writer, double value) {
  if (isnan(value)) {
    json_string(writer, SV("nan"));
    return;
  }
  if (isinf(value)) {
    json_string(writer, value < 0 ? SV("-inf") : SV("inf"));
    return;
  }
  separate(writer);
  sb_append_double(writer->out, value);
  writer->needs_comma = true;
}

void json_bool(JsonWriter *writer, bool value) {
  raw_value(writer, value ? SV("true") : SV("false"));
}
void json_null(JsonWriter *writer) {
  raw_value(writer, SV("null"));
}

void json_field_string(JsonWriter *writer, const char *key, StringView text) {
  json_key(writer, key);
  json_string(writer, text);
}

void json_field_int(JsonWriter *writer, const char *key, int64_t value) {
  json_key(writer, key);
  json_int(writer, value);
}

void json_field_double(JsonWriter *writer, const char *key, double value) {
  json_key(writer, key);
  json_double(writer, value);
}

void json_field_bool(JsonWriter *writer, const char *key, bool value) {
  json_key(writer, key);
  json_bool(writer, value);
}
