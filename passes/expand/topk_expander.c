#include "hlo/ir/custom_call.h"
#include "passes/expand/graph_builder.h"

/* topk, and the custom call to "TopK", as a sort of values and positions, of which the first k are kept: in the total
 * order, the first of equals first. */

/* Whether the first value of a pair stands before the second. */
static HloComputation *comparator(const GraphBuilder *builder, PrimitiveType type, PrimitiveType index_type,
                                  bool largest) {
  HloModule *module = builder->computation->module;
  GraphBuilder inside = {hlo_module_add_computation(module, SV("before")), builder->origin, builder->scratch};
  static const char *const names[] = {"a", "b", "i", "j"};
  HloInstruction *parameters[4];
  for (int i = 0; i < 4; i++) {
    const Shape *shape = shape_scalar(module->shapes, i < 2 ? type : index_type);
    parameters[i] = hlo_computation_add_parameter(inside.computation, i, shape, sv_from_cstring(names[i]));
  }
  HloInstruction *before =
      graph_compare(&inside, largest ? COMPARISON_DIRECTION_GT : COMPARISON_DIRECTION_LT, parameters[0], parameters[1]);
  if (type_is_float(type)) hlo_instruction_set_int(before, HLO_ATTR_COMPARISON_TYPE, COMPARISON_TYPE_TOTALORDER);
  hlo_computation_set_root(inside.computation, before);
  return inside.computation;
}

/* The same by a comparator of values, or of values and positions. */
static HloComputation *comparator_by(const GraphBuilder *builder, PrimitiveType type, PrimitiveType index_type,
                                     const HloComputation *before) {
  HloModule *module = builder->computation->module;
  HloComputation *computation = hlo_module_add_computation(module, SV("before"));
  static const char *const names[] = {"a", "b", "i", "j"};
  HloInstruction *parameters[4];
  for (int i = 0; i < 4; i++) {
    const Shape *shape = shape_scalar(module->shapes, i < 2 ? type : index_type);
    parameters[i] = hlo_computation_add_parameter(computation, i, shape, sv_from_cstring(names[i]));
  }
  hlo_computation_set_root(computation, hlo_computation_inline(computation, before, parameters));
  return computation;
}

/* |before|: the comparator, NULL: the largest or smallest in the total order. */
static HloInstruction *expand(GraphBuilder *builder, bool largest, const HloComputation *before) {
  const Shape *shape = builder->origin->shape;
  HloInstruction *values = graph_operand(builder, 0);
  int last = values->shape->rank - 1;
  if (!shape_is_tuple(shape) || shape->tuple_size != 2 || type_is_complex(values->shape->type)) return NULL;
  PrimitiveType index_type = shape->tuple[1]->type;
  HloInstruction *operands[] = {values,
                                graph_iota(builder, index_type, values->shape->dims, values->shape->rank, last)};
  const Shape *sorted_shapes[] = {operands[0]->shape, operands[1]->shape};
  HloInstruction *sorted =
      graph_add(builder, HLO_SORT, shape_tuple(graph_shapes(builder), sorted_shapes, 2), operands, 2);
  const int64_t dimension = last;
  hlo_instruction_set_ints(sorted, HLO_ATTR_DIMENSIONS, &dimension, 1);
  hlo_instruction_set_bool(sorted, HLO_ATTR_IS_STABLE, true);
  PrimitiveType type = values->shape->type;
  hlo_instruction_set_computation(
      sorted, HLO_ATTR_TO_APPLY,
      before ? comparator_by(builder, type, index_type, before) : comparator(builder, type, index_type, largest));
  HloInstruction *kept[2];
  for (int i = 0; i < 2; i++)
    kept[i] = graph_slice(builder, graph_element(builder, sorted, i), last, 0, shape->tuple[0]->dims[last]);
  return graph_tuple(builder, kept, 2);
}

static HloInstruction *expand_topk(GraphBuilder *builder) {
  return expand(builder, hlo_instruction_bool(builder->origin, HLO_ATTR_LARGEST, true), NULL);
}

/* Two values, then perhaps their positions. */
static bool compares_two(const HloComputation *before, PrimitiveType type, PrimitiveType index_type) {
  if (before->parameters.count != 2 && before->parameters.count != 4) return false;
  if (before->root->shape->type != TYPE_PRED) return false;
  for (int64_t i = 0; i < before->parameters.count; i++) {
    const Shape *shape = before->parameters.data[i]->shape;
    if (!shape_is_array(shape) || shape->rank != 0 || shape->type != (i < 2 ? type : index_type)) return false;
  }
  return shape_is_array(before->root->shape) && before->root->shape->rank == 0;
}

/* XLA's own call of the name, (values, positions); its comparator says which are first. */
static HloInstruction *expand_call(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  if (!custom_call_calls(call, "TopK") || call->operand_count != 1 || hlo_instruction_called_count(call) > 1 ||
      !shape_is_array(call->operands[0]->shape) || call->operands[0]->shape->rank == 0 ||
      !shape_is_tuple(call->shape) || call->shape->tuple_size != 2 || !type_is_integral(call->shape->tuple[1]->type) ||
      !shape_same_dims(call->shape->tuple[0], call->shape->tuple[1]))
    return NULL;
  if (hlo_instruction_called_count(call) == 0) return expand(builder, true, NULL);
  const HloComputation *before = hlo_instruction_called(call, 0);
  if (!compares_two(before, call->operands[0]->shape->type, call->shape->tuple[1]->type)) return NULL;
  const HloInstruction *root = before->root;
  int64_t direction = root->opcode == HLO_COMPARE ? hlo_instruction_int(root, HLO_ATTR_DIRECTION, -1) : -1;
  bool is_plain = root->operand_count == 2 && root->operands[0] == before->parameters.data[0] &&
                  root->operands[1] == before->parameters.data[1] &&
                  (direction == COMPARISON_DIRECTION_GT || direction == COMPARISON_DIRECTION_LT);
  return expand(builder, direction == COMPARISON_DIRECTION_GT, is_plain ? NULL : before);
}

static const GraphRuleRow rules[] = {{HLO_CUSTOM_CALL, expand_call}, {HLO_TOPK, expand_topk}};

static Status run_topk_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_topk_expander_pass = {"topk-expander", "spell topk as a sort of which the first are kept",
                                        run_topk_expander, false};
