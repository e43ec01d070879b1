/* Loops that hardly run, and state that loops need not carry. */
#include "base/checked_math.h"
#include "hlo/analysis/trip_count.h"
#include "hlo/ir/hlo_worklist.h"
#include "passes/control/constant_value.h"
#include "passes/control/control_walk.h"
#include "passes/control/loop_state.h"
#include "passes/control/nested_state.h"
#include "passes/control/stacked_state.h"

static bool may_rewrite(const ControlWalk *walk) {
  return hlo_pass_may_rewrite(walk->context);
}

/* --- loops that run never or once --- */

/* A loop that ends at once is its init; one that runs once, its body.  A condition with side effects runs once more
 * than that. */
static bool replace_short_loop(ControlWalk *walk, HloInstruction *loop) {
  TripCount count;
  if (!trip_count_find(loop, &count) || count.trips > 1) return false;
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION),
                       *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  for (int64_t i = 0; i < condition->instructions.count; i++) {
    if (hlo_instruction_has_side_effect(condition->instructions.data[i])) return false;
  }
  if (loop->operands[0]->shape != loop->shape || body->root->shape != loop->shape) return false;
  HloInstruction *result = loop->operands[0];
  control_walk_note(walk, count.trips == 0 ? "no-trip" : "one-trip", loop);
  if (count.trips == 1) result = hlo_computation_inline(loop->parent, body, loop->operands);
  hlo_instruction_replace_all_uses(loop, result);
  tuple_edit_retire(loop, walk->context->scratch);
  return true;
}

/* --- what an element is known to be --- */

/* The body computes with it rather than only handing it on. */
static bool is_used_inside(const LoopState *state, int index) {
  for (int i = 0; i < state->inside->user_count; i++) {
    const HloInstruction *reader = state->inside->users[i];
    if (trip_count_element(reader, state->inside) != index || reader->user_count == 0) continue;
    if (reader->user_count > 1 || reader->users[0] != state->root) return true;
  }
  return false;
}

static void sink_inside(LoopState *state, int index, const HloInstruction *value) {
  bool stays = loop_state_is_invariant(state, index);
  tuple_redirect_element(state->inside, index, constant_value_copy(state->body, value));
  /* Handed on, it costs nothing; a constant would be copied in each round. */
  if (stays) hlo_instruction_replace_operand(state->root, index, tuple_element(state->inside, index));
}

/* An element that is the same constant in every round is one inside, and outside. */
static bool sink_constant(ControlWalk *walk, LoopState *state, int index) {
  HloInstruction *init = state->init->operands[index], *next = state->root->operands[index];
  if (!may_rewrite(walk) || !constant_value_is(init) || init->shape != state->loop->shape->tuple[index]) return false;
  if (!loop_state_is_invariant(state, index) && !(constant_value_is(next) && constant_value_equal(init, next)))
    return false;
  bool inside = is_used_inside(state, index), test = tuple_element_is_read(state->test, index),
       outside = tuple_element_is_read(state->outside, index);
  if (!inside && !test && !outside) return false;
  control_walk_note(walk, "constant-state", state->loop);
  if (inside) sink_inside(state, index, init);
  if (test) tuple_redirect_element(state->test, index, constant_value_copy(state->condition, init));
  if (outside) tuple_redirect_element(state->outside, index, init);
  return true;
}

/* What a loop only hands on, and is read outside, is there what it was before. */
static bool read_invariant_outside(ControlWalk *walk, LoopState *state, int index) {
  HloInstruction *init = state->init->operands[index];
  if (!may_rewrite(walk) || !loop_state_is_invariant(state, index)) return false;
  if (init->shape != state->loop->shape->tuple[index]) return false;
  control_walk_note(walk, "invariant-outside", state->loop);
  return tuple_redirect_element(state->outside, index, init);
}

/* --- elements that are the same --- */

