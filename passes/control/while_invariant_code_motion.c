/* Loop-invariant code motion: what is costly and the same in every round is computed once, before the loop, and becomes
 * an element of the state.  Cheap arithmetic stays: inside it fuses with what uses it, outside it would be an array to
 * store, and to read in each round.  Parts that a contraction reads as one array are joined outside: they are no more
 * bytes so.
 *
 * collective-code-motion does so with collectives: in one program for all devices, all of them do it once then. */
#include "hlo/analysis/trip_count.h"
#include "passes/cleanup/control_edges.h"
#include "passes/control/control_walk.h"
#include "passes/control/costly_operation.h"
#include "passes/control/loop_state.h"

enum { MOST_STEPS = 8 }; /* from weights to their contraction: a transpose, a conversion and the like */

/* Whether contractions read the elements of |instruction|, in whatever order, or what each becomes in |steps|. */
static bool feeds_contraction(const HloInstruction *instruction, int steps) {
  for (int i = 0; i < instruction->user_count && steps > 0; i++) {
    const HloInstruction *user = instruction->users[i];
    const HloOpcodeInfo *info = hlo_opcode_info(user->opcode);
    bool is_unary =
        info->flow == OP_FLOW_VIEW || (hlo_opcode_has(user->opcode, OP_ELEMENTWISE) && user->operand_count == 1);
    bool forwards = is_unary || user->opcode == HLO_TRANSPOSE;
    if (hlo_opcode_has(user->opcode, OP_CONTRACTION) || (forwards && feeds_contraction(user, steps - 1))) return true;
  }
  return false;
}

/* Weights that a contraction reads as one array it would put together again in each round. */
static bool is_costly(const HloInstruction *instruction) {
  bool joins = instruction->opcode == HLO_CONCATENATE && instruction->operand_count > 1;
  return costly_operation(instruction) || (joins && feeds_contraction(instruction, MOST_STEPS));
}

/* What leaves the loop by itself; what it is made of is copied. */
typedef bool Worthwhile(const HloInstruction *instruction);

typedef struct Motion {
  LoopState state;
  Worthwhile *is_worthwhile;
  HloComputation *parent;
  IntMap invariant; /* ids of instructions of the body that are the same in every round */
  IntMap moved;     /* of those, the ones that are to be computed outside: their copies there, once made */
  Arena *scratch;
} Motion;

static bool contains(const IntMap *map, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(map, (uint64_t)instruction->id, &ignored);
}

static bool is_collective(const HloInstruction *instruction) {
  return hlo_opcode_is_collective(instruction->opcode);
}

static bool is_movable(const Motion *motion, const HloInstruction *instruction) {
  if (is_collective(instruction)) return motion->is_worthwhile == is_collective;
  if (hlo_opcode_has(instruction->opcode, OP_STAYS) || instruction->opcode == HLO_PARAMETER) return false;
  return !shape_is_dynamic(instruction->shape) && !hlo_instruction_has_side_effect(instruction);
}

static bool is_invariant(const Motion *motion, const HloInstruction *instruction) {
  int64_t index = trip_count_element(instruction, motion->state.inside);
  if (index >= 0) return loop_state_is_invariant(&motion->state, (int)index);
  if (!is_movable(motion, instruction) || instruction->shape->type == TYPE_TOKEN) return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (!contains(&motion->invariant, instruction->operands[i])) return false;
  }
  return true;
}

/* Parts of what moves move with it. */
static bool moves(const Motion *motion, const HloInstruction *instruction) {
  if (motion->is_worthwhile(instruction)) return true;
  return instruction->opcode == HLO_GET_TUPLE_ELEMENT && contains(&motion->moved, instruction->operands[0]);
}

/* Some reader stays in the loop, and needs it as an element of the state. */
static bool is_needed_inside(const Motion *motion, const HloInstruction *instruction) {
  if (shape_is_tuple(instruction->shape)) return false;
  for (int i = 0; i < instruction->user_count; i++) {
    if (!contains(&motion->moved, instruction->users[i])) return true;
  }
  return false;
}

