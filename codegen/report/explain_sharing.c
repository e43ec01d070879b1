/* Why two values share bytes, or do not: text or JSON. */
#include <string.h>

#include "base/array.h"
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"
#include "hlo/analysis/buffer_liveness.h"
#include "hlo/analysis/sharing.h"

typedef ARRAY(int32_t) MemberList;

typedef struct Side {
  AskedValue asked;
  BufferSlice slice;  /* with an assignment */
  MemberList members; /* the values in its place: of its buffer, or, before there are any, of its set */
} Side;

typedef struct Sharing {
  StringBuilder *out;
  Arena *scratch;
  BufferAnalysis *analysis;
  const BufferAssignment *assignment; /* NULL: memory is not planned */
  Side sides[2];
  const char *verdict;
  ARRAY(const char *) reasons; /* "rule: …" */
} Sharing;

static const char *name_of(const Sharing *sharing, int32_t value) {
  return hlo_alias_value_name(sharing->analysis->alias, value, sharing->scratch);
}

static const char *side_name(const Sharing *sharing, int number) {
  StringBuilder text;
  sb_init(&text, sharing->scratch);
  report_position(&text, sharing->sides[number].asked.position);
  return text.data;
}

static void add_reason(Sharing *sharing, const char *reason) {
  array_push(&sharing->reasons, sharing->scratch, reason);
}

/* --- places --- */

static const HloValue *planned_value(const Sharing *sharing, int32_t value) {
  const BufferPosition *at = &sharing->analysis->flow->values[value].definition;
  return buffer_assignment_value(sharing->assignment, at->instruction, at->node);
}

static bool in_one_place(const Sharing *sharing, int32_t a, int32_t b) {
  if (sharing->assignment) return planned_value(sharing, a)->buffer == planned_value(sharing, b)->buffer;
  return hlo_alias_set(sharing->analysis->alias, a) == hlo_alias_set(sharing->analysis->alias, b);
}

/* Its own value comes first, so that refusals name that rather than another. */
static void find_side(Sharing *sharing, Side *side) {
  array_push(&side->members, sharing->scratch, side->asked.value);
  for (int32_t i = 0; i < sharing->analysis->flow->value_count; i++) {
    if (i != side->asked.value && in_one_place(sharing, i, side->asked.value))
      array_push(&side->members, sharing->scratch, i);
  }
  if (!sharing->assignment) return;
  const BufferPosition *at = &sharing->analysis->flow->values[side->asked.value].definition;
  side->slice = buffer_assignment_slice(sharing->assignment, at->instruction, at->node);
}

static const char *place_text(const Sharing *sharing, const Side *side) {
  const BufferAllocation *allocation = side->slice.allocation;
  if (!allocation || side->slice.size == 0) return "no bytes";
  int64_t from = side->slice.offset + (allocation->kind == ALLOCATION_TEMP ? allocation->workspace_offset : 0);
  const char *number = "";
  if (allocation->kind == ALLOCATION_PARAMETER)
    number = arena_printf(sharing->scratch, " %lld", (long long)allocation->parameter);
  if (allocation->kind == ALLOCATION_RESULT)
    number = arena_printf(sharing->scratch, " %lld", (long long)allocation->result);
  if (allocation->kind == ALLOCATION_PREPARED)
    number = arena_printf(sharing->scratch, " %lld", (long long)allocation->prepared);
  return arena_printf(sharing->scratch, "%s%s [%lld, %lld)", report_allocation_kind(allocation), number,
                      (long long)from, (long long)(from + side->slice.size));
}

static bool slices_overlap(const BufferSlice *a, const BufferSlice *b) {
  return a->allocation && a->allocation == b->allocation && a->offset < b->offset + b->size &&
         b->offset < a->offset + a->size;
}

/* --- reasons --- */

static const char *lifetime_text(const Sharing *sharing, int32_t value) {
  int64_t length = sharing->analysis->ordering->length;
  LiveRange hull = sharing->analysis->liveness->hulls[value];
  return arena_printf(sharing->scratch, "%s is there from %lld to %lld", name_of(sharing, value),
                      (long long)hlo_liveness_first_position(hull, length),
                      (long long)hlo_liveness_last_position(hull, length));
}

