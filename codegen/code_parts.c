#include "codegen/code_parts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/checked_math.h"
#include "base/guarded_call.h"
#include "codegen/call/call.h"
#include "codegen/descriptor.h"
#include "codegen/emit/control_emitter.h"
#include "codegen/entry_name.h"
#include "codegen/llvm/cpu_dispatch.h"
#include "codegen/llvm/llvm_target.h"
#include "codegen/llvm/object_join.h"
#include "codegen/lower/emit_family.h"
#include "codegen/nest/nest.h"

/* --- what the parts are --- */

/* About how long LLVM takes for a Kernel, in milliseconds of a processor of 2020. */
enum { BLOCKS_COST = 6, PASS_COST = 4, LOOPS_COST = 1, VALUES_PER_COST = 12, FULL_PART = 12 };

/* The first part of a kind of processor has its control function. */
typedef struct CodePart {
  int variant;
  bool has_control;
  bool has_all;             /* with the control function, its Kernels */
  int32_t first, use_count; /* of the Kernels, by identity, otherwise */
} CodePart;

typedef ARRAY(CodePart) CodePartList;

static int kernel_cost(const Kernel *kernel, const KernelStrategy *strategy) {
  int cost = LOOPS_COST + kernel->value_count / VALUES_PER_COST;
  if (strategy->form == KERNEL_FORM_CONTRACTION || strategy->form == KERNEL_FORM_SORT) cost += BLOCKS_COST;
  for (int s = 0; s < kernel->stage_count; s++) {
    const KernelTransform *transform = kernel->stages[s].transform;
    if (transform != NULL) cost += PASS_COST * transform->factor_count;
  }
  for (int p = 0; p < kernel->part_count; p++) cost += kernel_cost(kernel->parts[p].kernel, &strategy->parts[p]);
  return cost;
}

static bool calls_outside(const HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      if (emit_family(computation->instructions.data[i]->opcode) == EMIT_outside_call) return true;
    }
  }
  return false;
}

/* The Kernels with a function, by identity: the first use of each, NULL for others. */
static const KernelUse **functions_of(Arena *arena, const KernelTable *kernels) {
  const KernelUse **uses = ARENA_NEW_ARRAY(arena, const KernelUse *, kernels->identity_count);
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      const KernelUse *use = &row->uses[i];
      if (uses[use->identity] == NULL && !kernel_is_tiny(use->kernel)) uses[use->identity] = use;
    }
  }
  return uses;
}

static void add_kernel_parts(Arena *arena, const CodePartsOptions *options, const KernelUse *const *uses, int variant,
                             CodePartList *parts) {
  int32_t count = options->draft->kernels->identity_count;
  const KernelStrategy *strategies = options->draft->strategies[variant];
  CodePart part = {.variant = variant};
  int cost = 0;
  for (int32_t k = 0; k < count; k++) {
    part.use_count++;
    if (uses[k] != NULL) cost += kernel_cost(uses[k]->kernel, &strategies[k]);
    if (cost < FULL_PART && k + 1 < count) continue;
    array_push(parts, arena, part);
    part = (CodePart){.variant = variant, .first = k + 1};
    cost = 0;
  }
}

static CodePartList parts_of(Arena *arena, const CodePartsOptions *options, const KernelUse *const *uses) {
  CodePartList parts = {0};
  for (int v = 0; v < LLVM_MOST_VARIANTS && options->draft->strategies[v] != NULL; v++) {
    int64_t cost = 0;
    for (int32_t k = 0; k < options->draft->kernels->identity_count; k++)
      cost += uses[k] == NULL ? 0 : kernel_cost(uses[k]->kernel, &options->draft->strategies[v][k]);
    bool has_all = cost < 2 * FULL_PART;
    array_push(&parts, arena, ((CodePart){.variant = v, .has_control = true, .has_all = has_all}));
    if (!has_all) add_kernel_parts(arena, options, uses, v, &parts);
  }
  return parts;
}

int code_parts_count(const CodePartsOptions *options) {
  if (options->draft->plans != NULL || calls_outside(options->module) || module_needs_devices(options->module))
    return 1;
  Arena *scratch = arena_create();
  int64_t count = parts_of(scratch, options, functions_of(scratch, options->draft->kernels)).count;
  arena_destroy(scratch);
  return (int)count;
}

/* --- one part --- */

