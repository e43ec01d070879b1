#include "codegen/emit/emit_internal.h"
#include "codegen/kernel/emit_family.h"

bool emit_is_vector(const KernelEmitter *emitter, int32_t value) {
  if (emitter->lanes == 1) return false;
  return emitter->kernel->values[value].dims >> emitter->vector_dim & 1;
}

static LLVMValueRef element_pointer(KernelEmitter *emitter, int32_t buffer, LLVMValueRef index) {
  LLVMTypeRef element = vec_memory_type(emitter->vec, emitter->kernel->buffers[buffer].type, 1);
  return LLVMBuildGEP2(emitter->vec->builder, element, emitter->buffers[buffer], &index, 1, "");
}

/* The lanes in which a guarded access happens: predicate and active lanes; NULL for all. */
static LLVMValueRef access_mask(KernelEmitter *emitter, int32_t predicate) {
  LLVMValueRef mask = emitter->mask;
  if (predicate < 0) return mask;
  LLVMValueRef lanes = emit_value_lanes(emitter, predicate);
  return mask == NULL ? lanes : LLVMBuildAnd(emitter->vec->builder, mask, lanes, "");
}

/* One element; where the predicate is false the buffer's first element is read instead, which always exists, and
 * dropped. */
static LLVMValueRef load_scalar(KernelEmitter *emitter, const KernelValue *value) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef index = emit_index(emitter, value->address);
  if (value->predicate < 0) return vec_load(vec, value->type, element_pointer(emitter, value->buffer, index), NULL, 1);
  LLVMValueRef predicate = emit_value(emitter, value->predicate);
  LLVMValueRef first = LLVMConstInt(LLVMTypeOf(index), 0, false);
  index = LLVMBuildSelect(vec->builder, predicate, index, first, "");
  LLVMValueRef loaded = vec_load(vec, value->type, element_pointer(emitter, value->buffer, index), NULL, 1);
  return LLVMBuildSelect(vec->builder, predicate, loaded, LLVMConstNull(LLVMTypeOf(loaded)), "");
}

static LLVMValueRef load_lanes(KernelEmitter *emitter, const KernelValue *value) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef mask = access_mask(emitter, value->predicate);
  if (emit_access_kind(emitter, value->address) == ACCESS_CONTIGUOUS) {
    LLVMValueRef pointer = element_pointer(emitter, value->buffer, emit_index(emitter, value->address));
    return vec_load(vec, value->type, pointer, mask, emitter->lanes);
  }
  int64_t stride;
  if (mask == NULL && emit_plain_stride(emitter->kernel, value->address, emitter->vector_dim, &stride) &&
      vec_stride_is_small(stride)) {
    LLVMValueRef pointer = element_pointer(emitter, value->buffer, emit_index(emitter, value->address));
    return vec_from_memory(vec, value->type, vec_load_strided(vec, value->type, pointer, stride, emitter->lanes),
                           emitter->lanes);
  }
  LLVMValueRef offsets = emit_index_lanes(emitter, value->address, 64);
  return vec_gather(vec, value->type, emitter->buffers[value->buffer], offsets, mask, emitter->lanes);
}

static int index_bits(const KernelEmitter *emitter, IndexExpr expr) {
  int64_t lower, upper;
  index_range(&emitter->kernel->space, expr, &lower, &upper);
  for (int i = 0; i < expr.term_count; i++) {
    /* run-time values may be anything before their predicate is known */
    if (emitter->kernel->space.atoms.data[expr.terms[i].atom].kind == INDEX_ATOM_VALUE) return 64;
  }
  return lower > INT32_MIN / 2 && upper < INT32_MAX / 2 ? 32 : 64;
}

static LLVMValueRef index_as_type(KernelEmitter *emitter, const KernelValue *value, int lanes) {
  const VecBuilder *vec = emitter->vec;
  int width = type_storage_bytes(value->type) * 8;
  int bits = lanes > 1 && width <= 32 ? index_bits(emitter, value->address) : 64;
  LLVMValueRef index =
      lanes > 1 ? emit_index_lanes(emitter, value->address, bits) : emit_index(emitter, value->address);
  LLVMTypeRef type = vec_type(vec, value->type, lanes);
  if (width < bits) return LLVMBuildTrunc(vec->builder, index, type, "");
  return width > bits ? LLVMBuildSExt(vec->builder, index, type, "") : index;
}

/* lower <= x < upper as one unsigned comparison. */
static LLVMValueRef in_range(KernelEmitter *emitter, const KernelValue *value, int lanes) {
  const VecBuilder *vec = emitter->vec;
  int bits = lanes > 1 ? index_bits(emitter, value->address) : 64;
  LLVMTypeRef type = LLVMIntTypeInContext(vec->context, (unsigned)bits);
  LLVMValueRef index =
      lanes > 1 ? emit_index_lanes(emitter, value->address, bits) : emit_index(emitter, value->address);
  LLVMValueRef lower = vec_splat(vec, LLVMConstInt(type, (unsigned long long)value->lower, true), lanes);
  LLVMValueRef count =
      vec_splat(vec, LLVMConstInt(type, (unsigned long long)(value->upper - value->lower), true), lanes);
  LLVMValueRef distance = LLVMBuildSub(vec->builder, index, lower, "");
  return LLVMBuildICmp(vec->builder, LLVMIntULT, distance, count, "");
}