static HloInstruction *copy_outside(Motion *motion, HloInstruction *instruction) {
  int64_t index = trip_count_element(instruction, motion->state.inside);
  if (index >= 0) return motion->state.init->operands[index];
  HloInstruction *copy = pointer_map_get(&motion->moved, instruction);
  if (copy != NULL) return copy;
  HloInstruction **operands = ARENA_NEW_ARRAY(motion->scratch, HloInstruction *, instruction->operand_count + 1);
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = copy_outside(motion, instruction->operands[i]);
  }
  copy =
      hlo_computation_add_clone(motion->parent, instruction, instruction->shape, operands, instruction->operand_count);
  pointer_map_set(&motion->moved, instruction, copy);
  return copy;
}

/* What leaves the loop and is read there, in the body's order. */
static HloInstructionArray find_moved(Motion *motion) {
  int64_t count;
  HloInstructionArray found = {0}, moved = {0};
  HloInstruction **order = control_edges_free_order(motion->state.body, motion->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (!is_invariant(motion, order[i])) continue;
    int_map_set(&motion->invariant, (uint64_t)order[i]->id, 1);
    if (!moves(motion, order[i])) continue;
    int_map_set(&motion->moved, (uint64_t)order[i]->id, 1);
    array_push(&moved, motion->scratch, order[i]);
  }
  for (int64_t i = 0; i < moved.count; i++) {
    if (is_needed_inside(motion, moved.data[i])) array_push(&found, motion->scratch, moved.data[i]);
  }
  return found;
}

static bool move_out(ControlWalk *walk, Motion *motion) {
  HloInstructionArray moved = find_moved(motion);
  if (moved.count == 0) return false;
  HloInstruction **outside = ARENA_NEW_ARRAY(motion->scratch, HloInstruction *, moved.count),
                 **inside = ARENA_NEW_ARRAY(motion->scratch, HloInstruction *, moved.count);
  int_map_init(&motion->moved, motion->scratch);
  for (int64_t i = 0; i < moved.count; i++) {
    outside[i] = copy_outside(motion, moved.data[i]);
    control_walk_note(walk, "move", moved.data[i]);
  }
  bool *kept = ARENA_NEW_ARRAY(motion->scratch, bool, motion->state.count + 1);
  for (int i = 0; i < motion->state.count; i++) kept[i] = true;
  loop_state_rebuild(&motion->state, kept, outside, (int)moved.count, inside, motion->scratch);
  /* What is removed like this need not be dead to be so: a collective is not. */
  for (int64_t i = 0; i < moved.count; i++)
    hlo_computation_replace_instruction(motion->state.body, moved.data[i], inside[i]);
  hlo_computation_remove_dead(motion->state.body);
  return true;
}

static bool move_code(ControlWalk *walk, HloInstruction *loop, Worthwhile *is_worthwhile) {
  Motion motion = {.parent = loop->parent, .is_worthwhile = is_worthwhile, .scratch = walk->context->scratch};
  if (!loop_state_read(loop, &walk->sites, &motion.state)) return false;
  int_map_init(&motion.invariant, motion.scratch);
  int_map_init(&motion.moved, motion.scratch);
  return move_out(walk, &motion);
}

static bool move_costly(ControlWalk *walk, HloInstruction *loop) {
  return move_code(walk, loop, is_costly);
}

static bool move_collectives(ControlWalk *walk, HloInstruction *loop) {
  return move_code(walk, loop, is_collective);
}

static Status run_motion(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= control_walk_run(context, module, HLO_WHILE, move_costly);
  return STATUS_OK;
}

static Status run_collective_motion(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= control_walk_run(context, module, HLO_WHILE, move_collectives);
  return STATUS_OK;
}

const HloPass hlo_while_invariant_code_motion_pass = {
    "while-invariant-code-motion", "costly work that is the same in every round of a loop is done before it",
    run_motion, false};

const HloPass hlo_collective_code_motion_pass = {
    "collective-code-motion", "collectives that give the same in every round of a loop are done before it",
    run_collective_motion, false};
