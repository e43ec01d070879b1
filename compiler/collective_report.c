#include "compiler/collective_report.h"

#include <stdlib.h>

#include "hlo/analysis/collective_traffic.h"

bool collective_report_is_there(const Compilation *compilation) {
  return device_counts_total(hlo_module_device_counts(compilation->module)) > 1;
}

StringView collective_report_origin(const HloInstruction *instruction, Arena *arena) {
  const HloMetadata *metadata = hlo_instruction_metadata(instruction);
  StringView name = metadata != NULL ? metadata->op_name : SV(""),
             line = hlo_module_source_line(instruction->parent->module, instruction, arena);
  const char *gap = name.size > 0 && line.size > 0 ? " at " : "";
  return sv_printf(arena, "%.*s%s%.*s", SV_ARG(name), gap, SV_ARG(line));
}

static int by_wire_bytes(const void *a, const void *b) {
  const CollectiveTraffic *x = *(const CollectiveTraffic *const *)a, *y = *(const CollectiveTraffic *const *)b;
  double first = x->times * (double)x->wire_bytes, second = y->times * (double)y->wire_bytes;
  if (first != second) return first > second ? -1 : 1;
  return (x > y) - (x < y); /* one array: in the order of the program */
}

static const CollectiveTraffic **sorted_rows(const ModuleTraffic *traffic, Arena *arena) {
  const CollectiveTraffic **rows = ARENA_NEW_ARRAY(arena, const CollectiveTraffic *, traffic->count);
  for (int64_t i = 0; i < traffic->count; i++) rows[i] = &traffic->data[i];
  if (traffic->count > 0) qsort(rows, (size_t)traffic->count, sizeof *rows, by_wire_bytes);
  return rows;
}

/* A module whose groups do not fit its devices was not checked against them: the message stands for the table. */
static bool count_traffic(const Compilation *compilation, ModuleTraffic *out_traffic, DiagSink *out_diag) {
  diag_sink_init(out_diag, compilation->arena);
  return hlo_module_traffic(compilation->arena, compilation->module, out_diag, out_traffic) == STATUS_OK;
}

void collective_report_text(StringBuilder *out, const Compilation *compilation) {
  ModuleTraffic traffic;
  DiagSink diag;
  if (!count_traffic(compilation, &traffic, &diag)) {
    sb_printf(out, "  not counted: %.*s\n", SV_ARG(diag.first->message));
    return;
  }
  sb_printf(out, "%14.0f  bytes sent by each device\n%14.0f  bytes handed in or taken out by each device\n",
            traffic.wire_bytes, traffic.payload_bytes);
  if (traffic.unknown_loops > 0)
    sb_printf(out, "%14lld  loops of which nobody knows how often they run, counted once\n",
              (long long)traffic.unknown_loops);
  const CollectiveTraffic **rows = sorted_rows(&traffic, compilation->arena);
  for (int64_t i = 0; i < traffic.count; i++) {
    const CollectiveTraffic *row = rows[i];
    sb_printf(out, "  %.*s: %s, %lld in a group, %lld groups, %.0f times: %lld bytes sent of %lld  %.*s\n",
              SV_ARG(row->collective->name), hlo_opcode_text(row->opcode), (long long)row->group_size,
              (long long)row->group_count, row->times, (long long)row->wire_bytes, (long long)row->payload_bytes,
              SV_ARG(collective_report_origin(row->collective, compilation->arena)));
  }
}

static void write_row(JsonWriter *json, const CollectiveTraffic *row, Arena *arena) {
  json_begin_object(json);
  json_field_string(json, "instruction", row->collective->name);
  json_field_string(json, "opcode", sv_from_cstring(hlo_opcode_text(row->opcode)));
  json_field_string(json, "origin", collective_report_origin(row->collective, arena));
  json_field_int(json, "group_size", row->group_size);
  json_field_int(json, "groups", row->group_count);
  json_field_double(json, "times", row->times);
  json_field_int(json, "payload_bytes", row->payload_bytes);
  json_field_int(json, "wire_bytes", row->wire_bytes);
  json_end_object(json);
}

void collective_report_json(JsonWriter *json, const Compilation *compilation) {
  ModuleTraffic traffic;
  DiagSink diag;
  json_begin_object(json);
  if (!count_traffic(compilation, &traffic, &diag)) {
    json_field_string(json, "error", diag.first->message);
    json_end_object(json);
    return;
  }
  json_field_int(json, "replicas", traffic.devices.replicas);
  json_field_int(json, "partitions", traffic.devices.partitions);
  json_field_double(json, "wire_bytes", traffic.wire_bytes);
  json_field_double(json, "payload_bytes", traffic.payload_bytes);
  json_field_int(json, "unknown_loops", traffic.unknown_loops);
  json_key(json, "rows");
  json_begin_array(json);
  const CollectiveTraffic **rows = sorted_rows(&traffic, compilation->arena);
  for (int64_t i = 0; i < traffic.count; i++) write_row(json, rows[i], compilation->arena);
  json_end_array(json);
  json_end_object(json);
}
