#include "base/checked_math.h"
#include "passes/expand/applied_internal.h"

/* Windows and scatters by any computation: a step of the loop for each element of each window, or of the updates. */

/* --- reduce-window and select-and-scatter --- */

typedef struct WindowWalk {
  const HloInstruction *origin;
  const Shape *operand, *places; /* |places|: dimensions of the array that has an element for each window */
  int64_t *sizes, taps;          /* of a window; their product */
  int count;                     /* of inputs */
} WindowWalk;

static WindowDimension window_at(const HloInstruction *origin, int dimension) {
  const Window *windows = hlo_instruction_window(origin);
  if (windows == NULL) return (WindowDimension){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  return windows->dims[dimension];
}

static bool walk_init(WindowWalk *walk, const HloInstruction *origin, const Shape *places, Arena *scratch,
                      int64_t *out_steps) {
  *walk = (WindowWalk){.origin = origin, .operand = origin->operands[0]->shape, .places = places, .taps = 1};
  walk->sizes = ARENA_NEW_ARRAY(scratch, int64_t, walk->operand->rank + 1);
  for (int d = 0; d < walk->operand->rank; d++) {
    walk->sizes[d] = window_at(origin, d).size;
    if (!checked_mul(walk->taps, walk->sizes[d], &walk->taps)) return false;
  }
  return checked_mul(walk->taps, shape_element_count(places), out_steps) && applied_steps_fit(*out_steps);
}

/* The place in the operand of element |tap| of the window of |place|; |*out_inside|: whether there is one. */
static HloInstruction *window_place(GraphBuilder *inside, const WindowWalk *walk, HloInstruction *place,
                                    HloInstruction *tap, HloInstruction **out_inside) {
  int rank = walk->operand->rank;
  HloInstruction *result = graph_integer(inside, TYPE_S64, 0, NULL);
  *out_inside = graph_integer(inside, TYPE_PRED, 1, NULL);
  for (int d = 0; d < rank; d++) {
    WindowDimension window = window_at(walk->origin, d);
    HloInstruction *at = place_digit(inside, place, walk->places->dims, rank, d);
    HloInstruction *offset = place_digit(inside, tap, walk->sizes, rank, d);
    at = place_with(inside, HLO_MULTIPLY, at, window.stride);
    at = graph_binary(inside, HLO_ADD, at, place_with(inside, HLO_MULTIPLY, offset, window.window_dilation));
    at = place_with(inside, HLO_SUBTRACT, at, window.pad_low);
    HloInstruction *rest = place_with(inside, HLO_REMAINDER, at, window.base_dilation);
    HloInstruction *meets =
        graph_compare(inside, COMPARISON_DIRECTION_EQ, rest, graph_integer(inside, TYPE_S64, 0, NULL));
    at = place_with(inside, HLO_DIVIDE, at, window.base_dilation);
    HloInstruction *is_there = place_both(inside, meets, place_is_below(inside, at, walk->operand->dims[d]));
    *out_inside = place_both(inside, *out_inside, is_there);
    result = graph_binary(inside, HLO_ADD, place_with(inside, HLO_MULTIPLY, result, walk->operand->dims[d]), at);
  }
  return result;
}

/* Values of the loop: inputs, results so far. */
static void window_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                        HloInstruction **out_values) {
  const WindowWalk *walk = context;
  int count = walk->count;
  HloInstruction **arguments = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, 3 * count);
  HloInstruction **results = arguments + 2 * count, *is_inside;
  step = graph_convert(inside, step, TYPE_S64);
  HloInstruction *row = place_with(inside, HLO_DIVIDE, step, walk->taps);
  HloInstruction *tap = place_with(inside, HLO_REMAINDER, step, walk->taps);
  HloInstruction *place = window_place(inside, walk, row, tap, &is_inside);
  for (int i = 0; i < count; i++) {
    out_values[i] = values[i];
    arguments[i] = graph_scalar_at(inside, values[count + i], row);
    arguments[count + i] = graph_scalar_at(inside, values[i], place);
  }
  applied_call(inside, hlo_instruction_computation(walk->origin, HLO_ATTR_TO_APPLY), arguments, results, count);
  for (int i = 0; i < count; i++) {
    HloInstruction *result = graph_convert(inside, results[i], arguments[i]->shape->type);
    result = graph_select(inside, is_inside, result, arguments[i]);
    out_values[count + i] = applied_store(inside, values[count + i], row, result);
  }
}

HloInstruction *expand_applied_window(GraphBuilder *builder) {
  HloInstruction *origin = builder->origin;
  WindowWalk walk;
  int64_t steps;
  const Shape *places = applied_shape(builder, 0);
  if (!applied_needs_loop(origin) || !walk_init(&walk, origin, places, builder->scratch, &steps)) return NULL;
  int count = walk.count = origin->operand_count / 2;
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, 2 * count);
  for (int i = 0; i < count; i++) {
    values[i] = applied_list(builder, i, NULL);
    values[count + i] = applied_fill(builder, i, graph_operand(builder, count + i), shape_element_count(places));
  }
  if (steps > 0 && shape_element_count(walk.operand) > 0)
    graph_loop(builder, &(GraphLoop){.trips = steps, .count = 2 * count, .body = window_step, .context = &walk}, values,
               values);
  return applied_results(builder, values + count, count);
}

