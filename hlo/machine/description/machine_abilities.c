#include "hlo/machine/description/machine_abilities.h"

#include <math.h>

#include "hlo/machine/description/machine_cost.h"

bool machine_has_buffer(const MachineDescription *machine) {
  return machine != NULL && machine->buffer.size > 0;
}

int64_t machine_line_bytes(const MachineDescription *machine) {
  return machine_has_buffer(machine) ? machine_buffer_usable(machine) : INT64_MAX;
}

int64_t machine_row_bytes(const MachineDescription *machine) {
  return machine_has_buffer(machine) ? machine_buffer_usable(machine) / 16 : 0;
}

bool machine_takes_tiles(const MachineDescription *machine) {
  return !machine_has_buffer(machine);
}

bool machine_takes_lines(const MachineDescription *machine) {
  return !machine_has_buffer(machine);
}

bool machine_takes_scatters(const MachineDescription *machine) {
  return !machine_has_buffer(machine);
}

bool machine_guards_looked_up(const MachineDescription *machine) {
  return !machine_has_buffer(machine);
}

bool machine_has_scalar_floats(const MachineDescription *machine) {
  return !machine_has_buffer(machine);
}

bool machine_has_slow_doubles(const MachineDescription *machine) {
  if (!machine_has_buffer(machine) || machine->ops[TYPE_F32] == NULL) return false;
  const MachineOpCosts *doubles = machine->ops[TYPE_F64];
  return doubles == NULL || doubles->cost[COST_MUL] > machine->ops[TYPE_F32]->cost[COST_MUL];
}

double machine_least_lane_cycles(const MachineDescription *machine, HloOpcode opcode, PrimitiveType type,
                                 double points) {
  const MachineOpCosts *costs = machine == NULL ? NULL : machine->ops[type];
  if (costs == NULL) return 0;
  double bytes = points * (double)type_storage_bytes(type);
  return costs->cost[machine_cost_of_opcode(opcode)] * bytes / (double)machine->vector_bytes;
}

double machine_least_move_cycles(const MachineDescription *machine, double read, double made) {
  double loads = 0, stores = 0, both = 0, cycles = 0; /* bytes a cycle of the queues that do this, or either */
  for (int32_t q = 0; q < machine->queue_count; q++) {
    const MachineQueue *queue = &machine->queues[q];
    loads += machine_queue_loads(queue) ? queue->bytes_per_cycle : 0;
    stores += machine_queue_stores(queue) ? queue->bytes_per_cycle : 0;
    both += queue->bytes_per_cycle;
  }
  if (loads > 0) cycles = read / loads;
  if (stores > 0) cycles = fmax(cycles, made / stores);
  if (both > 0) cycles = fmax(cycles, (read + made) / both);
  double rate = machine->memory_bytes_per_cycle;
  return rate > 0 ? fmax(cycles, (read + made) / rate) : cycles;
}
