/* Functions that go through a plan's loops: all commands, one queue's, or a trace of the commands for an observer. */
#include "base/checked_math.h"
#include "codegen/ir/ir_loop.h"
#include "codegen/oncore/emit/oncore_internal.h"
#include "codegen/oncore/plan/plan_wait.h"

typedef struct PlanWalk {
  PlanEmitter *emitter;
  LLVMValueRef function;
  LLVMValueRef *iterations; /* by loop */
  int32_t queue;            /* the only one; -1: all */
  void (*emit)(struct PlanWalk *walk, int32_t command);
  const PlanPoint *point;       /* trace */
  LLVMValueRef room, arguments; /* trace: on the stack */
  LLVMValueRef mode;            /* of vec_flush_begin, where a thread enters; NULL elsewhere */
} PlanWalk;

/* A queue does not begin what comes after a barrier before all others are there. */
static bool is_wanted(const PlanWalk *walk, int32_t command) {
  const PlanCommand *of = &walk->emitter->plan->commands[command];
  return walk->queue < 0 || of->verb == PLAN_BARRIER || of->queue == walk->queue;
}

static bool has_wanted(const PlanWalk *walk, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    bool wanted = node->kind == PLAN_NODE_COMMAND ? is_wanted(walk, node->number)
                                                  : has_wanted(walk, &walk->emitter->plan->loops[node->number].body);
    if (wanted) return true;
  }
  return false;
}

static void walk_block(PlanWalk *walk, const PlanBlock *block);

static void walk_loop(PlanWalk *walk, int32_t number) {
  const PlanEmitter *emitter = walk->emitter;
  const PlanLoop *loop = &emitter->plan->loops[number];
  IndexRange trips = ir_range_below(oncore_word(emitter, loop->trip_count));
  IrLoop iterations = ir_loop_count(emitter->vec.builder, trips, 1, NULL, 0);
  walk->iterations[number] = iterations.index;
  walk_block(walk, &loop->body);
  ir_loop_end(&iterations);
}

static void walk_block(PlanWalk *walk, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_COMMAND) {
      if (is_wanted(walk, node->number)) walk->emit(walk, node->number);
    } else if (has_wanted(walk, &walk->emitter->plan->loops[node->number].body)) {
      walk_loop(walk, node->number);
    }
  }
}

static void walk_plan(PlanWalk *walk) {
  PlanEmitter *emitter = walk->emitter;
  if (walk->iterations == NULL) {
    walk->iterations = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, emitter->plan->loop_count);
  }
  walk_block(walk, &emitter->plan->block);
  vec_flush_end(&emitter->vec, walk->mode);
  LLVMBuildRetVoid(emitter->vec.builder);
}

/* --- all commands --- */

static void call_command(PlanWalk *walk, int32_t number) {
  const PlanEmitter *emitter = walk->emitter;
  if (emitter->plan->commands[number].verb == PLAN_BARRIER) return;
  const CommandCode *code = &emitter->commands[number];
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, code->loop_count + 1);
  arguments[0] = LLVMGetParam(walk->function, 0);
  for (int32_t i = 0; i < code->loop_count; i++) arguments[i + 1] = walk->iterations[code->loops[i]];
  LLVMBuildCall2(emitter->vec.builder, LLVMGlobalGetValueType(code->function), code->function, arguments,
                 (unsigned)code->loop_count + 1, "");
}

/* A plan of nothing but one command, once: its function is the run. */
static LLVMValueRef only_command(const PlanEmitter *emitter) {
  const Plan *plan = emitter->plan;
  return plan->command_count == 1 && plan->loop_count == 0 ? emitter->commands[0].function : NULL;
}

LLVMValueRef plan_emit_run(PlanEmitter *emitter) {
  LLVMValueRef only = only_command(emitter);
  if (only != NULL) return only;
  const char *name = arena_printf(emitter->arena, "%s.run", emitter->name);
  PlanWalk walk = {.emitter = emitter, .queue = -1, .emit = call_command};
  walk.function = oncore_add_function(emitter, name, ONCORE_DRIVES_RUNS, emitter->none, &emitter->pointer, 1);
  walk_plan(&walk);
  return walk.function;
}

/* --- one queue --- */

static LLVMValueRef wait_instance(const PlanWalk *walk, const PlanWait *wait) {
  const PlanEmitter *emitter = walk->emitter;
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMValueRef instance = oncore_word(emitter, wait->constant);
  for (int32_t l = 0; l < emitter->plan->loop_count; l++) {
    if (wait->factors[l] == 0) continue;
    LLVMValueRef part = LLVMBuildMul(builder, walk->iterations[l], oncore_word(emitter, wait->factors[l]), "");
    instance = LLVMBuildAdd(builder, instance, part, "");
  }
  return instance;
}

