/* JsonWriter: JSON text into a StringBuilder.  Commas, quoting and indentation are the writer's business; balanced
 * begin/end calls are the caller's.  Numbers print shortest-exact for doubles; NaN and infinities as strings. */
#ifndef XLAC_BASE_JSON_WRITER_H
#define XLAC_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string_view.h"

typedef struct JsonWriter {
  StringBuilder *out;
  int depth;
  bool pretty;      /* two blanks of indent a level; false: one line */
  bool needs_comma; /* something stands before at this level */
  bool after_key;
} JsonWriter;

/* Appends to |out|, with line breaks and indents where it is |pretty|.  Begins and ends must match; in an object each
 * value comes after its key. */
void json_init(JsonWriter *writer, StringBuilder *out, bool pretty);
void json_begin_object(JsonWriter *writer);
void json_end_object(JsonWriter *writer);
void json_begin_array(JsonWriter *writer);
void json_end_array(JsonWriter *writer);
void json_key(JsonWriter *writer, const char *key);
void json_string(JsonWriter *writer, StringView text);
void json_int(JsonWriter *writer, int64_t value);
void json_double(JsonWriter *writer, double value);
void json_bool(JsonWriter *writer, bool value);
void json_null(JsonWriter *writer);

/* key and value in one call */
void json_field_string(JsonWriter *writer, const char *key, StringView text);
void json_field_int(JsonWriter *writer, const char *key, int64_t value);
void json_field_double(JsonWriter *writer, const char *key, double value);
void json_field_bool(JsonWriter *writer, const char *key, bool value);

#endif