static void tell_path(Sharing *sharing) {
  const Side *a = &sharing->sides[0], *b = &sharing->sides[1];
  HloAlias *alias = sharing->analysis->alias;
  bool *members = NULL;
  if (sharing->assignment) {
    members = ARENA_NEW_ARRAY(sharing->scratch, bool, sharing->analysis->flow->value_count + 1);
    for (int64_t i = 0; i < a->members.count; i++) members[a->members.data[i]] = true;
  }
  SharingPath path = sharing_path(alias, a->asked.value, b->asked.value, members, sharing->scratch);
  for (int32_t i = 0; i < path.count; i++)
    add_reason(sharing, sharing_step_text(alias, &path.steps[i], sharing->scratch));
  if (path.count == 0)
    add_reason(sharing, arena_printf(sharing->scratch, "result: %s and %s are the caller's, in the same memory",
                                     name_of(sharing, a->asked.value), name_of(sharing, b->asked.value)));
}

/* Whose value |value| is, when it is another than was asked for. */
static const char *bound_text(const Sharing *sharing, int32_t value) {
  for (int i = 0; i < 2; i++) {
    if (sharing->sides[i].asked.value == value) return "";
  }
  for (int i = 0; i < 2; i++) {
    const Side *side = &sharing->sides[i];
    for (int64_t k = 0; k < side->members.count; k++) {
      if (side->members.data[k] == value)
        return arena_printf(sharing->scratch, "; %s is in the place of %s", name_of(sharing, value),
                            name_of(sharing, side->asked.value));
    }
  }
  return "";
}

static AliasRefusal find_refusal(const Sharing *sharing) {
  const Side *a = &sharing->sides[0], *b = &sharing->sides[1];
  return sharing_refusal(sharing->analysis->alias, a->members.data, (int32_t)a->members.count, b->members.data,
                         (int32_t)b->members.count);
}

static void tell_refusal(Sharing *sharing, AliasRefusal refusal) {
  add_reason(sharing, arena_printf(sharing->scratch, "%s: %s%s%s", sharing_refusal_rule(refusal),
                                   hlo_alias_refusal_text(sharing->analysis->alias, refusal, sharing->scratch),
                                   bound_text(sharing, refusal.a), bound_text(sharing, refusal.b)));
}

static void tell_lifetimes(Sharing *sharing) {
  add_reason(sharing,
             arena_printf(sharing->scratch, "lifetimes: %s, %s", lifetime_text(sharing, sharing->sides[0].asked.value),
                          lifetime_text(sharing, sharing->sides[1].asked.value)));
}

/* --- verdicts --- */

static void judge_planned(Sharing *sharing) {
  const Side *a = &sharing->sides[0], *b = &sharing->sides[1];
  const char *places = arena_printf(sharing->scratch, "%s and %s", place_text(sharing, a), place_text(sharing, b));
  if (slices_overlap(&a->slice, &b->slice)) {
    sharing->verdict = arena_printf(sharing->scratch, "share bytes: %s", places);
    if (in_one_place(sharing, a->asked.value, b->asked.value)) {
      tell_path(sharing);
    } else {
      tell_lifetimes(sharing);
    }
    return;
  }
  sharing->verdict = arena_printf(sharing->scratch, "do not share bytes: %s", places);
  AliasRefusal refusal = find_refusal(sharing);
  if (refusal.kind != ALIAS_GRANTED) {
    tell_refusal(sharing, refusal);
  } else {
    add_reason(sharing, "placement: nothing stands against it; the planner found each a place of its own");
  }
}

static void judge_unplanned(Sharing *sharing) {
  AliasRefusal refusal = find_refusal(sharing);
  if (in_one_place(sharing, sharing->sides[0].asked.value, sharing->sides[1].asked.value)) {
    sharing->verdict = "must share bytes";
    tell_path(sharing);
  } else if (refusal.kind == ALIAS_GRANTED) {
    sharing->verdict = "may share bytes";
    tell_lifetimes(sharing);
  } else {
    sharing->verdict = "cannot share bytes";
    tell_refusal(sharing, refusal);
  }
}

/* Of a module without a schedule the order is still open. */
static Status tell_order(Sharing *sharing, DiagSink *diag) {
  const BufferAnalysis *analysis = sharing->analysis;
  ReportOrders orders;
  if (analysis->graph->module->is_scheduled) return STATUS_OK;
  RETURN_IF_ERROR(report_orders(sharing->scratch, analysis, 0, diag, &orders));
  const TuplePointsTo *points_to = tuple_points_to_build(sharing->scratch, analysis->flow);
  BufferLiveness liveness = buffer_liveness_build(sharing->scratch, points_to, orders.orders[0]);
  const LogicalBuffer *buffers[2];
  for (int i = 0; i < 2; i++) {
    const BufferPosition *at = &analysis->flow->values[sharing->sides[i].asked.value].definition;
    buffers[i] = tuple_points_to_buffer(points_to, at->instruction, at->node);
  }
  add_reason(sharing, buffer_liveness_may_interfere(&liveness, buffers[0], buffers[1])
                          ? "order: the module is not scheduled; by dependencies alone the two may be needed at once"
                          : "order: the module is not scheduled; in no order are the two needed at once");
  return STATUS_OK;
}

