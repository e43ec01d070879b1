/* Kernels shared out among threads.
 *
 * What a call would pass stands in an array on the stack, the context of XlacRunOptions.parallel_for; the body, which
 * Kernels with as many pointers have in common, takes it apart again and does one chunk: pieces [index * pieces /
 * chunks, (index + 1) * pieces / chunks).  Where the caller gave no threads, all pieces are one chunk; phases are done
 * together by the Kernel then.  How many chunks there are may depend on the number of workers, since results do not
 * depend on the chunks. */
#include <stddef.h>

#include "base/checked_math.h"
#include "codegen/emit/control_internal.h"
#include "codegen/ir/ir_function.h"
#include "xlac/abi.h"

#define SLOT_BYTES 8
enum {
  CHUNK_COUNT_SLOT,
  FURTHER_SCRATCH_SLOT,
  SCRATCH_BYTES_SLOT, /* of a worker */
  PHASE_SLOT,
  FUNCTION_SLOT, /* of the Kernel */
  PIECE_COUNT_SLOT,
  FIRST_POINTER_SLOT
};

typedef struct ParallelTypes {
  LLVMTypeRef pointer, index, flag;
  LLVMTypeRef start; /* of xlac.parallel_for */
  LLVMTypeRef body;
  LLVMTypeRef parallel_for; /* of the caller */
} ParallelTypes;

static ParallelTypes parallel_types(LLVMContextRef context) {
  ParallelTypes types = {.pointer = LLVMPointerTypeInContext(context, 0),
                         .index = LLVMInt64TypeInContext(context),
                         .flag = LLVMInt1TypeInContext(context)};
  LLVMTypeRef none = LLVMVoidTypeInContext(context);
  LLVMTypeRef start[] = {types.pointer, types.pointer, types.pointer, types.index, types.index};
  types.start = LLVMFunctionType(types.flag, start, 5, false);
  types.body = LLVMFunctionType(none, (LLVMTypeRef[]){types.pointer, types.index, types.index}, 3, false);
  types.parallel_for = LLVMFunctionType(none, start, 4, false);
  return types;
}

static LLVMValueRef slot_pointer(const VecBuilder *vec, LLVMValueRef base, size_t offset) {
  LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(vec->context), offset, false);
  return LLVMBuildInBoundsGEP2(vec->builder, LLVMInt8TypeInContext(vec->context), base, &index, 1, "");
}

static LLVMValueRef load_at(const VecBuilder *vec, LLVMTypeRef type, LLVMValueRef base, size_t offset) {
  return LLVMBuildLoad2(vec->builder, type, slot_pointer(vec, base, offset), "");
}

static LLVMValueRef add_internal_function(const VecBuilder *vec, LLVMTypeRef type, const char *name) {
  LLVMValueRef function = ir_function_add(vec->module, name, type, LLVMInternalLinkage);
  ir_function_leave_plain(function);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, function, ""));
  return function;
}

static LLVMBasicBlockRef add_block(const VecBuilder *vec, LLVMValueRef function) {
  return LLVMAppendBasicBlockInContext(vec->context, function, "");
}

/* --- whether the caller has threads --- */

/* As many chunks of |count| as all workers do in whole rounds: in another round most would wait for a few. */
static LLVMValueRef whole_rounds(const VecBuilder *vec, LLVMValueRef count, LLVMValueRef workers) {
  LLVMValueRef rest = LLVMBuildURem(vec->builder, count, workers, "");
  LLVMValueRef is_less = LLVMBuildICmp(vec->builder, LLVMIntSLT, count, workers, "");
  return LLVMBuildSelect(vec->builder, is_less, count, LLVMBuildSub(vec->builder, count, rest, ""), "");
}

/* What is done where the caller gave no threads: all pieces as one chunk, or nothing. */
static void end_alone(const VecBuilder *vec, const ParallelTypes *types, LLVMValueRef function, bool has_phases) {
  LLVMValueRef context = LLVMGetParam(function, 2), none = LLVMConstNull(types->index);
  if (!has_phases) {
    LLVMBuildStore(vec->builder, LLVMConstInt(types->index, 1, false),
                   slot_pointer(vec, context, CHUNK_COUNT_SLOT * SLOT_BYTES));
    LLVMBuildCall2(vec->builder, types->body, LLVMGetParam(function, 1), (LLVMValueRef[]){context, none, none}, 3, "");
  }
  LLVMBuildRet(vec->builder, LLVMConstInt(types->flag, !has_phases, false));
}

