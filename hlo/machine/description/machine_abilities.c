#include "hlo/machine/description/machine_abilities.h"

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
