/* JSON files that people write or tools hand on, read with the place of every member, so that what is wrong in them is
 * said with line and column. */
#ifndef XLAC_CLI_JSON_FILE_H
#define XLAC_CLI_JSON_FILE_H

#include <cjson/cJSON.h>

#include "base/array.h"
#include "base/diagnostic.h"

/* A value in a file: cJSON's, and where it begins. */
typedef struct JsonValue {
  const SourceFile *file;
  const cJSON *tree;
  size_t offset; /* in the file's text */
} JsonValue;

typedef struct JsonMember {
  StringView key; /* lives as long as the tree */
  SourceLoc loc;  /* of the key */
  JsonValue value;
} JsonMember;

typedef ARRAY(JsonMember) JsonMembers;

/* The whole of |path| ("-": standard input), whose text lives in |arena|; the caller ends the tree with json_file_end.
 * STATUS_IO when it cannot be read, STATUS_INVALID ("json") with the place where it stops being JSON, to a
 * character or two. */
MUST_USE Status json_file_read(Arena *arena, const char *path, DiagSink *diag, JsonValue *out_value);
void json_file_end(JsonValue *value);

/* Where it stands in its file. */
SourceLoc json_value_loc(const JsonValue *value);

/* The members of |value| in order, in |arena|; STATUS_INVALID ("json") when it is no object, or has a key twice.
 * |what| says in messages what it is: "a budget". */
MUST_USE Status json_members(Arena *arena, const JsonValue *value, const char *what, DiagSink *diag,
                             JsonMembers *out_members);
/* The one called |key|; NULL: there is none. */
const JsonMember *json_members_find(const JsonMembers *members, StringView key);

/* |member|'s number, 0 or more; STATUS_INVALID ("json") for all that is not written with digits alone. */
MUST_USE Status json_member_count(const JsonMember *member, DiagSink *diag, int64_t *out_count);

#endif
