#include "codegen/code_parts.h"

#include "base/checked_math.h"
#include "base/job_threads.h"
#include "codegen/call/call.h"
#include "codegen/descriptor.h"
#include "codegen/emit/control_emitter.h"
#include "codegen/entry_name.h"
#include "codegen/ir/ir_function.h"
#include "codegen/llvm/cpu_dispatch.h"
#include "codegen/llvm/llvm_target.h"
#include "codegen/llvm/object_join.h"
#include "codegen/lower/emit_family.h"
#include "codegen/nest/nest.h"
#include "codegen/oncore/emit/oncore_emitter.h"

/* --- what there is to compile --- */

/* What the control functions call: Kernels by identity on the host, the tiles of plans on a vector processor. */
typedef struct CodeFunctions {
  int32_t count;
  const KernelUse *const *uses; /* of a Kernel the first one; NULL: none is called */
  const TileTable *tiles;       /* NULL: the host */
  int variant_count;
} CodeFunctions;

/* The Kernels with a function, by identity: the first use of each, NULL for others. */
static const KernelUse **uses_of(Arena *arena, const KernelTable *kernels) {
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

static CodeFunctions functions_of(Arena *arena, const CodePartsOptions *options) {
  const CodeDraft *draft = options->draft;
  CodeFunctions functions = {.tiles = options->tiles};
  if (functions.tiles != NULL) {
    functions.count = functions.tiles->count;
    VecTarget targets[LLVM_MOST_VARIANTS];
    functions.variant_count = llvm_vec_targets(&draft->target, targets);
    return functions;
  }
  functions.count = draft->kernels->identity_count;
  functions.uses = uses_of(arena, draft->kernels);
  while (functions.variant_count < LLVM_MOST_VARIANTS && draft->strategies[functions.variant_count] != NULL)
    functions.variant_count++;
  return functions;
}

/* About how long LLVM takes for a Kernel, in milliseconds of a processor of 2020; for a tile it is half. */
enum { BLOCKS_COST = 6, PASS_COST = 4, LOOPS_COST = 1, VALUES_PER_COST = 12, FULL_PART = 12, FULL_TILES = 20 };

static int kernel_cost(const Kernel *kernel, const KernelStrategy *strategy) {
  int cost = LOOPS_COST + kernel->value_count / VALUES_PER_COST;
  if (kernel_form_is_block(strategy->form)) cost += BLOCKS_COST;
  for (int s = 0; s < kernel->stage_count; s++) {
    const KernelTransform *transform = kernel->stages[s].transform;
    if (transform != NULL) cost += PASS_COST * kernel_transform_passes(transform);
  }
  for (int p = 0; p < kernel->part_count; p++) cost += kernel_cost(kernel->parts[p].kernel, &strategy->parts[p]);
  return cost;
}

/* What function |number| is made of for |variant|; without a Kernel there is no such function. */
typedef struct CodeFunction {
  const Kernel *kernel;
  const KernelStrategy *strategy;
} CodeFunction;

static CodeFunction function_at(const CodePartsOptions *options, const CodeFunctions *functions, int variant,
                                int32_t number) {
  if (functions->tiles != NULL) {
    const PlanTile *tile = &functions->tiles->tiles[number];
    if (tile->is_transfer && variant > 0) return (CodeFunction){0};
    return (CodeFunction){tile->kernel, &tile->strategies[variant]};
  }
  const KernelUse *use = functions->uses[number];
  if (use == NULL) return (CodeFunction){0};
  return (CodeFunction){use->kernel, &options->draft->strategies[variant][number]};
}

static int function_cost(const CodePartsOptions *options, const CodeFunctions *functions, int variant, int32_t number) {
  CodeFunction function = function_at(options, functions, variant, number);
  return function.kernel == NULL ? 0 : kernel_cost(function.kernel, function.strategy);
}

/* --- what the parts are --- */

/* The first part of a kind of processor has its control function. */
typedef struct CodePart {
  int variant, variant_count; /* kinds of processors that it has code for: the first one, and how many */
  bool has_control;
  bool has_all;         /* with the control function, all that it calls */
  int32_t first, count; /* of the functions otherwise: those of one kind of processor, then those of the next */
} CodePart;

typedef ARRAY(CodePart) CodePartList;

/* Functions [begin, end), so many in a part that they cost |full|. */
static void add_function_parts(Arena *arena, const CodePartsOptions *options, const CodeFunctions *functions,
                               int32_t begin, int32_t end, int full, CodePartList *parts) {
  int32_t first = begin;
  int cost = 0;
  for (int32_t k = begin; k < end; k++) {
    cost += function_cost(options, functions, k / functions->count, k % functions->count);
    if (cost == 0 || (cost < full && k + 1 < end)) continue;
    int variant = first / functions->count;
    array_push(parts, arena,
               ((CodePart){.variant = variant,
                           .variant_count = k / functions->count - variant + 1,
                           .first = first,
                           .count = k + 1 - first}));
    first = k + 1;
    cost = 0;
  }
}

static void add_host_parts(Arena *arena, const CodePartsOptions *options, const CodeFunctions *functions,
                           CodePartList *parts) {
  for (int v = 0; v < functions->variant_count; v++) {
    int64_t cost = 0;
    for (int32_t k = 0; k < functions->count; k++) cost += function_cost(options, functions, v, k);
    bool has_all = cost < 2 * FULL_PART;
    array_push(parts, arena, ((CodePart){.variant = v, .variant_count = 1, .has_control = true, .has_all = has_all}));
    int32_t begin = v * functions->count;
    if (!has_all) add_function_parts(arena, options, functions, begin, begin + functions->count, FULL_PART, parts);
  }
}

/* What is the same for all kinds of processors is in one part with all that calls it. */
static void add_oncore_parts(Arena *arena, const CodePartsOptions *options, const CodeFunctions *functions,
                             CodePartList *parts) {
  array_push(parts, arena, ((CodePart){.variant_count = functions->variant_count, .has_control = true}));
  add_function_parts(arena, options, functions, 0, functions->variant_count * functions->count, FULL_TILES, parts);
}

static CodePartList parts_of(Arena *arena, const CodePartsOptions *options, const CodeFunctions *functions) {
  CodePartList parts = {0};
  if (functions->tiles == NULL)
    add_host_parts(arena, options, functions, &parts);
  else
    add_oncore_parts(arena, options, functions, &parts);
  return parts;
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

int code_parts_count(const CodePartsOptions *options) {
  if (calls_outside(options->module) || module_needs_devices(options->module)) return 1;
  Arena *scratch = arena_create();
  CodeFunctions functions = functions_of(scratch, options);
  int64_t count = parts_of(scratch, options, &functions).count;
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
  CodeFunctions functions;
  LlvmOptions target;
  CodePartList parts;
  PartResult *results; /* by part */
} PartsRun;

typedef struct PartEmitter {
  const PartsRun *run;
  const CodePart *part;
  LlvmTarget target;
  VecBuilder vec;
  Arena *arena;
  DiagSink *diag;
} PartEmitter;

static const char *prepare_name(const PartEmitter *emitter) {
  return arena_printf(emitter->arena, "%s" ENTRY_PREPARE_SUFFIX, emitter->run->options->entry_name);
}

/* Of each kind of processor alone, where there is one control function in each LLVM module. */
static ConstantPlace constant_place(const CodePart *part) {
  if (part->variant_count > 1) return CONSTANTS_PRIVATE;
  return part->variant == 0 ? CONSTANTS_OF_ALL_PARTS : CONSTANTS_OF_ANOTHER_PART;
}

/* |oncore|: NULL on the host. */
static Status emit_control(const PartEmitter *emitter, int variant, OncoreEmitter *oncore) {
  const CodePartsOptions *options = emitter->run->options;
  const CodeDraft *draft = options->draft;
  KernelCoder coder;
  if (oncore != NULL) coder = oncore_emitter_coder(oncore);
  ControlOptions control = {.kernels = draft->kernels,
                            .strategies = draft->strategies[variant],
                            .name = options->entry_name,
                            .prepare_name = prepare_name(emitter),
                            .poison = options->poison,
                            .has_no_kernels = oncore == NULL && !emitter->part->has_all,
                            .constant_file = options->constants,
                            .constants = constant_place(emitter->part),
                            .coder = oncore != NULL ? &coder : NULL};
  return control_emit(&emitter->vec, options->module, options->assignment, &control, emitter->diag);
}

static const char *function_name(const PartEmitter *emitter, int32_t number) {
  bool is_tile = emitter->run->functions.tiles != NULL;
  return is_tile ? tile_table_name(emitter->arena, number) : control_part_kernel_name(emitter->arena, number);
}

static Status emit_functions(const PartEmitter *emitter, int variant) {
  const CodePart *part = emitter->part;
  const CodeFunctions *functions = &emitter->run->functions;
  int64_t before = (int64_t)variant * functions->count;
  int64_t begin = max_i64(part->first - before, 0), end = min_i64(part->first + part->count - before, functions->count);
  for (int32_t k = (int32_t)begin; k < end; k++) {
    CodeFunction function = function_at(emitter->run->options, functions, variant, k);
    if (function.kernel == NULL) continue;
    KernelCode code;
    RETURN_IF_ERROR(kernel_emit(&emitter->vec, function.kernel, function.strategy, function_name(emitter, k),
                                emitter->diag, &code));
    ir_function_share(code.function);
  }
  return STATUS_OK;
}

/* The way into the functions |entry_name| of all kinds of processors, if there are several and there are such. */
static void emit_way_in(const PartEmitter *emitter, const char *entry_name) {
  LLVMModuleRef module = emitter->vec.module;
  int count = emitter->target.variant_count;
  if (count < 2) return;
  LLVMValueRef functions[CPU_VARIANT_COUNT] = {NULL};
  for (int v = 0; v < count; v++) {
    const char *name = arena_printf(emitter->arena, "%s.%s", entry_name, emitter->target.variants[v].name);
    functions[v] = LLVMGetNamedFunction(module, name);
    if (functions[0] == NULL) return;
    if (functions[v] != NULL) {
      LLVMSetLinkage(functions[v], LLVMInternalLinkage);
    } else {
      functions[v] = LLVMAddFunction(module, name, LLVMGlobalGetValueType(functions[0]));
      ir_function_share(functions[v]);
    }
  }
  cpu_dispatch_emit(module, entry_name, functions, count);
}

/* What the object has once: the ways in and the descriptor. */
static void emit_door(const PartEmitter *emitter) {
  const CodePartsOptions *options = emitter->run->options;
  emit_way_in(emitter, options->entry_name);
  emit_way_in(emitter, prepare_name(emitter));
  descriptor_emit(emitter->vec.module, options->module, options->assignment, NULL, options->constants,
                  sv_from_cstring(options->entry_name), emitter->arena);
}

/* The control functions of a kind of processor whose way in another part has. */
static void share_control(const PartEmitter *emitter) {
  const char *const names[] = {emitter->run->options->entry_name, prepare_name(emitter)};
  for (int i = 0; i < 2; i++) {
    LLVMValueRef function = LLVMGetNamedFunction(emitter->vec.module, names[i]);
    if (function != NULL) ir_function_share(function);
  }
}

/* What leads to tiles computes nothing but scalars: it is made for the oldest processor, since what LLVM finds out
 * about each one takes as long as some functions. */
static LlvmVariant variant_of(const PartEmitter *emitter, int variant, const OncoreEmitter *oncore) {
  LlvmVariant made = emitter->target.variants[oncore != NULL ? 0 : variant];
  made.name = emitter->target.variants[variant].name;
  return made;
}

/* All of the part for one kind of processor. */
static Status emit_variant(PartEmitter *emitter, int variant, OncoreEmitter *oncore) {
  const CodePart *part = emitter->part;
  LLVMModuleRef module = emitter->vec.module;
  LLVMValueRef last = LLVMGetLastFunction(module);
  const LlvmVariant made = variant_of(emitter, variant, oncore);
  emitter->vec.target = &made.vec;
  if (oncore != NULL) oncore_emitter_begin_variant(oncore, variant);
  RETURN_IF_ERROR(part->has_control ? emit_control(emitter, variant, oncore) : emit_functions(emitter, variant));
  if (part->has_control && part->variant > 0) share_control(emitter);
  nest_functions(&made.vec, module, last);
  llvm_variant_mark(&made, module, last);
  return STATUS_OK;
}

static Status emit_part(PartEmitter *emitter) {
  const CodePart *part = emitter->part;
  const CodePartsOptions *options = emitter->run->options;
  OncoreEmitter *oncore = NULL;
  if (part->has_control && options->tiles != NULL)
    oncore = oncore_emitter_create(emitter->arena, options->draft->plans, options->tiles, true);
  if (part->has_control && options->constants != NULL) call_declare_constants(emitter->vec.module);
  if (part->has_control && options->module->preparation != NULL) call_declare_prepared(emitter->vec.module);
  for (int v = part->variant; v < part->variant + part->variant_count; v++)
    RETURN_IF_ERROR(emit_variant(emitter, v, oncore));
  if (part->has_control && part->variant == 0) emit_door(emitter);
  return STATUS_OK;
}

/* Control and the functions of plans only lead to tiles.  Where the host stands for a vector processor, whose control
 * costs nothing then, LLVM's lowest level is good enough for them and takes a third of the time. */
static LlvmOptions part_target(const PartsRun *run, const CodePart *part) {
  LlvmOptions target = run->target;
  if (run->functions.tiles != NULL && part->has_control && machine_is_host(target.machine)) target.opt_level = 0;
  return target;
}

static Status compile_part(const PartsRun *run, const CodePart *part, PartResult *result) {
  DiagSink diag;
  PartEmitter emitter = {.run = run, .part = part, .arena = result->arena, .diag = &diag};
  diag_sink_init(&diag, result->arena);
  const LlvmOptions target = part_target(run, part);
  Status status = llvm_target_create(&target, &diag, &emitter.target);
  if (status == STATUS_OK) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = llvm_target_module(&emitter.target, context);
    emitter.vec = (VecBuilder){context, module, LLVMCreateBuilderInContext(context), NULL, false};
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

static void compile_numbered(void *self, int64_t number) {
  PartsRun *run = self;
  PartResult *result = &run->results[number];
  result->status = compile_part(run, &run->parts.data[number], result);
}

Status code_parts_compile(Arena *arena, const CodePartsOptions *options, StringView *out_bytes) {
  Arena *scratch = arena_create();
  PartsRun run = {.options = options, .functions = functions_of(scratch, options)};
  run.parts = parts_of(scratch, options, &run.functions);
  run.target = options->draft->target;
  LlvmTargetPool *own = run.target.pool == NULL ? llvm_target_pool_create() : NULL;
  if (own != NULL) run.target.pool = own;
  int count = (int)run.parts.count;
  run.results = ARENA_NEW_ARRAY(scratch, PartResult, count);
  for (int i = 0; i < count; i++) run.results[i].arena = arena_create();
  job_threads_run(options->threads, count, compile_numbered, &run);
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
