/* HloLiveness: when each value's bytes must hold it, on the flattened schedule (after XLA's HloLiveRange).
 *
 * Times are in quarters of a schedule position: an instruction at position t reads and writes at 4t, what a computation takes in is there from
 * 4·start - 2, what it returns is read at 4·end + 1, initial values of loops and selectors are handed over at 4·start - 3 of what they enter, and
 * what a loop uses from outside lives until 4t - 1 of the while.  So two ranges meet at one moment only where an instruction reads the one and writes the
 * other. */
#ifndef XLAC_HLO_ANALYSIS_HLO_LIVENESS_H
#define XLAC_HLO_ANALYSIS_HLO_LIVENESS_H

#include "hlo/analysis/hlo_ordering.h"

typedef struct LiveRange {
  int64_t from, to; /* both inclusive, in quarters of a position */
} LiveRange;

/* By value number, in |arena|. */
const LiveRange *hlo_liveness_build(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering);

/* Whole positions of the schedule, inclusive: the first and last instruction during which the value is there. */
int64_t hlo_liveness_first_position(LiveRange range, int64_t length);
int64_t hlo_liveness_last_position(LiveRange range, int64_t length);

#endif