/* |x| and |y| are equal if elements |a| and |b| of the state are: the same operations on equal operands. */
static bool are_equal_if(const LoopState *state, const HloInstruction *x, const HloInstruction *y, int a, int b,
                         int depth) {
  static const HloAttrEquality equality = {0};
  if (x == y) return true;
  int64_t i = trip_count_element(x, state->inside), k = trip_count_element(y, state->inside);
  if (i >= 0 || k >= 0) return i == k || (i == a && k == b) || (i == b && k == a);
  if (depth == 0 || x->opcode != y->opcode || x->shape != y->shape || x->operand_count != y->operand_count)
    return false;
  if (hlo_opcode_has(x->opcode, OP_STAYS) || hlo_instruction_has_side_effect(x) || x->opcode == HLO_RNG) return false;
  if (x->opcode == HLO_PARAMETER || !hlo_instruction_same_attrs(x, y, &equality)) return false;
  for (int operand = 0; operand < x->operand_count; operand++) {
    if (!are_equal_if(state, x->operands[operand], y->operands[operand], a, b, depth - 1)) return false;
  }
  return true;
}

/* Both begin alike and, as long as they are, go on alike. */
static bool are_alike(const LoopState *state, int a, int b) {
  enum { MOST_DEPTH = 3 };
  if (state->init->operands[a] != state->init->operands[b]) return false;
  if (state->loop->shape->tuple[a] != state->loop->shape->tuple[b]) return false;
  return are_equal_if(state, state->root->operands[a], state->root->operands[b], a, b, MOST_DEPTH);
}

/* Of two elements that are always equal one is enough: nothing reads |b| any more. */
static bool read_twin(ControlWalk *walk, LoopState *state, int a, int b) {
  HloInstruction *tuples[] = {state->inside, state->test, state->outside};
  bool redirected = false;
  for (int i = 0; i < 3 && may_rewrite(walk); i++) {
    if (tuple_element_is_read(tuples[i], b))
      redirected |= tuple_redirect_element(tuples[i], b, tuple_element(tuples[i], a));
  }
  if (redirected) control_walk_note(walk, "same-state", state->loop);
  return redirected;
}

/* Elements by what they begin with: the first that begins so, then the next. */
static bool merge_twins(ControlWalk *walk, LoopState *state) {
  enum { CHAIN_LIMIT = 8 };
  bool changed = false;
  Arena *scratch = walk->context->scratch;
  IntMap last;
  int_map_init(&last, scratch);
  int *previous = ARENA_NEW_ARRAY(scratch, int, state->count + 1);
  for (int i = 0; i < state->count; i++) {
    uint64_t key = (uint64_t)state->init->operands[i]->id;
    int64_t at = -1;
    int_map_find(&last, key, &at);
    previous[i] = (int)at;
    for (int seen = 0; at >= 0 && seen < CHAIN_LIMIT; seen++, at = previous[at]) {
      if (!are_alike(state, (int)at, i)) continue;
      changed |= read_twin(walk, state, (int)at, i);
      break;
    }
    int_map_set(&last, key, i);
  }
  return changed;
}

/* --- elements that nothing needs --- */

typedef struct Needs {
  const LoopState *state;
  bool *elements;     /* needed, by index */
  HloWorklist values; /* needed, of the body */
  Arena *scratch;
} Needs;

static void need_element(Needs *needs, int64_t index) {
  if (needs->elements[index]) return;
  needs->elements[index] = true;
  hlo_worklist_add(&needs->values, needs->state->root->operands[index]);
}

/* What the result, the condition and side effects need, and what those elements are made from. */
static void find_needs(Needs *needs) {
  const LoopState *state = needs->state;
  bool *read = ARENA_NEW_ARRAY(needs->scratch, bool, state->count + 1);
  tuple_elements_read(state->outside, read);
  tuple_elements_read(state->test, read);
  for (int i = 0; i < state->count; i++) {
    if (read[i]) need_element(needs, i);
  }
  for (int64_t i = 0; i < state->body->instructions.count; i++) {
    HloInstruction *instruction = state->body->instructions.data[i];
    if (hlo_instruction_has_side_effect(instruction)) hlo_worklist_add(&needs->values, instruction);
  }
  for (const HloInstruction *value; (value = hlo_worklist_take(&needs->values)) != NULL;) {
    int64_t index = trip_count_element(value, state->inside);
    if (index >= 0) {
      need_element(needs, index);
      continue;
    }
    for (int i = 0; i < value->operand_count; i++) hlo_worklist_add(&needs->values, value->operands[i]);
  }
}

