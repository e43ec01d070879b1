#include "hlo/machine/description/machine_cost.h"

#include "base/checked_math.h"

MachineCost machine_cost_of_opcode(HloOpcode opcode) {
  static const MachineCost costs[OP_COST_COUNT] = {
      [OP_COST_NONE] = COST_NONE,       [OP_COST_FREE] = COST_NONE,     [OP_COST_MOVE] = COST_MOVE,
      [OP_COST_PIECES] = COST_NONE,     [OP_COST_ADD] = COST_ADD,       [OP_COST_LOGIC] = COST_LOGIC,
      [OP_COST_COMPARE] = COST_CMP,     [OP_COST_SELECT] = COST_SELECT, [OP_COST_MULTIPLY] = COST_MUL,
      [OP_COST_CONVERT] = COST_CONVERT, [OP_COST_ROUND] = COST_ROUND,   [OP_COST_DIVIDE] = COST_DIV,
      [OP_COST_SQRT] = COST_SQRT,       [OP_COST_EXP] = COST_EXP,       [OP_COST_LOG] = COST_LOG,
      [OP_COST_SIN] = COST_SIN,         [OP_COST_TANH] = COST_TANH,     [OP_COST_ATANH] = COST_TANH,
      [OP_COST_POWER] = COST_POW,       [OP_COST_STRIDES] = COST_NONE,  [OP_COST_LOOKUP] = COST_NONE,
      [OP_COST_FOLD] = COST_NONE,
  };
  return costs[hlo_opcode_info(opcode)->cost];
}

Status machine_cost_cycles(const MachineDescription *machine, MachineCost cost, PrimitiveType type, SourceLoc loc,
                           DiagSink *diag, double *out_cycles) {
  const MachineOpCosts *costs = machine->ops[type];
  if (!costs)
    return diag_error(diag, STATUS_UNSUPPORTED, loc, "unsupported-type", "machine '%.*s' has no operations on '%s'",
                      SV_ARG(machine->name), type_text(type));
  *out_cycles = costs->cost[cost];
  return STATUS_OK;
}

Status machine_op_cycles(const MachineDescription *machine, HloOpcode opcode, PrimitiveType type, SourceLoc loc,
                         DiagSink *diag, double *out_cycles) {
  MachineCost cost = machine_cost_of_opcode(opcode);
  if (cost == COST_NONE) XLAC_BUG("'%s' is not a lane-wise operation", hlo_opcode_text(opcode));
  return machine_cost_cycles(machine, cost, type, loc, diag, out_cycles);
}

int64_t machine_vector_count(const MachineDescription *machine, int64_t elements, PrimitiveType type) {
  return ceil_div(elements * type_storage_bytes(type), machine->vector_bytes);
}

double machine_transfer_cycles(const MachineQueue *queue, int64_t bytes, int64_t rows, int64_t descriptors) {
  return (double)(queue->setup * descriptors) + (double)bytes / queue->bytes_per_cycle +
         (double)(queue->row * (rows - descriptors));
}
