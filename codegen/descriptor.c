#include "codegen/descriptor.h"

#include <string.h>

#include "codegen/ir/tensor_constants.h"
#include "xlac/abi.h"

#define DESCRIPTOR_WORKSPACE_ALIGNMENT 64

/* --- leaves --- */

static StringView leaf_name(const HloInstruction *instruction, int node, Arena *arena) {
  int64_t *path = ARENA_NEW_ARRAY(arena, int64_t, shape_depth(instruction->shape) + 1);
  int depth = shape_node_path(instruction->shape, node, path);
  StringBuilder name;
  sb_init(&name, arena);
  sb_append(&name, instruction->name);
  for (int i = 0; i < depth; i++) sb_printf(&name, "%s%lld", i == 0 ? "{" : ",", (long long)path[i]);
  if (depth > 0) sb_append_char(&name, '}');
  return sb_view(&name);
}

static void add_leaves(const HloInstruction *instruction, Arena *arena, TensorLeaf *leaves, int64_t *count) {
  for (int node = 0; node < shape_node_count(instruction->shape); node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (!shape_is_tuple(shape)) leaves[(*count)++] = (TensorLeaf){leaf_name(instruction, node, arena), shape, -1};
  }
}

static TensorLeaf *parameter_leaves(const HloModule *module, Arena *arena, int64_t *out_count) {
  int64_t total = 0;
  const HloInstructionArray *parameters = &module->entry->parameters;
  for (int64_t i = 0; i < parameters->count; i++) total += shape_leaf_count(parameters->data[i]->shape);
  TensorLeaf *leaves = ARENA_NEW_ARRAY(arena, TensorLeaf, total);
  *out_count = 0;
  for (int64_t i = 0; i < parameters->count; i++) add_leaves(parameters->data[i], arena, leaves, out_count);
  return leaves;
}

static TensorLeaf *result_leaves(const HloModule *module, Arena *arena, int64_t *out_count) {
  TensorLeaf *leaves = ARENA_NEW_ARRAY(arena, TensorLeaf, shape_leaf_count(module->entry->root->shape));
  *out_count = 0;
  add_leaves(module->entry->root, arena, leaves, out_count);
  return leaves;
}

/* --- sizes of leaves --- */

static LLVMValueRef sizes_constant(const TensorConstants *builder, const LeafSize *sizes, int64_t count) {
  if (count == 0) return LLVMConstNull(LLVMPointerTypeInContext(builder->context, 0));
  LLVMValueRef *numbers = ARENA_NEW_ARRAY(builder->arena, LLVMValueRef, 3 * count);
  for (int64_t i = 0; i < count; i++) {
    numbers[3 * i] = tensor_int(builder, 64, sizes[i].leaf);
    numbers[3 * i + 1] = tensor_int(builder, 64, sizes[i].dimension);
    numbers[3 * i + 2] = tensor_int(builder, 64, sizes[i].size_leaf);
  }
  LLVMTypeRef type = LLVMInt64TypeInContext(builder->context);
  return tensor_global(builder, LLVMConstArray2(type, numbers, (uint64_t)(3 * count)), "sizes");
}

/* --- the constant --- */

void descriptor_emit(LLVMModuleRef llvm_module, const HloModule *module, const BufferAssignment *assignment,
                     StringView entry_name, Arena *scratch) {
  TensorConstants builder = {LLVMGetModuleContext(llvm_module), llvm_module, scratch};
  int64_t parameter_count, result_count;
  TensorLeaf *parameters = parameter_leaves(module, scratch, &parameter_count);
  TensorLeaf *results = result_leaves(module, scratch, &result_count);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind != ALLOCATION_PARAMETER || allocation->result < 0) continue;
    parameters[allocation->parameter].alias = allocation->result;
    results[allocation->result].alias = allocation->parameter;
  }
  LLVMValueRef fields[] = {
      tensor_int(&builder, 64, (int64_t)sizeof(XlacDescriptor)),
      tensor_int(&builder, 32, XLAC_ABI_VERSION),
      tensor_int(&builder, 32, 0),
      tensor_text_constant(&builder, module->name),
      tensor_int(&builder, 64, parameter_count),
      tensor_int(&builder, 64, result_count),
      tensor_array(&builder, parameters, parameter_count),
      tensor_array(&builder, results, result_count),
      tensor_int(&builder, 64, assignment->workspace_bytes),
      tensor_int(&builder, 64, DESCRIPTOR_WORKSPACE_ALIGNMENT),
      tensor_int(&builder, 64, assignment->scratch_bytes_per_worker),
      tensor_int(&builder, 64, module->parameter_sizes.count),
      tensor_int(&builder, 64, module->result_sizes.count),
      sizes_constant(&builder, module->parameter_sizes.data, module->parameter_sizes.count),
      sizes_constant(&builder, module->result_sizes.data, module->result_sizes.count),
  };
  LLVMValueRef value = LLVMConstStructInContext(builder.context, fields, sizeof fields / sizeof *fields, false);
  const char *name = arena_printf(scratch, "%.*s_descriptor", SV_ARG(entry_name));
  LLVMValueRef global = LLVMAddGlobal(llvm_module, LLVMTypeOf(value), name);
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, true);
}

