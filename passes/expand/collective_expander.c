#include "hlo/ir/device_count.h"
#include "passes/expand/graph_builder.h"

/* Communication of one device with itself: what is sent arrives, all operands are all results. */

static bool has_one_device(const GraphBuilder *builder) {
  const HloModule *module = builder->computation->module;
  return module->replica_count <= 1 && module->num_partitions <= 1 &&
         hlo_instruction_device_count(builder->origin) <= 1;
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

/* A device that is sent nothing has zeroes. */
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

/* --- ragged-all-to-all --- */

enum { RAGGED_INPUT, RAGGED_OUTPUT, RAGGED_FIRST_LIST, RAGGED_VALUES = 5 };

/* The number of |list| that belongs to |step|, as a scalar of s32. */
static HloInstruction *number_at(GraphBuilder *builder, HloInstruction *list, HloInstruction *step) {
  return graph_reshape(builder, graph_take(builder, list, 0, step), NULL, 0);
}

/* Rows [to, to + size) of the output are rows [from, from + size) of the input: the input is moved by to - from,
 * between zeroes, and those rows of it are chosen. */
static void ragged_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                        HloInstruction **out_values) {
  (void)context;
  HloInstruction *input = values[RAGGED_INPUT], *output = values[RAGGED_OUTPUT];
  const Shape *rows = shape_array(graph_shapes(inside), TYPE_S32, output->shape->dims, 1);
  HloInstruction *from = number_at(inside, values[RAGGED_FIRST_LIST], step);
  HloInstruction *size = number_at(inside, values[RAGGED_FIRST_LIST + 1], step);
  HloInstruction *to = number_at(inside, values[RAGGED_FIRST_LIST + 2], step);
  HloInstruction *around = graph_zero(inside, output->shape->type, output->shape);
  HloInstruction *wide = graph_concatenate(inside, (HloInstruction *[]){around, input, around}, 3, 0);
  HloInstruction *start = graph_binary(inside, HLO_SUBTRACT, from, to);
  start = graph_binary(inside, HLO_ADD, start, graph_integer(inside, TYPE_S32, rows->dims[0], NULL));
  HloInstruction *moved = graph_take_run(inside, wide, 0, start, rows->dims[0]);
  HloInstruction *row = graph_iota(inside, TYPE_S32, rows->dims, 1, 0);
  HloInstruction *end = graph_splat(inside, graph_binary(inside, HLO_ADD, to, size), rows);
  HloInstruction *is_behind = graph_compare(inside, COMPARISON_DIRECTION_GE, row, graph_splat(inside, to, rows));
  HloInstruction *is_before = graph_compare(inside, COMPARISON_DIRECTION_LT, row, end);
  HloInstruction *is_chosen = graph_binary(inside, HLO_AND, is_behind, is_before);
  is_chosen = graph_broadcast(inside, is_chosen, (int64_t[]){0}, 1, output->shape->dims, output->shape->rank);
  for (int i = 0; i < RAGGED_VALUES; i++) out_values[i] = values[i];
  out_values[RAGGED_OUTPUT] = graph_select(inside, is_chosen, moved, output);
}

/* One device sends to itself: operands are input, output, where runs begin in the input, their sizes, where they go. */
static HloInstruction *expand_ragged(GraphBuilder *builder) {
  const Shape *shape = builder->origin->shape;
  if (!has_one_device(builder) || shape_is_dynamic(shape) || builder->origin->operand_count != 6) return NULL;
  HloInstruction *values[RAGGED_VALUES];
  int64_t count = shape_element_count(builder->origin->operands[RAGGED_FIRST_LIST]->shape);
  for (int i = 0; i < RAGGED_VALUES; i++) {
    values[i] = graph_operand(builder, i);
    if (i < RAGGED_FIRST_LIST) continue;
    values[i] = graph_convert(builder, graph_reshape(builder, values[i], &count, 1), TYPE_S32);
  }
  graph_loop(builder, count, values, RAGGED_VALUES, ragged_step, NULL, values);
  return values[RAGGED_OUTPUT];
}

static const GraphRuleRow rules[] = {
    {HLO_ALL_GATHER, expand_exchange},
    {HLO_ALL_REDUCE, expand_exchange},
    {HLO_ALL_TO_ALL, expand_exchange},
    {HLO_COLLECTIVE_BROADCAST, expand_exchange},
    {HLO_COLLECTIVE_PERMUTE, expand_permute},
    {HLO_PARTITION_ID, expand_id},
    {HLO_RAGGED_ALL_TO_ALL, expand_ragged},
    {HLO_REDUCE_SCATTER, expand_exchange},
    {HLO_REPLICA_ID, expand_id},
};

static Status run_collective_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_collective_expander_pass = {
    "collective-expander", "communication among a single device is its operands", run_collective_expander, false};
