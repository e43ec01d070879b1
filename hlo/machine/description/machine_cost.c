#include "hlo/machine/description/machine_cost.h"

#include "base/checked_math.h"

const char *machine_cost_text(MachineCost cost) {
  static const char *const texts[] = {
#define MACHINE_COST(id, text, fallback) text,
#include "hlo/machine/description/machine_cost.def"
#undef MACHINE_COST
  };
  return texts[cost];
}

/* One more than the cost, so that what is not named has none. */
#define IS(id) (COST_##id + 1)

static const int costs_of_opcodes[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = IS(ADD),
    [HLO_ACOS] = IS(TANH),
    [HLO_ACOSH] = IS(TANH),
    [HLO_ADD] = IS(ADD),
    [HLO_AND] = IS(LOGIC),
    [HLO_ASIN] = IS(TANH),
    [HLO_ASINH] = IS(TANH),
    [HLO_ATAN2] = IS(TANH),
    [HLO_ATANH] = IS(TANH),
    [HLO_BITCAST_CONVERT] = IS(MOVE),
    [HLO_CBRT] = IS(TANH),
    [HLO_CEIL] = IS(ROUND),
    [HLO_CLAMP] = IS(SELECT),
    [HLO_COMPARE] = IS(CMP),
    [HLO_COMPLEX] = IS(MOVE),
    [HLO_CONVERT] = IS(CONVERT),
    [HLO_COPY] = IS(MOVE),
    [HLO_COSH] = IS(TANH),
    [HLO_COSINE] = IS(SIN),
    [HLO_COUNT_LEADING_ZEROS] = IS(LOGIC),
    [HLO_DIVIDE] = IS(DIV),
    [HLO_ERF] = IS(TANH),
    [HLO_EXPONENTIAL] = IS(EXP),
    [HLO_EXPONENTIAL_MINUS_ONE] = IS(EXP),
    [HLO_FLOOR] = IS(ROUND),
    [HLO_IMAG] = IS(MOVE),
    [HLO_IS_FINITE] = IS(CMP),
    [HLO_LOG] = IS(LOG),
    [HLO_LOG_PLUS_ONE] = IS(LOG),
    [HLO_LOGISTIC] = IS(TANH),
    [HLO_MAXIMUM] = IS(CMP),
    [HLO_MINIMUM] = IS(CMP),
    [HLO_MULHI] = IS(MUL),
    [HLO_MULTIPLY] = IS(MUL),
    [HLO_NEGATE] = IS(ADD),
    [HLO_NOT] = IS(LOGIC),
    [HLO_OR] = IS(LOGIC),
    [HLO_POPCNT] = IS(LOGIC),
    [HLO_POWER] = IS(POW),
    [HLO_REAL] = IS(MOVE),
    [HLO_REDUCE_PRECISION] = IS(ROUND),
    [HLO_REMAINDER] = IS(DIV),
    [HLO_ROUND_NEAREST_AFZ] = IS(ROUND),
    [HLO_ROUND_NEAREST_EVEN] = IS(ROUND),
    [HLO_RSQRT] = IS(SQRT),
    [HLO_SELECT] = IS(SELECT),
    [HLO_SHIFT_LEFT] = IS(LOGIC),
    [HLO_SHIFT_RIGHT_ARITHMETIC] = IS(LOGIC),
    [HLO_SHIFT_RIGHT_LOGICAL] = IS(LOGIC),
    [HLO_SIGN] = IS(CMP),
    [HLO_SINE] = IS(SIN),
    [HLO_SINH] = IS(TANH),
    [HLO_SQRT] = IS(SQRT),
    [HLO_STOCHASTIC_CONVERT] = IS(CONVERT),
    [HLO_SUBTRACT] = IS(ADD),
    [HLO_TAN] = IS(SIN),
    [HLO_TANH] = IS(TANH),
    [HLO_XOR] = IS(LOGIC),
};

MachineCost machine_cost_of_opcode(HloOpcode opcode) {
  return costs_of_opcodes[opcode] ? (MachineCost)(costs_of_opcodes[opcode] - 1) : COST_NONE;
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
  if (cost == COST_NONE) XLAC_BUG("'%s' is no lane-wise operation", hlo_opcode_text(opcode));
  return machine_cost_cycles(machine, cost, type, loc, diag, out_cycles);
}

int64_t machine_vector_count(const MachineDescription *machine, int64_t elements, PrimitiveType type) {
  return ceil_div(elements * type_storage_bytes(type), machine->vector_bytes);
}

double machine_transfer_cycles(const MachineQueue *queue, int64_t bytes, int64_t rows) {
  return (double)queue->setup + (double)bytes / queue->bytes_per_cycle + (double)(queue->row * (rows - 1));
}
