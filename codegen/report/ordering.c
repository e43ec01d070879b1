/* What waits for what, and what may run at once: text or JSON. */
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"

/* --- orders --- */

Status report_orders(Arena *arena, const BufferAnalysis *analysis, int64_t streams, DiagSink *diag,
                     ReportOrders *out_orders) {
  static const ExecutionOrderKind kinds[] = {EXECUTION_DEPENDENCY, EXECUTION_SEQUENTIAL, EXECUTION_CONCURRENT};
  const bool asked[] = {true, analysis->graph->module->is_scheduled, streams > 0};
  out_orders->count = 0;
  for (int i = 0; i < 3; i++) {
    if (!asked[i]) continue;
    RETURN_IF_ERROR(execution_order_build(arena, analysis->flow, analysis->ordering, kinds[i], streams, diag,
                                          &out_orders->orders[out_orders->count++]));
  }
  return STATUS_OK;
}

const char *report_order_name(const ExecutionOrder *order) {
  switch (order->kind) {
    case EXECUTION_DEPENDENCY: return "dependency";
    case EXECUTION_SEQUENTIAL: return "sequential";
    case EXECUTION_CONCURRENT: return "concurrent";
  }
  return "";
}

/* --- text --- */

static bool waits_directly(const HloInstruction *instruction, const HloInstruction *before) {
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  if (hlo_instruction_uses(instruction, before)) return true;
  for (int64_t i = 0; control && i < control->value.instructions.count; i++) {
    if (control->value.instructions.data[i] == before) return true;
  }
  return false;
}

typedef bool (*InstructionTest)(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b);

static bool waits_for(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b) {
  (void)order;
  return waits_directly(a, b);
}

static bool at_once(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b) {
  return !execution_order_is_given(a) && !execution_order_is_given(b) &&
         execution_order_constraint(order, a, b) == EXECUTION_UNORDERED;
}

/* Those of the computation of |instruction| that |test| picks, in order of its sequence. */
static void text_picked(StringBuilder *out, const ExecutionOrder *order, const HloInstruction *instruction,
                        const char *title, InstructionTest test) {
  const HloSequence *sequence = &order->flow->sequences[instruction->parent->id];
  bool any = false;
  for (int64_t i = 0; i < sequence->count; i++) {
    const HloInstruction *other = sequence->instructions[i];
    if (!test(order, instruction, other)) continue;
    sb_printf(out, "%s%.*s", any ? ", " : title, SV_ARG(other->name));
    any = true;
  }
}

static void text_partial(StringBuilder *out, const ExecutionOrder *order) {
  const CallGraph *graph = order->flow->graph;
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &order->flow->sequences[graph->sequential[c]->id];
    sb_printf(out, "computation %.*s\n", SV_ARG(graph->sequential[c]->name));
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *instruction = sequence->instructions[i];
      sb_append(out, instruction->name);
      if (order->streams[instruction->id] >= 0) sb_printf(out, " on stream %d", order->streams[instruction->id]);
      text_picked(out, order, instruction, " after ", waits_for);
      text_picked(out, order, instruction, "; at once with ", at_once);
      sb_append_char(out, '\n');
    }
  }
}

static void text_sequential(StringBuilder *out, const HloOrdering *ordering) {
  for (int64_t t = 0; t < ordering->length; t++) {
    sb_printf(out, "%lld %.*s in %.*s\n", (long long)t, SV_ARG(ordering->schedule[t]->name),
              SV_ARG(ordering->schedule[t]->parent->name));
  }
}

static void ordering_text(StringBuilder *out, const HloModule *module, const ReportOrders *orders) {
  sb_printf(out, "ordering of module %.*s%s\n", SV_ARG(module->name),
            module->is_scheduled ? "" : ", which is not scheduled");
  for (int i = 0; i < orders->count; i++) {
    const ExecutionOrder *order = orders->orders[i];
    sb_printf(out, "\n%s order", report_order_name(order));
    if (order->kind == EXECUTION_CONCURRENT) sb_printf(out, ", %lld streams", (long long)order->stream_count);
    sb_append_cstring(out, ":\n");
    if (order->kind == EXECUTION_SEQUENTIAL) {
      text_sequential(out, order->ordering);
    } else {
      text_partial(out, order);
    }
  }
}

/* --- JSON --- */

static void json_picked(JsonWriter *json, const ExecutionOrder *order, const HloInstruction *instruction,
                        const char *key, InstructionTest test) {
  const HloSequence *sequence = &order->flow->sequences[instruction->parent->id];
  json_key(json, key);
  json_begin_array(json);
  for (int64_t i = 0; i < sequence->count; i++) {
    if (test(order, instruction, sequence->instructions[i])) json_string(json, sequence->instructions[i]->name);
  }
  json_end_array(json);
}

static void json_instruction(JsonWriter *json, const ExecutionOrder *order, const HloInstruction *instruction) {
  json_begin_object(json);
  json_field_string(json, "instruction", instruction->name);
  json_field_string(json, "computation", instruction->parent->name);
  if (order->kind == EXECUTION_SEQUENTIAL) {
    json_field_int(json, "position", order->ordering->times[instruction->id]);
  } else {
    if (order->kind == EXECUTION_CONCURRENT) json_field_int(json, "stream", order->streams[instruction->id]);
    json_picked(json, order, instruction, "after", waits_for);
    json_picked(json, order, instruction, "at_once_with", at_once);
  }
  json_end_object(json);
}

static void json_order(JsonWriter *json, const ExecutionOrder *order) {
  const CallGraph *graph = order->flow->graph;
  json_begin_object(json);
  json_field_string(json, "order", sv_from_cstring(report_order_name(order)));
  json_field_int(json, "streams", order->stream_count);
  json_key(json, "instructions");
  json_begin_array(json);
  for (int64_t t = 0; order->kind == EXECUTION_SEQUENTIAL && t < order->ordering->length; t++)
    json_instruction(json, order, order->ordering->schedule[t]);
  for (int32_t c = 0; order->kind != EXECUTION_SEQUENTIAL && c < graph->sequential_count; c++) {
    const HloSequence *sequence = &order->flow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) json_instruction(json, order, sequence->instructions[i]);
  }
  json_end_array(json);
  json_end_object(json);
}

static void ordering_json(StringBuilder *out, const HloModule *module, const ReportOrders *orders) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", module->name);
  json_field_bool(&json, "is_scheduled", module->is_scheduled);
  json_key(&json, "orders");
  json_begin_array(&json);
  for (int i = 0; i < orders->count; i++) json_order(&json, orders->orders[i]);
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

Status report_ordering(StringBuilder *out, const BufferAnalysis *analysis, int64_t streams, ReportFormat format,
                       DiagSink *diag) {
  Arena *scratch = arena_create();
  ReportOrders orders;
  Status status = report_orders(scratch, analysis, streams, diag, &orders);
  if (status == STATUS_OK && format == REPORT_JSON) ordering_json(out, analysis->graph->module, &orders);
  if (status == STATUS_OK && format != REPORT_JSON) ordering_text(out, analysis->graph->module, &orders);
  arena_destroy(scratch);
  return status;
}
