#include "cli/outside_call.h"

#include "base/array.h"
#include "base/hash_map.h"
#include "cli/call_libraries.h"
#include "cli/literal_leaves.h"
#include "runtime/engines/runner.h"

/* An instruction compiled alone. */
typedef struct OutsideCall {
  const HloInstruction *instruction;
  CodegenJit *jit;
  XlacRunOptions options;
  FailureReporter reporter;
  ModuleRun *run;
} OutsideCall;

struct OutsideCalls {
  Session *session;
  const XlacRunOptions *options;
  IntMap calls; /* HloInstruction → OutsideCall */
  ARRAY(CodegenJit *) loaded;
};

/* ENTRY { operands as parameters; ROOT instruction }, with what the instruction calls, and with constants as such:
 * sizes and letters of untyped calls, which passes want to see. */
static HloModule *module_of(Arena *arena, ShapeTable *shapes, const HloInstruction *instruction) {
  HloModule *module = hlo_module_create(arena, shapes, SV("call"));
  HloComputation *entry = hlo_module_add_computation(module, SV("main"));
  HloInstruction **operands = ARENA_NEW_ARRAY(arena, HloInstruction *, instruction->operand_count);
  int64_t parameters = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    operands[i] = hlo_instruction_is_scalar_constant(operand)
                      ? hlo_computation_add_clone(entry, operand, operand->shape, NULL, 0)
                      : hlo_computation_add_parameter(entry, parameters++, operand->shape, SV("operand."));
  }
  module->entry = entry;
  hlo_computation_set_root(
      entry, hlo_computation_add_clone(entry, instruction, instruction->shape, operands, instruction->operand_count));
  entry->root->loc = instruction->loc;
  hlo_instruction_copy_called(entry->root);
  return module;
}

static Status compile(OutsideCalls *calls, const HloInstruction *instruction, CodegenJit **out_jit) {
  Session *session = calls->session;
  CompilationOptions options = {
      .callbacks = session->compilation.options.callbacks, .has_entry_name = true, .entry_name = SV("call")};
  Compilation compilation;
  compilation_init(&compilation, session->arena, &options, session->diag);
  compilation_take_module(&compilation, module_of(session->arena, session->compilation.shapes, instruction));
  RETURN_IF_ERROR(compilation_run_passes(&compilation));
  RETURN_IF_ERROR(compilation_generate(&compilation));
  void *const *targets;
  RETURN_IF_ERROR(call_libraries_resolve(session, &compilation.object.targets, &targets));
  RETURN_IF_ERROR(codegen_jit_load(&compilation.object, targets, session->diag, out_jit));
  array_push(&calls->loaded, session->arena, *out_jit);
  return STATUS_OK;
}

static Status find_call(OutsideCalls *calls, const HloInstruction *instruction, OutsideCall **out_call) {
  OutsideCall *call = pointer_map_get(&calls->calls, instruction);
  if (call == NULL) {
    call = ARENA_NEW(calls->session->arena, OutsideCall);
    RETURN_IF_ERROR(compile(calls, instruction, &call->jit));
    call->instruction = instruction;
    call->reporter = (FailureReporter){calls->session, instruction};
    call->options = *calls->options;
    call->options.on_failure = call_failure_report;
    call->options.failure_data = &call->reporter;
    call->run = runner_create(calls->session->arena, codegen_jit_function(call->jit), codegen_jit_descriptor(call->jit),
                              &call->options);
    pointer_map_set(&calls->calls, instruction, call);
  }
  *out_call = call;
  return STATUS_OK;
}

static Status execute(void *self, const HloInstruction *instruction, const Literal *const *operands, DiagSink *diag,
                      Literal *result) {
  OutsideCall *call;
  RETURN_IF_ERROR(find_call(self, instruction, &call));
  const XlacDescriptor *descriptor = codegen_jit_descriptor(call->jit);
  int64_t next = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (hlo_instruction_is_scalar_constant(instruction->operands[i])) continue;
    literal_leaves_store(operands[i], descriptor->parameters, call->run->arguments, &next);
  }
  RETURN_IF_ERROR(runner_execute(call->run, diag, NULL));
  next = 0;
  literal_leaves_load(result, descriptor->results, call->run->results, &next);
  return STATUS_OK;
}

OutsideCalls *outside_calls_create(Session *session, const XlacRunOptions *options) {
  OutsideCalls *calls = ARENA_NEW(session->arena, OutsideCalls);
  *calls = (OutsideCalls){.session = session, .options = options};
  int_map_init(&calls->calls, session->arena);
  return calls;
}

HloHost outside_calls_host(OutsideCalls *calls) {
  return (HloHost){.self = calls, .execute = execute};
}

void outside_calls_destroy(OutsideCalls *calls) {
  for (int64_t i = 0; calls != NULL && i < calls->loaded.count; i++) codegen_jit_destroy(calls->loaded.data[i]);
}
