/* Computations: instruction by instruction; loops, branches and calls, whose computations are partitioned with them. */
#include <math.h>

#include "hlo/analysis/trip_count.h"
#include "passes/spmd/partition_internal.h"

/* --- what each operation is partitioned by --- */

/* Any other is by factors, which may leave all of it whole. */
static const struct {
  HloOpcode opcode;
  SpmdHandler *partition;
} handlers[] = {
    {HLO_CONSTANT, spmd_partition_anew},
    {HLO_IOTA, spmd_partition_anew},
    {HLO_BROADCAST, spmd_partition_anew},
    {HLO_REDUCE, spmd_partition_reduce},
    {HLO_SLICE, spmd_partition_slice},
    {HLO_DYNAMIC_SLICE, spmd_partition_slice},
    {HLO_PAD, spmd_partition_pad},
    {HLO_REVERSE, spmd_partition_window},
    {HLO_REDUCE_WINDOW, spmd_partition_reduce_window},
    {HLO_CONVOLUTION, spmd_partition_convolution},
    {HLO_SELECT_AND_SCATTER, spmd_partition_select_and_scatter},
    {HLO_CONCATENATE, spmd_partition_concatenate},
    {HLO_GATHER, spmd_partition_gather},
    {HLO_SCATTER, spmd_partition_scatter},
    {HLO_DYNAMIC_UPDATE_SLICE, spmd_partition_dynamic_update_slice},
    {HLO_WHILE, spmd_partition_while},
    {HLO_CONDITIONAL, spmd_partition_conditional},
    {HLO_CALL, spmd_partition_call},
    {HLO_OPT_BARRIER, spmd_partition_barrier},
    {HLO_TUPLE, spmd_partition_tuple},
    {HLO_GET_TUPLE_ELEMENT, spmd_partition_element},
    {HLO_CUSTOM_CALL, spmd_partition_custom_call},
    {HLO_PARTITION_ID, spmd_partition_device_number},
    {HLO_AFTER_ALL, spmd_partition_whole},
};

/* A size that is set at run time says how much of an array there is, wherever its parts would be. */
static bool has_dynamic_arrays(const HloInstruction *old) {
  bool is_dynamic = shape_is_dynamic(old->shape);
  for (int i = 0; i < old->operand_count; i++) is_dynamic = is_dynamic || shape_is_dynamic(old->operands[i]->shape);
  return is_dynamic;
}

static SpmdHandler *handler_of(const HloInstruction *old) {
  OpFlow flow = hlo_opcode_info(old->opcode)->flow;
  bool computes = flow == OP_FLOW_MAKES || flow == OP_FLOW_VIEW || flow == OP_FLOW_COPY;
  if (computes && has_dynamic_arrays(old)) return spmd_partition_whole;
  for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
    if (handlers[i].opcode == old->opcode) return handlers[i].partition;
  }
  return hlo_opcode_has(old->opcode, OP_ELEMENTWISE) ? spmd_partition_elementwise : spmd_partition_by_factors;
}

/* --- computations --- */

/* What is computed from values that are the same in every round is so itself. */
static double rounds_of(Partitioner *partitioner, const HloInstruction *old) {
  double rounds = old->opcode == HLO_PARAMETER ? 1 : partitioner->rounds;
  for (int i = 0; i < old->operand_count && rounds > 1; i++) {
    for (int leaf = 0; leaf < shape_leaf_count(old->operands[i]->shape); leaf++)
      rounds = fmin(rounds, spmd_operand_leaf(partitioner, old, i, leaf)->rounds);
  }
  return rounds;
}

/* Values for the leaves of |old|, without forms as yet. */
static void declare_values(Partitioner *partitioner, const HloInstruction *old) {
  Arena *arena = partitioner->builder.arena;
  double rounds = rounds_of(partitioner, old);
  int nodes = shape_node_count(old->shape), leaf = 0;
  SpmdValue **values = ARENA_NEW_ARRAY(arena, SpmdValue *, nodes);
  for (int node = 0; node < nodes; node++) {
    const Shape *shape = shape_node(old->shape, node);
    if (shape_is_tuple(shape)) continue;
    values[leaf] = ARENA_NEW(arena, SpmdValue);
    *values[leaf] =
        (SpmdValue){.whole = shape, .wanted = module_sharding(partitioner->shardings, old, leaf), .rounds = rounds};
    leaf++;
  }
  partitioner->values[old->id] = values;
}

