#include "passes/expand/graph_builder.h"

#include <string.h>

#include "passes/cleanup/shape_coercion.h"

ShapeTable *graph_shapes(const GraphBuilder *builder) {
  return builder->computation->module->shapes;
}

HloInstruction *graph_add(GraphBuilder *builder, HloOpcode opcode, const Shape *shape, HloInstruction *const *operands,
                          int count) {
  HloInstruction *result = hlo_computation_add(builder->computation, opcode, shape, operands, count, (StringView){0});
  hlo_instruction_inherit_metadata(result, builder->origin);
  /* Of the whole operation only; and what two of them have in common should look alike. */
  hlo_instruction_remove_attr(result, HLO_ATTR_FRONTEND_ATTRIBUTES);
  hlo_instruction_remove_attr(result, HLO_ATTR_SHARDING);
  return result;
}

static const Shape *plain_shape(const GraphBuilder *builder, const Shape *shape, PrimitiveType type) {
  return shape_array(graph_shapes(builder), type, shape->dims, shape->rank);
}

/* --- elementwise --- */

HloInstruction *graph_plain(GraphBuilder *builder, HloInstruction *value) {
  const Shape *shape = plain_shape(builder, value->shape, value->shape->type);
  return value->shape == shape ? value : graph_add(builder, HLO_COPY, shape, &value, 1);
}

HloInstruction *graph_operand(GraphBuilder *builder, int index) {
  return graph_plain(builder, builder->origin->operands[index]);
}

HloInstruction *graph_unary(GraphBuilder *builder, HloOpcode opcode, HloInstruction *a) {
  return graph_add(builder, opcode, plain_shape(builder, a->shape, a->shape->type), &a, 1);
}

HloInstruction *graph_binary(GraphBuilder *builder, HloOpcode opcode, HloInstruction *a, HloInstruction *b) {
  return graph_add(builder, opcode, plain_shape(builder, a->shape, a->shape->type), (HloInstruction *[]){a, b}, 2);
}

HloInstruction *graph_compare(GraphBuilder *builder, ComparisonDirection direction, HloInstruction *a,
                              HloInstruction *b) {
  const Shape *shape = plain_shape(builder, a->shape, TYPE_PRED);
  HloInstruction *result = graph_add(builder, HLO_COMPARE, shape, (HloInstruction *[]){a, b}, 2);
  hlo_instruction_set_int(result, HLO_ATTR_DIRECTION, direction);
  return result;
}

HloInstruction *graph_select(GraphBuilder *builder, HloInstruction *predicate, HloInstruction *on_true,
                             HloInstruction *on_false) {
  const Shape *shape = plain_shape(builder, on_true->shape, on_true->shape->type);
  return graph_add(builder, HLO_SELECT, shape, (HloInstruction *[]){predicate, on_true, on_false}, 3);
}

HloInstruction *graph_convert(GraphBuilder *builder, HloInstruction *value, PrimitiveType type) {
  if (value->shape->type == type) return value;
  return graph_add(builder, HLO_CONVERT, plain_shape(builder, value->shape, type), &value, 1);
}

HloInstruction *graph_part(GraphBuilder *builder, HloOpcode part, HloInstruction *value) {
  PrimitiveType type = value->shape->type;
  if (!type_is_complex(type)) return part == HLO_REAL ? value : graph_zero(builder, type, value->shape);
  return graph_add(builder, part, plain_shape(builder, value->shape, type_complex_part(type)), &value, 1);
}

HloInstruction *graph_bitcast_convert(GraphBuilder *builder, HloInstruction *value, PrimitiveType type) {
  if (value->shape->type == type) return value;
  return graph_add(builder, HLO_BITCAST_CONVERT, plain_shape(builder, value->shape, type), &value, 1);
}

/* --- constants --- */

static HloInstruction *constant_like(GraphBuilder *builder, const Literal *literal, const Shape *like) {
  HloInstruction *scalar = hlo_computation_add_constant(builder->computation, literal, (StringView){0});
  return like == NULL ? scalar : graph_splat(builder, scalar, like);
}

