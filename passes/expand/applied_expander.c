#include "base/checked_math.h"
#include "hlo/analysis/lane_region.h"
#include "passes/expand/applied_internal.h"

/* Operations that apply a computation which is more than an expression of scalars (it has dots, sorts, loops, arrays
 * …): a loop that takes the elements, runs the computation, and puts its results where they belong. */

/* --- pieces --- */

bool applied_steps_fit(int64_t steps) {
  return steps >= 0 && steps <= INT32_MAX;
}

bool applied_needs_loop(const HloInstruction *origin) {
  static const HloAttrId ids[] = {HLO_ATTR_TO_APPLY, HLO_ATTR_SELECT_COMPUTATION, HLO_ATTR_SCATTER_COMPUTATION};
  bool is_lanewise = true;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    if (hlo_instruction_attr(origin, ids[i]) == NULL) continue;
    is_lanewise = is_lanewise && hlo_region_is_lanewise(hlo_instruction_computation(origin, ids[i]));
  }
  for (int i = 0; i < origin->operand_count; i++) {
    if (!shape_is_array(origin->operands[i]->shape) || shape_is_dynamic(origin->operands[i]->shape)) return false;
  }
  return !is_lanewise;
}

HloInstruction *applied_list(GraphBuilder *builder, int operand, const int64_t *permutation) {
  HloInstruction *value = graph_operand(builder, operand);
  if (permutation != NULL) value = graph_transpose(builder, value, permutation);
  const int64_t count = shape_element_count(value->shape);
  return graph_reshape(builder, value, &count, 1);
}

const Shape *applied_shape(const GraphBuilder *builder, int index) {
  return shape_result(builder->origin->shape, index);
}

HloInstruction *applied_results(GraphBuilder *builder, HloInstruction *const *lists, int count) {
  HloInstruction **results = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + 1);
  for (int i = 0; i < count; i++) {
    const Shape *shape = applied_shape(builder, i);
    results[i] = graph_reshape(builder, lists[i], shape->dims, shape->rank);
  }
  return shape_is_tuple(builder->origin->shape) ? graph_tuple(builder, results, count) : results[0];
}

HloInstruction *applied_fill(GraphBuilder *builder, int index, HloInstruction *scalar, int64_t count) {
  scalar = graph_convert(builder, scalar, applied_shape(builder, index)->type);
  return graph_broadcast(builder, scalar, NULL, 0, &count, 1);
}

HloInstruction *applied_store(GraphBuilder *inside, HloInstruction *list, HloInstruction *place,
                              HloInstruction *value) {
  const int64_t one = 1;
  value = graph_convert(inside, value, list->shape->type);
  return graph_put(inside, list, graph_reshape(inside, value, &one, 1), 0, place);
}

void applied_call(GraphBuilder *inside, const HloComputation *region, HloInstruction *const *arguments,
                  HloInstruction **out_results, int count) {
  int64_t parameters = region->parameters.count;
  HloInstruction **converted = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, parameters + 1);
  for (int64_t i = 0; i < parameters; i++)
    converted[i] = graph_convert(inside, arguments[i], region->parameters.data[i]->shape->type);
  HloInstruction *result = hlo_computation_inline(inside->computation, region, converted);
  bool is_tuple = shape_is_tuple(result->shape);
  for (int i = 0; i < count; i++) out_results[i] = is_tuple ? graph_element(inside, result, i) : result;
}

/* --- places --- */

HloInstruction *place_with(GraphBuilder *inside, HloOpcode opcode, HloInstruction *place, int64_t number) {
  return graph_binary(inside, opcode, place, graph_integer(inside, TYPE_S64, number, NULL));
}

HloInstruction *place_digit(GraphBuilder *inside, HloInstruction *place, const int64_t *dims, int rank, int dimension) {
  int64_t stride = 1;
  for (int i = dimension + 1; i < rank; i++) stride *= dims[i];
  if (stride != 1) place = place_with(inside, HLO_DIVIDE, place, stride);
  return dimension == 0 ? place : place_with(inside, HLO_REMAINDER, place, dims[dimension]);
}

HloInstruction *place_is_below(GraphBuilder *inside, HloInstruction *place, int64_t size) {
  HloInstruction *zero = graph_integer(inside, TYPE_S64, 0, NULL), *end = graph_integer(inside, TYPE_S64, size, NULL);
  return place_both(inside, graph_compare(inside, COMPARISON_DIRECTION_GE, place, zero),
                    graph_compare(inside, COMPARISON_DIRECTION_LT, place, end));
}

HloInstruction *place_both(GraphBuilder *inside, HloInstruction *a, HloInstruction *b) {
  return graph_binary(inside, HLO_AND, a, b);
}

/* --- map --- */