/* i1 xlac.parallel_for(options, body, context, most chunks, chunks per worker), and xlac.parallel_phase of Kernels that
 * have phases: false where nothing is done. */
static LLVMValueRef start_function(const VecBuilder *control_vec, const ParallelTypes *types, bool has_phases) {
  const char *name = has_phases ? "xlac.parallel_phase" : "xlac.parallel_for";
  LLVMValueRef function = LLVMGetNamedFunction(control_vec->module, name);
  if (function != NULL) return function;
  VecBuilder vec = *control_vec;
  LLVMBuilderRef builder = vec.builder = LLVMCreateBuilderInContext(vec.context);
  function = add_internal_function(&vec, types->start, name);
  LLVMValueRef options = LLVMGetParam(function, 0), context = LLVMGetParam(function, 2);
  LLVMBasicBlockRef given = add_block(&vec, function), shared = add_block(&vec, function);
  LLVMBasicBlockRef alone = add_block(&vec, function);
  LLVMBuildCondBr(builder, LLVMBuildIsNull(builder, options, ""), alone, given);
  LLVMPositionBuilderAtEnd(builder, given);
  LLVMValueRef parallel_for = load_at(&vec, types->pointer, options, offsetof(XlacRunOptions, parallel_for));
  LLVMValueRef workers = load_at(&vec, types->index, options, offsetof(XlacRunOptions, worker_count));
  LLVMValueRef is_several = LLVMBuildICmp(builder, LLVMIntSGT, workers, LLVMConstInt(types->index, 1, false), "");
  LLVMValueRef is_given = LLVMBuildIsNotNull(builder, parallel_for, "");
  LLVMBuildCondBr(builder, LLVMBuildAnd(builder, is_given, is_several, ""), shared, alone);
  LLVMPositionBuilderAtEnd(builder, shared);
  LLVMValueRef most = LLVMGetParam(function, 3);
  LLVMValueRef wanted = LLVMBuildMul(builder, workers, LLVMGetParam(function, 4), "");
  LLVMValueRef is_fewer = LLVMBuildICmp(builder, LLVMIntSLT, wanted, most, "");
  LLVMValueRef count = whole_rounds(&vec, LLVMBuildSelect(builder, is_fewer, wanted, most, ""), workers);
  LLVMBuildStore(builder, count, slot_pointer(&vec, context, CHUNK_COUNT_SLOT * SLOT_BYTES));
  LLVMValueRef user_data = load_at(&vec, types->pointer, options, offsetof(XlacRunOptions, user_data));
  LLVMValueRef arguments[] = {user_data, LLVMGetParam(function, 1), context, count};
  LLVMBuildCall2(builder, types->parallel_for, parallel_for, arguments, 4, "");
  LLVMBuildRet(builder, LLVMConstInt(types->flag, 1, false));
  LLVMPositionBuilderAtEnd(builder, alone);
  end_alone(&vec, types, function, has_phases);
  LLVMDisposeBuilder(builder);
  return function;
}

/* --- the body --- */

/* The first piece of chunk |chunk|. */
static LLVMValueRef chunk_begin(const VecBuilder *vec, LLVMValueRef chunk, LLVMValueRef pieces, LLVMValueRef chunks) {
  return LLVMBuildUDiv(vec->builder, LLVMBuildMul(vec->builder, chunk, pieces, ""), chunks, "");
}

/* Thread 0 has the place that was planned, |first|; the others have theirs after the workspace. */
static LLVMValueRef own_scratch(const VecBuilder *vec, const ParallelTypes *types, LLVMValueRef context,
                                LLVMValueRef worker, LLVMValueRef first) {
  LLVMValueRef further = load_at(vec, types->pointer, context, FURTHER_SCRATCH_SLOT * SLOT_BYTES);
  LLVMValueRef bytes = load_at(vec, types->index, context, SCRATCH_BYTES_SLOT * SLOT_BYTES);
  LLVMValueRef number = LLVMBuildSub(vec->builder, worker, LLVMConstInt(types->index, 1, false), "");
  LLVMValueRef offset = LLVMBuildMul(vec->builder, number, bytes, "");
  LLVMValueRef own = LLVMBuildGEP2(vec->builder, LLVMInt8TypeInContext(vec->context), further, &offset, 1, "");
  LLVMValueRef is_first = LLVMBuildIsNull(vec->builder, worker, "");
  return LLVMBuildSelect(vec->builder, is_first, first, own, "");
}