static void make_parameter(Partitioner *partitioner, const HloInstruction *old, const AxisSharding *const *shardings,
                           int *leaf) {
  int first = *leaf;
  const Shape *shape = spmd_local_tree(partitioner, old->shape, shardings, leaf);
  HloInstruction *made = hlo_computation_add_parameter(partitioner->builder.graph.computation,
                                                       hlo_instruction_parameter_number(old), shape, old->name);
  hlo_instruction_inherit_metadata(made, old);
  hlo_instruction_remove_attr(made, HLO_ATTR_SHARDING);
  hlo_instruction_remove_attr(made, HLO_ATTR_FRONTEND_ATTRIBUTES);
  spmd_take_results(partitioner, old, made, shardings + first, (PartialResult){0});
}

static Status partition_instructions(Partitioner *partitioner, HloComputation *computation) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, partitioner->builder.arena, &count);
  for (int64_t i = 0; i < count; i++) {
    HloInstruction *old = order[i];
    if (old->opcode == HLO_PARAMETER) continue;
    partitioner->builder.graph.origin = old;
    declare_values(partitioner, old);
    RETURN_IF_ERROR(handler_of(old)(partitioner, old));
  }
  return STATUS_OK;
}

static StringView partitioned_name(Partitioner *partitioner, const HloComputation *computation) {
  return sv_from_cstring(arena_printf(partitioner->module->arena, "%.*s_spmd", SV_ARG(computation->name)));
}

Status spmd_partition_computation(Partitioner *partitioner, HloComputation *computation,
                                  const AxisSharding *const *parameters, const AxisSharding *const *results,
                                  HloComputation **out_partitioned) {
  GraphBuilder outside = partitioner->builder.graph;
  HloComputation *made = hlo_module_add_computation(partitioner->module, partitioned_name(partitioner, computation));
  partitioner->builder.graph.computation = made;
  const double *rounds = partitioner->state_rounds;
  partitioner->state_rounds = NULL;
  int leaf = 0;
  for (int64_t i = 0; i < computation->parameters.count; i++) {
    HloInstruction *old = computation->parameters.data[i];
    partitioner->builder.graph.origin = old;
    declare_values(partitioner, old);
    for (int k = 0; rounds != NULL && k < shape_leaf_count(old->shape); k++)
      partitioner->values[old->id][k]->rounds = rounds[leaf + k];
    make_parameter(partitioner, old, parameters, &leaf);
  }
  RETURN_IF_ERROR(partition_instructions(partitioner, computation));
  leaf = 0;
  partitioner->builder.graph.origin = computation->root;
  SpmdValue *const *values = partitioner->values[computation->root->id];
  hlo_computation_set_root(made, spmd_tree_as(partitioner, computation->root->shape, values, results, &leaf));
  partitioner->builder.graph = outside;
  *out_partitioned = made;
  return STATUS_OK;
}

/* --- control flow --- */

static HloInstruction *operand_tree(Partitioner *partitioner, const HloInstruction *old, int index,
                                    const AxisSharding *const *shardings) {
  int leaf = 0;
  const HloInstruction *operand = old->operands[index];
  return spmd_tree_as(partitioner, operand->shape, partitioner->values[operand->id], shardings, &leaf);
}

static const Shape *result_tree(Partitioner *partitioner, const HloInstruction *old,
                                const AxisSharding *const *shardings) {
  int leaf = 0;
  return spmd_local_tree(partitioner, old->shape, shardings, &leaf);
}

