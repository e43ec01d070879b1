#include "codegen/emit/kernel_emitter.h"

#include "base/checked_math.h"
#include "codegen/blocks/contraction.h"
#include "codegen/blocks/sort.h"
#include "codegen/emit/emit_internal.h"
#include "codegen/emit/kernel_cost.h"
#include "codegen/ir/ir_function.h"
#include "codegen/ir/ir_plain.h"

static int bound_buffer_count(const Kernel *kernel) {
  return kernel->buffer_count - emit_row_count(kernel);
}

static Status check_supported(const Kernel *kernel, DiagSink *diag) {
  const HloInstruction *source = kernel->source;
  for (int b = 0; b < kernel->buffer_count; b++) {
    if (vec_type_supported(kernel->buffers[b].type)) continue;
    return diag_error(diag, STATUS_UNSUPPORTED, source->loc, "unsupported-type",
                      "'%.*s' works on %s, which has no code yet", SV_ARG(source->name),
                      type_text(kernel->buffers[b].type));
  }
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool supported = vec_type_supported(value->type);
    PrimitiveType operand_type = TYPE_INVALID;
    if (value->kind == KERNEL_APPLY) {
      VecOp op = kernel_vec_op(kernel, value);
      operand_type = op.operand_type;
      supported = vec_supports(&op);
    }
    if (supported) continue;
    return diag_error(diag, STATUS_UNSUPPORTED, source->loc, "unsupported-type",
                      "'%s' of %s has no code yet (in '%.*s')",
                      value->kind == KERNEL_APPLY ? hlo_opcode_text(value->opcode) : "value",
                      type_text(operand_type == TYPE_INVALID ? value->type : operand_type), SV_ARG(source->name));
  }
  return sort_matches(kernel) ? sort_check(kernel, diag) : STATUS_OK;
}

KernelCode emit_code(const KernelStrategy *strategy, LLVMValueRef function) {
  return (KernelCode){.function = function,
                      .scratch_bytes = strategy->scratch_bytes,
                      .piece_count = strategy->piece_count,
                      .chunk_limit = strategy->chunk_limit,
                      .chunks_per_worker = strategy->chunks_per_worker,
                      .phase_count = strategy->phase_count};
}

static KernelParameters kernel_code_parameters(int64_t piece_count, int64_t phase_count) {
  if (phase_count > 0) return KERNEL_PARAMETERS_PHASE;
  return piece_count > 1 ? KERNEL_PARAMETERS_PIECES : KERNEL_PARAMETERS_NONE;
}

void kernel_code_append_all(const VecBuilder *vec, const KernelCode *code, LLVMValueRef *arguments, unsigned *count) {
  LLVMValueRef none = ir_index(vec->context, 0);
  KernelParameters parameters = kernel_code_parameters(code->piece_count, code->phase_count);
  if (parameters == KERNEL_PARAMETERS_PIECES) {
    arguments[(*count)++] = none;
    arguments[(*count)++] = ir_index(vec->context, code->piece_count);
  } else if (parameters == KERNEL_PARAMETERS_PHASE) {
    arguments[(*count)++] = LLVMConstNull(LLVMPointerTypeInContext(vec->context, 0));
    for (int i = 0; i < 3; i++) arguments[(*count)++] = none;
  }
}

LLVMValueRef emit_function(const VecBuilder *vec, const Kernel *kernel, const char *name,
                           const KernelStrategy *strategy, Arena *arena) {
  static const unsigned counts[] = {[KERNEL_PARAMETERS_PIECES] = 2, [KERNEL_PARAMETERS_PHASE] = KERNEL_MOST_PARAMETERS};
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0), index = LLVMInt64TypeInContext(vec->context);
  KernelParameters more = kernel_code_parameters(strategy->piece_count, strategy->phase_count);
  unsigned pointers = (unsigned)bound_buffer_count(kernel) + 1, count = pointers + counts[more];
  if (more == KERNEL_PARAMETERS_PHASE) pointers++;
  LLVMTypeRef *parameters = ARENA_NEW_ARRAY(arena, LLVMTypeRef, count);
  for (unsigned i = 0; i < count; i++) parameters[i] = i < pointers ? pointer : index;
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, count, false);
  LLVMValueRef function = ir_function_add(vec->module, name, type, LLVMInternalLinkage);
  ir_function_mark(function, "noinline");
  return function;
}

