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
  HloInstruction **instructions; /* in the order in which their callees count */
  int64_t count, instruction;
  int called; /* how many of the instruction's have been seen */
} CallFrame;

typedef struct CallWalk {
  Arena *arena;
  bool *seen; /* by computation id */
  const bool
      *in_post_order; /* by computation id: its instructions are seen in post order; NULL: in the list's, always */
  HloComputationArray *order;
  ARRAY(CallFrame) stack;
} CallWalk;

/* XLA keeps a while's body before its condition; everything else as in hlo_instruction_called. */
static HloComputation *called_in_xla_order(const HloInstruction *instruction, int index, int count) {
  return hlo_instruction_called(instruction, instruction->opcode == HLO_WHILE ? count - 1 - index : index);
}

static HloComputation *next_callee(CallFrame *frame) {
  for (; frame->instruction < frame->count; frame->instruction++, frame->called = 0) {
    const HloInstruction *instruction = frame->instructions[frame->instruction];
    int count = hlo_instruction_called_count(instruction);
    if (frame->called < count) return called_in_xla_order(instruction, frame->called++, count);
  }
  return NULL;
}

static void enter_computation(CallWalk *walk, HloComputation *computation) {
  walk->seen[computation->id] = true;
  CallFrame frame = {computation, computation->instructions.data, computation->instructions.count, 0, 0};
  if (walk->in_post_order && walk->in_post_order[computation->id]) {
    frame.instructions = hlo_computation_post_order(computation, walk->arena, &frame.count);
  }
  array_push(&walk->stack, walk->arena, frame);
}

static void collect_callees(CallWalk *walk, HloComputation *computation) {
  if (walk->seen[computation->id]) return;
  enter_computation(walk, computation);
  while (walk->stack.count > 0) {
    CallFrame *frame = &array_last(&walk->stack);
    HloComputation *callee = next_callee(frame);
    if (!callee) {
      array_push(walk->order, walk->arena, frame->computation);
      walk->stack.count--;
    } else if (!walk->seen[callee->id]) {
      enter_computation(walk, callee);
    }
  }
}

void hlo_computation_collect_callees(HloComputation *computation, Arena *arena, bool *seen, HloComputationArray *list) {
  CallWalk walk = {.arena = arena, .seen = seen, .order = list};
  collect_callees(&walk, computation);
}

/* Text order decides among computations that nothing calls, the entry being one of them. */
static HloComputation **order_computations(const HloModule *module, const bool *in_post_order, Arena *arena,
                                           int64_t *out_count) {
  bool *called = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloInstructionArray *list = &module->computations.data[i]->instructions;
    for (int64_t j = 0; j < list->count; j++) {
      int count = hlo_instruction_called_count(list->data[j]);
      for (int k = 0; k < count; k++) called[hlo_instruction_called(list->data[j], k)->id] = true;
    }
  }
  HloComputationArray order = {0};
  bool *seen = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  CallWalk walk = {.arena = arena, .seen = seen, .in_post_order = in_post_order, .order = &order};
  for (int64_t i = 0; i < module->computations.count; i++) {
    HloComputation *computation = module->computations.data[i];
    if (!called[computation->id]) collect_callees(&walk, computation);
  }
  for (int64_t i = 0; i < module->computations.count; i++) { /* recursion, which the verifier reports, has no start */
    collect_callees(&walk, module->computations.data[i]);
  }
  *out_count = order.count;
  return order.data;
}

HloComputation **hlo_module_post_order(const HloModule *module, Arena *arena, int64_t *out_count) {
  return order_computations(module, NULL, arena, out_count);
}

HloComputation **hlo_module_print_order(const HloModule *module, const bool *scheduled, Arena *arena,
                                        int64_t *out_count) {
  bool *in_post_order = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  for (int32_t id = 0; id < module->next_computation_id; id++) in_post_order[id] = !scheduled[id];
  return order_computations(module, in_post_order, arena, out_count);
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