/* The pieces of chunk |chunk|, with scratch of the worker's own. */
static void append_pieces(const VecBuilder *vec, const ParallelTypes *types, bool has_scratch, LLVMValueRef body,
                          LLVMValueRef chunks, LLVMValueRef *arguments, unsigned pointers) {
  LLVMValueRef context = LLVMGetParam(body, 0), chunk = LLVMGetParam(body, 1), worker = LLVMGetParam(body, 2);
  LLVMValueRef *scratch = &arguments[pointers - 1];
  if (has_scratch) *scratch = own_scratch(vec, types, context, worker, *scratch);
  LLVMValueRef pieces = load_at(vec, types->index, context, PIECE_COUNT_SLOT * SLOT_BYTES);
  LLVMValueRef next = LLVMBuildAdd(vec->builder, chunk, LLVMConstInt(types->index, 1, false), "");
  arguments[pointers] = chunk_begin(vec, chunk, pieces, chunks);
  arguments[pointers + 1] = chunk_begin(vec, next, pieces, chunks);
}

/* The phase that the context names, and the chunk, whoever does it. */
static void append_phase(const VecBuilder *vec, const ParallelTypes *types, LLVMValueRef body, LLVMValueRef chunks,
                         LLVMValueRef *arguments, unsigned pointers) {
  LLVMValueRef context = LLVMGetParam(body, 0);
  arguments[pointers] = load_at(vec, types->pointer, context, FURTHER_SCRATCH_SLOT * SLOT_BYTES);
  arguments[pointers + 1] = load_at(vec, types->index, context, PHASE_SLOT * SLOT_BYTES);
  arguments[pointers + 2] = LLVMGetParam(body, 1);
  arguments[pointers + 3] = chunks;
}

/* Kernels that take the same have one body. */
static LLVMValueRef chunk_body(ControlEmitter *control, const KernelCode *code) {
  VecBuilder vec = *control->vec;
  ParallelTypes types = parallel_types(vec.context);
  bool has_phases = code->phase_count > 0, has_scratch = code->scratch_bytes > 0;
  unsigned count = LLVMCountParams(code->function), pointers = count - (has_phases ? KERNEL_MOST_PARAMETERS : 2);
  const char *kind = has_phases ? ".phase" : has_scratch ? ".scratch" : "";
  const char *name = arena_printf(control->arena, "xlac.chunk%s.%u", kind, pointers);
  LLVMValueRef body = LLVMGetNamedFunction(vec.module, name);
  if (body != NULL) return body;
  vec.builder = LLVMCreateBuilderInContext(vec.context);
  body = add_internal_function(&vec, types.body, name);
  LLVMValueRef context = LLVMGetParam(body, 0);
  LLVMValueRef mode = vec_flush_begin(&vec);
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, count);
  for (unsigned i = 0; i < pointers; i++)
    arguments[i] = load_at(&vec, types.pointer, context, (FIRST_POINTER_SLOT + i) * SLOT_BYTES);
  LLVMValueRef chunks = load_at(&vec, types.index, context, CHUNK_COUNT_SLOT * SLOT_BYTES);
  if (has_phases)
    append_phase(&vec, &types, body, chunks, arguments, pointers);
  else
    append_pieces(&vec, &types, has_scratch, body, chunks, arguments, pointers);
  LLVMValueRef kernel = load_at(&vec, types.pointer, context, FUNCTION_SLOT * SLOT_BYTES);
  LLVMBuildCall2(vec.builder, LLVMGlobalGetValueType(code->function), kernel, arguments, count, "");
  vec_flush_end(&vec, mode);
  LLVMBuildRetVoid(vec.builder);
  LLVMDisposeBuilder(vec.builder);
  return body;
}

/* --- the call --- */