HloInstruction *graph_zero(GraphBuilder *builder, PrimitiveType type, const Shape *like) {
  const Shape *scalar = shape_scalar(graph_shapes(builder), type);
  return constant_like(builder, literal_create(builder->computation->module->arena, scalar), like);
}

HloInstruction *graph_real(GraphBuilder *builder, PrimitiveType type, double value, const Shape *like) {
  Literal *literal = literal_create(builder->computation->module->arena, shape_scalar(graph_shapes(builder), type));
  literal_set_double(literal, 0, value);
  return constant_like(builder, literal, like);
}

HloInstruction *graph_integer(GraphBuilder *builder, PrimitiveType type, int64_t value, const Shape *like) {
  Literal *literal = literal_create(builder->computation->module->arena, shape_scalar(graph_shapes(builder), type));
  literal_set_int(literal, 0, value);
  return constant_like(builder, literal, like);
}

HloInstruction *graph_constant(GraphBuilder *builder, PrimitiveType type, const void *element) {
  Literal *literal = literal_create(builder->computation->module->arena, shape_scalar(graph_shapes(builder), type));
  memcpy(literal->data, element, (size_t)type_storage_bytes(type));
  return constant_like(builder, literal, NULL);
}

HloInstruction *graph_iota(GraphBuilder *builder, PrimitiveType type, const int64_t *dims, int rank,
                           int64_t dimension) {
  HloInstruction *result = graph_add(builder, HLO_IOTA, shape_array(graph_shapes(builder), type, dims, rank), NULL, 0);
  hlo_instruction_set_int(result, HLO_ATTR_IOTA_DIMENSION, dimension);
  return result;
}

/* --- movement --- */

HloInstruction *graph_reshape(GraphBuilder *builder, HloInstruction *value, const int64_t *dims, int rank) {
  const Shape *shape = shape_array(graph_shapes(builder), value->shape->type, dims, rank);
  return value->shape == shape ? value : graph_add(builder, HLO_RESHAPE, shape, &value, 1);
}

HloInstruction *graph_broadcast(GraphBuilder *builder, HloInstruction *value, const int64_t *dimensions, int count,
                                const int64_t *dims, int rank) {
  const Shape *shape = shape_array(graph_shapes(builder), value->shape->type, dims, rank);
  HloInstruction *result = graph_add(builder, HLO_BROADCAST, shape, &value, 1);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dimensions, count);
  return result;
}

HloInstruction *graph_splat(GraphBuilder *builder, HloInstruction *scalar, const Shape *like) {
  if (like->rank == 0) return scalar;
  return graph_broadcast(builder, scalar, NULL, 0, like->dims, like->rank);
}

HloInstruction *graph_slice(GraphBuilder *builder, HloInstruction *value, int dimension, int64_t start, int64_t limit) {
  HloModule *module = builder->computation->module;
  int rank = value->shape->rank;
  SliceDimension *ranges = ARENA_NEW_ARRAY(module->arena, SliceDimension, rank);
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, value->shape->dims, rank);
  for (int i = 0; i < rank; i++) ranges[i] = (SliceDimension){0, dims[i], 1};
  ranges[dimension] = (SliceDimension){start, limit, 1};
  dims[dimension] = limit - start;
  const Shape *shape = shape_array(module->shapes, value->shape->type, dims, rank);
  HloInstruction *slice = graph_add(builder, HLO_SLICE, shape, &value, 1);
  SliceRanges *attribute = ARENA_NEW(module->arena, SliceRanges);
  *attribute = (SliceRanges){rank, ranges};
  hlo_instruction_set_attr(slice, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = attribute});
  return slice;
}

