#include "codegen/codegen.h"

#include <string.h>

#include "codegen/call/call.h"
#include "codegen/code_parts.h"
#include "codegen/collective/collective.h"
#include "codegen/descriptor.h"
#include "codegen/emit/control_emitter.h"
#include "codegen/entry_name.h"
#include "codegen/llvm/cpu_dispatch.h"
#include "codegen/llvm/llvm_jit.h"
#include "codegen/llvm/llvm_target.h"
#include "codegen/lower/emit_family.h"
#include "codegen/module_header.h"
#include "codegen/module_signature.h"
#include "codegen/nest/nest.h"
#include "codegen/oncore/emit/oncore_emitter.h"
#include "codegen/oncore/language/written_plans.h"
#include "codegen/oncore/plan/plan_printer.h"

typedef struct ModuleEmitter {
  const LlvmTarget *target;
  LLVMModuleRef llvm_module;
  const HloModule *module;
  const BufferAssignment *assignment;
  const CallTargets *targets;
  const CodeDraft *draft;
  const ModuleCollectives *collectives; /* NULL: the module needs no devices */
  const ConstantFile *constants;        /* NULL: all constants are in the object */
  const char *entry_name, *prepare_name;
  bool poison, profile;
  bool is_text;          /* LLVM's language is asked for: all functions stay in it */
  OncoreEmitter *oncore; /* NULL: the host */
  DiagSink *diag;
} ModuleEmitter;

/* By kind of processor. */
typedef struct EntryFunctions {
  LLVMValueRef runs[CPU_VARIANT_COUNT], prepares[CPU_VARIANT_COUNT]; /* the latter NULL where nothing is prepared */
} EntryFunctions;

/* Control code and Kernels for one kind of processor. */
static Status emit_variant(const ModuleEmitter *emitter, int number, EntryFunctions *functions) {
  const LlvmVariant *variant = &emitter->target->variants[number];
  LLVMContextRef context = LLVMGetModuleContext(emitter->llvm_module);
  LLVMValueRef last = LLVMGetLastFunction(emitter->llvm_module);
  VecBuilder vec = {context, emitter->llvm_module, LLVMCreateBuilderInContext(context), &variant->vec, false};
  KernelCoder coder;
  if (emitter->oncore != NULL) {
    oncore_emitter_begin_variant(emitter->oncore, number);
    coder = oncore_emitter_coder(emitter->oncore);
  }
  ControlOptions control = {.kernels = emitter->draft->kernels,
                            .strategies = emitter->draft->strategies[number],
                            .name = emitter->entry_name,
                            .prepare_name = emitter->prepare_name,
                            .poison = emitter->poison,
                            .profile = emitter->profile,
                            .constant_file = emitter->constants,
                            .collectives = emitter->collectives,
                            .coder = emitter->oncore != NULL ? &coder : NULL};
  Status status = control_emit(&vec, emitter->module, emitter->assignment, &control, emitter->diag);
  LLVMDisposeBuilder(vec.builder);
  RETURN_IF_ERROR(status);
  functions->runs[number] = LLVMGetNamedFunction(emitter->llvm_module, emitter->entry_name);
  functions->prepares[number] = LLVMGetNamedFunction(emitter->llvm_module, emitter->prepare_name);
  if (!emitter->is_text) nest_functions(&variant->vec, emitter->llvm_module, last);
  llvm_variant_mark(variant, emitter->llvm_module, last);
  return STATUS_OK;
}

/* The way into one of |functions|, if there are several. */
static void emit_way_in(const ModuleEmitter *emitter, const char *name, const LLVMValueRef *functions) {
  int count = emitter->target->variant_count;
  if (count < 2 || functions[0] == NULL) return;
  for (int i = 0; i < count; i++) LLVMSetLinkage(functions[i], LLVMInternalLinkage);
  cpu_dispatch_emit(emitter->llvm_module, name, functions, count);
}

/* All variants, the ways in, and the descriptor. */
static Status emit_module(const ModuleEmitter *emitter) {
  EntryFunctions functions;
  RETURN_IF_ERROR(
      call_declare(emitter->llvm_module, emitter->module, emitter->targets, emitter->entry_name, emitter->diag));
  if (emitter->constants != NULL) call_declare_constants(emitter->llvm_module);
  if (emitter->module->preparation != NULL) call_declare_prepared(emitter->llvm_module);
  Arena *scratch = arena_create();
  if (emitter->collectives != NULL)
    collective_declare(emitter->llvm_module, emitter->module, emitter->collectives, scratch);
  arena_destroy(scratch);
  int count = emitter->target->variant_count;
  for (int i = 0; i < count; i++) RETURN_IF_ERROR(emit_variant(emitter, i, &functions));
  emit_way_in(emitter, emitter->entry_name, functions.runs);
  emit_way_in(emitter, emitter->prepare_name, functions.prepares);
  scratch = arena_create();
  descriptor_emit(emitter->llvm_module, emitter->module, emitter->assignment, emitter->collectives, emitter->constants,
                  sv_from_cstring(emitter->entry_name), scratch);
  arena_destroy(scratch);
  return STATUS_OK;
}