typedef struct PartResult {
  Arena *arena;
  Status status;
  StringView object;
} PartResult;

typedef struct PartsRun {
  const CodePartsOptions *options;
  const KernelUse *const *uses; /* by identity */
  LlvmOptions target;
  CodePartList parts;
  PartResult *results; /* by part */
  atomic_int next;     /* part that nobody has begun */
  bool is_guarded;     /* the caller's call is */
  atomic_flag has_failure;
  CallFailure failure; /* of a helper's guarded call, the first one */
} PartsRun;

typedef struct PartEmitter {
  const PartsRun *run;
  const CodePart *part;
  LlvmTarget target;
  VecBuilder vec;
  Arena *arena;
  DiagSink *diag;
} PartEmitter;

static void share(LLVMValueRef function) {
  LLVMSetLinkage(function, LLVMExternalLinkage);
  LLVMSetVisibility(function, LLVMHiddenVisibility);
}

static const char *prepare_name(const PartEmitter *emitter) {
  return arena_printf(emitter->arena, "%s" ENTRY_PREPARE_SUFFIX, emitter->run->options->entry_name);
}

static Status emit_control(const PartEmitter *emitter) {
  const CodePartsOptions *options = emitter->run->options;
  const CodeDraft *draft = options->draft;
  int variant = emitter->part->variant;
  if (options->constants != NULL) call_declare_constants(emitter->vec.module);
  if (options->module->preparation != NULL) call_declare_prepared(emitter->vec.module);
  ControlOptions control = {.kernels = draft->kernels,
                            .strategies = draft->strategies[variant],
                            .name = options->entry_name,
                            .prepare_name = prepare_name(emitter),
                            .poison = options->poison,
                            .has_no_kernels = !emitter->part->has_all,
                            .constant_file = options->constants,
                            .constants = variant == 0 ? CONSTANTS_OF_ALL_PARTS : CONSTANTS_OF_ANOTHER_PART};
  return control_emit(&emitter->vec, options->module, options->assignment, &control, emitter->diag);
}

static Status emit_kernels(const PartEmitter *emitter) {
  const CodePart *part = emitter->part;
  for (int32_t k = part->first; k < part->first + part->use_count; k++) {
    const KernelUse *use = emitter->run->uses[k];
    if (use == NULL) continue;
    const KernelStrategy *strategy = &emitter->run->options->draft->strategies[part->variant][k];
    KernelCode code;
    RETURN_IF_ERROR(kernel_emit(&emitter->vec, use->kernel, strategy, control_part_kernel_name(emitter->arena, k),
                                emitter->diag, &code));
    share(code.function);
  }
  return STATUS_OK;
}

/* The functions of a control part: of a run, and of what is prepared (NULL: nothing is). */
typedef struct ControlFunctions {
  LLVMValueRef run, prepare;
} ControlFunctions;

/* The way into |control| and its likes in other parts, if there are several kinds of processors. */
static void emit_way_in(const PartEmitter *emitter, const char *entry_name, LLVMValueRef control) {
  LLVMModuleRef module = emitter->vec.module;
  int count = emitter->target.variant_count;
  if (count != CPU_VARIANT_COUNT || control == NULL) return;
  LLVMValueRef functions[CPU_VARIANT_COUNT] = {control};
  LLVMSetLinkage(control, LLVMInternalLinkage);
  for (int v = 1; v < count; v++) {
    const char *name = arena_printf(emitter->arena, "%s.%s", entry_name, emitter->target.variants[v].name);
    functions[v] = LLVMAddFunction(module, name, LLVMGlobalGetValueType(control));
    share(functions[v]);
  }
  cpu_dispatch_emit(module, entry_name, functions);
}

/* What the object has once: the ways in and the descriptor. */
static void emit_door(const PartEmitter *emitter, const ControlFunctions *control) {
  const CodePartsOptions *options = emitter->run->options;
  emit_way_in(emitter, options->entry_name, control->run);
  emit_way_in(emitter, prepare_name(emitter), control->prepare);
  descriptor_emit(emitter->vec.module, options->module, options->assignment, NULL, options->constants,
                  sv_from_cstring(options->entry_name), emitter->arena);
}

