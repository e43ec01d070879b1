/* BufferAnalysis: everything that memory planning knows of a module, computed together; what plans it and what answers
 * questions about it start from the same. */
#ifndef XLAC_HLO_ANALYSIS_BUFFER_ANALYSIS_H
#define XLAC_HLO_ANALYSIS_BUFFER_ANALYSIS_H

#include "hlo/analysis/hlo_alias.h"

typedef struct BufferAnalysis {
  const CallGraph *graph;
  const HloDataflow *flow;
  const HloOrdering *ordering; /* the schedule, or an order in which most updates in place are possible */
  const HloLiveness *liveness;
  HloAlias *alias;
} BufferAnalysis;

/* STATUS_INVALID or STATUS_UNSUPPORTED with a diagnostic for modules that cannot be planned as they are (see
 * call_graph_build, hlo_sequences; code "layout" for values that are passed on under another layout, "size" for values
 * without one).  The result lives in |arena|. */
MUST_USE Status buffer_analysis_build(Arena *arena, const HloModule *module, DiagSink *diag,
                                      BufferAnalysis *out_analysis);

#endif
