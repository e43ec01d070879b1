#include "codegen/descriptor.h"

#include "codegen/collective/collective.h"
#include "codegen/entry_name.h"
#include "codegen/ir/tensor_constants.h"
#include "codegen/module_leaves.h"
#include "hlo/infer/device_check.h"
#include "xlac/abi.h"

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

static LLVMValueRef names_constant(const TensorConstants *builder, const StringView *names, int64_t count) {
  LLVMTypeRef type = LLVMPointerTypeInContext(builder->context, 0);
  if (count == 0) return LLVMConstNull(type);
  LLVMValueRef *texts = ARENA_NEW_ARRAY(builder->arena, LLVMValueRef, count);
  for (int64_t i = 0; i < count; i++) texts[i] = tensor_text_constant(builder, names[i]);
  return tensor_global(builder, LLVMConstArray2(type, texts, (uint64_t)count), "names");
}

/* NULL where nothing is prepared. */
static LLVMValueRef prepare_function(LLVMModuleRef llvm_module, StringView entry_name, Arena *arena) {
  const char *name = arena_printf(arena, "%.*s" ENTRY_PREPARE_SUFFIX, SV_ARG(entry_name));
  LLVMValueRef function = LLVMGetNamedFunction(llvm_module, name);
  return function != NULL ? function : LLVMConstNull(LLVMPointerTypeInContext(LLVMGetModuleContext(llvm_module), 0));
}

void descriptor_emit(LLVMModuleRef llvm_module, const HloModule *module, const BufferAssignment *assignment,
                     const ModuleCollectives *collectives, const ConstantFile *constants, StringView entry_name,
                     Arena *scratch) {
  TensorConstants builder = {LLVMGetModuleContext(llvm_module), llvm_module, scratch};
  bool is_for_one = collectives == NULL && hlo_module_is_whole(module);
  DeviceCounts devices = is_for_one ? (DeviceCounts){1, 1} : hlo_module_device_counts(module);
  ModuleLeaves leaves = module_leaves(module, assignment, scratch);
  LLVMValueRef fields[] = {
      tensor_int(&builder, 64, (int64_t)sizeof(XlacDescriptor)),
      tensor_int(&builder, 32, XLAC_ABI_VERSION),
      tensor_int(&builder, 32, 0),
      tensor_text_constant(&builder, module->name),
      tensor_int(&builder, 64, leaves.parameter_count),
      tensor_int(&builder, 64, leaves.result_count),
      tensor_array(&builder, leaves.parameters, leaves.parameter_count),
      tensor_array(&builder, leaves.results, leaves.result_count),
      tensor_int(&builder, 64, assignment->workspace_bytes),
      tensor_int(&builder, 64, DESCRIPTOR_WORKSPACE_ALIGNMENT),
      tensor_int(&builder, 64, assignment->scratch_bytes_per_worker),
      tensor_int(&builder, 64, module->parameter_sizes.count),
      tensor_int(&builder, 64, module->result_sizes.count),
      sizes_constant(&builder, module->parameter_sizes.data, module->parameter_sizes.count),
      sizes_constant(&builder, module->result_sizes.data, module->result_sizes.count),
      names_constant(&builder, leaves.parameter_names, leaves.parameter_count),
      tensor_int(&builder, 64, devices.replicas),
      tensor_int(&builder, 64, devices.partitions),
      tensor_int(&builder, 64, collectives == NULL ? 0 : collectives->count),
      collectives == NULL ? LLVMConstNull(LLVMPointerTypeInContext(builder.context, 0))
                          : collective_table(llvm_module, collectives, scratch),
      tensor_int(&builder, 64, collectives == NULL ? 0 : (int64_t)collectives->hash),
      tensor_int(&builder, 64, collectives != NULL && collectives->is_conditional),
      tensor_int(&builder, 64, constants == NULL ? 0 : (int64_t)constants->bytes.size),
      tensor_int(&builder, 64, constants == NULL ? 0 : (int64_t)constants->hash),
      tensor_int(&builder, 64, assignment->prepared_bytes),
      tensor_int(&builder, 64, assignment->prepared_bytes > 0 ? DESCRIPTOR_PREPARED_ALIGNMENT : 0),
      prepare_function(llvm_module, entry_name, scratch),
  };
  LLVMValueRef value = LLVMConstStructInContext(builder.context, fields, sizeof fields / sizeof *fields, false);
  const char *name = arena_printf(scratch, "%.*s_descriptor", SV_ARG(entry_name));
  LLVMValueRef global = LLVMAddGlobal(llvm_module, LLVMTypeOf(value), name);
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, true);
}
