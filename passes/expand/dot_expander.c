#include "base/checked_math.h"
#include "passes/expand/graph_builder.h"

/* ragged-dot and scaled-dot in terms of dot; dot and convolution with the type of their sums.
 *
 * ragged-dot: the left factor once for each group, zero outside of it.  A ragged dimension that is not summed over is a
 * sum over groups too; one that is makes a result for each group.  scaled-dot: factors times their scales, which are
 * repeated over their blocks. */

static const HloAttrId batch_ids[] = {HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_RHS_BATCH_DIMS};
static const HloAttrId contracting_ids[] = {HLO_ATTR_LHS_CONTRACTING_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS};

/* --- types --- */

static PrimitiveType sum_type(const HloInstruction *product) {
  return type_of_sums(product->operands[0]->shape->type, product->operands[1]->shape->type, product->shape->type);
}

static HloInstruction *convert_sums(GraphBuilder *builder, HloInstruction *sums, PrimitiveType type) {
  return graph_convert(builder, type_is_complex(type) ? sums : graph_part(builder, HLO_REAL, sums), type);
}

/* A product whose factors are of wider types than its result: sums of the wide type, then converted. */
static HloInstruction *expand_narrow_result(GraphBuilder *builder) {
  HloInstruction *product = builder->origin;
  PrimitiveType type = sum_type(product);
  if (type == product->shape->type) return NULL;
  const Shape *shape = shape_with_type(graph_shapes(builder), product->shape, type);
  HloInstruction *sums =
      hlo_computation_add_clone(builder->computation, product, shape, product->operands, product->operand_count);
  return convert_sums(builder, sums, product->shape->type);
}

/* --- ragged-dot --- */

/* [groups, length] of pred: whether a place belongs to a group; |sizes| are s32[groups] or the like. */
static HloInstruction *group_mask(GraphBuilder *builder, HloInstruction *sizes, int64_t length) {
  PrimitiveType type = sizes->shape->type;
  int64_t groups = sizes->shape->dims[0];
  const int64_t square[] = {groups, groups}, mask[] = {groups, length}, first = 0;
  HloInstruction *earlier = graph_compare(builder, COMPARISON_DIRECTION_LE, graph_iota(builder, type, square, 2, 1),
                                          graph_iota(builder, type, square, 2, 0));
  HloInstruction *ends = graph_dot(builder, graph_convert(builder, earlier, type), sizes, 0, 1, 0);
  HloInstruction *starts = graph_binary(builder, HLO_SUBTRACT, ends, sizes);
  HloInstruction *place = graph_iota(builder, type, mask, 2, 1);
  HloInstruction *is_behind =
      graph_compare(builder, COMPARISON_DIRECTION_GE, place, graph_broadcast(builder, starts, &first, 1, mask, 2));
  HloInstruction *is_before =
      graph_compare(builder, COMPARISON_DIRECTION_LT, place, graph_broadcast(builder, ends, &first, 1, mask, 2));
  return graph_binary(builder, HLO_AND, is_behind, is_before);
}

/* [groups, dimensions of |lhs|]: zero outside of the group along |ragged|. */
static HloInstruction *lhs_by_group(GraphBuilder *builder, HloInstruction *lhs, HloInstruction *sizes, int64_t ragged) {
  int rank = lhs->shape->rank;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, rank + 1);
  int64_t *own = ARENA_NEW_ARRAY(builder->scratch, int64_t, rank + 1);
  dims[0] = sizes->shape->dims[0];
  for (int i = 0; i < rank; i++) {
    dims[i + 1] = lhs->shape->dims[i];
    own[i] = i + 1;
  }
  HloInstruction *mask = group_mask(builder, sizes, lhs->shape->dims[ragged]);
  HloInstruction *wide = graph_broadcast(builder, lhs, own, rank, dims, rank + 1);
  HloInstruction *inside = graph_broadcast(builder, mask, (int64_t[]){0, ragged + 1}, 2, dims, rank + 1);
  return graph_select(builder, inside, wide, graph_zero(builder, lhs->shape->type, wide->shape));
}

/* |list| of the left factor without groups: moved by one, after |first| unless that is negative. */
static void set_dims(GraphBuilder *builder, HloInstruction *dot, HloAttrId id, Int64List list, int64_t shift,
                     int64_t first) {
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, list.count + 1);
  int64_t count = 0;
  if (first >= 0) dims[count++] = first;
  for (int64_t i = 0; i < list.count; i++) dims[count++] = list.data[i] + shift;
  if (count > 0) hlo_instruction_set_ints(dot, id, dims, count);
}

static void copy_attribute(HloInstruction *to, const HloInstruction *from, HloAttrId id) {
  const HloAttr *attr = hlo_instruction_attr(from, id);
  if (attr != NULL) hlo_instruction_set_attr(to, attr);
}

/* |value| [batches, groups, …] with the groups outermost. */
static HloInstruction *groups_first(GraphBuilder *builder, HloInstruction *value, int64_t batches) {
  if (batches == 0) return value;
  int rank = value->shape->rank;
  int64_t *order = ARENA_NEW_ARRAY(builder->scratch, int64_t, rank);
  order[0] = batches;
  for (int64_t i = 1; i < rank; i++) order[i] = i <= batches ? i - 1 : i;
  return graph_transpose(builder, value, order);
}

