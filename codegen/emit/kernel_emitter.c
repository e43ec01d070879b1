#include "codegen/emit/kernel_emitter.h"

#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction.h"
#include "codegen/emit/emit_internal.h"

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
  return STATUS_OK;
}

static int bound_buffer_count(const Kernel *kernel) {
  int count = 0;
  for (int b = 0; b < kernel->buffer_count; b++) count += kernel->buffers[b].role != KERNEL_SCRATCH;
  return count;
}

static LLVMValueRef add_function(const VecBuilder *vec, const Kernel *kernel, const char *name, Arena *arena) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0);
  unsigned count = (unsigned)bound_buffer_count(kernel) + 1;
  LLVMTypeRef *parameters = ARENA_NEW_ARRAY(arena, LLVMTypeRef, count);
  for (unsigned i = 0; i < count; i++) parameters[i] = pointer;
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

static void emit_loops(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, LLVMValueRef *buffers,
                       LLVMValueRef **registers, Arena *arena) {
  KernelEmitter emitter = {.vec = vec, .kernel = kernel, .arena = arena, .function = function};
  emitter.point = kernel_point(vec, kernel, function, buffers, arena);
  emitter.point.registers = registers;
  emitter.is_unrolled = kernel_is_unrolled(kernel);
  TransposePlan transpose;
  if (!emitter.is_unrolled && transpose_plan_choose(kernel, vec->target, arena, &transpose)) {
    emit_transpose(&emitter, &transpose);
    return;
  }
  if (emitter.is_unrolled) {
    emit_plan_scalar(kernel, arena, &emitter.plan);
  } else {
    emit_plan_choose(kernel, vec->target, arena, &emitter.plan);
  }
  emit_nest(&emitter);
}

#define SCRATCH_ALIGNMENT 64

/* Pointers of all buffers: parameters of the function, or places in its scratch. */
static LLVMValueRef *buffer_pointers(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, Arena *arena,
                                     LLVMValueRef *out_scratch, int64_t *out_scratch_bytes) {
  int bound = bound_buffer_count(kernel), next = 0;
  LLVMValueRef *parameters = ARENA_NEW_ARRAY(arena, LLVMValueRef, bound + 1);
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
  return point_count(kernel) <= TINY_POINTS && kernel->value_count <= TINY_VALUES &&
         bound_buffer_count(kernel) == kernel->buffer_count;
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
  emit_loops(vec, kernel, function, buffers, registers, arena);
  arena_destroy(arena);
  return STATUS_OK;
}

Status kernel_emit(const VecBuilder *vec, const Kernel *kernel, const char *name, DiagSink *diag,
                   LLVMValueRef *out_function, int64_t *out_scratch_bytes) {
  RETURN_IF_ERROR(check_supported(kernel, diag));
  Arena *arena = arena_create();
  LLVMValueRef function = add_function(vec, kernel, name, arena), scratch;
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, function, ""));
  *out_scratch_bytes = 0;
  LLVMValueRef *buffers = buffer_pointers(vec, kernel, function, arena, &scratch, out_scratch_bytes);
  if (contraction_matches(kernel, vec->target)) {
    *out_scratch_bytes = contraction_scratch_bytes(kernel, vec->target);
    contraction_emit(vec, kernel, function, buffers, scratch);
  } else {
    emit_loops(vec, kernel, function, buffers, NULL, arena);
  }
  LLVMBuildRetVoid(vec->builder);
  LLVMClearInsertionPosition(vec->builder);
  arena_destroy(arena);
  *out_function = function;
  return STATUS_OK;
}