/* One context for all calls of the control function, one after the other; |slots| at least. */
static LLVMValueRef context_slots(ControlEmitter *control, unsigned slots) {
  if (slots <= control->context_slots) return control->context;
  const VecBuilder *vec = control->vec;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(vec->builder), entry = LLVMGetEntryBasicBlock(control->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first != NULL) LLVMPositionBuilderBefore(vec->builder, first);
  LLVMTypeRef type = LLVMArrayType2(LLVMInt64TypeInContext(vec->context), slots);
  LLVMValueRef context = LLVMBuildAlloca(vec->builder, type, "");
  LLVMPositionBuilderAtEnd(vec->builder, here);
  if (control->context != NULL) {
    LLVMReplaceAllUsesWith(control->context, context);
    LLVMInstructionEraseFromParent(control->context);
  }
  control->context = context;
  control->context_slots = slots;
  return context;
}

static void set_slot(const VecBuilder *vec, LLVMValueRef context, unsigned slot, LLVMValueRef value) {
  LLVMBuildStore(vec->builder, value, slot_pointer(vec, context, slot * SLOT_BYTES));
}

static LLVMValueRef start(const VecBuilder *vec, const ParallelTypes *types, bool has_phases, LLVMValueRef *arguments) {
  return LLVMBuildCall2(vec->builder, types->start, start_function(vec, types, has_phases), arguments, 5, "");
}

/* One phase after the other, each begun when the one before is done, all in as many chunks; without threads all at once
 * by the Kernel itself. */
static void call_phases(ControlEmitter *control, const KernelCode *code, LLVMValueRef *start_arguments,
                        LLVMValueRef *arguments, unsigned count) {
  const VecBuilder *vec = control->vec;
  ParallelTypes types = parallel_types(vec->context);
  set_slot(vec, start_arguments[2], PHASE_SLOT, LLVMConstNull(types.index));
  LLVMValueRef is_done = start(vec, &types, true, start_arguments);
  LLVMBasicBlockRef alone = add_block(vec, control->function), behind = add_block(vec, control->function);
  LLVMBasicBlockRef further = code->phase_count > 1 ? add_block(vec, control->function) : behind;
  LLVMBuildCondBr(vec->builder, is_done, further, alone);
  if (further != behind) {
    LLVMPositionBuilderAtEnd(vec->builder, further);
    for (int64_t phase = 1; phase < code->phase_count; phase++) {
      set_slot(vec, start_arguments[2], PHASE_SLOT, LLVMConstInt(types.index, (unsigned long long)phase, false));
      start(vec, &types, true, start_arguments);
    }
    LLVMBuildBr(vec->builder, behind);
  }
  LLVMPositionBuilderAtEnd(vec->builder, alone);
  kernel_code_append_all(vec, code, arguments, &count);
  LLVMBuildCall2(vec->builder, LLVMGlobalGetValueType(code->function), code->function, arguments, count, "");
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}

void control_call_shared(ControlEmitter *control, const KernelCode *code, LLVMValueRef *arguments, unsigned count) {
  const VecBuilder *vec = control->vec;
  ParallelTypes types = parallel_types(vec->context);
  LLVMValueRef context = context_slots(control, FIRST_POINTER_SLOT + count);
  for (unsigned i = 0; i < count; i++) set_slot(vec, context, FIRST_POINTER_SLOT + i, arguments[i]);
  set_slot(vec, context, FUNCTION_SLOT, code->function);
  if (code->scratch_bytes > 0) {
    set_slot(vec, context, FURTHER_SCRATCH_SLOT, control_further_scratch(control));
    int64_t each = align_up(code->scratch_bytes, KERNEL_SCRATCH_ALIGNMENT);
    LLVMValueRef bytes = LLVMConstInt(types.index, (unsigned long long)each, false);
    set_slot(vec, context, SCRATCH_BYTES_SLOT, bytes);
  }
  LLVMValueRef most = LLVMConstInt(types.index, (unsigned long long)code->chunk_limit, false);
  LLVMValueRef each = LLVMConstInt(types.index, (unsigned long long)code->chunks_per_worker, false);
  LLVMValueRef start_arguments[] = {LLVMGetParam(control->function, 3), chunk_body(control, code), context, most, each};
  if (code->phase_count > 0) {
    call_phases(control, code, start_arguments, arguments, count);
    return;
  }
  LLVMValueRef pieces = LLVMConstInt(types.index, (unsigned long long)code->piece_count, false);
  set_slot(vec, context, PIECE_COUNT_SLOT, pieces);
  start(vec, &types, false, start_arguments);
}
