/* Logical buffers, points-to sets, must-alias sets, what lives out: text or JSON. */
#include "base/array.h"
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"
#include "hlo/analysis/tuple_points_to.h"

typedef struct Answer {
  StringBuilder *out;
  JsonWriter json;
  Arena *scratch;
  BufferAnalysis *analysis;
  const TuplePointsTo *points_to;
  const bool *live_out; /* by buffer */
} Answer;

static const HloSequence *sequence_of(const Answer *answer, int32_t computation) {
  const CallGraph *graph = answer->analysis->graph;
  return &answer->analysis->flow->sequences[graph->sequential[computation]->id];
}

static int32_t node_count(const Answer *answer, const HloInstruction *instruction) {
  return shape_nodes(answer->analysis->flow->shapes, instruction->shape)->count;
}

/* What control flow may leave at a position; empty where there is no value. */
static HloValueList sources_at(const Answer *answer, const HloInstruction *instruction, int32_t node) {
  int32_t value = hlo_dataflow_value(answer->analysis->flow, instruction, node);
  return value < 0 ? (HloValueList){0, NULL} : hlo_dataflow_sources(answer->analysis->flow, value, answer->scratch);
}

/* --- sets that must share --- */

typedef struct MemberList {
  ARRAY(int32_t) values;
} MemberList;

/* By value that stands for its set: the set's values, ascending; empty for the others. */
static const MemberList *must_alias_sets(const Answer *answer) {
  const HloDataflow *flow = answer->analysis->flow;
  MemberList *lists = ARENA_NEW_ARRAY(answer->scratch, MemberList, flow->value_count + 1);
  for (int32_t i = 0; i < flow->value_count; i++)
    array_push(&lists[hlo_alias_set(answer->analysis->alias, i)].values, answer->scratch, i);
  return lists;
}

/* Why the bytes of |value| may not be a result's: NULL when they may. */
static const char *must_not_live_out(const Answer *answer, int32_t value) {
  HloAlias *alias = answer->analysis->alias;
  const HloAliasSet *set = &alias->sets[hlo_alias_set(alias, value)];
  if (!set->is_read_only) return NULL;
  return hlo_alias_refusal_text(alias, (AliasRefusal){ALIAS_READ_ONLY, hlo_alias_first_value(alias, set), value},
                                answer->scratch);
}

static BufferPosition value_position(const Answer *answer, int32_t value) {
  return answer->analysis->flow->values[value].definition;
}

/* --- text --- */

static void text_shape(const Answer *answer, const Shape *shape, int64_t size) {
  StringView text = shape_text(answer->scratch, shape, false);
  if (shape_is_array(shape)) {
    sb_printf(answer->out, "  %.*s, %lld bytes", SV_ARG(text), (long long)size);
    if (shape->layout.memory_space != 0)
      sb_printf(answer->out, ", memory space %lld", (long long)shape->layout.memory_space);
  } else {
    sb_append_cstring(answer->out, shape_is_tuple(shape) ? "  tuple" : "  no bytes");
  }
}

static void text_buffer(const Answer *answer, const LogicalBuffer *buffer) {
  sb_printf(answer->out, "%d Buffer(%.*s, ", buffer->id + 1, SV_ARG(buffer->definition.instruction->name));
  report_index(answer->out, buffer->definition.instruction, buffer->definition.node);
  sb_append_cstring(answer->out, ") : [ ");
  for (int32_t i = 0; i < buffer->position_count; i++) {
    if (i > 0) sb_append_cstring(answer->out, ", ");
    report_position(answer->out, buffer->positions[i]);
  }
  sb_append_cstring(answer->out, " ]");
  text_shape(answer, buffer->shape, buffer->size);
  if (answer->live_out[buffer->id]) sb_append_cstring(answer->out, ", maybe live out");
  sb_append_char(answer->out, '\n');
}

static void text_points_to_sets(const Answer *answer, const HloInstruction *instruction) {
  int32_t count = node_count(answer, instruction);
  for (int32_t node = 0; node < count; node++) {
    report_position(answer->out, (BufferPosition){instruction, node});
    sb_append_cstring(answer->out, " -> { ");
    report_position(answer->out, tuple_points_to_buffer(answer->points_to, instruction, node)->definition);
    sb_append_cstring(answer->out, " }");
    HloValueList sources = sources_at(answer, instruction, node);
    if (sources.count > 1) {
      sb_append_cstring(answer->out, ", ambiguous:");
      for (int32_t i = 0; i < sources.count; i++) {
        sb_append_cstring(answer->out, i == 0 ? " " : " or ");
        report_position(answer->out, value_position(answer, sources.values[i]));
      }
    }
    sb_append_char(answer->out, '\n');
  }
  if (!tuple_points_to_is_distinct(answer->points_to, instruction))
    sb_printf(answer->out, "%.*s is not distinct: it holds a buffer twice\n", SV_ARG(instruction->name));
}

