#include "hlo/machine/stream/command_order.h"

#include "base/checked_math.h"

/* Integers in all clocks, 512 MiB: 134 chains for 10^6 commands. */
enum { MAX_CLOCK_ENTRIES = 1 << 27 };

void command_order_init(CommandOrder *order, Arena *arena, const CommandStream *stream,
                        const MachineDescription *machine) {
  int64_t count = stream->commands.count;
  *order = (CommandOrder){.arena = arena, .stream = stream, .machine = machine};
  order->chain = ARENA_NEW_ARRAY(arena, int32_t, count);
  order->place = ARENA_NEW_ARRAY(arena, int32_t, count);
  order->first_row = ARENA_NEW_ARRAY(arena, int64_t, count + 1);
  array_reserve(&order->rows, arena, count * machine->queue_count);
}

static const StreamCommand *next_command(const CommandOrder *order) {
  return &order->stream->commands.data[order->count];
}

static void raise_clock(CommandOrder *order, const int32_t *row, int64_t size) {
  XLAC_CHECK(size <= order->clock.count);
  for (int64_t i = 0; i < size; i++) {
    if (order->clock.data[i] < row[i]) order->clock.data[i] = row[i];
  }
}

static void wait_for(CommandOrder *order, int32_t earlier) {
  int64_t first = order->first_row[earlier];
  raise_clock(order, order->rows.data + first, order->first_row[earlier + 1] - first);
}

void command_order_begin(CommandOrder *order) {
  const StreamCommand *command = next_command(order);
  for (int64_t i = 0; i < order->clock.count; i++) order->clock.data[i] = 0;
  raise_clock(order, order->floor.data, order->floor.count);
  if (command->queue == BARRIER_QUEUE) {
    for (int64_t i = 0; i < order->chains.count; i++) {
      const OrderChain *chain = &order->chains.data[i];
      if (stream_barrier_covers(command, chain->queue)) wait_for(order, chain->last);
    }
    return;
  }
  XLAC_CHECK(command->queue >= 0 && command->queue < order->machine->queue_count);
  if (order->machine->queues[command->queue].complete != COMPLETE_IN_ORDER) return;
  for (int64_t i = 0; i < order->chains.count; i++) {
    if (order->chains.data[i].queue == command->queue) wait_for(order, order->chains.data[i].last);
  }
}

bool command_order_knows(const CommandOrder *order, int32_t earlier) {
  return order->clock.data[order->chain[earlier]] >= order->place[earlier];
}

void command_order_wait(CommandOrder *order, int32_t earlier) {
  XLAC_CHECK(earlier < order->count && order->chain[earlier] >= 0);
  wait_for(order, earlier);
}

/* The chain that the next command continues: one of its queue whose last command comes before it. */
static int32_t find_or_add_chain(CommandOrder *order, int32_t queue) {
  for (int64_t i = 0; i < order->chains.count; i++) {
    const OrderChain *chain = &order->chains.data[i];
    if (chain->queue == queue && order->clock.data[i] == chain->length) return (int32_t)i;
  }
  OrderChain added = {.queue = queue};
  array_push(&order->chains, order->arena, added);
  array_push(&order->clock, order->arena, 0);
  return (int32_t)order->chains.count - 1;
}

Status command_order_end(CommandOrder *order, DiagSink *diag) {
  int32_t queue = next_command(order)->queue, number = order->count++;
  order->chain[number] = -1;
  if (queue == BARRIER_QUEUE) {
    order->floor.count = 0;
    for (int64_t i = 0; i < order->clock.count; i++) array_push(&order->floor, order->arena, order->clock.data[i]);
  } else {
    int32_t place = find_or_add_chain(order, queue);
    OrderChain *chain = &order->chains.data[place];
    chain->last = number;
    order->chain[number] = place;
    order->place[number] = order->clock.data[place] = ++chain->length;
  }
  if (order->rows.count + order->clock.count > MAX_CLOCK_ENTRIES) {
    return diag_error(diag, STATUS_EXHAUSTED, NO_LOC, "stream-order",
                      "%lld commands on unordered queues leave too little order to be checked",
                      (long long)order->stream->commands.count);
  }
  array_reserve(&order->rows, order->arena, order->rows.count + order->clock.count);
  for (int64_t i = 0; i < order->clock.count; i++) order->rows.data[order->rows.count++] = order->clock.data[i];
  order->first_row[number + 1] = order->rows.count;
  return STATUS_OK;
}
