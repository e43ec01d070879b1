#include "passes/cleanup/control_edges.h"

void control_edges_init(ControlEdges *edges, const HloComputation *computation, Arena *scratch) {
  int_map_init(&edges->ends, scratch);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->attr_count == 0) continue;
    const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
    if (control == NULL) continue;
    int_map_set(&edges->ends, (uint64_t)instruction->id, 1);
    for (int64_t k = 0; k < control->value.instructions.count; k++) {
      int_map_set(&edges->ends, (uint64_t)control->value.instructions.data[k]->id, 1);
    }
  }
}

bool control_edges_touch(const ControlEdges *edges, const HloInstruction *instruction) {
  int64_t ignored;
  return edges->ends.count > 0 && int_map_find(&edges->ends, (uint64_t)instruction->id, &ignored);
}

HloInstruction **control_edges_free_order(const HloComputation *computation, Arena *scratch, int64_t *out_count) {
  int64_t count, free_count = 0;
  ControlEdges edges;
  control_edges_init(&edges, computation, scratch);
  HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (!control_edges_touch(&edges, order[i])) order[free_count++] = order[i];
  }
  *out_count = free_count;
  return order;
}