/* --- the header --- */

static void describe_leaves(StringBuilder *out, const char *array, const TensorLeaf *leaves, int64_t count,
                            Arena *scratch) {
  for (int64_t i = 0; i < count; i++) {
    StringView shape = shape_text(scratch, leaves[i].shape, true);
    sb_printf(out, " *   %s[%lld]  %.*s  %.*s\n", array, (long long)i, SV_ARG(shape), SV_ARG(leaves[i].name));
  }
}

static void describe_sizes(StringBuilder *out, const char *array, const LeafSize *sizes, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    sb_printf(out, " *   %s[%lld] is the size of dimension %lld of %s[%lld]\n", array, (long long)sizes[i].size_leaf,
              (long long)sizes[i].dimension, array, (long long)sizes[i].leaf);
}

/* " *   name": comments must not end in a target's name. */
static void describe_targets(StringBuilder *out, const CallTargets *targets) {
  bool needs_lapack = false;
  if (targets->count > 0) sb_append_cstring(out, " * To be linked with functions for its custom calls:\n");
  for (int64_t i = 0; i < targets->count; i++) {
    StringView symbol = targets->targets[i].symbol;
    sb_append_cstring(out, " *   ");
    for (size_t k = 0; k < symbol.size; k++)
      sb_append_char(out, strchr("*/\\\n", symbol.data[k]) ? '?' : symbol.data[k]);
    sb_append_char(out, '\n');
    needs_lapack |= sv_starts_with(symbol, SV("lapack_"));
  }
  if (needs_lapack)
    sb_append_cstring(out, " * LAPACK's are in xlac's libxlac_lapack.a, before -llapacke -lopenblas -lm\n");
}

StringView descriptor_header(const HloModule *module, const CallTargets *targets, StringView entry_name, Arena *arena) {
  StringBuilder out;
  sb_init(&out, arena);
  int64_t parameter_count, result_count;
  TensorLeaf *parameters = parameter_leaves(module, arena, &parameter_count);
  TensorLeaf *results = result_leaves(module, arena, &result_count);
  StringBuilder guard;
  sb_init(&guard, arena);
  for (size_t i = 0; i < entry_name.size; i++) {
    char c = entry_name.data[i];
    sb_append_char(&guard, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
  }
  sb_printf(&out, "/* HLO module '%.*s', compiled by xlac.  Call it as xlac/abi.h describes:\n", SV_ARG(module->name));
  describe_leaves(&out, "arguments", parameters, parameter_count, arena);
  describe_leaves(&out, "results", results, result_count, arena);
  describe_sizes(&out, "arguments", module->parameter_sizes.data, module->parameter_sizes.count);
  describe_sizes(&out, "results", module->result_sizes.data, module->result_sizes.count);
  sb_append_cstring(
      &out,
      " * With options->parallel_for the workspace has (worker_count - 1) * scratch_bytes_per_worker more "
      "bytes.\n");
  describe_targets(&out, targets);
  sb_printf(&out, " */\n#ifndef XLAC_MODULE_%.*s_H\n#define XLAC_MODULE_%.*s_H\n\n", SV_ARG(sb_view(&guard)),
            SV_ARG(sb_view(&guard)));
  sb_append_cstring(&out, "#include \"xlac/abi.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  sb_printf(&out, "extern const XlacDescriptor %.*s_descriptor;\n", SV_ARG(entry_name));
  sb_printf(
      &out,
      "int %.*s(const void *const *arguments, void *const *results, void *workspace, const XlacRunOptions *options);\n",
      SV_ARG(entry_name));
  sb_append_cstring(&out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return sb_view(&out);
}