static Status emit_part(const PartEmitter *emitter) {
  const CodePart *part = emitter->part;
  LLVMModuleRef module = emitter->vec.module;
  RETURN_IF_ERROR(part->has_control ? emit_control(emitter) : emit_kernels(emitter));
  ControlFunctions control = {0};
  if (part->has_control)
    control = (ControlFunctions){LLVMGetNamedFunction(module, emitter->run->options->entry_name),
                                 LLVMGetNamedFunction(module, prepare_name(emitter))};
  nest_functions(emitter->vec.target, module, NULL);
  llvm_variant_mark(&emitter->target.variants[part->variant], module, NULL);
  if (part->has_control && part->variant > 0) share(control.run);
  if (control.prepare != NULL && part->variant > 0) share(control.prepare);
  if (part->has_control && part->variant == 0) emit_door(emitter, &control);
  return STATUS_OK;
}

static Status compile_part(const PartsRun *run, const CodePart *part, PartResult *result) {
  DiagSink diag;
  PartEmitter emitter = {.run = run, .part = part, .arena = result->arena, .diag = &diag};
  diag_sink_init(&diag, result->arena);
  Status status = llvm_target_create(&run->target, &diag, &emitter.target);
  if (status == STATUS_OK) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = llvm_target_module(&emitter.target, context);
    emitter.vec =
        (VecBuilder){context, module, LLVMCreateBuilderInContext(context), &emitter.target.variants[part->variant].vec};
    status = emit_part(&emitter);
    if (status == STATUS_OK)
      status = llvm_target_emit(&emitter.target, module, LLVM_OUTPUT_OBJECT, result->arena, &diag, &result->object);
    LLVMDisposeBuilder(emitter.vec.builder);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
  }
  llvm_target_dispose(&emitter.target);
  return status;
}

/* --- all of them --- */

static void compile_parts(void *self) {
  PartsRun *run = self;
  for (;;) {
    int number = atomic_fetch_add(&run->next, 1);
    if (number >= run->parts.count) return;
    PartResult *result = &run->results[number];
    result->status = compile_part(run, &run->parts.data[number], result);
  }
}

static void *help(void *self) {
  PartsRun *run = self;
  CallFailure failure;
  if (!run->is_guarded) {
    compile_parts(run);
  } else if (guarded_call(compile_parts, run, &failure) != CALL_RETURNED) {
    atomic_store(&run->next, (int)run->parts.count); /* nobody begins another one */
    if (!atomic_flag_test_and_set(&run->has_failure)) run->failure = failure;
  }
  return NULL;
}

/* Where the system gives no more threads, those that there are do the work. */
static void run_threads(PartsRun *run, Arena *scratch) {
  int64_t most = min_i64(run->options->threads, run->parts.count) - 1, count = 0;
  pthread_t *threads = ARENA_NEW_ARRAY(scratch, pthread_t, max_i64(most, 0) + 1);
  while (count < most && pthread_create(&threads[count], NULL, help, run) == 0) count++;
  help(run);
  for (int64_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
  if (run->failure.outcome != CALL_RETURNED) guarded_call_fail(&run->failure);
}

Status code_parts_compile(Arena *arena, const CodePartsOptions *options, StringView *out_bytes) {
  Arena *scratch = arena_create();
  const KernelUse *const *uses = functions_of(scratch, options->draft->kernels);
  PartsRun run = {.options = options, .uses = uses, .parts = parts_of(scratch, options, uses)};
  run.is_guarded = guarded_call_is_active();
  run.target = options->draft->target;
  LlvmTargetPool *own = run.target.pool == NULL ? llvm_target_pool_create() : NULL;
  if (own != NULL) run.target.pool = own;
  atomic_flag_clear(&run.has_failure);
  int count = (int)run.parts.count;
  run.results = ARENA_NEW_ARRAY(scratch, PartResult, count);
  for (int i = 0; i < count; i++) run.results[i].arena = arena_create();
  run_threads(&run, scratch);
  StringView *objects = ARENA_NEW_ARRAY(scratch, StringView, count);
  Status status = STATUS_OK;
  for (int i = 0; i < count; i++) {
    objects[i] = run.results[i].object;
    if (status == STATUS_OK) status = run.results[i].status;
  }
  if (status == STATUS_OK) *out_bytes = object_join(arena, objects, count);
  for (int i = 0; i < count; i++) arena_destroy(run.results[i].arena);
  llvm_target_pool_destroy(own);
  arena_destroy(scratch);
  return status;
}