static void text_computation(const Answer *answer, int32_t number) {
  const HloSequence *sequence = sequence_of(answer, number);
  const HloComputation *computation = answer->analysis->graph->sequential[number];
  sb_printf(answer->out, "\ncomputation %.*s\nlogical buffers:\n", SV_ARG(computation->name));
  for (int64_t i = 0; i < sequence->count; i++) {
    const HloInstruction *instruction = sequence->instructions[i];
    int32_t count = node_count(answer, instruction);
    for (int32_t node = 0; node < count; node++) {
      const LogicalBuffer *buffer = tuple_points_to_buffer(answer->points_to, instruction, node);
      if (buffer->definition.instruction == instruction && buffer->definition.node == node) text_buffer(answer, buffer);
    }
  }
  sb_append_cstring(answer->out, "points-to sets:\n");
  for (int64_t i = 0; i < sequence->count; i++) text_points_to_sets(answer, sequence->instructions[i]);
}

static void text_must_alias(const Answer *answer) {
  const HloAlias *alias = answer->analysis->alias;
  const MemberList *lists = must_alias_sets(answer);
  sb_append_cstring(answer->out, "\nmust-alias sets:\n");
  for (int32_t i = 0; i < answer->analysis->flow->value_count; i++) {
    if (lists[i].values.count < 2) continue;
    for (int64_t k = 0; k < lists[i].values.count; k++) {
      sb_append_cstring(answer->out, k == 0 ? "{ " : ", ");
      report_position(answer->out, value_position(answer, lists[i].values.data[k]));
    }
    sb_printf(answer->out, " }  %lld bytes", (long long)alias->sets[i].size);
    if (alias->sets[i].parameter >= 0) sb_printf(answer->out, ", argument %d", alias->sets[i].parameter);
    if (alias->sets[i].result >= 0) sb_printf(answer->out, ", result %d", alias->sets[i].result);
    sb_append_char(answer->out, '\n');
  }
  for (int64_t i = 0; i < alias->conflicts.count; i++) {
    const AliasConflict *conflict = &alias->conflicts.data[i];
    sb_printf(answer->out, "needs a copy at %s: %s\n",
              conflict->site ? arena_printf(answer->scratch, "'%.*s'", SV_ARG(conflict->site->name)) : "the result",
              hlo_alias_refusal_text(alias, conflict->refusal, answer->scratch));
  }
}

static void text_live_out(const Answer *answer) {
  sb_append_cstring(answer->out, "\nmaybe live out:\n");
  for (int32_t i = 0; i < answer->points_to->buffer_count; i++) {
    if (!answer->live_out[i]) continue;
    report_position(answer->out, answer->points_to->buffers[i].definition);
    sb_append_char(answer->out, '\n');
  }
  sb_append_cstring(answer->out, "\nmust not live out:\n");
  for (int32_t i = 0; i < answer->analysis->flow->value_count; i++) {
    const char *reason = must_not_live_out(answer, i);
    if (!reason) continue;
    report_position(answer->out, value_position(answer, i));
    sb_printf(answer->out, "  %s\n", reason);
  }
}

static void points_to_text(const Answer *answer) {
  sb_printf(answer->out, "points-to of module %.*s\n", SV_ARG(answer->analysis->graph->module->name));
  for (int32_t c = 0; c < answer->analysis->graph->sequential_count; c++) text_computation(answer, c);
  text_must_alias(answer);
  text_live_out(answer);
}

/* --- JSON --- */

static void json_position(Answer *answer, BufferPosition position) {
  json_begin_object(&answer->json);
  report_json_position(&answer->json, position);
  json_end_object(&answer->json);
}

static void json_buffer(Answer *answer, const LogicalBuffer *buffer) {
  JsonWriter *json = &answer->json;
  const Shape *shape = buffer->shape;
  json_begin_object(json);
  json_field_int(json, "id", buffer->id + 1);
  report_json_position(&answer->json, buffer->definition);
  json_field_string(json, "computation", buffer->definition.instruction->parent->name);
  json_field_string(json, "shape", shape_text(answer->scratch, shape, false));
  json_field_int(json, "bytes", buffer->size);
  json_field_int(json, "memory_space", shape_is_array(shape) ? shape->layout.memory_space : 0);
  json_field_bool(json, "maybe_live_out", answer->live_out[buffer->id]);
  json_key(json, "positions");
  json_begin_array(json);
  for (int32_t i = 0; i < buffer->position_count; i++) json_position(answer, buffer->positions[i]);
  json_end_array(json);
  json_end_object(json);
}

