#include "hlo/ir/collective_reducer.h"
#include "hlo/ir/device_count.h"
#include "hlo/ir/device_groups.h"
#include "passes/expand/graph_builder.h"

/* Communication of one device with itself: what is sent arrives, all operands are all results. */

static bool has_one_device(const GraphBuilder *builder) {
  const HloModule *module = builder->computation->module;
  return module->replica_count <= 1 && module->num_partitions <= 1 &&
         hlo_instruction_device_count(builder->origin) <= 1;
}

/* The groups of the origin; false where they do not fit, which code generation says. */
static bool find_groups(const GraphBuilder *builder, DeviceGroups *out_groups) {
  DiagSink unheard;
  diag_sink_init(&unheard, builder->scratch);
  DeviceCounts devices = hlo_module_device_counts(builder->computation->module);
  return hlo_device_groups(builder->scratch, builder->origin, devices, &unheard, out_groups) == STATUS_OK;
}

/* Every device is alone in its group. */
static bool has_no_other(const GraphBuilder *builder) {
  DeviceGroups groups;
  if (has_one_device(builder)) return true;
  if (!find_groups(builder, &groups)) return false;
  int64_t devices = device_counts_total(hlo_module_device_counts(builder->computation->module));
  return groups.count == devices;
}

static HloInstruction *expand_exchange(GraphBuilder *builder) {
  const HloInstruction *exchange = builder->origin;
  if (!has_no_other(builder)) return NULL;
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
    if (pair.count == 2 && pair.data[0] == 0 && pair.data[1] == 0) return builder->origin->operands[0];
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

/* --- reducers that no engine knows: each device gathers the operands of all members and folds them --- */

/* Operand |index| of every member, one after the other along a new first dimension. */
static HloInstruction *gather_members(GraphBuilder *builder, int index, int64_t members) {
  static const HloAttrId members_attrs[] = {HLO_ATTR_CHANNEL_ID, HLO_ATTR_REPLICA_GROUPS,
                                            HLO_ATTR_USE_GLOBAL_DEVICE_IDS};
  HloInstruction *operand = graph_operand(builder, index);
  const Shape *shape = operand->shape;
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, shape->rank + 1);
  for (int i = 0; i < shape->rank; i++) dims[i + 1] = shape->dims[i];
  dims[0] = 1;
  operand = graph_reshape(builder, operand, dims, shape->rank + 1);
  dims[0] = members;
  const Shape *wide = shape_array(graph_shapes(builder), shape->type, dims, shape->rank + 1);
  HloInstruction *gather = graph_add(builder, HLO_ALL_GATHER, wide, &operand, 1);
  for (size_t i = 0; i < sizeof members_attrs / sizeof *members_attrs; i++) {
    const HloAttr *attr = hlo_instruction_attr(builder->origin, members_attrs[i]);
    if (attr != NULL) hlo_instruction_set_attr(gather, attr);
  }
  int64_t first = 0;
  hlo_instruction_set_ints(gather, HLO_ATTR_DIMENSIONS, &first, 1);
  return gather;
}

/* Part |step| of |gathered|, without the dimension that counts them. */
static HloInstruction *part_at(GraphBuilder *builder, HloInstruction *gathered, HloInstruction *step) {
  const Shape *shape = gathered->shape;
  return graph_reshape(builder, graph_take(builder, gathered, 0, step), shape->dims + 1, shape->rank - 1);
}

static void fold_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                      HloInstruction **out_values) {
  const HloInstruction *origin = context;
  HloInstruction *next = graph_binary(inside, HLO_ADD, step, graph_integer(inside, TYPE_S32, 1, NULL));
  HloInstruction *operands[] = {values[0], part_at(inside, values[1], next)};
  out_values[0] = graph_add(inside, HLO_MAP, values[0]->shape, operands, 2);
  hlo_instruction_set_attr(out_values[0], hlo_instruction_attr(origin, HLO_ATTR_TO_APPLY));
  int64_t *all = ARENA_NEW_ARRAY(inside->scratch, int64_t, values[0]->shape->rank + 1);
  for (int i = 0; i < values[0]->shape->rank; i++) all[i] = i;
  hlo_instruction_set_ints(out_values[0], HLO_ATTR_DIMENSIONS, all, values[0]->shape->rank);
  out_values[1] = values[1];
}

static HloInstruction *fold_members(GraphBuilder *builder, HloInstruction *gathered) {
  HloInstruction *first = part_at(builder, gathered, graph_integer(builder, TYPE_S32, 0, NULL));
  HloInstruction *values[] = {first, gathered};
  graph_loop(builder, gathered->shape->dims[0] - 1, values, 2, fold_step, builder->origin, values);
  return values[0];
}

