#include "base/json_writer.h"
#include "codegen/report/report_internal.h"
#include "hlo/ir/custom_call.h"

/* --- text --- */

static void print_total(StringBuilder *out, const char *what, int64_t bytes, const char *note) {
  sb_printf(out, "  %-12s%14lld  ", what, (long long)bytes);
  report_human_bytes(out, bytes);
  if (note[0]) sb_printf(out, "  (%s)", note);
  sb_append_char(out, '\n');
}

static int64_t count_kind(const BufferAssignment *assignment, AllocationKind kind) {
  int64_t count = 0;
  for (int32_t i = 0; i < assignment->allocation_count; i++) count += assignment->allocations[i].kind == kind;
  return count;
}

static const char *peak_note(const BufferAssignment *assignment, Arena *scratch) {
  if (assignment->workspace_bytes == 0) return "";
  const HloInstruction *at = assignment->schedule[assignment->peak_position];
  return arena_printf(scratch, "peak at '%.*s', %lld of %lld; lower bound %lld, %.1f %% of it", SV_ARG(at->name),
                      (long long)assignment->peak_position, (long long)assignment->schedule_length,
                      (long long)assignment->lower_bound_bytes,
                      assignment->lower_bound_bytes > 0
                          ? 100.0 * (double)assignment->workspace_bytes / (double)assignment->lower_bound_bytes
                          : 100.0);
}

static bool is_workspace(const BufferAllocation *allocation) {
  return allocation->kind == ALLOCATION_TEMP;
}

/* The workspace has a part for each memory space: said where there is another one than 0. */
static void print_spaces(StringBuilder *out, const BufferAssignment *assignment, Arena *scratch) {
  bool has_others = false;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    has_others |= is_workspace(allocation) && allocation->colour != 0;
  }
  for (int32_t i = 0; has_others && i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (!is_workspace(allocation)) continue;
    print_total(out, arena_printf(scratch, "  space %lld", (long long)allocation->colour), allocation->size,
                arena_printf(scratch, "of the workspace, from %lld", (long long)allocation->workspace_offset));
  }
}

static void print_totals(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                         Arena *scratch) {
  sb_printf(out, "buffer map of '%.*s'\n\n", SV_ARG(module->name));
  print_total(out, "arguments", assignment->argument_bytes,
              arena_printf(scratch, "%lld", (long long)count_kind(assignment, ALLOCATION_PARAMETER)));
  print_total(
      out, "results", assignment->result_bytes,
      assignment->aliased_bytes == 0
          ? arena_printf(scratch, "%lld", (long long)count_kind(assignment, ALLOCATION_RESULT))
          : arena_printf(scratch, "%lld bytes of them in donated arguments", (long long)assignment->aliased_bytes));
  print_total(out, "workspace", assignment->workspace_bytes, peak_note(assignment, scratch));
  print_spaces(out, assignment, scratch);
  if (assignment->resident_bytes > 0)
    print_total(out, "  residents", assignment->resident_bytes,
                arena_printf(scratch, "of the workspace, from %lld: the Buffer, in which arrays stay between kernels",
                             (long long)(assignment->workspace_bytes - assignment->resident_bytes)));
  if (assignment->scratch_bytes_per_worker > 0)
    print_total(out, "per thread", assignment->scratch_bytes_per_worker, "scratch of each further thread");
  print_total(out, "constants", assignment->constant_bytes, "in the object");
  if (assignment->prepared_bytes > 0)
    print_total(out, "prepared", assignment->prepared_bytes, "computed once, before any run");
  print_total(
      out, "total", buffer_assignment_outside_bytes(assignment) + assignment->workspace_bytes,
      assignment->prepared_bytes > 0 ? "arguments, results, workspace, prepared" : "arguments, results, workspace");
}

