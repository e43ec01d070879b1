#include "codegen/codegen.h"

#include <ctype.h>

#include "base/checked_math.h"
#include "codegen/descriptor.h"
#include "codegen/emit/control_emitter.h"
#include "codegen/kernel/emit_family.h"
#include "codegen/kernel/kernel_builder.h"
#include "codegen/llvm/cpu_dispatch.h"
#include "codegen/llvm/llvm_target.h"
#include "codegen/oncore/oncore_emitter.h"
#include "codegen/oncore/plan_check.h"
#include "codegen/oncore/plan_printer.h"

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

typedef struct ModuleEmitter {
  const LlvmTarget *target;
  LLVMModuleRef llvm_module;
  const HloModule *module;
  KernelTable *kernels;
  const char *entry_name;
  const CodegenOptions *options;
  DiagSink *diag;
} ModuleEmitter;

/* Control code and Kernels for one kind of processor. */
static Status emit_variant(const ModuleEmitter *emitter, const LlvmVariant *variant, LLVMValueRef *out_function,
                           ControlResult *out_control) {
  LLVMContextRef context = LLVMGetModuleContext(emitter->llvm_module);
  LLVMValueRef last = LLVMGetLastFunction(emitter->llvm_module);
  VecBuilder vec = {context, emitter->llvm_module, LLVMCreateBuilderInContext(context), &variant->vec};
  const CodegenOptions *options = emitter->options;
  Arena *plans = arena_create();
  KernelCoder coder = {0};
  if (options->machine != NULL) {
    TilerOptions tiler = {.pipeline_depth = options->pipeline_depth};
    coder = oncore_emitter_coder(oncore_emitter_create(plans, options->machine, &tiler));
  }
  Status status = control_emit(&vec, emitter->module, emitter->module->buffer_assignment, emitter->kernels,
                               emitter->entry_name, options->poison, options->machine != NULL ? &coder : NULL,
                               emitter->diag, out_control);
  arena_destroy(plans);
  LLVMDisposeBuilder(vec.builder);
  RETURN_IF_ERROR(status);
  *out_function = LLVMGetNamedFunction(emitter->llvm_module, emitter->entry_name);
  llvm_variant_mark(variant, emitter->llvm_module, last);
  return STATUS_OK;
}

/* All variants, the way in, and the descriptor, whose workspace is enough for each. */
static Status emit_module(const ModuleEmitter *emitter, ControlResult *out_control) {
  LLVMValueRef functions[CPU_VARIANT_COUNT];
  *out_control = (ControlResult){0};
  int count = emitter->target->variant_count;
  for (int i = 0; i < count; i++) {
    ControlResult control;
    RETURN_IF_ERROR(emit_variant(emitter, &emitter->target->variants[i], &functions[i], &control));
    control.workspace_bytes = max_i64(control.workspace_bytes, out_control->workspace_bytes);
    control.scratch_bytes_per_worker = max_i64(control.scratch_bytes_per_worker, out_control->scratch_bytes_per_worker);
    *out_control = control;
  }
  if (count == CPU_VARIANT_COUNT) {
    for (int i = 0; i < count; i++) LLVMSetLinkage(functions[i], LLVMInternalLinkage);
    cpu_dispatch_emit(emitter->llvm_module, emitter->entry_name, functions);
  }
  Arena *scratch = arena_create();
  descriptor_emit(emitter->llvm_module, emitter->module, emitter->module->buffer_assignment,
                  sv_from_cstring(emitter->entry_name), out_control->workspace_bytes,
                  out_control->scratch_bytes_per_worker, scratch);
  arena_destroy(scratch);
  return STATUS_OK;
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
    const char *entry_name = arena_copy_string(arena, out_object->entry_name.data, out_object->entry_name.size);
    Arena *kernels = arena_create();
    ModuleEmitter emitter = {&target,    llvm_module,     module, kernel_table_create(kernels),
                             entry_name, options, diag};
    ControlResult control = {0};
    status = emit_module(&emitter, &control);
    if (status == STATUS_OK) {
      status = llvm_target_emit(&target, llvm_module, options->emit, arena, diag, &out_object->bytes);
    }
    out_object->kernel_count = control.kernel_count;
    out_object->distinct_kernel_count = control.distinct_kernel_count;
    out_object->header = descriptor_header(module, out_object->entry_name, arena);
    arena_destroy(kernels);
    LLVMDisposeModule(llvm_module);
    LLVMContextDispose(context);
  }
  llvm_target_dispose(&target);
  return status;
}

/* --- Kernels as text --- */

static bool has_kernels(const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  return emit_family_makes_kernels(family) && (!shape_is_scalar(instruction->shape) || family != EMIT_elementwise);
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

typedef struct KernelPrinter {
  StringBuilder *out;
  const MachineDescription *machine; /* NULL: Kernels, else their plans */
  const TilerOptions *options;
} KernelPrinter;

static Status print_plan(Arena *arena, const KernelPrinter *printer, const Kernel *kernel, StringView name,
                         DiagSink *diag) {
  const Plan *plan;
  RETURN_IF_ERROR(tiler_plan(arena, kernel, name, printer->machine, printer->options, diag, &plan));
  PlanVerdict verdict;
  RETURN_IF_ERROR(plan_check(arena, plan, printer->machine, diag, &verdict));
  sb_append_cstring(printer->out, "# ");
  plan_verdict_print(printer->out, &verdict, printer->machine);
  sb_append_cstring(printer->out, "\n");
  plan_print(printer->out, plan, printer->machine);
  return plan_verdict_report(plan, &verdict, diag);
}

static Status print_instruction(Arena *arena, const KernelPrinter *printer, const HloInstruction *instruction,
                                DiagSink *diag) {
  KernelList list;
  RETURN_IF_ERROR(kernel_build(arena, instruction, diag, &list));
  for (int k = 0; k < list.count; k++) {
    if (printer->machine != NULL) {
      StringView name = instruction->name;
      if (k > 0) name = sv_from_cstring(arena_printf(arena, "%.*s.%d", SV_ARG(name), k));
      RETURN_IF_ERROR(print_plan(arena, printer, list.kernels[k], name, diag));
    } else {
      sb_printf(printer->out, "%.*s: ", SV_ARG(instruction->name));
      kernel_print(printer->out, list.kernels[k]);
    }
    sb_append_cstring(printer->out, "\n");
  }
  return STATUS_OK;
}

static Status print_module(Arena *arena, const KernelPrinter *printer, const HloModule *module, DiagSink *diag) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (is_region(module, computation)) continue;
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (has_kernels(instruction)) RETURN_IF_ERROR(print_instruction(arena, printer, instruction, diag));
    }
  }
  return STATUS_OK;
}

Status codegen_print_kernels(Arena *arena, const HloModule *module, DiagSink *diag, StringBuilder *out) {
  KernelPrinter printer = {.out = out};
  return print_module(arena, &printer, module, diag);
}

Status codegen_print_plans(Arena *arena, const HloModule *module, const MachineDescription *machine,
                           const TilerOptions *options, DiagSink *diag, StringBuilder *out) {
  KernelPrinter printer = {out, machine, options};
  sb_printf(out, "target %.*s\n\n", SV_ARG(machine->name));
  return print_module(arena, &printer, module, diag);
}
