#include "compiler/compilation_analysis.h"

#include "codegen/report/analysis_report.h"

Status compilation_print_analysis(const Compilation *compilation, AnalysisQuestion question, ReportFormat format,
                                  StringBuilder *out) {
  Arena *arena = arena_create();
  BufferAnalysis analysis;
  Status status = buffer_analysis_build(arena, compilation->module, compilation->diag, &analysis);
  if (status == STATUS_OK) {
    switch (question) {
      case ANALYSIS_POINTS_TO: report_points_to(out, &analysis, format); break;
    }
  }
  arena_destroy(arena);
  return status;
}
