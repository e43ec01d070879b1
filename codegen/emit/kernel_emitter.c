#include "codegen/emit/kernel_emitter.h"

#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction.h"
#include "codegen/blocks/sort.h"
#include "codegen/emit/emit_internal.h"
#include "codegen/emit/kernel_cost.h"

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

static int bound_buffer_count(const Kernel *kernel) {
  int count = 0;
  for (int b = 0; b < kernel->buffer_count; b++) count += kernel->buffers[b].role != KERNEL_SCRATCH;
  return count;
}

/* How the code of a Kernel is made. */
typedef struct Strategy {
  bool is_contraction, is_sort, is_transpose, is_unrolled;
  TransposePlan transpose;
  EmitPlan loops;
  PieceSplit split; /* of loops and transposes */
} Strategy;

static Strategy choose_strategy(const Kernel *kernel, const VecTarget *target, Arena *arena) {
  Strategy strategy = {.split = {.piece_count = 1, .dim = -1}};
  strategy.is_unrolled = kernel_is_unrolled(kernel);
  if (strategy.is_unrolled) {
    emit_plan_scalar(kernel, arena, &strategy.loops);
    return strategy;
  }
  strategy.is_transpose = transpose_plan_choose(kernel, target, arena, &strategy.transpose);
  if (!strategy.is_transpose) emit_plan_choose(kernel, target, arena, &strategy.loops);
  return strategy;
}

/* More chunks even out how fast threads are; those of contractions pack one of the factors each. */
enum { LOOP_CHUNKS_PER_WORKER = 4, CONTRACTION_CHUNKS_PER_WORKER = 2, SORT_CHUNKS_PER_WORKER = 2 };

static void choose_pieces(const Kernel *kernel, const VecTarget *target, Strategy *strategy, KernelCode *code) {
  PieceSplit split = strategy->split;
  int64_t most;
  if (strategy->is_contraction) {
    split.piece_count = contraction_piece_count(kernel, target, &most);
    code->chunks_per_worker = CONTRACTION_CHUNKS_PER_WORKER;
  } else if (strategy->is_sort) {
    split.piece_count = sort_piece_count(kernel, &most);
    code->chunks_per_worker = SORT_CHUNKS_PER_WORKER;
  } else {
    split =
        strategy->is_transpose ? transpose_split(kernel, &strategy->transpose) : nest_split(kernel, &strategy->loops);
    most = split.piece_count;
    code->chunks_per_worker = LOOP_CHUNKS_PER_WORKER;
  }
  code->chunk_limit = strategy->is_sort ? most : min_i64(kernel_chunk_limit(kernel, target), most);
  code->piece_count = 1;
  if (code->chunk_limit == 1) return;
  code->piece_count = split.piece_count;
  strategy->split = split;
}

LLVMValueRef emit_function(const VecBuilder *vec, const Kernel *kernel, const char *name, bool has_pieces,
                           Arena *arena) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0), index = LLVMInt64TypeInContext(vec->context);
  unsigned pointers = (unsigned)bound_buffer_count(kernel) + 1, count = pointers + (has_pieces ? 2 : 0);
  LLVMTypeRef *parameters = ARENA_NEW_ARRAY(arena, LLVMTypeRef, count);
  for (unsigned i = 0; i < count; i++) parameters[i] = i < pointers ? pointer : index;
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, count, false);
  LLVMValueRef function = LLVMAddFunction(vec->module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  static const char *const attributes[] = {"nounwind", "noinline"};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(vec->context, kind, 0));
  }
  return function;
}

static void emit_loops(KernelEmitter *emitter, const Strategy *strategy) {
  if (strategy->is_transpose) {
    emit_transpose(emitter, &strategy->transpose);
  } else {
    emit_nest(emitter);
  }
}

static KernelEmitter loop_emitter(const VecBuilder *vec, const Kernel *kernel, const Strategy *strategy,
                                  LLVMValueRef function, LLVMValueRef *buffers, Arena *arena) {
  KernelEmitter emitter = {.vec = vec,
                           .kernel = kernel,
                           .plan = strategy->loops,
                           .arena = arena,
                           .function = function,
                           .is_unrolled = strategy->is_unrolled,
                           .split = strategy->split};
  emitter.point = kernel_point(vec, kernel, function, buffers, arena);
  return emitter;
}

#define SCRATCH_ALIGNMENT 64

