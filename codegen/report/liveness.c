#include "base/json_writer.h"
#include "base/page/page.h"
#include "codegen/report/report_internal.h"

/* The liveness report: a row for each Buffer with the stretches of the schedule in which it holds something, as
 * text, JSON, CSV or the picture of a page. */

typedef struct Row {
  const HloBuffer *buffer;
  const BufferAllocation *allocation;
  const HloValue *first;
  const BufferLiveRange *stretches;
  int32_t stretch_count;
} Row;

static Row row_of(const BufferAssignment *assignment, int32_t number, Arena *scratch) {
  Row row = {.buffer = &assignment->buffers[number]};
  row.allocation = &assignment->allocations[row.buffer->allocation];
  row.first = &assignment->values[row.buffer->values[0]];
  row.stretch_count = buffer_assignment_stretches(assignment, row.buffer, scratch, &row.stretches);
  return row;
}

static int64_t address(const Row *row) {
  return row->buffer->offset + (row->allocation->kind == ALLOCATION_TEMP ? row->allocation->workspace_offset : 0);
}

/* --- text --- */

static void text_row(StringBuilder *out, const Row *row) {
  for (int32_t i = 0; i < row->stretch_count; i++) {
    sb_printf(out, "%6d %7lld %7lld %12lld  %-16s %12lld  ", row->buffer->id, (long long)row->stretches[i].from,
              (long long)row->stretches[i].to, (long long)row->buffer->size, report_allocation_kind(row->allocation),
              (long long)address(row));
    report_value_name(out, row->first);
    if (row->buffer->value_count > 1) sb_printf(out, " and %d more", row->buffer->value_count - 1);
    if (i == 0 && row->buffer->reason) sb_printf(out, "  -- %s", row->buffer->reason);
    sb_append_char(out, '\n');
  }
}

static void liveness_text(StringBuilder *out, const BufferAssignment *assignment, Arena *scratch) {
  sb_printf(out, "%6s %7s %7s %12s  %-16s %12s  %s\n", "buffer", "from", "to", "bytes", "memory", "offset",
            "values  -- reason");
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    Row row = row_of(assignment, i, scratch);
    text_row(out, &row);
  }
}

/* --- CSV: what planners read --- */

/* RFC 4180 */
static void csv_text(StringBuilder *out, StringView text) {
  sb_append_char(out, '"');
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] == '"') sb_append_char(out, '"');
    sb_append_char(out, text.data[i]);
  }
  sb_append_char(out, '"');
}

static void csv_row(StringBuilder *out, const BufferAssignment *assignment, const Row *row, int32_t stretch,
                    Arena *scratch) {
  sb_printf(out, "%d", row->buffer->id);
  if (row->stretch_count > 1) sb_printf(out, ".%d", stretch);
  sb_printf(out, ",%lld,%lld,%lld,%lld,%lld,", (long long)row->stretches[stretch].from,
            (long long)row->stretches[stretch].to + 1, (long long)row->buffer->size, (long long)address(row),
            (long long)row->buffer->alignment);
  StringBuilder names;
  sb_init(&names, scratch);
  for (int32_t i = 0; i < row->buffer->value_count; i++) {
    if (i > 0) sb_append_char(&names, ' ');
    report_value_name(&names, &assignment->values[row->buffer->values[i]]);
  }
  csv_text(out, sb_view(&names));
  sb_append_char(out, ',');
  csv_text(out, sv_from_cstring(row->buffer->reason ? row->buffer->reason : ""));
  sb_append_char(out, '\n');
}

static void liveness_csv(StringBuilder *out, const BufferAssignment *assignment, Arena *scratch) {
  sb_append_cstring(out, "id,lower,upper,size,offset,alignment,values,reason\n");
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    Row row = row_of(assignment, i, scratch);
    if (row.allocation->kind != ALLOCATION_TEMP || row.buffer->size == 0) continue;
    for (int32_t k = 0; k < row.stretch_count; k++) csv_row(out, assignment, &row, k, scratch);
  }
}

/* --- JSON --- */

static void json_row(JsonWriter *json, const BufferAssignment *assignment, const Row *row, Arena *scratch) {
  json_begin_object(json);
  json_field_int(json, "id", row->buffer->id);
  json_field_string(json, "memory", sv_from_cstring(report_allocation_kind(row->allocation)));
  json_field_int(json, "allocation", row->allocation->index);
  json_field_int(json, "offset", address(row));
  json_field_int(json, "bytes", row->buffer->size);
  json_field_string(json, "reason", sv_from_cstring(row->buffer->reason ? row->buffer->reason : ""));
  json_key(json, "live");
  json_begin_array(json);
  for (int32_t i = 0; i < row->stretch_count; i++) {
    json_begin_array(json);
    json_int(json, row->stretches[i].from);
    json_int(json, row->stretches[i].to);
    json_end_array(json);
  }
  json_end_array(json);
  json_key(json, "values");
  json_begin_array(json);
  for (int32_t i = 0; i < row->buffer->value_count; i++) {
    json_string(json, report_value_name_text(scratch, &assignment->values[row->buffer->values[i]]));
  }
  json_end_array(json);
  json_end_object(json);
}

static void liveness_json(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                          Arena *scratch) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", module->name);
  json_field_int(&json, "schedule_length", assignment->schedule_length);
  json_field_int(&json, "workspace_bytes", assignment->workspace_bytes);
  json_field_int(&json, "lower_bound_bytes", assignment->lower_bound_bytes);
  json_field_int(&json, "peak_position", assignment->peak_position);
  json_key(&json, "buffers");
  json_begin_array(&json);
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    Row row = row_of(assignment, i, scratch);
    json_row(&json, assignment, &row, scratch);
  }
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

/* --- page --- */

static void liveness_html(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                          Arena *scratch) {
  MemoryChart chart = report_memory_chart(scratch, module, assignment);
  page_print_memory(out, sv_printf(scratch, "memory of %.*s", SV_ARG(module->name)), &chart);
}

void report_liveness(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                     ReportFormat format) {
  Arena *scratch = arena_create();
  switch (format) {
    case REPORT_TEXT: liveness_text(out, assignment, scratch); break;
    case REPORT_JSON: liveness_json(out, module, assignment, scratch); break;
    case REPORT_CSV: liveness_csv(out, assignment, scratch); break;
    case REPORT_HTML: liveness_html(out, module, assignment, scratch); break;
  }
  arena_destroy(scratch);
}