static Status judge(Sharing *sharing, DiagSink *diag) {
  if (sharing->sides[0].asked.value == sharing->sides[1].asked.value) {
    sharing->verdict = "are one value, in one place";
    add_reason(sharing, arena_printf(sharing->scratch, "forwarding: both are %s, which is passed on",
                                     name_of(sharing, sharing->sides[0].asked.value)));
    return STATUS_OK;
  }
  for (int i = 0; i < 2; i++) find_side(sharing, &sharing->sides[i]);
  if (sharing->assignment) {
    judge_planned(sharing);
    return STATUS_OK;
  }
  judge_unplanned(sharing);
  return tell_order(sharing, diag);
}

/* --- forms --- */

static void answer_text(const Sharing *sharing) {
  for (int i = 0; i < 2; i++) report_asked_name(sharing->out, &sharing->sides[i].asked);
  sb_printf(sharing->out, "%s and %s %s\n", side_name(sharing, 0), side_name(sharing, 1), sharing->verdict);
  for (int64_t i = 0; i < sharing->reasons.count; i++)
    sb_printf(sharing->out, "because of %s\n", sharing->reasons.data[i]);
}

static void reason_json(JsonWriter *json, const char *reason) {
  const char *says = strstr(reason, ": ");
  XLAC_CHECK(says != NULL);
  json_begin_object(json);
  json_field_string(json, "rule", (StringView){reason, (size_t)(says - reason)});
  json_field_string(json, "says", sv_from_cstring(says + 2));
  json_end_object(json);
}

static void answer_json(const Sharing *sharing) {
  JsonWriter json;
  json_init(&json, sharing->out, true);
  json_begin_object(&json);
  json_key(&json, "values");
  json_begin_array(&json);
  for (int i = 0; i < 2; i++) {
    json_begin_object(&json);
    report_json_asked(&json, &sharing->sides[i].asked);
    json_end_object(&json);
  }
  json_end_array(&json);
  json_field_bool(&json, "planned", sharing->assignment != NULL);
  json_field_string(&json, "verdict", sv_from_cstring(sharing->verdict));
  json_key(&json, "reasons");
  json_begin_array(&json);
  for (int64_t i = 0; i < sharing->reasons.count; i++) reason_json(&json, sharing->reasons.data[i]);
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(sharing->out, '\n');
}

/* The comma between the names: not one of an index in braces. */
static size_t find_comma(StringView question) {
  int depth = 0;
  for (size_t i = 0; i < question.size; i++) {
    depth += (question.data[i] == '{') - (question.data[i] == '}');
    if (question.data[i] == ',' && depth == 0) return i;
  }
  return question.size;
}

Status report_check_explain_sharing(StringView question, DiagSink *diag) {
  if (find_comma(question) < question.size) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'%.*s' is not two names, such as 'add.1,dot.2'",
                    SV_ARG(question));
}

Status report_explain_sharing(StringBuilder *out, const ReportSubject *subject, StringView question,
                              ReportFormat format, DiagSink *diag) {
  size_t comma = find_comma(question);
  XLAC_CHECK(comma < question.size);
  StringView names[2] = {sv_sub(question, 0, comma), sv_sub(question, comma + 1, question.size - comma - 1)};
  Arena *scratch = arena_create();
  Sharing sharing = {.out = out, .scratch = scratch, .analysis = subject->analysis, .assignment = subject->assignment};
  Status status = STATUS_OK;
  for (int i = 0; i < 2 && status == STATUS_OK; i++)
    status = report_find_value(subject, names[i], diag, &sharing.sides[i].asked);
  if (status == STATUS_OK) status = judge(&sharing, diag);
  if (status == STATUS_OK && format == REPORT_JSON) answer_json(&sharing);
  if (status == STATUS_OK && format != REPORT_JSON) answer_text(&sharing);
  arena_destroy(scratch);
  return status;
}