static void print_buffer(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                         const HloBuffer *buffer, Arena *scratch) {
  sb_printf(out, "  [%lld, %lld) buffer %d: %s\n", (long long)buffer->offset,
            (long long)(buffer->offset + buffer->size), buffer->id, buffer->reason ? buffer->reason : "");
  for (int32_t i = 0; i < buffer->value_count; i++) {
    const HloValue *value = &assignment->values[buffer->values[i]];
    const HloInstruction *instruction = value->definition.instruction;
    StringView source = hlo_module_source_line(module, instruction, scratch);
    sb_printf(out, "    %6lld..%-6lld ", (long long)value->live_from, (long long)value->live_to);
    report_value_name(out, value);
    sb_append_cstring(out, "  ");
    shape_print(out, hlo_value_shape(value), false);
    sb_printf(out, "  %s", value->is_phi ? "joins" : hlo_opcode_text(instruction->opcode));
    if (source.size > 0) sb_printf(out, "  %.*s", SV_ARG(source));
    sb_append_char(out, '\n');
  }
}

static void print_allocation(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                             const BufferAllocation *allocation, Arena *scratch) {
  sb_printf(out, "\nallocation %d: %s", allocation->index, report_allocation_kind(allocation));
  if (allocation->parameter >= 0) sb_printf(out, " %lld", (long long)allocation->parameter);
  if (allocation->parameter >= 0 && allocation->result >= 0) sb_append_cstring(out, " to result");
  if (allocation->result >= 0) sb_printf(out, " %lld", (long long)allocation->result);
  if (allocation->prepared >= 0) sb_printf(out, " %lld", (long long)allocation->prepared);
  sb_printf(out, ", %lld bytes", (long long)allocation->size);
  if (allocation->kind == ALLOCATION_PREPARED)
    sb_printf(out, " at %lld of its memory", (long long)allocation->prepared_offset);
  if (allocation->kind == ALLOCATION_TEMP) sb_printf(out, " at %lld", (long long)allocation->workspace_offset);
  if (allocation->colour != 0) sb_printf(out, ", memory space %lld", (long long)allocation->colour);
  sb_append_char(out, '\n');
  for (int32_t i = 0; i < allocation->buffer_count; i++) {
    print_buffer(out, module, assignment, &assignment->buffers[allocation->buffers[i]], scratch);
  }
}

static void print_scratches(StringBuilder *out, const BufferAssignment *assignment) {
  if (assignment->scratch_count > 0) sb_append_cstring(out, "\nscratch of kernels, in the workspace while they run\n");
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    const BufferScratch *scratch = &assignment->scratches[i];
    int64_t from = assignment->allocations[scratch->allocation].workspace_offset + scratch->offset;
    sb_printf(out, "  [%lld, %lld) at %lld: '%.*s'\n", (long long)from, (long long)(from + scratch->size),
              (long long)scratch->position, SV_ARG(scratch->instruction->name));
  }
}

static void print_copies(StringBuilder *out, const BufferAssignment *assignment) {
  if (assignment->copy_count > 0) sb_append_cstring(out, "\ncopies\n");
  for (int32_t i = 0; i < assignment->copy_count; i++) {
    const HloInstruction *copy = assignment->copies[i].copy;
    sb_printf(out, "  %.*s  ", SV_ARG(copy->name));
    shape_print(out, copy->shape, false);
    sb_printf(out, "  of '%.*s': %s\n", SV_ARG(copy->operands[0]->name), assignment->copies[i].reason);
  }
}

/* The target of a call out of the module; empty: none. */
static StringView target_of(const HloInstruction *instruction) {
  return custom_call_is_trap(instruction) ? SV("") : custom_call_target(instruction);
}

static void print_calls(StringBuilder *out, const BufferAssignment *assignment) {
  bool any = false;
  for (int64_t i = 0; i < assignment->schedule_length; i++) {
    StringView target = target_of(assignment->schedule[i]);
    if (target.size == 0) continue;
    if (!any) sb_append_cstring(out, "\ncalls out of the module: what these allocate themselves is not counted\n");
    any = true;
    sb_printf(out, "  '%.*s' at %lld: %.*s\n", SV_ARG(assignment->schedule[i]->name), (long long)i, SV_ARG(target));
  }
}

