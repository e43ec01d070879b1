/* Why a value is alive at a position of the schedule: text or JSON. */
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"

typedef struct WhyLive {
  const BufferAnalysis *analysis;
  Arena *scratch;
  AskedValue asked;
  int64_t time; /* a position of the schedule */
  bool alive;
  LiveNeeds needs; /* all of them; those that reach |time| are the answer */
} WhyLive;

static int64_t schedule_length(const WhyLive *why) {
  return why->analysis->ordering->length;
}

static BufferPosition definition(const WhyLive *why) {
  return why->analysis->flow->values[why->asked.value].definition;
}

static bool range_holds(const WhyLive *why, LiveRange range) {
  int64_t length = schedule_length(why);
  return hlo_liveness_first_position(range, length) <= why->time &&
         why->time <= hlo_liveness_last_position(range, length);
}

static bool is_alive(const WhyLive *why, int32_t value) {
  const HloLiveness *liveness = why->analysis->liveness;
  for (int32_t i = liveness->first_ranges[value]; i < liveness->first_ranges[value + 1]; i++) {
    if (range_holds(why, liveness->ranges[i])) return true;
  }
  return false;
}

/* The need is at the asked position or later. */
static bool reaches(const WhyLive *why, const LiveNeed *need) {
  LiveRange moment = {need->time, need->time};
  return hlo_liveness_last_position(moment, schedule_length(why)) >= why->time;
}

/* Another value that must be in the same place and is alive then; -1 for none. */
static int32_t alive_in_its_place(const WhyLive *why) {
  HloAlias *alias = why->analysis->alias;
  for (int32_t i = 0; i < why->analysis->flow->value_count; i++) {
    if (i == why->asked.value || !is_alive(why, i)) continue;
    if (hlo_alias_set(alias, i) == hlo_alias_set(alias, why->asked.value)) return i;
  }
  return -1;
}

/* --- words --- */

static const char *position_text(const WhyLive *why, BufferPosition position) {
  StringBuilder text;
  sb_init(&text, why->scratch);
  report_position(&text, position);
  return text.data;
}

static const char *name_text(const WhyLive *why, const HloInstruction *instruction) {
  return arena_printf(why->scratch, "'%.*s'", SV_ARG(instruction->name));
}

static const char *user_place(const WhyLive *why, const HloInstruction *user) {
  return arena_printf(why->scratch, "'%.*s' in computation %.*s, position %d,", SV_ARG(user->name),
                      SV_ARG(user->parent->name), why->analysis->ordering->times[user->id]);
}

/* What the user sees it as, where that is another position than its definition's. */
static const char *seen_as(const WhyLive *why, const LiveNeed *need) {
  BufferPosition seen = {need->user->operands[need->operand], need->node}, made = definition(why);
  if (seen.instruction == made.instruction && seen.node == made.node) return "";
  return arena_printf(why->scratch, " as %s", position_text(why, seen));
}

static const char *returned_text(const WhyLive *why, const LiveNeed *need) {
  const HloComputation *computation = need->user->parent;
  const HloInstruction *site = call_graph_caller(why->analysis->graph, computation);
  const char *at = position_text(why, (BufferPosition){need->user, need->node});
  if (!site) return arena_printf(why->scratch, "it is a result of the module, at %s", at);
  return arena_printf(why->scratch, "computation %.*s returns it to %s, at %s", SV_ARG(computation->name),
                      name_text(why, site), at);
}

static const char *need_text(const WhyLive *why, const LiveNeed *need) {
  switch (need->kind) {
    case LIVE_NEED_USE:
      return arena_printf(why->scratch, "%s reads it%s", user_place(why, need->user), seen_as(why, need));
    case LIVE_NEED_ENTERS:
      return arena_printf(why->scratch, "%s takes it over%s when it begins", user_place(why, need->user),
                          seen_as(why, need));
    case LIVE_NEED_RETURNED: return returned_text(why, need);
    case LIVE_NEED_CONDITION:
      return arena_printf(why->scratch, "loop %s hands it from its condition on to its body, or out",
                          name_text(why, need->user));
    case LIVE_NEED_ASYNC:
      return arena_printf(why->scratch, "it is made asynchronously, and %s is where that ends",
                          user_place(why, need->user));
  }
  return "";
}

static const char *loop_text(const WhyLive *why, const LiveNeed *need) {
  if (!need->loop) return "";
  return arena_printf(why->scratch, "; loop %s, position %d, comes back to that, so it lasts until the loop ends",
                      name_text(why, need->loop), why->analysis->ordering->times[need->loop->id]);
}

/* --- forms --- */