/* What would be made of |parts|, as one LLVM module. */
static Status compile_whole(Arena *arena, const CodegenOptions *options, const CodePartsOptions *parts, DiagSink *diag,
                            CompiledObject *object) {
  const HloModule *module = parts->module;
  LlvmTarget target;
  const ModuleCollectives *collectives = NULL;
  if (module_needs_devices(module)) RETURN_IF_ERROR(module_collectives_create(arena, module, diag, &collectives));
  Status status = llvm_target_create(&options->draft->target, diag, &target);
  if (status == STATUS_OK) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef llvm_module = llvm_target_module(&target, context);
    Arena *scratch = arena_create();
    OncoreEmitter *oncore = NULL;
    if (parts->tiles != NULL) oncore = oncore_emitter_create(scratch, options->draft->plans, parts->tiles, false);
    bool is_text = options->output == LLVM_OUTPUT_IR || options->output == LLVM_OUTPUT_BITCODE;
    ModuleEmitter emitter = {.target = &target,
                             .llvm_module = llvm_module,
                             .module = module,
                             .assignment = options->assignment,
                             .targets = &object->targets,
                             .draft = options->draft,
                             .collectives = collectives,
                             .constants = parts->constants,
                             .entry_name = parts->entry_name,
                             .prepare_name = arena_printf(arena, "%s" ENTRY_PREPARE_SUFFIX, parts->entry_name),
                             .poison = options->poison,
                             .profile = options->profile,
                             .is_text = is_text,
                             .oncore = oncore,
                             .diag = diag};
    status = emit_module(&emitter);
    if (status == STATUS_OK)
      status = llvm_target_emit(&target, llvm_module, options->output, arena, diag, &object->bytes);
    arena_destroy(scratch);
    LLVMDisposeModule(llvm_module);
    LLVMContextDispose(context);
  }
  llvm_target_dispose(&target);
  return status;
}

Status codegen_compile(Arena *arena, const HloModule *module, const CodegenOptions *options, DiagSink *diag,
                       CompiledObject *out_object) {
  XLAC_CHECK(module->is_scheduled && options->assignment != NULL);
  RETURN_IF_ERROR(code_draft_measure(options->draft, module, NULL, diag));
  *out_object = (CompiledObject){.entry_name = options->entry_name};
  out_object->targets = call_targets(arena, module);
  if (options->entry_name.size == 0)
    out_object->entry_name =
        entry_name_made_of(arena, options->default_name.size > 0 ? options->default_name : module->name,
                           &out_object->targets, &out_object->has_changed_name);
  const char *entry_name = arena_copy_string(arena, out_object->entry_name.data, out_object->entry_name.size);
  ConstantFile file = {0};
  if (options->constants_apart) file = constant_file_make(arena, options->assignment);
  out_object->constants = file.bytes;
  const ConstantFile *constants = file.bytes.size > 0 ? &file : NULL;
  out_object->header =
      module_header(module, options->assignment, &out_object->targets, constants, out_object->entry_name, arena);
  out_object->signature = module_signature(module, options->assignment, constants, arena);
  TileTable table;
  const ModulePlans *plans = options->draft->plans;
  if (plans != NULL) table = tile_table_make(arena, plans, options->draft->kernels);
  CodePartsOptions parts = {.module = module,
                            .assignment = options->assignment,
                            .draft = options->draft,
                            .tiles = plans != NULL ? &table : NULL,
                            .entry_name = entry_name,
                            .poison = options->poison,
                            .constants = constants,
                            .threads = options->threads};
  if (options->output == LLVM_OUTPUT_OBJECT && !options->profile && code_parts_count(&parts) > 1 &&
      code_parts_compile(arena, &parts, &out_object->bytes) == STATUS_OK)
    return STATUS_OK;
  return compile_whole(arena, options, &parts, diag, out_object);
}

/* --- Kernels and plans as text --- */

/* What is this use's own. */
static void print_use(StringBuilder *out, const KernelUse *use) {
  const uint64_t *bits = use->parameters;
  for (int32_t b = 0; b < use->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &use->kernel->buffers[b];
    if (use->offsets != NULL && use->offsets[b] != 0)
      sb_printf(out, "with b%d from %lld\n", b, (long long)use->offsets[b]);
    if (buffer->role != KERNEL_PARAMETERS) continue;
    sb_printf(out, "with b%d =", b);
    for (int64_t i = 0; i < buffer->element_count; i++) {
      sb_append_cstring(out, i == 0 ? " " : ", ");
      literal_print_element(out, buffer->type, bits++);
    }
    sb_append_cstring(out, "\n");
  }
}

void codegen_print_kernels(const KernelTable *kernels, StringBuilder *out) {
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      sb_printf(out, "%.*s: ", SV_ARG(row->uses[i].instruction->name));
      kernel_print(out, row->uses[i].kernel);
      print_use(out, &row->uses[i]);
      sb_append_cstring(out, "\n");
    }
  }
}