LLVMValueRef *emit_buffer_pointers(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, Arena *arena,
                                   LLVMValueRef *out_scratch, int64_t *out_scratch_bytes) {
  int bound = bound_buffer_count(kernel), next = 0;
  LLVMValueRef *parameters = ARENA_NEW_ARRAY(arena, LLVMValueRef, LLVMCountParams(function));
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(arena, LLVMValueRef, kernel->buffer_count);
  LLVMGetParams(function, parameters);
  *out_scratch = parameters[bound];
  for (int b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    if (buffer->role != KERNEL_SCRATCH) {
      buffers[b] = parameters[next++];
      continue;
    }
    LLVMValueRef offset =
        LLVMConstInt(LLVMInt64TypeInContext(vec->context), (unsigned long long)*out_scratch_bytes, false);
    buffers[b] = LLVMBuildInBoundsGEP2(vec->builder, LLVMInt8TypeInContext(vec->context), *out_scratch, &offset, 1, "");
    *out_scratch_bytes += align_up(buffer->element_count * type_storage_bytes(buffer->type), SCRATCH_ALIGNMENT);
  }
  return buffers;
}

#define TINY_POINTS 16
#define TINY_VALUES 64

/* Capped above TINY_POINTS. */
static int64_t point_count(const Kernel *kernel) {
  int64_t points = 1;
  for (int d = 0; d < kernel->dim_count && points <= TINY_POINTS; d++) points *= kernel->dims[d].extent;
  return points;
}

bool kernel_is_tiny(const Kernel *kernel) {
  return kernel->part_count == 0 && point_count(kernel) <= TINY_POINTS && kernel->value_count <= TINY_VALUES &&
         bound_buffer_count(kernel) == kernel->buffer_count && !sort_matches(kernel);
}

static bool has_only_cheap_values(const Kernel *kernel) {
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_APPLY) continue;
    VecOp op = kernel_vec_op(kernel, value);
    if (!vec_is_cheap(&op)) return false;
  }
  return true;
}

bool kernel_is_unrolled(const Kernel *kernel) {
  if (!kernel_is_tiny(kernel) || kernel->fold_count > 0 || point_count(kernel) > KERNEL_UNROLLED_POINTS) return false;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER) return false;
  }
  return point_count(kernel) == 1 || has_only_cheap_values(kernel);
}

Status kernel_emit_inline(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, LLVMValueRef *buffers,
                          LLVMValueRef **registers, DiagSink *diag) {
  RETURN_IF_ERROR(check_supported(kernel, diag));
  Arena *arena = arena_create();
  Strategy strategy = choose_strategy(kernel, vec->target, arena);
  KernelEmitter emitter = loop_emitter(vec, kernel, &strategy, function, buffers, arena);
  emitter.point.registers = registers;
  emit_loops(&emitter, &strategy);
  arena_destroy(arena);
  return STATUS_OK;
}

Status kernel_emit(const VecBuilder *vec, const Kernel *kernel, const char *name, DiagSink *diag,
                   KernelCode *out_code) {
  if (kernel->part_count > 0) return emit_tiles(vec, kernel, name, diag, out_code);
  RETURN_IF_ERROR(check_supported(kernel, diag));
  Arena *arena = arena_create();
  Strategy strategy = {.split = {.piece_count = 1, .dim = -1}};
  strategy.is_sort = sort_matches(kernel);
  strategy.is_contraction = !strategy.is_sort && contraction_matches(kernel, vec->target);
  bool has_loops = !strategy.is_sort && !strategy.is_contraction;
  if (has_loops) strategy = choose_strategy(kernel, vec->target, arena);
  *out_code = (KernelCode){0};
  choose_pieces(kernel, vec->target, &strategy, out_code);
  LLVMValueRef function = emit_function(vec, kernel, name, out_code->piece_count > 1, arena), scratch;
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, function, ""));
  LLVMValueRef *buffers = emit_buffer_pointers(vec, kernel, function, arena, &scratch, &out_code->scratch_bytes);
  KernelEmitter emitter = loop_emitter(vec, kernel, &strategy, function, buffers, arena);
  if (out_code->piece_count > 1) {
    unsigned first = LLVMCountParams(function) - 2;
    emitter.pieces = (IndexRange){LLVMGetParam(function, first), LLVMGetParam(function, first + 1)};
  }
  if (strategy.is_contraction) {
    out_code->scratch_bytes = contraction_scratch_bytes(kernel, vec->target);
    contraction_emit(vec, kernel, function, buffers, scratch, emitter.pieces.begin, emitter.pieces.end);
  } else if (strategy.is_sort) {
    out_code->scratch_bytes = sort_scratch_bytes(kernel);
    sort_emit(vec, kernel, function, buffers, scratch, emitter.pieces.begin, emitter.pieces.end);
  } else {
    emit_loops(&emitter, &strategy);
  }
  LLVMBuildRetVoid(vec->builder);
  LLVMClearInsertionPosition(vec->builder);
  arena_destroy(arena);
  out_code->function = function;
  return STATUS_OK;
}
