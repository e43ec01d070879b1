/* Parts of an array that a loop updates and puts together again, as a scan over a model's layers does with their
 * caches: the result begins as the array, and each round updates its part in place.
 *
 *   y[i] = update(x[i], u, p), for all i in turn        y begins as x;  y = update(y, u, i, p)
 *
 * What else reads the updated part reads it in y.  Round i finds part i of y as it was in x. */
#include "passes/control/stacked_state.h"

#include "hlo/analysis/trip_count.h"
#include "passes/cleanup/control_edges.h"

enum { RANK_LIMIT = 64, MOST_UPDATES = 8 }; /* lists on the stack; more is left alone */

typedef struct StackedPart {
  int result, source;                    /* elements of the state */
  int dimension;                         /* along which parts follow one another */
  HloInstruction *whole;                 /* the update that puts a part into the result */
  HloInstruction *part;                  /* the part, updated */
  HloInstruction *updates[MOST_UPDATES]; /* of the part, the first one first */
  int update_count;
  bool is_unit; /* |part| has |dimension|, of one element */
} StackedPart;

static bool is_plain(const HloInstruction *value) {
  return shape_is_static_array(value->shape) && value->shape->rank <= RANK_LIMIT;
}

static bool is_update(const HloInstruction *value) {
  return value->opcode == HLO_DYNAMIC_UPDATE_SLICE && is_plain(value) && is_plain(value->operands[1]) &&
         value->operand_count == 2 + value->shape->rank;
}

static bool is_zero(const HloInstruction *start) {
  return start->opcode == HLO_CONSTANT && !hlo_instruction_literal(start)->elided &&
         literal_get_int(hlo_instruction_literal(start), 0) == 0;
}

/* Starts |starts| of a window of |size| in |whole| are those of one part in each round: the counter along one
 * dimension, everything of the others.  -1: they are not. */
static int dimension_of_starts(const LoopState *state, const TripCount *count, HloInstruction *const *starts,
                               const Shape *whole, const int64_t *size) {
  int found = -1;
  for (int d = 0; d < whole->rank; d++) {
    if (trip_count_element(starts[d], state->inside) == count->index && size[d] == 1 && found < 0) {
      found = d;
    } else if (size[d] != whole->dims[d] || !is_zero(starts[d])) {
      return -1;
    }
  }
  return found;
}

/* |whole| is |part| with one more dimension, of one element, at |dimension|. */
static bool adds_unit(const Shape *whole, const Shape *part, int dimension) {
  if (part->rank + 1 != whole->rank || whole->dims[dimension] != 1) return false;
  for (int d = 0; d < part->rank; d++) {
    if (part->dims[d] != whole->dims[d < dimension ? d : d + 1]) return false;
  }
  return true;
}

/* Follows the updates of |stacked->part| back to what they begin with. */
static HloInstruction *find_updates(StackedPart *stacked) {
  HloInstruction *value = stacked->part;
  int count = 0;
  for (; is_update(value); value = value->operands[0]) {
    bool is_lone = value == stacked->part || value->user_count == 1;
    bool spans = !stacked->is_unit || value->operands[1]->shape->dims[stacked->dimension] == 1;
    bool agrees = value->operands[2]->shape == stacked->whole->operands[2]->shape;
    if (!is_lone || !spans || !agrees || value->shape->rank == 0 || count == MOST_UPDATES) return NULL;
    stacked->updates[count++] = value;
  }
  stacked->update_count = count;
  for (int i = 0; i < count / 2; i++) {
    HloInstruction *update = stacked->updates[i];
    stacked->updates[i] = stacked->updates[count - 1 - i];
    stacked->updates[count - 1 - i] = update;
  }
  return count > 0 ? value : NULL;
}

/* What |window| reads, a part of it in each round, is element |stacked->source|. */
static bool find_source(const LoopState *state, const TripCount *count, HloInstruction *window, StackedPart *stacked) {
  HloInstruction *slice = stacked->is_unit || window->opcode != HLO_RESHAPE ? window : window->operands[0];
  if (slice->opcode != HLO_DYNAMIC_SLICE || !is_plain(slice) || slice->shape->rank != stacked->whole->shape->rank)
    return false;
  if (!stacked->is_unit && !adds_unit(slice->shape, window->shape, stacked->dimension)) return false;
  stacked->source = (int)trip_count_element(slice->operands[0], state->inside);
  if (stacked->source < 0 || !loop_state_is_invariant(state, stacked->source)) return false;
  const HloInstruction *init = state->init->operands[stacked->source];
  if (init->shape != stacked->whole->shape || slice->operands[0]->shape != init->shape) return false;
  return dimension_of_starts(state, count, &slice->operands[1], init->shape, slice->shape->dims) == stacked->dimension;
}

