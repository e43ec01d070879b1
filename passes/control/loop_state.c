#include "passes/control/loop_state.h"

#include "hlo/analysis/trip_count.h"

bool loop_state_read(HloInstruction *loop, const CallSites *sites, LoopState *out_state) {
  if (loop->opcode != HLO_WHILE || !shape_is_tuple(loop->shape) || !call_sites_own(sites, loop)) return false;
  *out_state = (LoopState){.loop = loop,
                           .condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION),
                           .body = hlo_instruction_computation(loop, HLO_ATTR_BODY),
                           .init = loop->operands[0],
                           .outside = loop,
                           .count = loop->shape->tuple_size};
  out_state->root = out_state->body->root;
  out_state->inside = hlo_computation_parameter(out_state->body, 0);
  out_state->test = hlo_computation_parameter(out_state->condition, 0);
  out_state->is_read_whole = tuple_is_read_whole(loop);
  if (out_state->init->opcode != HLO_TUPLE || out_state->root->opcode != HLO_TUPLE) return false;
  if (out_state->root->user_count > 0) return false;
  if (out_state->inside->shape != loop->shape || out_state->test->shape != loop->shape) return false;
  if (out_state->root->shape != loop->shape || out_state->init->shape != loop->shape) return false;
  return !tuple_is_read_whole(out_state->inside) && !tuple_is_read_whole(out_state->test);
}

bool loop_state_is_invariant(const LoopState *state, int index) {
  return trip_count_element(state->root->operands[index], state->inside) == index;
}

/* For who reads the whole result: it looks as it did. */
static void restore_whole(LoopState *state, HloInstruction *loop, Arena *scratch) {
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, state->count + 1);
  for (int i = 0; i < state->count; i++) elements[i] = tuple_element(loop, i);
  HloInstruction *tuple =
      hlo_computation_add(loop->parent, HLO_TUPLE, state->loop->shape, elements, state->count, (StringView){0});
  hlo_instruction_replace_all_uses(state->loop, tuple);
}

void loop_state_unpack(LoopState *state, Arena *scratch) {
  HloInstruction *loop = state->loop;
  int count = loop->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(scratch, HloInstruction *, loop->users, count);
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, state->count + 1);
  for (int i = 0; i < state->count; i++) elements[i] = tuple_element(loop, i);
  HloInstruction *tuple =
      hlo_computation_add(loop->parent, HLO_TUPLE, loop->shape, elements, state->count, (StringView){0});
  for (int i = 0; i < count; i++) {
    if (users[i]->opcode == HLO_GET_TUPLE_ELEMENT) continue;
    for (int k = 0; k < users[i]->operand_count; k++) {
      if (users[i]->operands[k] == loop) hlo_instruction_replace_operand(users[i], k, tuple);
    }
  }
  if (hlo_instruction_is_root(loop)) hlo_computation_set_root(loop->parent, tuple);
  state->is_read_whole = false;
}

void loop_state_rebuild(LoopState *state, const bool *kept, HloInstruction *const *added, int added_count,
                        HloInstruction **out_inside, Arena *scratch) {
  TupleEdit edit = tuple_edit_make(state->body->module->shapes, state->loop->shape, kept, added, added_count, scratch);
  HloInstruction *init = tuple_edit_operands(&edit, state->init, added, scratch);
  tuple_edit_parameter(&edit, state->inside, scratch);
  tuple_edit_parameter(&edit, state->test, scratch);
  for (int i = 0; i < added_count; i++) out_inside[i] = tuple_element(state->inside, edit.kept + i);
  hlo_computation_set_root(state->body, tuple_edit_operands(&edit, state->root, out_inside, scratch));
  hlo_computation_remove_dead(state->body);
  hlo_computation_remove_dead(state->condition);
  HloInstruction *loop = hlo_computation_add_clone(state->loop->parent, state->loop, edit.shape, &init, 1);
  tuple_edit_attributes(loop);
  tuple_edit_readers(&edit, state->loop, loop, scratch);
  if (state->is_read_whole) restore_whole(state, loop, scratch);
  tuple_edit_retire(state->loop, scratch);
  state->loop = state->outside = loop;
  state->init = init;
  state->root = state->body->root;
  state->count = edit.kept + added_count;
  state->is_read_whole = false;
}
