/* The function of a sort: line by line, records are made, sorted, and followed by the elements. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"
#include "codegen/kernel/kernel_builder.h"

#define SCRATCH_ALIGNMENT 64

static LLVMTypeRef integer_type(const VecBuilder *vec, int64_t bits) {
  return LLVMIntTypeInContext(vec->context, (unsigned)bits);
}

/* Complex numbers need the alignment of their parts only. */
static unsigned element_alignment(LLVMTypeRef type) {
  unsigned bytes = LLVMGetIntTypeWidth(type) / 8;
  return bytes <= 4 ? bytes : 4;
}

static LLVMValueRef add_function(const VecBuilder *vec, const char *name, int pointers, Arena *arena) {
  LLVMTypeRef *parameters = ARENA_NEW_ARRAY(arena, LLVMTypeRef, pointers + 2);
  for (int i = 0; i < pointers; i++) parameters[i] = LLVMPointerTypeInContext(vec->context, 0);
  parameters[pointers] = parameters[pointers + 1] = integer_type(vec, 64);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, (unsigned)pointers + 2, false);
  LLVMValueRef function = LLVMAddFunction(vec->module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(vec->context, nounwind, 0));
  return function;
}

static SortArray array_of(const SortEmitter *emitter, const Shape *shape, int64_t dimension, LLVMValueRef base) {
  int64_t *strides = ARENA_NEW_ARRAY(emitter->arena, int64_t, shape->rank + 1);
  shape_strides(shape, strides);
  return (SortArray){base, base, strides[dimension], integer_type(emitter->vec, 8 * type_storage_bytes(shape->type))};
}

static const Shape *result_shape(const HloInstruction *sort, int index) {
  return shape_is_tuple(sort->shape) ? sort->shape->tuple[index] : sort->shape;
}

static int64_t sorted_dimension(const HloInstruction *sort) {
  return hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
}

static void bind_arrays(SortEmitter *emitter) {
  const HloInstruction *sort = emitter->sort;
  int count = sort->operand_count;
  emitter->operands = ARENA_NEW_ARRAY(emitter->arena, SortArray, count);
  emitter->results = ARENA_NEW_ARRAY(emitter->arena, SortArray, count);
  for (int i = 0; i < count; i++) {
    emitter->operands[i] = array_of(emitter, sort->operands[i]->shape, sorted_dimension(sort),
                                    LLVMGetParam(emitter->function, (unsigned)i));
    emitter->results[i] = array_of(emitter, result_shape(sort, i), sorted_dimension(sort),
                                   LLVMGetParam(emitter->function, (unsigned)(count + i)));
  }
}

/* The first element of line number |line|, lines being counted in row-major order of the other dimensions. */
static void move_to_line(const SortEmitter *emitter, SortArray *array, const Shape *shape, LLVMValueRef line) {
  LLVMBuilderRef b = emitter->vec->builder;
  int64_t *strides = ARENA_NEW_ARRAY(emitter->arena, int64_t, shape->rank + 1);
  LLVMValueRef offset = sort_int(emitter, 0);
  shape_strides(shape, strides);
  for (int i = shape->rank - 1; i >= 0; i--) {
    if (i == sorted_dimension(emitter->sort) || shape->dims[i] == 1) continue;
    LLVMValueRef extent = sort_int(emitter, shape->dims[i]);
    LLVMValueRef index = LLVMBuildURem(b, line, extent, "");
    offset = LLVMBuildAdd(b, offset, LLVMBuildMul(b, index, sort_int(emitter, strides[i]), ""), "");
    line = LLVMBuildUDiv(b, line, extent, "");
  }
  array->line = LLVMBuildInBoundsGEP2(b, array->type, array->base, &offset, 1, "");
}

/* The record of the element at |position|. */
static LLVMValueRef make_record(const SortEmitter *emitter, LLVMValueRef position) {
  LLVMBuilderRef b = emitter->vec->builder;
  const Kernel *kernel = emitter->comparator;
  if (!emitter->key.is_known) return LLVMBuildTrunc(b, position, emitter->record, "");
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count);
  LLVMValueRef element = sort_element(emitter, &emitter->operands[emitter->key.operand], position);
  for (int i = 0; i < kernel->buffer_count; i++) buffers[i] = element;
  KernelPoint point = kernel_point(emitter->vec, kernel, emitter->function, buffers, emitter->arena);
  LLVMValueRef value = point_value(&point, emitter->key.value);
  LLVMValueRef number = sort_key_number(emitter->vec, kernel, &emitter->key, value);
  LLVMValueRef record = LLVMBuildZExt(b, number, emitter->record, "");
  record = LLVMBuildShl(b, record, LLVMConstInt(emitter->record, 32, false), "");
  return LLVMBuildOr(b, record, LLVMBuildZExt(b, position, emitter->record, ""), "");
}

static void make_records(const SortEmitter *emitter, LLVMValueRef records) {
  SortLoop loop = sort_loop_begin(emitter, sort_int(emitter, 0), sort_int(emitter, emitter->length), 1);
  sort_store(emitter, make_record(emitter, loop.index), records, loop.index);
  sort_loop_end(emitter, &loop);
}

