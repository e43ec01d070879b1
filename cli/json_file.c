#include "cli/json_file.h"

#include <string.h>

#include "base/file_io.h"
#include "runtime/arrays/json_tree.h"

/* --- places: the text is walked along with cJSON's tree, which has none --- */

static SourceLoc loc_at(const SourceFile *file, size_t offset) {
  SourceLoc loc = {file, 1, 1};
  for (size_t i = 0; i < offset && i < file->text.size; i++) {
    loc.column++;
    if (file->text.data[i] == '\n') loc = (SourceLoc){file, loc.line + 1, 1};
  }
  return loc;
}

SourceLoc json_value_loc(const JsonValue *value) {
  return loc_at(value->file, value->offset);
}

/* Blanks are what they are for cJSON. */
static size_t skip_blanks(StringView text, size_t at) {
  while (at < text.size && (unsigned char)text.data[at] <= ' ') at++;
  return at;
}

/* From the quote that begins a string to what follows the one that ends it. */
static size_t skip_string(StringView text, size_t at) {
  for (at++; at < text.size && text.data[at] != '"'; at++) at += text.data[at] == '\\';
  return at + 1;
}

/* To the comma or bracket after a value that begins at |at|. */
static size_t skip_value(StringView text, size_t at) {
  int64_t depth = 0;
  while (at < text.size) {
    char c = text.data[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    at++;
  }
  return at;
}

/* --- files --- */

static size_t beginning(StringView text) {
  return skip_blanks(text, sv_starts_with(text, SV("\xef\xbb\xbf")) ? 3 : 0);
}

Status json_file_read(Arena *arena, const char *path, DiagSink *diag, JsonValue *out_value) {
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  file->name = file_is_stream(path) ? SV("<stdin>") : sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(arena, path, diag, &file->text));
  const char *end = NULL;
  cJSON *tree = json_tree_parse(file->text, &end);
  size_t stop = end != NULL ? (size_t)(end - file->text.data) : 0;
  if (tree != NULL) stop = skip_blanks(file->text, stop);
  *out_value = (JsonValue){file, tree, beginning(file->text)};
  if (tree != NULL && stop == file->text.size) return STATUS_OK;
  bool has_value = tree != NULL;
  json_file_end(out_value);
  if (has_value)
    return diag_error(diag, STATUS_INVALID, loc_at(file, stop), "json", "there is more after the end of the value");
  return diag_error(diag, STATUS_INVALID, loc_at(file, stop), "json", "this is no JSON");
}

void json_file_end(JsonValue *value) {
  cJSON_Delete((cJSON *)value->tree);
  value->tree = NULL;
}

/* --- objects --- */

Status json_members(Arena *arena, const JsonValue *value, const char *what, DiagSink *diag, JsonMembers *out_members) {
  *out_members = (JsonMembers){0};
  if (!cJSON_IsObject(value->tree))
    return diag_error(diag, STATUS_INVALID, json_value_loc(value), "json", "%s is a JSON object", what);
  StringView text = value->file->text;
  size_t at = value->offset + 1;
  const cJSON *child = NULL;
  Status status = STATUS_OK;
  cJSON_ArrayForEach(child, value->tree) {
    size_t key = skip_blanks(text, at);
    size_t colon = skip_blanks(text, skip_string(text, key));
    size_t begin = skip_blanks(text, colon + 1);
    JsonMember member = {sv_from_cstring(child->string), loc_at(value->file, key), {value->file, child, begin}};
    const JsonMember *before = json_members_find(out_members, member.key);
    if (before != NULL) {
      status = diag_error(diag, STATUS_INVALID, member.loc, "json", "'%.*s' is there twice", SV_ARG(member.key));
      diag_note(diag, before->loc, "here it was before");
    }
    array_push(out_members, arena, member);
    at = skip_value(text, begin) + 1;
  }
  return status;
}

const JsonMember *json_members_find(const JsonMembers *members, StringView key) {
  for (int64_t i = 0; i < members->count; i++) {
    if (sv_equal(members->data[i].key, key)) return &members->data[i];
  }
  return NULL;
}

Status json_member_count(const JsonMember *member, DiagSink *diag, int64_t *out_count) {
  StringView text = member->value.file->text;
  size_t begin = member->value.offset, end = skip_value(text, begin);
  while (end > begin && (unsigned char)text.data[end - 1] <= ' ') end--;
  if (sv_to_count(sv_sub(text, begin, end - begin), out_count)) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, json_value_loc(&member->value), "json",
                    "'%.*s' needs a whole number that is not negative", SV_ARG(member->key));
}
