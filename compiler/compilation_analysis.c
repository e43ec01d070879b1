#include "compiler/compilation_analysis.h"

#include "codegen/report/analysis_report.h"
#include "passes/spmd/sharding_report.h"

Status compilation_check_question(const AnalysisQuestion *question, DiagSink *diag) {
  switch (question->kind) {
    case ANALYSIS_WHY_LIVE: return report_check_why_live(question->names, diag);
    case ANALYSIS_EXPLAIN_SHARING: return report_check_explain_sharing(question->names, diag);
    default: return STATUS_OK; /* the other questions name nothing that could be malformed */
  }
}

static Status answer(BufferAnalysis *analysis, const Compilation *compilation, const AnalysisQuestion *question,
                     StringBuilder *out) {
  DiagSink *diag = compilation->diag;
  ReportSubject subject = {analysis, compilation->assignment, compilation_fused(compilation)};
  switch (question->kind) {
    case ANALYSIS_POINTS_TO: report_points_to(out, analysis, question->format); return STATUS_OK;
    case ANALYSIS_ORDERING: return report_ordering(out, analysis, question->streams, question->format, diag);
    case ANALYSIS_INTERFERENCE: return report_interference(out, analysis, question->streams, question->format, diag);
    case ANALYSIS_LIVENESS: return report_value_liveness(out, analysis, question->format, diag);
    case ANALYSIS_WHY_LIVE: return report_why_live(out, &subject, question->names, question->format, diag);
    case ANALYSIS_EXPLAIN_SHARING:
      return report_explain_sharing(out, &subject, question->names, question->format, diag);
    case ANALYSIS_SHARDING: break; /* asks nothing of buffers */
  }
  return STATUS_OK;
}

Status compilation_answer(const Compilation *compilation, const AnalysisQuestion *question, StringBuilder *out) {
  if (question->kind == ANALYSIS_SHARDING)
    return sharding_report(compilation->module, question->format == REPORT_JSON, compilation->diag, out);
  Arena *arena = arena_create();
  BufferAnalysis analysis;
  Status status = buffer_analysis_build(arena, compilation->module, compilation->diag, &analysis);
  if (status == STATUS_OK) status = answer(&analysis, compilation, question, out);
  /* What a question names may have become part of something else. */
  if (status != STATUS_OK && compilation->pipeline != NULL &&
      compilation->options.passes == COMPILATION_PASSES_STANDARD)
    diag_note(compilation->diag, NO_LOC,
              "names are those after the passes; 'xlac opt' asks about the module as it is written");
  arena_destroy(arena);
  return status;
}
