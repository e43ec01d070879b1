/* A JSON object as a flat list of its fields, for texts whose fields are few and known.
 *
 *   {"a": {"b": "x", "c": [1, 2]}, "d": {}}    is    a.b = x,  a.c = 1 2,  d without values
 *
 * Values are texts: words and numbers as written, strings without quotes.  An object or a list without anything in it
 * is a field without values.  No object stands in a list, no string has an escape, no path is longer than 16 names. */
#ifndef XLAC_BASE_JSON_FIELDS_H
#define XLAC_BASE_JSON_FIELDS_H

#include "base/array.h"
#include "base/string_view.h"

typedef ARRAY(StringView) JsonTexts;

typedef struct JsonField {
  StringView path; /* "a.b" */
  JsonTexts values;
} JsonField;

typedef ARRAY(JsonField) JsonFields;

/* The fields of |text| in its order, in |arena|.  NULL, or what is wrong with it. */
const char *json_fields_read(Arena *arena, StringView text, JsonFields *out_fields);

#endif
