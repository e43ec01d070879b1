/* What tests of values, sets and live ranges share: the analyses of a module read from text. */
#ifndef XLAC_HLO_ANALYSIS_BUFFER_ANALYSIS_TESTING_H
#define XLAC_HLO_ANALYSIS_BUFFER_ANALYSIS_TESTING_H

#include "hlo/analysis/analysis_testing.h"
#include "hlo/analysis/buffer_analysis.h"

static inline BufferAnalysis analyse(Fixture *fixture, const char *text) {
  BufferAnalysis analysis;
  HloModule *module = read_module(fixture, text);
  assert_int_equal(buffer_analysis_build(fixture->arena, module, &fixture->diag, &analysis), STATUS_OK);
  return analysis;
}

/* The value at a position, by the name of its instruction. */
static inline int32_t value_of(const BufferAnalysis *analysis, const char *name, int node) {
  return hlo_dataflow_value(analysis->flow, find_instruction(analysis->graph->module, name), node);
}

#endif