/* plan_reach_iteration as code. */
static LLVMValueRef reach_iteration(const PlanWalk *walk, const PlanEdgeReach *reach) {
  const PlanEmitter *emitter = walk->emitter;
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMValueRef number = oncore_word(emitter, 0);
  int64_t inside = 1;
  for (int32_t loop = reach->loop; loop != reach->same_loop; loop = emitter->plan->loops[loop].parent) {
    LLVMValueRef part = LLVMBuildMul(builder, walk->iterations[loop], oncore_word(emitter, inside), "");
    number = LLVMBuildAdd(builder, number, part, "");
    inside *= emitter->plan->loops[loop].trip_count;
  }
  return number;
}

/* plan_wait_count as code. */
static LLVMValueRef wait_count(const PlanWalk *walk, const PlanWait *wait) {
  const PlanEmitter *emitter = walk->emitter;
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMValueRef instance = wait_instance(walk, wait), count = oncore_word(emitter, wait->commands);
  for (int32_t i = 0; i < wait->term_count; i++) {
    const PlanWaitTerm *term = &wait->terms[i];
    LLVMValueRef iteration = instance;
    if (term->stride > 1) iteration = LLVMBuildUDiv(builder, iteration, oncore_word(emitter, term->stride), "");
    if (i + 1 < wait->term_count)
      iteration = LLVMBuildURem(builder, iteration, oncore_word(emitter, term->trip_count), "");
    LLVMValueRef part = LLVMBuildMul(builder, iteration, oncore_word(emitter, term->commands), "");
    count = LLVMBuildAdd(builder, count, part, "");
  }
  LLVMValueRef is_none = LLVMBuildICmp(builder, LLVMIntSLT, instance, oncore_word(emitter, 0), "");
  if (wait->reach.same_loop >= 0) {
    LLVMValueRef back = oncore_word(emitter, wait->reach.back);
    LLVMValueRef is_outside = LLVMBuildICmp(builder, LLVMIntSLT, reach_iteration(walk, &wait->reach), back, "");
    is_none = LLVMBuildOr(builder, is_none, is_outside, "");
  }
  return LLVMBuildSelect(builder, is_none, oncore_word(emitter, 0), count, "");
}

static void call_sync(PlanWalk *walk, int field, LLVMValueRef *arguments, unsigned count) {
  const PlanEmitter *emitter = walk->emitter;
  LLVMValueRef sync = LLVMGetParam(walk->function, 1);
  LLVMTypeRef types[3] = {emitter->pointer, emitter->word, emitter->word};
  LLVMValueRef callee = oncore_load_element(emitter, emitter->pointer, sync, field);
  arguments[0] = oncore_load_element(emitter, emitter->pointer, sync, SYNC_DATA);
  LLVMBuildCall2(emitter->vec.builder, LLVMFunctionType(emitter->none, types, count, false), callee, arguments, count,
                 "");
}

static void wait_for_all(PlanWalk *walk, const PlanCommand *barrier) {
  PlanEmitter *emitter = walk->emitter;
  for (int32_t q = 0; q < emitter->emitter->machine->queue_count; q++) {
    if (q == walk->queue) continue;
    PlanWait wait = plan_wait_of_barrier(emitter->arena, emitter->plan, barrier, q);
    LLVMValueRef arguments[3] = {NULL, oncore_word(emitter, q), wait_count(walk, &wait)};
    call_sync(walk, SYNC_WAIT, arguments, 3);
  }
}

static void wait_call_publish(PlanWalk *walk, int32_t number) {
  PlanEmitter *emitter = walk->emitter;
  const PlanCommand *command = &emitter->plan->commands[number];
  if (command->verb == PLAN_BARRIER) {
    wait_for_all(walk, command);
    return;
  }
  for (int32_t e = 0; e < command->edge_count; e++) {
    PlanWait wait = plan_wait_of_edge(emitter->arena, emitter->plan, command, &command->edges[e]);
    LLVMValueRef arguments[3] = {NULL, oncore_word(emitter, wait.queue), wait_count(walk, &wait)};
    call_sync(walk, SYNC_WAIT, arguments, 3);
  }
  call_command(walk, number);
  LLVMValueRef arguments[2] = {NULL, oncore_word(emitter, command->queue)};
  call_sync(walk, SYNC_PUBLISH, arguments, 2);
}

