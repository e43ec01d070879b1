#include "hlo/analysis/execution_counts.h"

#include "hlo/analysis/trip_count.h"

static double rounds_of(const HloInstruction *caller, double unknown_rounds) {
  int64_t trips;
  if (caller->opcode != HLO_WHILE) return 1;
  return trip_count_known(caller, &trips) ? (double)trips : unknown_rounds;
}

static void add_runs(double *counts, const HloInstruction *caller, double unknown_rounds, double times) {
  double rounds = rounds_of(caller, unknown_rounds);
  const HloComputation *condition =
      caller->opcode == HLO_WHILE ? hlo_instruction_computation(caller, HLO_ATTR_CONDITION) : NULL;
  for (int k = 0; k < hlo_instruction_called_count(caller); k++) {
    const HloComputation *called = hlo_instruction_called(caller, k);
    counts[called->id] += times * (called == condition ? rounds + 1 : rounds);
  }
}

const double *hlo_execution_counts(Arena *arena, const HloModule *module, double unknown_rounds) {
  double *counts = ARENA_NEW_ARRAY(arena, double, module->next_computation_id);
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, arena, &count);
  counts[module->entry->id] = 1;
  for (int64_t c = count - 1; c >= 0; c--) {
    double times = counts[order[c]->id];
    if (times == 0) continue;
    for (int64_t i = 0; i < order[c]->instructions.count; i++) {
      const HloInstruction *instruction = order[c]->instructions.data[i];
      bool runs_others = instruction->opcode == HLO_FUSION || hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW);
      if (runs_others) add_runs(counts, instruction, unknown_rounds, times);
    }
  }
  return counts;
}