/* Whether all of the buffers that are streamed to begin at a multiple of a register's size. */
static LLVMValueRef are_aligned(const KernelEmitter *emitter, const bool *streamed) {
  const VecBuilder *vec = emitter->vec;
  LLVMTypeRef index = LLVMInt64TypeInContext(vec->context);
  LLVMValueRef bits = LLVMConstNull(index);
  for (int b = 0; b < emitter->kernel->buffer_count; b++) {
    if (streamed[b])
      bits = LLVMBuildOr(vec->builder, bits, LLVMBuildPtrToInt(vec->builder, emitter->point.buffers[b], index, ""), "");
  }
  LLVMValueRef low = LLVMConstInt(index, (unsigned)vec->target->vector_bits / 8 - 1, false);
  LLVMValueRef rest = LLVMBuildAnd(vec->builder, bits, low, "");
  return LLVMBuildICmp(vec->builder, LLVMIntEQ, rest, LLVMConstNull(index), "");
}

static void emit_form(KernelEmitter *emitter, const KernelStrategy *strategy) {
  if (strategy->form == KERNEL_FORM_TRANSPOSE) {
    emit_transpose(emitter, &strategy->transpose);
  } else {
    emit_nest(emitter);
  }
}

/* The loops twice where they store past the caches, which must be aligned: so, and without. */
static void emit_loops(KernelEmitter *emitter, const KernelStrategy *strategy) {
  const VecBuilder *vec = emitter->vec;
  if (strategy->streamed == NULL) {
    emit_form(emitter, strategy);
    return;
  }
  LLVMBasicBlockRef past = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef through = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBuildCondBr(vec->builder, are_aligned(emitter, strategy->streamed), past, through);
  int64_t height = emitter->point.known.count;
  LLVMPositionBuilderAtEnd(vec->builder, past);
  emitter->point.streamed = strategy->streamed;
  emit_form(emitter, strategy);
  emitter->point.streamed = NULL;
  point_forget(&emitter->point, height);
  vec_store_fence(vec);
  LLVMBuildBr(vec->builder, after);
  LLVMPositionBuilderAtEnd(vec->builder, through);
  emit_form(emitter, strategy);
  point_forget(&emitter->point, height);
  LLVMBuildBr(vec->builder, after);
  LLVMPositionBuilderAtEnd(vec->builder, after);
}

static KernelEmitter loop_emitter(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy,
                                  LLVMValueRef function, LLVMValueRef *buffers, Arena *arena) {
  if (strategy->walked != NULL) kernel = strategy->walked;
  KernelEmitter emitter = {.vec = vec,
                           .kernel = kernel,
                           .loops = strategy->loops,
                           .arena = arena,
                           .function = function,
                           .is_unrolled = strategy->form == KERNEL_FORM_UNROLLED,
                           .split = strategy->split};
  emitter.point = kernel_point(vec, kernel, function, buffers, arena);
  return emitter;
}

LLVMValueRef *emit_buffer_pointers(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, Arena *arena,
                                   LLVMValueRef *out_scratch) {
  int bound = bound_buffer_count(kernel), next = 0;
  LLVMValueRef *parameters = ARENA_NEW_ARRAY(arena, LLVMValueRef, LLVMCountParams(function));
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(arena, LLVMValueRef, kernel->buffer_count);
  LLVMGetParams(function, parameters);
  *out_scratch = parameters[bound];
  for (int b = 0; b < kernel->buffer_count; b++) {
    if (kernel->buffers[b].role != KERNEL_SCRATCH) {
      buffers[b] = parameters[next++];
      continue;
    }
    int64_t place = emit_row_place(kernel, b);
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(vec->context), (unsigned long long)place, false);
    buffers[b] = LLVMBuildInBoundsGEP2(vec->builder, LLVMInt8TypeInContext(vec->context), *out_scratch, &offset, 1, "");
  }
  return buffers;
}

Status kernel_emit_inline(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy,
                          LLVMValueRef function, LLVMValueRef *buffers, LLVMValueRef **registers, DiagSink *diag) {
  RETURN_IF_ERROR(check_supported(kernel, diag));
  Arena *arena = arena_create();
  KernelEmitter emitter = loop_emitter(vec, kernel, strategy, function, buffers, arena);
  emitter.point.registers = registers;
  emit_loops(&emitter, strategy);
  arena_destroy(arena);
  return STATUS_OK;
}

