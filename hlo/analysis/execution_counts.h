/* How often computations run, for estimates of what a run of a module costs. */
#ifndef XLAC_HLO_ANALYSIS_EXECUTION_COUNTS_H
#define XLAC_HLO_ANALYSIS_EXECUTION_COUNTS_H

#include "hlo/ir/hlo_module.h"

/* By computation id: runs of it in one run of |module|, which calls nothing in circles.  A loop's body runs as often as
 * trip_count_known says, |unknown_rounds| times where nobody knows, and its condition once more; of branches each runs;
 * a fused computation runs with its fusion.  0: those that are applied to elements, and those that the entry does not
 * reach.  Linear time; in |arena|. */
const double *hlo_execution_counts(Arena *arena, const HloModule *module, double unknown_rounds);

#endif
