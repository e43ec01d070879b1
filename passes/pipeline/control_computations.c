#include "passes/pipeline/control_computations.h"

static void mark_callees(const HloComputation *computation, IntMap *reached) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) continue;
    for (int k = 0; k < hlo_instruction_called_count(instruction); k++) {
      int_map_set(reached, (uint64_t)hlo_instruction_called(instruction, k)->id, 1);
    }
  }
}

HloComputation **control_computations(const HloModule *module, Arena *scratch, int64_t *out_count) {
  int64_t count, kept = 0, ignored;
  HloComputation **order = hlo_module_post_order(module, scratch, &count);
  IntMap reached;
  int_map_init(&reached, scratch);
  if (module->entry != NULL) int_map_set(&reached, (uint64_t)module->entry->id, 1);
  for (int64_t i = count - 1; i >= 0; i--) {
    if (int_map_find(&reached, (uint64_t)order[i]->id, &ignored)) mark_callees(order[i], &reached);
  }
  for (int64_t i = 0; i < count; i++) {
    if (int_map_find(&reached, (uint64_t)order[i]->id, &ignored)) order[kept++] = order[i];
  }
  *out_count = kept;
  return order;
}
