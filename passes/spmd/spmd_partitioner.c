/* spmd-partitioner: a module of whole arrays becomes the program of one of its devices (GSPMD's SpmdPartitioner). */
#include "hlo/ir/custom_call.h"
#include "passes/spmd/partition_internal.h"

/* Markers in reducers and the like say nothing: what they are applied to are scalars. */
static void drop_applied_markers(HloModule *module, Arena *scratch) {
  const bool *applied = hlo_module_applied(scratch, module, true);
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    if (!applied[computation->id]) continue;
    int64_t count;
    HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (custom_call_marker_value(order[i]) == MARKER_OPERAND)
        hlo_computation_replace_instruction(computation, order[i], order[i]->operands[0]);
    }
  }
}

/* --- the entry --- */

static const HloSharding *leaf_shardings_to_hlo(const Partitioner *partitioner, const Shape *shape,
                                                const AxisSharding *const *leaves) {
  Arena *arena = partitioner->module->arena;
  int count = shape_leaf_count(shape);
  HloSharding *list = ARENA_NEW_ARRAY(arena, HloSharding, count + 1);
  for (int i = 0; i < count; i++) {
    list[i] = (HloSharding){.kind = SHARDING_REPLICATED, .shard_as = -1, .shard_like = -1};
    if (leaves[i] != NULL) list[i] = *axis_sharding_to_hlo(arena, partitioner->builder.mesh, leaves[i]);
  }
  if (!shape_is_tuple(shape)) return list;
  HloSharding *tuple = ARENA_NEW(arena, HloSharding);
  *tuple = (HloSharding){.kind = SHARDING_TUPLE, .shard_as = -1, .shard_like = -1, .tuple_count = count, .tuple = list};
  return tuple;
}

static void set_sharding(HloInstruction *instruction, const HloSharding *sharding) {
  hlo_instruction_set_attr(instruction,
                           &(HloAttr){.id = HLO_ATTR_SHARDING, .loc = instruction->loc, .value.sharding = sharding});
}

/* The root says how the whole results are divided; a value that stands elsewhere as well gets a copy that says so. */
static void mark_root(Partitioner *partitioner, HloComputation *entry, const HloSharding *sharding) {
  HloInstruction *root = entry->root;
  if (root->opcode == HLO_PARAMETER || root->user_count > 0) {
    partitioner->builder.graph.computation = entry;
    root = graph_add(&partitioner->builder.graph, HLO_COPY, root->shape, &root, 1);
    hlo_computation_set_root(entry, root);
  }
  set_sharding(root, sharding);
}

/* A result can only take a parameter's place where a device's parts of both are alike. */
static void keep_aliases_that_fit(HloModule *module) {
  int64_t kept = 0;
  for (int64_t i = 0; i < module->aliases.count; i++) {
    const InputOutputAlias *alias = &module->aliases.data[i];
    const Shape *result = shape_at(module->entry->root->shape, alias->output);
    const Shape *parameter = shape_at(module->entry->parameters.data[alias->parameter]->shape, alias->parameter_index);
    if (result == parameter) module->aliases.data[kept++] = *alias;
  }
  module->aliases.count = kept;
}

static Status partition_entry(Partitioner *partitioner) {
  HloModule *module = partitioner->module;
  HloComputation *whole = module->entry;
  Arena *arena = partitioner->builder.arena;
  ARRAY(const AxisSharding *) parameters = {0};
  for (int64_t i = 0; i < whole->parameters.count; i++) {
    const HloInstruction *parameter = whole->parameters.data[i];
    const AxisSharding *const *wanted = spmd_wanted_leaves(partitioner, parameter);
    for (int leaf = 0; leaf < shape_leaf_count(parameter->shape); leaf++) array_push(&parameters, arena, wanted[leaf]);
  }
  const AxisSharding *const *results = spmd_wanted_leaves(partitioner, whole->root);
  RETURN_IF_ERROR(spmd_partition_computation(partitioner, whole, parameters.data, results, &module->entry));
  int leaf = 0;
  for (int64_t i = 0; i < whole->parameters.count; i++) {
    const Shape *shape = whole->parameters.data[i]->shape;
    set_sharding(module->entry->parameters.data[i], leaf_shardings_to_hlo(partitioner, shape, parameters.data + leaf));
    leaf += shape_leaf_count(shape);
  }
  partitioner->builder.graph.origin = whole->root;
  mark_root(partitioner, module->entry, leaf_shardings_to_hlo(partitioner, whole->root->shape, results));
  hlo_module_update_entry_layout(module);
  keep_aliases_that_fit(module);
  return STATUS_OK;
}

/* What was made for values that nobody asked for in the end; a collective does not go for being dead alone. */
static void remove_unused(Partitioner *partitioner) {
  HloModule *module = partitioner->module;
  Arena *scratch = partitioner->context->scratch;
  hlo_module_remove_unreachable(module);
  hlo_module_remove_dead(module);
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count, removed = 0;
    HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
    for (int64_t i = count - 1; i >= 0; i--) {
      bool is_unused =
          hlo_instruction_is_unread(order[i]) &&
          (hlo_opcode_is_collective(order[i]->opcode) || (removed > 0 && !hlo_instruction_has_side_effect(order[i])));
      if (!is_unused || order[i]->opcode == HLO_PARAMETER) continue;
      hlo_computation_remove(computation, order[i], false);
      removed++;
    }
  }
}

static Status run_spmd_partitioner(HloPassContext *context, HloModule *module, bool *out_changed) {
  if (module->num_partitions <= 1 || !(module->is_whole || spmd_is_to_be_partitioned(module))) return STATUS_OK;
  *out_changed = true;
  drop_applied_markers(module, context->scratch);
  ModuleShardings shardings;
  RETURN_IF_ERROR(spmd_propagate(context->scratch, module, context->diag, &shardings));
  Partitioner partitioner = {
      .builder = {.graph = {.scratch = context->scratch}, .mesh = shardings.mesh, .arena = context->scratch},
      .module = module,
      .shardings = &shardings,
      .context = context,
      .rounds = 1,
      .values = ARENA_NEW_ARRAY(context->scratch, SpmdValue **, module->next_instruction_id)};
  RETURN_IF_ERROR(partition_entry(&partitioner));
  module->is_whole = module->fits_partitions = false;
  remove_unused(&partitioner);
  return STATUS_OK;
}

const HloPass hlo_spmd_partitioner_pass = {
    "spmd-partitioner", "arrays that the text divides among devices become one device's parts, with collectives",
    run_spmd_partitioner, false};
