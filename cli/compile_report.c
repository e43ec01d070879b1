#include "cli/compile_report.h"

#include "base/json_writer.h"
#include "cli/driver.h"
#include "cli/html_text.h"
#include "cli/session_facts.h"

/* --- what is written down --- */

static void note_decision(void *context, const char *pass, const HloInstruction *producer,
                          const HloInstruction *consumer, bool taken, const char *reason) {
  CompileReport *report = context;
  array_push(&report->fusions, report->arena, ((FusionNote){pass, producer->name, consumer->name, taken, reason}));
}

void compile_report_init(CompileReport *report, Arena *arena) {
  *report = (CompileReport){.arena = arena, .observer = {report, note_decision}};
}

/* --- sections --- */

static void write_facts_text(StringBuilder *out, const Session *session) {
  SessionFacts facts = session_facts(session, session->arena);
  for (int64_t i = 0; i < facts.count; i++)
    sb_printf(out, "%14lld  %s\n", (long long)facts.data[i].value, facts.data[i].text);
}

static void write_facts_json(JsonWriter *json, const Session *session) {
  SessionFacts facts = session_facts(session, session->arena);
  json_begin_object(json);
  for (int64_t i = 0; i < facts.count; i++) json_field_int(json, facts.data[i].key, facts.data[i].value);
  json_end_object(json);
}

/* What may make numbers differ from IEEE 754's, and whether it was asked for. */
static const struct {
  OptionId option;
  const char *key, *text;
} numerics[] = {{OPTION_FAST_MATH, "fast_math", "floats rewritten as if they were real numbers"},
                {OPTION_FLUSH_DENORMALS, "flush_denormals", "subnormal numbers flushed to zero"}};

enum { NUMERICS_COUNT = sizeof(numerics) / sizeof(numerics[0]) };

static void write_numerics_text(StringBuilder *out, const Session *session) {
  for (int i = 0; i < NUMERICS_COUNT; i++)
    sb_printf(out, "%14s  %s\n", option_given(session, numerics[i].option) ? "yes" : "no", numerics[i].text);
}

static void write_numerics_json(JsonWriter *json, const Session *session) {
  json_begin_object(json);
  for (int i = 0; i < NUMERICS_COUNT; i++)
    json_field_bool(json, numerics[i].key, option_given(session, numerics[i].option));
  json_end_object(json);
}

static const HloPassStatistics *pass_rows(const Session *session, int64_t *out_count) {
  *out_count = 0;
  return session->pipeline ? hlo_pass_pipeline_statistics(session->pipeline, out_count) : NULL;
}

static void write_passes_text(StringBuilder *out, const Session *session) {
  int64_t count;
  const HloPassStatistics *rows = pass_rows(session, &count);
  for (int64_t i = 0; i < count; i++) {
    if (rows[i].changed)
      sb_printf(out, "  %s: %lld instructions, then %lld\n", rows[i].pass->name, (long long)rows[i].instructions_before,
                (long long)rows[i].instructions_after);
    else
      sb_printf(out, "  %s: no change\n", rows[i].pass->name);
  }
}

static void write_passes_json(JsonWriter *json, const Session *session) {
  int64_t count;
  const HloPassStatistics *rows = pass_rows(session, &count);
  json_begin_array(json);
  for (int64_t i = 0; i < count; i++) {
    json_begin_object(json);
    json_field_string(json, "pass", sv_from_cstring(rows[i].pass->name));
    json_field_int(json, "round", rows[i].round);
    json_field_bool(json, "changed", rows[i].changed);
    json_field_int(json, "instructions_before", rows[i].instructions_before);
    json_field_int(json, "instructions_after", rows[i].instructions_after);
    json_end_object(json);
  }
  json_end_array(json);
}

static void write_rewrites_text(StringBuilder *out, const Session *session) {
  if (!session->pipeline) return;
  const HloRewriteLog *log = hlo_pass_pipeline_rewrites(session->pipeline);
  for (int64_t i = 0; i < log->counts.count; i++) {
    const HloRewriteCount *row = &log->counts.data[i];
    sb_printf(out, "  %s: %s: %lld\n", row->pass->name, row->rule ? row->rule : "runs", (long long)row->count);
  }
}

static void write_rewrites_json(JsonWriter *json, const Session *session) {
  json_begin_array(json);
  const HloRewriteLog *log = session->pipeline ? hlo_pass_pipeline_rewrites(session->pipeline) : NULL;
  for (int64_t i = 0; log && i < log->counts.count; i++) {
    const HloRewriteCount *row = &log->counts.data[i];
    json_begin_object(json);
    json_field_string(json, "pass", sv_from_cstring(row->pass->name));
    json_field_string(json, "rule", sv_from_cstring(row->rule ? row->rule : ""));
    json_field_int(json, "count", row->count);
    json_end_object(json);
  }
  json_end_array(json);
}

static void write_fusions_text(StringBuilder *out, const Session *session) {
  for (int64_t i = 0; i < session->report.fusions.count; i++) {
    const FusionNote *note = &session->report.fusions.data[i];
    sb_printf(out, "  %s: %s %%%.*s %s %%%.*s: %s\n", note->pass, note->taken ? "fused" : "kept apart",
              SV_ARG(note->producer), note->taken ? "into" : "and", SV_ARG(note->consumer), note->reason);
  }
}