static void buffer_map_text(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                            Arena *scratch) {
  print_totals(out, module, assignment, scratch);
  report_workspace_picture(out, assignment, scratch);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    print_allocation(out, module, assignment, &assignment->allocations[i], scratch);
  }
  print_scratches(out, assignment);
  print_calls(out, assignment);
  print_copies(out, assignment);
}

/* --- JSON --- */

static void json_value(JsonWriter *json, const HloModule *module, const HloValue *value, Arena *scratch) {
  const HloInstruction *instruction = value->definition.instruction;
  StringView source = hlo_module_source_line(module, instruction, scratch);
  json_begin_object(json);
  json_field_int(json, "id", value->id);
  json_field_string(json, "name", report_value_name_text(scratch, value));
  json_field_string(json, "opcode", sv_from_cstring(hlo_opcode_text(instruction->opcode)));
  json_field_string(json, "shape", shape_text(scratch, hlo_value_shape(value), true));
  json_field_int(json, "bytes", value->size);
  json_field_int(json, "from", value->live_from);
  json_field_int(json, "to", value->live_to);
  json_field_bool(json, "phi", value->is_phi);
  json_field_int(json, "uses", value->use_count);
  if (source.size > 0) json_field_string(json, "source", source);
  json_end_object(json);
}

static void json_buffer(JsonWriter *json, const HloModule *module, const BufferAssignment *assignment,
                        const HloBuffer *buffer, Arena *scratch) {
  json_begin_object(json);
  json_field_int(json, "id", buffer->id);
  json_field_int(json, "offset", buffer->offset);
  json_field_int(json, "bytes", buffer->size);
  json_field_int(json, "alignment", buffer->alignment);
  json_field_string(json, "reason", sv_from_cstring(buffer->reason ? buffer->reason : ""));
  json_key(json, "values");
  json_begin_array(json);
  for (int32_t i = 0; i < buffer->value_count; i++)
    json_value(json, module, &assignment->values[buffer->values[i]], scratch);
  json_end_array(json);
  json_end_object(json);
}

static void json_allocation(JsonWriter *json, const HloModule *module, const BufferAssignment *assignment,
                            const BufferAllocation *allocation, Arena *scratch) {
  static const char *const kinds[] = {"parameter", "result", "prepared", "constant", "temp"};
  json_begin_object(json);
  json_field_int(json, "index", allocation->index);
  json_field_string(json, "kind", sv_from_cstring(kinds[allocation->kind]));
  json_field_int(json, "bytes", allocation->size);
  json_field_int(json, "alignment", allocation->alignment);
  json_field_int(json, "memory_space", allocation->colour);
  if (allocation->parameter >= 0) json_field_int(json, "parameter", allocation->parameter);
  if (allocation->result >= 0) json_field_int(json, "result", allocation->result);
  if (allocation->prepared >= 0) json_field_int(json, "prepared", allocation->prepared);
  if (allocation->prepared >= 0) json_field_int(json, "prepared_offset", allocation->prepared_offset);
  if (allocation->kind == ALLOCATION_TEMP) json_field_int(json, "workspace_offset", allocation->workspace_offset);
  json_key(json, "buffers");
  json_begin_array(json);
  for (int32_t i = 0; i < allocation->buffer_count; i++) {
    json_buffer(json, module, assignment, &assignment->buffers[allocation->buffers[i]], scratch);
  }
  json_end_array(json);
  json_end_object(json);
}