/* Values of the loop: the operands, the result. */
static void map_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                     HloInstruction **out_values) {
  const HloInstruction *map = context;
  HloInstruction **arguments = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, map->operand_count), *result;
  HloInstruction *place = graph_convert(inside, step, TYPE_S64);
  for (int i = 0; i < map->operand_count; i++) {
    out_values[i] = values[i];
    arguments[i] = graph_scalar_at(inside, values[i], place);
  }
  applied_call(inside, hlo_instruction_computation(map, HLO_ATTR_TO_APPLY), arguments, &result, 1);
  out_values[map->operand_count] = applied_store(inside, values[map->operand_count], place, result);
}

static HloInstruction *expand_applied_map(GraphBuilder *builder) {
  HloInstruction *map = builder->origin;
  int64_t count = shape_element_count(map->shape);
  if (!applied_needs_loop(map) || !applied_steps_fit(count)) return NULL;
  for (int i = 0; i < map->operand_count; i++) {
    if (!shape_same_dims(map->operands[i]->shape, map->shape)) return NULL;
  }
  HloInstruction *result = graph_zero(builder, map->shape->type, map->shape);
  if (count == 0) return result;
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, map->operand_count + 1);
  for (int i = 0; i < map->operand_count; i++) values[i] = applied_list(builder, i, NULL);
  values[map->operand_count] = graph_reshape(builder, result, &count, 1);
  graph_loop(builder, &(GraphLoop){.trips = count, .count = map->operand_count + 1, .body = map_step, .context = map},
             values, values);
  return applied_results(builder, &values[map->operand_count], 1);
}

/* --- reduce --- */

typedef struct Reduction {
  const HloComputation *region;
  int count;      /* of inputs, and of results */
  int64_t length; /* elements that become one */
} Reduction;

/* Values of the loop: inputs, results so far. */
static void reduce_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                        HloInstruction **out_values) {
  const Reduction *reduction = context;
  int count = reduction->count;
  HloInstruction **arguments = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, 3 * count);
  HloInstruction **results = arguments + 2 * count, *place = graph_convert(inside, step, TYPE_S64);
  HloInstruction *row = place_with(inside, HLO_DIVIDE, place, reduction->length);
  for (int i = 0; i < count; i++) {
    out_values[i] = values[i];
    arguments[i] = graph_scalar_at(inside, values[count + i], row);
    arguments[count + i] = graph_scalar_at(inside, values[i], place);
  }
  applied_call(inside, reduction->region, arguments, results, count);
  for (int i = 0; i < count; i++) out_values[count + i] = applied_store(inside, values[count + i], row, results[i]);
}

/* The dimensions of |operand| with those of |last| after the others; returns how many elements these have. */
static int64_t move_last(const Shape *operand, Int64List last, int64_t *out_permutation) {
  int next = 0;
  int64_t length = 1;
  for (int pass = 0; pass < 2; pass++) {
    for (int d = 0; d < operand->rank; d++) {
      bool is_last = false;
      for (int64_t i = 0; i < last.count; i++) is_last = is_last || last.data[i] == d;
      if (is_last != (pass == 1)) continue;
      out_permutation[next++] = d;
      if (is_last) length *= operand->dims[d];
    }
  }
  return length;
}

static HloInstruction *expand_applied_reduce(GraphBuilder *builder) {
  HloInstruction *reduce = builder->origin;
  const Shape *operand = reduce->operands[0]->shape;
  int count = reduce->operand_count / 2;
  if (!applied_needs_loop(reduce) || !applied_steps_fit(shape_element_count(operand))) return NULL;
  int64_t *permutation = ARENA_NEW_ARRAY(builder->scratch, int64_t, operand->rank + 1);
  Reduction reduction = {.region = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY), .count = count};
  reduction.length = move_last(operand, hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS), permutation);
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, 2 * count);
  for (int i = 0; i < count; i++) {
    values[i] = applied_list(builder, i, permutation);
    values[count + i] =
        applied_fill(builder, i, graph_operand(builder, count + i), shape_element_count(applied_shape(builder, i)));
  }
  if (shape_element_count(operand) > 0) {
    const GraphLoop loop = {
        .trips = shape_element_count(operand), .count = 2 * count, .body = reduce_step, .context = &reduction};
    graph_loop(builder, &loop, values, values);
  }
  return applied_results(builder, values + count, count);
}

static const GraphRuleRow rules[] = {
    {HLO_MAP, expand_applied_map},
    {HLO_REDUCE, expand_applied_reduce},
    {HLO_REDUCE_WINDOW, expand_applied_window},
    {HLO_SCATTER, expand_applied_scatter},
    {HLO_SELECT_AND_SCATTER, expand_applied_select},
    {HLO_SORT, expand_applied_sort},
};

static Status run_applied_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_applied_expander_pass = {"applied-expander",
                                           "apply computations that are more than expressions of scalars in loops",
                                           run_applied_expander, false};
