#include "compiler/compilation_report.h"

#include "base/json_writer.h"
#include "base/page/html_text.h"
#include "base/page/page.h"
#include "compiler/collective_report.h"
#include "compiler/compilation_facts.h"
#include "compiler/compilation_page.h"
#include "compiler/kernel_facts.h"
#include "compiler/network_report.h"

/* --- sections --- */

static void write_facts_text(StringBuilder *out, const Compilation *compilation) {
  CompilationFacts facts = compilation_facts(compilation, compilation->arena);
  for (int64_t i = 0; i < facts.count; i++)
    sb_printf(out, "%14lld  %s\n", (long long)facts.data[i].value, facts.data[i].text);
}

static void write_facts_json(JsonWriter *json, const Compilation *compilation) {
  CompilationFacts facts = compilation_facts(compilation, compilation->arena);
  json_begin_object(json);
  for (int64_t i = 0; i < facts.count; i++) json_field_int(json, facts.data[i].key, facts.data[i].value);
  json_end_object(json);
}

/* What may make numbers differ from IEEE 754's, and whether it was asked for. */
typedef struct Numerics {
  const char *key, *text;
  bool is_given;
} Numerics;

enum { NUMERICS_COUNT = 3 };

static void list_numerics(const CompilationOptions *options, Numerics rows[NUMERICS_COUNT]) {
  rows[0] = (Numerics){"fast_math", "floats rewritten as if they were real numbers", options->fast_math};
  rows[1] = (Numerics){"excess_precision", "16-bit floats rounded less often", options->excess_precision};
  rows[2] = (Numerics){"flush_denormals", "subnormal numbers flushed to zero", options->flush_denormals};
}

static void write_numerics_text(StringBuilder *out, const Compilation *compilation) {
  Numerics rows[NUMERICS_COUNT];
  list_numerics(&compilation->options, rows);
  for (int i = 0; i < NUMERICS_COUNT; i++) sb_printf(out, "%14s  %s\n", rows[i].is_given ? "yes" : "no", rows[i].text);
}

static void write_numerics_json(JsonWriter *json, const Compilation *compilation) {
  Numerics rows[NUMERICS_COUNT];
  list_numerics(&compilation->options, rows);
  json_begin_object(json);
  for (int i = 0; i < NUMERICS_COUNT; i++) json_field_bool(json, rows[i].key, rows[i].is_given);
  json_end_object(json);
}

static const HloPassStatistics *pass_rows(const Compilation *compilation, int64_t *out_count) {
  *out_count = 0;
  return compilation->pipeline ? hlo_pass_pipeline_statistics(compilation->pipeline, out_count) : NULL;
}

static void write_passes_text(StringBuilder *out, const Compilation *compilation) {
  int64_t count;
  const HloPassStatistics *rows = pass_rows(compilation, &count);
  for (int64_t i = 0; i < count; i++) {
    if (rows[i].changed)
      sb_printf(out, "  %s: %lld instructions, then %lld\n", rows[i].pass->name, (long long)rows[i].instructions_before,
                (long long)rows[i].instructions_after);
    else
      sb_printf(out, "  %s: no change\n", rows[i].pass->name);
  }
}