HloInstruction *graph_pad(GraphBuilder *builder, HloInstruction *value, HloInstruction *fill, int dimension,
                          int64_t high) {
  const Shape *from = value->shape;
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, from->dims, from->rank);
  dims[dimension] += high;
  const Shape *shape = shape_array(graph_shapes(builder), from->type, dims, from->rank);
  HloInstruction *padded = graph_add(builder, HLO_PAD, shape, (HloInstruction *[]){value, fill}, 2);
  Arena *arena = builder->computation->module->arena;
  PaddingDimension *padding = ARENA_NEW_ARRAY(arena, PaddingDimension, from->rank);
  padding[dimension].high = high;
  PaddingConfig *config = ARENA_NEW(arena, PaddingConfig);
  *config = (PaddingConfig){from->rank, padding};
  hlo_instruction_set_attr(padded, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = config});
  return padded;
}

HloInstruction *graph_reverse(GraphBuilder *builder, HloInstruction *value, const int64_t *dimensions, int count) {
  HloInstruction *reversed = graph_unary(builder, HLO_REVERSE, value);
  hlo_instruction_set_ints(reversed, HLO_ATTR_DIMENSIONS, dimensions, count);
  return reversed;
}

HloInstruction *graph_transpose(GraphBuilder *builder, HloInstruction *value, const int64_t *permutation) {
  int rank = value->shape->rank;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, rank + 1);
  for (int i = 0; i < rank; i++) dims[i] = value->shape->dims[permutation[i]];
  const Shape *shape = shape_array(graph_shapes(builder), value->shape->type, dims, rank);
  HloInstruction *result = graph_add(builder, HLO_TRANSPOSE, shape, &value, 1);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, permutation, rank);
  return result;
}

HloInstruction *graph_concatenate(GraphBuilder *builder, HloInstruction *const *values, int count, int64_t dimension) {
  if (count == 1) return values[0];
  const Shape *first = values[0]->shape;
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, first->dims, first->rank);
  for (int i = 1; i < count; i++) dims[dimension] += values[i]->shape->dims[dimension];
  const Shape *shape = shape_array(graph_shapes(builder), first->type, dims, first->rank);
  HloInstruction *result = graph_add(builder, HLO_CONCATENATE, shape, values, count);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, &dimension, 1);
  return result;
}

/* |operands| followed by an index for each dimension of the first: 0 but for |dimension|. */
static HloInstruction *add_indexed(GraphBuilder *builder, HloOpcode opcode, const Shape *shape,
                                   HloInstruction *const *operands, int count, int dimension, HloInstruction *index) {
  int rank = operands[0]->shape->rank;
  HloInstruction **all = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + rank);
  HloInstruction *zero = rank > 1 ? graph_integer(builder, index->shape->type, 0, NULL) : NULL;
  for (int i = 0; i < count; i++) all[i] = operands[i];
  for (int i = 0; i < rank; i++) all[count + i] = i == dimension ? index : zero;
  return graph_add(builder, opcode, shape, all, count + rank);
}

HloInstruction *graph_take(GraphBuilder *builder, HloInstruction *value, int dimension, HloInstruction *index) {
  return graph_take_run(builder, value, dimension, index, 1);
}

HloInstruction *graph_scalar_at(GraphBuilder *builder, HloInstruction *list, HloInstruction *index) {
  return graph_reshape(builder, graph_take(builder, list, 0, index), NULL, 0);
}

HloInstruction *graph_take_run(GraphBuilder *builder, HloInstruction *value, int dimension, HloInstruction *index,
                               int64_t size) {
  int rank = value->shape->rank;
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, value->shape->dims, rank);
  dims[dimension] = size;
  const Shape *shape = shape_array(graph_shapes(builder), value->shape->type, dims, rank);
  HloInstruction *result = add_indexed(builder, HLO_DYNAMIC_SLICE, shape, &value, 1, dimension, index);
  hlo_instruction_set_ints(result, HLO_ATTR_DYNAMIC_SLICE_SIZES, dims, rank);
  return result;
}

