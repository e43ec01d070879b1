/* Orders of a computation's instructions that keep the peak of live bytes low. */
#ifndef XLAC_PASSES_SCHEDULE_MEMORY_SCHEDULER_H
#define XLAC_PASSES_SCHEDULE_MEMORY_SCHEDULER_H

#include "passes/schedule/schedule_model.h"

typedef struct Schedule {
  int64_t peak;         /* by schedule_model_peak */
  const int32_t *order; /* all nodes, predecessors first */
} Schedule;

/* The candidates that are near linear: greedily what frees most (XLA's ListScheduler), the operand with the most after
 * it first (XLA's DFSMemoryScheduler), post-order. */
typedef enum ScheduleHeuristic {
  SCHEDULE_LIST,
  SCHEDULE_DEPTH_FIRST,
  SCHEDULE_POST_ORDER,
  SCHEDULE_HEURISTIC_COUNT
} ScheduleHeuristic;

/* In the model's arena. */
Schedule schedule_by_heuristic(const ScheduleModel *model, ScheduleHeuristic heuristic);

/* An order of the least peak of all, if that is less than |below| and found within a bound of steps, twice as many for
 * each of |effort| (0 … 9): NULL otherwise, and for graphs of more than some hundred nodes.  Best first over sets of
 * nodes (schedule_search.c). */
const int32_t *schedule_search(const ScheduleModel *model, int64_t below, int effort);

/* The candidate with the least peak; of equals the first of: the heuristics in their order, |given| (NULL when there is
 * none worth trying; the first of all with |prefer_given|), and what the search finds. */
Schedule schedule_for_memory(const ScheduleModel *model, const int32_t *given, bool prefer_given, int effort);

#endif
