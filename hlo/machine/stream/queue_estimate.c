#include <math.h>

#include "hlo/machine/description/machine_cost.h"
#include "hlo/machine/stream/queue_simulation.h"

/* How long a command stream takes without simulating it: sums by queue and the bound that follows from them. */

double queue_command_cycles(const MachineDescription *machine, const StreamCommand *command) {
  if (command->queue == BARRIER_QUEUE) return 0;
  const MachineQueue *queue = &machine->queues[command->queue];
  if (queue->kind == QUEUE_EXEC) return (double)queue->setup + command->work.cycles;
  return machine_transfer_cycles(queue, command->work.bytes, command->rows, command->descriptors);
}

QueueWork queue_work_of_stream(Arena *arena, const CommandStream *stream, const MachineDescription *machine) {
  double *cycles = ARENA_NEW_ARRAY(arena, double, machine->queue_count);
  int64_t *moved = ARENA_NEW_ARRAY(arena, int64_t, machine->queue_count);
  QueueWork work = {.cycles = cycles, .moved = moved};
  for (int64_t i = 0; i < stream->commands.count; i++) {
    const StreamCommand *command = &stream->commands.data[i];
    if (command->queue == BARRIER_QUEUE) continue;
    cycles[command->queue] += queue_command_cycles(machine, command);
    if (machine->queues[command->queue].kind == QUEUE_EXEC) continue;
    work.bytes += command->work.bytes;
    moved[command->queue] += command->work.bytes;
  }
  return work;
}

double queue_pair_cycles(const MachineDescription *machine, int32_t a, double bytes_a, int32_t b, double bytes_b) {
  double cap = machine->memory_bytes_per_cycle > 0 ? machine->memory_bytes_per_cycle : INFINITY;
  double alone_a = fmin(machine->queues[a].bytes_per_cycle, cap);
  double alone_b = fmin(machine->queues[b].bytes_per_cycle, cap);
  double shared_a = fmin(alone_a, fmax(cap / 2, cap - alone_b)), shared_b = fmin(alone_b, fmax(cap / 2, cap - alone_a));
  double both = fmin(bytes_a / shared_a, bytes_b / shared_b);
  return both + (bytes_a - both * shared_a) / alone_a + (bytes_b - both * shared_b) / alone_b;
}

/* Of memory alone: all bytes at its full rate, and every two queues at what it gives them. */
static double memory_bound(const MachineDescription *machine, const QueueWork *work) {
  if (machine->memory_bytes_per_cycle <= 0) return 0;
  double longest = (double)work->bytes / machine->memory_bytes_per_cycle;
  for (int32_t a = 0; work->moved != NULL && a < machine->queue_count; a++) {
    for (int32_t b = a + 1; b < machine->queue_count; b++) {
      if (work->moved[a] == 0 || work->moved[b] == 0) continue;
      longest = fmax(longest, queue_pair_cycles(machine, a, (double)work->moved[a], b, (double)work->moved[b]));
    }
  }
  return longest;
}

QueueLimit queue_bound(const MachineDescription *machine, const QueueWork *work) {
  QueueLimit limit = {LIMIT_QUEUE, 0, machine->queue_count > 0 ? work->cycles[0] : 0};
  for (int32_t i = 1; i < machine->queue_count; i++) {
    if (work->cycles[i] > limit.cycles) limit = (QueueLimit){LIMIT_QUEUE, i, work->cycles[i]};
  }
  double memory = memory_bound(machine, work);
  if (memory > limit.cycles) limit = (QueueLimit){LIMIT_MEMORY, -1, memory};
  return limit;
}

void queue_uses_write_json(JsonWriter *json, const MachineDescription *machine, const QueueUse *uses) {
  json_key(json, "queues");
  json_begin_array(json);
  for (int32_t q = 0; q < machine->queue_count && uses != NULL; q++) {
    json_begin_object(json);
    json_field_string(json, "name", machine->queues[q].name);
    json_field_int(json, "commands", uses[q].commands);
    json_field_int(json, "bytes", uses[q].bytes);
    json_field_double(json, "busy_cycles", uses[q].busy);
    json_field_double(json, "waiting_cycles", uses[q].stall);
    json_end_object(json);
  }
  json_end_array(json);
}

double use_percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 100;
}

const char *queue_limit_text(Arena *arena, const MachineDescription *machine, const QueueLimit *limit) {
  switch (limit->kind) {
    case LIMIT_QUEUE: return arena_printf(arena, "queue %.*s", SV_ARG(machine->queues[limit->number].name));
    case LIMIT_MEMORY: return "memory";
    case LIMIT_ORDER: return "order of work";
  }
  XLAC_BUG("limit %d", (int)limit->kind);
}