/* Nothing but |whole| reads the result in the loop, and nothing but the result is |whole|. */
static bool is_only_stacked(const LoopState *state, int index, const HloInstruction *whole) {
  int places = 0;
  for (int i = 0; i < state->count; i++) places += state->root->operands[i] == whole;
  if (places != 1 || whole->user_count != 1 || tuple_element_is_read(state->test, index)) return false;
  for (int i = 0; i < state->inside->user_count; i++) {
    const HloInstruction *reader = state->inside->users[i];
    if (trip_count_element(reader, state->inside) != index) continue;
    if (reader->user_count > 1 || (reader->user_count == 1 && reader->users[0] != whole)) return false;
  }
  return true;
}

/* Every part is written, in a round of its own. */
static bool find_part(const LoopState *state, const TripCount *count, int index, StackedPart *stacked) {
  HloInstruction *whole = state->root->operands[index];
  *stacked = (StackedPart){.result = index, .whole = whole};
  if (!is_update(whole) || trip_count_element(whole->operands[0], state->inside) != index) return false;
  if (!is_only_stacked(state, index, whole) || state->init->operands[index]->shape != whole->shape) return false;
  HloInstruction *part = whole->operands[1];
  stacked->dimension = dimension_of_starts(state, count, &whole->operands[2], whole->shape, part->shape->dims);
  if (stacked->dimension < 0 || count->trips != whole->shape->dims[stacked->dimension]) return false;
  bool is_joined = part->opcode == HLO_RESHAPE && part->user_count == 1 && is_plain(part->operands[0]) &&
                   adds_unit(part->shape, part->operands[0]->shape, stacked->dimension);
  stacked->is_unit = !is_joined;
  stacked->part = is_joined ? part->operands[0] : part;
  HloInstruction *window = find_updates(stacked);
  return window != NULL && find_source(state, count, window, stacked);
}

static HloInstruction *reshaped(HloInstruction *value, const Shape *shape) {
  if (value->shape == shape) return value;
  return hlo_computation_add(value->parent, HLO_RESHAPE, shape, &value, 1, (StringView){0});
}

/* |update| of a part as one of all of |x|. */
static HloInstruction *update_of_whole(const StackedPart *stacked, const HloInstruction *update, HloInstruction *x) {
  HloInstruction *operands[RANK_LIMIT + 2] = {x};
  const Shape *elements = update->operands[1]->shape;
  int64_t dims[RANK_LIMIT];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) {
    bool is_along = d == stacked->dimension;
    int inner = stacked->is_unit || d < stacked->dimension ? d : d - 1;
    dims[d] = is_along ? 1 : elements->dims[inner];
    operands[2 + d] = is_along ? stacked->whole->operands[2 + d] : update->operands[2 + inner];
  }
  const Shape *shape = shape_array(x->parent->module->shapes, elements->type, dims, rank);
  operands[1] = reshaped(update->operands[1], shape);
  return hlo_computation_add(x->parent, HLO_DYNAMIC_UPDATE_SLICE, x->shape, operands, 2 + rank, (StringView){0});
}

/* The part of this round as it lies in |x|. */
static HloInstruction *part_of_whole(const StackedPart *stacked, HloInstruction *x) {
  const HloInstruction *whole = stacked->whole;
  HloInstruction *operands[RANK_LIMIT + 1] = {x};
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) operands[1 + d] = whole->operands[2 + d];
  const Shape *shape = whole->operands[1]->shape;
  HloInstruction *slice = hlo_computation_add(x->parent, HLO_DYNAMIC_SLICE, shape, operands, 1 + rank, (StringView){0});
  hlo_instruction_set_ints(slice, HLO_ATTR_DYNAMIC_SLICE_SIZES, shape->dims, rank);
  return reshaped(slice, stacked->part->shape);
}

static bool touches_control(const ControlEdges *edges, const StackedPart *stacked) {
  bool touches = control_edges_touch(edges, stacked->whole);
  for (int i = 0; i < stacked->update_count; i++) touches |= control_edges_touch(edges, stacked->updates[i]);
  return touches;
}

static void update_in_place(LoopState *state, const StackedPart *stacked) {
  HloInstruction *x = stacked->whole->operands[0], *part = stacked->part;
  for (int i = 0; i < stacked->update_count; i++) x = update_of_whole(stacked, stacked->updates[i], x);
  hlo_instruction_replace_all_uses(stacked->whole, x);
  if (part->user_count > 1) hlo_instruction_replace_all_uses(part, part_of_whole(stacked, x));
  hlo_instruction_replace_operand(state->init, stacked->result, state->init->operands[stacked->source]);
}

bool stacked_state_rewrite(ControlWalk *walk, LoopState *state) {
  TripCount count;
  bool changed = false;
  if (!trip_count_find(state->loop, &count) || count.first != 0 || count.step != 1) return false;
  if (state->init->user_count > 1) return false;
  for (int i = 0; i < state->count && hlo_pass_may_rewrite(walk->context); i++) {
    StackedPart stacked;
    if (!find_part(state, &count, i, &stacked)) continue;
    ControlEdges edges;
    control_edges_init(&edges, state->body, walk->context->scratch);
    if (touches_control(&edges, &stacked)) continue;
    control_walk_note(walk, "stacked-state", state->loop);
    update_in_place(state, &stacked);
    changed = true;
  }
  return changed;
}