static void move_elements(const SortEmitter *emitter, LLVMValueRef records) {
  LLVMBuilderRef b = emitter->vec->builder;
  SortLoop loop = sort_loop_begin(emitter, sort_int(emitter, 0), sort_int(emitter, emitter->length), 1);
  LLVMValueRef position = sort_position(emitter, sort_load(emitter, records, loop.index));
  for (int i = 0; i < emitter->sort->operand_count; i++) {
    const SortArray *from = &emitter->operands[i], *to = &emitter->results[i];
    LLVMValueRef element = LLVMBuildLoad2(b, from->type, sort_element(emitter, from, position), "");
    LLVMSetAlignment(element, element_alignment(from->type));
    LLVMValueRef store = LLVMBuildStore(b, element, sort_element(emitter, to, loop.index));
    LLVMSetAlignment(store, element_alignment(to->type));
  }
  sort_loop_end(emitter, &loop);
}

/* Behind each other in the scratch: records, as many again, counters. */
static LLVMValueRef scratch_at(const SortEmitter *emitter, int64_t offset) {
  LLVMValueRef scratch = LLVMGetParam(emitter->function, 2 * (unsigned)emitter->sort->operand_count);
  LLVMValueRef index = sort_int(emitter, offset);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, integer_type(emitter->vec, 8), scratch, &index, 1, "");
}

static int64_t records_bytes(const SortEmitter *emitter) {
  return align_up(emitter->length * emitter->record_bytes, SCRATCH_ALIGNMENT);
}

static void emit_lines(SortEmitter *emitter) {
  unsigned first = 2 * (unsigned)emitter->sort->operand_count + 1;
  int64_t bytes = records_bytes(emitter);
  LLVMValueRef records = scratch_at(emitter, 0), spare = scratch_at(emitter, bytes);
  LLVMValueRef counters = scratch_at(emitter, 2 * bytes);
  SortLoop lines =
      sort_loop_begin(emitter, LLVMGetParam(emitter->function, first), LLVMGetParam(emitter->function, first + 1), 1);
  for (int i = 0; i < emitter->sort->operand_count; i++) {
    move_to_line(emitter, &emitter->operands[i], emitter->sort->operands[i]->shape, lines.index);
    move_to_line(emitter, &emitter->results[i], result_shape(emitter->sort, i), lines.index);
  }
  make_records(emitter, records);
  LLVMValueRef sorted = sort_uses_digits(emitter) ? sort_by_digits(emitter, records, spare, counters)
                                                  : sort_by_merging(emitter, records, spare);
  move_elements(emitter, sorted);
  sort_loop_end(emitter, &lines);
}

static Status check_comparator(const Kernel *comparator, DiagSink *diag) {
  for (int v = 0; v < comparator->value_count; v++) {
    const KernelValue *value = &comparator->values[v];
    if (value->kind != KERNEL_APPLY) continue;
    VecOp op = kernel_vec_op(comparator, value);
    if (vec_supports(&op)) continue;
    return diag_error(diag, STATUS_UNSUPPORTED, comparator->source->loc, "unsupported-type",
                      "'%s' of %s has no code yet (in the comparator of '%.*s')", hlo_opcode_text(value->opcode),
                      type_text(op.operand_type), SV_ARG(comparator->source->name));
  }
  return STATUS_OK;
}

Status sort_emit(const VecBuilder *vec, const HloInstruction *sort, const char *name, DiagSink *diag,
                 SortCode *out_code) {
  const Shape *shape = sort->operands[0]->shape;
  Arena *arena = arena_create();
  SortEmitter emitter = {.vec = vec, .sort = sort, .arena = arena, .length = shape->dims[sorted_dimension(sort)]};
  Status status = STATUS_OK;
  if (emitter.length > INT32_MAX)
    status = diag_error(diag, STATUS_UNSUPPORTED, sort->loc, "unsupported-op", "'sort' of more than 2^31 - 1 elements");
  const HloComputation *comparator = hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY);
  if (status == STATUS_OK) status = kernel_build_region(arena, comparator, sort, diag, &emitter.comparator);
  if (status == STATUS_OK) status = check_comparator(emitter.comparator, diag);
  if (status == STATUS_OK) {
    emitter.key = sort_key(emitter.comparator);
    int64_t bits = !emitter.key.is_known ? 32 : emitter.key.bits == 64 ? 128 : 64;
    emitter.record = integer_type(vec, bits);
    emitter.record_bytes = bits / 8;
    emitter.function = add_function(vec, name, 2 * sort->operand_count + 1, arena);
    LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, emitter.function, ""));
    bind_arrays(&emitter);
    emit_lines(&emitter);
    LLVMBuildRetVoid(vec->builder);
    LLVMClearInsertionPosition(vec->builder);
    int64_t counters = sort_uses_digits(&emitter) ? sort_counter_bytes(&emitter) : 0;
    *out_code = (SortCode){emitter.function, align_up(2 * records_bytes(&emitter) + counters, SCRATCH_ALIGNMENT),
                           shape_element_count(shape) / emitter.length, emitter.length};
  }
  arena_destroy(arena);
  return status;
}
