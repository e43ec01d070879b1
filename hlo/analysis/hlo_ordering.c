#include "hlo/analysis/hlo_ordering.h"

/* --- flattening --- */

typedef struct Frame {
  const HloComputation *computation;
  int64_t next;
  int callee;
} Frame;

const HloOrdering *hlo_ordering_build(Arena *arena, const CallGraph *graph, const HloSequence *sequences) {
  const HloModule *module = graph->module;
  int64_t length = 0;
  for (int32_t c = 0; c < graph->sequential_count; c++) length += sequences[graph->sequential[c]->id].count;
  HloInstruction **schedule = ARENA_NEW_ARRAY(arena, HloInstruction *, length + 1);
  int32_t *times = ARENA_NEW_ARRAY(arena, int32_t, module->next_instruction_id + 1);
  int32_t *starts = ARENA_NEW_ARRAY(arena, int32_t, module->next_computation_id + 1);
  int32_t *ends = ARENA_NEW_ARRAY(arena, int32_t, module->next_computation_id + 1);
  for (int32_t i = 0; i <= module->next_instruction_id; i++) times[i] = -1;
  int32_t now = 0;
  ARRAY(Frame) stack = {0};
  array_push(&stack, arena, ((Frame){module->entry, 0, 0}));
  while (stack.count > 0) {
    Frame *frame = &array_last(&stack);
    const HloSequence *sequence = &sequences[frame->computation->id];
    if (frame->next == sequence->count) {
      ends[frame->computation->id] = now - 1;
      stack.count--;
      continue;
    }
    HloInstruction *instruction = sequence->instructions[frame->next];
    if (frame->callee < call_graph_callee_count(instruction)) {
      const HloComputation *callee = call_graph_callee(instruction, frame->callee++);
      starts[callee->id] = now;
      array_push(&stack, arena, ((Frame){callee, 0, 0}));
      continue;
    }
    schedule[now] = instruction;
    times[instruction->id] = now++;
    frame->next++;
    frame->callee = 0;
  }
  HloOrdering *ordering = ARENA_NEW(arena, HloOrdering);
  *ordering = (HloOrdering){graph, length, schedule, times, starts, ends};
  return ordering;
}
