/* One instance of a command: which variant, where its tiles are. */
#include "base/checked_math.h"
#include "codegen/oncore/emit/oncore_internal.h"

PlanPoint plan_point(const PlanEmitter *emitter, LLVMValueRef function, LLVMValueRef context) {
  PlanPoint point = {.function = function};
  point.iterations = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, emitter->plan->loop_count);
  for (int i = 0; i < CONTEXT_FIELD_COUNT; i++) {
    point.context[i] = oncore_load_element(emitter, emitter->pointer, context, i);
  }
  return point;
}

LLVMValueRef plan_emit_room(const PlanEmitter *emitter, int64_t words) {
  if (words == 0) return LLVMConstNull(emitter->pointer);
  return LLVMBuildAlloca(emitter->vec.builder, LLVMArrayType2(emitter->word, (uint64_t)words), "");
}

int64_t plan_parameter_count(const CommandCode *command) {
  int64_t most = 0;
  for (int32_t v = 0; v < command->variants.count; v++) {
    most = max_i64(most, command->variants.variants[v].tile.parameter_count);
  }
  return most;
}

/* --- indices --- */

static LLVMValueRef emit_index(const PlanEmitter *emitter, const PlanPoint *point, const IndexSpace *space,
                               IndexExpr expr);

/* Divisions: what is divided is never negative. */
static LLVMValueRef emit_atom(const PlanEmitter *emitter, const PlanPoint *point, const IndexSpace *space,
                              const IndexAtom *atom) {
  LLVMBuilderRef builder = emitter->vec.builder;
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return point->iterations[atom->number];
    case INDEX_ATOM_VALUE:
      return oncore_load_element(emitter, emitter->word, point->context[CONTEXT_SCALARS], atom->number);
    case INDEX_ATOM_DIV:
      return LLVMBuildUDiv(builder, emit_index(emitter, point, space, atom->inner), oncore_word(emitter, atom->divisor),
                           "");
    case INDEX_ATOM_MOD:
      return LLVMBuildURem(builder, emit_index(emitter, point, space, atom->inner), oncore_word(emitter, atom->divisor),
                           "");
  }
  XLAC_BUG("unknown index atom");
}

static LLVMValueRef emit_index(const PlanEmitter *emitter, const PlanPoint *point, const IndexSpace *space,
                               IndexExpr expr) {
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMValueRef sum = oncore_word(emitter, expr.constant);
  for (int i = 0; i < expr.term_count; i++) {
    LLVMValueRef atom = emit_atom(emitter, point, space, &space->atoms.data[expr.terms[i].atom]);
    LLVMValueRef term = LLVMBuildMul(builder, atom, oncore_word(emitter, expr.terms[i].coefficient), "");
    sum = LLVMBuildAdd(builder, sum, term, "");
  }
  return sum;
}

/* --- the variant --- */

/* In the first iteration of init_loop and of the loops inside it. */
static LLVMValueRef emit_is_first(const PlanEmitter *emitter, const PlanPoint *point, const PlanCommand *command) {
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMValueRef sum = oncore_word(emitter, 0);
  for (int32_t loop = command->loop; loop >= 0; loop = emitter->plan->loops[loop].parent) {
    sum = LLVMBuildOr(builder, sum, point->iterations[loop], "");
    if (loop == command->init_loop) break;
  }
  return LLVMBuildICmp(builder, LLVMIntEQ, sum, oncore_word(emitter, 0), "");
}

static LLVMValueRef add_bit(const PlanEmitter *emitter, LLVMValueRef variant, LLVMValueRef condition, int32_t bit) {
  LLVMBuilderRef builder = emitter->vec.builder;
  LLVMValueRef wide = LLVMBuildZExt(builder, condition, emitter->word, "");
  return LLVMBuildOr(builder, variant, LLVMBuildShl(builder, wide, oncore_word(emitter, bit), ""), "");
}

static LLVMValueRef emit_variant(const PlanEmitter *emitter, const PlanPoint *point, int32_t number) {
  const PlanCommand *command = &emitter->plan->commands[number];
  const CommandVariants *variants = &emitter->commands[number].variants;
  LLVMValueRef variant = oncore_word(emitter, 0);
  for (int32_t r = 0; r < variants->ragged_count; r++) {
    LLVMValueRef left = emit_index(emitter, point, &emitter->plan->space, variants->ragged[r].left);
    LLVMValueRef extent = oncore_word(emitter, variants->ragged[r].extent);
    variant = add_bit(emitter, variant, LLVMBuildICmp(emitter->vec.builder, LLVMIntSLT, left, extent, ""), r);
  }
  if (variants->has_init_bit) {
    variant = add_bit(emitter, variant, emit_is_first(emitter, point, command), variants->ragged_count);
  }
  return variant;
}

/* --- tiles --- */

