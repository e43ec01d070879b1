#include "passes/control/call_sites.h"

static void count_calls(CallSites *sites, const HloInstruction *instruction) {
  for (int k = 0; k < hlo_instruction_called_count(instruction); k++) {
    uint64_t id = (uint64_t)hlo_instruction_called(instruction, k)->id;
    int64_t seen = 0;
    int_map_find(&sites->counts, id, &seen);
    int_map_set(&sites->counts, id, seen + 1);
  }
}

void call_sites_init(CallSites *sites, const HloModule *module, Arena *scratch) {
  int_map_init(&sites->counts, scratch);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) count_calls(sites, instructions->data[i]);
  }
}

bool call_sites_own(const CallSites *sites, const HloInstruction *instruction) {
  for (int k = 0; k < hlo_instruction_called_count(instruction); k++) {
    int64_t seen = 0;
    /* What a pass has just made is not in the table, and is its caller's alone. */
    int_map_find(&sites->counts, (uint64_t)hlo_instruction_called(instruction, k)->id, &seen);
    if (seen > 1) return false;
  }
  return true;
}

bool call_sites_exist(const HloModule *module, HloOpcode opcode) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      if (instructions->data[i]->opcode == opcode) return true;
    }
  }
  return false;
}
