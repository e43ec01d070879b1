#include "codegen/oncore/emit/bound_bytes.h"

#include "codegen/oncore/emit/bound_work.h"
#include "hlo/analysis/execution_counts.h"

/* --- what is read and written --- */

/* The most that any of the parameters that |value| is inside of |fusion| is read. */
static int64_t bytes_read_inside(const HloInstruction *fusion, const HloInstruction *value) {
  int64_t most = 0;
  for (int32_t i = 0; i < fusion->operand_count; i++) {
    if (fusion->operands[i] != value) continue;
    int64_t here = bound_bytes_read(hlo_instruction_called(fusion, 0)->parameters.data[i]);
    if (here > most) most = here;
  }
  return most;
}

/* The most that a user of leaf |index| of the state of |loop| reads in an iteration. */
static int64_t bytes_read_in_loop(const HloInstruction *loop, int64_t index) {
  const HloInstruction *state = hlo_instruction_computation(loop, HLO_ATTR_BODY)->parameters.data[0];
  int64_t most = 0;
  for (int32_t u = 0; u < state->user_count; u++) {
    const HloInstruction *leaf = state->users[u];
    if (leaf->opcode != HLO_GET_TUPLE_ELEMENT || hlo_instruction_int(leaf, HLO_ATTR_INDEX, 0) != index) continue;
    int64_t here = bound_is_of_scalar_unit(leaf->shape) ? 0 : bound_bytes_read(leaf);
    if (here > most) most = here;
  }
  return most;
}

/* The most that the first iteration of a loop reads of |value|, which |state| passes on to it. */
static int64_t bytes_read_by_loops(const HloInstruction *state, const HloInstruction *value) {
  int64_t most = 0;
  for (int32_t u = 0; u < state->user_count; u++) {
    for (int32_t i = 0; i < state->operand_count && state->users[u]->opcode == HLO_WHILE; i++) {
      if (state->operands[i] != value) continue;
      int64_t here = bytes_read_in_loop(state->users[u], i);
      if (here > most) most = here;
    }
  }
  return most;
}

/* What makes each element of one of its first operand reads no more of them than it makes. */
static bool reads_what_it_makes(const HloInstruction *user, const HloInstruction *value) {
  OpAccess access = hlo_opcode_info(user->opcode)->access;
  return user->operands[0] == value && shape_is_array(user->shape) && access != ACCESS_WINDOW && access != ACCESS_WHOLE;
}

static int64_t bytes_read_by(const HloInstruction *user, const HloInstruction *value) {
  int64_t whole = shape_byte_size(value->shape);
  if (user->opcode == HLO_FUSION) return bytes_read_inside(user, value);
  if (user->opcode == HLO_BITCAST) return bound_bytes_read(user);
  if (user->opcode == HLO_TUPLE) return bytes_read_by_loops(user, value);
  if (hlo_opcode_has(user->opcode, OP_TUPLES | OP_CONTROL_FLOW) || user->opcode == HLO_CUSTOM_CALL) return 0;
  if (hlo_opcode_has(user->opcode, OP_IN_PLACE)) return user->operands[0] == value ? 0 : whole;
  if (!reads_what_it_makes(user, value)) return whole;
  int64_t made = shape_element_count(user->shape) * type_storage_bytes(value->shape->type);
  return made < whole ? made : whole;
}

int64_t bound_bytes_read(const HloInstruction *value) {
  int64_t most = 0;
  if (!shape_is_array(value->shape)) return 0;
  for (int32_t u = 0; u < value->user_count; u++) {
    int64_t here = bytes_read_by(value->users[u], value);
    if (here > most) most = here;
  }
  return most;
}

int64_t bound_bytes_written(const HloInstruction *value) {
  if (value->opcode == HLO_TUPLE) {
    int64_t sum = 0;
    for (int32_t i = 0; i < value->operand_count; i++) sum += bound_bytes_written(value->operands[i]);
    return sum;
  }
  if (value->opcode == HLO_FUSION) return bound_bytes_written(hlo_instruction_called(value, 0)->root);
  if (value->opcode == HLO_BITCAST) return bound_bytes_written(value->operands[0]);
  if (value->opcode == HLO_DYNAMIC_UPDATE_SLICE) return shape_byte_size(value->operands[1]->shape);
  if (hlo_opcode_has(value->opcode, OP_TUPLES | OP_CONTROL_FLOW | OP_IN_PLACE)) return 0;
  if (value->opcode == HLO_PARAMETER || value->opcode == HLO_CUSTOM_CALL) return 0;
  return shape_is_array(value->shape) ? shape_byte_size(value->shape) : 0;
}

/* --- what loops load again --- */

/* What |value| is a copy of, element by element. */
static const HloInstruction *copied_from(const HloInstruction *value) {
  while (value->opcode == HLO_COPY || value->opcode == HLO_BITCAST) value = value->operands[0];
  return value;
}

/* Whether iterations of |loop| read all of leaf |index| of its state and change nothing of it. */
static bool reads_unchanged(const HloInstruction *loop, int64_t index) {
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  const HloInstruction *state = body->parameters.data[0], *next = body->root->operands[index];
  bool is_passed_on = next->opcode == HLO_GET_TUPLE_ELEMENT && next->operands[0] == state &&
                      hlo_instruction_int(next, HLO_ATTR_INDEX, 0) == index;
  if (!is_passed_on || !shape_is_array(next->shape)) return false;
  return bytes_read_in_loop(loop, index) == shape_byte_size(next->shape);
}

/* Bytes that each iteration of |loop| reads of what none of them changes; leaves that are copies of one value count
 * once. */
static int64_t unchanged_bytes(const HloInstruction *loop) {
  const HloInstruction *init = loop->operands[0];
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  int64_t bytes = 0;
  if (init->opcode != HLO_TUPLE || body->root->opcode != HLO_TUPLE) return 0;
  for (int32_t i = 0; i < init->operand_count; i++) {
    bool is_again = false;
    if (!reads_unchanged(loop, i)) continue;
    for (int32_t k = 0; k < i && !is_again; k++)
      is_again = copied_from(init->operands[k]) == copied_from(init->operands[i]) && reads_unchanged(loop, k);
    if (!is_again) bytes += shape_byte_size(init->operands[i]->shape);
  }
  return bytes;
}

static bool has_loops(const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->opcode == HLO_WHILE) return true;
    for (int c = 0; c < hlo_instruction_called_count(instruction); c++)
      if (has_loops(hlo_instruction_called(instruction, c))) return true;
  }
  return false;
}

int64_t bound_bytes_again(const HloModule *module, const MachineDescription *machine) {
  Arena *scratch = arena_create();
  const double *times = hlo_execution_counts(scratch, module, 1);
  double again = 0;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *loop = computation->instructions.data[i];
      if (loop->opcode != HLO_WHILE) continue;
      const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
      int64_t beyond = unchanged_bytes(loop) - machine_buffer_usable(machine);
      double iterations = times[body->id] - times[computation->id];
      if (beyond > 0 && iterations > 0 && !has_loops(body)) again += iterations * (double)beyond;
    }
  }
  arena_destroy(scratch);
  return again < 1e18 ? (int64_t)again : 0;
}
