#include "passes/cleanup/hlo_dce.h"

#include "passes/pipeline/hlo_pass.h"

typedef struct LiveMarker {
  IntMap live; /* ids; IntMap rather than a bit per id of the module, which every small computation would pay for */
  HloInstructionArray pending;
  Arena *scratch;
} LiveMarker;

static bool is_live(const LiveMarker *marker, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&marker->live, (uint64_t)instruction->id, &ignored);
}

static void mark_live(LiveMarker *marker, HloInstruction *instruction) {
  if (is_live(marker, instruction)) return;
  int_map_set(&marker->live, (uint64_t)instruction->id, 1);
  array_push(&marker->pending, marker->scratch, instruction);
}

static void mark_needed(LiveMarker *marker, const HloInstruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) mark_live(marker, instruction->operands[i]);
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  if (control == NULL) return;
  for (int64_t i = 0; i < control->value.instructions.count; i++) mark_live(marker, control->value.instructions.data[i]);
}

int64_t hlo_dce_computation(HloComputation *computation, Arena *scratch) {
  LiveMarker marker = {.scratch = scratch};
  int_map_init(&marker.live, scratch);
  mark_live(&marker, computation->root);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->opcode == HLO_PARAMETER || hlo_instruction_has_side_effect(instruction)) mark_live(&marker, instruction);
  }
  while (marker.pending.count > 0) mark_needed(&marker, array_pop(&marker.pending));

  int64_t count, removed = 0;
  HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
  for (int64_t i = count - 1; i >= 0; i--) {
    if (is_live(&marker, order[i])) continue;
    hlo_instruction_remove_attr(order[i], HLO_ATTR_CONTROL_PREDECESSORS);
    hlo_computation_remove(computation, order[i], false);
    removed++;
  }
  return removed;
}

static Status run_dce(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t removed = 0;
  for (int64_t i = 0; i < module->computations.count; i++) {
    removed += hlo_dce_computation(module->computations.data[i], context->scratch);
  }
  removed += hlo_module_remove_unreachable(module);
  *out_changed = removed > 0;
  return STATUS_OK;
}

const HloPass hlo_dce_pass = {"dce", "remove instructions and computations that nothing needs", run_dce, true};
