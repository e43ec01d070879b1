#include "passes/expand/graph_builder.h"

/* Communication between one device and nobody: what is sent arrives, all operands are all results. */
static bool has_one_device(const GraphBuilder *builder) {
  const HloModule *module = builder->computation->module;
  return module->replica_count <= 1 && module->num_partitions <= 1;
}

static HloInstruction *expand_exchange(GraphBuilder *builder) {
  const HloInstruction *exchange = builder->origin;
  if (!has_one_device(builder)) return NULL;
  if (exchange->operand_count == 1 && shape_compatible(exchange->shape, exchange->operands[0]->shape))
    return exchange->operands[0];
  if (!shape_is_tuple(exchange->shape) || exchange->shape->tuple_size != exchange->operand_count) return NULL;
  for (int i = 0; i < exchange->operand_count; i++) {
    if (!shape_compatible(exchange->shape->tuple[i], exchange->operands[i]->shape)) return NULL;
  }
  return graph_tuple(builder, exchange->operands, exchange->operand_count);
}

/* Whoever is sent nothing has zeroes. */
static HloInstruction *expand_permute(GraphBuilder *builder) {
  const HloInstruction *permute = builder->origin;
  const HloAttr *pairs = hlo_instruction_attr(permute, HLO_ATTR_SOURCE_TARGET_PAIRS);
  if (!has_one_device(builder) || pairs == NULL || permute->operand_count != 1 || !shape_is_array(permute->shape))
    return NULL;
  for (int64_t i = 0; i < pairs->value.int_lists.count; i++) {
    Int64List pair = pairs->value.int_lists.data[i];
    if (pair.count == 2 && pair.data[0] == 0 && pair.data[1] == 0) return expand_exchange(builder);
  }
  return graph_zero(builder, permute->shape->type, permute->shape);
}

static HloInstruction *expand_id(GraphBuilder *builder) {
  if (!has_one_device(builder)) return NULL;
  return graph_zero(builder, builder->origin->shape->type, NULL);
}

static const GraphRuleRow rules[] = {
    {HLO_ALL_GATHER, expand_exchange},        {HLO_ALL_REDUCE, expand_exchange},
    {HLO_ALL_TO_ALL, expand_exchange},        {HLO_COLLECTIVE_BROADCAST, expand_exchange},
    {HLO_COLLECTIVE_PERMUTE, expand_permute}, {HLO_PARTITION_ID, expand_id},
    {HLO_REDUCE_SCATTER, expand_exchange},    {HLO_REPLICA_ID, expand_id},
};

static Status run_collective_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_collective_expander_pass = {"collective-expander",
                                              "communication between one device and nobody is its operands",
                                              run_collective_expander, false};