/* Values of the loop: operand, source, result so far; of the element selected so far its value, its place, and whether
 * there is one. */
enum { SELECT_OPERAND, SELECT_SOURCE, SELECT_RESULT, SELECT_VALUE, SELECT_PLACE, SELECT_ANY, SELECT_COUNT };

static void select_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                        HloInstruction **out) {
  const WindowWalk *walk = context;
  HloInstruction *is_inside, *keeps, *none = graph_integer(inside, TYPE_PRED, 0, NULL), *combined;
  step = graph_convert(inside, step, TYPE_S64);
  HloInstruction *row = place_with(inside, HLO_DIVIDE, step, walk->taps);
  HloInstruction *tap = place_with(inside, HLO_REMAINDER, step, walk->taps);
  HloInstruction *place = window_place(inside, walk, row, tap, &is_inside);
  HloInstruction *candidate = graph_scalar_at(inside, values[SELECT_OPERAND], place);
  applied_call(inside, hlo_instruction_computation(walk->origin, HLO_ATTR_SELECT_COMPUTATION),
               (HloInstruction *[]){values[SELECT_VALUE], candidate}, &keeps, 1);
  HloInstruction *is_first =
      graph_compare(inside, COMPARISON_DIRECTION_EQ, tap, graph_integer(inside, TYPE_S64, 0, NULL));
  HloInstruction *any = graph_select(inside, is_first, none, values[SELECT_ANY]);
  HloInstruction *takes = graph_unary(inside, HLO_NOT, place_both(inside, any, keeps));
  takes = place_both(inside, takes, is_inside);
  out[SELECT_OPERAND] = values[SELECT_OPERAND];
  out[SELECT_SOURCE] = values[SELECT_SOURCE];
  out[SELECT_VALUE] = graph_select(inside, takes, candidate, values[SELECT_VALUE]);
  out[SELECT_PLACE] = graph_select(inside, takes, place, values[SELECT_PLACE]);
  out[SELECT_ANY] = graph_binary(inside, HLO_OR, any, takes);
  HloInstruction *old = graph_scalar_at(inside, values[SELECT_RESULT], out[SELECT_PLACE]);
  applied_call(inside, hlo_instruction_computation(walk->origin, HLO_ATTR_SCATTER_COMPUTATION),
               (HloInstruction *[]){old, graph_scalar_at(inside, values[SELECT_SOURCE], row)}, &combined, 1);
  HloInstruction *is_last =
      graph_compare(inside, COMPARISON_DIRECTION_EQ, tap, graph_integer(inside, TYPE_S64, walk->taps - 1, NULL));
  HloInstruction *changes = place_both(inside, is_last, out[SELECT_ANY]);
  combined = graph_select(inside, changes, graph_convert(inside, combined, old->shape->type), old);
  out[SELECT_RESULT] = applied_store(inside, values[SELECT_RESULT], out[SELECT_PLACE], combined);
}

HloInstruction *expand_applied_select(GraphBuilder *builder) {
  HloInstruction *origin = builder->origin;
  WindowWalk walk;
  int64_t steps;
  if (!applied_needs_loop(origin) || !walk_init(&walk, origin, origin->operands[1]->shape, builder->scratch, &steps))
    return NULL;
  HloInstruction *values[SELECT_COUNT] = {
      [SELECT_OPERAND] = applied_list(builder, 0, NULL),
      [SELECT_SOURCE] = applied_list(builder, 1, NULL),
      [SELECT_RESULT] = applied_fill(builder, 0, graph_operand(builder, 2), shape_element_count(walk.operand)),
      [SELECT_VALUE] = graph_zero(builder, walk.operand->type, NULL),
      [SELECT_PLACE] = graph_integer(builder, TYPE_S64, 0, NULL),
      [SELECT_ANY] = graph_integer(builder, TYPE_PRED, 0, NULL),
  };
  if (steps > 0 && shape_element_count(walk.operand) > 0)
    graph_loop(builder, &(GraphLoop){.trips = steps, .count = SELECT_COUNT, .body = select_step, .context = &walk},
               values, values);
  return applied_results(builder, &values[SELECT_RESULT], 1);
}

/* --- scatter --- */

typedef struct ScatterWalk {
  const HloInstruction *scatter;
  const Shape *operand, *indices;
  int count;            /* of operands */
  int64_t *updates;     /* dimensions of the updates, those of windows last */
  int rank, batch_rank; /* of the updates; of what comes before windows */
} ScatterWalk;