/* The place of this device in its group, an s32[]. */
static HloInstruction *member_number(GraphBuilder *builder, const DeviceGroups *groups) {
  DeviceCounts devices = hlo_module_device_counts(builder->computation->module);
  int64_t total = device_counts_total(devices);
  Literal *table =
      literal_create(builder->computation->module->arena, shape_array(graph_shapes(builder), TYPE_S32, &total, 1));
  for (int64_t i = 0; i < groups->count; i++) {
    for (int64_t k = 0; k < groups->groups[i].count; k++) literal_set_int(table, groups->groups[i].data[k], k);
  }
  const Shape *number = shape_array(graph_shapes(builder), TYPE_U32, NULL, 0);
  HloInstruction *replica = graph_convert(builder, graph_add(builder, HLO_REPLICA_ID, number, NULL, 0), TYPE_S32);
  HloInstruction *partition = graph_convert(builder, graph_add(builder, HLO_PARTITION_ID, number, NULL, 0), TYPE_S32);
  HloInstruction *count = graph_integer(builder, TYPE_S32, devices.partitions, NULL);
  HloInstruction *device =
      graph_binary(builder, HLO_ADD, graph_binary(builder, HLO_MULTIPLY, replica, count), partition);
  HloInstruction *numbers = hlo_computation_add_constant(builder->computation, table, (StringView){0});
  return number_at(builder, numbers, device);
}

/* Those are gathered that an engine cannot reduce; groups of several sizes cannot be. */
static bool is_to_be_folded(const GraphBuilder *builder, DeviceGroups *out_groups) {
  HloOpcode opcode;
  const HloInstruction *origin = builder->origin;
  const HloComputation *reducer = hlo_instruction_computation(origin, HLO_ATTR_TO_APPLY);
  if (collective_reducer(origin, &opcode) || reducer == NULL || !find_groups(builder, out_groups)) return false;
  for (int64_t i = 1; i < out_groups->count; i++) {
    if (out_groups->groups[i].count != out_groups->groups[0].count) return false;
  }
  for (int i = 0; i < origin->operand_count; i++) {
    const Shape *shape = origin->operands[i]->shape;
    if (!shape_is_array(shape) || shape_is_dynamic(shape) || shape->type != reducer->root->shape->type) return false;
  }
  return out_groups->count > 0;
}

static HloInstruction *one_or_tuple(GraphBuilder *builder, HloInstruction **results) {
  bool is_one = !shape_is_tuple(builder->origin->shape);
  return is_one ? results[0] : graph_tuple(builder, results, builder->origin->operand_count);
}

static HloInstruction *expand_all_reduce(GraphBuilder *builder) {
  DeviceGroups groups;
  HloInstruction *alone = expand_exchange(builder);
  if (alone != NULL || !is_to_be_folded(builder, &groups)) return alone;
  HloInstruction **results = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, builder->origin->operand_count);
  for (int i = 0; i < builder->origin->operand_count; i++)
    results[i] = fold_members(builder, gather_members(builder, i, groups.groups[0].count));
  return one_or_tuple(builder, results);
}

static HloInstruction *expand_reduce_scatter(GraphBuilder *builder) {
  DeviceGroups groups;
  HloInstruction *alone = expand_exchange(builder);
  if (alone != NULL || !is_to_be_folded(builder, &groups)) return alone;
  int dimension = (int)hlo_instruction_ints(builder->origin, HLO_ATTR_DIMENSIONS).data[0];
  HloInstruction **results = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, builder->origin->operand_count);
  HloInstruction *member = member_number(builder, &groups);
  for (int i = 0; i < builder->origin->operand_count; i++) {
    HloInstruction *gathered = gather_members(builder, i, groups.groups[0].count);
    int64_t size = gathered->shape->dims[dimension + 1] / groups.groups[0].count;
    HloInstruction *start = graph_binary(builder, HLO_MULTIPLY, member, graph_integer(builder, TYPE_S32, size, NULL));
    results[i] = fold_members(builder, graph_take_run(builder, gathered, dimension + 1, start, size));
  }
  return one_or_tuple(builder, results);
}

static const GraphRuleRow rules[] = {
    {HLO_ALL_GATHER, expand_exchange},
    {HLO_ALL_REDUCE, expand_all_reduce},
    {HLO_ALL_TO_ALL, expand_exchange},
    {HLO_COLLECTIVE_BROADCAST, expand_exchange},
    {HLO_COLLECTIVE_PERMUTE, expand_permute},
    {HLO_PARTITION_ID, expand_id},
    {HLO_RAGGED_ALL_TO_ALL, expand_ragged},
    {HLO_REDUCE_SCATTER, expand_reduce_scatter},
    {HLO_REPLICA_ID, expand_id},
};

static Status run_collective_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_collective_expander_pass = {
    "collective-expander", "communication among a single device is its operands", run_collective_expander, false};