static void json_points_to_set(Answer *answer, const HloInstruction *instruction, int32_t node) {
  JsonWriter *json = &answer->json;
  HloValueList sources = sources_at(answer, instruction, node);
  json_begin_object(json);
  report_json_position(&answer->json, (BufferPosition){instruction, node});
  json_field_int(json, "buffer", tuple_points_to_buffer(answer->points_to, instruction, node)->id + 1);
  json_field_bool(json, "ambiguous", sources.count > 1);
  json_key(json, "sources");
  json_begin_array(json);
  for (int32_t i = 0; i < sources.count; i++) json_position(answer, value_position(answer, sources.values[i]));
  json_end_array(json);
  json_end_object(json);
}

static void json_points_to_sets(Answer *answer) {
  JsonWriter *json = &answer->json;
  json_key(json, "points_to");
  json_begin_array(json);
  for (int32_t c = 0; c < answer->analysis->graph->sequential_count; c++) {
    const HloSequence *sequence = sequence_of(answer, c);
    for (int64_t i = 0; i < sequence->count; i++) {
      int32_t count = node_count(answer, sequence->instructions[i]);
      for (int32_t node = 0; node < count; node++) json_points_to_set(answer, sequence->instructions[i], node);
    }
  }
  json_end_array(json);
  json_key(json, "not_distinct");
  json_begin_array(json);
  for (int32_t c = 0; c < answer->analysis->graph->sequential_count; c++) {
    const HloSequence *sequence = sequence_of(answer, c);
    for (int64_t i = 0; i < sequence->count; i++) {
      if (!tuple_points_to_is_distinct(answer->points_to, sequence->instructions[i]))
        json_string(json, sequence->instructions[i]->name);
    }
  }
  json_end_array(json);
}

static void json_must_alias(Answer *answer) {
  JsonWriter *json = &answer->json;
  const HloAlias *alias = answer->analysis->alias;
  const MemberList *lists = must_alias_sets(answer);
  json_key(json, "must_alias_sets");
  json_begin_array(json);
  for (int32_t i = 0; i < answer->analysis->flow->value_count; i++) {
    if (lists[i].values.count < 2) continue;
    json_begin_object(json);
    json_field_int(json, "bytes", alias->sets[i].size);
    json_field_int(json, "argument", alias->sets[i].parameter);
    json_field_int(json, "result", alias->sets[i].result);
    json_key(json, "values");
    json_begin_array(json);
    for (int64_t k = 0; k < lists[i].values.count; k++)
      json_position(answer, value_position(answer, lists[i].values.data[k]));
    json_end_array(json);
    json_end_object(json);
  }
  json_end_array(json);
  json_key(json, "needs_copy");
  json_begin_array(json);
  for (int64_t i = 0; i < alias->conflicts.count; i++) {
    const AliasConflict *conflict = &alias->conflicts.data[i];
    json_begin_object(json);
    json_field_string(json, "at", conflict->site ? conflict->site->name : SV(""));
    json_field_string(json, "reason",
                      sv_from_cstring(hlo_alias_refusal_text(alias, conflict->refusal, answer->scratch)));
    json_end_object(json);
  }
  json_end_array(json);
}

static void json_must_not_live_out(Answer *answer) {
  JsonWriter *json = &answer->json;
  json_key(json, "must_not_live_out");
  json_begin_array(json);
  for (int32_t i = 0; i < answer->analysis->flow->value_count; i++) {
    const char *reason = must_not_live_out(answer, i);
    if (!reason) continue;
    json_begin_object(json);
    report_json_position(&answer->json, value_position(answer, i));
    json_field_string(json, "reason", sv_from_cstring(reason));
    json_end_object(json);
  }
  json_end_array(json);
}

static void points_to_json(Answer *answer) {
  JsonWriter *json = &answer->json;
  json_init(json, answer->out, true);
  json_begin_object(json);
  json_field_string(json, "module", answer->analysis->graph->module->name);
  json_key(json, "buffers");
  json_begin_array(json);
  for (int32_t i = 0; i < answer->points_to->buffer_count; i++) json_buffer(answer, &answer->points_to->buffers[i]);
  json_end_array(json);
  json_points_to_sets(answer);
  json_must_alias(answer);
  json_must_not_live_out(answer);
  json_end_object(json);
  sb_append_char(answer->out, '\n');
}

void report_points_to(StringBuilder *out, BufferAnalysis *analysis, ReportFormat format) {
  Arena *scratch = arena_create();
  const TuplePointsTo *points_to = tuple_points_to_build(scratch, analysis->flow);
  Answer answer = {.out = out,
                   .scratch = scratch,
                   .analysis = analysis,
                   .points_to = points_to,
                   .live_out = tuple_points_to_maybe_live_out(points_to, scratch)};
  if (format == REPORT_JSON) {
    points_to_json(&answer);
  } else {
    points_to_text(&answer);
  }
  arena_destroy(scratch);
}
