/* HloOrdering: one line of time for a whole module.
 *
 * The sequences of all sequential computations, laid out one after the other: called computations stand before the
 * instruction that calls them, a while's condition before its body, a conditional's branches by number (XLA's
 * FlattenSchedule). */
#ifndef XLAC_HLO_ANALYSIS_HLO_ORDERING_H
#define XLAC_HLO_ANALYSIS_HLO_ORDERING_H

#include "hlo/analysis/hlo_dataflow.h"

typedef struct HloOrdering {
  const CallGraph *graph;
  int64_t length;
  HloInstruction *const *schedule;
  const int32_t *times; /* by instruction id: its place in |schedule|; -1 outside */
  const int32_t
      *span_starts; /* by computation id: the first and last place of its instructions and of what they call */
  const int32_t *span_ends;
} HloOrdering;

/* |sequences|, by computation id, laid out for |graph|, in |arena|. */
const HloOrdering *hlo_ordering_build(Arena *arena, const CallGraph *graph, const HloSequence *sequences);

/* A sequence per computation of an unscheduled module in which updates in place (in-place pairs, loop-state results,
 * donated results, whiles over their initial values) stand after other readers of what they overwrite, as far as
 * dependencies allow, copies last; otherwise in post order. */
const HloSequence *hlo_ordering_prefer_in_place(Arena *arena, const HloDataflow *dataflow);

#endif
