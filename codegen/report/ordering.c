/* What waits for what, and what may run at once: text or JSON. */
#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
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

/* --- places --- */

/* Places of a sequence, in order. */
typedef struct PlaceList {
  int64_t count;
  int32_t *places; /* room for all of the longest sequence, and as many operands */
} PlaceList;

/* Of one computation: row i has a bit for each place that may run at once with i. */
typedef struct AtOnce {
  const HloSequence *sequence;
  int64_t words; /* of a row */
  uint64_t *bits;
} AtOnce;

static uint64_t bit_of(int64_t place) {
  return (uint64_t)1 << (place % 64);
}

/* Places that are there before anything runs. */
static uint64_t *given_places(Arena *arena, const HloSequence *sequence, int64_t words) {
  uint64_t *given = ARENA_NEW_ARRAY(arena, uint64_t, words + 1);
  for (int64_t i = 0; i < sequence->count; i++)
    if (execution_order_is_given(sequence->instructions[i])) given[i / 64] |= bit_of(i);
  return given;
}

/* A sequence has what an instruction waits for before it: of a pair the later one's row tells. */
static AtOnce find_at_once(Arena *arena, const ExecutionOrder *order, const HloComputation *computation) {
  AtOnce found = {.sequence = &order->flow->sequences[computation->id]};
  int64_t count = found.sequence->count;
  found.words = (count + 63) / 64;
  found.bits = ARENA_NEW_ARRAY(arena, uint64_t, found.words *count + 1);
  const uint64_t *after = order->after[computation->id], *given = given_places(arena, found.sequence, found.words);
  for (int64_t i = 0; i < count; i++) {
    if (given[i / 64] & bit_of(i)) continue;
    for (int64_t word = 0; word <= i / 64; word++) {
      uint64_t others = ~(after[i * found.words + word] | given[word]);
      if (word == i / 64) others &= bit_of(i) - 1;
      found.bits[i * found.words + word] |= others;
      for (; others != 0; others &= others - 1) {
        int64_t other = word * 64 + __builtin_ctzll(others);
        found.bits[other * found.words + i / 64] |= bit_of(i);
      }
    }
  }
  return found;
}

static void list_at_once(const AtOnce *found, int64_t place, PlaceList *list) {
  const uint64_t *row = found->bits + place * found->words;
  list->count = 0;
  for (int64_t word = 0; word < found->words; word++)
    for (uint64_t bits = row[word]; bits != 0; bits &= bits - 1)
      list->places[list->count++] = (int32_t)(word * 64 + __builtin_ctzll(bits));
}

/* What |instruction| reads and its control predecessors, each once. */
static void list_waits(const ExecutionOrder *order, const HloInstruction *instruction, PlaceList *list) {
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  int64_t count = 0;
  for (int k = 0; k < instruction->operand_count; k++)
    list->places[count++] = order->places[instruction->operands[k]->id];
  for (int64_t k = 0; control && k < control->value.instructions.count; k++)
    list->places[count++] = order->places[control->value.instructions.data[k]->id];
  if (count > 1) qsort(list->places, (size_t)count, sizeof(int32_t), array_compare_int32);
  list->count = 0;
  for (int64_t i = 0; i < count; i++)
    if (i == 0 || list->places[i] != list->places[i - 1]) list->places[list->count++] = list->places[i];
}

static PlaceList place_list(Arena *arena, const ExecutionOrder *order) {
  const CallGraph *graph = order->flow->graph;
  int64_t most = 0;
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &order->flow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloAttr *control = hlo_instruction_attr(sequence->instructions[i], HLO_ATTR_CONTROL_PREDECESSORS);
      int64_t waits = sequence->instructions[i]->operand_count + (control ? control->value.instructions.count : 0);
      most = max_i64(most, max_i64(sequence->count, waits));
    }
  }
  return (PlaceList){0, ARENA_NEW_ARRAY(arena, int32_t, most + 1)};
}

/* --- text --- */

static void text_places(StringBuilder *out, const HloSequence *sequence, const char *title, const PlaceList *list) {
  for (int64_t i = 0; i < list->count; i++) {
    sb_append_cstring(out, i > 0 ? ", " : title);
    sb_append(out, sequence->instructions[list->places[i]]->name);
  }
}