static void write_passes_json(JsonWriter *json, const Compilation *compilation) {
  int64_t count;
  const HloPassStatistics *rows = pass_rows(compilation, &count);
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

static void write_rewrites_text(StringBuilder *out, const Compilation *compilation) {
  if (!compilation->pipeline) return;
  const HloRewriteLog *log = hlo_pass_pipeline_rewrites(compilation->pipeline);
  for (int64_t i = 0; i < log->counts.count; i++) {
    const HloRewriteCount *row = &log->counts.data[i];
    sb_printf(out, "  %s: %s: %lld\n", row->pass->name, row->rule ? row->rule : "runs", (long long)row->count);
  }
}

static void write_rewrites_json(JsonWriter *json, const Compilation *compilation) {
  json_begin_array(json);
  const HloRewriteLog *log = compilation->pipeline ? hlo_pass_pipeline_rewrites(compilation->pipeline) : NULL;
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

static void write_fusions_text(StringBuilder *out, const Compilation *compilation) {
  for (int64_t i = 0; i < compilation->decisions.count; i++) {
    const CompilationDecision *decision = &compilation->decisions.data[i];
    sb_printf(out, "  %s: %s %%%.*s %s %%%.*s: %s\n", decision->pass, decision->taken ? "fused" : "kept apart",
              SV_ARG(decision->producer), decision->taken ? "into" : "and", SV_ARG(decision->consumer),
              decision->reason);
  }
}

static void write_fusions_json(JsonWriter *json, const Compilation *compilation) {
  json_begin_array(json);
  for (int64_t i = 0; i < compilation->decisions.count; i++) {
    const CompilationDecision *decision = &compilation->decisions.data[i];
    json_begin_object(json);
    json_field_string(json, "pass", sv_from_cstring(decision->pass));
    json_field_string(json, "producer", decision->producer);
    json_field_string(json, "consumer", decision->consumer);
    json_field_bool(json, "fused", decision->taken);
    json_field_string(json, "reason", sv_from_cstring(decision->reason));
    json_end_object(json);
  }
  json_end_array(json);
}

static void write_kernels_text(StringBuilder *out, const Compilation *compilation) {
  KernelFacts facts = kernel_facts(compilation, compilation->arena);
  for (int64_t i = 0; i < facts.count; i++) {
    const KernelFact *fact = &facts.data[i];
    sb_printf(out, "  %.*s: kernel %d, loops %.*s; %lld bytes read, %lld written, %lld scratch%s\n",
              SV_ARG(fact->instruction->name), fact->identity, SV_ARG(fact->loops), (long long)fact->bytes_read,
              (long long)fact->bytes_written, (long long)fact->scratch_bytes,
              fact->by_minimal_filtering ? "; by minimal filtering" : "");
  }
}

static void write_kernels_json(JsonWriter *json, const Compilation *compilation) {
  KernelFacts facts = kernel_facts(compilation, compilation->arena);
  json_begin_array(json);
  for (int64_t i = 0; i < facts.count; i++) {
    const KernelFact *fact = &facts.data[i];
    json_begin_object(json);
    json_field_string(json, "instruction", fact->instruction->name);
    json_field_int(json, "kernel", fact->identity);
    json_field_string(json, "loops", fact->loops);
    json_field_int(json, "stages", fact->stages);
    json_field_int(json, "bytes_read", fact->bytes_read);
    json_field_int(json, "bytes_written", fact->bytes_written);
    json_field_int(json, "scratch_bytes", fact->scratch_bytes);
    json_field_bool(json, "by_minimal_filtering", fact->by_minimal_filtering);
    json_end_object(json);
  }
  json_end_array(json);
}

static const MemoryReduction *reduction_of(const Compilation *compilation) {
  return compilation->pipeline != NULL ? hlo_pass_pipeline_reduction(compilation->pipeline) : NULL;
}

static bool has_reduction(const Compilation *compilation) {
  return reduction_of(compilation) != NULL;
}

static void write_reduction_text(StringBuilder *out, const Compilation *compilation) {
  const MemoryReduction *reduction = reduction_of(compilation);
  sb_printf(out, "%14lld  bytes before\n%14lld  bytes after, %lld of them needed by any placement of this order\n",
            (long long)reduction->bytes_before, (long long)reduction->bytes_after, (long long)reduction->bound_bytes);
  sb_printf(out, "%14lld  plans tried%s\n", (long long)reduction->trials,
            reduction->is_exhausted ? ", all that the effort allows" : "");
  for (int64_t i = 0; i < reduction->steps.count; i++) {
    const MemoryStep *step = &reduction->steps.data[i];
    sb_printf(out, "  %s%s%.*s: %lld bytes, for %+.0f flops, %+.6f s\n", memory_step_kind_text(step->kind),
              step->what.size > 0 ? " " : "", SV_ARG(step->what), (long long)step->bytes, step->flops, step->seconds);
  }
}

static void write_reduction_json(JsonWriter *json, const Compilation *compilation) {
  const MemoryReduction *reduction = reduction_of(compilation);
  json_begin_object(json);
  json_field_int(json, "bytes_before", reduction->bytes_before);
  json_field_int(json, "bytes_after", reduction->bytes_after);
  json_field_int(json, "bound_bytes", reduction->bound_bytes);
  json_field_int(json, "trials", reduction->trials);
  json_field_bool(json, "exhausted", reduction->is_exhausted);
  json_key(json, "steps");
  json_begin_array(json);
  for (int64_t i = 0; i < reduction->steps.count; i++) {
    const MemoryStep *step = &reduction->steps.data[i];
    json_begin_object(json);
    json_field_string(json, "step", sv_from_cstring(memory_step_kind_text(step->kind)));
    json_field_string(json, "what", step->what);
    json_field_int(json, "bytes", step->bytes);
    json_field_double(json, "flops", step->flops);
    json_field_double(json, "seconds", step->seconds);
    json_end_object(json);
  }
  json_end_array(json);
  json_end_object(json);
}

static bool has_plans(const Compilation *compilation) {
  const ModulePlans *plans = compilation->draft.plans;
  return plans != NULL && plans->detail >= PLANS_PROVED && plans->count > 0;
}

static void write_plans_text(StringBuilder *out, const Compilation *compilation) {
  module_plans_map_text(out, compilation->draft.plans);
}

static void write_plans_json(JsonWriter *json, const Compilation *compilation) {
  module_plans_map_json(json, compilation->draft.plans);
}

static void write_times_text(StringBuilder *out, const Compilation *compilation) {
  for (int64_t i = 0; i < compilation->phases.list.count; i++)
    sb_printf(out, "%14.6f  %s\n", compilation->phases.list.data[i].seconds, compilation->phases.list.data[i].name);
}

static void write_times_json(JsonWriter *json, const Compilation *compilation) {
  json_begin_object(json);
  for (int64_t i = 0; i < compilation->phases.list.count; i++)
    json_field_double(json, compilation->phases.list.data[i].name, compilation->phases.list.data[i].seconds);
  json_end_object(json);
}

/* Times last: they are all that differs between two compilations of one input. */
static const struct {
  const char *name;
  void (*write_text)(StringBuilder *out, const Compilation *compilation);
  void (*write_json)(JsonWriter *json, const Compilation *compilation);
  void (*write_html)(StringBuilder *out, const Compilation *compilation); /* NULL: the text as it is */
  bool (*is_there)(const Compilation *compilation);                       /* NULL: always */
} sections[] = {{"processor", write_plans_text, write_plans_json, compilation_page_processor, has_plans},
                {"totals", write_facts_text, write_facts_json, compilation_page_totals, NULL},
                {"numerics", write_numerics_text, write_numerics_json, NULL, NULL},
                {"memory_steps", write_reduction_text, write_reduction_json, compilation_page_reduction, has_reduction},
                {"passes", write_passes_text, write_passes_json, compilation_page_passes, NULL},
                {"rewrites", write_rewrites_text, write_rewrites_json, compilation_page_rewrites, NULL},
                {"fusions", write_fusions_text, write_fusions_json, compilation_page_fusions, NULL},
                {"collectives", collective_report_text, collective_report_json, NULL, collective_report_is_there},
                {"network", network_report_text, network_report_json, NULL, network_report_is_there},
                {"kernels", write_kernels_text, write_kernels_json, compilation_page_kernels, NULL},
                {"seconds", write_times_text, write_times_json, compilation_page_seconds, NULL}};

enum { SECTION_COUNT = sizeof(sections) / sizeof(sections[0]) };

static bool is_there(int section, const Compilation *compilation) {
  return sections[section].is_there == NULL || sections[section].is_there(compilation);
}

static void write_text(StringBuilder *out, const Compilation *compilation) {
  sb_printf(out, "module %.*s\n", SV_ARG(compilation->module->name));
  for (int i = 0; i < SECTION_COUNT; i++) {
    if (!is_there(i, compilation)) continue;
    sb_printf(out, "\n%s\n", sections[i].name);
    sections[i].write_text(out, compilation);
  }
}

static void write_json(StringBuilder *out, const Compilation *compilation) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", compilation->module->name);
  for (int i = 0; i < SECTION_COUNT; i++) {
    if (!is_there(i, compilation)) continue;
    json_key(&json, sections[i].name);
    sections[i].write_json(&json, compilation);
  }
  json_end_object(&json);
  sb_append_char(out, '\n');
}

static void write_section_html(StringBuilder *out, int section, const Compilation *compilation) {
  page_begin_section(out, sections[section].name);
  if (sections[section].write_html != NULL) {
    sections[section].write_html(out, compilation);
  } else {
    StringBuilder text;
    sb_init(&text, compilation->arena);
    sections[section].write_text(&text, compilation);
    sb_append_cstring(out, "<pre>\n");
    html_append_text(out, sb_view(&text));
    sb_append_cstring(out, "</pre>\n");
  }
  page_end_section(out);
}

/* The picture of memory first, if memory was planned. */
static void write_html(StringBuilder *out, const Compilation *compilation) {
  const char *names[SECTION_COUNT + 2] = {NULL};
  int count = 0;
  if (compilation->assignment != NULL) names[count++] = "memory";
  for (int i = 0; i < SECTION_COUNT; i++) {
    if (is_there(i, compilation)) names[count++] = sections[i].name;
  }
  page_begin(out, sv_printf(compilation->arena, "module %.*s", SV_ARG(compilation->module->name)), names);
  if (compilation->assignment != NULL) {
    compilation_page_memory(out, compilation);
  }
  for (int i = 0; i < SECTION_COUNT; i++) {
    if (is_there(i, compilation)) write_section_html(out, i, compilation);
  }
  page_end(out);
}

void compilation_print_report(const Compilation *compilation, CompilationReportFormat format, StringBuilder *out) {
  static void (*const writers[])(StringBuilder *out, const Compilation *compilation) = {
      [COMPILATION_REPORT_TEXT] = write_text,
      [COMPILATION_REPORT_JSON] = write_json,
      [COMPILATION_REPORT_HTML] = write_html};
  writers[format](out, compilation);
}
