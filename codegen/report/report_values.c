#include <stdlib.h>

#include "base/array.h"
#include "codegen/report/report_internal.h"

/* Names of values, bytes for people, and the stretches in which a Buffer is used: what all reports share. */

void report_index(StringBuilder *out, const HloInstruction *instruction, int node) {
  int64_t path[64];
  int depth = shape_depth(instruction->shape) <= 64 ? shape_node_path(instruction->shape, node, path) : 0;
  sb_append_char(out, '{');
  for (int i = 0; i < depth; i++) sb_printf(out, "%s%lld", i ? "," : "", (long long)path[i]);
  sb_append_char(out, '}');
}

void report_position(StringBuilder *out, BufferPosition position) {
  sb_printf(out, "(%.*s, ", SV_ARG(position.instruction->name));
  report_index(out, position.instruction, position.node);
  sb_append_char(out, ')');
}

void report_asked_name(StringBuilder *out, const AskedValue *asked) {
  if (asked->fused.size == 0) return;
  sb_printf(out, "'%.*s' is made by a fusion, as ", SV_ARG(asked->fused));
  report_position(out, asked->position);
  sb_append_char(out, '\n');
}

void report_json_asked(JsonWriter *json, const AskedValue *asked) {
  report_json_position(json, asked->position);
  if (asked->fused.size > 0) json_field_string(json, "fused", asked->fused);
}

void report_json_position(JsonWriter *json, BufferPosition position) {
  const Shape *shape = position.instruction->shape;
  int64_t path[64];
  int depth = shape_depth(shape) <= 64 ? shape_node_path(shape, position.node, path) : 0;
  json_field_string(json, "instruction", position.instruction->name);
  json_key(json, "index");
  json_begin_array(json);
  for (int i = 0; i < depth; i++) json_int(json, path[i]);
  json_end_array(json);
}

void report_value_name(StringBuilder *out, const HloValue *value) {
  const HloInstruction *instruction = value->definition.instruction;
  sb_append(out, instruction->name);
  if (shape_is_tuple(instruction->shape)) report_index(out, instruction, value->definition.node);
}

StringView report_value_name_text(Arena *arena, const HloValue *value) {
  StringBuilder text;
  sb_init(&text, arena);
  report_value_name(&text, value);
  return sb_view(&text);
}

void report_human_bytes(StringBuilder *out, int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double amount = (double)bytes;
  for (; amount >= 1024 && unit < 6; unit++) amount /= 1024;
  if (unit == 0) {
    sb_printf(out, "%lldB", (long long)bytes);
  } else {
    sb_printf(out, amount >= 999.5 ? "%.0f%s" : amount >= 9.95 ? "%.1f%s" : "%.2f%s", amount, units[unit]);
  }
}

const char *report_allocation_kind(const BufferAllocation *allocation) {
  switch (allocation->kind) {
    case ALLOCATION_PARAMETER: return allocation->result >= 0 ? "donated argument" : "argument";
    case ALLOCATION_RESULT: return "result";
    case ALLOCATION_PREPARED: return "prepared";
    case ALLOCATION_CONSTANT: return "constant";
    case ALLOCATION_TEMP: return "workspace";
  }
  return "memory";
}
