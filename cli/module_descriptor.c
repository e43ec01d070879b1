#include "cli/module_descriptor.h"

#include "hlo/ir/leaf_names.h"

/* What is known of the leaves on one side, while they are counted. */
typedef struct LeafList {
  ARRAY(XlacTensor) tensors;
  ARRAY(XlacLeafSize) sizes;
} LeafList;

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

static void add_leaves(Arena *arena, const HloInstruction *instruction, LeafList *list) {
  for (int node = 0; node < shape_node_count(instruction->shape); node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (shape_is_tuple(shape)) continue;
    int64_t leaf = list->tensors.count;
    XlacTensor tensor = tensor_of(instruction, shape);
    tensor.name = sv_copy(arena, instruction->name).data;
    array_push(&list->tensors, arena, tensor);
    for (int64_t d = 0; shape->dynamic != NULL && d < shape->rank; d++)
      if (shape->dynamic[d]) array_push(&list->sizes, arena, ((XlacLeafSize){leaf, d, 0}));
  }
}

/* A leaf for each size that has none yet, after all others; |known|: those that have one. */
static void add_sizes(Arena *arena, ShapeTable *shapes, LeafList *list, const LeafSize *known, int64_t known_count) {
  const Shape *scalar = shape_scalar(shapes, TYPE_S32);
  for (int64_t i = 0; i < list->sizes.count; i++) {
    XlacLeafSize *size = &list->sizes.data[i];
    size->size_leaf = list->tensors.count;
    XlacTensor tensor = {.name = list->tensors.data[size->leaf].name,
                         .type = TYPE_S32,
                         .bytes = shape_byte_size(scalar),
                         .alignment = 1,
                         .alias = -1};
    array_push(&list->tensors, arena, tensor);
  }
  for (int64_t i = 0; i < known_count; i++)
    array_push(&list->sizes, arena, ((XlacLeafSize){known[i].leaf, known[i].dimension, known[i].size_leaf}));
}

/* As the descriptor of compiled code has them: sizes are called after their leaves. */
static const char **parameter_names(Arena *arena, const HloModule *module, const LeafList *list) {
  int64_t count;
  const StringView *known = hlo_parameter_leaf_names(module, arena, &count);
  const char **names = ARENA_NEW_ARRAY(arena, const char *, list->tensors.count);
  for (int64_t i = 0; i < count; i++) names[i] = known[i].data;
  for (int64_t i = 0; i < list->sizes.count; i++) {
    const XlacLeafSize *size = &list->sizes.data[i];
    if (size->size_leaf >= count)
      names[size->size_leaf] = hlo_size_leaf_name(arena, known[size->leaf], size->dimension).data;
  }
  return names;
}

const XlacDescriptor *module_descriptor(Arena *arena, const HloModule *module) {
  const HloComputation *entry = module->entry;
  LeafList parameters = {0}, results = {0};
  for (int64_t i = 0; i < entry->parameters.count; i++) add_leaves(arena, entry->parameters.data[i], &parameters);
  add_leaves(arena, entry->root, &results);
  add_sizes(arena, module->shapes, &parameters, module->parameter_sizes.data, module->parameter_sizes.count);
  add_sizes(arena, module->shapes, &results, module->result_sizes.data, module->result_sizes.count);
  const char **names = parameter_names(arena, module, &parameters);
  XlacDescriptor *descriptor = ARENA_NEW(arena, XlacDescriptor);
  *descriptor = (XlacDescriptor){.struct_size = sizeof *descriptor,
                                 .abi_version = XLAC_ABI_VERSION,
                                 .module_name = sv_copy(arena, module->name).data,
                                 .parameters = parameters.tensors.data,
                                 .results = results.tensors.data,
                                 .parameter_count = parameters.tensors.count,
                                 .result_count = results.tensors.count,
                                 .parameter_sizes = parameters.sizes.data,
                                 .result_sizes = results.sizes.data,
                                 .parameter_size_count = parameters.sizes.count,
                                 .result_size_count = results.sizes.count,
                                 .workspace_alignment = 1,
                                 .parameter_names = names};
  return descriptor;
}