static void answer_text(StringBuilder *out, const WhyLive *why) {
  const HloLiveness *liveness = why->analysis->liveness;
  BufferPosition made = definition(why), asked = why->asked.position;
  report_asked_name(out, &why->asked);
  sb_printf(out, "%s is %s at position %lld, '%.*s'\n", position_text(why, asked), why->alive ? "alive" : "not alive",
            (long long)why->time, SV_ARG(why->analysis->ordering->schedule[why->time]->name));
  if (!why->analysis->graph->module->is_scheduled)
    sb_append_cstring(out, "the module is not scheduled: positions are those of one order that dependencies allow\n");
  if (made.instruction != asked.instruction || made.node != asked.node)
    sb_printf(out, "it is %s, passed on\n", position_text(why, made));
  for (int32_t i = liveness->first_ranges[why->asked.value]; i < liveness->first_ranges[why->asked.value + 1]; i++) {
    sb_printf(out, "alive from %lld to %lld\n",
              (long long)hlo_liveness_first_position(liveness->ranges[i], schedule_length(why)),
              (long long)hlo_liveness_last_position(liveness->ranges[i], schedule_length(why)));
  }
  for (int32_t i = 0; i < why->needs.count; i++) {
    const LiveNeed *need = &why->needs.needs[i];
    if (why->alive && !reaches(why, need)) continue;
    sb_printf(out, "%s %s%s\n", why->alive ? "because" : "needed:", need_text(why, need), loop_text(why, need));
  }
  if (why->needs.count == 0) sb_append_cstring(out, "nothing reads it: it is there while it is made\n");
  int32_t other = why->alive ? -1 : alive_in_its_place(why);
  if (other >= 0) {
    sb_printf(out, "its place is taken then, by %s, which must be in the same one\n",
              position_text(why, why->analysis->flow->values[other].definition));
  }
}

static void json_need(JsonWriter *json, const WhyLive *why, const LiveNeed *need) {
  json_begin_object(json);
  json_field_string(json, "by", need->user->name);
  json_field_int(json, "position", why->analysis->ordering->times[need->user->id]);
  json_field_string(json, "loop", need->loop ? need->loop->name : SV(""));
  json_field_int(json, "until", hlo_liveness_last_position((LiveRange){need->time, need->time}, schedule_length(why)));
  json_field_bool(json, "reaches_position", reaches(why, need));
  json_field_string(json, "reason", sv_printf(why->scratch, "%s%s", need_text(why, need), loop_text(why, need)));
  json_end_object(json);
}

static void answer_json(StringBuilder *out, const WhyLive *why) {
  JsonWriter json;
  const HloLiveness *liveness = why->analysis->liveness;
  json_init(&json, out, true);
  json_begin_object(&json);
  report_json_asked(&json, &why->asked);
  json_field_int(&json, "position", why->time);
  json_field_bool(&json, "alive", why->alive);
  json_key(&json, "defined_at");
  json_begin_object(&json);
  report_json_position(&json, definition(why));
  json_end_object(&json);
  json_key(&json, "live");
  json_begin_array(&json);
  for (int32_t i = liveness->first_ranges[why->asked.value]; i < liveness->first_ranges[why->asked.value + 1]; i++) {
    json_begin_array(&json);
    json_int(&json, hlo_liveness_first_position(liveness->ranges[i], schedule_length(why)));
    json_int(&json, hlo_liveness_last_position(liveness->ranges[i], schedule_length(why)));
    json_end_array(&json);
  }
  json_end_array(&json);
  json_key(&json, "needs");
  json_begin_array(&json);
  for (int32_t i = 0; i < why->needs.count; i++) json_need(&json, why, &why->needs.needs[i]);
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

/* After the last '@'; 0: there is none. */
static size_t find_position(StringView question) {
  size_t at = question.size;
  while (at > 0 && question.data[at - 1] != '@') at--;
  return at;
}

Status report_check_why_live(StringView question, DiagSink *diag) {
  if (find_position(question) > 0) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'%.*s' is not NAME@POSITION, such as 'add.1@12'",
                    SV_ARG(question));
}

Status report_why_live(StringBuilder *out, const ReportSubject *subject, StringView question, ReportFormat format,
                       DiagSink *diag) {
  size_t at = find_position(question);
  XLAC_CHECK(at > 0);
  Arena *scratch = arena_create();
  const BufferAnalysis *analysis = subject->analysis;
  WhyLive why = {.analysis = analysis, .scratch = scratch};
  Status status = report_find_value(subject, sv_sub(question, 0, at - 1), diag, &why.asked);
  if (status == STATUS_OK)
    status = report_find_time(subject, sv_sub(question, at, question.size - at), diag, &why.time);
  if (status == STATUS_OK) {
    why.alive = is_alive(&why, why.asked.value);
    why.needs = hlo_liveness_needs(scratch, analysis->flow, analysis->ordering, why.asked.value);
    if (format == REPORT_JSON) {
      answer_json(out, &why);
    } else {
      answer_text(out, &why);
    }
  }
  arena_destroy(scratch);
  return status;
}
