/* Which logical buffers may be needed at the same time, order by order: text or JSON. */
#include "hlo/analysis/interference.h"

#include <stdlib.h>

#include "base/array.h"
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"

/* Of one buffer: how many interfere with it, and those that the text lists. */
typedef struct Neighbours {
  int64_t count;
  int listed;
  int32_t *largest; /* ids, in no order while they are found: room for MOST_LISTED */
} Neighbours;

enum { MOST_LISTED = 32 };

/* Whether a list that has no room for both has it for |a|: the larger one, then the one that comes first. */
static bool is_listed_before(const TuplePointsTo *points_to, int32_t a, int32_t b) {
  int64_t size_a = points_to->buffers[a].size, size_b = points_to->buffers[b].size;
  return size_a != size_b ? size_a > size_b : a < b;
}

static void note_neighbour(Arena *arena, const TuplePointsTo *points_to, Neighbours *of, int32_t buffer) {
  if (of->count++ == 0) of->largest = ARENA_NEW_ARRAY(arena, int32_t, MOST_LISTED);
  if (of->listed < MOST_LISTED) {
    of->largest[of->listed++] = buffer;
    return;
  }
  int last = 0;
  for (int i = 1; i < MOST_LISTED; i++)
    if (is_listed_before(points_to, of->largest[last], of->largest[i])) last = i;
  if (is_listed_before(points_to, buffer, of->largest[last])) of->largest[last] = buffer;
}

static Neighbours *find_neighbours(Arena *arena, const BufferLiveness *liveness) {
  const TuplePointsTo *points_to = liveness->points_to;
  Neighbours *found = ARENA_NEW_ARRAY(arena, Neighbours, points_to->buffer_count + 1);
  InterferenceSweep *sweep = interference_sweep_begin(arena, liveness);
  int32_t buffer;
  const int32_t *others;
  int64_t count;
  while (interference_sweep_next(sweep, &buffer, &others, &count)) {
    for (int64_t i = 0; i < count; i++) {
      note_neighbour(arena, points_to, &found[buffer], others[i]);
      note_neighbour(arena, points_to, &found[others[i]], buffer);
    }
  }
  return found;
}

static void text_order(StringBuilder *out, Arena *arena, const BufferLiveness *liveness) {
  const TuplePointsTo *points_to = liveness->points_to;
  const Neighbours *found = find_neighbours(arena, liveness);
  sb_printf(out, "\n%s order", report_order_name(liveness->order));
  if (liveness->order->stream_count > 0) sb_printf(out, ", %lld streams", (long long)liveness->order->stream_count);
  sb_append_cstring(out, ":\n");
  for (int32_t i = 0; i < points_to->buffer_count; i++) {
    const Neighbours *of = &found[i];
    report_position(out, points_to->buffers[i].definition);
    if (liveness->maybe_live_out[i]) sb_append_cstring(out, ", maybe live out,");
    sb_append_cstring(out, of->count > 0 ? " interferes with " : " interferes with nothing");
    if (of->count > of->listed) sb_printf(out, "%lld, the largest: ", (long long)of->count);
    if (of->listed > 1) qsort(of->largest, (size_t)of->listed, sizeof(int32_t), array_compare_int32);
    for (int k = 0; k < of->listed; k++) {
      if (k > 0) sb_append_cstring(out, ", ");
      report_position(out, points_to->buffers[of->largest[k]].definition);
    }
    sb_append_char(out, '\n');
  }
}

static void json_order(JsonWriter *json, Arena *arena, const BufferLiveness *liveness) {
  json_begin_object(json);
  json_field_string(json, "order", sv_from_cstring(report_order_name(liveness->order)));
  json_field_int(json, "streams", liveness->order->stream_count);
  json_key(json, "pairs");
  json_begin_array(json);
  InterferenceSweep *sweep = interference_sweep_begin(arena, liveness);
  int32_t buffer;
  const int32_t *others;
  int64_t count;
  while (interference_sweep_next(sweep, &buffer, &others, &count)) {
    for (int64_t i = 0; i < count; i++) {
      json_begin_array(json);
      json_int(json, (others[i] < buffer ? others[i] : buffer) + 1);
      json_int(json, (others[i] < buffer ? buffer : others[i]) + 1);
      json_end_array(json);
    }
  }
  json_end_array(json);
  json_end_object(json);
}

static void json_buffers(JsonWriter *json, const TuplePointsTo *points_to, const bool *live_out) {
  json_key(json, "buffers");
  json_begin_array(json);
  for (int32_t i = 0; i < points_to->buffer_count; i++) {
    json_begin_object(json);
    json_field_int(json, "id", i + 1);
    report_json_position(json, points_to->buffers[i].definition);
    json_field_bool(json, "maybe_live_out", live_out[i]);
    json_end_object(json);
  }
  json_end_array(json);
}

static void interference_json(StringBuilder *out, Arena *scratch, const TuplePointsTo *points_to,
                              const ReportOrders *orders) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", points_to->flow->graph->module->name);
  json_buffers(&json, points_to, tuple_points_to_maybe_live_out(points_to, scratch));
  json_key(&json, "orders");
  json_begin_array(&json);
  for (int i = 0; i < orders->count; i++) {
    BufferLiveness liveness = buffer_liveness_build(scratch, points_to, orders->orders[i]);
    json_order(&json, scratch, &liveness);
  }
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

Status report_interference(StringBuilder *out, const BufferAnalysis *analysis, int64_t streams, ReportFormat format,
                           DiagSink *diag) {
  Arena *scratch = arena_create();
  const HloModule *module = analysis->graph->module;
  const TuplePointsTo *points_to = tuple_points_to_build(scratch, analysis->flow);
  ReportOrders orders;
  Status status = report_orders(scratch, analysis, streams, diag, &orders);
  if (status == STATUS_OK && format == REPORT_JSON) {
    interference_json(out, scratch, points_to, &orders);
  } else if (status == STATUS_OK) {
    sb_printf(out, "interference in module %.*s%s\n", SV_ARG(module->name),
              module->is_scheduled ? "" : ", which is not scheduled");
    for (int i = 0; i < orders.count; i++) {
      BufferLiveness liveness = buffer_liveness_build(scratch, points_to, orders.orders[i]);
      text_order(out, scratch, &liveness);
    }
  }
  arena_destroy(scratch);
  return status;
}
