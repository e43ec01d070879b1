/* Orders of a computation's instructions that keep the peak of live bytes low. */
#ifndef XLAC_PASSES_SCHEDULE_MEMORY_SCHEDULER_H
#define XLAC_PASSES_SCHEDULE_MEMORY_SCHEDULER_H

#include "passes/schedule/schedule_model.h"

typedef struct Schedule {
  const char *heuristic; /* which candidate won */
  int64_t peak;          /* by schedule_model_peak */
  const int32_t *order;  /* all nodes, predecessors first */
} Schedule;

/* The candidate with the least peak; of equals the first of: list (greedily what frees most; XLA's ListScheduler),
 * depth first (XLA's DFSMemoryScheduler), post-order, |given| (NULL when there is none worth trying; the first of all
 * with |prefer_given|). */
Schedule schedule_for_memory(const ScheduleModel *model, const int32_t *given, bool prefer_given);

#endif
