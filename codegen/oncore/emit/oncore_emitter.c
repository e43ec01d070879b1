#include "codegen/oncore/emit/oncore_emitter.h"

#include <stddef.h>
#include <string.h>

#include "base/checked_math.h"
#include "codegen/emit/kernel_emitter.h"
#include "codegen/ir/ir_function.h"
#include "codegen/oncore/emit/oncore_internal.h"
#include "codegen/point/kernel_point.h"
#include "xlac/abi.h"

/* --- small pieces --- */

LLVMValueRef oncore_word(const PlanEmitter *emitter, int64_t value) {
  return LLVMConstInt(emitter->word, (unsigned long long)value, true);
}

static LLVMValueRef element_pointer(const PlanEmitter *emitter, LLVMTypeRef type, LLVMValueRef array, int64_t index) {
  if (index == 0) return array;
  LLVMValueRef at = oncore_word(emitter, index);
  return LLVMBuildInBoundsGEP2(emitter->vec.builder, type, array, &at, 1, "");
}

LLVMValueRef oncore_load_element(const PlanEmitter *emitter, LLVMTypeRef type, LLVMValueRef array, int64_t index) {
  return LLVMBuildLoad2(emitter->vec.builder, type, element_pointer(emitter, type, array, index), "");
}

void oncore_store_element(const PlanEmitter *emitter, LLVMValueRef value, LLVMValueRef array, int64_t index) {
  LLVMBuildStore(emitter->vec.builder, value, element_pointer(emitter, LLVMTypeOf(value), array, index));
}

LLVMValueRef oncore_byte_pointer(const PlanEmitter *emitter, LLVMValueRef base, LLVMValueRef offset) {
  return LLVMBuildGEP2(emitter->vec.builder, LLVMInt8TypeInContext(emitter->vec.context), base, &offset, 1, "");
}

LLVMValueRef oncore_add_function(PlanEmitter *emitter, const char *name, OncoreDriver driver, LLVMTypeRef result,
                                 const LLVMTypeRef *parameters, unsigned count) {
  LLVMTypeRef type = LLVMFunctionType(result, (LLVMTypeRef *)parameters, count, false);
  LLVMValueRef function = ir_function_add(emitter->vec.module, name, type, LLVMInternalLinkage);
  if (driver == ONCORE_DRIVES_ENGINES || machine_is_host(emitter->emitter->machine)) ir_function_leave_plain(function);
  LLVMPositionBuilderAtEnd(emitter->vec.builder, LLVMAppendBasicBlockInContext(emitter->vec.context, function, ""));
  return function;
}

/* --- tile Kernels --- */

void oncore_call_tile(PlanEmitter *emitter, const Kernel *kernel, const TileCode *code, LLVMValueRef *pointers,
                      LLVMValueRef scratch) {
  LLVMValueRef *arguments =
      ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count + 1 + KERNEL_MOST_PARAMETERS);
  unsigned count = 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) arguments[count++] = pointers[b];
  arguments[count++] = scratch;
  kernel_code_append_all(&emitter->vec, &code->code, arguments, &count);
  LLVMValueRef function = code->code.function;
  LLVMBuildCall2(emitter->vec.builder, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

/* The function with its arguments in an array, so that an engine that has recorded an instance can execute it. */
static LLVMValueRef emit_thunk(PlanEmitter *emitter, const Kernel *kernel, const TileCode *code, const char *name) {
  LLVMTypeRef types[2] = {emitter->pointer, emitter->pointer};
  LLVMValueRef thunk = oncore_add_function(emitter, name, ONCORE_DRIVES_ENGINES, emitter->none, types, 2);
  LLVMValueRef *pointers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count);
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    pointers[b] = oncore_load_element(emitter, emitter->pointer, LLVMGetParam(thunk, 0), b);
  }
  oncore_call_tile(emitter, kernel, code, pointers, LLVMGetParam(thunk, 1));
  LLVMBuildRetVoid(emitter->vec.builder);
  return thunk;
}

/* Equal Kernels are one function, whatever plan they are of. */
static Status tile_code(PlanEmitter *emitter, int32_t number, DiagSink *diag, TileCode **out_code) {
  OncoreEmitter *owner = emitter->emitter;
  const PlanTile *tile = &owner->table->tiles[number];
  TileCode **code = &(tile->is_transfer ? owner->transfers : owner->tiles)[number];
  if (*code == NULL) {
    *code = ARENA_NEW(owner->arena, TileCode);
    const KernelStrategy *strategy = &tile->strategies[owner->target];
    const char *name = tile_table_name(owner->arena, number);
    if (owner->has_no_tiles)
      kernel_declare(&emitter->vec, tile->kernel, strategy, name, &(*code)->code);
    else
      RETURN_IF_ERROR(kernel_emit(&emitter->vec, tile->kernel, strategy, name, diag, &(*code)->code));
    (*code)->thunk = emit_thunk(emitter, tile->kernel, *code, arena_printf(owner->arena, "%s.call", name));
  }
  *out_code = *code;
  return STATUS_OK;
}

