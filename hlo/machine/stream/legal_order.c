/* A random walk through the order relation: of the commands whose predecessors are done, one of a random queue is next.
 * And whether an order keeps to it. */
#include "hlo/machine/stream/queue_simulation.h"

typedef struct OrderArc {
  int32_t from, to;
} OrderArc;

typedef ARRAY(int32_t) InstanceList;

typedef struct LegalOrder {
  Arena *scratch;
  const CommandStream *stream;
  const MachineDescription *machine;
  ARRAY(OrderArc) arcs;
  int32_t *first; /* by instance, one entry more: its successors in |successors| */
  int32_t *successors;
  int32_t *missing;    /* by instance: predecessors to come */
  InstanceList *ready; /* by queue; after them that of barriers */
  uint64_t *weights;   /* parallel to |ready| */
  int64_t steps_left;  /* with these weights */
  uint64_t random;
} LegalOrder;

/* SplitMix64. */
static uint64_t draw(LegalOrder *order, uint64_t below) {
  order->random += UINT64_C(0x9e3779b97f4a7c15);
  return hash_u64(order->random) % below;
}

static void add_arc(LegalOrder *order, int32_t from, int32_t to) {
  OrderArc arc = {from, to};
  array_push(&order->arcs, order->scratch, arc);
  order->missing[to]++;
}

/* |open|: by queue, the commands that the next barrier over it has to wait for; of an in-order queue the last one only.
 */
static void add_command_arcs(LegalOrder *order, int32_t instance, int32_t barrier, InstanceList *open) {
  int32_t queue = order->stream->commands.data[instance].queue;
  bool in_order = order->machine->queues[queue].complete == COMPLETE_IN_ORDER;
  InstanceRange edges = command_stream_edges(order->stream, instance);
  for (int64_t i = 0; i < edges.count; i++) {
    XLAC_CHECK(edges.data[i] < instance);
    add_arc(order, edges.data[i], instance);
  }
  if (barrier >= 0) add_arc(order, barrier, instance);
  if (in_order && open[queue].count > 0) {
    add_arc(order, open[queue].data[0], instance);
    open[queue].count = 0;
  }
  array_push(&open[queue], order->scratch, instance);
}

static void add_barrier_arcs(LegalOrder *order, int32_t instance, int32_t barrier, InstanceList *open) {
  if (barrier >= 0) add_arc(order, barrier, instance);
  for (int32_t queue = 0; queue < order->machine->queue_count; queue++) {
    if (!stream_barrier_covers(&order->stream->commands.data[instance], queue)) continue;
    for (int64_t i = 0; i < open[queue].count; i++) add_arc(order, open[queue].data[i], instance);
    open[queue].count = 0;
  }
}

static void collect_arcs(LegalOrder *order) {
  InstanceList *open = ARENA_NEW_ARRAY(order->scratch, InstanceList, order->machine->queue_count);
  int32_t barrier = -1;
  for (int32_t i = 0; i < order->stream->commands.count; i++) {
    if (order->stream->commands.data[i].queue == BARRIER_QUEUE) {
      add_barrier_arcs(order, i, barrier, open);
      barrier = i;
    } else {
      add_command_arcs(order, i, barrier, open);
    }
  }
}

static void sort_arcs(LegalOrder *order) {
  int64_t count = order->stream->commands.count;
  order->first = ARENA_NEW_ARRAY(order->scratch, int32_t, count + 2);
  order->successors = ARENA_NEW_ARRAY(order->scratch, int32_t, order->arcs.count);
  for (int64_t i = 0; i < order->arcs.count; i++) order->first[order->arcs.data[i].from + 2]++;
  for (int64_t i = 0; i < count; i++) order->first[i + 2] += order->first[i + 1];
  for (int64_t i = 0; i < order->arcs.count; i++) {
    order->successors[order->first[order->arcs.data[i].from + 1]++] = order->arcs.data[i].to;
  }
}

static void make_ready(LegalOrder *order, int32_t instance) {
  int32_t queue = order->stream->commands.data[instance].queue;
  if (queue == BARRIER_QUEUE) queue = order->machine->queue_count;
  array_push(&order->ready[queue], order->scratch, instance);
}

/* One queue may be 64 times as fast as another, for a while. */
static void draw_weights(LegalOrder *order) {
  if (order->steps_left-- > 0) return;
  for (int32_t i = 0; i <= order->machine->queue_count; i++) order->weights[i] = UINT64_C(1) << draw(order, 7);
  order->steps_left = (int64_t)draw(order, 64);
}

static int32_t take_one(LegalOrder *order) {
  draw_weights(order);
  uint64_t total = 0;
  for (int32_t i = 0; i <= order->machine->queue_count; i++) {
    if (order->ready[i].count > 0) total += order->weights[i];
  }
  XLAC_CHECK(total > 0);
  uint64_t at = draw(order, total);
  int32_t queue = 0;
  for (;; queue++) {
    if (order->ready[queue].count == 0) continue;
    if (at < order->weights[queue]) break;
    at -= order->weights[queue];
  }
  InstanceList *ready = &order->ready[queue];
  int64_t place = (int64_t)draw(order, (uint64_t)ready->count);
  int32_t instance = ready->data[place];
  ready->data[place] = array_last(ready);
  ready->count--;
  return instance;
}

const int32_t *command_stream_legal_order(Arena *arena, Arena *scratch, const CommandStream *stream,
                                          const MachineDescription *machine, uint64_t seed) {
  int64_t count = stream->commands.count;
  LegalOrder order = {.scratch = scratch, .stream = stream, .machine = machine, .random = hash_u64(seed)};
  order.missing = ARENA_NEW_ARRAY(scratch, int32_t, count);
  order.ready = ARENA_NEW_ARRAY(scratch, InstanceList, machine->queue_count + 1);
  order.weights = ARENA_NEW_ARRAY(scratch, uint64_t, machine->queue_count + 1);
  collect_arcs(&order);
  sort_arcs(&order);
  for (int32_t i = 0; i < count; i++) {
    if (order.missing[i] == 0) make_ready(&order, i);
  }
  int32_t *result = ARENA_NEW_ARRAY(arena, int32_t, count);
  for (int64_t i = 0; i < count; i++) {
    int32_t instance = result[i] = take_one(&order);
    for (int32_t k = order.first[instance]; k < order.first[instance + 1]; k++) {
      if (--order.missing[order.successors[k]] == 0) make_ready(&order, order.successors[k]);
    }
  }
  return result;
}

bool command_stream_order_is_legal(Arena *scratch, const CommandStream *stream, const MachineDescription *machine,
                                   const int32_t *order, int32_t *out_early, int32_t *out_late) {
  int64_t count = stream->commands.count;
  LegalOrder legal = {.scratch = scratch, .stream = stream, .machine = machine};
  legal.missing = ARENA_NEW_ARRAY(scratch, int32_t, count);
  int32_t *places = ARENA_NEW_ARRAY(scratch, int32_t, count);
  for (int32_t i = 0; i < count; i++) places[order[i]] = i;
  collect_arcs(&legal);
  for (int64_t i = 0; i < legal.arcs.count; i++) {
    *out_early = legal.arcs.data[i].to;
    *out_late = legal.arcs.data[i].from;
    if (places[*out_early] < places[*out_late]) return false;
  }
  return true;
}
