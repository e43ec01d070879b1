#include "cli/module_descriptor.h"

static XlacTensor tensor_of(const HloInstruction *instruction, const Shape *shape) {
  return (XlacTensor){.name = instruction->name.data,
                      .type = (int32_t)shape->type,
                      .rank = shape->rank,
                      .dims = shape->dims,
                      .minor_to_major = shape->layout.minor_to_major,
                      .bytes = shape_byte_size(shape),
                      .alignment = 1,
                      .alias = -1};
}

static void add_leaves(Arena *arena, const HloInstruction *instruction, XlacTensor *tensors, int64_t *count) {
  for (int node = 0; node < shape_node_count(instruction->shape); node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (shape_is_tuple(shape)) continue;
    tensors[*count] = tensor_of(instruction, shape);
    tensors[(*count)++].name = sv_copy(arena, instruction->name).data;
  }
}

const XlacDescriptor *module_descriptor(Arena *arena, const HloModule *module) {
  const HloComputation *entry = module->entry;
  XlacDescriptor *descriptor = ARENA_NEW(arena, XlacDescriptor);
  int64_t total = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++) total += shape_leaf_count(entry->parameters.data[i]->shape);
  XlacTensor *parameters = ARENA_NEW_ARRAY(arena, XlacTensor, total);
  XlacTensor *results = ARENA_NEW_ARRAY(arena, XlacTensor, shape_leaf_count(entry->root->shape));
  *descriptor = (XlacDescriptor){.struct_size = sizeof *descriptor,
                                 .abi_version = XLAC_ABI_VERSION,
                                 .module_name = sv_copy(arena, module->name).data,
                                 .parameters = parameters,
                                 .results = results,
                                 .workspace_alignment = 1};
  for (int64_t i = 0; i < entry->parameters.count; i++)
    add_leaves(arena, entry->parameters.data[i], parameters, &descriptor->parameter_count);
  add_leaves(arena, entry->root, results, &descriptor->result_count);
  return descriptor;
}