HloInstruction *graph_take_diagonal(GraphBuilder *builder, HloInstruction *value, HloInstruction *index) {
  HloInstruction *operands[] = {value, graph_integer(builder, index->shape->type, 0, NULL), index, index};
  const int64_t dims[] = {value->shape->dims[0], 1, 1};
  const Shape *shape = shape_array(graph_shapes(builder), value->shape->type, dims, 3);
  HloInstruction *result = graph_add(builder, HLO_DYNAMIC_SLICE, shape, operands, 4);
  hlo_instruction_set_ints(result, HLO_ATTR_DYNAMIC_SLICE_SIZES, dims, 3);
  return result;
}

HloInstruction *graph_put(GraphBuilder *builder, HloInstruction *value, HloInstruction *update, int dimension,
                          HloInstruction *index) {
  return add_indexed(builder, HLO_DYNAMIC_UPDATE_SLICE, value->shape, (HloInstruction *[]){value, update}, 2, dimension,
                     index);
}

/* --- the rest --- */

static const HloAttrId batch_ids[] = {HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_RHS_BATCH_DIMS};
static const HloAttrId contracting_ids[] = {HLO_ATTR_LHS_CONTRACTING_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS};

HloInstruction *graph_dot(GraphBuilder *builder, HloInstruction *lhs, HloInstruction *rhs, int batch,
                          int64_t lhs_contracting, int64_t rhs_contracting) {
  HloInstruction *operands[] = {lhs, rhs};
  const int64_t contracting[] = {lhs_contracting, rhs_contracting};
  int rank = 0;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, lhs->shape->rank + rhs->shape->rank);
  int64_t *batches = ARENA_NEW_ARRAY(builder->scratch, int64_t, batch + 1);
  for (; rank < batch; rank++) dims[rank] = lhs->shape->dims[batches[rank] = rank];
  for (int side = 0; side < 2; side++) {
    for (int i = batch; i < operands[side]->shape->rank; i++) {
      if (i != contracting[side]) dims[rank++] = operands[side]->shape->dims[i];
    }
  }
  const Shape *shape = shape_array(graph_shapes(builder), lhs->shape->type, dims, rank);
  HloInstruction *dot = graph_add(builder, HLO_DOT, shape, operands, 2);
  for (int side = 0; side < 2; side++) {
    if (batch > 0) hlo_instruction_set_ints(dot, batch_ids[side], batches, batch);
    hlo_instruction_set_ints(dot, contracting_ids[side], &contracting[side], 1);
  }
  return dot;
}

static GraphBuilder inside_of(const GraphBuilder *builder, const char *name) {
  HloModule *module = builder->computation->module;
  return (GraphBuilder){hlo_module_add_computation(module, sv_from_cstring(name)), builder->origin, builder->scratch};
}

HloInstruction *graph_reduce(GraphBuilder *builder, HloOpcode opcode, HloInstruction *value, HloInstruction *init,
                             const int64_t *dimensions, int count) {
  GraphBuilder inside = inside_of(builder, "combine");
  HloInstruction *a = hlo_computation_add_parameter(inside.computation, 0, init->shape, SV("a"));
  HloInstruction *b = hlo_computation_add_parameter(inside.computation, 1, init->shape, SV("b"));
  hlo_computation_set_root(inside.computation, graph_binary(&inside, opcode, a, b));
  const Shape *full = value->shape;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, full->rank + 1);
  int rank = 0;
  for (int i = 0; i < full->rank; i++) {
    bool is_reduced = false;
    for (int k = 0; k < count; k++) is_reduced = is_reduced || dimensions[k] == i;
    if (!is_reduced) dims[rank++] = full->dims[i];
  }
  HloInstruction *operands[] = {value, init};
  HloInstruction *result =
      graph_add(builder, HLO_REDUCE, shape_array(graph_shapes(builder), full->type, dims, rank), operands, 2);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dimensions, count);
  hlo_instruction_set_computation(result, HLO_ATTR_TO_APPLY, inside.computation);
  return result;
}

