/* Kernels shared out among threads.
 *
 * What a call would pass stands in an array on the stack, the context of XlacRunOptions.parallel_for; the body of a
 * Kernel takes it apart again and does one chunk: pieces [index * pieces / chunks, (index + 1) * pieces / chunks).
 * Where the caller gave no threads, the Kernel is called as ever, for all of its pieces.  How many chunks there are may
 * depend on the number of workers, since results do not depend on the chunks. */
#include <stddef.h>

#include "base/checked_math.h"
#include "codegen/emit/control_internal.h"
#include "codegen/ir/ir_function.h"
#include "xlac/abi.h"

#define SLOT_BYTES 8
enum { CHUNK_COUNT_SLOT, FURTHER_SCRATCH_SLOT, PHASE_SLOT, FIRST_POINTER_SLOT };

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

/* i1 xlac.parallel_for(options, body, context, most chunks, chunks per worker): false where the caller gave no threads,
 * and nothing is done then. */
static LLVMValueRef start_function(const VecBuilder *control_vec, const ParallelTypes *types) {
  static const char name[] = "xlac.parallel_for";
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
  LLVMBuildRet(builder, LLVMConstInt(types->flag, 0, false));
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
                                LLVMValueRef worker, LLVMValueRef first, int64_t bytes) {
  LLVMValueRef further = load_at(vec, types->pointer, context, FURTHER_SCRATCH_SLOT * SLOT_BYTES);
  LLVMValueRef number = LLVMBuildSub(vec->builder, worker, LLVMConstInt(types->index, 1, false), "");
  LLVMValueRef offset =
      LLVMBuildMul(vec->builder, number, LLVMConstInt(types->index, (unsigned long long)bytes, false), "");
  LLVMValueRef own = LLVMBuildGEP2(vec->builder, LLVMInt8TypeInContext(vec->context), further, &offset, 1, "");
  LLVMValueRef is_first = LLVMBuildIsNull(vec->builder, worker, "");
  return LLVMBuildSelect(vec->builder, is_first, first, own, "");
}

/* The pieces of chunk |chunk|, with scratch of the worker's own. */
static void append_pieces(const VecBuilder *vec, const ParallelTypes *types, const KernelCode *code, LLVMValueRef body,
                          LLVMValueRef chunks, LLVMValueRef *arguments, unsigned pointers) {
  LLVMValueRef context = LLVMGetParam(body, 0), chunk = LLVMGetParam(body, 1), worker = LLVMGetParam(body, 2);
  LLVMValueRef *scratch = &arguments[pointers - 1];
  if (code->scratch_bytes > 0) *scratch = own_scratch(vec, types, context, worker, *scratch, code->scratch_bytes);
  LLVMValueRef pieces = LLVMConstInt(types->index, (unsigned long long)code->piece_count, false);
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

LLVMValueRef control_parallel_body(ControlEmitter *control, const KernelCode *code, const char *name) {
  VecBuilder vec = *control->vec;
  vec.builder = LLVMCreateBuilderInContext(vec.context);
  ParallelTypes types = parallel_types(vec.context);
  LLVMValueRef body = add_internal_function(&vec, types.body, name);
  LLVMValueRef context = LLVMGetParam(body, 0);
  LLVMValueRef mode = vec_flush_begin(&vec);
  bool has_phases = code->phase_count > 0;
  unsigned count = LLVMCountParams(code->function), pointers = count - (has_phases ? KERNEL_MOST_PARAMETERS : 2);
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, count);
  for (unsigned i = 0; i < pointers; i++)
    arguments[i] = load_at(&vec, types.pointer, context, (FIRST_POINTER_SLOT + i) * SLOT_BYTES);
  LLVMValueRef chunks = load_at(&vec, types.index, context, CHUNK_COUNT_SLOT * SLOT_BYTES);
  if (has_phases)
    append_phase(&vec, &types, body, chunks, arguments, pointers);
  else
    append_pieces(&vec, &types, code, body, chunks, arguments, pointers);
  LLVMBuildCall2(vec.builder, LLVMGlobalGetValueType(code->function), code->function, arguments, count, "");
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

/* Phases after the first, each begun when the one before is done; all have as many chunks. */
static void call_further_phases(const VecBuilder *vec, const ParallelTypes *types, int64_t phases,
                                LLVMValueRef *start) {
  for (int64_t phase = 1; phase < phases; phase++) {
    LLVMValueRef number = LLVMConstInt(types->index, (unsigned long long)phase, false);
    LLVMBuildStore(vec->builder, number, slot_pointer(vec, start[2], PHASE_SLOT * SLOT_BYTES));
    LLVMBuildCall2(vec->builder, types->start, start_function(vec, types), start, 5, "");
  }
}

void control_call_shared(ControlEmitter *control, const ControlKernel *kernel, LLVMValueRef *arguments,
                         unsigned count) {
  const VecBuilder *vec = control->vec;
  const KernelCode *code = &kernel->code;
  ParallelTypes types = parallel_types(vec->context);
  LLVMValueRef context = context_slots(control, FIRST_POINTER_SLOT + count);
  for (unsigned i = 0; i < count; i++)
    LLVMBuildStore(vec->builder, arguments[i], slot_pointer(vec, context, (FIRST_POINTER_SLOT + i) * SLOT_BYTES));
  if (code->scratch_bytes > 0)
    LLVMBuildStore(vec->builder, control_further_scratch(control),
                   slot_pointer(vec, context, FURTHER_SCRATCH_SLOT * SLOT_BYTES));
  if (code->phase_count > 0)
    LLVMBuildStore(vec->builder, LLVMConstNull(types.index), slot_pointer(vec, context, PHASE_SLOT * SLOT_BYTES));
  LLVMValueRef most = LLVMConstInt(types.index, (unsigned long long)code->chunk_limit, false);
  LLVMValueRef each = LLVMConstInt(types.index, (unsigned long long)code->chunks_per_worker, false);
  LLVMValueRef start[] = {LLVMGetParam(control->function, 3), kernel->body, context, most, each};
  LLVMValueRef is_done = LLVMBuildCall2(vec->builder, types.start, start_function(vec, &types), start, 5, "");
  LLVMBasicBlockRef alone = add_block(vec, control->function), behind = add_block(vec, control->function);
  LLVMBasicBlockRef further = code->phase_count > 1 ? add_block(vec, control->function) : behind;
  LLVMBuildCondBr(vec->builder, is_done, further, alone);
  if (further != behind) {
    LLVMPositionBuilderAtEnd(vec->builder, further);
    call_further_phases(vec, &types, code->phase_count, start);
    LLVMBuildBr(vec->builder, behind);
  }
  LLVMPositionBuilderAtEnd(vec->builder, alone);
  kernel_code_append_all(vec, code, arguments, &count);
  LLVMBuildCall2(vec->builder, LLVMGlobalGetValueType(code->function), code->function, arguments, count, "");
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}