/* What a call of a function whose |strategy| has phases does. */
static PhaseShare phase_share(const KernelEmitter *emitter, const KernelStrategy *strategy) {
  PhaseShare share = {0};
  if (strategy->phase_count == 0) return share;
  LLVMValueRef *const places[] = {&share.further, &share.phase, &share.chunk, &share.chunks};
  unsigned first = LLVMCountParams(emitter->function) - KERNEL_MOST_PARAMETERS;
  for (unsigned i = 0; i < KERNEL_MOST_PARAMETERS; i++) *places[i] = LLVMGetParam(emitter->function, first + i);
  return share;
}

/* A Kernel is short below this many cycles, some 60 us: compiling it takes longer than running it a hundred times. */
#define SHORT_CYCLES ((double)(1 << 18))

/* Marks the functions after |last|, which are the Kernel's, or takes marks of its parts away.  Parts of a product that
 * only move what it takes and makes are a small share of its time. */
static void mark_functions(const VecBuilder *vec, const KernelStrategy *strategy, LLVMValueRef last) {
  bool has_moves = (strategy->form == KERNEL_FORM_CONTRACTION || strategy->form == KERNEL_FORM_WINOGRAD) &&
                   vec->target->has_avx2_fma;
  LLVMValueRef function = last == NULL ? LLVMGetFirstFunction(vec->module) : LLVMGetNextFunction(last);
  for (; function != NULL; function = LLVMGetNextFunction(function)) {
    bool moves =
        has_moves && !LLVMIsDeclaration(function) && ir_function_settle_moves(function, vec->target->vector_bits);
    ir_function_set_short(function, !vec->takes_long || moves);
  }
}

static Status emit_kernel(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy, const char *name,
                          DiagSink *diag, KernelCode *out_code) {
  if (strategy->form == KERNEL_FORM_TILES) return emit_tiles(vec, kernel, strategy, name, diag, out_code);
  RETURN_IF_ERROR(check_supported(kernel, diag));
  Arena *arena = arena_create();
  LLVMValueRef function = emit_function(vec, kernel, name, strategy, arena), scratch;
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, function, ""));
  LLVMValueRef *buffers = emit_buffer_pointers(vec, kernel, function, arena, &scratch);
  KernelEmitter emitter = loop_emitter(vec, kernel, strategy, function, buffers, arena);
  emitter.scratch = scratch;
  if (strategy->piece_count > 1) {
    unsigned first = LLVMCountParams(function) - 2;
    emitter.pieces = (IndexRange){LLVMGetParam(function, first), LLVMGetParam(function, first + 1)};
  }
  PhaseShare share = phase_share(&emitter, strategy);
  if (strategy->form == KERNEL_FORM_CONTRACTION) {
    contraction_emit(vec, kernel, strategy->contraction, function, buffers, scratch, emitter.pieces);
  } else if (strategy->form == KERNEL_FORM_WINOGRAD) {
    winograd_emit(vec, kernel, strategy->winograd, function, buffers, scratch, &share);
  } else if (strategy->form == KERNEL_FORM_SORT) {
    sort_emit(vec, kernel, function, buffers, scratch, emitter.pieces, &share);
  } else {
    emit_loops(&emitter, strategy);
  }
  LLVMBuildRetVoid(vec->builder);
  LLVMClearInsertionPosition(vec->builder);
  bool is_nest = !kernel_form_is_block(strategy->form);
  if (is_nest && vec->target->selects_singly) ir_function_settle_plain(function, vec->target->vector_bits);
  arena_destroy(arena);
  *out_code = emit_code(strategy, function);
  return STATUS_OK;
}

Status kernel_emit(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy, const char *name,
                   DiagSink *diag, KernelCode *out_code) {
  LLVMValueRef last = LLVMGetLastFunction(vec->module);
  VecBuilder own = *vec;
  own.takes_long = kernel_cycles(kernel, vec->target) >= SHORT_CYCLES;
  RETURN_IF_ERROR(emit_kernel(&own, kernel, strategy, name, diag, out_code));
  mark_functions(&own, strategy, last);
  return STATUS_OK;
}

void kernel_declare(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy, const char *name,
                    KernelCode *out_code) {
  Arena *arena = arena_create();
  LLVMValueRef function = emit_function(vec, kernel, name, strategy, arena);
  ir_function_share(function);
  *out_code = emit_code(strategy, function);
  arena_destroy(arena);
}