/* --- commands --- */

static void find_loops(PlanEmitter *emitter, const PlanCommand *command, CommandCode *code) {
  for (int32_t l = command->loop; l >= 0; l = emitter->plan->loops[l].parent) code->loop_count++;
  code->loops = ARENA_NEW_ARRAY(emitter->arena, int32_t, code->loop_count);
  int32_t at = code->loop_count;
  for (int32_t l = command->loop; l >= 0; l = emitter->plan->loops[l].parent) code->loops[--at] = l;
}

static Status make_command(PlanEmitter *emitter, const int32_t *tiles, int32_t number, DiagSink *diag) {
  CommandCode *code = &emitter->commands[number];
  code->variants = emitter->space->variants[number];
  code->tiles = ARENA_NEW_ARRAY(emitter->arena, TileCode *, code->variants.count);
  for (int32_t v = 0; v < code->variants.count; v++) {
    RETURN_IF_ERROR(tile_code(emitter, tiles[v], diag, &code->tiles[v]));
    if (code->tiles[v]->code.scratch_bytes > emitter->space->scratch_bytes_per_queue)
      XLAC_BUG("a tile Kernel needs more scratch than was planned");
  }
  find_loops(emitter, &emitter->plan->commands[number], code);
  return STATUS_OK;
}

/* --- the plan's own function --- */

/* Pointers of the Kernel's buffers are the first parameters. */
static LLVMValueRef *buffer_pointers(const PlanEmitter *emitter, LLVMValueRef function, unsigned *out_count) {
  const Kernel *kernel = emitter->plan->kernel;
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count);
  *out_count = 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    bool is_bound = kernel->buffers[b].role != KERNEL_SCRATCH;
    buffers[b] = is_bound ? LLVMGetParam(function, (*out_count)++) : LLVMConstNull(emitter->pointer);
  }
  return buffers;
}

/* What the scalar unit does at entry. */
static void store_scalars(const PlanEmitter *emitter, LLVMValueRef function, LLVMValueRef *buffers,
                          LLVMValueRef scalars) {
  KernelPoint point = kernel_point(&emitter->vec, emitter->plan->kernel, function, buffers, emitter->arena);
  for (int32_t s = 0; s < emitter->plan->scalar_count; s++) {
    oncore_store_element(emitter, point_value(&point, emitter->plan->scalars[s].value), scalars, s);
  }
}

static LLVMValueRef make_context(const PlanEmitter *emitter, LLVMValueRef function, LLVMValueRef workspace,
                                 LLVMValueRef *buffers) {
  const PlanSpace *space = emitter->space;
  const Plan *plan = emitter->plan;
  int32_t object_count = plan_object_count(plan), buffer_count = plan->kernel->buffer_count;
  LLVMValueRef context = plan_emit_room(emitter, CONTEXT_FIELD_COUNT), objects = plan_emit_room(emitter, object_count);
  LLVMValueRef scalars = plan_emit_room(emitter, plan->scalar_count);
  for (int32_t o = 0; o < object_count; o++) {
    LLVMValueRef object =
        o < buffer_count
            ? buffers[o]
            : oncore_byte_pointer(emitter, workspace, oncore_word(emitter, space->temporaries[o - buffer_count]));
    oncore_store_element(emitter, object, objects, o);
  }
  store_scalars(emitter, function, buffers, scalars);
  oncore_store_element(emitter, workspace, context, CONTEXT_BUFFER);
  oncore_store_element(emitter, objects, context, CONTEXT_OBJECTS);
  oncore_store_element(emitter, scalars, context, CONTEXT_SCALARS);
  LLVMValueRef scratch = oncore_byte_pointer(emitter, workspace, oncore_word(emitter, space->scratch));
  oncore_store_element(emitter, scratch, context, CONTEXT_SCRATCH);
  return context;
}

static LLVMValueRef options_field(const PlanEmitter *emitter, LLVMTypeRef type, LLVMValueRef options, size_t offset) {
  LLVMValueRef at = oncore_byte_pointer(emitter, options, oncore_word(emitter, (int64_t)offset));
  return LLVMBuildLoad2(emitter->vec.builder, type, at, "");
}

