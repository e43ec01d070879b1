#include "hlo/analysis/buffer_analysis.h"

Status buffer_analysis_build(Arena *arena, const HloModule *module, DiagSink *diag, BufferAnalysis *out_analysis) {
  const HloSequence *sequences;
  BufferAnalysis analysis = {0};
  RETURN_IF_ERROR(call_graph_build(arena, module, diag, &analysis.graph));
  RETURN_IF_ERROR(hlo_sequences(arena, analysis.graph, diag, &sequences));
  analysis.flow = hlo_dataflow_build(arena, analysis.graph, sequences);
  if (!module->is_scheduled) sequences = hlo_ordering_prefer_in_place(arena, analysis.flow);
  analysis.ordering = hlo_ordering_build(arena, analysis.graph, sequences);
  analysis.liveness = hlo_liveness_build(arena, analysis.flow, analysis.ordering);
  analysis.alias = hlo_alias_build(arena, analysis.flow, analysis.ordering, analysis.liveness);
  *out_analysis = analysis;
  return STATUS_OK;
}

Status buffer_analysis_to_plan(Arena *arena, const HloModule *module, DiagSink *diag, BufferAnalysis *out_analysis) {
  RETURN_IF_ERROR(buffer_analysis_build(arena, module, diag, out_analysis));
  const HloInstruction *unsized = out_analysis->flow->unsized, *relayout = out_analysis->flow->relayout;
  if (unsized) {
    return diag_error(diag, STATUS_UNSUPPORTED, unsized->loc, "size", "'%.*s' has no static size",
                      SV_ARG(unsized->name));
  }
  if (relayout) {
    return diag_error(diag, STATUS_UNSUPPORTED, relayout->loc, "layout",
                      "'%.*s' passes a value on under another layout than it has", SV_ARG(relayout->name));
  }
  return STATUS_OK;
}