static LLVMValueRef emit_pointer(const PlanEmitter *emitter, const PlanPoint *point, const TileKernel *tile,
                                 int32_t buffer) {
  int32_t object = command_pointer_object(emitter->plan, tile, buffer);
  if (object == COMMAND_PARAMETERS) return LLVMConstNull(emitter->pointer);
  LLVMValueRef base = point->context[CONTEXT_BUFFER];
  if (object != COMMAND_BUFFER) {
    base = oncore_load_element(emitter, emitter->pointer, point->context[CONTEXT_OBJECTS], object);
  }
  return oncore_byte_pointer(emitter, base,
                             emit_index(emitter, point, &tile->space, tile->pointers[buffer].byte_offset));
}

static void emit_case(PlanEmitter *emitter, const PlanPoint *point, int32_t command, int32_t variant, LLVMValueRef room,
                      const VariantAction *action) {
  const TileKernel *tile = &emitter->commands[command].variants.variants[variant].tile;
  LLVMValueRef *pointers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, tile->kernel->buffer_count);
  for (int32_t b = 0; b < tile->kernel->buffer_count; b++) pointers[b] = emit_pointer(emitter, point, tile, b);
  for (int32_t p = 0; p < tile->parameter_count; p++) {
    oncore_store_element(emitter, emit_index(emitter, point, &tile->space, tile->parameters[p]), room, p);
  }
  action->emit(action->data, point, command, variant, pointers, room);
}

void plan_emit_instance(PlanEmitter *emitter, const PlanPoint *point, int32_t command, LLVMValueRef room,
                        const VariantAction *action) {
  LLVMBuilderRef builder = emitter->vec.builder;
  int32_t count = emitter->commands[command].variants.count;
  if (count == 1) {
    emit_case(emitter, point, command, 0, room, action);
    return;
  }
  LLVMValueRef variant = emit_variant(emitter, point, command);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(builder);
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(emitter->vec.context, point->function, "");
  LLVMBasicBlockRef *cases = ARENA_NEW_ARRAY(emitter->arena, LLVMBasicBlockRef, count);
  for (int32_t v = 0; v < count; v++) {
    cases[v] = LLVMAppendBasicBlockInContext(emitter->vec.context, point->function, "variant");
    LLVMPositionBuilderAtEnd(builder, cases[v]);
    emit_case(emitter, point, command, v, room, action);
    LLVMBuildBr(builder, behind);
  }
  LLVMPositionBuilderAtEnd(builder, start);
  LLVMValueRef choice = LLVMBuildSwitch(builder, variant, cases[0], (unsigned)count - 1);
  for (int32_t v = 1; v < count; v++) LLVMAddCase(choice, oncore_word(emitter, v), cases[v]);
  LLVMPositionBuilderAtEnd(builder, behind);
}

/* --- a command by itself --- */

static void emit_call(void *data, const PlanPoint *point, int32_t command, int32_t variant, LLVMValueRef *pointers,
                      LLVMValueRef parameters) {
  PlanEmitter *emitter = data;
  const TileKernel *tile = &emitter->commands[command].variants.variants[variant].tile;
  if (tile->parameter_buffer >= 0) pointers[tile->parameter_buffer] = parameters;
  int64_t part = emitter->plan->commands[command].queue * emitter->space->scratch_bytes_per_queue;
  LLVMValueRef scratch = oncore_byte_pointer(emitter, point->context[CONTEXT_SCRATCH], oncore_word(emitter, part));
  oncore_call_tile(emitter, tile->kernel, emitter->commands[command].tiles[variant], pointers, scratch);
}

LLVMValueRef plan_emit_command(PlanEmitter *emitter, int32_t number) {
  const CommandCode *code = &emitter->commands[number];
  LLVMTypeRef *types = ARENA_NEW_ARRAY(emitter->arena, LLVMTypeRef, code->loop_count + 1);
  types[0] = emitter->pointer;
  for (int32_t i = 0; i < code->loop_count; i++) types[i + 1] = emitter->word;
  StringView label = emitter->plan->commands[number].label;
  const char *name = arena_printf(emitter->arena, "%s.%.*s", emitter->name, SV_ARG(label));
  LLVMValueRef function =
      oncore_add_function(emitter, name, ONCORE_DRIVES_RUNS, emitter->none, types, (unsigned)code->loop_count + 1);
  LLVMValueRef room = plan_emit_room(emitter, plan_parameter_count(code));
  PlanPoint point = plan_point(emitter, function, LLVMGetParam(function, 0));
  for (int32_t i = 0; i < code->loop_count; i++) {
    point.iterations[code->loops[i]] = LLVMGetParam(function, (unsigned)i + 1);
  }
  VariantAction call = {emitter, emit_call};
  plan_emit_instance(emitter, &point, number, room, &call);
  LLVMBuildRetVoid(emitter->vec.builder);
  return function;
}