/* How often a loop runs is easier to see before than after, for readers of the text above all. */
static void note_trip_count(Partitioner *partitioner, const HloInstruction *old, HloInstruction *made) {
  TripCount count;
  if (hlo_instruction_attr(made, HLO_ATTR_BACKEND_CONFIG) != NULL || !trip_count_find(old, &count)) return;
  StringView text =
      sv_printf(partitioner->module->arena, "{\"known_trip_count\":{\"n\":\"%lld\"}}", (long long)count.trips);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_BACKEND_CONFIG, .loc = old->loc, .value.text = text});
}

/* What a loop counts for that does not say how often it runs. */
enum { GUESSED_ROUNDS = 8 };

static double rounds_of_loop(const HloInstruction *loop) {
  TripCount count;
  return trip_count_find(loop, &count) ? fmax((double)count.trips, 1) : GUESSED_ROUNDS;
}

/* In how many rounds each leaf of the state is the same, as far as the body hands elements of a flat tuple on. */
static const double *state_rounds(Partitioner *partitioner, const HloInstruction *loop) {
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  const HloInstruction *root = body->root;
  int leaves = shape_leaf_count(loop->shape);
  double *rounds = ARENA_NEW_ARRAY(partitioner->builder.arena, double, leaves + 1);
  for (int i = 0; i < leaves; i++) {
    const HloInstruction *element =
        root->opcode == HLO_TUPLE && root->operand_count == leaves ? root->operands[i] : NULL;
    bool is_same = element != NULL && element->opcode == HLO_GET_TUPLE_ELEMENT &&
                   element->operands[0] == body->parameters.data[0] &&
                   hlo_instruction_int(element, HLO_ATTR_INDEX, -1) == i;
    rounds[i] = is_same ? spmd_operand_leaf(partitioner, loop, 0, i)->rounds * rounds_of_loop(loop) : 1;
  }
  return rounds;
}

/* The state keeps its shardings on the way in, around and out; all devices go on together. */
Status spmd_partition_while(Partitioner *partitioner, const HloInstruction *old) {
  const AxisSharding *const *state = spmd_wanted_leaves(partitioner, old);
  HloInstruction *init = operand_tree(partitioner, old, 0, state);
  HloComputation *condition = hlo_instruction_computation(old, HLO_ATTR_CONDITION),
                 *body = hlo_instruction_computation(old, HLO_ATTR_BODY);
  AxisMask manual = module_sharding(partitioner->shardings, condition->root, 0)->manual;
  const AxisSharding *goes_on = axis_sharding_replicated(partitioner->builder.arena, 0, manual);
  RETURN_IF_ERROR(spmd_partition_computation(partitioner, condition, state, &goes_on, &condition));
  double around = partitioner->rounds;
  partitioner->rounds *= rounds_of_loop(old);
  partitioner->state_rounds = state_rounds(partitioner, old);
  RETURN_IF_ERROR(spmd_partition_computation(partitioner, body, state, state, &body));
  partitioner->rounds = around;
  HloInstruction *made = spmd_clone(partitioner, old, init->shape, &init, 1);
  hlo_instruction_set_computation(made, HLO_ATTR_CONDITION, condition);
  hlo_instruction_set_computation(made, HLO_ATTR_BODY, body);
  note_trip_count(partitioner, old, made);
  spmd_take_results(partitioner, old, made, state, (PartialResult){0});
  return STATUS_OK;
}

/* |old| calls computation |index| with its operand |operand|. */
static Status partition_branch(Partitioner *partitioner, const HloInstruction *old, HloInstruction *made, int index,
                               const AxisSharding *const *results) {
  HloComputation *branch = hlo_instruction_called(old, index);
  const AxisSharding *const *parameters = spmd_wanted_leaves(partitioner, branch->parameters.data[0]);
  RETURN_IF_ERROR(spmd_partition_computation(partitioner, branch, parameters, results, &branch));
  hlo_instruction_set_called(made, index, branch);
  return STATUS_OK;
}