HloInstruction *graph_tuple(GraphBuilder *builder, HloInstruction *const *elements, int count) {
  const Shape **shapes = ARENA_NEW_ARRAY(builder->scratch, const Shape *, count + 1);
  for (int i = 0; i < count; i++) shapes[i] = elements[i]->shape;
  return graph_add(builder, HLO_TUPLE, shape_tuple(graph_shapes(builder), shapes, count), elements, count);
}

HloInstruction *graph_element(GraphBuilder *builder, HloInstruction *tuple, int64_t index) {
  HloInstruction *result = graph_add(builder, HLO_GET_TUPLE_ELEMENT, tuple->shape->tuple[index], &tuple, 1);
  hlo_instruction_set_int(result, HLO_ATTR_INDEX, index);
  return result;
}

static HloComputation *loop_condition(const GraphBuilder *builder, const GraphLoop *loop, const Shape *state) {
  GraphBuilder inside = inside_of(builder, "condition");
  HloInstruction *parameter = hlo_computation_add_parameter(inside.computation, 0, state, SV("state"));
  HloInstruction *bound = graph_integer(&inside, TYPE_S32, loop->trips, NULL);
  HloInstruction *goes_on =
      graph_compare(&inside, COMPARISON_DIRECTION_LT, graph_element(&inside, parameter, 0), bound);
  if (loop->asks_last)
    goes_on = graph_binary(&inside, HLO_AND, goes_on, graph_element(&inside, parameter, state->tuple_size - 1));
  hlo_computation_set_root(inside.computation, goes_on);
  return inside.computation;
}

void graph_loop(GraphBuilder *builder, const GraphLoop *loop, HloInstruction *const *inits,
                HloInstruction **out_values) {
  int count = loop->count;
  HloInstruction **begin = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + 1);
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + 1);
  HloInstruction **next = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + 1);
  begin[0] = graph_integer(builder, TYPE_S32, 0, NULL);
  for (int i = 0; i < count; i++) begin[i + 1] = inits[i];
  HloInstruction *start = graph_tuple(builder, begin, count + 1);
  GraphBuilder inside = inside_of(builder, "body");
  HloInstruction *state = hlo_computation_add_parameter(inside.computation, 0, start->shape, SV("state"));
  HloInstruction *step = graph_element(&inside, state, 0);
  for (int i = 0; i < count; i++) values[i] = graph_element(&inside, state, i + 1);
  loop->body(&inside, loop->context, step, values, next + 1);
  next[0] = graph_binary(&inside, HLO_ADD, step, graph_integer(&inside, TYPE_S32, 1, NULL));
  hlo_computation_set_root(inside.computation, graph_tuple(&inside, next, count + 1));
  HloInstruction *result = graph_add(builder, HLO_WHILE, start->shape, &start, 1);
  hlo_instruction_set_computation(result, HLO_ATTR_CONDITION, loop_condition(builder, loop, start->shape));
  hlo_instruction_set_computation(result, HLO_ATTR_BODY, inside.computation);
  for (int i = 0; i < count; i++) out_values[i] = graph_element(builder, result, i + 1);
}

/* --- passes made of rules --- */

static GraphRule *rule_for(const GraphRuleRow *rules, int count, HloOpcode opcode) {
  for (int i = 0; i < count; i++) {
    if (rules[i].opcode == opcode) return rules[i].expand;
  }
  return NULL;
}

Status graph_apply_rules(HloPassContext *context, HloModule *module, const GraphRuleRow *rules, int count,
                         bool *out_changed) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t candidate_count;
    HloInstruction **candidates = hlo_computation_list(computation, context->scratch, &candidate_count);
    for (int64_t i = 0; i < candidate_count; i++) {
      GraphRule *expand = rule_for(rules, count, candidates[i]->opcode);
      if (expand == NULL) continue;
      GraphBuilder builder = {computation, candidates[i], context->scratch};
      HloInstruction *result = expand(&builder);
      if (result == NULL) continue;
      hlo_computation_replace_instruction(computation, candidates[i], shape_coerce(result, candidates[i]->shape));
      *out_changed = true;
    }
  }
  return STATUS_OK;
}
