#include "base/checked_math.h"
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

/* Rows [to, to + size) of the output are rows [from, from + size) of the input: the input is moved by to - from,
 * between zeroes, and those rows of it are chosen. */
static void ragged_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                        HloInstruction **out_values) {
  (void)context;
  HloInstruction *input = values[RAGGED_INPUT], *output = values[RAGGED_OUTPUT];
  const Shape *rows = shape_array(graph_shapes(inside), TYPE_S32, output->shape->dims, 1);
  HloInstruction *from = graph_scalar_at(inside, values[RAGGED_FIRST_LIST], step);
  HloInstruction *size = graph_scalar_at(inside, values[RAGGED_FIRST_LIST + 1], step);
  HloInstruction *to = graph_scalar_at(inside, values[RAGGED_FIRST_LIST + 2], step);
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
  graph_loop(builder, &(GraphLoop){.trips = count, .count = RAGGED_VALUES, .body = ragged_step}, values, values);
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

/* What the reducer of |origin| makes of the elements of |a| and |b|. */
static HloInstruction *map_two(GraphBuilder *builder, const HloInstruction *origin, HloInstruction *a,
                               HloInstruction *b) {
  HloInstruction *map = graph_add(builder, HLO_MAP, a->shape, (HloInstruction *[]){a, b}, 2);
  hlo_instruction_set_attr(map, hlo_instruction_attr(origin, HLO_ATTR_TO_APPLY));
  int64_t *all = ARENA_NEW_ARRAY(builder->scratch, int64_t, a->shape->rank + 1);
  for (int i = 0; i < a->shape->rank; i++) all[i] = i;
  hlo_instruction_set_ints(map, HLO_ATTR_DIMENSIONS, all, a->shape->rank);
  return map;
}

static void fold_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                      HloInstruction **out_values) {
  HloInstruction *next = graph_binary(inside, HLO_ADD, step, graph_integer(inside, TYPE_S32, 1, NULL));
  out_values[0] = map_two(inside, context, values[0], part_at(inside, values[1], next));
  out_values[1] = values[1];
}

static HloInstruction *fold_members(GraphBuilder *builder, HloInstruction *gathered) {
  HloInstruction *first = part_at(builder, gathered, graph_integer(builder, TYPE_S32, 0, NULL));
  HloInstruction *values[] = {first, gathered};
  const GraphLoop loop = {
      .trips = gathered->shape->dims[0] - 1, .count = 2, .body = fold_step, .context = builder->origin};
  graph_loop(builder, &loop, values, values);
  return values[0];
}

/* What |table|, an s32[devices, |columns|], says of each device, on that device: an s32[columns]. */
static HloInstruction *row_of_device(GraphBuilder *builder, Literal *table, int64_t columns) {
  DeviceCounts devices = hlo_module_device_counts(builder->computation->module);
  const Shape *number = shape_array(graph_shapes(builder), TYPE_U32, NULL, 0);
  HloInstruction *replica = graph_convert(builder, graph_add(builder, HLO_REPLICA_ID, number, NULL, 0), TYPE_S32);
  HloInstruction *partition = graph_convert(builder, graph_add(builder, HLO_PARTITION_ID, number, NULL, 0), TYPE_S32);
  HloInstruction *count = graph_integer(builder, TYPE_S32, devices.partitions, NULL);
  HloInstruction *device =
      graph_binary(builder, HLO_ADD, graph_binary(builder, HLO_MULTIPLY, replica, count), partition);
  HloInstruction *rows = hlo_computation_add_constant(builder->computation, table, (StringView){0});
  return graph_reshape(builder, graph_take(builder, rows, 0, device), &columns, 1);
}

static Literal *new_table(const GraphBuilder *builder, int64_t columns) {
  const HloModule *module = builder->computation->module;
  int64_t dims[] = {device_counts_total(hlo_module_device_counts(module)), columns};
  return literal_create(module->arena, shape_array(graph_shapes(builder), TYPE_S32, dims, 2));
}

/* The place of this device in its group, an s32[]. */
static HloInstruction *member_number(GraphBuilder *builder, const DeviceGroups *groups) {
  Literal *table = new_table(builder, 1);
  for (int64_t i = 0; i < groups->count; i++) {
    for (int64_t k = 0; k < groups->groups[i].count; k++) literal_set_int(table, groups->groups[i].data[k], k);
  }
  return graph_reshape(builder, row_of_device(builder, table, 1), NULL, 0);
}