static bool drop_dead_state(ControlWalk *walk, LoopState *state) {
  Arena *scratch = walk->context->scratch;
  if (state->is_read_whole || !may_rewrite(walk)) return false;
  Needs needs = {.state = state, .elements = ARENA_NEW_ARRAY(scratch, bool, state->count + 1), .scratch = scratch};
  hlo_worklist_init(&needs.values, scratch);
  find_needs(&needs);
  int kept = 0;
  for (int i = 0; i < state->count; i++) kept += needs.elements[i];
  /* A loop of which nothing is needed is dead as a whole. */
  if (kept == state->count || kept == 0) return false;
  control_walk_note(walk, "dead-state", state->loop);
  loop_state_rebuild(state, needs.elements, NULL, 0, NULL, scratch);
  return true;
}

/* --- the counter --- */

/* |a| direction |b| for every a from |least| to |most|; 1, 0, or -1 where it depends. */
static int always(ComparisonDirection direction, int64_t least, int64_t most, int64_t b) {
  switch (direction) {
    case COMPARISON_DIRECTION_LT: return most < b ? 1 : least >= b ? 0 : -1;
    case COMPARISON_DIRECTION_LE: return most <= b ? 1 : least > b ? 0 : -1;
    case COMPARISON_DIRECTION_GT: return least > b ? 1 : most <= b ? 0 : -1;
    case COMPARISON_DIRECTION_GE: return least >= b ? 1 : most < b ? 0 : -1;
    case COMPARISON_DIRECTION_EQ: return most < b || least > b ? 0 : -1;
    case COMPARISON_DIRECTION_NE: return most < b || least > b ? 1 : -1;
    default: return -1;
  }
}

/* compare(counter, constant) in the body, where the counter's range decides it: as when a front end asks whether an
 * index is negative */
static bool decide_comparison(ControlWalk *walk, const LoopState *state, const TripCount *count,
                              HloInstruction *compare) {
  if (compare->opcode != HLO_COMPARE || !may_rewrite(walk)) return false;
  const HloInstruction *constant = compare->operands[1];
  if (trip_count_element(compare->operands[0], state->inside) != count->index) return false;
  if (constant->opcode != HLO_CONSTANT || hlo_instruction_literal(constant)->elided || compare->user_count == 0)
    return false;
  int64_t first = count->first, last = first + (count->trips - 1) * count->step;
  int64_t bound = literal_get_int(hlo_instruction_literal(constant), 0);
  if (type_is_unsigned(constant->shape->type) && bound < 0) return false;
  int known = always((ComparisonDirection)hlo_instruction_int(compare, HLO_ATTR_DIRECTION, -1), min_i64(first, last),
                     max_i64(first, last), bound);
  if (known < 0) return false;
  Literal *literal = literal_create(state->body->module->arena, compare->shape);
  literal_set_int(literal, 0, known);
  control_walk_note(walk, "known-comparison", compare);
  hlo_instruction_replace_all_uses(compare, hlo_computation_add_constant(state->body, literal, (StringView){0}));
  return true;
}

static bool decide_comparisons(ControlWalk *walk, const LoopState *state) {
  TripCount count;
  bool changed = false;
  if (!trip_count_find(state->loop, &count) || count.trips < 1) return false;
  Arena *scratch = walk->context->scratch;
  int64_t instructions;
  HloInstruction **list = hlo_computation_list(state->body, scratch, &instructions);
  for (int64_t i = 0; i < instructions; i++) changed |= decide_comparison(walk, state, &count, list[i]);
  return changed;
}