static void json_totals(JsonWriter *json, const HloModule *module, const BufferAssignment *assignment) {
  json_field_string(json, "module", module->name);
  json_field_int(json, "argument_bytes", assignment->argument_bytes);
  json_field_int(json, "result_bytes", assignment->result_bytes);
  json_field_int(json, "aliased_bytes", assignment->aliased_bytes);
  json_field_int(json, "constant_bytes", assignment->constant_bytes);
  if (assignment->prepared_bytes > 0) json_field_int(json, "prepared_bytes", assignment->prepared_bytes);
  json_field_int(json, "workspace_bytes", assignment->workspace_bytes);
  if (assignment->resident_bytes > 0) json_field_int(json, "resident_bytes", assignment->resident_bytes);
  json_field_int(json, "workspace_alignment", assignment->workspace_alignment);
  json_field_int(json, "lower_bound_bytes", assignment->lower_bound_bytes);
  json_field_int(json, "scratch_bytes_per_worker", assignment->scratch_bytes_per_worker);
  json_field_int(json, "peak_position", assignment->peak_position);
  json_field_int(json, "schedule_length", assignment->schedule_length);
}

static void json_spaces(JsonWriter *json, const BufferAssignment *assignment) {
  json_key(json, "memory_spaces");
  json_begin_array(json);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (!is_workspace(allocation)) continue;
    json_begin_object(json);
    json_field_int(json, "memory_space", allocation->colour);
    json_field_int(json, "workspace_offset", allocation->workspace_offset);
    json_field_int(json, "bytes", allocation->size);
    json_end_object(json);
  }
  json_end_array(json);
}

static void json_scratches(JsonWriter *json, const BufferAssignment *assignment) {
  json_key(json, "scratch");
  json_begin_array(json);
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    const BufferScratch *scratch = &assignment->scratches[i];
    json_begin_object(json);
    json_field_string(json, "name", scratch->instruction->name);
    json_field_int(json, "position", scratch->position);
    json_field_int(json, "allocation", scratch->allocation);
    json_field_int(json, "offset", scratch->offset);
    json_field_int(json, "bytes", scratch->size);
    json_end_object(json);
  }
  json_end_array(json);
}

static void json_calls(JsonWriter *json, const BufferAssignment *assignment) {
  json_key(json, "calls");
  json_begin_array(json);
  for (int64_t i = 0; i < assignment->schedule_length; i++) {
    StringView target = target_of(assignment->schedule[i]);
    if (target.size == 0) continue;
    json_begin_object(json);
    json_field_string(json, "name", assignment->schedule[i]->name);
    json_field_int(json, "position", i);
    json_field_string(json, "target", target);
    json_end_object(json);
  }
  json_end_array(json);
}

static void json_copies(JsonWriter *json, const BufferAssignment *assignment) {
  json_key(json, "copies");
  json_begin_array(json);
  for (int32_t i = 0; i < assignment->copy_count; i++) {
    json_begin_object(json);
    json_field_string(json, "name", assignment->copies[i].copy->name);
    json_field_string(json, "of", assignment->copies[i].copy->operands[0]->name);
    json_field_string(json, "reason", sv_from_cstring(assignment->copies[i].reason));
    json_end_object(json);
  }
  json_end_array(json);
}

static void buffer_map_json(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                            const ReportSection *more, Arena *scratch) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_totals(&json, module, assignment);
  json_spaces(&json, assignment);
  json_key(&json, "allocations");
  json_begin_array(&json);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    json_allocation(&json, module, assignment, &assignment->allocations[i], scratch);
  }
  json_end_array(&json);
  json_scratches(&json, assignment);
  json_calls(&json, assignment);
  json_copies(&json, assignment);
  json_key(&json, "schedule");
  json_begin_array(&json);
  for (int64_t i = 0; i < assignment->schedule_length; i++) json_string(&json, assignment->schedule[i]->name);
  json_end_array(&json);
  if (more != NULL) {
    json_key(&json, more->key);
    more->json(more->self, &json);
  }
  json_end_object(&json);
  sb_append_char(out, '\n');
}

void report_buffer_map(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                       ReportFormat format, const ReportSection *more) {
  Arena *scratch = arena_create();
  if (format == REPORT_JSON) {
    buffer_map_json(out, module, assignment, more, scratch);
  } else {
    buffer_map_text(out, module, assignment, scratch);
    if (more != NULL) more->text(more->self, out);
  }
  arena_destroy(scratch);
}
