#include "compiler/compilation_page.h"

#include "base/hash_map.h"
#include "base/page/html_text.h"
#include "base/page/page.h"
#include "codegen/oncore/emit/oncore_picture.h"
#include "compiler/compilation_facts.h"
#include "compiler/kernel_facts.h"

/* What happened in a compilation as tables of a page. */

/* --- memory --- */

/* The steps with the names that fused instructions had before, which are those of the other tables, where they are
 * known. */
static const MemoryChartStep *steps_with_members(const Compilation *compilation, const MemoryChart *chart) {
  Arena *arena = compilation->arena;
  const FusedInstructions fused = compilation_fused(compilation);
  StringMap members_of = fused_instructions_by_fusion(&fused, arena);
  MemoryChartStep *steps = ARENA_NEW_ARRAY(arena, MemoryChartStep, chart->length);
  for (int64_t i = 0; i < chart->length; i++) {
    const FusedMembers *members = string_map_get(&members_of, chart->steps[i].name);
    steps[i] = chart->steps[i];
    if (members == NULL) continue;
    StringView *names = ARENA_NEW_ARRAY(arena, StringView, members->count);
    for (int64_t m = 0; m < members->count; m++) names[m] = members->data[m].name;
    steps[i].inside = names;
    steps[i].inside_count = (int32_t)members->count;
  }
  return steps;
}

void compilation_page_memory(StringBuilder *out, const Compilation *compilation) {
  MemoryChart chart = report_memory_chart(compilation->arena, compilation->module, compilation->assignment);
  chart.steps = steps_with_members(compilation, &chart);
  page_add_memory(out, &chart);
}

/* --- the vector processor --- */

void compilation_page_processor(StringBuilder *out, const Compilation *compilation) {
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  JsonWriter json;
  json_init(&json, &text, false);
  module_plans_picture(&json, compilation->draft.plans, compilation->module);
  page_add_processor(out, sb_view(&text));
  arena_destroy(scratch);
}

/* --- tables --- */

void compilation_page_totals(StringBuilder *out, const Compilation *compilation) {
  CompilationFacts facts = compilation_facts(compilation, compilation->arena);
  html_begin_table(out, (const char *const[]){"", "", NULL});
  for (int64_t i = 0; i < facts.count; i++) {
    html_begin_row(out, NULL);
    html_number_cell(out, facts.data[i].value);
    html_cell(out, sv_from_cstring(facts.data[i].text));
    html_end_row(out);
  }
  html_end_table(out);
}

void compilation_page_reduction(StringBuilder *out, const Compilation *compilation) {
  const MemoryReduction *reduction = hlo_pass_pipeline_reduction(compilation->pipeline);
  html_begin_table(out, (const char *const[]){"step", "what", "bytes less", "flops more", "seconds more", NULL});
  for (int64_t i = 0; i < reduction->steps.count; i++) {
    const MemoryStep *step = &reduction->steps.data[i];
    html_begin_row(out, NULL);
    html_cell(out, sv_from_cstring(memory_step_kind_text(step->kind)));
    html_cell(out, step->what);
    html_number_cell(out, step->bytes);
    html_number_cell(out, (int64_t)step->flops);
    html_styled_cell(out, "number", sv_printf(compilation->arena, "%.6f", step->seconds));
    html_end_row(out);
  }
  html_end_table(out);
}

void compilation_page_passes(StringBuilder *out, const Compilation *compilation) {
  if (compilation->pipeline == NULL) return;
  int64_t count;
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(compilation->pipeline, &count);
  html_begin_table(out, (const char *const[]){"pass", "", "instructions before", "after", NULL});
  for (int64_t i = 0; i < count; i++) {
    html_begin_row(out, NULL);
    html_cell(out, sv_from_cstring(rows[i].pass->name));
    html_cell(out, rows[i].changed ? SV("changed the module") : SV("no change"));
    html_number_cell(out, rows[i].instructions_before);
    html_number_cell(out, rows[i].instructions_after);
    html_end_row(out);
  }
  html_end_table(out);
}

void compilation_page_rewrites(StringBuilder *out, const Compilation *compilation) {
  if (compilation->pipeline == NULL) return;
  const HloRewriteLog *log = hlo_pass_pipeline_rewrites(compilation->pipeline);
  html_begin_table(out, (const char *const[]){"pass", "rule", "times", NULL});
  for (int64_t i = 0; i < log->counts.count; i++) {
    const HloRewriteCount *row = &log->counts.data[i];
    html_begin_row(out, NULL);
    html_cell(out, sv_from_cstring(row->pass->name));
    html_cell(out, sv_from_cstring(row->rule != NULL ? row->rule : "runs"));
    html_number_cell(out, row->count);
    html_end_row(out);
  }
  html_end_table(out);
}

void compilation_page_fusions(StringBuilder *out, const Compilation *compilation) {
  html_begin_table(out, (const char *const[]){"pass", "", "producer", "consumer", "why", NULL});
  for (int64_t i = 0; i < compilation->decisions.count; i++) {
    const CompilationDecision *decision = &compilation->decisions.data[i];
    html_begin_row(out, decision->taken ? "fused" : "apart");
    html_cell(out, sv_from_cstring(decision->pass));
    html_styled_cell(out, "verdict", decision->taken ? SV("fused") : SV("kept apart"));
    html_name_cell(out, decision->producer);
    html_name_cell(out, decision->consumer);
    html_cell(out, sv_from_cstring(decision->reason));
    html_end_row(out);
  }
  html_end_table(out);
}

void compilation_page_kernels(StringBuilder *out, const Compilation *compilation) {
  KernelFacts facts = kernel_facts(compilation, compilation->arena);
  html_begin_table(out, (const char *const[]){"instruction", "opcode", "kernel", "loops", "stages", "bytes read",
                                              "bytes written", "scratch", NULL});
  for (int64_t i = 0; i < facts.count; i++) {
    const KernelFact *fact = &facts.data[i];
    html_begin_row(out, NULL);
    html_name_cell(out, fact->instruction->name);
    html_cell(out, sv_from_cstring(hlo_opcode_text(fact->instruction->opcode)));
    html_number_cell(out, fact->identity);
    html_cell(out, fact->loops);
    html_number_cell(out, fact->stages);
    html_number_cell(out, fact->bytes_read);
    html_number_cell(out, fact->bytes_written);
    html_number_cell(out, fact->scratch_bytes);
    html_end_row(out);
  }
  html_end_table(out);
}

void compilation_page_seconds(StringBuilder *out, const Compilation *compilation) {
  html_begin_table(out, (const char *const[]){"seconds", "phase", NULL});
  for (int64_t i = 0; i < compilation->phases.list.count; i++) {
    html_begin_row(out, NULL);
    html_styled_cell(out, "number", sv_printf(compilation->arena, "%.6f", compilation->phases.list.data[i].seconds));
    html_cell(out, sv_from_cstring(compilation->phases.list.data[i].name));
    html_end_row(out);
  }
  html_end_table(out);
}