static HloInstruction *expand_ragged_dot(GraphBuilder *builder) {
  const HloInstruction *ragged_dot = builder->origin;
  Int64List ragged = hlo_instruction_ints(ragged_dot, HLO_ATTR_LHS_RAGGED_DIMS);
  Int64List group = hlo_instruction_ints(ragged_dot, HLO_ATTR_RHS_GROUP_DIMS);
  Int64List batch = hlo_instruction_ints(ragged_dot, HLO_ATTR_LHS_BATCH_DIMS);
  HloInstruction *sizes = graph_operand(builder, 2), *lhs = graph_operand(builder, 0);
  if (sizes->shape->rank != 1 || ragged.count != 1 || int64_list_has(batch, ragged.data[0])) return NULL;
  bool is_summed = int64_list_has(hlo_instruction_ints(ragged_dot, HLO_ATTR_LHS_CONTRACTING_DIMS), ragged.data[0]);
  if (group.count != (is_summed ? 0 : 1)) return NULL;
  HloInstruction *factors[] = {lhs_by_group(builder, lhs, sizes, ragged.data[0]), graph_operand(builder, 1)};
  const Shape *shape = ragged_dot->shape;
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, shape->dims, shape->rank);
  for (int64_t i = 0; is_summed && i < batch.count; i++) dims[i] = shape->dims[i + 1];
  if (is_summed) dims[batch.count] = shape->dims[0];
  HloInstruction *dot = graph_add(
      builder, HLO_DOT, shape_array(graph_shapes(builder), sum_type(ragged_dot), dims, shape->rank), factors, 2);
  for (int side = 0; side < 2; side++) {
    int64_t first = is_summed ? -1 : side == 0 ? 0 : group.data[0];
    set_dims(builder, dot, batch_ids[side], hlo_instruction_ints(ragged_dot, batch_ids[side]), side == 0, -1);
    set_dims(builder, dot, contracting_ids[side], hlo_instruction_ints(ragged_dot, contracting_ids[side]), side == 0,
             first);
  }
  copy_attribute(dot, ragged_dot, HLO_ATTR_OPERAND_PRECISION);
  HloInstruction *result = convert_sums(builder, dot, shape->type);
  return is_summed ? groups_first(builder, result, batch.count) : result;
}

/* --- scaled-dot --- */

/* |scales| with each element repeated over its block of |full|; NULL where blocks are not of one size. */
static HloInstruction *repeat_scales(GraphBuilder *builder, HloInstruction *scales, const Shape *full) {
  if (scales->shape->rank != full->rank) return NULL;
  int rank = full->rank;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, 2 * rank + 1);
  int64_t *own = ARENA_NEW_ARRAY(builder->scratch, int64_t, rank + 1);
  for (int i = 0; i < rank; i++) {
    int64_t blocks = scales->shape->dims[i];
    if (blocks <= 0 || full->dims[i] % blocks != 0) return NULL;
    own[i] = 2 * i;
    dims[2 * i] = blocks;
    dims[2 * i + 1] = full->dims[i] / blocks;
  }
  HloInstruction *blocks = graph_broadcast(builder, scales, own, rank, dims, 2 * rank);
  return graph_reshape(builder, blocks, full->dims, rank);
}

static HloInstruction *expand_scaled_dot(GraphBuilder *builder) {
  const HloInstruction *scaled_dot = builder->origin;
  PrimitiveType type = scaled_dot->shape->type, wide = type == TYPE_F64 ? TYPE_F64 : TYPE_F32;
  HloInstruction *factors[2];
  if (!type_is_float(type)) return NULL;
  for (int side = 0; side < 2; side++) {
    HloInstruction *scales = graph_convert(builder, graph_operand(builder, 2 + side), wide);
    factors[side] = graph_convert(builder, graph_operand(builder, side), wide);
    if (scales->shape->rank == 0) continue; /* none */
    scales = repeat_scales(builder, scales, factors[side]->shape);
    if (scales == NULL) return NULL;
    factors[side] = graph_binary(builder, HLO_MULTIPLY, factors[side], scales);
  }
  const Shape *shape = scaled_dot->shape;
  HloInstruction *dot =
      graph_add(builder, HLO_DOT, shape_array(graph_shapes(builder), wide, shape->dims, shape->rank), factors, 2);
  for (int side = 0; side < 2; side++) {
    copy_attribute(dot, scaled_dot, batch_ids[side]);
    copy_attribute(dot, scaled_dot, contracting_ids[side]);
  }
  return graph_convert(builder, dot, type);
}

static const GraphRuleRow rules[] = {{HLO_DOT, expand_narrow_result},
                                     {HLO_CONVOLUTION, expand_narrow_result},
                                     {HLO_RAGGED_DOT, expand_ragged_dot},
                                     {HLO_SCALED_DOT, expand_scaled_dot}};

static Status run_dot_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_dot_expander_pass = {
    "dot-expander", "spell ragged-dot and scaled-dot as dot of masked or scaled factors, convert sums of wide factors",
    run_dot_expander, false};
