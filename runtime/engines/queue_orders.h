/* QueueOrders: in which order the commands of each launch of a vector processor's kernels were executed, as text.
 *
 *   launch 3 rows_fusion        commands and name of the kernel, in the order of the launches
 *   1 ld1                       number in program order from 0, and its label, for readers
 *   0 ld0
 *   2 ex0
 */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_ORDERS_H
#define XLAC_RUNTIME_ENGINES_QUEUE_ORDERS_H

#include "base/array.h"
#include "base/diagnostic.h"
#include "runtime/engines/queue_trace.h"

typedef struct RecordedLaunch {
  SourceLoc loc;
  StringView kernel;
  int64_t count;
  const int32_t *order; /* each of 0 … count - 1 once */
} RecordedLaunch;

typedef struct QueueOrders {
  ARRAY(RecordedLaunch) launches;
} QueueOrders;

/* |order|: NULL for program order. */
void queue_orders_print(StringBuilder *out, const QueueTrace *trace, const int32_t *order);

/* STATUS_IO, or STATUS_INVALID with a located diagnostic (code "order-file"). */
MUST_USE Status queue_orders_read(Arena *arena, const char *path, DiagSink *diag, QueueOrders *out_orders);

#endif
