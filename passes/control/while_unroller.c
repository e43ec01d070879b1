/* Short loops of elementwise arithmetic become their rounds one after the other: they fuse, and counters fold. */
#include "hlo/analysis/trip_count.h"
#include "passes/control/control_walk.h"
#include "passes/control/tuple_edit.h"

/* What is unrolled may grow to so many instructions, so that a fusion takes it whole. */
enum { MOST_TRIPS = 16, MOST_INSTRUCTIONS = 192 };

/* It fuses with its neighbours, whatever they are; anything else would be a kernel for each round. */
static bool fuses(const HloInstruction *instruction) {
  /* An element at a known place. */
  if (instruction->opcode == HLO_DYNAMIC_SLICE) return shape_element_count(instruction->shape) == 1;
  if (hlo_opcode_info(instruction->opcode)->cost == OP_COST_FREE) return true;
  return hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) && instruction->opcode != HLO_COPY;
}

/* Not what only says where elements are: the fusion's arithmetic is what decides whether it is made whole. */
static bool is_computed(const HloInstruction *instruction) {
  return instruction->operand_count > 0 && hlo_opcode_info(instruction->opcode)->cost != OP_COST_FREE;
}

static bool is_worth_unrolling(const HloInstruction *loop, int64_t *out_trips) {
  TripCount count;
  int64_t computed = 0;
  if (!trip_count_find(loop, &count) || count.trips > MOST_TRIPS) return false;
  const HloInstructionArray *body = &hlo_instruction_computation(loop, HLO_ATTR_BODY)->instructions;
  for (int64_t i = 0; i < body->count; i++) {
    const HloInstruction *instruction = body->data[i];
    if (!fuses(instruction) || shape_is_dynamic(instruction->shape)) return false;
    if (hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return false;
    computed += is_computed(instruction);
  }
  *out_trips = count.trips;
  return computed * count.trips <= MOST_INSTRUCTIONS;
}

static bool condition_is_pure(const HloInstruction *loop) {
  const HloInstructionArray *condition = &hlo_instruction_computation(loop, HLO_ATTR_CONDITION)->instructions;
  for (int64_t i = 0; i < condition->count; i++) {
    if (hlo_instruction_has_side_effect(condition->data[i])) return false;
  }
  return true;
}

static bool unroll(ControlWalk *walk, HloInstruction *loop) {
  int64_t trips;
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  if (!is_worth_unrolling(loop, &trips) || !condition_is_pure(loop)) return false;
  if (body->root->shape != loop->shape || loop->operands[0]->shape != loop->shape) return false;
  control_walk_note(walk, "unroll", loop);
  HloInstruction *value = loop->operands[0];
  for (int64_t i = 0; i < trips; i++) value = hlo_computation_inline(loop->parent, body, &value);
  hlo_instruction_replace_all_uses(loop, value);
  tuple_edit_retire(loop, walk->context->scratch);
  return true;
}

static Status run_unroller(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= control_walk_run(context, module, HLO_WHILE, unroll);
  return STATUS_OK;
}

const HloPass hlo_while_unroller_pass = {"while-unroller", "short loops of elementwise arithmetic, round after round",
                                         run_unroller, false};
