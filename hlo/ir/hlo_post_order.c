#include "hlo/ir/hlo_ir_internal.h"
#include "hlo/ir/hlo_module.h"

/* --- instructions --- */

typedef struct Frame {
  HloInstruction *instruction;
  int64_t control_left; /* control predecessors to see, the last first, before operands */
  int32_t next;         /* operand */
} Frame;

typedef struct InstructionWalk {
  Arena *arena;
  bool *seen; /* by slot */
  ARRAY(Frame) stack;
  HloInstruction **order;
  int64_t count;
} InstructionWalk;

static const HloAttr *control_of(const HloInstruction *instruction) {
  return hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
}

/* What |frame| has yet to see, one after the other; NULL after the last. */
static HloInstruction *next_predecessor(Frame *frame) {
  const HloInstruction *instruction = frame->instruction;
  if (frame->control_left > 0) return control_of(instruction)->value.instructions.data[--frame->control_left];
  return frame->next < instruction->operand_count ? instruction->operands[frame->next++] : NULL;
}

static void enter(InstructionWalk *walk, HloInstruction *instruction) {
  walk->seen[instruction->slot] = true;
  if (instruction->operand_count == 0 && !instruction->has_control) {
    walk->order[walk->count++] = instruction;
    return;
  }
  Frame frame = {.instruction = instruction};
  if (instruction->has_control) frame.control_left = control_of(instruction)->value.instructions.count;
  array_push(&walk->stack, walk->arena, frame);
}

static void walk_from(InstructionWalk *walk, HloInstruction *start) {
  if (walk->seen[start->slot]) return;
  enter(walk, start);
  while (walk->stack.count > 0) {
    Frame *frame = &array_last(&walk->stack);
    HloInstruction *next = next_predecessor(frame);
    if (!next) {
      walk->order[walk->count++] = frame->instruction;
      walk->stack.count--;
    } else if (!walk->seen[next->slot]) {
      enter(walk, next);
    }
  }
}

HloInstruction **hlo_computation_post_order(const HloComputation *computation, Arena *arena, int64_t *out_count) {
  const HloInstructionArray *list = &computation->instructions;
  InstructionWalk walk = {.arena = arena};
  walk.seen = ARENA_NEW_ARRAY(arena, bool, computation->slot_limit + 1);
  walk.order = ARENA_NEW_ARRAY(arena, HloInstruction *, list->count + 1);
  for (int64_t i = 0; i < list->count; i++) {
    if (list->data[i]->user_count == 0) walk_from(&walk, list->data[i]);
  }
  XLAC_CHECK(walk.count == list->count); /* fewer: a cycle */
  *out_count = walk.count;
  return walk.order;
}

/* --- computations --- */

typedef struct CallFrame {
  HloComputation *computation;
  int64_t instruction;
  int called; /* how many of the instruction's have been seen */
} CallFrame;

/* XLA keeps a while's body before its condition; everything else as in hlo_instruction_called. */
static HloComputation *called_in_xla_order(const HloInstruction *instruction, int index, int count) {
  return hlo_instruction_called(instruction, instruction->opcode == HLO_WHILE ? count - 1 - index : index);
}

static HloComputation *next_callee(CallFrame *frame) {
  const HloInstructionArray *list = &frame->computation->instructions;
  for (; frame->instruction < list->count; frame->instruction++, frame->called = 0) {
    const HloInstruction *instruction = list->data[frame->instruction];
    int count = hlo_instruction_called_count(instruction);
    if (frame->called < count) return called_in_xla_order(instruction, frame->called++, count);
  }
  return NULL;
}

void hlo_computation_collect_callees(HloComputation *computation, Arena *arena, bool *seen, HloComputationArray *list) {
  if (seen[computation->id]) return;
  ARRAY(CallFrame) stack = {0};
  seen[computation->id] = true;
  array_push(&stack, arena, ((CallFrame){computation, 0, 0}));
  while (stack.count > 0) {
    CallFrame *frame = &array_last(&stack);
    HloComputation *callee = next_callee(frame);
    if (!callee) {
      array_push(list, arena, frame->computation);
      stack.count--;
    } else if (!seen[callee->id]) {
      seen[callee->id] = true;
      array_push(&stack, arena, ((CallFrame){callee, 0, 0}));
    }
  }
}

/* Text order decides among computations that nobody calls, the entry being one of them. */
HloComputation **hlo_module_post_order(const HloModule *module, Arena *arena, int64_t *out_count) {
  bool *seen = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  bool *called = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloInstructionArray *list = &module->computations.data[i]->instructions;
    for (int64_t j = 0; j < list->count; j++) {
      int count = hlo_instruction_called_count(list->data[j]);
      for (int k = 0; k < count; k++) called[hlo_instruction_called(list->data[j], k)->id] = true;
    }
  }
  HloComputationArray order = {0};
  for (int64_t i = 0; i < module->computations.count; i++) {
    HloComputation *computation = module->computations.data[i];
    if (!called[computation->id]) hlo_computation_collect_callees(computation, arena, seen, &order);
  }
  for (int64_t i = 0; i < module->computations.count; i++) { /* recursion, which the verifier reports, has no start */
    hlo_computation_collect_callees(module->computations.data[i], arena, seen, &order);
  }
  *out_count = order.count;
  return order.data;
}

bool *hlo_module_scheduled_computations(const HloModule *module, Arena *arena) {
  bool *scheduled = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  if (!module->is_scheduled) return scheduled;
  for (int32_t id = 0; id < module->next_computation_id; id++) scheduled[id] = true;
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloInstructionArray *list = &module->computations.data[i]->instructions;
    for (int64_t j = 0; j < list->count; j++) {
      if (list->data[j]->opcode != HLO_FUSION) continue;
      const HloComputation *fused = hlo_instruction_computation(list->data[j], HLO_ATTR_CALLS);
      if (fused) scheduled[fused->id] = false;
    }
  }
  return scheduled;
}
