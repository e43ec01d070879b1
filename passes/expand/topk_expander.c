#include "passes/expand/graph_builder.h"

/* topk as a sort of values and positions, of which the first k are kept: in the total order, the first of equals
 * first. */

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

static HloInstruction *expand_topk(GraphBuilder *builder) {
  const Shape *shape = builder->origin->shape;
  HloInstruction *values = graph_operand(builder, 0);
  int last = values->shape->rank - 1;
  if (!shape_is_tuple(shape) || shape->tuple_size != 2 || type_is_complex(values->shape->type) ||
      shape_is_dynamic(values->shape))
    return NULL;
  PrimitiveType index_type = shape->tuple[1]->type;
  HloInstruction *operands[] = {values,
                                graph_iota(builder, index_type, values->shape->dims, values->shape->rank, last)};
  const Shape *sorted_shapes[] = {operands[0]->shape, operands[1]->shape};
  HloInstruction *sorted =
      graph_add(builder, HLO_SORT, shape_tuple(graph_shapes(builder), sorted_shapes, 2), operands, 2);
  const int64_t dimension = last;
  hlo_instruction_set_ints(sorted, HLO_ATTR_DIMENSIONS, &dimension, 1);
  hlo_instruction_set_bool(sorted, HLO_ATTR_IS_STABLE, true);
  bool largest = hlo_instruction_bool(builder->origin, HLO_ATTR_LARGEST, true);
  hlo_instruction_set_computation(sorted, HLO_ATTR_TO_APPLY,
                                  comparator(builder, values->shape->type, index_type, largest));
  HloInstruction *kept[2];
  for (int i = 0; i < 2; i++)
    kept[i] = graph_slice(builder, graph_element(builder, sorted, i), last, 0, shape->tuple[0]->dims[last]);
  return graph_tuple(builder, kept, 2);
}

static const GraphRuleRow rules[] = {{HLO_TOPK, expand_topk}};

static Status run_topk_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_topk_expander_pass = {"topk-expander", "spell topk as a sort of which the first are kept",
                                        run_topk_expander, false};
