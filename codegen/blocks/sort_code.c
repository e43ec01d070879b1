/* Records, elements, comparisons. */
#include "codegen/blocks/sort_internal.h"

LLVMValueRef sort_int(const SortEmitter *emitter, int64_t value) {
  return ir_index(emitter->vec->context, value);
}

LLVMBasicBlockRef sort_block(const SortEmitter *emitter) {
  return LLVMAppendBasicBlockInContext(emitter->vec->context, emitter->function, "");
}

unsigned sort_element_alignment(LLVMTypeRef type) {
  unsigned bytes = LLVMGetIntTypeWidth(type) / 8;
  return bytes <= 4 ? bytes : 4;
}

LLVMValueRef sort_record_pointer(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index) {
  LLVMBuilderRef b = emitter->vec->builder;
  if (emitter->record_step > 1) index = LLVMBuildNSWMul(b, index, sort_int(emitter, emitter->record_step), "");
  return LLVMBuildInBoundsGEP2(b, emitter->record, records, &index, 1, "");
}

LLVMValueRef sort_load(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index) {
  LLVMValueRef record =
      LLVMBuildLoad2(emitter->vec->builder, emitter->record, sort_record_pointer(emitter, records, index), "");
  if (emitter->moves_elements) LLVMSetAlignment(record, sort_element_alignment(emitter->record));
  return record;
}

void sort_store(const SortEmitter *emitter, LLVMValueRef record, LLVMValueRef records, LLVMValueRef index) {
  LLVMValueRef store = LLVMBuildStore(emitter->vec->builder, record, sort_record_pointer(emitter, records, index));
  if (emitter->moves_elements) LLVMSetAlignment(store, sort_element_alignment(emitter->record));
}

LLVMValueRef sort_position(const SortEmitter *emitter, LLVMValueRef record) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMTypeRef narrow = LLVMInt32TypeInContext(emitter->vec->context);
  if (LLVMTypeOf(record) != narrow) record = LLVMBuildTrunc(b, record, narrow, "");
  return LLVMBuildZExt(b, record, LLVMInt64TypeInContext(emitter->vec->context), "");
}

LLVMValueRef sort_element(const SortEmitter *emitter, const SortArray *array, LLVMValueRef position) {
  LLVMBuilderRef b = emitter->vec->builder;
  if (array->stride != 1) position = LLVMBuildMul(b, position, sort_int(emitter, array->stride), "");
  return LLVMBuildGEP2(b, array->type, array->line, &position, 1, "");
}

/* --- comparisons --- */

/* Buffers 2k and 2k + 1 are elements |a| and |b| of operand k. */
static LLVMValueRef compare_elements(const SortEmitter *emitter, LLVMValueRef a, LLVMValueRef b) {
  const Kernel *kernel = emitter->comparator;
  LLVMValueRef positions[] = {sort_position(emitter, a), sort_position(emitter, b)};
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count);
  for (int i = 0; i < kernel->buffer_count; i++) {
    int number = kernel->buffers[i].operand;
    if (kernel->buffers[i].role != KERNEL_OPERAND) continue;
    buffers[i] = sort_element(emitter, &emitter->operands[number / 2].array, positions[number % 2]);
  }
  KernelPoint point = kernel_point(emitter->vec, kernel, emitter->function, buffers, emitter->arena);
  return point_value(&point, kernel->stages[0].stores[0].value);
}

/* The key is a function of one operand, whichever of the two points the comparator reads it of. */
static LLVMValueRef key_value(const SortEmitter *emitter) {
  const Kernel *kernel = emitter->comparator;
  const KernelCompared *compared = emitter->operands[emitter->key.operand].compared;
  KernelPoint point = kernel_point(emitter->vec, kernel, emitter->function, NULL, emitter->arena);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || kernel->buffers[value->buffer].operand / 2 != compared->operand) continue;
    point_set_value(&point, v, point_value(emitter->point, compared->parts[value->address.constant]));
  }
  return point_value(&point, emitter->key.value);
}

LLVMValueRef sort_key_at(const SortEmitter *emitter, LLVMValueRef pointer) {
  const Kernel *kernel = emitter->comparator;
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count);
  for (int i = 0; i < kernel->buffer_count; i++) buffers[i] = pointer;
  KernelPoint point = kernel_point(emitter->vec, kernel, emitter->function, buffers, emitter->arena);
  LLVMValueRef value = point_value(&point, emitter->key.value);
  return sort_key_number(emitter->vec, kernel, &emitter->key, value, 1);
}

/* Value |v| of the comparator at points in lanes. */
static LLVMValueRef key_value_lanes(const SortEmitter *emitter, int32_t v, LLVMValueRef *known) {
  const Kernel *kernel = emitter->comparator;
  const KernelValue *value = &kernel->values[v];
  int lanes = emitter->point->lanes;
  if (known[v] != NULL) return known[v];
  if (value->kind == KERNEL_CONSTANT) return known[v] = vec_constant(emitter->vec, value->type, value->bits[0], lanes);
  if (value->kind == KERNEL_LOAD) {
    const KernelCompared *compared = emitter->operands[emitter->key.operand].compared;
    return known[v] = point_value_lanes(emitter->point, compared->parts[value->address.constant]);
  }
  LLVMValueRef operands[KERNEL_MAX_OPERANDS];
  for (int i = 0; i < value->operand_count; i++) operands[i] = key_value_lanes(emitter, value->operands[i], known);
  VecOp op = kernel_vec_op(kernel, value);
  return known[v] = vec_apply(emitter->vec, &op, operands, lanes);
}

LLVMValueRef sort_keys_in_lanes(const SortEmitter *emitter, LLVMValueRef position) {
  emitter->point->dims[emitter->dim] = position;
  LLVMValueRef *known = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, emitter->comparator->value_count);
  LLVMValueRef value = key_value_lanes(emitter, emitter->key.value, known);
  return sort_key_number(emitter->vec, emitter->comparator, &emitter->key, value, emitter->point->lanes);
}

LLVMValueRef sort_make_record(const SortEmitter *emitter, LLVMValueRef position) {
  LLVMBuilderRef b = emitter->vec->builder;
  emitter->point->dims[emitter->dim] = position;
  if (!emitter->key.is_known) return LLVMBuildTrunc(b, position, emitter->record, "");
  LLVMValueRef number = sort_key_number(emitter->vec, emitter->comparator, &emitter->key, key_value(emitter), 1);
  LLVMValueRef record = LLVMBuildZExt(b, number, emitter->record, "");
  record = LLVMBuildShl(b, record, LLVMConstInt(emitter->record, 32, false), "");
  return LLVMBuildOr(b, record, LLVMBuildZExt(b, position, emitter->record, ""), "");
}

LLVMValueRef sort_is_before(const SortEmitter *emitter, LLVMValueRef a, LLVMValueRef b) {
  if (!emitter->key.is_known) return compare_elements(emitter, a, b);
  return LLVMBuildICmp(emitter->vec->builder, LLVMIntULT, a, b, "");
}