/* Component |component| of the index vector for the update at |place|. */
static HloInstruction *index_component(GraphBuilder *inside, const ScatterWalk *walk, HloInstruction *indices,
                                       HloInstruction *place, int64_t component) {
  int64_t vector_dim = hlo_instruction_int(walk->scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  HloInstruction *at = graph_integer(inside, TYPE_S64, 0, NULL);
  for (int d = 0, next = 0; d < walk->indices->rank; d++) {
    HloInstruction *digit = d == vector_dim ? graph_integer(inside, TYPE_S64, component, NULL)
                                            : place_digit(inside, place, walk->updates, walk->rank, next++);
    at = graph_binary(inside, HLO_ADD, place_with(inside, HLO_MULTIPLY, at, walk->indices->dims[d]), digit);
  }
  return graph_convert(inside, graph_scalar_at(inside, indices, at), TYPE_S64);
}

/* The place in the operands for the update at |place|; |*out_fits|: the whole window lies inside. */
static HloInstruction *scatter_place(GraphBuilder *inside, const ScatterWalk *walk, HloInstruction *indices,
                                     HloInstruction *place, HloInstruction **out_fits) {
  const HloInstruction *scatter = walk->scatter;
  Int64List inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS),
            map = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
            batching = hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS),
            batched = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS);
  int64_t vector_dim = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  HloInstruction *result = graph_integer(inside, TYPE_S64, 0, NULL);
  *out_fits = graph_integer(inside, TYPE_PRED, 1, NULL);
  for (int d = 0, window = walk->batch_rank; d < walk->operand->rank; d++) {
    HloInstruction *at = graph_integer(inside, TYPE_S64, 0, NULL);
    int64_t size = 1, component = int64_list_find(map, d), batch = int64_list_find(batching, d);
    if (batch >= 0) {
      int64_t dim = batched.data[batch];
      at = place_digit(inside, place, walk->updates, walk->rank, (int)(dim - (dim > vector_dim ? 1 : 0)));
    } else if (!int64_list_has(inserted, d)) {
      size = walk->updates[window];
      at = place_digit(inside, place, walk->updates, walk->rank, window++);
    }
    if (batch < 0 && component >= 0) {
      HloInstruction *start = index_component(inside, walk, indices, place, component);
      *out_fits = place_both(inside, *out_fits, place_is_below(inside, start, walk->operand->dims[d] - size + 1));
      at = graph_binary(inside, HLO_ADD, at, start);
    }
    result = graph_binary(inside, HLO_ADD, place_with(inside, HLO_MULTIPLY, result, walk->operand->dims[d]), at);
  }
  return result;
}

/* Values of the loop: results so far, indices, updates. */
static void scatter_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                         HloInstruction **out_values) {
  const ScatterWalk *walk = context;
  int count = walk->count;
  HloInstruction **arguments = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, 3 * count), *fits;
  HloInstruction **results = arguments + 2 * count, *place = graph_convert(inside, step, TYPE_S64);
  HloInstruction *target = scatter_place(inside, walk, values[count], place, &fits);
  out_values[count] = values[count];
  for (int i = 0; i < count; i++) {
    out_values[count + 1 + i] = values[count + 1 + i];
    arguments[i] = graph_scalar_at(inside, values[i], target);
    arguments[count + i] = graph_scalar_at(inside, values[count + 1 + i], place);
  }
  applied_call(inside, hlo_instruction_computation(walk->scatter, HLO_ATTR_TO_APPLY), arguments, results, count);
  for (int i = 0; i < count; i++) {
    HloInstruction *result = graph_convert(inside, results[i], arguments[i]->shape->type);
    out_values[i] = applied_store(inside, values[i], target, graph_select(inside, fits, result, arguments[i]));
  }
}

HloInstruction *expand_applied_scatter(GraphBuilder *builder) {
  HloInstruction *scatter = builder->origin;
  int count = scatter->operand_count / 2;
  const Shape *updates = scatter->operands[count + 1]->shape;
  int64_t steps = shape_element_count(updates);
  if (!applied_needs_loop(scatter) || !applied_steps_fit(steps)) return NULL;
  ScatterWalk walk = {scatter, scatter->operands[0]->shape, scatter->operands[count]->shape, count, NULL, updates->rank,
                      0};
  Int64List windows = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  walk.updates = ARENA_NEW_ARRAY(builder->scratch, int64_t, updates->rank + 1);
  int64_t *permutation = ARENA_NEW_ARRAY(builder->scratch, int64_t, updates->rank + 1);
  for (int d = 0; d < updates->rank; d++) {
    if (!int64_list_has(windows, d)) permutation[walk.batch_rank++] = d;
  }
  for (int i = 0; i < windows.count; i++) permutation[walk.batch_rank + i] = windows.data[i];
  for (int d = 0; d < updates->rank; d++) walk.updates[d] = updates->dims[permutation[d]];
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, 2 * count + 1);
  for (int i = 0; i < count; i++) {
    values[i] = applied_list(builder, i, NULL);
    values[count + 1 + i] = applied_list(builder, count + 1 + i, permutation);
  }
  values[count] = applied_list(builder, count, NULL);
  if (steps > 0 && shape_element_count(walk.operand) > 0 && shape_element_count(walk.indices) > 0)
    graph_loop(builder, &(GraphLoop){.trips = steps, .count = 2 * count + 1, .body = scatter_step, .context = &walk},
               values, values);
  return applied_results(builder, values, count);
}