static LLVMBasicBlockRef new_block(const PlanEmitter *emitter, LLVMValueRef function, const char *name) {
  return LLVMAppendBasicBlockInContext(emitter->vec.context, function, name);
}

/* A function among the run's options. */
typedef struct EngineField {
  size_t callee;      /* where it is */
  size_t options_end; /* bytes of options that have it and its data */
} EngineField;

/* Options may be absent, or of a time before engines. */
static void branch_to_engine(const PlanEmitter *emitter, LLVMValueRef function, LLVMValueRef options, EngineField field,
                             LLVMBasicBlockRef engine, LLVMBasicBlockRef run) {
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMBasicBlockRef given = new_block(emitter, function, ""), long_enough = new_block(emitter, function, "");
  LLVMBuildCondBr(builder, LLVMBuildIsNull(builder, options, ""), run, given);
  LLVMPositionBuilderAtEnd(builder, given);
  LLVMValueRef size = options_field(emitter, emitter->word, options, offsetof(XlacRunOptions, struct_size));
  LLVMValueRef needed = oncore_word(emitter, (int64_t)field.options_end);
  LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntULT, size, needed, ""), run, long_enough);
  LLVMPositionBuilderAtEnd(builder, long_enough);
  LLVMValueRef callee = options_field(emitter, emitter->pointer, options, field.callee);
  LLVMBuildCondBr(builder, LLVMBuildIsNull(builder, callee, ""), run, engine);
}

static void launch(const PlanEmitter *emitter, LLVMValueRef function, LLVMValueRef options, LLVMValueRef context,
                   LLVMValueRef record, LLVMValueRef run_function) {
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMTypeRef status = LLVMInt32TypeInContext(emitter->vec.context);
  LLVMBasicBlockRef engine = new_block(emitter, function, "engine"), run = new_block(emitter, function, "run");
  const EngineField field = {offsetof(XlacRunOptions, oncore_launch),
                             offsetof(XlacRunOptions, oncore_data) + sizeof(void *)};
  branch_to_engine(emitter, function, options, field, engine, run);
  LLVMPositionBuilderAtEnd(builder, engine);
  LLVMTypeRef types[3] = {emitter->pointer, emitter->pointer, emitter->pointer};
  LLVMValueRef callee = options_field(emitter, emitter->pointer, options, offsetof(XlacRunOptions, oncore_launch));
  LLVMValueRef data = options_field(emitter, emitter->pointer, options, offsetof(XlacRunOptions, oncore_data));
  LLVMValueRef arguments[3] = {data, record, context};
  LLVMBuildRet(builder, LLVMBuildCall2(builder, LLVMFunctionType(status, types, 3, false), callee, arguments, 3, ""));
  LLVMPositionBuilderAtEnd(builder, run);
  LLVMBuildCall2(builder, LLVMGlobalGetValueType(run_function), run_function, &context, 1, "");
  LLVMBuildRet(builder, LLVMConstInt(status, 0, false));
}

/* run.begin: tells the engine, where there is one that asks, that launches are a run. */
static LLVMValueRef emit_run_begin(PlanEmitter *emitter) {
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMTypeRef types[2] = {emitter->pointer, emitter->pointer};
  LLVMValueRef function = oncore_add_function(emitter, "run.begin", ONCORE_DRIVES_ENGINES, emitter->none, types, 2);
  LLVMValueRef options = LLVMGetParam(function, 0);
  LLVMBasicBlockRef engine = new_block(emitter, function, "engine"), end = new_block(emitter, function, "end");
  const EngineField field = {offsetof(XlacRunOptions, oncore_run),
                             offsetof(XlacRunOptions, oncore_run) + sizeof(void *)};
  branch_to_engine(emitter, function, options, field, engine, end);
  LLVMPositionBuilderAtEnd(builder, engine);
  LLVMValueRef callee = options_field(emitter, emitter->pointer, options, field.callee);
  LLVMValueRef data = options_field(emitter, emitter->pointer, options, offsetof(XlacRunOptions, oncore_data));
  LLVMValueRef arguments[2] = {data, LLVMGetParam(function, 1)};
  LLVMBuildCall2(builder, LLVMFunctionType(emitter->none, types, 2, false), callee, arguments, 2, "");
  LLVMBuildBr(builder, end);
  LLVMPositionBuilderAtEnd(builder, end);
  LLVMBuildRetVoid(builder);
  return function;
}

