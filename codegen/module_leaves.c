#include "codegen/module_leaves.h"

#include "hlo/ir/leaf_names.h"

static StringView leaf_name(StringView name, const Shape *shape, int node, Arena *arena) {
  int64_t *path = ARENA_NEW_ARRAY(arena, int64_t, shape_depth(shape) + 1);
  int depth = shape_node_path(shape, node, path);
  StringBuilder text;
  sb_init(&text, arena);
  sb_append(&text, name);
  for (int i = 0; i < depth; i++) sb_printf(&text, "%s%lld", i == 0 ? "{" : ",", (long long)path[i]);
  if (depth > 0) sb_append_char(&text, '}');
  return sb_view(&text);
}

static void add_leaves(StringView name, const Shape *of, Arena *arena, TensorLeaf *leaves, int64_t *count) {
  for (int node = 0; node < shape_node_count(of); node++) {
    const Shape *shape = shape_node(of, node);
    if (!shape_is_tuple(shape)) leaves[(*count)++] = (TensorLeaf){leaf_name(name, of, node, arena), shape, -1};
  }
}

/* What reads the values of |allocation|, an argument. */
static void find_readers(const HloModule *module, const BufferAssignment *assignment,
                         const BufferAllocation *allocation, ModuleLeaves *leaves) {
  for (int32_t b = 0; b < allocation->buffer_count; b++) {
    const HloBuffer *buffer = &assignment->buffers[allocation->buffers[b]];
    for (int32_t v = 0; v < buffer->value_count; v++) {
      const HloValue *value = &assignment->values[buffer->values[v]];
      for (int32_t u = 0; u < value->use_count; u++) {
        bool is_before = value->uses[u].user->parent == module->preparation;
        (is_before ? leaves->is_read_before : leaves->is_read_by_runs)[allocation->parameter] = true;
      }
    }
  }
}

ModuleLeaves module_leaves(const HloModule *module, const BufferAssignment *assignment, Arena *arena) {
  ModuleLeaves leaves = {0};
  const HloInstructionArray *parameters = &module->entry->parameters;
  int64_t parameter_count;
  leaves.parameter_names = hlo_parameter_leaf_names(module, arena, &parameter_count);
  leaves.parameters = ARENA_NEW_ARRAY(arena, TensorLeaf, parameter_count);
  for (int64_t i = 0; i < parameters->count; i++) {
    const HloInstruction *parameter = parameters->data[i];
    add_leaves(parameter->name, parameter->shape, arena, leaves.parameters, &leaves.parameter_count);
  }
  const HloInstruction *root = module->entry->root;
  StringView result_name = module->result_name.size > 0 ? module->result_name : root->name;
  leaves.results = ARENA_NEW_ARRAY(arena, TensorLeaf, shape_leaf_count(root->shape));
  add_leaves(result_name, root->shape, arena, leaves.results, &leaves.result_count);
  leaves.result_count -= module->prepared_count; /* no run's */
  leaves.is_read_before = ARENA_NEW_ARRAY(arena, bool, parameter_count);
  leaves.is_read_by_runs = ARENA_NEW_ARRAY(arena, bool, parameter_count);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind == ALLOCATION_PARAMETER) find_readers(module, assignment, allocation, &leaves);
    if (allocation->kind != ALLOCATION_PARAMETER || allocation->result < 0) continue;
    leaves.parameters[allocation->parameter].alias = allocation->result;
    leaves.results[allocation->result].alias = allocation->parameter;
  }
  return leaves;
}
