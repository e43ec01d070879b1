#include "codegen/codegen.h"

#include <ctype.h>

#include "codegen/descriptor.h"
#include "codegen/emit/control_emitter.h"
#include "codegen/kernel/emit_family.h"
#include "codegen/kernel/kernel_builder.h"
#include "codegen/llvm/llvm_target.h"

StringView codegen_entry_name(Arena *arena, const HloModule *module) {
  StringBuilder name;
  sb_init(&name, arena);
  if (module->name.size == 0 || isdigit((unsigned char)module->name.data[0])) sb_append_char(&name, '_');
  for (size_t i = 0; i < module->name.size; i++) {
    unsigned char c = (unsigned char)module->name.data[i];
    sb_append_char(&name, isalnum(c) ? (char)c : '_');
  }
  return sb_view(&name);
}

/* Control code and Kernels in one LLVM module. */
static Status emit_module(const LlvmTarget *target, LLVMModuleRef llvm_module, const HloModule *module, StringView entry_name,
                          DiagSink *diag, ControlResult *out_control) {
  LLVMContextRef context = LLVMGetModuleContext(llvm_module);
  Arena *scratch = arena_create();
  VecBuilder vec = {context, llvm_module, LLVMCreateBuilderInContext(context), &target->vec};
  const char *name = arena_copy_string(scratch, entry_name.data, entry_name.size);
  Status status = control_emit(&vec, module, module->buffer_assignment, name, diag, out_control);
  if (status == STATUS_OK) {
    descriptor_emit(llvm_module, module, module->buffer_assignment, entry_name, out_control->workspace_bytes, scratch);
  }
  LLVMDisposeBuilder(vec.builder);
  arena_destroy(scratch);
  return status;
}

Status codegen_compile(Arena *arena, const HloModule *module, const CodegenOptions *options, DiagSink *diag,
                       CompiledObject *out_object) {
  XLAC_CHECK(module->is_scheduled && module->buffer_assignment != NULL);
  *out_object = (CompiledObject){.entry_name = options->entry_name};
  if (options->entry_name.size == 0) out_object->entry_name = codegen_entry_name(arena, module);
  LlvmTarget target;
  Status status = llvm_target_create(options, diag, &target);
  if (status == STATUS_OK) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef llvm_module = LLVMModuleCreateWithNameInContext("xlac", context);
    LLVMSetTarget(llvm_module, target.triple);
    LLVMSetModuleDataLayout(llvm_module, target.data_layout);
    ControlResult control = {0};
    status = emit_module(&target, llvm_module, module, out_object->entry_name, diag, &control);
    if (status == STATUS_OK) status = llvm_target_emit(&target, llvm_module, options->emit, arena, diag, &out_object->bytes);
    out_object->kernel_count = control.kernel_count;
    out_object->distinct_kernel_count = control.distinct_kernel_count;
    out_object->header = descriptor_header(module, out_object->entry_name, arena);
    LLVMDisposeModule(llvm_module);
    LLVMContextDispose(context);
  }
  llvm_target_dispose(&target);
  return status;
}

/* --- Kernels as text --- */

static bool has_kernels(const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  switch (family) {
    case EMIT_unsupported:
    case EMIT_parameter:
    case EMIT_constant:
    case EMIT_tuple:
    case EMIT_forward:
    case EMIT_call:
    case EMIT_while:
    case EMIT_conditional: return false;
    default: return !shape_is_scalar(instruction->shape) || family != EMIT_elementwise;
  }
}

/* A computation that is applied inside Kernels has none of its own. */
static bool is_region(const HloModule *module, const HloComputation *computation) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      if (!hlo_opcode_has(instructions->data[i]->opcode, OP_REGION)) continue;
      for (int k = 0; k < hlo_instruction_called_count(instructions->data[i]); k++) {
        if (hlo_instruction_called(instructions->data[i], k) == computation) return true;
      }
    }
  }
  return false;
}

Status codegen_print_kernels(Arena *arena, const HloModule *module, DiagSink *diag, StringBuilder *out) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (is_region(module, computation)) continue;
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (!has_kernels(instruction)) continue;
      KernelList list;
      RETURN_IF_ERROR(kernel_build(arena, instruction, diag, &list));
      for (int k = 0; k < list.count; k++) {
        sb_printf(out, "%.*s: ", SV_ARG(instruction->name));
        kernel_print(out, list.kernels[k]);
        sb_append_cstring(out, "\n");
      }
    }
  }
  return STATUS_OK;
}