static LLVMValueRef idle_queue(PlanEmitter *emitter) {
  LLVMTypeRef types[2] = {emitter->pointer, emitter->pointer};
  LLVMValueRef function = oncore_add_function(emitter, "queue.idle", ONCORE_DRIVES_ENGINES, emitter->none, types, 2);
  LLVMBuildRetVoid(emitter->vec.builder);
  return function;
}

LLVMValueRef plan_emit_queue(PlanEmitter *emitter, int32_t queue) {
  PlanWalk walk = {.emitter = emitter, .queue = queue, .emit = wait_call_publish};
  if (!has_wanted(&walk, &emitter->plan->block)) {
    LLVMValueRef *idle = &emitter->emitter->idle;
    if (*idle == NULL) *idle = idle_queue(emitter);
    return *idle;
  }
  StringView queue_name = emitter->emitter->machine->queues[queue].name;
  const char *name = arena_printf(emitter->arena, "%s.%.*s", emitter->name, SV_ARG(queue_name));
  LLVMTypeRef types[2] = {emitter->pointer, emitter->pointer};
  walk.function = oncore_add_function(emitter, name, ONCORE_DRIVES_ENGINES, emitter->none, types, 2);
  walk.mode = vec_flush_begin(&emitter->vec);
  walk_plan(&walk);
  return walk.function;
}

/* --- the trace --- */

static void call_record(PlanWalk *walk, const PlanPoint *point, int32_t command, int32_t variant,
                        LLVMValueRef parameters) {
  const PlanEmitter *emitter = walk->emitter;
  LLVMTypeRef types[5] = {emitter->pointer, emitter->word, emitter->word, emitter->pointer, emitter->pointer};
  LLVMValueRef arguments[5] = {LLVMGetParam(point->function, 1), oncore_word(emitter, command),
                               oncore_word(emitter, variant), walk->arguments, parameters};
  LLVMBuildCall2(emitter->vec.builder, LLVMFunctionType(emitter->none, types, 5, false),
                 LLVMGetParam(point->function, 2), arguments, 5, "");
}

static void record_variant(void *data, const PlanPoint *point, int32_t command, int32_t variant, LLVMValueRef *pointers,
                           LLVMValueRef parameters) {
  PlanWalk *walk = data;
  const PlanEmitter *emitter = walk->emitter;
  const TileKernel *tile = &emitter->commands[command].variants.variants[variant].tile;
  for (int32_t b = 0; b < tile->kernel->buffer_count; b++) {
    oncore_store_element(emitter, pointers[b], walk->arguments, b);
  }
  call_record(walk, point, command, variant, parameters);
}

static void trace_command(PlanWalk *walk, int32_t command) {
  if (walk->emitter->plan->commands[command].verb == PLAN_BARRIER) {
    call_record(walk, walk->point, command, 0, LLVMConstNull(walk->emitter->pointer));
    return;
  }
  VariantAction record = {walk, record_variant};
  plan_emit_instance(walk->emitter, walk->point, command, walk->room, &record);
}

static int64_t most_pointers(const CommandCode *command) {
  int64_t most = 0;
  for (int32_t v = 0; v < command->variants.count; v++) {
    most = max_i64(most, command->variants.variants[v].tile.kernel->buffer_count);
  }
  return most;
}

LLVMValueRef plan_emit_trace(PlanEmitter *emitter) {
  const char *name = arena_printf(emitter->arena, "%s.trace", emitter->name);
  LLVMTypeRef types[3] = {emitter->pointer, emitter->pointer, emitter->pointer};
  PlanWalk walk = {.emitter = emitter, .queue = -1, .emit = trace_command};
  walk.function = oncore_add_function(emitter, name, ONCORE_DRIVES_ENGINES, emitter->none, types, 3);
  int64_t parameter_count = 0, pointer_count = 0;
  for (int32_t c = 0; c < emitter->plan->command_count; c++) {
    parameter_count = max_i64(parameter_count, plan_parameter_count(&emitter->commands[c]));
    pointer_count = max_i64(pointer_count, most_pointers(&emitter->commands[c]));
  }
  walk.room = plan_emit_room(emitter, parameter_count);
  walk.arguments = plan_emit_room(emitter, pointer_count);
  PlanPoint point = plan_point(emitter, walk.function, LLVMGetParam(walk.function, 0));
  walk.point = &point;
  walk.iterations = point.iterations;
  walk_plan(&walk);
  return walk.function;
}
