/* Which logical buffers may be needed at the same time, order by order: text or JSON. */
#include "codegen/report/analysis_report.h"
#include "codegen/report/report_internal.h"
#include "hlo/analysis/buffer_liveness.h"

/* Which pairs interfere: row i has a bit for each buffer that i interferes with.  Each pair is asked for once. */
typedef struct Interference {
  int64_t words; /* of a row */
  uint64_t *bits;
} Interference;

static Interference find_interference(Arena *arena, const BufferLiveness *liveness) {
  const TuplePointsTo *points_to = liveness->points_to;
  int64_t count = points_to->buffer_count;
  Interference found = {.words = (count + 63) / 64};
  found.bits = ARENA_NEW_ARRAY(arena, uint64_t, found.words *count + 1);
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = i + 1; k < count; k++) {
      if (!buffer_liveness_may_interfere(liveness, &points_to->buffers[i], &points_to->buffers[k])) continue;
      found.bits[i * found.words + k / 64] |= (uint64_t)1 << (k % 64);
      found.bits[k * found.words + i / 64] |= (uint64_t)1 << (i % 64);
    }
  }
  return found;
}

static void text_order(StringBuilder *out, Arena *arena, const BufferLiveness *liveness) {
  const TuplePointsTo *points_to = liveness->points_to;
  Interference found = find_interference(arena, liveness);
  sb_printf(out, "\n%s order", report_order_name(liveness->order));
  if (liveness->order->stream_count > 0) sb_printf(out, ", %lld streams", (long long)liveness->order->stream_count);
  sb_append_cstring(out, ":\n");
  for (int32_t i = 0; i < points_to->buffer_count; i++) {
    const uint64_t *row = found.bits + i * found.words;
    bool any = false;
    report_position(out, points_to->buffers[i].definition);
    if (liveness->maybe_live_out[i]) sb_append_cstring(out, ", maybe live out,");
    for (int64_t word = 0; word < found.words; word++) {
      for (uint64_t bits = row[word]; bits != 0; bits &= bits - 1) {
        sb_append_cstring(out, any ? ", " : " interferes with ");
        report_position(out, points_to->buffers[word * 64 + __builtin_ctzll(bits)].definition);
        any = true;
      }
    }
    sb_append_cstring(out, any ? "\n" : " interferes with nothing\n");
  }
}

static void json_order(JsonWriter *json, const BufferLiveness *liveness) {
  const TuplePointsTo *points_to = liveness->points_to;
  json_begin_object(json);
  json_field_string(json, "order", sv_from_cstring(report_order_name(liveness->order)));
  json_field_int(json, "streams", liveness->order->stream_count);
  json_key(json, "pairs");
  json_begin_array(json);
  for (int32_t i = 0; i < points_to->buffer_count; i++) {
    for (int32_t k = i + 1; k < points_to->buffer_count; k++) {
      if (!buffer_liveness_may_interfere(liveness, &points_to->buffers[i], &points_to->buffers[k])) continue;
      json_begin_array(json);
      json_int(json, i + 1);
      json_int(json, k + 1);
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
    json_order(&json, &liveness);
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