static void text_partial(StringBuilder *out, Arena *arena, const ExecutionOrder *order) {
  const CallGraph *graph = order->flow->graph;
  PlaceList list = place_list(arena, order);
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    AtOnce found = find_at_once(arena, order, graph->sequential[c]);
    sb_printf(out, "computation %.*s\n", SV_ARG(graph->sequential[c]->name));
    for (int64_t i = 0; i < found.sequence->count; i++) {
      const HloInstruction *instruction = found.sequence->instructions[i];
      sb_append(out, instruction->name);
      if (order->streams[instruction->id] >= 0) sb_printf(out, " on stream %d", order->streams[instruction->id]);
      list_waits(order, instruction, &list);
      text_places(out, found.sequence, " after ", &list);
      list_at_once(&found, i, &list);
      text_places(out, found.sequence, "; at once with ", &list);
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

static void ordering_text(StringBuilder *out, Arena *arena, const HloModule *module, const ReportOrders *orders) {
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
      text_partial(out, arena, order);
    }
  }
}

/* --- JSON --- */

static void json_places(JsonWriter *json, const HloSequence *sequence, const char *key, const PlaceList *list) {
  json_key(json, key);
  json_begin_array(json);
  for (int64_t i = 0; i < list->count; i++) json_string(json, sequence->instructions[list->places[i]]->name);
  json_end_array(json);
}

static void json_names(JsonWriter *json, const HloInstruction *instruction) {
  json_field_string(json, "instruction", instruction->name);
  json_field_string(json, "computation", instruction->parent->name);
}

static void json_sequential(JsonWriter *json, const HloOrdering *ordering) {
  for (int64_t t = 0; t < ordering->length; t++) {
    json_begin_object(json);
    json_names(json, ordering->schedule[t]);
    json_field_int(json, "position", ordering->times[ordering->schedule[t]->id]);
    json_end_object(json);
  }
}

static void json_partial(JsonWriter *json, Arena *arena, const ExecutionOrder *order) {
  const CallGraph *graph = order->flow->graph;
  PlaceList list = place_list(arena, order);
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    AtOnce found = find_at_once(arena, order, graph->sequential[c]);
    for (int64_t i = 0; i < found.sequence->count; i++) {
      const HloInstruction *instruction = found.sequence->instructions[i];
      json_begin_object(json);
      json_names(json, instruction);
      if (order->kind == EXECUTION_CONCURRENT) json_field_int(json, "stream", order->streams[instruction->id]);
      list_waits(order, instruction, &list);
      json_places(json, found.sequence, "after", &list);
      list_at_once(&found, i, &list);
      json_places(json, found.sequence, "at_once_with", &list);
      json_end_object(json);
    }
  }
}

static void json_order(JsonWriter *json, Arena *arena, const ExecutionOrder *order) {
  json_begin_object(json);
  json_field_string(json, "order", sv_from_cstring(report_order_name(order)));
  json_field_int(json, "streams", order->stream_count);
  json_key(json, "instructions");
  json_begin_array(json);
  if (order->kind == EXECUTION_SEQUENTIAL) {
    json_sequential(json, order->ordering);
  } else {
    json_partial(json, arena, order);
  }
  json_end_array(json);
  json_end_object(json);
}

static void ordering_json(StringBuilder *out, Arena *arena, const HloModule *module, const ReportOrders *orders) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", module->name);
  json_field_bool(&json, "is_scheduled", module->is_scheduled);
  json_key(&json, "orders");
  json_begin_array(&json);
  for (int i = 0; i < orders->count; i++) json_order(&json, arena, orders->orders[i]);
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

Status report_ordering(StringBuilder *out, const BufferAnalysis *analysis, int64_t streams, ReportFormat format,
                       DiagSink *diag) {
  Arena *scratch = arena_create();
  ReportOrders orders;
  Status status = report_orders(scratch, analysis, streams, diag, &orders);
  if (status == STATUS_OK && format == REPORT_JSON) ordering_json(out, scratch, analysis->graph->module, &orders);
  if (status == STATUS_OK && format != REPORT_JSON) ordering_text(out, scratch, analysis->graph->module, &orders);
  arena_destroy(scratch);
  return status;
}
