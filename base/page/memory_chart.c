#include "base/page/memory_chart.h"

#include "base/json_writer.h"

/* A MemoryChart as JSON, the fields in the header's order and by its words; what comes in great numbers is arrays:
 * spans [from, to], parts [start, name], steps [name, opcode, [inside …]]. */

static void write_spans(JsonWriter *json, const MemoryChartSpan *spans, int32_t count) {
  json_key(json, "lives");
  json_begin_array(json);
  for (int32_t i = 0; i < count; i++) {
    json_begin_array(json);
    json_int(json, spans[i].from);
    json_int(json, spans[i].to);
    json_end_array(json);
  }
  json_end_array(json);
}

static void write_region(JsonWriter *json, const MemoryChartRegion *region) {
  json_begin_object(json);
  json_field_string(json, "name", sv_from_cstring(region->name));
  json_field_string(json, "note", region->note);
  json_field_int(json, "size", region->size);
  json_field_int(json, "bound", region->lower_bound);
  json_key(json, "parts");
  json_begin_array(json);
  for (int32_t i = 0; i < region->part_count; i++) {
    json_begin_array(json);
    json_int(json, region->parts[i].start);
    json_string(json, region->parts[i].name);
    json_end_array(json);
  }
  json_end_array(json);
  json_end_object(json);
}

static void write_value(JsonWriter *json, const MemoryChartValue *value) {
  json_begin_object(json);
  json_field_string(json, "name", value->name);
  json_field_string(json, "opcode", value->opcode);
  json_field_string(json, "shape", value->shape);
  json_field_string(json, "source", value->source);
  json_field_int(json, "bytes", value->bytes);
  write_spans(json, value->lives, value->life_count);
  json_key(json, "readers");
  json_begin_array(json);
  for (int32_t i = 0; i < value->reader_count; i++) json_int(json, value->readers[i]);
  json_end_array(json);
  json_end_object(json);
}

/* A buffer without values is one value to the page. */
static void write_buffer(JsonWriter *json, const MemoryChartBuffer *buffer) {
  json_begin_object(json);
  json_field_string(json, "name", buffer->name);
  json_field_string(json, "why", buffer->reason);
  json_field_string(json, "kind", sv_from_cstring(buffer->kind));
  json_field_int(json, "region", buffer->region);
  json_field_int(json, "offset", buffer->offset);
  json_field_int(json, "size", buffer->size);
  write_spans(json, buffer->lives, buffer->life_count);
  json_key(json, "values");
  json_begin_array(json);
  if (buffer->value_count == 0) {
    MemoryChartValue itself = {
        .name = buffer->name, .bytes = buffer->size, .lives = buffer->lives, .life_count = buffer->life_count};
    write_value(json, &itself);
  }
  for (int32_t i = 0; i < buffer->value_count; i++) write_value(json, &buffer->values[i]);
  json_end_array(json);
  json_end_object(json);
}

static void write_step(JsonWriter *json, const MemoryChartStep *step) {
  json_begin_array(json);
  json_string(json, step->name);
  json_string(json, step->opcode);
  json_begin_array(json);
  for (int32_t i = 0; i < step->inside_count; i++) json_string(json, step->inside[i]);
  json_end_array(json);
  json_end_array(json);
}

void memory_chart_json(StringBuilder *out, const MemoryChart *chart) {
  JsonWriter json;
  json_init(&json, out, false);
  json_begin_object(&json);
  json_field_string(&json, "unit", sv_from_cstring(chart->unit));
  json_field_int(&json, "begin", chart->begin);
  json_field_int(&json, "length", chart->length);
  json_key(&json, "regions");
  json_begin_array(&json);
  for (int32_t i = 0; i < chart->region_count; i++) write_region(&json, &chart->regions[i]);
  json_end_array(&json);
  json_key(&json, "buffers");
  json_begin_array(&json);
  for (int32_t i = 0; i < chart->buffer_count; i++) write_buffer(&json, &chart->buffers[i]);
  json_end_array(&json);
  json_key(&json, "steps");
  json_begin_array(&json);
  for (int64_t i = 0; chart->steps != NULL && i < chart->length; i++) write_step(&json, &chart->steps[i]);
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}
