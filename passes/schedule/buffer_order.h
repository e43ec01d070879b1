/* Orders that move less between memory and an on-core Buffer. */
#ifndef XLAC_PASSES_SCHEDULE_BUFFER_ORDER_H
#define XLAC_PASSES_SCHEDULE_BUFFER_ORDER_H

#include "passes/schedule/schedule_model.h"

/* Bytes that cross while the nodes of |order| run one after the other beside a Buffer that keeps up to |capacity| bytes
 * of arrays, and gives up first what is used again latest.  Arrays that are small, and what has to cross under any
 * order, do not count. */
int64_t schedule_crossing_bytes(const ScheduleModel *model, int64_t capacity, const int32_t *order);

/* Moves nodes in |order| (all nodes, predecessors first) next to others that touch the same arrays, as long as fewer
 * bytes cross and no peak rises: neither that of all that is live nor that without what the root returns, which has
 * places of its own.  Bounded: what is left after a number of steps stays where it is. */
void schedule_for_buffer(const ScheduleModel *model, int64_t capacity, int32_t *order);

#endif
