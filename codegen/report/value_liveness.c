/* Live ranges before memory is planned: those of values on a schedule, or, without one, after which readers a logical
 * buffer is free.  Text or JSON. */
#include "base/array.h"
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"
#include "hlo/analysis/buffer_liveness.h"

/* --- on a schedule --- */

static void text_values(StringBuilder *out, const BufferAnalysis *analysis) {
  const HloLiveness *liveness = analysis->liveness;
  int64_t length = analysis->ordering->length;
  sb_printf(out, "%7s %7s %12s  %s\n", "from", "to", "bytes", "value");
  for (int32_t r = 0; r < liveness->range_count; r++) {
    const HloValue *value = &analysis->flow->values[liveness->values[r]];
    sb_printf(out, "%7lld %7lld %12lld  ", (long long)hlo_liveness_first_position(liveness->ranges[r], length),
              (long long)hlo_liveness_last_position(liveness->ranges[r], length), (long long)value->size);
    report_position(out, value->definition);
    sb_append_cstring(out, value->is_phi ? ", phi" : "");
    sb_append_cstring(out, value->live_out ? ", live out\n" : "\n");
  }
}

static void json_values(JsonWriter *json, const BufferAnalysis *analysis) {
  const HloLiveness *liveness = analysis->liveness;
  int64_t length = analysis->ordering->length;
  json_field_int(json, "schedule_length", length);
  json_key(json, "values");
  json_begin_array(json);
  for (int32_t i = 0; i < analysis->flow->value_count; i++) {
    const HloValue *value = &analysis->flow->values[i];
    json_begin_object(json);
    report_json_position(json, value->definition);
    json_field_int(json, "bytes", value->size);
    json_field_bool(json, "is_phi", value->is_phi);
    json_field_bool(json, "live_out", value->live_out);
    json_key(json, "live");
    json_begin_array(json);
    for (int32_t r = liveness->first_ranges[i]; r < liveness->first_ranges[i + 1]; r++) {
      json_begin_array(json);
      json_int(json, hlo_liveness_first_position(liveness->ranges[r], length));
      json_int(json, hlo_liveness_last_position(liveness->ranges[r], length));
      json_end_array(json);
    }
    json_end_array(json);
    json_end_object(json);
  }
  json_end_array(json);
}

/* --- by dependencies --- */

typedef ARRAY(const HloInstruction *) ReaderList;

/* Readers of which none waits for another: when all of them have ended, nothing in the computation reads |buffer|. */
static ReaderList last_readers(const BufferLiveness *liveness, const LogicalBuffer *buffer) {
  ReaderList readers = {0}, last = {0};
  for (int32_t i = 0; i < buffer->position_count; i++) {
    const BufferPosition *position = &buffer->positions[i];
    for (int32_t k = 0; k < position->instruction->user_count; k++) {
      const HloInstruction *user = position->instruction->users[k];
      if (buffer_liveness_reads(user, position)) array_push(&readers, liveness->arena, user);
    }
  }
  for (int64_t i = 0; i < readers.count; i++) {
    bool is_last = true;
    for (int64_t k = 0; k < readers.count; k++) {
      is_last &= !execution_order_is_before(liveness->order, readers.data[i], readers.data[k]);
      is_last &= k >= i || readers.data[k] != readers.data[i];
    }
    if (is_last) array_push(&last, liveness->arena, readers.data[i]);
  }
  return last;
}

/* To the caller, or, from a loop's condition, on to its body. */
static bool is_returned(const CallGraph *graph, const LogicalBuffer *buffer) {
  const HloComputation *computation = buffer->definition.instruction->parent;
  const HloInstruction *site = call_graph_caller(graph, computation);
  bool is_condition = site && site->opcode == HLO_WHILE && call_graph_callee(site, 0) == computation;
  if (is_condition && buffer->definition.instruction->opcode == HLO_PARAMETER) return true;
  for (int32_t i = 0; i < buffer->position_count; i++) {
    if (hlo_instruction_is_root(buffer->positions[i].instruction)) return true;
  }
  return false;
}

static void text_buffers(StringBuilder *out, const BufferLiveness *liveness) {
  for (int32_t i = 0; i < liveness->points_to->buffer_count; i++) {
    const LogicalBuffer *buffer = &liveness->points_to->buffers[i];
    ReaderList readers = last_readers(liveness, buffer);
    bool returned = is_returned(liveness->points_to->flow->graph, buffer);
    report_position(out, buffer->definition);
    sb_printf(out, "  %lld bytes, ", (long long)buffer->size);
    if (returned)
      sb_append_cstring(out, liveness->maybe_live_out[i] ? "live out" : "until its computation ends");
    else
      sb_append_cstring(out, readers.count > 0 ? "until" : "while it is made");
    for (int64_t k = 0; !returned && k < readers.count; k++)
      sb_printf(out, "%s %.*s", k > 0 ? " and" : "", SV_ARG(readers.data[k]->name));
    sb_append_char(out, '\n');
  }
}

static void json_buffers(JsonWriter *json, const BufferLiveness *liveness) {
  json_key(json, "buffers");
  json_begin_array(json);
  for (int32_t i = 0; i < liveness->points_to->buffer_count; i++) {
    const LogicalBuffer *buffer = &liveness->points_to->buffers[i];
    ReaderList readers = last_readers(liveness, buffer);
    json_begin_object(json);
    report_json_position(json, buffer->definition);
    json_field_int(json, "bytes", buffer->size);
    json_field_bool(json, "maybe_live_out", liveness->maybe_live_out[i]);
    json_field_bool(json, "returned", is_returned(liveness->points_to->flow->graph, buffer));
    json_key(json, "last_readers");
    json_begin_array(json);
    for (int64_t k = 0; k < readers.count; k++) json_string(json, readers.data[k]->name);
    json_end_array(json);
    json_end_object(json);
  }
  json_end_array(json);
}

/* --- forms --- */

static Status by_dependencies(Arena *scratch, const BufferAnalysis *analysis, DiagSink *diag,
                              BufferLiveness *out_liveness) {
  ReportOrders orders;
  RETURN_IF_ERROR(report_orders(scratch, analysis, 0, diag, &orders));
  *out_liveness = buffer_liveness_build(scratch, tuple_points_to_build(scratch, analysis->flow), orders.orders[0]);
  return STATUS_OK;
}

static Status answer(StringBuilder *out, Arena *scratch, const BufferAnalysis *analysis, ReportFormat format,
                     DiagSink *diag) {
  const HloModule *module = analysis->graph->module;
  BufferLiveness liveness = {0};
  if (!module->is_scheduled) RETURN_IF_ERROR(by_dependencies(scratch, analysis, diag, &liveness));
  if (format != REPORT_JSON) {
    sb_printf(out, "liveness of module %.*s%s\n", SV_ARG(module->name),
              module->is_scheduled ? "" : ", which is not scheduled: by dependencies");
    if (module->is_scheduled) {
      text_values(out, analysis);
    } else {
      text_buffers(out, &liveness);
    }
    return STATUS_OK;
  }
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", module->name);
  json_field_bool(&json, "is_scheduled", module->is_scheduled);
  if (module->is_scheduled) {
    json_values(&json, analysis);
  } else {
    json_buffers(&json, &liveness);
  }
  json_end_object(&json);
  sb_append_char(out, '\n');
  return STATUS_OK;
}

Status report_value_liveness(StringBuilder *out, const BufferAnalysis *analysis, ReportFormat format, DiagSink *diag) {
  Arena *scratch = arena_create();
  Status status = answer(out, scratch, analysis, format, diag);
  arena_destroy(scratch);
  return status;
}