static void write_fusions_json(JsonWriter *json, const Session *session) {
  json_begin_array(json);
  for (int64_t i = 0; i < session->report.fusions.count; i++) {
    const FusionNote *note = &session->report.fusions.data[i];
    json_begin_object(json);
    json_field_string(json, "pass", sv_from_cstring(note->pass));
    json_field_string(json, "producer", note->producer);
    json_field_string(json, "consumer", note->consumer);
    json_field_bool(json, "fused", note->taken);
    json_field_string(json, "reason", sv_from_cstring(note->reason));
    json_end_object(json);
  }
  json_end_array(json);
}

/* A table that shows the rows with what is typed above it, all of them without scripts. */
static void write_fusions_html(StringBuilder *out, const Session *session) {
  sb_append_cstring(out,
                    "<p><input id=\"filter\" size=\"40\" placeholder=\"show rows with &hellip;\"></p>\n"
                    "<table id=\"edges\">\n<tr><th>pass<th><th>producer<th>consumer<th>why</tr>\n");
  for (int64_t i = 0; i < session->report.fusions.count; i++) {
    const FusionNote *note = &session->report.fusions.data[i];
    sb_printf(out, "<tr class=\"%s\"><td>%s<td>%s<td>", note->taken ? "fused" : "apart", note->pass,
              note->taken ? "fused" : "kept apart");
    html_append_text(out, note->producer);
    sb_append_cstring(out, "<td>");
    html_append_text(out, note->consumer);
    sb_append_cstring(out, "<td>");
    html_append_text(out, sv_from_cstring(note->reason));
    sb_append_cstring(out, "</tr>\n");
  }
  sb_append_cstring(out,
                    "</table>\n<script>\n"
                    "document.getElementById('filter').oninput = function () {\n"
                    "  for (const row of document.querySelectorAll('#edges tr[class]'))\n"
                    "    row.hidden = !row.textContent.includes(this.value);\n"
                    "};\n</script>\n");
}

static void write_times_text(StringBuilder *out, const Session *session) {
  for (int64_t i = 0; i < session->phases.count; i++)
    sb_printf(out, "%14.6f  %s\n", session->phases.data[i].seconds, session->phases.data[i].name);
}

static void write_times_json(JsonWriter *json, const Session *session) {
  json_begin_object(json);
  for (int64_t i = 0; i < session->phases.count; i++)
    json_field_double(json, session->phases.data[i].name, session->phases.data[i].seconds);
  json_end_object(json);
}

/* Times last: they are all that differs between two compilations of one input. */
static const struct {
  const char *name;
  void (*write_text)(StringBuilder *out, const Session *session);
  void (*write_json)(JsonWriter *json, const Session *session);
  void (*write_html)(StringBuilder *out, const Session *session); /* NULL: the text as it is */
} sections[] = {{"totals", write_facts_text, write_facts_json, NULL},
                {"numerics", write_numerics_text, write_numerics_json, NULL},
                {"passes", write_passes_text, write_passes_json, NULL},
                {"rewrites", write_rewrites_text, write_rewrites_json, NULL},
                {"fusions", write_fusions_text, write_fusions_json, write_fusions_html},
                {"seconds", write_times_text, write_times_json, NULL}};

enum { SECTION_COUNT = sizeof(sections) / sizeof(sections[0]) };

static void write_text(StringBuilder *out, const Session *session) {
  sb_printf(out, "module %.*s\n", SV_ARG(session->module->name));
  for (int i = 0; i < SECTION_COUNT; i++) {
    sb_printf(out, "\n%s\n", sections[i].name);
    sections[i].write_text(out, session);
  }
}

static void write_json(StringBuilder *out, const Session *session) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", session->module->name);
  for (int i = 0; i < SECTION_COUNT; i++) {
    json_key(&json, sections[i].name);
    sections[i].write_json(&json, session);
  }
  json_end_object(&json);
  sb_append_char(out, '\n');
}

static void write_html(StringBuilder *out, const Session *session) {
  html_begin_page(out, sv_printf(session->arena, "module %.*s", SV_ARG(session->module->name)));
  for (int i = 0; i < SECTION_COUNT; i++) {
    sb_printf(out, "<h2>%s</h2>\n", sections[i].name);
    if (sections[i].write_html != NULL) {
      sections[i].write_html(out, session);
      continue;
    }
    StringBuilder text;
    sb_init(&text, session->arena);
    sections[i].write_text(&text, session);
    sb_append_cstring(out, "<pre>\n");
    html_append_text(out, sb_view(&text));
    sb_append_cstring(out, "</pre>\n");
  }
  html_end_page(out);
}

Status compile_report_add(Session *session) {
  if (!option_given(session, OPTION_REPORT) || session->module == NULL) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  static void (*const writers[])(StringBuilder *out, const Session *session) = {write_text, write_json, write_html};
  writers[option_integer(session, OPTION_REPORT, 0)](&text, session);
  return driver_add_output(session, option_text(session, OPTION_REPORT_FILE, "-"), sb_view(&text));
}
