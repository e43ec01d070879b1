/* xlac plan BUFFERS.csv: places buffers with known lifetimes at least height; docs/plan-command.md. */
#include "base/json_writer.h"
#include "base/monotonic_clock.h"
#include "cli/buffer_table.h"
#include "cli/driver.h"

static Status read_table(Session *session, BufferTable *out_table) {
  const char *path = session->options->operands.data[0];
  session->source.name = path[0] == '-' && path[1] == '\0' ? SV("<stdin>") : sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(session->arena, path, session->diag, &session->source.text));
  int64_t alignment = session_option_integer(session, OPTION_ALIGNMENT, 1);
  return buffer_table_read(session->arena, &session->source, alignment, session->diag, out_table);
}

static void note_statistics(Session *session, const BufferTable *table, const PackingSolution *plan, double seconds) {
  StringBuilder text;
  JsonWriter json;
  sb_init(&text, session->arena);
  json_init(&json, &text, false);
  json_begin_object(&json);
  json_field_int(&json, "buffers", table->row_count);
  json_field_int(&json, "height", plan->height);
  json_field_int(&json, "lower_bound", plan->lower_bound);
  json_field_bool(&json, "optimal", plan->is_optimal);
  json_field_int(&json, "work", plan->work);
  json_field_double(&json, "seconds", seconds);
  json_end_object(&json);
  sb_append_char(&text, '\n');
  session->statistics = sb_view(&text);
}

static Status check_capacity(const Session *session, const PackingSolution *plan, int64_t capacity) {
  if (plan->height <= capacity) return STATUS_OK;
  if (plan->lower_bound > capacity)
    return diag_error(session->diag, STATUS_EXHAUSTED, NO_LOC, "plan-capacity",
                      "the buffers do not fit %lld bytes: it is proved that no placement takes less than %lld",
                      (long long)capacity, (long long)plan->lower_bound);
  Status status = diag_error(session->diag, STATUS_EXHAUSTED, NO_LOC, "plan-capacity",
                             "no placement within %lld bytes was found, nor proved impossible", (long long)capacity);
  diag_note(session->diag, NO_LOC,
            "the lowest that was found takes %lld, none can take less than %lld; '--effort=9' looks longest",
            (long long)plan->height, (long long)plan->lower_bound);
  return status;
}

/* By the file's name, without folders. */
static StringView page_title(const Session *session) {
  StringView name = session->source.name;
  for (size_t i = name.size; i > 0; i--) {
    if (name.data[i - 1] == '/') {
      name = sv_sub(name, i, name.size - i);
      break;
    }
  }
  return sv_printf(session->arena, "plan of %.*s", SV_ARG(name));
}

static Status plan(Session *session) {
  BufferTable table;
  RETURN_IF_ERROR(driver_check_places(session));
  RETURN_IF_ERROR(read_table(session, &table));
  PackingRegion region = {session_option_integer(session, OPTION_CAPACITY, INT64_MAX), 0};
  PackingProblem problem = {
      .buffers = table.buffers,
      .count = table.row_count,
      .regions = &region,
      .region_count = 1,
      .effort = (int)session_option_integer(session, OPTION_EFFORT, PACKING_DEFAULT_EFFORT - 1) + 1};
  PackingSolution found;
  double start = monotonic_seconds();
  RETURN_IF_ERROR(packing_solve(session->arena, &problem, session->diag, &found));
  note_statistics(session, &table, &found, driver_end_phase(session, "placement", start) - start);
  Arena *scratch = arena_create();
  Status status = packing_verify(scratch, &problem, &found, session->diag);
  arena_destroy(scratch);
  XLAC_CHECK(status == STATUS_OK);
  RETURN_IF_ERROR(check_capacity(session, &found, region.capacity));
  StringBuilder text;
  sb_init(&text, session->arena);
  switch (session_option_integer(session, OPTION_FORMAT, FORMAT_CSV)) {
    case FORMAT_JSON: buffer_table_print_json(&table, &found, &text); break;
    case FORMAT_HTML: buffer_table_print_html(&table, &found, page_title(session), &text); break;
    default: buffer_table_print_csv(&table, &found, &text); break;
  }
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

int plan_command(Session *session) {
  Status status = driver_check_files(session, NULL, 0);
  if (status == STATUS_OK)
    status = driver_check_format(session, (const int[]){FORMAT_CSV, FORMAT_JSON, FORMAT_HTML}, 3);
  if (status != STATUS_OK) return session_end_usage(session);
  return session_end(session, plan(session));
}