static LLVMValueRef emit_entry(PlanEmitter *emitter, LLVMValueRef record, LLVMValueRef run_function) {
  const Kernel *kernel = emitter->plan->kernel;
  LLVMTypeRef *types = ARENA_NEW_ARRAY(emitter->arena, LLVMTypeRef, kernel->buffer_count + 2);
  unsigned count = 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (kernel->buffers[b].role != KERNEL_SCRATCH) types[count++] = emitter->pointer;
  }
  types[count++] = emitter->pointer;
  types[count++] = emitter->pointer;
  LLVMTypeRef status = LLVMInt32TypeInContext(emitter->vec.context);
  LLVMValueRef function = oncore_add_function(emitter, emitter->name, ONCORE_DRIVES_RUNS, status, types, count);
  LLVMValueRef *buffers = buffer_pointers(emitter, function, &count);
  LLVMValueRef context = make_context(emitter, function, LLVMGetParam(function, count), buffers);
  launch(emitter, function, LLVMGetParam(function, count + 1), context, record, run_function);
  return function;
}

/* --- all of it --- */

static SharedFunctions *shared_functions(OncoreEmitter *owner, const Plan *plan, const PlanSpace *space) {
  SharedFunctions *shared = pointer_map_get(&owner->functions, space);
  if (shared != NULL) return shared;
  shared = ARENA_NEW(owner->arena, SharedFunctions);
  *shared = (SharedFunctions){.commands = ARENA_NEW_ARRAY(owner->arena, LLVMValueRef, plan->command_count),
                              .queues = ARENA_NEW_ARRAY(owner->arena, LLVMValueRef, owner->machine->queue_count)};
  pointer_map_set(&owner->functions, space, shared);
  return shared;
}

/* The trace names commands and tiles, and calls none of them. */
static LLVMValueRef emit_trace(PlanEmitter *emitter) {
  LLVMValueRef *trace = &emitter->shared->trace;
  if (*trace == NULL) *trace = plan_emit_trace(emitter);
  return *trace;
}

static LLVMValueRef emit_command(PlanEmitter *emitter, int32_t number) {
  const PlanCommand *command = &emitter->plan->commands[number];
  if (command->verb == PLAN_BARRIER) return NULL;
  LLVMValueRef *shared = &emitter->shared->commands[number];
  if (*shared != NULL) return *shared;
  LLVMValueRef function = plan_emit_command(emitter, number);
  if (command_is_transfer(command)) *shared = function;
  return function;
}

static LLVMValueRef emit_queue(PlanEmitter *emitter, int32_t queue) {
  LLVMValueRef *shared = &emitter->shared->queues[queue];
  if (*shared != NULL) return *shared;
  LLVMValueRef function = plan_emit_queue(emitter, queue);
  bool only_moves = true;
  for (int32_t c = 0; c < emitter->plan->command_count; c++) {
    const PlanCommand *command = &emitter->plan->commands[c];
    if (command->verb == PLAN_BARRIER || command->queue != queue) continue;
    only_moves = only_moves && command_is_transfer(command);
  }
  if (only_moves) *shared = function;
  return function;
}

static PlanEmitter plan_emitter(OncoreEmitter *owner, const VecBuilder *vec) {
  PlanEmitter emitter = {.emitter = owner, .arena = owner->arena, .vec = *vec};
  emitter.pointer = LLVMPointerTypeInContext(vec->context, 0);
  emitter.word = LLVMInt64TypeInContext(vec->context);
  emitter.none = LLVMVoidTypeInContext(vec->context);
  return emitter;
}

/* The functions of plan |number| under |name|, the first of which is |*out_function|. */
static Status emit_functions(OncoreEmitter *owner, const VecBuilder *vec, int32_t number, const char *name,
                             DiagSink *diag, LLVMValueRef *out_function) {
  PlanEmitter emitter = plan_emitter(owner, vec);
  const Plan *plan = owner->plans->plans[number].plan;
  emitter.plan = plan;
  emitter.space = &owner->plans->spaces[number];
  emitter.name = name;
  emitter.commands = ARENA_NEW_ARRAY(owner->arena, CommandCode, plan->command_count);
  emitter.shared = shared_functions(owner, plan, emitter.space);
  const int32_t *const *tiles = owner->table->numbers[number];
  for (int32_t c = 0; c < plan->command_count; c++) RETURN_IF_ERROR(make_command(&emitter, tiles[c], c, diag));
  for (int32_t c = 0; c < plan->command_count; c++) emitter.commands[c].function = emit_command(&emitter, c);
  PlanFunctions functions = {.run = plan_emit_run(&emitter), .trace = emit_trace(&emitter)};
  functions.queues = ARENA_NEW_ARRAY(owner->arena, LLVMValueRef, owner->machine->queue_count);
  for (int32_t q = 0; q < owner->machine->queue_count; q++) functions.queues[q] = emit_queue(&emitter, q);
  LLVMValueRef record = plan_emit_record(&emitter, &functions);
  *out_function = emit_entry(&emitter, record, functions.run);
  LLVMClearInsertionPosition(vec->builder);
  return STATUS_OK;
}

