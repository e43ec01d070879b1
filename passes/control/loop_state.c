#include "passes/control/loop_state.h"

#include "hlo/analysis/trip_count.h"

static bool is_dead(const HloInstruction *instruction) {
  return instruction->user_count == 0 && !hlo_instruction_is_root(instruction);
}

static bool is_read_whole(const HloInstruction *tuple) {
  if (hlo_instruction_is_root(tuple)) return true;
  for (int i = 0; i < tuple->user_count; i++) {
    if (tuple->users[i]->opcode != HLO_GET_TUPLE_ELEMENT) return true;
  }
  return false;
}

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
  out_state->is_read_whole = is_read_whole(loop);
  if (out_state->init->opcode != HLO_TUPLE || out_state->root->opcode != HLO_TUPLE) return false;
  if (out_state->root->user_count > 0) return false;
  if (out_state->inside->shape != loop->shape || out_state->test->shape != loop->shape) return false;
  if (out_state->root->shape != loop->shape || out_state->init->shape != loop->shape) return false;
  return !is_read_whole(out_state->inside) && !is_read_whole(out_state->test);
}

bool loop_state_is_invariant(const LoopState *state, int index) {
  return trip_count_element(state->root->operands[index], state->inside) == index;
}

bool loop_state_is_read(const HloInstruction *tuple, int index) {
  for (int i = 0; i < tuple->user_count; i++) {
    if (trip_count_element(tuple->users[i], tuple) == index && !is_dead(tuple->users[i])) return true;
  }
  return false;
}

bool loop_state_redirect(HloInstruction *tuple, int index, HloInstruction *value) {
  bool redirected = false;
  for (int i = 0; i < tuple->user_count; i++) {
    HloInstruction *user = tuple->users[i];
    if (trip_count_element(user, tuple) != index || is_dead(user) || user == value) continue;
    hlo_instruction_replace_all_uses(user, value);
    redirected = true;
  }
  return redirected;
}

/* --- another tuple --- */

/* What the new tuple looks like: where old elements go, -1 for those that go away. */
typedef struct StateMap {
  const Shape *shape;
  int *places;
  int kept, added;
} StateMap;

static StateMap map_elements(const LoopState *state, const bool *kept, HloInstruction *const *added, int added_count,
                             Arena *scratch) {
  StateMap map = {.places = ARENA_NEW_ARRAY(scratch, int, state->count + 1), .added = added_count};
  const Shape **shapes = ARENA_NEW_ARRAY(scratch, const Shape *, state->count + added_count + 1);
  for (int i = 0; i < state->count; i++) {
    map.places[i] = kept[i] ? map.kept : -1;
    if (kept[i]) shapes[map.kept++] = state->loop->shape->tuple[i];
  }
  for (int i = 0; i < added_count; i++) shapes[map.kept + i] = added[i]->shape;
  map.shape = shape_tuple(state->loop->parent->module->shapes, shapes, map.kept + added_count);
  return map;
}

/* The readers of |from| find their elements in |to|, the same instruction or one in its place.  Dead readers stay
 * behind. */
static void move_readers(HloInstruction *from, HloInstruction *to, const StateMap *map, Arena *scratch) {
  int count = from->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(scratch, HloInstruction *, from->users, count);
  for (int i = 0; i < count; i++) {
    if (users[i]->opcode != HLO_GET_TUPLE_ELEMENT) continue;
    int place = map->places[hlo_instruction_int(users[i], HLO_ATTR_INDEX, 0)];
    if (place < 0) continue;
    if (to != from) hlo_instruction_replace_operand(users[i], 0, to);
    hlo_instruction_set_int(users[i], HLO_ATTR_INDEX, place);
  }
}

static HloInstruction *element_of(HloInstruction *tuple, int index) {
  HloInstruction *element =
      hlo_computation_add(tuple->parent, HLO_GET_TUPLE_ELEMENT, tuple->shape->tuple[index], &tuple, 1, (StringView){0});
  hlo_instruction_set_int(element, HLO_ATTR_INDEX, index);
  return element;
}

/* Attributes that speak of the tuple as it was. */
static void drop_shape_attributes(HloInstruction *instruction) {
  hlo_instruction_remove_attr(instruction, HLO_ATTR_SHARDING);
  hlo_instruction_remove_attr(instruction, HLO_ATTR_ORIGIN);
}

static void narrow_parameter(HloInstruction *parameter, const StateMap *map, Arena *scratch) {
  hlo_instruction_set_shape(parameter, map->shape);
  drop_shape_attributes(parameter);
  hlo_instruction_remove_attr(parameter, HLO_ATTR_PARAMETER_REPLICATION);
  move_readers(parameter, parameter, map, scratch);
}

/* A tuple of what |old| has at the places that stay, and of |added|. */
static HloInstruction *narrowed_tuple(const HloInstruction *old, const StateMap *map, HloInstruction *const *added,
                                      Arena *scratch) {
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, map->kept + map->added + 1);
  for (int i = 0; i < old->operand_count; i++) {
    if (map->places[i] >= 0) elements[map->places[i]] = old->operands[i];
  }
  for (int i = 0; i < map->added; i++) elements[map->kept + i] = added[i];
  HloInstruction *tuple =
      hlo_computation_add(old->parent, HLO_TUPLE, map->shape, elements, map->kept + map->added, (StringView){0});
  hlo_instruction_inherit_metadata(tuple, old);
  drop_shape_attributes(tuple);
  return tuple;
}

/* For who reads the whole result: it looks as it did. */
static void restore_whole(LoopState *state, HloInstruction *loop, Arena *scratch) {
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, state->count + 1);
  for (int i = 0; i < state->count; i++) elements[i] = element_of(loop, i);
  HloInstruction *tuple =
      hlo_computation_add(loop->parent, HLO_TUPLE, state->loop->shape, elements, state->count, (StringView){0});
  hlo_instruction_replace_all_uses(state->loop, tuple);
}

void loop_state_rebuild(LoopState *state, const bool *kept, HloInstruction *const *added, int added_count,
                        HloInstruction **out_inside, Arena *scratch) {
  StateMap map = map_elements(state, kept, added, added_count, scratch);
  HloInstruction *init = narrowed_tuple(state->init, &map, added, scratch);
  narrow_parameter(state->inside, &map, scratch);
  narrow_parameter(state->test, &map, scratch);
  for (int i = 0; i < added_count; i++) out_inside[i] = element_of(state->inside, map.kept + i);
  hlo_computation_set_root(state->body, narrowed_tuple(state->root, &map, out_inside, scratch));
  hlo_computation_remove_dead(state->body);
  hlo_computation_remove_dead(state->condition);
  HloInstruction *loop = hlo_computation_add_clone(state->loop->parent, state->loop, map.shape, &init, 1);
  drop_shape_attributes(loop);
  move_readers(state->loop, loop, &map, scratch);
  if (state->is_read_whole) restore_whole(state, loop, scratch);
  state->loop = state->outside = loop;
  state->init = init;
  state->root = state->body->root;
  state->count = map.kept + added_count;
  state->is_read_whole = false;
}