/* What cannot be read: of no kernel, or of one that has a plan already. */
static void print_comment(StringBuilder *out, const ModulePlan *plan, const MachineDescription *machine) {
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  plan_print(&text, plan->plan, machine);
  StringView rest = sb_view(&text);
  while (rest.size > 0) {
    const char *end = memchr(rest.data, '\n', rest.size);
    size_t size = end == NULL ? rest.size : (size_t)(end - rest.data) + 1;
    sb_printf(out, "# %.*s", (int)size, rest.data);
    rest = (StringView){rest.data + size, rest.size - size};
  }
  arena_destroy(scratch);
}

/* Whether plan |number| is that of an earlier one's Kernel, with its tiles elsewhere in the Buffer: a file has one plan
 * of each Kernel and interface. */
static bool is_elsewhere(const ModulePlans *plans, int32_t number) {
  const Plan *plan = plans->plans[number].plan;
  if (plans->plans[number].is_move || plan_has_residents(plan)) return false;
  for (int32_t p = 0; p < number; p++) {
    const Plan *earlier = plans->plans[p].plan;
    if (earlier->kernel == plan->kernel && !plan_has_residents(earlier)) return true;
  }
  return false;
}

static void print_plan(StringBuilder *out, const ModulePlans *plans, int32_t number) {
  const ModulePlan *plan = &plans->plans[number];
  const MachineDescription *machine = plans->machine;
  sb_append_cstring(out, "# ");
  plan_verdict_print(out, &plan->verdict, machine);
  sb_append_cstring(out, "\n");
  if (plan->is_move || is_elsewhere(plans, number))
    print_comment(out, plan, machine);
  else
    plan_print(out, plan->plan, machine);
  sb_append_cstring(out, "\n");
}

void codegen_print_plans(Arena *arena, const HloModule *module, const ModulePlans *plans, StringBuilder *out) {
  const MachineDescription *machine = plans->machine;
  sb_printf(out, "target %.*s digest %s\n\n", SV_ARG(machine->name), written_plans_digest(arena, module, machine));
  for (int32_t i = 0; i < plans->count; i++) print_plan(out, plans, i);
}

/* --- code in memory --- */

struct CodegenJit {
  Arena *arena;
  const char *entry;
  LlvmJit *jit;
  XlacFunction function;
  const XlacDescriptor *descriptor;
};

static Status load(CodegenJit *jit, const CompiledObject *object, void *const *targets, DiagSink *diag) {
  /* Targets of custom calls are what the caller says, whatever this process has under their names. */
  LlvmJitSymbol *symbols = ARENA_NEW_ARRAY(jit->arena, LlvmJitSymbol, object->targets.count);
  for (int64_t i = 0; i < object->targets.count; i++)
    symbols[i] = (LlvmJitSymbol){object->targets.targets[i].symbol, targets[i]};
  RETURN_IF_ERROR(llvm_jit_load(object->bytes, symbols, object->targets.count, diag, &jit->jit));
  const char *entry = arena_copy_string(jit->arena, object->entry_name.data, object->entry_name.size);
  jit->entry = entry;
  void *function, *descriptor;
  RETURN_IF_ERROR(llvm_jit_find(jit->jit, entry, diag, &function));
  RETURN_IF_ERROR(llvm_jit_find(jit->jit, arena_printf(jit->arena, "%s_descriptor", entry), diag, &descriptor));
  jit->function = (XlacFunction)(uintptr_t)function;
  jit->descriptor = descriptor;
  return STATUS_OK;
}

Status codegen_jit_load(const CompiledObject *object, void *const *targets, DiagSink *diag, CodegenJit **out_jit) {
  Arena *arena = arena_create();
  CodegenJit *jit = ARENA_NEW(arena, CodegenJit);
  jit->arena = arena;
  Status status = load(jit, object, targets, diag);
  if (status == STATUS_OK) *out_jit = jit;
  if (status != STATUS_OK) codegen_jit_destroy(jit);
  return status;
}

XlacFunction codegen_jit_function(const CodegenJit *jit) {
  return jit->function;
}

const XlacDescriptor *codegen_jit_descriptor(const CodegenJit *jit) {
  return jit->descriptor;
}

Status codegen_jit_profile(const CodegenJit *jit, DiagSink *diag, const InstructionProfile **out_profile) {
  void *address;
  RETURN_IF_ERROR(llvm_jit_find(jit->jit, arena_printf(jit->arena, "%s_profile", jit->entry), diag, &address));
  *out_profile = (const InstructionProfile *)address + 1; /* the first is the counter's own (control_profile.c) */
  return STATUS_OK;
}

void codegen_jit_destroy(CodegenJit *jit) {
  if (jit == NULL) return;
  llvm_jit_destroy(jit->jit);
  arena_destroy(jit->arena);
}
