/* Flags are given out as commands are issued.  What an edge takes its flag for lasts from its producer to its consumer;
 * edges whose producers are in one order of a queue make an interval order, and giving the lowest free flag to one
 * after the other then takes the fewest. */
#include <stdlib.h>

#include "base/checked_math.h"
#include "hlo/machine/stream/hazards_internal.h"

typedef struct FlagEdge {
  int32_t pair; /* of queues */
  StreamEdge edge;
} FlagEdge;

static int compare_edges(const void *a, const void *b) {
  const FlagEdge *x = a, *y = b;
  if (x->pair != y->pair) return (x->pair > y->pair) - (x->pair < y->pair);
  if (x->edge.producer != y->edge.producer) return (x->edge.producer > y->edge.producer) * 2 - 1;
  return (x->edge.consumer > y->edge.consumer) - (x->edge.consumer < y->edge.consumer);
}

/* Whether |consumer| has taken its flag down before |producer| can put it up again. */
static bool is_free(const CommandOrder *order, int32_t consumer, int32_t producer) {
  if (consumer == producer) return true; /* it takes one down as it starts, and puts one up when it is complete */
  return consumer < producer && command_order_precedes(order, consumer, producer);
}

/* The flag that |edge| gets of those whose latest consumers are |taken|; |count| when all are up. */
static int64_t find_flag(const CommandOrder *order, const int32_t *taken, int64_t count, const StreamEdge *edge) {
  int64_t flag = 0;
  while (flag < count && !is_free(order, taken[flag], edge->producer)) flag++;
  return flag;
}

StreamEdge *stream_flags_missing(Arena *arena, Arena *scratch, const CommandOrder *order, const StreamEdge *edges,
                                 int64_t count, int64_t *out_count, int64_t *out_most) {
  int64_t ids = order->machine->sync.ids, used = 0;
  FlagEdge *sorted = ARENA_NEW_ARRAY(scratch, FlagEdge, count);
  for (int64_t i = 0; i < count; i++) {
    const StreamCommand *commands = order->stream->commands.data;
    sorted[i].pair =
        commands[edges[i].producer].queue * order->machine->queue_count + commands[edges[i].consumer].queue;
    sorted[i].edge = edges[i];
  }
  if (count > 1) qsort(sorted, (size_t)count, sizeof *sorted, compare_edges);
  ARRAY(StreamEdge) missing = {0};
  int32_t *taken = ARENA_NEW_ARRAY(scratch, int32_t, min_i64(ids, count)); /* by flag: who takes it down */
  *out_most = 0;
  for (int64_t i = 0; i < count; i++) {
    if (i == 0 || sorted[i].pair != sorted[i - 1].pair) used = 0;
    int64_t flag = find_flag(order, taken, used, &sorted[i].edge);
    if (flag == ids) {
      array_push(&missing, arena, sorted[i].edge);
      continue;
    }
    taken[flag] = sorted[i].edge.consumer;
    used = max_i64(used, flag + 1);
    *out_most = max_i64(*out_most, used);
  }
  *out_count = missing.count;
  return missing.data;
}