/* Those are gathered that an engine cannot reduce. */
static bool is_to_be_folded(const GraphBuilder *builder, DeviceGroups *out_groups) {
  HloOpcode opcode;
  const HloInstruction *origin = builder->origin;
  const HloComputation *reducer = hlo_instruction_computation(origin, HLO_ATTR_TO_APPLY);
  if (collective_reducer(origin, &opcode) || reducer == NULL || !find_groups(builder, out_groups)) return false;
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

/* --- the same in groups of several sizes: values go round, as no gather takes such groups --- */

static int64_t largest_group(const DeviceGroups *groups) {
  int64_t most = 0;
  for (int64_t i = 0; i < groups->count; i++) most = max_i64(most, groups->groups[i].count);
  return most;
}

static bool has_one_size(const DeviceGroups *groups) {
  for (int64_t i = 1; i < groups->count; i++) {
    if (groups->groups[i].count != groups->groups[0].count) return false;
  }
  return true;
}

/* In round k member j sends to member j + k, around the group; smaller groups have ended by then. */
static HloInstruction *send_round(GraphBuilder *builder, HloInstruction *value, const DeviceGroups *groups,
                                  int64_t round) {
  Arena *arena = builder->computation->module->arena;
  int64_t devices = device_counts_total(hlo_module_device_counts(builder->computation->module)), count = 0;
  Int64List *pairs = ARENA_NEW_ARRAY(arena, Int64List, devices);
  for (int64_t i = 0; i < groups->count; i++) {
    const Int64List *group = &groups->groups[i];
    for (int64_t j = 0; j < group->count && round < group->count; j++) {
      int64_t *pair = ARENA_NEW_ARRAY(arena, int64_t, 2);
      pair[0] = group->data[j];
      pair[1] = group->data[(j + round) % group->count];
      pairs[count++] = (Int64List){2, pair};
    }
  }
  HloInstruction *permute = graph_add(builder, HLO_COLLECTIVE_PERMUTE, value->shape, &value, 1);
  hlo_instruction_set_attr(
      permute, &(HloAttr){.id = HLO_ATTR_SOURCE_TARGET_PAIRS, .loc = permute->loc, .value.int_lists = {count, pairs}});
  if (builder->computation->module->num_partitions > 1) hlo_instruction_set_int(permute, HLO_ATTR_CHANNEL_ID, 1);
  return permute;
}

/* What has come by the end, round by round along a new first dimension. */
static HloInstruction *collect_rounds(GraphBuilder *builder, int index, const DeviceGroups *groups) {
  int64_t rounds = largest_group(groups);
  HloInstruction *operand = graph_operand(builder, index);
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, operand->shape->rank + 1);
  dims[0] = 1;
  for (int i = 0; i < operand->shape->rank; i++) dims[i + 1] = operand->shape->dims[i];
  operand = graph_reshape(builder, operand, dims, operand->shape->rank + 1);
  HloInstruction **parts = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, rounds);
  parts[0] = operand;
  for (int64_t k = 1; k < rounds; k++) parts[k] = send_round(builder, operand, groups, k);
  return graph_concatenate(builder, parts, (int)rounds, 0);
}

/* Of each device: the size of its group, then in which round the value of each member comes to it, in listed order. */
static HloInstruction *rounds_of_members(GraphBuilder *builder, const DeviceGroups *groups) {
  int64_t columns = largest_group(groups) + 1;
  Literal *table = new_table(builder, columns);
  for (int64_t i = 0; i < groups->count; i++) {
    const Int64List *group = &groups->groups[i];
    for (int64_t j = 0; j < group->count; j++) {
      literal_set_int(table, group->data[j] * columns, group->count);
      for (int64_t k = 0; k < group->count; k++)
        literal_set_int(table, group->data[j] * columns + 1 + k, (j - k + group->count) % group->count);
    }
  }
  return row_of_device(builder, table, columns);
}

enum { ROUNDS_FOLDED, ROUNDS_PARTS, ROUNDS_ROW, ROUNDS_VALUES };

static void fold_round(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                       HloInstruction **out_values) {
  HloInstruction *one = graph_integer(inside, TYPE_S32, 1, NULL), *folded = values[ROUNDS_FOLDED];
  HloInstruction *member = graph_binary(inside, HLO_ADD, step, one),
                 *size = graph_scalar_at(inside, values[ROUNDS_ROW], graph_integer(inside, TYPE_S32, 0, NULL)),
                 *round = graph_scalar_at(inside, values[ROUNDS_ROW], graph_binary(inside, HLO_ADD, member, one));
  HloInstruction *more = map_two(inside, context, folded, part_at(inside, values[ROUNDS_PARTS], round));
  HloInstruction *is_there = graph_compare(inside, COMPARISON_DIRECTION_LT, member, size);
  out_values[ROUNDS_FOLDED] = graph_select(inside, graph_splat(inside, is_there, folded->shape), more, folded);
  out_values[ROUNDS_PARTS] = values[ROUNDS_PARTS];
  out_values[ROUNDS_ROW] = values[ROUNDS_ROW];
}

static HloInstruction *reduce_by_rounds(GraphBuilder *builder, const DeviceGroups *groups) {
  DeviceCounts devices = hlo_module_device_counts(builder->computation->module);
  if (devices.replicas > 1 && devices.partitions > 1) return NULL; /* no permute crosses both */
  HloInstruction **results = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, builder->origin->operand_count);
  HloInstruction *row = rounds_of_members(builder, groups),
                 *first = graph_scalar_at(builder, row, graph_integer(builder, TYPE_S32, 1, NULL));
  for (int i = 0; i < builder->origin->operand_count; i++) {
    HloInstruction *parts = collect_rounds(builder, i, groups), *values[ROUNDS_VALUES];
    HloInstruction *inits[ROUNDS_VALUES] = {part_at(builder, parts, first), parts, row};
    const GraphLoop loop = {
        .trips = largest_group(groups) - 1, .count = ROUNDS_VALUES, .body = fold_round, .context = builder->origin};
    graph_loop(builder, &loop, inits, values);
    results[i] = values[ROUNDS_FOLDED];
  }
  return one_or_tuple(builder, results);
}

static HloInstruction *expand_all_reduce(GraphBuilder *builder) {
  DeviceGroups groups;
  HloInstruction *alone = expand_exchange(builder);
  if (alone != NULL || !is_to_be_folded(builder, &groups)) return alone;
  if (!has_one_size(&groups)) return reduce_by_rounds(builder, &groups);
  HloInstruction **results = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, builder->origin->operand_count);
  for (int i = 0; i < builder->origin->operand_count; i++)
    results[i] = fold_members(builder, gather_members(builder, i, groups.groups[0].count));
  return one_or_tuple(builder, results);
}

static HloInstruction *expand_reduce_scatter(GraphBuilder *builder) {
  DeviceGroups groups;
  HloInstruction *alone = expand_exchange(builder);
  if (alone != NULL || !is_to_be_folded(builder, &groups) || !has_one_size(&groups)) return alone;
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