static LLVMValueRef divisible(KernelEmitter *emitter, const KernelValue *value, int lanes) {
  const VecBuilder *vec = emitter->vec;
  int bits = lanes > 1 ? index_bits(emitter, value->address) : 64;
  LLVMTypeRef type = LLVMIntTypeInContext(vec->context, (unsigned)bits);
  LLVMValueRef index =
      lanes > 1 ? emit_index_lanes(emitter, value->address, bits) : emit_index(emitter, value->address);
  LLVMValueRef divisor = vec_splat(vec, LLVMConstInt(type, (unsigned long long)value->upper, true), lanes);
  LLVMValueRef remainder = LLVMBuildSRem(vec->builder, index, divisor, "");
  return LLVMBuildICmp(vec->builder, LLVMIntEQ, remainder, LLVMConstNull(LLVMTypeOf(remainder)), "");
}

static LLVMValueRef apply(KernelEmitter *emitter, const KernelValue *value, bool is_vector, int lanes) {
  LLVMValueRef operands[KERNEL_MAX_OPERANDS];
  for (int i = 0; i < value->operand_count; i++) {
    operands[i] = is_vector ? emit_value_lanes(emitter, value->operands[i]) : emit_value(emitter, value->operands[i]);
  }
  int typed = emit_typed_operand(value->opcode);
  VecOp op = {value->opcode,
              value->type,
              emitter->kernel->values[value->operands[typed]].type,
              {value->params[0], value->params[1]}};
  return vec_apply(emitter->vec, &op, operands, lanes);
}

static LLVMValueRef compute(KernelEmitter *emitter, const KernelValue *value, bool is_vector) {
  int lanes = is_vector ? emitter->lanes : 1;
  switch (value->kind) {
    case KERNEL_LOAD: return is_vector ? load_lanes(emitter, value) : load_scalar(emitter, value);
    case KERNEL_CONSTANT: return vec_constant(emitter->vec, value->type, value->bits[0], 1);
    case KERNEL_INDEX: return index_as_type(emitter, value, lanes);
    case KERNEL_IN_RANGE: return in_range(emitter, value, lanes);
    case KERNEL_DIVISIBLE: return divisible(emitter, value, lanes);
    case KERNEL_APPLY: return apply(emitter, value, is_vector, lanes);
    case KERNEL_ACCUMULATOR: return emitter->accumulators[value->fold];
  }
  XLAC_BUG("unknown kind of Kernel value");
}

LLVMValueRef emit_value(KernelEmitter *emitter, int32_t value) {
  CachedValue *cached = &emitter->values[value];
  if (cached->value == NULL) {
    bool is_vector = emit_is_vector(emitter, value);
    LLVMValueRef computed = compute(emitter, &emitter->kernel->values[value], is_vector);
    *cached = (CachedValue){computed, NULL, is_vector};
    array_push(&emitter->computed, emitter->arena, value);
  }
  return cached->value;
}

LLVMValueRef emit_value_lanes(KernelEmitter *emitter, int32_t value) {
  LLVMValueRef scalar = emit_value(emitter, value);
  if (emitter->lanes == 1 || emitter->values[value].is_vector) return scalar;
  return vec_splat(emitter->vec, scalar, emitter->lanes);
}

void emit_forget(KernelEmitter *emitter, int64_t height) {
  while (emitter->computed.count > height) {
    int32_t value = array_pop(&emitter->computed);
    emitter->values[value] = (CachedValue){0};
  }
}

static void store_scalar_guarded(KernelEmitter *emitter, const KernelStore *store) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef predicate = emit_value(emitter, store->predicate), value = emit_value(emitter, store->value);
  LLVMValueRef index = emit_index(emitter, store->address);
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "store");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBuildCondBr(vec->builder, predicate, then, behind);
  LLVMPositionBuilderAtEnd(vec->builder, then);
  vec_store(vec, emitter->kernel->buffers[store->buffer].type, value, element_pointer(emitter, store->buffer, index),
            NULL, 1);
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}

void emit_store(KernelEmitter *emitter, const KernelStore *store) {
  const VecBuilder *vec = emitter->vec;
  PrimitiveType type = emitter->kernel->buffers[store->buffer].type;
  AccessKind access = emit_access_kind(emitter, store->address);
  if (emitter->lanes == 1 || access == ACCESS_UNIFORM) {
    if (store->predicate >= 0) {
      store_scalar_guarded(emitter, store);
      return;
    }
    LLVMValueRef value = emit_value(emitter, store->value);
    LLVMValueRef pointer = element_pointer(emitter, store->buffer, emit_index(emitter, store->address));
    vec_store(vec, type, value, pointer, NULL, 1);
    return;
  }
  LLVMValueRef mask = access_mask(emitter, store->predicate);
  LLVMValueRef value = emit_value_lanes(emitter, store->value);
  if (access == ACCESS_CONTIGUOUS) {
    LLVMValueRef pointer = element_pointer(emitter, store->buffer, emit_index(emitter, store->address));
    vec_store(vec, type, value, pointer, mask, emitter->lanes);
  } else {
    LLVMValueRef offsets = emit_index_lanes(emitter, store->address, 64);
    vec_scatter(vec, type, value, emitter->buffers[store->buffer], offsets, mask, emitter->lanes);
  }
}
