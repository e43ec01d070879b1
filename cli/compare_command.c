/* xlac compare OLD.json NEW.json: what grew between two reports, and by how much; docs/ci.md. */
#include <string.h>

#include "base/file_io.h"
#include "base/json_writer.h"
#include "cli/budget.h"
#include "cli/json_file.h"

/* What a comparison reads of a file of --report=json. */
typedef struct Report {
  const char *path;
  StringView module;
  Totals totals;
} Report;

/* A total as the two reports have it; NULL where one does not. */
typedef struct Change {
  StringView name;
  const Total *old, *new;
} Change;

typedef ARRAY(Change) Changes;

/* --- reading --- */

static Status read_totals(Session *session, const JsonValue *file, Report *report) {
  Arena *arena = session->arena;
  JsonMembers members, totals;
  RETURN_IF_ERROR(json_members(arena, file, "a report", session->diag, &members));
  const JsonMember *module = json_members_find(&members, SV("module"));
  const JsonMember *member = json_members_find(&members, SV("totals"));
  if (member == NULL)
    return diag_error(session->diag, STATUS_INVALID, json_value_loc(file), "report-file",
                      "this is no report: it has no 'totals', which '--report=json' writes");
  RETURN_IF_ERROR(json_members(arena, &member->value, "'totals'", session->diag, &totals));
  if (module != NULL && cJSON_IsString(module->value.tree))
    report->module = sv_copy(arena, sv_from_cstring(module->value.tree->valuestring));
  Status status = STATUS_OK;
  for (int64_t i = 0; i < totals.count; i++) {
    Total total = {sv_copy(arena, totals.data[i].key), 0};
    Status read = json_member_count(&totals.data[i], session->diag, &total.value);
    if (read != STATUS_OK) status = read;
    array_push(&report->totals, arena, total);
  }
  return status;
}

static Status read_report(Session *session, int operand, Report *out_report) {
  *out_report = (Report){.path = session->options->operands.data[operand]};
  JsonValue file;
  RETURN_IF_ERROR(json_file_read(session->arena, out_report->path, session->diag, &file));
  Status status = read_totals(session, &file, out_report);
  json_file_end(&file);
  return status;
}

/* --- comparing --- */

/* In the new report's order; then what only the old one has. */
static Changes find_changes(Arena *arena, const Report *old, const Report *new) {
  Changes changes = {0};
  for (int64_t i = 0; i < new->totals.count; i++) {
    const Total *total = &new->totals.data[i];
    array_push(&changes, arena, ((Change){total->name, totals_find(&old->totals, total->name), total}));
  }
  for (int64_t i = 0; i < old->totals.count; i++) {
    const Total *total = &old->totals.data[i];
    if (totals_find(&new->totals, total->name) == NULL)
      array_push(&changes, arena, ((Change){total->name, total, NULL}));
  }
  return changes;
}

static bool is_same(const Change *change) {
  return change->old != NULL && change->new != NULL && change->old->value == change->new->value;
}

static const char *cell(Arena *arena, const Total *total) {
  return total != NULL ? arena_printf(arena, "%lld", (long long)total->value) : "-";
}

static void print_change(StringBuilder *out, const Change *change, Arena *arena) {
  sb_printf(out, "%-20.*s %15s %15s", SV_ARG(change->name), cell(arena, change->old), cell(arena, change->new));
  if (change->old != NULL && change->new != NULL) {
    int64_t more = change->new->value - change->old->value;
    sb_printf(out, " %+15lld", (long long)more);
    if (change->old->value > 0) sb_printf(out, "  %+.1f %%", 100 * (double)more / (double)change->old->value);
  }
  sb_append_char(out, '\n');
}

static void print_text(StringBuilder *out, const Changes *changes, Arena *arena) {
  int64_t same = 0;
  for (int64_t i = 0; i < changes->count; i++) same += is_same(&changes->data[i]);
  if (same < changes->count) sb_printf(out, "%-20s %15s %15s %15s\n", "total", "old", "new", "change");
  for (int64_t i = 0; i < changes->count; i++) {
    if (!is_same(&changes->data[i])) print_change(out, &changes->data[i], arena);
  }
  sb_printf(out, "%lld of %lld totals are the same\n", (long long)same, (long long)changes->count);
}

static void json_side(JsonWriter *json, const char *key, const Total *total) {
  json_key(json, key);
  if (total != NULL)
    json_int(json, total->value);
  else
    json_null(json);
}

static void json_report(JsonWriter *json, const char *key, const Report *report) {
  json_key(json, key);
  json_begin_object(json);
  json_field_string(json, "file", sv_from_cstring(report->path));
  json_field_string(json, "module", report->module);
  json_end_object(json);
}

static void print_json(StringBuilder *out, const Report *old, const Report *new, const Changes *changes) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_report(&json, "old", old);
  json_report(&json, "new", new);
  json_key(&json, "totals");
  json_begin_object(&json);
  for (int64_t i = 0; i < changes->count; i++) {
    const Change *change = &changes->data[i];
    json_key(&json, change->name.data);
    json_begin_object(&json);
    json_side(&json, "old", change->old);
    json_side(&json, "new", change->new);
    if (change->old != NULL && change->new != NULL)
      json_field_int(&json, "change", change->new->value - change->old->value);
    json_end_object(&json);
  }
  json_end_object(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

static Status compare(Session *session) {
  Arena *arena = session->arena;
  Budget budget;
  Report old, new;
  RETURN_IF_ERROR(budget_read(session, &budget));
  RETURN_IF_ERROR(read_report(session, 0, &old));
  RETURN_IF_ERROR(read_report(session, 1, &new));
  Changes changes = find_changes(arena, &old, &new);
  StringBuilder text;
  sb_init(&text, arena);
  if (session_option_integer(session, OPTION_FORMAT, FORMAT_TEXT) == FORMAT_JSON)
    print_json(&text, &old, &new, &changes);
  else
    print_text(&text, &changes, arena);
  RETURN_IF_ERROR(driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text)));
  Status status = budget_check(session, &budget, &new.totals);
  session->keeps_outputs = status == STATUS_EXHAUSTED;
  return status;
}

static Status check_usage(Session *session) {
  const Options *options = session->options;
  RETURN_IF_ERROR(driver_check_format(session, (const int[]){FORMAT_TEXT, FORMAT_JSON}, 2));
  if (file_is_stream(options->operands.data[0]) && file_is_stream(options->operands.data[1]))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "only one report can be standard input");
  return driver_check_files(session, NULL, 0);
}

int compare_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, compare(session));
}
