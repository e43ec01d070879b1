/* Work between the starts and the ends of what devices do together. */
#ifndef XLAC_PASSES_SCHEDULE_OVERLAP_H
#define XLAC_PASSES_SCHEDULE_OVERLAP_H

#include "passes/schedule/schedule_model.h"

/* Moves starts in |order| (all nodes, predecessors first) as early and their ends as late as its peak allows, which
 * does not rise.  Each is tried at the farthest place that dependencies leave, then at half the way, and so on.
 * Bounded: what is left after a number of steps stays where it is. */
void schedule_overlap(const ScheduleModel *model, int32_t *order);

#endif