/* Element |index| begins with a constant integer and grows by |step| in each round. */
static bool counts_along(const LoopState *state, int index, int64_t step, int64_t *out_first) {
  const HloInstruction *init = state->init->operands[index], *next = state->root->operands[index];
  if (!shape_is_scalar(init->shape) || !type_is_integral(init->shape->type) || next->opcode != HLO_ADD) return false;
  if (init->opcode != HLO_CONSTANT || hlo_instruction_literal(init)->elided) return false;
  for (int i = 0; i < 2; i++) {
    const HloInstruction *by = next->operands[1 - i];
    if (trip_count_element(next->operands[i], state->inside) != index || by->opcode != HLO_CONSTANT) continue;
    if (hlo_instruction_literal(by)->elided) continue;
    *out_first = literal_get_int(hlo_instruction_literal(init), 0);
    return literal_get_int(hlo_instruction_literal(by), 0) == step;
  }
  return false;
}

/* Element |index| of |tuple| is its element |counter| and |ahead|. */
static bool read_ahead(HloInstruction *tuple, int index, int64_t counter, int64_t ahead) {
  if (!tuple_element_is_read(tuple, index)) return false;
  HloInstruction *operands[2] = {tuple_element(tuple, (int)counter), NULL};
  Literal *literal = literal_create(tuple->parent->module->arena, operands[0]->shape);
  literal_set_int(literal, 0, ahead);
  operands[1] = hlo_computation_add_constant(tuple->parent, literal, (StringView){0});
  HloInstruction *sum = hlo_computation_add(tuple->parent, HLO_ADD, operands[0]->shape, operands, 2, (StringView){0});
  return tuple_redirect_element(tuple, index, sum);
}

/* Of counters that run side by side one is enough: the others are so much ahead of it. */
static bool merge_counters(ControlWalk *walk, LoopState *state) {
  TripCount count;
  bool changed = false;
  if (state->is_read_whole || !trip_count_find(state->loop, &count)) return false;
  for (int i = 0; i < state->count && may_rewrite(walk); i++) {
    int64_t first;
    if (i == count.index || state->loop->shape->tuple[i] != state->loop->shape->tuple[count.index]) continue;
    if (!counts_along(state, i, count.step, &first)) continue;
    int64_t ahead = (int64_t)((uint64_t)first - (uint64_t)count.first);
    HloInstruction *tuples[] = {state->inside, state->test, state->outside};
    bool redirected = false;
    for (int k = 0; k < 3; k++) redirected |= read_ahead(tuples[k], i, count.index, ahead);
    if (redirected) control_walk_note(walk, "merged-counter", state->loop);
    changed |= redirected;
  }
  return changed;
}

/* --- the pass --- */

/* A loop whose whole result is returned hides what it only hands on. */
static void unpack_invariants(ControlWalk *walk, LoopState *state) {
  for (int i = 0; i < state->count && state->is_read_whole; i++) {
    if (!loop_state_is_invariant(state, i) || state->init->operands[i]->shape != state->loop->shape->tuple[i]) continue;
    if (may_rewrite(walk)) loop_state_unpack(state, walk->context->scratch);
    return;
  }
}

static bool simplify_state(ControlWalk *walk, LoopState *state) {
  bool changed = false;
  unpack_invariants(walk, state);
  bool *outside = ARENA_NEW_ARRAY(walk->context->scratch, bool, state->count + 1);
  tuple_elements_read(state->outside, outside);
  for (int i = 0; i < state->count; i++) {
    changed |= sink_constant(walk, state, i) || (outside[i] && read_invariant_outside(walk, state, i));
  }
  changed |= merge_twins(walk, state);
  changed |= merge_counters(walk, state);
  changed |= decide_comparisons(walk, state);
  changed |= stacked_state_rewrite(walk, state);
  return drop_dead_state(walk, state) || changed;
}

static bool simplify_loop(ControlWalk *walk, HloInstruction *loop) {
  LoopState state;
  if (replace_short_loop(walk, loop)) return true;
  if (may_rewrite(walk) && nested_state_flatten(loop, &walk->sites, walk->context->scratch)) {
    control_walk_note(walk, "nested-state", loop);
    return true;
  }
  return loop_state_read(loop, &walk->sites, &state) && simplify_state(walk, &state);
}

static Status run_while_simplifier(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= control_walk_run(context, module, HLO_WHILE, simplify_loop);
  return STATUS_OK;
}

const HloPass hlo_while_simplifier_pass = {
    "while-simplifier", "loops that run at most once, and state that they need not carry", run_while_simplifier, false};