Status spmd_partition_conditional(Partitioner *partitioner, const HloInstruction *old) {
  const AxisSharding *const *results = spmd_wanted_leaves(partitioner, old);
  HloInstruction **operands = ARENA_NEW_ARRAY(partitioner->builder.arena, HloInstruction *, old->operand_count + 1);
  operands[0] = spmd_value_whole(partitioner, spmd_operand(partitioner, old, 0));
  int branches = hlo_instruction_called_count(old);
  for (int i = 0; i < branches; i++) {
    const HloInstruction *parameter = hlo_instruction_called(old, i)->parameters.data[0];
    operands[i + 1] = operand_tree(partitioner, old, i + 1, spmd_wanted_leaves(partitioner, parameter));
  }
  HloInstruction *made =
      spmd_clone(partitioner, old, result_tree(partitioner, old, results), operands, old->operand_count);
  for (int i = 0; i < branches; i++) RETURN_IF_ERROR(partition_branch(partitioner, old, made, i, results));
  spmd_take_results(partitioner, old, made, results, (PartialResult){0});
  return STATUS_OK;
}

/* One that was not inlined: there are too many of them. */
Status spmd_partition_call(Partitioner *partitioner, const HloInstruction *old) {
  const AxisSharding *const *results = spmd_wanted_leaves(partitioner, old);
  HloComputation *callee = hlo_instruction_computation(old, HLO_ATTR_TO_APPLY);
  Arena *arena = partitioner->builder.arena;
  HloInstruction **operands = ARENA_NEW_ARRAY(arena, HloInstruction *, old->operand_count + 1);
  ARRAY(const AxisSharding *) parameters = {0};
  for (int i = 0; i < old->operand_count; i++) {
    const HloInstruction *parameter = callee->parameters.data[i];
    const AxisSharding *const *wanted = spmd_wanted_leaves(partitioner, parameter);
    operands[i] = operand_tree(partitioner, old, i, wanted);
    for (int leaf = 0; leaf < shape_leaf_count(parameter->shape); leaf++) array_push(&parameters, arena, wanted[leaf]);
  }
  RETURN_IF_ERROR(spmd_partition_computation(partitioner, callee, parameters.data, results, &callee));
  HloInstruction *made =
      spmd_clone(partitioner, old, result_tree(partitioner, old, results), operands, old->operand_count);
  hlo_instruction_set_computation(made, HLO_ATTR_TO_APPLY, callee);
  spmd_take_results(partitioner, old, made, results, (PartialResult){0});
  return STATUS_OK;
}

Status spmd_partition_barrier(Partitioner *partitioner, const HloInstruction *old) {
  const AxisSharding *const *wanted = spmd_wanted_leaves(partitioner, old);
  HloInstruction *operand = operand_tree(partitioner, old, 0, wanted);
  HloInstruction *made = spmd_clone(partitioner, old, operand->shape, &operand, 1);
  spmd_take_results(partitioner, old, made, wanted, (PartialResult){0});
  return STATUS_OK;
}

/* --- tuples --- */

Status spmd_partition_tuple(Partitioner *partitioner, const HloInstruction *old) {
  SpmdValue **values = partitioner->values[old->id];
  int leaf = 0;
  for (int i = 0; i < old->operand_count; i++) {
    for (int k = 0; k < shape_leaf_count(old->operands[i]->shape); k++)
      values[leaf++] = spmd_operand_leaf(partitioner, old, i, k);
  }
  return STATUS_OK;
}

Status spmd_partition_element(Partitioner *partitioner, const HloInstruction *old) {
  SpmdValue **values = partitioner->values[old->id];
  int64_t index = hlo_instruction_int(old, HLO_ATTR_INDEX, 0);
  int first = shape_leaves_before(old->operands[0]->shape, index);
  for (int k = 0; k < shape_leaf_count(old->shape); k++) values[k] = spmd_operand_leaf(partitioner, old, 0, first + k);
  return STATUS_OK;
}

/* Its number among all devices is the business of manual regions; anywhere else every device computes one program. */
Status spmd_partition_device_number(Partitioner *partitioner, const HloInstruction *old) {
  if (spmd_result(partitioner, old, 0)->wanted->manual != 0) return spmd_partition_whole(partitioner, old);
  return diag_error(partitioner->context->diag, STATUS_INVALID, old->loc, "sharding",
                    "partition-id has no one value for all devices: it may stand in manual regions only");
}
