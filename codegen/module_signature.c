#include "codegen/module_signature.h"

#include "codegen/descriptor.h"
#include "codegen/module_leaves.h"

static const XlacTensor *tensors_of(const TensorLeaf *leaves, int64_t count, Arena *arena) {
  XlacTensor *tensors = ARENA_NEW_ARRAY(arena, XlacTensor, count);
  for (int64_t i = 0; i < count; i++) tensors[i] = tensor_of_leaf(&leaves[i], arena);
  return tensors;
}

static const XlacLeafSize *sizes_of(const LeafSize *sizes, int64_t count, Arena *arena) {
  XlacLeafSize *copies = ARENA_NEW_ARRAY(arena, XlacLeafSize, count);
  for (int64_t i = 0; i < count; i++) copies[i] = (XlacLeafSize){sizes[i].leaf, sizes[i].dimension, sizes[i].size_leaf};
  return copies;
}

const XlacDescriptor *module_signature(const HloModule *module, const BufferAssignment *assignment,
                                       const ConstantFile *constants, Arena *arena) {
  ModuleLeaves leaves = module_leaves(module, assignment, arena);
  const char **names = ARENA_NEW_ARRAY(arena, const char *, leaves.parameter_count);
  for (int64_t i = 0; i < leaves.parameter_count; i++) names[i] = sv_copy(arena, leaves.parameter_names[i]).data;
  XlacDescriptor *signature = ARENA_NEW(arena, XlacDescriptor);
  *signature =
      (XlacDescriptor){.struct_size = sizeof *signature,
                       .abi_version = XLAC_ABI_VERSION,
                       .module_name = sv_copy(arena, module->name).data,
                       .parameter_count = leaves.parameter_count,
                       .result_count = leaves.result_count,
                       .parameters = tensors_of(leaves.parameters, leaves.parameter_count, arena),
                       .results = tensors_of(leaves.results, leaves.result_count, arena),
                       .workspace_bytes = assignment->workspace_bytes,
                       .workspace_alignment = DESCRIPTOR_WORKSPACE_ALIGNMENT,
                       .scratch_bytes_per_worker = assignment->scratch_bytes_per_worker,
                       .parameter_size_count = module->parameter_sizes.count,
                       .result_size_count = module->result_sizes.count,
                       .parameter_sizes = sizes_of(module->parameter_sizes.data, module->parameter_sizes.count, arena),
                       .result_sizes = sizes_of(module->result_sizes.data, module->result_sizes.count, arena),
                       .parameter_names = names,
                       .constants_bytes = constants == NULL ? 0 : (int64_t)constants->bytes.size,
                       .constants_hash = constants == NULL ? 0 : constants->hash,
                       .prepared_bytes = assignment->prepared_bytes,
                       .prepared_alignment = assignment->prepared_bytes > 0 ? DESCRIPTOR_PREPARED_ALIGNMENT : 0};
  return signature;
}
