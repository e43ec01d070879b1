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

/* STATUS_INVALID with a diagnostic where call_graph_build or hlo_sequences refuses.  The result lives in |arena|. */
MUST_USE Status buffer_analysis_build(Arena *arena, const HloModule *module, DiagSink *diag,
                                      BufferAnalysis *out_analysis);

/* The same for a module whose memory is to be planned: STATUS_UNSUPPORTED as well, code "layout" for values that are
 * passed on under another layout, "size" for values without one. */
MUST_USE Status buffer_analysis_to_plan(Arena *arena, const HloModule *module, DiagSink *diag,
                                        BufferAnalysis *out_analysis);

#endif