static Status emit_plan(OncoreEmitter *emitter, const VecBuilder *vec, int32_t number, const char *name, DiagSink *diag,
                        KernelCode *out_code) {
  const ModulePlans *plans = emitter->plans;
  *out_code = (KernelCode){.piece_count = 1, .chunk_limit = 1, .scratch_bytes = plans->spaces[number].bytes};
  out_code->has_place = module_plans_is_resident(plans, number);
  out_code->place = plans->space_offset;
  return emit_functions(emitter, vec, number, name, diag, &out_code->function);
}

static Status emit_kernel(void *self, const VecBuilder *vec, const KernelUse *use, const char *name, DiagSink *diag,
                          KernelCode *out_code) {
  OncoreEmitter *emitter = self;
  int32_t number = module_plans_number(emitter->plans, use);
  const HloInstruction *source = use->kernel->source;
  if (number < 0) {
    return diag_error(diag, STATUS_UNSUPPORTED, source->loc, "unsupported-oncore",
                      "'%.*s' has no rule in the scalar unit of a vector processor yet", SV_ARG(source->name));
  }
  return emit_plan(emitter, vec, number, name, diag, out_code);
}

static int32_t number_of_use(void *self, const KernelUse *use) {
  const OncoreEmitter *emitter = self;
  return module_plans_number(emitter->plans, use);
}

static Status emit_around(void *self, const VecBuilder *vec, const HloInstruction *loop, bool is_after,
                          const char *name, DiagSink *diag, CodeAround *out_around) {
  OncoreEmitter *emitter = self;
  const ModulePlans *plans = emitter->plans;
  out_around->count = 0;
  for (int32_t m = 0; m < plans->move_count; m++) {
    const LoopMove *move = &plans->moves[m];
    if (move->loop != loop || move->is_after != is_after) continue;
    out_around->count = move->count;
    out_around->leaves = move->leaves;
    return emit_plan(emitter, vec, move->plan, name, diag, &out_around->code);
  }
  return STATUS_OK;
}

static void emit_before(void *self, const VecBuilder *vec, const KernelUse *use, LLVMValueRef options) {
  OncoreEmitter *owner = self;
  const RunLaunch *launch = module_runs_launch(&owner->plans->runs, use);
  if (launch == NULL || launch->place > 0) return;
  PlanEmitter emitter = plan_emitter(owner, vec);
  if (owner->begin == NULL) {
    emitter.vec.builder = LLVMCreateBuilderInContext(vec->context);
    owner->begin = emit_run_begin(&emitter);
    LLVMDisposeBuilder(emitter.vec.builder);
  }
  LLVMValueRef arguments[2] = {options, plan_emit_launches(&emitter, launch)};
  LLVMBuildCall2(vec->builder, LLVMGlobalGetValueType(owner->begin), owner->begin, arguments, 2, "");
}

OncoreEmitter *oncore_emitter_create(Arena *arena, const ModulePlans *plans, const TileTable *table,
                                     bool has_no_tiles) {
  OncoreEmitter *emitter = ARENA_NEW(arena, OncoreEmitter);
  *emitter = (OncoreEmitter){
      .arena = arena, .machine = plans->machine, .plans = plans, .table = table, .has_no_tiles = has_no_tiles};
  emitter->transfers = ARENA_NEW_ARRAY(arena, TileCode *, table->count);
  int_map_init(&emitter->functions, arena);
  int_map_init(&emitter->constants, arena);
  oncore_emitter_begin_variant(emitter, 0);
  return emitter;
}

void oncore_emitter_begin_variant(OncoreEmitter *emitter, int target) {
  emitter->target = target;
  emitter->tiles = ARENA_NEW_ARRAY(emitter->arena, TileCode *, emitter->table->count);
}

KernelCoder oncore_emitter_coder(OncoreEmitter *emitter) {
  return (KernelCoder){emitter, emit_kernel, number_of_use, emit_around, emit_before};
}
